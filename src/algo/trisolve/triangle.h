/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triangle that is solved with, as its rows lie: a matrix of one tile column, T itself where it is that already.
 * Every PE reads all of it in place; where PEs do not read each other's memory it is gathered on PE 0; or, dealt out in
 * tasks, each PE reads its own rows alone. Rows are counted
 * in the order in which they are solved: step 0 is the first row of a lower triangle and the last one of an upper
 * triangle.
 */
#ifndef TULLE_TRISOLVE_TRIANGLE_H
#define TULLE_TRISOLVE_TRIANGLE_H

#include <stdbool.h>

#include <tulle/trisolve.h>

#include "mat/mat.h"

typedef enum tulle__reach_rows { TULLE__ROWS_ALL, TULLE__ROWS_GATHERED, TULLE__ROWS_OWN } tulle__reach_rows;

/* How rows are dealt out to PEs for good: in parts of about equal numbers of entries, or of equal numbers of rows. */
typedef struct tulle__partition {
    bool even; /* equal numbers of rows */
    int tasks; /* parts of a PE, if options do not say; fixed: whatever they say */
    bool fixed;
    /* Collective: instead of tasks, by a model. work[m]: of each row of A; upper: its last row is solved first. */
    tulle_status (*choose)(const tulle_mat *A, int upper, const int64_t *work, int *tasks);
} tulle__partition;

typedef struct tulle__triangle {
    const tulle_mat *T; /* the caller's */
    tulle_mat *own;     /* op(T) by rows, where T is not; else NULL */
    uint64_t structure; /* of T when it was analysed */
    const tulle_trisolve_options *options;
    const tulle__partition *dealing;
    tulle__reach_rows reach;
    int tasks; /* of a PE, under TULLE__ROWS_OWN: parts of about equal numbers of entries, dealt out in turn */
    tulle_layout *dealt; /* then: of op(T) */
    int upper;           /* op(T) is */
    int unit;
    int head, tail; /* 1: the first, or last, entry of a row is its pivot */
    tulle_gidx n;
    int ntiles;
    const tulle_gidx *cut;
    tulle_tile *tile; /* [ntiles], in place */
} tulle__triangle;

/* Collective. options, and dealing, must outlive the triangle. dealing NULL: rows are read in place. The tiles are not
 * looked at yet. */
tulle_status tulle__triangle_init(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle__partition *dealing, tulle__triangle *t);
void tulle__triangle_fini(tulle__triangle *t);

/* The layout of B and X of so many columns that suits: on PE 0 in one tile, or dealt out as rows are. */
tulle_status tulle__triangle_rhs_layout(const tulle__triangle *t, tulle_gidx cols, tulle_layout **layout);

/* Collective: the rows are those of a triangle with pivots as said. Names the first row that is not. */
tulle_status tulle__triangle_validate(tulle__triangle *t);

/* Local, instead: where pivots are, by the first row alone. Rows are then validated when they are solved. */
void tulle__triangle_skip_validation(tulle__triangle *t);
/* Local: so many rows from one on, in the order of solving: that they can be solved without reading what is not there;
 * and, which may be done later, that they are those of a triangle. *cursor as below. */
tulle_status tulle__triangle_peek_rows(const tulle__triangle *t, tulle_gidx row, int64_t count, int *cursor);
tulle_status tulle__triangle_validate_rows(const tulle__triangle *t, tulle_gidx row, int64_t count, int *cursor);

/* Collective: T has new values. */
tulle_status tulle__triangle_renew(tulle__triangle *t);

/* Row of the triangle that is solved at a step, and the step of a row. */
static inline tulle_gidx tulle__triangle_row(const tulle__triangle *t, int64_t step)
{
    return t->upper ? t->n - 1 - step : step;
}

/* A row as it lies: its entries off the diagonal are e = from .. to - 1. */
typedef struct tulle__triangle_span {
    const tulle_tile *tile;
    tulle_gidx local; /* row of the tile */
    int64_t from, to;
} tulle__triangle_span;

/* cursor: the tile of the last row looked at, 0 at first. */
tulle__triangle_span tulle__triangle_at(const tulle__triangle *t, tulle_gidx row, int *cursor);

#endif
