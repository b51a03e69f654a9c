/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/method.h"

#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/supernodal/panels.h"
#include "base/error.h"

static tulle_status find_supernodes(tulle_trisolve *solver, tulle__method_schedule *a)
{
    tulle__supernodes *supernodes = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *supernodes, "supernodes", &supernodes);
    a->state = supernodes;
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    solver->context->kernels->alone();
    TULLE_CALL(tulle__supernodes_init(&solver->triangle, solver->workers, solver->options.relax, supernodes));
    a->panels = supernodes->count;
    if (solver->comm->rank == 0) a->bytes = (int64_t)supernodes->block.length;
    return TULLE_OK;
}

static tulle_status schedule_panels(
    const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule)
{
    return tulle__panels_schedule(&solver->triangle, a->state, worker, solver->workers, schedule);
}

static void forget(tulle__method_schedule *a)
{
    tulle__supernodes_fini(a->state);
    tulle__free(a->state);
}

const tulle__method tulle__method_supernodal = {.prepare = find_supernodes,
    .schedule = schedule_panels,
    .renew = tulle__worker_schedules_renew,
    .forget = forget,
    .sweep = tulle__solver_sweep};
