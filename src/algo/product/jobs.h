/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of an execution that are started and not yet multiplied: a ring, whose head is the next
 * to be multiplied. They come from the feed, their tiles from the plan's source; the tiles of the
 * next `lookahead` jobs that have remote ones come meanwhile.
 */
#ifndef TULLE_PRODUCT_JOBS_H
#define TULLE_PRODUCT_JOBS_H

#include "algo/product/execution/execution.h"

/* Room for jobs. fini also after a failed init. */
tulle_status tulle__jobs_init(tulle__exec *x);
void tulle__jobs_fini(tulle__exec *x);

/* Starts as many as the feed gives. */
tulle_status tulle__jobs_start(tulle__exec *x);

/* Waits for the tiles of the job at the head, which then are what is multiplied. */
tulle_status tulle__jobs_await(tulle__exec *x, const tulle__job *job);

/* The tiles of the n-th job after the head, where no PE has to wait for them (tulle__runner.peek). */
int tulle__jobs_peek(void *exec, int n, bool operands, tulle__run_next *next);

/* The head is done; all of them are given up, once what was fetched for them has come. */
void tulle__jobs_end(tulle__exec *x);
void tulle__jobs_drop(tulle__exec *x);

#endif
