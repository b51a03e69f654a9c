/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a PE's jobs: the policy's chains, cut into jobs of at most `group` k, those with remote tiles mixed with
 * the local ones so that a fetch has as much local work to hide behind as there is: a remote job comes when as large a
 * share of the local multiplications is done as its bytes and those before it are of all bytes. With F seconds of
 * fetches, L of local and R of remote jobs a run then takes about max(F, L) + R instead of up to F + L + R where remote
 * jobs come in a row. The order follows from the layouts and the entries of tiles alone, not from timing.
 */
#ifndef TULLE_PRODUCT_SCHEDULE_H
#define TULLE_PRODUCT_SCHEDULE_H

#include "algo/product/plan/plan.h"

/* The jobs of one kind, in the policy's order. */
typedef struct tulle__job_list {
    tulle__cursor cursor;
    tulle__chain chain;
    int at, live; /* next k of the chain; whether there is one */
    int64_t jobs;
    double total, taken, next; /* weights: of all jobs, of those taken, of the next */
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

/* Whether there is a job, and whether the next one has remote tiles. */
int tulle__schedule_has_next(const tulle__schedule *schedule);
int tulle__schedule_next_is_remote(const tulle__schedule *schedule);

/* The next job, C tile (i, j) by nk tiles k; there must be one. nk = 0: the tile must become beta C. */
void tulle__schedule_take(tulle__schedule *schedule, int *i, int *j, int *nk, int *k);

#endif
