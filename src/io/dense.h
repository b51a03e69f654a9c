/* SPDX-License-Identifier: Apache-2.0 */
/* A dense file, NumPy, PETSc or Binsparse. Any sub-block can be read. Not collective. */
#ifndef TULLE_IO_DENSE_H
#define TULLE_IO_DENSE_H

#include <stdint.h>

#include <tulle/types.h>

#include "base/progress_meter.h"
#include "io/file/gate.h"
#include "io/operand.h"

typedef struct tulle__dense tulle__dense;

tulle_status tulle__dense_open(const char *path, tulle__format format, tulle__dense **dense);
void tulle__dense_close(tulle__dense *dense);

/*
 * Starts the progress meter (NULL: none) for a reader of `values` values; reads advance it, in
 * bytes of the file.
 */
void tulle__dense_watch(tulle__dense *dense, tulle__progress_meter *meter, int64_t values);

/*
 * Reads rows row .. row + rows - 1 of columns col .. col + cols - 1 into `to`, with leading
 * dimension ld.
 */
tulle_status tulle__dense_read(tulle__dense *dense, tulle__gate *gate, int64_t row, int64_t rows, int64_t col,
    int64_t cols, tulle_order order, int64_t ld, void *to);

#endif
