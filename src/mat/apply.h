/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix times vector by plain loops in double precision, for checks that must not depend on a
 * kernel.
 */
#ifndef TULLE_MAT_APPLY_H
#define TULLE_MAT_APPLY_H

#include "mat/mat.h"

/*
 * Computes y += op(X) x and z += |op(X)| w. Collective; vectors are whole and the same on all PEs. Of a half the whole
 * matrix is applied.
 *
 * *longest becomes at least the largest number of entries of a stored row of the own tiles, times
 * the number of tile columns.
 *
 * count: NULL, or += number of entries of each row of op(X); diagonal entries are then excluded
 * from all sums.
 */
tulle_status tulle__mat_apply(const tulle_mat *X, tulle_op op, const double *x, const double *w, double *y, double *z,
    double *longest, double *count);

/* Gathers column c of a dense matrix on all PEs. Collective. */
tulle_status tulle__column_gather(const tulle_mat *B, tulle_gidx c, double *b);

#endif
