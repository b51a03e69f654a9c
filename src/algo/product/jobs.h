/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of an execution that are started and not yet multiplied: a ring, whose head is the next to be multiplied.
 * They come from the schedule, from rows that other PEs delegate (delegation.h), or, under stealing, from
 * reservations; the tiles of the next `lookahead` of them that have remote ones are fetched meanwhile.
 */
#ifndef TULLE_PRODUCT_JOBS_H
#define TULLE_PRODUCT_JOBS_H

#include "algo/product/execute.h"

/* Room for jobs, and the schedule. fini also after a failed init. */
tulle_status tulle__jobs_init(tulle__exec *x);
void tulle__jobs_fini(tulle__exec *x);

/* Jobs that this PE has by the plan, without what it may reserve. */
int64_t tulle__jobs_planned(const tulle__exec *x);

/* Starts as many as may be fetched ahead, and those without remote tiles before them. */
tulle_status tulle__jobs_start(tulle__exec *x);

/* Waits for the tiles of the job at the head, which then are what is multiplied. */
tulle_status tulle__jobs_await(tulle__exec *x, const tulle__job *job);

/* Lets the runner see the tiles of the job after the head, where nobody has to wait for them. */
void tulle__jobs_show_next(tulle__exec *x);

/* The head is done; all of them are given up, once what was fetched for them has come. */
void tulle__jobs_end(tulle__exec *x);
void tulle__jobs_drop(tulle__exec *x);

/* Makes tiles A and B what the n-th unit of a job multiplies; of a phase, its columns of B. */
tulle_status tulle__jobs_set_tiles(
    tulle__exec *x, const tulle__job *job, int n, const tulle_tile *a, const tulle_tile *b);
/* Frees what that took. */
void tulle__jobs_drop_slices(tulle__exec *x, const tulle__job *job);

#endif
