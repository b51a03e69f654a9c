/* SPDX-License-Identifier: Apache-2.0 */
/* Telling who watches (tulle_team_watch) of the jobs of a product, over all its phases. */
#ifndef TULLE_PRODUCT_PRODUCT_PROGRESS_H
#define TULLE_PRODUCT_PRODUCT_PROGRESS_H

#include "algo/product/plan/plan.h"

typedef struct tulle__product_progress {
    tulle__progress_meter *meter; /* NULL: progress is not shown */
    int64_t done, jobs;           /* of this PE, in the reported work */
    int last;                     /* this is the last phase */
} tulle__product_progress;

/*
 * The current range of columns (phase.h) begins, with that many jobs of this PE. All ranges to come
 * are one piece of work, unless another (writing what a range has made) comes between; how many
 * they are is an estimate.
 */
tulle__product_progress tulle__product_progress_range(const tulle_product *plan, int64_t jobs);

/*
 * Counts jobs that are done; never more than there are, where only the mean of what PEs will do is
 * known.
 */
static inline void tulle__product_progress_done(tulle__product_progress *progress, int64_t jobs)
{
    progress->done = progress->done + jobs < progress->jobs ? progress->done + jobs : progress->jobs;
    tulle__progress_meter_set(progress->meter, progress->done, progress->jobs);
}

void tulle__product_progress_end(tulle__product_progress *progress, tulle_status status);

#endif
