/* SPDX-License-Identifier: Apache-2.0 */
/* Solves by several devices: the parts that methods share (together.h). */
#include "algo/trisolve/device/together.h"

#include <unistd.h>

#include "algo/trisolve/right_hand_sides.h"
#include "base/error.h"
#include "mat/pe_device.h"

/* Facts that PEs exchange. */
struct tulle__together_peer {
    int64_t process;
    tulle__device *device;
    int32_t *stop; /* the word that stops its kernel */
    tulle__device_place shared[2];
};

/* ---- memory of the device ---- */

static tulle_status hold(tulle_status status, tulle__device_buffer **held, int *count, tulle__device_place *place)
{
    place->at = 0;
    if (status == TULLE_OK) held[(*count)++] = place->buffer;
    return status;
}

tulle_status tulle__together_hold(tulle__together *t, size_t bytes, const char *what, tulle__device_place *place)
{
    return hold(tulle__device_buffer_new(t->device, bytes, what, &place->buffer), t->held, &t->nheld, place);
}

tulle_status tulle__together_hold_sized(tulle__together *t, size_t bytes, const char *what, tulle__device_place *place)
{
    return hold(tulle__device_buffer_new(t->device, bytes, what, &place->buffer), t->sized, &t->nsized, place);
}

tulle_status tulle__together_hold_managed(
    tulle__together *t, size_t bytes, const char *what, tulle__device_place *place)
{
    return hold(t->device->ops->managed_new(t->device, bytes, what, &place->buffer), t->sized, &t->nsized, place);
}

tulle_status tulle__together_send(
    tulle__together *t, const void *from, size_t bytes, const char *what, tulle__device_place *to)
{
    if (!to->buffer) TULLE_CALL(tulle__together_hold(t, bytes, what, to));
    if (!bytes) return TULLE_OK;
    t->device->ops->upload(t->queue, to, from, bytes);
    return t->device->ops->queue_wait(t->queue);
}

tulle_status tulle__together_send_offsets(
    tulle__together *t, const int64_t *from, int64_t n, const char *what, tulle__device_place *to)
{
    int32_t *narrow = NULL;
    tulle_status status = TULLE_OK;
    if (from[n - 1] > INT32_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%s: %lld entries on the device '%s', which counts in 32 bits", what,
            (long long)from[n - 1], t->device->name);
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *narrow, what, &narrow));
    for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)from[i];
    status = tulle__together_send(t, narrow, (size_t)n * sizeof *narrow, what, to);
out:
    tulle__free(narrow);
    return status;
}

static void drop_sized(tulle__together *t)
{
    for (int b = 0; b < t->nsized; b++) tulle__device_buffer_free(t->device, t->sized[b]);
    t->nsized = 0;
    t->device->ops->host_free(t->device, t->lines);
    t->lines = NULL;
    t->task.cols = 0;
}

/* ---- analysis ---- */

static tulle_status open_device(
    const tulle_trisolve *solver, tulle__together *t, int near_rank, int near_size, int processes)
{
    tulle__device_setting setting = {.threads = 1,
        .rank = solver->comm->rank,
        .near_rank = near_rank,
        .near_size = near_size,
        .near_processes = processes,
        .timeline = solver->comm->pe->timeline};
    TULLE_CALL(tulle__pe_device_open(solver->comm->pe, solver->options.device, &setting, &t->device));
    if (!tulle__device_has(t->device, TULLE__DEVICE_SOLVE_TOGETHER))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' solves with PE 0's triangles only, by method %s",
            t->device->name, tulle_trisolve_method_name(TULLE_TRISOLVE_SERIAL));
    TULLE_CALL(t->device->ops->waits(t->device, 1)); /* its queue */
    TULLE_CALL(t->device->ops->queue_new(t->device, &t->queue));
    TULLE_CALL(t->device->ops->event_new(t->device, &t->event));
    TULLE_CALL(t->device->ops->word_new(t->device, "a word", &t->task.stop.buffer));
    t->held[t->nheld++] = t->task.stop.buffer;
    return tulle__together_hold(t, sizeof(uint64_t), "tickets", &t->task.ticket);
}

