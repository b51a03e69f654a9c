/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector by plain loops in double, for checks that trust no kernel. */
#ifndef TULLE_MAT_APPLY_H
#define TULLE_MAT_APPLY_H

#include "mat/mat.h"

/*
 * Collective: y += op(X) x and z += |op(X)| w; whole vectors, the same on every PE. *longest becomes at least the most
 * entries of a stored row of own tiles, times the tile columns. count, unless NULL: += entries of each row of op(X),
 * and those on the diagonal are left out of all sums then.
 */
tulle_status tulle__mat_apply(const tulle_mat *X, tulle_op op, const double *x, const double *w, double *y, double *z,
    double *longest, double *count);

/* Collective: column c of a dense matrix, whole, on every PE. */
tulle_status tulle__column_gather(const tulle_mat *B, tulle_gidx c, double *b);

#endif
