/* SPDX-License-Identifier: Apache-2.0 */
/* Telling who watches (tulle_team_watch) of the jobs of a product, over all its phases. */
#ifndef TULLE_PRODUCT_WATCH_H
#define TULLE_PRODUCT_WATCH_H

#include "algo/product/plan/plan.h"

typedef struct tulle__watch {
    tulle__progress_meter *meter; /* NULL: nobody watches this PE */
    int64_t done, jobs;           /* of this PE, in the work that is told of */
    int last;                     /* this is the last phase */
} tulle__watch;

/*
 * The current range of columns (phase.h) begins, with that many jobs of this PE. All ranges to come are one piece of
 * work, unless another (writing what a range has made) comes between; how many they are is an estimate.
 */
tulle__watch tulle__watch_range(const tulle_product *plan, int64_t jobs);

/* That many more are done; never more than there are, where only the mean of what PEs will do is known. */
static inline void tulle__watch_done(tulle__watch *watch, int64_t jobs)
{
    watch->done = watch->done + jobs < watch->jobs ? watch->done + jobs : watch->jobs;
    tulle__progress_meter_set(watch->meter, watch->done, watch->jobs);
}

void tulle__watch_end(tulle__watch *watch, tulle_status status);

#endif