/* All PEs are threads of this process. Collective. */
static tulle_status meet(const tulle_trisolve *solver, tulle__together *t)
{
    tulle_comm *comm = solver->comm;
    struct tulle__together_peer mine = {.process = getpid(), .device = t->device, .stop = t->task.stop.buffer->direct};
    tulle_status status = tulle_comm_allgather(comm, &mine, sizeof mine, t->peer);
    for (int r = 0; status == TULLE_OK && r < comm->size; r++) {
        if (t->peer[r].process != mine.process ||
            !comm->pe->link->ops->mapped(comm->pe->link, tulle__comm_world(comm, r), TULLE__DATA))
            status = tulle__fail(TULLE_ERR_UNSUPPORTED,
                "devices solve together if their PEs are threads of one process, which PE %d and PE %d are not",
                comm->rank, r);
        else if (r != comm->rank)
            status = t->device->ops->reach(t->device, t->peer[r].device);
    }
    return tulle_comm_agree(comm, status);
}

tulle_status tulle__together_send_values(tulle__together *t, const void *val, const void *inverse)
{
    tulle__device_together *task = &t->task;
    size_t size = tulle_type_size(task->type);
    tulle_status status =
        tulle__together_send(t, val, (size_t)task->entries * size, "values of a triangle", &task->val);
    if (status != TULLE_OK || !inverse) return status;
    return tulle__together_send(t, inverse, (size_t)task->nown * size, "pivots", &task->inverse);
}

tulle_status tulle__together_prepare(tulle_trisolve *solver, tulle__method_schedule *a)
{
    tulle_comm *comm = solver->comm;
    const struct tulle__together_rows *rows = tulle__method_in_use(a)->rows;
    tulle__together *t = NULL;
    int near_rank = 0, near_size = 1, processes = 1;
    tulle_status status = tulle__alloc_zero(1, sizeof *t, "a triangle on devices", &t);
    a->state = t;
    if (status == TULLE_OK) status = tulle__alloc_zero((size_t)comm->size, sizeof *t->peer, "PEs", &t->peer);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, rows->bytes, "a triangle on devices", &t->analysis);
    if (status == TULLE_OK && (tulle__is_virtual(comm) || comm->size > TULLE__TOGETHER_PES))
        status = tulle__fail(TULLE_ERR_UNSUPPORTED, "at most %d devices solve together, in real time: not %d",
            TULLE__TOGETHER_PES, comm->size);
    TULLE_CALL(tulle_comm_agree(comm, status));
    t->comm = comm;
    t->task = (tulle__device_together){.kind = rows->kind,
        .type = solver->triangle.T->type,
        .rank = comm->rank,
        .size = comm->size,
        .n = solver->triangle.n};
    TULLE_CALL(tulle__comm_neighbours(comm, &near_rank, &near_size, &processes));
    TULLE_CALL(tulle_comm_agree(comm, open_device(solver, t, near_rank, near_size, processes)));
    TULLE_CALL(meet(solver, t));
    TULLE_CALL(tulle_comm_agree(comm, rows->analyse(solver, t, &a->worker[0])));
    a->bytes = (int64_t)t->device->used;
    return TULLE_OK;
}

tulle_status tulle__together_renew(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return tulle_comm_agree(solver->comm, tulle__method_in_use(a)->rows->renew(solver, a->state, a));
}

void tulle__together_forget(tulle__method_schedule *a)
{
    tulle__together *t = a->state;
    if (!t) return;
    if (t->device) {
        if (t->queue) (void)t->device->ops->queue_wait(t->queue);
        drop_sized(t);
        for (int b = 0; b < t->nheld; b++) tulle__device_buffer_free(t->device, t->held[b]);
        t->device->ops->event_free(t->device, t->event);
        t->device->ops->queue_free(t->device, t->queue);
    }
    tulle__device_close(t->device);
    if (t->analysis) tulle__method_in_use(a)->rows->forget(t->analysis);
    tulle__free(t->analysis);
    tulle__free(t->peer);
    tulle__free(t);
}

