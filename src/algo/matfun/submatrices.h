/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of the submatrix method: which block columns form a submatrix, which PE computes it, and
 * which blocks it needs.
 *
 * The matrix has one tile column. Block columns are considered in windows of TULLE__COLUMN_WINDOW
 * neighbours, within which they may be combined; so the submatrices, and the result up to rounding,
 * do not depend on the number of PEs, unless the largest one would take longer than a PE's equal share of all: then
 * columns are combined less, as far as all are done earlier. Each PE measures an equal number of windows; from the work
 * of all windows it knows the part of the work that is its own: contiguous, as in the paper, with equal sums of cubes.
 * It then forms the submatrices of the windows in that part.
 */
#ifndef TULLE_ALGO_MATFUN_SUBMATRICES_H
#define TULLE_ALGO_MATFUN_SUBMATRICES_H

#include "algo/matfun/block_rows.h"
#include "algo/steal/weighted.h"

enum { TULLE__COLUMN_WINDOW = 128 };

/* Lists are parts of tulle__submatrices.index. */
typedef struct tulle__submatrix {
    int64_t cols, ncols; /* the block columns whose result is wanted, ascending */
    int64_t rows, nrows; /* all block rows, ascending, with these columns */
    int64_t n, b;        /* rows, and columns wanted, in elements */
    int32_t column;      /* the first wanted block column */
} tulle__submatrix;

typedef struct tulle__submatrices {
    tulle__block_rows pattern;
    tulle__submatrix *sub; /* of this PE */
    int64_t count, capacity;
    int32_t *index;
    int64_t nindex, index_capacity;
    int64_t stamp;          /* of the last submatrix that was formed */
    double work, own_work;  /* sums of the cubes of n, of all PEs and of this one */
    double rows_sum;        /* of n, this PE */
    double most;            /* operations of a submatrix that columns are combined to */
    tulle__weighted claims; /* of more than one PE: submatrices by their work, described by sub and index */
} tulle__submatrices;

/*
 * Collective, without agreement. combine: as in tulle_matfun_options. A has a full block diagonal.
 * TULLE_ERR_ARG for a block without its transpose.
 */
tulle_status tulle__submatrices_init(tulle__submatrices *s, const tulle_mat *A, int combine);
void tulle__submatrices_fini(tulle__submatrices *s);

/*
 * Submatrices first .. end - 1 of another PE, whose claims `s` has: *stolen is made of them. Local,
 * with gets. After a failure too, fini frees.
 */
tulle_status tulle__submatrices_steal(
    tulle__submatrices *s, int owner, int64_t first, int64_t end, tulle__submatrices *stolen);

/* Operations of a submatrix, relative to others. */
static inline double tulle__submatrix_work(double n)
{
    return n * n * n;
}

#endif
