/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix times vector by plain loops in double precision, for checks that must not depend on a
 * kernel.
 */
#ifndef TULLE_MAT_SWEEP_APPLY_H
#define TULLE_MAT_SWEEP_APPLY_H

#include <math.h>

#include "mat/mat.h"
#include "mat/rows.h"

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

/* A factor of a check: in memory, or in a file, which each sweep reads once. */
typedef struct tulle__operand {
    const tulle_mat *mat; /* or NULL */
    tulle_rows *rows;
    bool narrow; /* values are rounded to f32 first: a stream stores them so */
} tulle__operand;

/* The same of a factor; finite: without entries that are not. Of a file only TULLE_OP_N. */
tulle_status tulle__operand_apply(const tulle__operand *F, tulle_op op, bool finite, const double *x, const double *w,
    double *y, double *z, double *longest);

/* Contents of the rows of a matrix. */
enum { TULLE__HAS_NAN = 1, TULLE__HAS_INF = 2, TULLE__HAS_ZERO = 4, TULLE__HAS_FINITE = 8 /* and not 0 */ };

/*
 * The kinds of values in each row of op(X), in columns c with look[c] != 0 (NULL: all). Collective;
 * vectors are whole and the same on all PEs.
 */
tulle_status tulle__row_kinds(const tulle_mat *X, tulle_op op, const double *look, unsigned char *kinds);

/* Combines flags of rows over all PEs. Collective. */
tulle_status tulle__flags_reduce(tulle_comm *comm, tulle_gidx rows, unsigned char *flags);

/* Visits each entry of this PE's part of op(F), also those that a half implies. */
typedef void tulle__entry_visit(void *context, tulle_gidx row, tulle_gidx col, double value);
tulle_status tulle__operand_visit(const tulle__operand *F, tulle_op op, tulle__entry_visit *visit, void *context);

/*
 * An error over its bound, for a comparison with 1, which fails where one of both is not finite: no comparison with nan
 * holds, and inf is no bound.
 */
static inline double tulle__error_ratio(double error, double bound)
{
    if (!isfinite(error) || !isfinite(bound)) return INFINITY;
    return error == 0 ? 0 : fabs(error) / bound;
}

/* Gathers column c of a dense matrix on all PEs. Collective. */
tulle_status tulle__column_gather(const tulle_mat *B, tulle_gidx c, double *b);

#endif
