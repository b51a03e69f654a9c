/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/watch.h"

tulle__watch tulle__watch_phase(const tulle_plan *plan, int phase, int64_t jobs)
{
    tulle__meter *meter = tulle__comm_meter(plan->comm, 0);
    if (!meter || !meter->call) return (tulle__watch){.meter = NULL};
    int64_t left = (jobs ? jobs : 1) * (plan->phases - phase);
    if (phase == 0 || !meter->progress.total) tulle__meter_start(meter, "multiplying", "jobs", left * plan->comm->size);
    int64_t all = meter->progress.total / plan->comm->size;
    return (tulle__watch){.meter = meter, .done = all - left, .jobs = all, .last = phase == plan->phases - 1};
}

void tulle__watch_end(tulle__watch *watch, tulle_status status)
{
    if (watch->last || status != TULLE_OK) tulle__meter_stop(watch->meter, status == TULLE_OK);
}
