/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy .npy files, versions 1 to 3, as dense matrices. Any sub-block can be read, so each PE reads
 * its part. Stored types are floats of 4 and 8 bytes, integers of 1 to 8 bytes and booleans, in
 * either byte order, converted to f32 or f64. Others are refused
 * by name. A one-dimensional array is one column, a scalar is 1 x 1. Nothing is collective.
 */
#ifndef TULLE_IO_NPY_H
#define TULLE_IO_NPY_H

#include <stdint.h>

#include <tulle/types.h>

#include "base/progress_meter.h"
#include "io/npy/npy_array.h"

typedef struct tulle__npy_header {
    int64_t rows, cols;
    tulle__npy_array array;
    int64_t data; /* offset of the first value */
} tulle__npy_header;

typedef struct tulle__npy tulle__npy;

/* Checks the whole header and the size of the file. */
tulle_status tulle__npy_open(const char *path, tulle__npy **npy);
void tulle__npy_close(tulle__npy *npy);
const tulle__npy_header *tulle__npy_head(const tulle__npy *npy);

/*
 * Starts the progress meter (NULL: none) for a reader of `values` values; reads advance it, in
 * bytes of the file.
 */
void tulle__npy_watch(tulle__npy *npy, tulle__progress_meter *meter, int64_t values);

/*
 * Reads rows row .. row + rows - 1 of columns col .. col + cols - 1 into `to`, with leading
 * dimension ld.
 */
tulle_status tulle__npy_read(tulle__npy *npy, tulle__gate *gate, int64_t row, int64_t rows, int64_t col, int64_t cols,
    tulle_order order, int64_t ld, void *to);

/* Writes values in the order of the file; output.h describes close and abort. */
typedef struct tulle__npy_writer tulle__npy_writer;
tulle_status tulle__npy_writer_open(
    const char *path, int64_t rows, int64_t cols, tulle_type type, tulle_order order, tulle__npy_writer **writer);
tulle_status tulle__npy_writer_append(tulle__npy_writer *writer, const void *values, int64_t n);
tulle_status tulle__npy_writer_close(tulle__npy_writer *writer, tulle_status status);
void tulle__npy_writer_abort(tulle__npy_writer *writer);

#endif
