/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods that solve row by row, with workers that read each other's memory: serial, chunked,
 * levels, p2p, growlocal.
 */
#include "algo/trisolve/method.h"
#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/rows/chunked.h"
#include "algo/trisolve/rows/leveled.h"
#include "base/error.h"

enum { VALIDATED = 512 }; /* rows that stay in cache until they are validated */

/* For a serial sweep that also validates. */
static int64_t short_blocks(const tulle_trisolve *solver)
{
    if (tulle__is_virtual(solver->comm)) return TULLE__BLOCK_ROWS;
    return solver->unvalidated ? VALIDATED : 0;
}

static tulle_status schedule_serial(
    const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule)
{
    (void)a;
    return tulle__serial_schedule(&solver->triangle, short_blocks(solver), worker, solver->workers, schedule);
}

/* The chunk size, by the options or the model. Collective. */
static tulle_status choose_chunk(tulle_trisolve *solver, tulle__method_schedule *a)
{
    tulle_status status = TULLE_OK;
    int64_t solves = solver->options.solves;
    a->chunk = solver->options.chunk;
    if (a->chunk) return TULLE_OK;
    if (solver->comm->rank == 0)
        status =
            tulle__chunked_choose(&solver->triangle, solver->workers, solves > 0 ? (double)solves : 1e9, &a->chunk);
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    return tulle_comm_broadcast(solver->comm, 0, &a->chunk, sizeof a->chunk);
}

static tulle_status schedule_chunks(
    const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule)
{
    return tulle__chunked_schedule(&solver->triangle, a->chunk, worker, solver->workers, schedule);
}

/* Collective. */
static tulle_status order_rows(tulle_trisolve *solver, tulle__method_schedule *a, tulle__order_kind kind)
{
    tulle__order *order = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *order, "an order of rows", &order);
    a->state = order;
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    TULLE_CALL(tulle__order_init(&solver->triangle, solver->workers, kind, order));
    a->levels = order->levels;
    if (solver->comm->rank == 0) a->bytes = (int64_t)order->block.length;
    return TULLE_OK;
}

static tulle_status order_with_barriers(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return order_rows(solver, a, TULLE__ORDER_BARRIERS);
}

static tulle_status order_without(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return order_rows(solver, a, TULLE__ORDER_P2P);
}

static tulle_status order_supersteps(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return order_rows(solver, a, TULLE__ORDER_GROWLOCAL);
}

static tulle_status schedule_levels(
    const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule)
{
    return tulle__leveled_schedule(&solver->triangle, a->state, 1, worker, schedule);
}

static tulle_status schedule_ordered(
    const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule)
{
    return tulle__leveled_schedule(&solver->triangle, a->state, 0, worker, schedule);
}

static void forget_order(tulle__method_schedule *a)
{
    tulle__order_fini(a->state);
    tulle__free(a->state);
}

const tulle__method tulle__method_serial = {
    .reproducible = true, .alone = true, .schedule = schedule_serial, .sweep = tulle__solver_sweep};

const tulle__method tulle__method_chunked = {
    .reproducible = true, .prepare = choose_chunk, .schedule = schedule_chunks, .sweep = tulle__solver_sweep};

const tulle__method tulle__method_levels = {.permutes = true,
    .reproducible = true,
    .prepare = order_with_barriers,
    .schedule = schedule_levels,
    .renew = tulle__worker_schedules_renew,
    .forget = forget_order,
    .sweep = tulle__solver_sweep};

const tulle__method tulle__method_p2p = {.permutes = true,
    .reproducible = true,
    .prepare = order_without,
    .schedule = schedule_ordered,
    .renew = tulle__worker_schedules_renew,
    .forget = forget_order,
    .sweep = tulle__solver_sweep};

const tulle__method tulle__method_growlocal = {.permutes = true,
    .reproducible = true,
    .prepare = order_supersteps,
    .schedule = schedule_ordered,
    .renew = tulle__worker_schedules_renew,
    .forget = forget_order,
    .sweep = tulle__solver_sweep};
