/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triangle as its rows are stored: a matrix with one tile column, T itself if possible. Every
 * PE reads all of it in place. Where PEs do not read each other's memory, it is gathered on PE 0,
 * or partitioned into tasks, and each PE reads its own rows only. Rows are counted in the order of
 * solving: step 0 is the first row of a lower triangle and the last one of an upper triangle.
 */
#ifndef TULLE_TRISOLVE_TRIANGLE_H
#define TULLE_TRISOLVE_TRIANGLE_H

#include <stdbool.h>

#include <tulle/trisolve.h>

#include "mat/mat.h"

typedef enum tulle__reach_rows { TULLE__ROWS_ALL, TULLE__ROWS_GATHERED, TULLE__ROWS_OWN } tulle__reach_rows;

/* A permanent partition of rows: into parts of about equal numbers of entries, or of rows. */
typedef struct tulle__partition {
    bool even; /* equal numbers of rows */
    int tasks; /* parts of a PE, unless options say otherwise; fixed: in any case */
    bool fixed;
    /*
     * Chooses the number of tasks by a model. work[m]: of each row of A; upper: its last row is
     * solved first. Collective.
     */
    tulle_status (*choose)(const tulle_mat *A, int upper, const int64_t *work, int *tasks);
} tulle__partition;

typedef struct tulle__triangle {
    const tulle_mat *T; /* the caller's */
    tulle_mat *own;     /* op(T) by rows if T is not; else NULL */
    uint64_t structure; /* of T at the time of the analysis */
    const tulle_trisolve_options *options;
    const tulle__partition *partition;
    tulle__reach_rows reach;
    int tasks; /* of a PE, under TULLE__ROWS_OWN: parts of about equal numbers of entries, assigned cyclically */
    tulle_layout *distributed; /* then: the layout of op(T) */
    int upper;                 /* op(T) is */
    int unit;
    int strips;     /* ones that only some rows store have been left out of `own` */
    int head, tail; /* 1: the first, or last, entry of a row is its pivot */
    tulle_gidx n;
    int ntiles;
    const tulle_gidx *cut;
    tulle_tile *tile; /* [ntiles], in place */
} tulle__triangle;

/*
 * Collective. options and partition must outlive the triangle. partition NULL: rows are read in
 * place. The tiles are not validated yet.
 */
tulle_status tulle__triangle_init(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle__partition *partition, tulle__triangle *t);
void tulle__triangle_fini(tulle__triangle *t);

/* The layout of B and X of so many columns: on PE 0 in one tile, or partitioned like the rows. */
tulle_status tulle__triangle_rhs_layout(const tulle__triangle *t, tulle_gidx cols, tulle_layout **layout);

/*
 * Validates that the rows form a triangle with pivots as the options say. Names the first invalid
 * row. A diagonal of ones that only some rows store is left out. Collective.
 */
tulle_status tulle__triangle_validate(tulle__triangle *t);

/*
 * Instead of validation, where the diagonal is stored: finds the position of pivots by the first row alone. Rows are
 * then validated when they are solved. Local.
 */
void tulle__triangle_skip_validation(tulle__triangle *t);
/*
 * Validates `count` rows from one on, in the order of solving: that solving them reads no invalid
 * address, and, which may be done later, that they form a triangle. *cursor as below. Local.
 */
tulle_status tulle__triangle_check_rows(const tulle__triangle *t, tulle_gidx row, int64_t count, int *cursor);
tulle_status tulle__triangle_validate_rows(const tulle__triangle *t, tulle_gidx row, int64_t count, int *cursor);

/* Updates to new values of T. Collective. */
tulle_status tulle__triangle_renew(tulle__triangle *t);

/* The row of the triangle that is solved at a step, and the step of a row. */
static inline tulle_gidx tulle__triangle_row(const tulle__triangle *t, int64_t step)
{
    return t->upper ? t->n - 1 - step : step;
}

/* A stored row: its entries off the diagonal are e = from .. to - 1. */
typedef struct tulle__triangle_span {
    const tulle_tile *tile;
    tulle_gidx local; /* row of the tile */
    int64_t from, to;
} tulle__triangle_span;

/* cursor: the tile of the last row, 0 at first. */
tulle__triangle_span tulle__triangle_at(const tulle__triangle *t, tulle_gidx row, int *cursor);

#endif
