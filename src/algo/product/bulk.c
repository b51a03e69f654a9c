/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/bulk.h"

#include "algo/product/jobs.h"
#include "algo/product/product_progress.h"
#include "base/error.h"

static tulle_status multiply_unit(tulle__exec *x, int t, const tulle__target *target, int k)
{
    tulle__panels *panels = x->plan->panels;
    tulle__job job = {.i = target->i, .j = target->j, .nk = 1, .units = 1, .k = &k};
    tulle_tile a = tulle__panels_a(panels, t, job.i, k), b = tulle__panels_b(panels, t, k, job.j);
    tulle_status status = tulle__jobs_set_tiles(x, &job, 0, &a, &b);
    if (status == TULLE_OK) status = tulle__multiply_job(x, &job);
    tulle__jobs_drop_slices(x, &job);
    return status;
}

static tulle_status multiply_step(tulle__exec *x, int t)
{
    tulle_status status = TULLE_OK;
    const tulle__operands *o = &x->plan->operands;
    for (int k = 0; k < o->K; k++) {
        if (!tulle__panels_in_step(x->plan->panels, t, k)) continue;
        for (int n = 0; n < x->plan->ntargets; n++) {
            const tulle__target *target = &x->plan->target[n];
            if (!tulle__operands_meet(o, target->i, k, target->j)) continue;
            TULLE_TRY(multiply_unit(x, t, target, k));
            TULLE_TRY(tulle__panels_advance(x->plan->panels));
            tulle__progress(x->plan->comm);
        }
    }
out:
    return status;
}

/* The panel of the step is there, on all PEs. */
static tulle_status complete_step(tulle__exec *x)
{
    int64_t start = tulle__now(x->plan->comm);
    tulle_status status = tulle__panels_finish(x->plan->panels);
    int64_t arrived = tulle__now(x->plan->comm);
    x->communicate_ns += arrived - start;
    if (status == TULLE_OK && x->plan->comm->size > 1) status = tulle_comm_barrier(x->plan->comm);
    x->wait_ns += tulle__now(x->plan->comm) - arrived;
    return status;
}

static void start_step(tulle__exec *x, int t)
{
    int64_t start = tulle__now(x->plan->comm);
    if (t < tulle__panels_steps(x->plan->panels)) tulle__panels_start(x->plan->panels, t);
    x->communicate_ns += tulle__now(x->plan->comm) - start;
}

tulle_status tulle__bulk_run(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    int steps = tulle__panels_steps(x->plan->panels), ahead = x->plan->lookahead > 0;
    tulle__product_progress progress = tulle__product_progress_range(x->plan, steps);
    start_step(x, 0);
    for (int t = 0; t < steps; t++) {
        TULLE_TRY(complete_step(x));
        if (ahead) start_step(x, t + 1);
        TULLE_TRY(multiply_step(x, t));
        if (!ahead) start_step(x, t + 1);
        tulle__product_progress_done(&progress, 1);
    }
out:
    tulle__panels_end(x->plan->panels);
    tulle__product_progress_end(&progress, status);
    return status;
}
