/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/product_progress.h"

#include "algo/product/stage/phase.h"

tulle__product_progress tulle__product_progress_range(const tulle_product *plan, int64_t jobs)
{
    tulle__progress_meter *meter = tulle__comm_progress_meter(plan->comm, 0);
    if (!meter || !meter->call) return (tulle__product_progress){.meter = NULL};
    /* as many jobs again for as many columns again */
    const tulle__phase_figures now = tulle__phases_figures(plan);
    int64_t left = (jobs ? jobs : 1) * (1 + now.ahead), all = meter->progress.total / plan->comm->size;
    if (now.columns.number == 0 || all < left) {
        tulle__progress_meter_start(meter, "multiplying", "jobs", left * plan->comm->size);
        all = meter->progress.total / plan->comm->size;
    }
    return (tulle__product_progress){.meter = meter, .done = all - left, .jobs = all, .last = now.columns.last};
}

void tulle__product_progress_end(tulle__product_progress *progress, tulle_status status)
{
    if (progress->last || status != TULLE_OK) tulle__progress_meter_stop(progress->meter, status == TULLE_OK);
}
