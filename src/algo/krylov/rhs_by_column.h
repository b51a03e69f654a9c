/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of B and X as a method wants them: whole rows on the PEs that have them of its vectors. */
#ifndef TULLE_KRYLOV_SIDES_BY_COLUMN_H
#define TULLE_KRYLOV_SIDES_BY_COLUMN_H

#include "mat/mat.h"

/* Collective, agreed: B in whole rows cut like the layout's; *staged is NULL if it lies so, else a copy. copy 0: a new
 * one of zeros. */
tulle_status tulle__columns_stage(const tulle_mat *B, const tulle_layout *rows, int copy, tulle_mat **staged);

/* Collective, agreed: X from a copy that was staged. */
tulle_status tulle__columns_return(tulle_mat *staged, tulle_mat *X);

/* Own rows of `count` columns, each times its factor, into an array with lines ld apart; or back. */
void tulle__columns_read_some(
    const tulle_mat *B, int count, const tulle_gidx *column, const double *factor, void *x, int64_t ld);
void tulle__columns_write_some(
    tulle_mat *X, int count, const tulle_gidx *column, const double *factor, const void *x, int64_t ld);

/* Of one. */
void tulle__columns_read(const tulle_mat *B, tulle_gidx c, double factor, void *x);
void tulle__columns_write(tulle_mat *X, tulle_gidx c, double factor, const void *x);

#endif
