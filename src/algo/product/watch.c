/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/watch.h"

/* Jobs of this PE in one phase, at least 1. */
static int64_t count_jobs(const tulle_plan *plan)
{
    int64_t jobs = 0;
    const tulle__operands *o = &plan->operands;
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++)
            jobs += (plan->policy->share(o, plan->comm->rank, i, j) + plan->group - 1) / plan->group;
    return jobs ? jobs : 1;
}

tulle__watch tulle__watch_phase(const tulle_plan *plan, int phase)
{
    tulle__meter *meter = tulle__comm_meter(plan->comm, 0);
    if (!meter || !meter->call) return (tulle__watch){.meter = NULL};
    int64_t left = count_jobs(plan) * (plan->phases - phase);
    if (phase == 0 || !meter->progress.total) tulle__meter_start(meter, "multiplying", "jobs", left * plan->comm->size);
    int64_t jobs = meter->progress.total / plan->comm->size;
    return (tulle__watch){.meter = meter, .done = jobs - left, .jobs = jobs, .last = phase == plan->phases - 1};
}

void tulle__watch_end(tulle__watch *watch, tulle_status status)
{
    if (watch->last || status != TULLE_OK) tulle__meter_stop(watch->meter, status == TULLE_OK);
}
