/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of HDF5 that Binsparse needs; no other file calls HDF5. HDF5 has process-wide state and
 * may be built without locks, so each function here takes a lock.
 */
#ifndef TULLE_IO_HDF5_FILE_H
#define TULLE_IO_HDF5_FILE_H

#include <stdint.h>

#include <tulle/status.h>

typedef enum tulle__binsparse_which {
    TULLE__BINSPARSE_POINTERS,
    TULLE__BINSPARSE_INDICES0,
    TULLE__BINSPARSE_INDICES1,
    TULLE__BINSPARSE_VALUES,
    TULLE__BINSPARSE_ARRAYS
} tulle__binsparse_which;

/* A data set. */
typedef struct tulle__binsparse_array {
    int present;
    char kind;      /* 'i', 'u', 'f' */
    int size;       /* bytes a number */
    int swapped;    /* not in this machine's byte order */
    int64_t count;  /* numbers */
    int64_t offset; /* in the file; -1: not in one piece */
} tulle__binsparse_array;

/*
 * Reads the attribute `binsparse` of a group, and the layout of its data sets. The caller frees the
 * text with tulle__free.
 */
tulle_status tulle__hdf5_examine(const char *path, const char *group, char **json, tulle__binsparse_array *array);

/* Numbers first .. first + count - 1 of a data set as 'i' int64_t, 'u' uint64_t or 'f' double. */
tulle_status tulle__hdf5_read(
    const char *path, const char *group, int which, int64_t first, int64_t count, char kind, void *to);

/*
 * Creates the file with its attribute and contiguous data sets for those `present`, and sets their
 * offsets.
 */
tulle_status tulle__hdf5_create(const char *path, const char *json, tulle__binsparse_array *array);

/* TULLE_ERR_UNSUPPORTED where HDF5 was not built in. */
tulle_status tulle__hdf5_present(const char *path);

const char *tulle__binsparse_name(int which);

#endif
