/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/method_schedule.h"

#include "algo/trisolve/method.h"
#include "base/error.h"

struct making {
    tulle_trisolve *solver;
    tulle__method_schedule *a;
};

/* For each worker of this PE. */
static tulle_status on_workers(tulle_trisolve *solver, tulle__method_schedule *a, tulle__pool_body body)
{
    struct making making = {solver, a};
    if (!a->mine) return TULLE_OK;
    return a->mine == 1 ? body(&making, 0, 1) : tulle__pool_run(solver->context->pool, body, &making);
}

static tulle_status make_one(void *arg, int thread, int nthreads)
{
    const struct making *making = arg;
    const tulle_trisolve *solver = making->solver;
    tulle__method_schedule *a = making->a;
    (void)nthreads;
    return tulle__method_in_use(a)->schedule(solver, a, solver->comm->rank * solver->each + thread, &a->worker[thread]);
}

tulle_status tulle__method_schedule_make(tulle_trisolve *solver, tulle__method_schedule *a)
{
    const tulle__method *method = tulle__method_in_use(a);
    a->mine = solver->mine;
    tulle_status status = tulle__alloc_zero((size_t)a->mine, sizeof *a->worker, "schedules", &a->worker);
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    if (method->prepare) TULLE_CALL(method->prepare(solver, a));
    if (method->schedule) TULLE_CALL(tulle_comm_agree(solver->comm, on_workers(solver, a, make_one)));
    for (int w = 0; w < a->mine; w++)
        a->bytes += (int64_t)tulle__worker_schedule_bytes(&a->worker[w], solver->triangle.T->type);
    return TULLE_OK;
}

static tulle_status renew_one(void *arg, int thread, int nthreads)
{
    const struct making *making = arg;
    (void)nthreads;
    return tulle__worker_schedule_refill(&making->a->worker[thread], &making->solver->triangle);
}

tulle_status tulle__worker_schedules_renew(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return on_workers(solver, a, renew_one);
}

tulle_status tulle__method_schedule_renew(tulle_trisolve *solver, tulle__method_schedule *a)
{
    const tulle__method *method = tulle__method_in_use(a);
    return method->renew ? method->renew(solver, a) : TULLE_OK;
}

void tulle__method_schedule_fini(tulle__method_schedule *a)
{
    const tulle__method *method = tulle__method_in_use(a);
    for (int w = 0; a->worker && w < a->mine; w++) tulle__worker_schedule_fini(&a->worker[w]);
    if (a->state && method->forget) method->forget(a);
    tulle__free(a->worker);
    *a = (tulle__method_schedule){.mine = 0};
}
