/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triangle that is solved with, as its rows lie: a matrix of one tile column that every PE reads in place, T itself
 * where it is that already. Where PEs do not read each other's memory all of it is gathered on PE 0. Rows are counted
 * in the order in which they are solved: step 0 is the first row of a lower triangle and the last one of an upper
 * triangle.
 */
#ifndef TULLE_TRISOLVE_TRIANGLE_H
#define TULLE_TRISOLVE_TRIANGLE_H

#include <tulle/trisolve.h>

#include "mat/mat.h"

typedef struct tulle__triangle {
    tulle_mat *T;       /* the caller's */
    tulle_mat *own;     /* op(T) by rows, where T is not; else NULL */
    uint64_t structure; /* of T when it was analysed */
    const tulle_trisolve_options *options;
    int gathered; /* on PE 0; the others cannot look at rows */
    int upper;    /* op(T) is */
    int unit;
    int head, tail; /* 1: the first, or last, entry of a row is its pivot */
    tulle_gidx n;
    int ntiles;
    const tulle_gidx *cut;
    tulle_tile *tile; /* [ntiles], in place */
} tulle__triangle;

/* Collective. options must outlive the triangle. The tiles are not looked at yet. */
tulle_status tulle__triangle_init(tulle_mat *T, const tulle_trisolve_options *options, tulle__triangle *t);
void tulle__triangle_fini(tulle__triangle *t);

/* The layout of a matrix that lies on PE 0 in one tile. */
tulle_status tulle__triangle_gathered(tulle_gidx m, tulle_gidx n, tulle_layout **layout);

/* Collective: the rows are those of a triangle with pivots as said. Names the first row that is not. */
tulle_status tulle__triangle_inspect(tulle__triangle *t);

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
