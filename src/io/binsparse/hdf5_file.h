/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of HDF5 that Binsparse and files like it need; no other files call HDF5. HDF5 has process-wide state and
 * may be built without locks, so each function here takes a lock.
 */
#ifndef TULLE_IO_HDF5_FILE_H
#define TULLE_IO_HDF5_FILE_H

#include "io/binsparse/hdf5_found.h"

/*
 * The matrix of a group (NULL: of the file): one with the attribute `binsparse`; a sparse matrix of AnnData, by default
 * X; 10x Genomics' matrix, cells in rows. And the layout of its data sets. The caller frees json and group with
 * tulle__free, after a failure, too.
 */
tulle_status tulle__hdf5_examine(const char *path, const char *group, tulle__hdf5_found *found);

/* Data sets that are read through HDF5, opened by the first read and kept, with a chunk or two, for the next. */
typedef struct tulle__hdf5_sets tulle__hdf5_sets;
tulle_status tulle__hdf5_sets_new(tulle__hdf5_sets **sets);
void tulle__hdf5_sets_free(tulle__hdf5_sets *sets); /* NULL is allowed */

/* Numbers first .. first + count - 1 of a data set as 'i' int64_t, 'u' uint64_t or 'f' double. */
tulle_status tulle__hdf5_read(tulle__hdf5_sets *sets, const char *path, const char *group, const char *const *names,
    int which, int64_t first, int64_t count, char kind, void *to);

/*
 * Creates the file with its attribute and contiguous data sets for those `present`, and sets their
 * offsets.
 */
tulle_status tulle__hdf5_create(const char *path, const char *json, tulle__binsparse_array *array);

/* TULLE_ERR_UNSUPPORTED where HDF5 was not built in. */
tulle_status tulle__hdf5_present(const char *path);

/* Binsparse's names of data sets. */
const char *tulle__binsparse_name(int which);

#endif
