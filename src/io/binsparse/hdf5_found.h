/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in an HDF5 file: data sets, and the matrix that they are. */
#ifndef TULLE_IO_HDF5_FOUND_H
#define TULLE_IO_HDF5_FOUND_H

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

/* A matrix that was found in a file. */
typedef struct tulle__hdf5_found {
    char *json;               /* Binsparse: its description; else NULL */
    char *group;              /* where it is; NULL: the root */
    const char *const *names; /* of data sets; a format without one has "" */
    /* else: compressed rows, or columns */
    int by_columns;
    int64_t rows, cols;
    tulle__binsparse_array array[TULLE__BINSPARSE_ARRAYS];
} tulle__hdf5_found;

#endif