/* ---- a solve ---- */

static tulle_status make_sides(tulle__together *t, const struct tulle__together_rows *rows, tulle_gidx cols)
{
    tulle__device_together *task = &t->task;
    size_t line = (size_t)cols * tulle_type_size(task->type), own = (size_t)task->nown * line;
    struct tulle__together_peer *mine = &t->peer[task->rank];
    mine->shared[0] = mine->shared[1] = (tulle__device_place){NULL, 0};
    TULLE_CALL(t->device->ops->host_new(t->device, own, "lines", &t->lines));
    TULLE_CALL(tulle__together_hold_sized(t, own, "right-hand sides", &task->B));
    return rows->open(t, line, mine->shared);
}

tulle_status tulle__together_open(tulle_trisolve *solver, tulle_gidx cols)
{
    tulle__together *t = solver->now->state;
    tulle__device_together *task = &t->task;
    tulle_status status = TULLE_OK;
    if (task->cols != cols) {
        drop_sized(t);
        TULLE_TRY(tulle_comm_agree(t->comm, make_sides(t, tulle__method_in_use(solver->now)->rows, cols)));
        struct tulle__together_peer mine = t->peer[task->rank];
        TULLE_TRY(tulle_comm_agree(t->comm, tulle_comm_allgather(t->comm, &mine, sizeof mine, t->peer)));
        for (int r = 0; r < task->size; r++)
            for (int what = 0; what < 2; what++) task->shared[what][r] = t->peer[r].shared[what];
        task->cols = cols;
    }
    __atomic_store_n(t->peer[task->rank].stop, 0, __ATOMIC_RELEASE);
    tulle__start_arm(t->device, t->queue, task);
    status = tulle_comm_agree(t->comm, t->device->ops->queue_wait(t->queue));
out:
    if (status != TULLE_OK) drop_sized(t);
    return status;
}

static tulle_status lose_patience(const void *context, double patience)
{
    const tulle__together *t = context;
    return tulle__fail(TULLE_ERR_STATE, "the device '%s' has not solved its %lld rows within %g s: it waits for others",
        t->device->name, (long long)t->task.nown, patience);
}

static void stop_all(const tulle__together *t)
{
    for (int r = 0; r < t->comm->size; r++) __atomic_store_n(t->peer[r].stop, 1, __ATOMIC_RELEASE);
}

tulle_status tulle__together_sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    tulle__together *t = solver->now->state;
    const tulle__device_ops *ops = t->device->ops;
    size_t bytes = (size_t)(t->task.nown * t->task.cols) * tulle_type_size(t->task.type);
    tulle_status status = TULLE_OK, ended;
    int64_t start = tulle__now(t->comm), kernels = t->device->counting->counts.kernel_ns;
    int turns = 0;
    tulle__rhs_lines(solver, B, t->lines, 0);
    if (bytes) ops->upload(t->queue, &t->task.B, t->lines, bytes);
    tulle__start_solve_together(t->device, t->queue, &t->task);
    if (bytes) ops->download(t->queue, t->lines, &t->task.X, bytes);
    ops->record(t->queue, t->event);
    while (status == TULLE_OK && !ops->event_done(t->event)) {
        tulle__poll(t->comm, &turns);
        status = tulle__solver_waits(solver, 1, start, lose_patience, t);
    }
    if (status != TULLE_OK) stop_all(t);
    ended = ops->queue_wait(t->queue);
    if (ended != TULLE_OK) stop_all(t);
    if (status == TULLE_OK) status = ended;
    if (status == TULLE_OK) tulle__rhs_lines(solver, X, t->lines, 1);
    times->compute_ns += tulle__now(t->comm) - start;
    times->kernel_ns += t->device->counting->counts.kernel_ns - kernels;
    times->messages += t->words * t->task.cols;
    return status;
}
