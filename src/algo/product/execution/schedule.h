/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule: the order of a PE's jobs under a static algorithm. The chains of the policy are cut
 * into jobs of at most `group` k. Jobs with remote tiles are spread among local ones, so that local
 * work hides the fetches: a remote job comes when the share of local multiplications done is at
 * least the share of bytes that it and the remote jobs before it fetch.
 *
 * Let F be the seconds of fetches, L and R those of local and remote jobs. An execution takes about
 * max(F, L) + R, instead of up to F + L + R with all remote jobs in a row. The order follows from
 * layouts and entries of tiles only, not from timing.
 *
 * A product in blocks (chain/block_order.h) has one list, in their order.
 */
#ifndef TULLE_PRODUCT_SCHEDULE_H
#define TULLE_PRODUCT_SCHEDULE_H

#include "algo/chain/block_order.h"

/* The jobs of one kind, in the policy's order. */
typedef struct tulle__job_list {
    tulle__cursor cursor;
    tulle__chain chain;
    int at, live; /* next k of the chain; whether there is one */
    int64_t jobs;
    double total, taken, next; /* weights: of all jobs, of those taken, of the next */
    /* of a product in blocks */
    tulle__block_cursor block;
    int done;   /* factors whose tiles of this chain are not read again (TULLE__DONE_A, ...) */
    int remote; /* the next job has remote tiles */
} tulle__job_list;

typedef struct tulle__schedule {
    tulle_product *plan;
    tulle__job_list list[2]; /* local, remote */
} tulle__schedule;

/* Also counts the jobs, by going through all chains once. */
tulle_status tulle__schedule_init(tulle__schedule *schedule, tulle_product *plan);
void tulle__schedule_fini(tulle__schedule *schedule);

/* All jobs of this PE, taken or not. */
static inline int64_t tulle__schedule_jobs(const tulle__schedule *schedule)
{
    return schedule->list[0].jobs + schedule->list[1].jobs;
}

/* True if there is a job, and whether the next one has remote tiles. */
int tulle__schedule_has_next(const tulle__schedule *schedule);
int tulle__schedule_next_is_remote(const tulle__schedule *schedule);

/* The next job, C tile (i, j) by nk tiles k; there must be one. nk = 0: only beta C. */
void tulle__schedule_take(tulle__schedule *schedule, int *i, int *j, int *nk, int *k);
/* In a product in blocks: the chunk of the next job, and its factors that are done (TULLE__DONE_A, ...). */
static inline int tulle__schedule_next_step(const tulle__schedule *schedule, int *done)
{
    *done = schedule->list[0].done;
    return schedule->list[0].block.step;
}

#endif
