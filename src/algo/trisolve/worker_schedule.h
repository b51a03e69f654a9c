/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of one worker in a solve: row blocks in order, with waits before some of them. A
 * method is a way to make schedules; one executor runs all (sweep.c).
 *
 * Every worker publishes the number of rows that it has solved in a word. A block waits until these
 * words have reached what it requires, as far as no earlier block has waited for it; a worker never
 * waits for itself, as it proceeds in order. The steps that a row depends on come earlier in every
 * schedule, so there is no deadlock.
 */
#ifndef TULLE_TRISOLVE_WORKER_SCHEDULE_H
#define TULLE_TRISOLVE_WORKER_SCHEDULE_H

#include "algo/trisolve/triangle.h"
#include "kernel/kernel.h"

/* A sweep over all rows: the addresses of its lines. */
typedef struct tulle__sweep_lines {
    int64_t cols;
    const char *b;
    char *x, *out; /* out: NULL if x is X */
    int64_t ldb, ldx, ldo;
} tulle__sweep_lines;

/* Dense row blocks of a method, and their operations. */
typedef struct tulle__supernodal_panels tulle__supernodal_panels;
struct tulle__worker_schedule;
typedef struct tulle__panel_ops {
    /* Solves row block g: lines of x from lines of b; and the number of values that this reads. */
    void (*solve)(const tulle__supernodal_panels *panels, const tulle__kernels *kernels, int64_t g,
        const tulle__sweep_lines *lines);
    int64_t (*values)(const tulle__supernodal_panels *panels, int64_t g);
    /* Updates values to the triangle's current ones. */
    tulle_status (*refill)(struct tulle__worker_schedule *schedule, const tulle__triangle *t);
    size_t (*bytes)(const tulle__supernodal_panels *panels);
    void (*free)(tulle__supernodal_panels *panels);
} tulle__panel_ops;

/* Consecutive rows or, if permuted, rows stored consecutively. */
typedef struct tulle__row_block {
    const int64_t *rowptr; /* of the first row */
    const int32_t *colind;
    const void *val;
    int64_t at;   /* line of x of the first row, and of b if rows are not permuted */
    int64_t done; /* rows of the schedule that are solved after it */
    int32_t count;
    int32_t last_wait; /* end of its waits */
} tulle__row_block;

typedef struct tulle__solve_wait {
    int32_t worker;
    int32_t rows; /* rows that the worker must have solved */
} tulle__solve_wait;

typedef struct tulle__worker_schedule {
    int worker;
    int64_t nrows, nnz; /* off the diagonal */
    int64_t nblocks, capacity;
    tulle__row_block *block;
    int64_t nwaits, wait_capacity;
    tulle__solve_wait *wait;
    /* permuted: copies of the rows, in the order of the schedule */
    void *inverse; /* [nrows] of the pivots; NULL: all are 1 */
    int64_t *rowptr;
    int32_t *colind; /* lines of x */
    void *val;
    const tulle__panel_ops *dense; /* NULL, or row blocks are panels without rows of their own */
    tulle__supernodal_panels *panels;
    /* [nrows]: rows of the triangle, in the order of the schedule; NULL: not permuted. Not owned */
    const int32_t *row;
    uint64_t *seen; /* [workers]: their words as last read by this worker */
    /*
     * while the schedule is made: what the waits so far imply for each worker, and what the next
     * block requires
     */
    int workers;
    int64_t *known, *need;
} tulle__worker_schedule;

enum { TULLE__BLOCK_ROWS = 64, TULLE__BLOCK_ENTRIES = 512 }; /* limits of a block, unless it is a single row */

void tulle__worker_schedule_fini(tulle__worker_schedule *schedule);
size_t tulle__worker_schedule_bytes(const tulle__worker_schedule *schedule, tulle_type type);

tulle_status tulle__worker_schedule_begin(tulle__worker_schedule *schedule, int worker, int workers);
void tulle__worker_schedule_end(tulle__worker_schedule *schedule);

/* The next block requires `rows` rows of the worker. */
static inline void tulle__worker_schedule_needs(tulle__worker_schedule *schedule, int worker, int64_t rows)
{
    if (rows > schedule->need[worker]) schedule->need[worker] = rows;
}

/* True if that is more than earlier blocks have waited for. */
int tulle__worker_schedule_must_wait(const tulle__worker_schedule *schedule);

/* Adds the waits of the next block, except those that are known to be satisfied. */
tulle_status tulle__worker_schedule_wait(tulle__worker_schedule *schedule);
tulle_status tulle__worker_schedule_add(tulle__worker_schedule *schedule, const tulle__row_block *block);

/*
 * Updates copied rows to the triangle's current values, in the order in which their unknowns are
 * solved, and the inverses of its pivots.
 */
tulle_status tulle__worker_schedule_fill(tulle__worker_schedule *schedule, const tulle__triangle *t);
tulle_status tulle__worker_schedule_refill(tulle__worker_schedule *schedule, const tulle__triangle *t);

/* The triangle's row that is solved as number k of a block. */
static inline tulle_gidx tulle__worker_schedule_row(
    const tulle__worker_schedule *schedule, const tulle__triangle *t, const tulle__row_block *block, int64_t k)
{
    if (schedule->row) return schedule->row[block->done - block->count + k];
    return t->upper ? block->at - k : block->at + k;
}

#endif
