/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves on one device, which PE 0 opens. The rows of op(T) are copied to it once, as they are stored; B is for each
 * solve, and X comes back. Others have nothing to do. `serial` begins rows in the order of solving, `levels` by levels
 * where the device has a use for them; both have the bits of serial.
 */
#include "algo/trisolve/method.h"

#include "algo/trisolve/device/triangle_there.h"
#include "algo/trisolve/method_schedule.h"
#include "base/error.h"
#include "device/device.h"
#include "mat/pe_device.h"

struct on_device {
    int users; /* schedules: auto compares two orders of rows on one device */
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__triangle_there there;
    size_t bytes;                /* of the triangle, and what it is begun by */
    tulle__device_buffer *B, *X; /* for so many columns */
    tulle_gidx cols;
};

static void drop_sides(struct on_device *d)
{
    tulle__device_buffer_free(d->device, d->B);
    tulle__device_buffer_free(d->device, d->X);
    d->B = d->X = NULL;
    d->cols = 0;
}

static void forget(tulle__method_schedule *a)
{
    struct on_device *d = a->state;
    if (--d->users) {
        size_t before = d->device->used;
        tulle__starts_fini(d->device, a->method == TULLE_TRISOLVE_LEVELS ? &d->there.by_levels : &d->there.in_order);
        d->bytes -= before - d->device->used;
        return;
    }
    if (d->device) {
        d->device->ops->queue_free(d->device, d->queue);
        drop_sides(d);
        tulle__triangle_there_fini(&d->there);
    }
    tulle__device_close(d->device);
    tulle__free(d);
}

static tulle_status load(const tulle_trisolve *solver, struct on_device *d)
{
    tulle__device_setting setting = {.threads = 1, .rank = solver->comm->rank, .timeline = solver->comm->pe->timeline};
    TULLE_CALL(tulle__pe_device_open(solver->comm->pe, solver->options.device, &setting, &d->device));
    TULLE_CALL(d->device->ops->queue_new(d->device, &d->queue));
    return tulle__triangle_there_init(&solver->triangle, d->device, d->queue, &d->there);
}

/* The device of the candidate before, or a new one. */
static tulle_status find_device(const tulle_trisolve *solver, tulle__method_schedule *a)
{
    struct on_device *d = a == solver->candidate ? NULL : a[-1].state;
    if (!d) TULLE_CALL(tulle__alloc_zero(1, sizeof *d, "a triangle on a device", &d));
    a->state = d;
    return d->users++ ? TULLE_OK : load(solver, d);
}

/* The bytes on the device are those of the first schedule: all schedules share them. */
static void report_bytes(tulle_trisolve *solver, const struct on_device *d)
{
    for (int c = 0; c < solver->ncandidates; c++) solver->candidate[c].bytes = c ? 0 : (int64_t)d->bytes;
}

/* On PE 0. */
static tulle_status prepare_there(tulle_trisolve *solver, tulle__method_schedule *a)
{
    const tulle__triangle *t = &solver->triangle;
    tulle_status status;
    TULLE_TRY(find_device(solver, a));
    struct on_device *d = a->state;
    if (a->method == TULLE_TRISOLVE_LEVELS) status = tulle__triangle_there_level(t, &d->there);
    d->bytes = d->device->used; /* also after a failure: `forget` subtracts what it frees */
    if (status != TULLE_OK) goto out;
    a->levels = d->there.by_levels.levels;
    report_bytes(solver, d);
    if (!a->mine) goto out;
    a->worker[0].nrows = t->n;
    a->worker[0].nnz = d->there.entries - (t->head || t->tail ? t->n : 0);
out:
    return status;
}

/* Auto leaves out levels where the device has no use for them, or no memory. */
static tulle_status weigh_levels(const tulle_trisolve *solver, tulle__method_schedule *a, tulle_status status)
{
    a->declined =
        solver->options.method == TULLE_TRISOLVE_AUTO && (status == TULLE_ERR_UNSUPPORTED || status == TULLE_ERR_LIMIT);
    return a->declined ? TULLE_OK : status;
}

