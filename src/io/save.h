/* SPDX-License-Identifier: Apache-2.0 */
/* What saving a matrix whole and in pieces share. */
#ifndef TULLE_IO_SAVE_H
#define TULLE_IO_SAVE_H

#include <tulle/mat.h>

#include "io/mtx_write.h"

/* What takes the entries of a matrix row by row, those of a row by tiles: columns are base + col[e]. */
typedef struct tulle__row_sink {
    tulle_status (*take)(void *context, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val);
    void *context;
} tulle__row_sink;

/* Called by one PE while nobody changes A. */
tulle_status tulle__save_rows(tulle_mat *A, const tulle__row_sink *sink);
tulle_status tulle__save_mtx_rows(tulle_mat *A, const tulle__mtx_shape *shape, tulle__mtx_writer *writer);

/* Of tulle__mtx_writer_open, by the name. */
int tulle__save_level(const char *path);

#endif
