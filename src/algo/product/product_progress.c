/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/product_progress.h"

tulle__product_progress tulle__product_progress_range(const tulle_product *plan, int64_t jobs)
{
    const tulle__phases *p = &plan->phases;
    tulle__progress_meter *meter = tulle__comm_progress_meter(plan->comm, 0);
    if (!meter || !meter->call) return (tulle__product_progress){.meter = NULL};
    /* as many jobs again for as many columns again */
    int64_t each = jobs ? jobs : 1, width = p->hi > p->lo ? p->hi - p->lo : 1;
    int64_t ahead = p->fixed ? p->fixed - 1 - p->number : (p->of - p->hi + width - 1) / width;
    int64_t left = each * (1 + ahead), all = meter->progress.total / plan->comm->size;
    if (p->number == 0 || all < left) {
        tulle__progress_meter_start(meter, "multiplying", "jobs", left * plan->comm->size);
        all = meter->progress.total / plan->comm->size;
    }
    return (tulle__product_progress){.meter = meter, .done = all - left, .jobs = all, .last = p->hi == p->of};
}

void tulle__product_progress_end(tulle__product_progress *progress, tulle_status status)
{
    if (progress->last || status != TULLE_OK) tulle__progress_meter_stop(progress->meter, status == TULLE_OK);
}
