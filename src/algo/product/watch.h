/* SPDX-License-Identifier: Apache-2.0 */
/* Telling who watches (tulle_team_watch) of the jobs of a product, over all its phases. */
#ifndef TULLE_PRODUCT_WATCH_H
#define TULLE_PRODUCT_WATCH_H

#include "algo/product/plan.h"

typedef struct tulle__watch {
    tulle__meter *meter; /* NULL: nobody watches this PE */
    int64_t done, jobs;  /* of this PE, of all phases */
    int last;            /* this is the last phase */
} tulle__watch;

/* A phase begins. The count of jobs starts with phase 0; phases in another order than 0, 1, ... are told of as such. */
tulle__watch tulle__watch_phase(const tulle_plan *plan, int phase);

static inline void tulle__watch_job(tulle__watch *watch)
{
    tulle__meter_set(watch->meter, ++watch->done, watch->jobs);
}

void tulle__watch_end(tulle__watch *watch, tulle_status status);

#endif
