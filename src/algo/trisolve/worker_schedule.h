/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one worker does in a solve: blocks of rows in their order, and before a block whose rows it may have to wait
 * for. A method is a way to make schedules; all are carried out alike (sweep.c).
 *
 * Every worker counts the rows that it has solved in a word that others read. A block waits until those words have
 * reached what it needs, and only for what no block before it has waited for; a worker needs nothing of itself, as it
 * goes on in order. Steps that all rows depend on come earlier in every schedule, so nobody waits in a circle.
 */
#ifndef TULLE_TRISOLVE_WORKER_SCHEDULE_H
#define TULLE_TRISOLVE_WORKER_SCHEDULE_H

#include "algo/trisolve/triangle.h"
#include "kernel/kernel.h"

/* A sweep over all rows: where its lines are. */
typedef struct tulle__sweep_lines {
    int64_t cols;
    const char *b;
    char *x, *out; /* out: NULL if x is X */
    int64_t ldb, ldx, ldo;
} tulle__sweep_lines;

/* Row blocks that are dense: a method's own, and what it does with them. */
typedef struct tulle__panels tulle__panels;
struct tulle__worker_schedule;
typedef struct tulle__panel_ops {
    /* Row block number g: lines of x from lines of b; and the values that this takes. */
    void (*solve)(
        const tulle__panels *panels, const tulle__kernels *kernels, int64_t g, const tulle__sweep_lines *lines);
    int64_t (*values)(const tulle__panels *panels, int64_t g);
    /* Values as the triangle has them now. */
    tulle_status (*refill)(struct tulle__worker_schedule *schedule, const tulle__triangle *t);
    size_t (*bytes)(const tulle__panels *panels);
    void (*free)(tulle__panels *panels);
} tulle__panel_ops;

/* Rows that lie one after the other, or, permuted, were put so. */
typedef struct tulle__row_block {
    const int64_t *rowptr; /* of the first row */
    const int32_t *colind;
    const void *val;
    int64_t at;   /* line of x of the first row; and of b, if rows are not permuted */
    int64_t done; /* rows of the schedule that are solved after it */
    int32_t count;
    int32_t last_wait; /* its waits end before this one */
} tulle__row_block;

typedef struct tulle__solve_wait {
    int32_t worker;
    int32_t rows; /* that it must have solved */
} tulle__solve_wait;

typedef struct tulle__worker_schedule {
    int worker;
    int64_t nrows, nnz; /* off the diagonal */
    int64_t nblocks, room;
    tulle__row_block *block;
    int64_t nwaits, wait_room;
    tulle__solve_wait *wait;
    /* permuted: copies of the rows, in the order of the schedule */
    void *inverse; /* [nrows] of the pivots; NULL: all are 1 */
    int64_t *rowptr;
    int32_t *colind; /* lines of x */
    void *val;
    const tulle__panel_ops *dense; /* NULL, or row blocks are panels and have no rows of their own */
    tulle__panels *panels;
    const int32_t *row; /* [nrows] rows of the triangle, in the order of the schedule; NULL: not permuted. Not owned */
    uint64_t *seen;     /* [workers] their words when they were last looked at, by this worker */
    /* while the schedule is made: what waits so far tell of each worker, and what the next block needs */
    int workers;
    int64_t *known, *need;
} tulle__worker_schedule;

enum { TULLE__BLOCK_ROWS = 64, TULLE__BLOCK_ENTRIES = 512 }; /* a block is at most so large, or one row */

void tulle__worker_schedule_fini(tulle__worker_schedule *schedule);
size_t tulle__worker_schedule_bytes(const tulle__worker_schedule *schedule, tulle_type type);

tulle_status tulle__worker_schedule_begin(tulle__worker_schedule *schedule, int worker, int workers);
void tulle__worker_schedule_end(tulle__worker_schedule *schedule);

/* The next block needs `rows` of the worker. */
static inline void tulle__worker_schedule_needs(tulle__worker_schedule *schedule, int worker, int64_t rows)
{
    if (rows > schedule->need[worker]) schedule->need[worker] = rows;
}

/* Whether that is more than blocks before have waited for. */
int tulle__worker_schedule_must_wait(const tulle__worker_schedule *schedule);

/* The block that is added next waits for what has been said to be needed, unless it is known to be solved by then. */
tulle_status tulle__worker_schedule_wait(tulle__worker_schedule *schedule);
tulle_status tulle__worker_schedule_add(tulle__worker_schedule *schedule, const tulle__row_block *block);

/* Copied rows get the values that the triangle has now, in the order in which their unknowns become known, and the
 * inverses of its pivots: for the first time, and again. */
tulle_status tulle__worker_schedule_fill(tulle__worker_schedule *schedule, const tulle__triangle *t);
tulle_status tulle__worker_schedule_refill(tulle__worker_schedule *schedule, const tulle__triangle *t);

/* The row that is solved as number k of a block. */
static inline tulle_gidx tulle__worker_schedule_row(
    const tulle__worker_schedule *schedule, const tulle__triangle *t, const tulle__row_block *block, int64_t k)
{
    if (schedule->row) return schedule->row[block->done - block->count + k];
    return t->upper ? block->at - k : block->at + k;
}

#endif