/* Collective. */
static tulle_status prepare(tulle_trisolve *solver, tulle__method_schedule *a)
{
    tulle_status status = TULLE_OK;
    if (tulle__is_virtual(solver->comm))
        status =
            tulle__fail(TULLE_ERR_UNSUPPORTED, "a triangular solve on a device, whose time is real, in a simulation");
    else if (solver->comm->rank == 0) {
        status = prepare_there(solver, a);
        if (a->method == TULLE_TRISOLVE_LEVELS) status = weigh_levels(solver, a, status);
    }
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    int64_t found[2] = {a->levels, a->declined};
    TULLE_CALL(tulle_comm_broadcast(solver->comm, 0, found, sizeof found));
    a->levels = found[0];
    a->declined = found[1] != 0;
    return TULLE_OK;
}

static tulle_status renew(tulle_trisolve *solver, tulle__method_schedule *a)
{
    struct on_device *d = a->state;
    if (!d || a != solver->candidate) return TULLE_OK; /* the others share its values */
    return tulle__triangle_there_renew(&solver->triangle, &d->there);
}

static tulle_status hold_sides(const tulle__triangle *t, struct on_device *d, tulle_gidx cols)
{
    tulle_status status;
    size_t bytes = (size_t)(t->n * cols) * tulle_type_size(t->T->type);
    if (d->cols == cols && d->X) return TULLE_OK;
    drop_sides(d);
    TULLE_TRY(tulle__device_buffer_new(d->device, bytes, "right-hand sides", &d->B));
    TULLE_TRY(tulle__device_buffer_new(d->device, bytes, "solutions", &d->X));
    d->cols = cols;
out:
    if (status != TULLE_OK) drop_sides(d);
    return status;
}

/* Auto leaves out levels too where B and X have no room beside them. Collective, agreed. */
static tulle_status open_sides(tulle_trisolve *solver, tulle_gidx cols)
{
    struct on_device *d = solver->now->state;
    if (solver->ncandidates == 1) return TULLE_OK;
    tulle_status status = tulle_comm_agree(solver->comm, d ? hold_sides(&solver->triangle, d, cols) : TULLE_OK);
    if (status != TULLE_ERR_LIMIT) return status;
    tulle__method_schedule_fini(&solver->candidate[--solver->ncandidates]);
    solver->now = solver->candidate;
    return TULLE_OK;
}

static tulle_status sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    const tulle__triangle *t = &solver->triangle;
    struct on_device *d = solver->now->state;
    tulle_status status;
    if (!d) return TULLE_OK;
    const tulle__device_ops *ops = d->device->ops;
    int64_t start = tulle__now(solver->comm), kernels = d->device->counting->counts.kernel_ns;
    tulle_gidx cols = X->layout->n;
    tulle_tile b = tulle__tile_in_place(B, 0, 0);
    tulle_own_tile x = tulle__own_tile_in_place(X, 0, 0);
    size_t size = tulle_type_size(t->T->type), line = (size_t)cols * size;
    size_t ldb = b.order == TULLE_ROW_MAJOR ? (size_t)b.ld * size : size,
           ldx = x.order == TULLE_ROW_MAJOR ? (size_t)x.ld * size : size;
    TULLE_TRY(hold_sides(t, d, cols));
    d->there.leveled = solver->now->method == TULLE_TRISOLVE_LEVELS;
    report_bytes(solver, d);
    ops->copy(d->queue, &(tulle__device_copy){.to = {d->B, 0},
                            .host = (void *)(uintptr_t)b.val,
                            .lines = (size_t)t->n,
                            .width = line,
                            .to_pitch = line,
                            .from_pitch = ldb});
    if (b.val == x.val) TULLE_TRY(ops->queue_wait(d->queue)); /* what is copied from is not copied to meanwhile */
    tulle__triangle_there_solve(t, &d->there, &(tulle__device_place){d->B, 0}, &(tulle__device_place){d->X, 0}, cols);
    ops->copy(d->queue, &(tulle__device_copy){.from = {d->X, 0},
                            .host = x.val,
                            .lines = (size_t)t->n,
                            .width = line,
                            .to_pitch = ldx,
                            .from_pitch = line});
    status = ops->queue_wait(d->queue);
    times[0].compute_ns += tulle__now(solver->comm) - start;
    times[0].kernel_ns += d->device->counting->counts.kernel_ns - kernels;
out:
    return status;
}

const tulle__method tulle__method_device = {.reproducible = true,
    .alone = true,
    .prepare = prepare,
    .renew = renew,
    .forget = forget,
    .open = open_sides,
    .sweep = sweep};
