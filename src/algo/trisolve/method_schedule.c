/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/method_schedule.h"

#include "algo/trisolve/rows/chunked.h"
#include "algo/trisolve/solver.h"
#include "algo/trisolve/supernodal/panels.h"
#include "base/error.h"

enum { INSPECTED = 512 }; /* rows that stay in a cache until they are looked at */

struct arranging {
    tulle_trisolve *solver;
    tulle__arrangement *a;
};

/* For each worker of this PE. */
static tulle_status on_workers(tulle_trisolve *solver, tulle__arrangement *a, tulle__pool_body body)
{
    struct arranging arranging = {solver, a};
    if (!a->mine) return TULLE_OK;
    return a->mine == 1 ? body(&arranging, 0, 1) : tulle__pool_run(solver->context->pool, body, &arranging);
}

/* For a serial pass that does more than solve. */
static int64_t short_groups(const tulle_trisolve *solver)
{
    if (tulle__is_virtual(solver->comm)) return TULLE__GROUP_ROWS;
    return solver->uninspected ? INSPECTED : 0;
}

static tulle_status make_share(void *arg, int thread, int nthreads)
{
    const struct arranging *arranging = arg;
    const tulle_trisolve *solver = arranging->solver;
    tulle__arrangement *a = arranging->a;
    int worker = solver->comm->rank * solver->each + thread;
    (void)nthreads;
    if (a->method == TULLE_METHOD_SERIAL)
        return tulle__serial_share(&solver->triangle, short_groups(solver), worker, solver->workers, &a->share[thread]);
    if (a->method == TULLE_METHOD_CHUNKED)
        return tulle__chunked_share(&solver->triangle, a->chunk, worker, solver->workers, &a->share[thread]);
    if (a->method == TULLE_METHOD_SUPERNODAL)
        return tulle__strips_share(&solver->triangle, &a->supernodes, worker, solver->workers, &a->share[thread]);
    return tulle__leveled_share(
        &solver->triangle, &a->order, a->method == TULLE_METHOD_LEVELS, worker, &a->share[thread]);
}

/* Columns in place of shares; of the only one a PE has its sizes are told. */
static tulle_status arrange_columns(tulle_trisolve *solver, tulle__arrangement *a)
{
    tulle__scatter *s = &solver->scatter;
    int shared = a->method == TULLE_METHOD_UNIFIED || a->method == TULLE_METHOD_UNIFIED_TASKS;
    tulle_status status = tulle__scatter_init(&solver->triangle, shared, s);
    if (status != TULLE_OK) return status;
    a->share[0].nrows = s->nown;
    a->share[0].nnz = s->nnz;
    for (int64_t l = 0; l < s->nown; l++) a->share[0].nwaits += s->far[l] > 0;
    a->bytes = (int64_t)tulle__scatter_bytes(s);
    return TULLE_OK;
}

tulle_status tulle__arrange(tulle_trisolve *solver, tulle__arrangement *a)
{
    const tulle__triangle *t = &solver->triangle;
    a->mine = solver->mine;
    tulle_status status = tulle__alloc_zero((size_t)a->mine, sizeof *a->share, "shares", &a->share);
    TULLE_TRY(tulle_comm_agree(solver->comm, status));
    if (tulle__method_scatters(a->method)) return arrange_columns(solver, a);
    if (a->method == TULLE_METHOD_PUSH) {
        TULLE_TRY(tulle__push_init(t, &solver->push, &a->share[0]));
    } else {
        if (tulle__method_permutes(a->method))
            TULLE_TRY(
                tulle__order_init(t, solver->workers, a->method == TULLE_METHOD_LEVELS, &solver->levels, &a->order));
        if (a->method == TULLE_METHOD_SUPERNODAL) {
            solver->context->kernels->alone();
            TULLE_TRY(tulle__supernodes_init(t, solver->workers, solver->options.relax, &a->supernodes));
        }
        TULLE_TRY(tulle_comm_agree(solver->comm, on_workers(solver, a, make_share)));
    }
    if (solver->comm->rank == 0) a->bytes = (int64_t)(a->order.block.length + a->supernodes.block.length);
    for (int w = 0; w < a->mine; w++) a->bytes += (int64_t)tulle__share_bytes(&a->share[w], t->T->type);
out:
    return status;
}

static tulle_status renew_share(void *arg, int thread, int nthreads)
{
    const struct arranging *arranging = arg;
    tulle__share *share = &arranging->a->share[thread];
    (void)nthreads;
    if (share->strips) return tulle__strips_refill(&arranging->solver->triangle, &arranging->a->supernodes, share);
    if (share->row) tulle__share_refill(share, &arranging->solver->triangle); /* others are read where they lie */
    return TULLE_OK;
}

tulle_status tulle__arrangement_renew(tulle_trisolve *solver, tulle__arrangement *a)
{
    return on_workers(solver, a, renew_share);
}

void tulle__arrangement_fini(tulle__arrangement *a)
{
    for (int w = 0; a->share && w < a->mine; w++) tulle__share_fini(&a->share[w]);
    tulle__order_fini(&a->order);
    tulle__supernodes_fini(&a->supernodes);
    tulle__free(a->share);
    *a = (tulle__arrangement){.mine = 0};
}
