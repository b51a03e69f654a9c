/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep over rows of a matrix in external storage, a few megabytes at a time; the next piece is
 * read while the last is looked at. Rows and entries may be blocks (mat/rows.h).
 */
#ifndef TULLE_MAT_SWEEP_ROWS_SWEEP_H
#define TULLE_MAT_SWEEP_ROWS_SWEEP_H

#include "mat/rows.h"

/* Rows row .. row + rows - 1; entries of row row + r are pointers[r] .. pointers[r + 1] - 1 of the arrays. */
typedef struct tulle__rows_piece {
    tulle_gidx row, rows;
    const int64_t *pointers;
    const int32_t *colind;
    const char *val;
} tulle__rows_piece;

typedef tulle_status tulle__rows_look(void *context, const tulle_rows *rows, const tulle__rows_piece *piece);

/* Local: rows begin .. end - 1. TULLE_ERR_FORMAT if a half has entries below the diagonal; else look's failures. */
tulle_status tulle__rows_sweep(
    tulle_rows *rows, tulle_gidx begin, tulle_gidx end, const char *title, tulle__rows_look *look, void *context);

#endif
