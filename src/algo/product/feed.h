/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources of jobs: the schedule of an asynchronous algorithm, before it rows that other PEs
 * have delegated (schedule); claims of work items (claims); the steps of SUMMA and Cannon (steps).
 */
#ifndef TULLE_PRODUCT_FEED_H
#define TULLE_PRODUCT_FEED_H

#include "algo/product/execution/execution.h"

typedef struct tulle__feed_ops {
    tulle_status (*init)(tulle__exec *x);
    void (*fini)(tulle__exec *x);
    /* Most jobs that are started and not ended. After init. */
    int (*depth)(const tulle__exec *x);
    /*
     * All that this PE will have, as `amount` of jobs counts; under stealing the mean of the PEs.
     */
    int64_t (*planned)(const tulle__exec *x);
    /*
     * The next job, without its fetches, into the free record; *got = 0: none, or none that may be
     * started while x->filled others are. There is room for one.
     */
    tulle_status (*next)(tulle__exec *x, tulle__job *job, int *got);
    /* All PEs have met after the last job. */
    void (*met)(tulle__exec *x);
} tulle__feed_ops;

/* The one of the plan's policy. */
const tulle__feed_ops *tulle__feed_of(const tulle_product *plan);

#endif
