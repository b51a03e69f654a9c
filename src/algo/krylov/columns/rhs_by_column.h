/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of B and X in the layout of a method: whole rows, distributed like its vectors. */
#ifndef TULLE_KRYLOV_RHS_BY_COLUMN_H
#define TULLE_KRYLOV_RHS_BY_COLUMN_H

#include "mat/mat.h"

/*
 * B as whole rows in this layout; *staged is a copy, or NULL if B has it already. copy 0: a new
 * matrix of zeros. Collective, agreed.
 */
tulle_status tulle__columns_stage(const tulle_mat *B, const tulle_layout *rows, int copy, tulle_mat **staged);

/* Copies a staged matrix back to X. Collective, agreed. */
tulle_status tulle__columns_return(tulle_mat *staged, tulle_mat *X);

/*
 * Copies own rows of `count` columns, each times its factor, into an array with leading dimension
 * ld; or back.
 */
void tulle__columns_read_some(
    const tulle_mat *B, int count, const tulle_gidx *column, const double *factor, void *x, int64_t ld);
void tulle__columns_write_some(
    tulle_mat *X, int count, const tulle_gidx *column, const double *factor, const void *x, int64_t ld);

/* The same for one column. */
void tulle__columns_read(const tulle_mat *B, tulle_gidx c, double factor, void *x);
void tulle__columns_write(tulle_mat *X, tulle_gidx c, double factor, const void *x);

/*
 * Writes a column times its factor, a power of two, and returns true if this lost part of a value: the product
 * overflows, or has less digits than x as it is below the smallest normal number.
 */
bool tulle__columns_write_back(tulle_mat *X, tulle_gidx c, double factor, const void *x, int64_t ld);

/* The largest magnitude in own rows of a column; NaN is passed over. */
double tulle__columns_largest(const tulle_mat *B, tulle_gidx c);

#endif
