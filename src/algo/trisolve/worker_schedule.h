/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one worker does in a solve: groups of rows in their order, and before a group whose rows it may have to wait
 * for. A method is a way to make shares; all are carried out alike (run.c).
 *
 * Every worker counts the rows that it has solved in a word that others read. A group waits until those words have
 * reached what it needs, and only for what no group before it has waited for; a worker needs nothing of itself, as it
 * goes on in order. Steps that all rows depend on come earlier in every share, so nobody waits in a circle.
 */
#ifndef TULLE_TRISOLVE_SHARE_H
#define TULLE_TRISOLVE_SHARE_H

#include "algo/trisolve/triangle.h"

typedef struct tulle__strips tulle__strips; /* strips.h */

/* Rows that lie one after the other, or, permuted, were put so. */
typedef struct tulle__group {
    const int64_t *rowptr; /* of the first row */
    const int32_t *colind;
    const void *val;
    int64_t at;   /* line of x of the first row; and of b, if rows are not permuted */
    int64_t done; /* rows of the share that are solved after it */
    int32_t count;
    int32_t last_wait; /* its waits end before this one */
} tulle__group;

typedef struct tulle__solve_wait {
    int32_t worker;
    int32_t rows; /* that it must have solved */
} tulle__solve_wait;

typedef struct tulle__share {
    int worker;
    int64_t nrows, nnz; /* off the diagonal */
    int64_t ngroups, room;
    tulle__group *group;
    int64_t nwaits, wait_room;
    tulle__solve_wait *wait;
    /* permuted: copies of the rows, in the order of the share */
    void *inverse; /* [nrows] of the pivots; NULL: all are 1 */
    int64_t *rowptr;
    int32_t *colind; /* lines of x */
    void *val;
    tulle__strips *strips; /* NULL, or what the groups are: then they have no rows of their own */
    const int32_t *row;    /* [nrows] rows of the triangle, in the order of the share; NULL: not permuted. Not owned */
    uint64_t *seen;        /* [workers] their words when they were last looked at, by this worker */
    /* while the share is made: what waits so far tell of each worker, and what the next group needs */
    int workers;
    int64_t *known, *need;
} tulle__share;

enum { TULLE__GROUP_ROWS = 64, TULLE__GROUP_ENTRIES = 512 }; /* a group is at most so large, or one row */

void tulle__share_fini(tulle__share *share);
size_t tulle__share_bytes(const tulle__share *share, tulle_type type);

tulle_status tulle__share_begin(tulle__share *share, int worker, int workers);
void tulle__share_end(tulle__share *share);

/* The next group needs `rows` of the worker. */
static inline void tulle__share_needs(tulle__share *share, int worker, int64_t rows)
{
    if (rows > share->need[worker]) share->need[worker] = rows;
}

/* Whether that is more than groups before have waited for. */
int tulle__share_must_wait(const tulle__share *share);

/* The group that is added next waits for what has been said to be needed, unless it is known to be solved by then. */
tulle_status tulle__share_wait(tulle__share *share);
tulle_status tulle__share_add(tulle__share *share, const tulle__group *group);

/* Copied rows get the values that the triangle has now, in the order in which their unknowns become known, and the
 * inverses of its pivots: for the first time, and again. */
tulle_status tulle__share_fill(tulle__share *share, const tulle__triangle *t);
void tulle__share_refill(tulle__share *share, const tulle__triangle *t);

/* The row that is solved as number k of a group. */
static inline tulle_gidx tulle__share_row(
    const tulle__share *share, const tulle__triangle *t, const tulle__group *group, int64_t k)
{
    if (share->row) return share->row[group->done - group->count + k];
    return t->upper ? group->at - k : group->at + k;
}

#endif
