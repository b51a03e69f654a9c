/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves by several devices. Rows are distributed as by the host's methods, whose analyses are used:
 * push.h and scatter.h. PEs must be threads of one process, as kernels follow pointers into each
 * other's memory. B and X are copied for each solve, everything else once.
 *
 * A PE that fails, or loses patience, stops the kernels of all, so that nobody waits for it.
 */
#include "algo/trisolve/method.h"

#include <unistd.h>

#include "algo/trisolve/baselines/scatter.h"
#include "algo/trisolve/device/starts.h"
#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/push/push.h"
#include "algo/trisolve/right_hand_sides.h"
#include "base/error.h"
#include "device/device.h"
#include "mat/pe_device.h"

enum { BUFFERS = 24 };

/* Facts that PEs exchange. */
struct peer {
    int64_t process;
    tulle__device *device;
    int32_t *stop; /* the word that stops its kernel */
    tulle__device_place shared[2];
};

struct together {
    tulle_comm *comm;
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__device_event *event;
    tulle__push push;
    tulle__scatter scatter;
    tulle__device_together task;
    /* made by the analysis, and for so many columns */
    tulle__device_buffer *held[BUFFERS], *sized[BUFFERS];
    int nheld, nsized;
    tulle__device_buffer *val, *inverse;
    struct peer *peer; /* [size] */
    void *lines;       /* own lines of B, then of X; of the device's host memory, as copies run beside the host */
    int64_t words;     /* that a solve of one column moves between PEs, without polls */
};

/* ---- memory of the device ---- */

static tulle_status hold(struct together *t, size_t bytes, const char *what, tulle__device_place *place)
{
    tulle_status status = tulle__device_buffer_new(t->device, bytes, what, &place->buffer);
    place->at = 0;
    if (status == TULLE_OK) t->held[t->nheld++] = place->buffer;
    return status;
}

static tulle_status hold_sized(struct together *t, size_t bytes, const char *what, tulle__device_place *place)
{
    tulle_status status = tulle__device_buffer_new(t->device, bytes, what, &place->buffer);
    place->at = 0;
    if (status == TULLE_OK) t->sized[t->nsized++] = place->buffer;
    return status;
}

/* Copies an array there; waits, so that it may go. */
static tulle_status send(struct together *t, const void *from, size_t bytes, const char *what, tulle__device_place *to)
{
    tulle_status status = to->buffer ? TULLE_OK : hold(t, bytes, what, to);
    if (status != TULLE_OK || !bytes) return status;
    t->device->ops->upload(t->queue, to, from, bytes);
    return t->device->ops->queue_wait(t->queue);
}

/* The same for offsets, which are 32 bits there. */
static tulle_status send_offsets(
    struct together *t, const int64_t *from, int64_t n, const char *what, tulle__device_place *to)
{
    int32_t *narrow = NULL;
    tulle_status status = TULLE_OK;
    if (from[n - 1] > INT32_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%s: %lld entries on the device '%s', which counts in 32 bits", what,
            (long long)from[n - 1], t->device->name);
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *narrow, what, &narrow));
    for (int64_t i = 0; i < n; i++) narrow[i] = (int32_t)from[i];
    status = send(t, narrow, (size_t)n * sizeof *narrow, what, to);
out:
    tulle__free(narrow);
    return status;
}

static void drop_sized(struct together *t)
{
    for (int b = 0; b < t->nsized; b++) tulle__device_buffer_free(t->device, t->sized[b]);
    t->nsized = 0;
    t->device->ops->host_free(t->device, t->lines);
    t->lines = NULL;
    t->task.cols = 0;
}

/* ---- analysis ---- */

static tulle_status open_device(
    const tulle_trisolve *solver, struct together *t, int near_rank, int near_size, int processes)
{
    tulle_status status;
    tulle__device_setting setting = {.threads = 1,
        .rank = solver->comm->rank,
        .near_rank = near_rank,
        .near_size = near_size,
        .near_processes = processes,
        .timeline = solver->comm->pe->timeline};
    TULLE_TRY(tulle__pe_device_open(solver->comm->pe, solver->options.device, &setting, &t->device));
    if (!tulle__device_has(t->device, TULLE__DEVICE_SOLVE_TOGETHER))
        status = tulle__fail(TULLE_ERR_UNSUPPORTED, "the device '%s' solves with PE 0's triangles only, by method %s",
            t->device->name, tulle_trisolve_method_name(TULLE_TRISOLVE_SERIAL));
    else
        status = t->device->ops->waits(t->device, 1); /* its queue */
    if (status == TULLE_OK) status = t->device->ops->queue_new(t->device, &t->queue);
    if (status == TULLE_OK) status = t->device->ops->event_new(t->device, &t->event);
    if (status != TULLE_OK) goto out;
    TULLE_TRY(t->device->ops->word_new(t->device, "a word", &t->task.stop.buffer));
    t->held[t->nheld++] = t->task.stop.buffer;
    TULLE_TRY(hold(t, sizeof(uint64_t), "tickets", &t->task.ticket));
out:
    return status;
}

/* All PEs are threads of this process. Collective. */
static tulle_status meet(const tulle_trisolve *solver, struct together *t)
{
    tulle_comm *comm = solver->comm;
    struct peer mine = {.process = getpid(), .device = t->device, .stop = t->task.stop.buffer->direct};
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

static tulle_status send_values(struct together *t, const void *val, const void *inverse)
{
    tulle__device_together *task = &t->task;
    size_t size = tulle_type_size(task->type);
    tulle_status status = send(t, val, (size_t)task->entries * size, "values of a triangle", &task->val);
    if (status != TULLE_OK || !inverse) return status;
    return send(t, inverse, (size_t)task->nown * size, "pivots", &task->inverse);
}

/* Lines that threads of a warp take together. */
static tulle_status send_groups(struct together *t, const tulle__worker_schedule *schedule)
{
    tulle__device_together *task = &t->task;
    TULLE__SCOPED int32_t *entries = NULL, *group = NULL;
    TULLE_CALL(tulle__alloc((size_t)task->nown, sizeof *entries, "entries of lines", &entries));
    TULLE_CALL(tulle__alloc((size_t)task->nown + 1, sizeof *group, "groups of lines", &group));
    for (int64_t l = 0; l < task->nown; l++) entries[l] = (int32_t)(schedule->rowptr[l + 1] - schedule->rowptr[l]);
    task->ngroups = tulle__starts_cut(entries, 0, task->nown, group) - group;
    group[task->ngroups] = (int32_t)task->nown;
    return send(t, group, ((size_t)task->ngroups + 1) * sizeof *group, "groups of lines", &task->group);
}

static tulle_status send_rows(struct together *t, const tulle__worker_schedule *schedule)
{
    tulle__device_together *task = &t->task;
    const tulle__push *push = &t->push;
    task->nown = push->nown;
    task->nghosts = push->nghosts;
    task->entries = schedule->nnz;
    t->words = push->first[push->nown];
    TULLE_CALL(send_offsets(t, schedule->rowptr, push->nown + 1, "rows of a triangle", &task->rowptr));
    TULLE_CALL(send_groups(t, schedule));
    TULLE_CALL(send(
        t, schedule->colind, (size_t)schedule->nnz * sizeof *schedule->colind, "columns of a triangle", &task->colind));
    TULLE_CALL(send_values(t, schedule->val, schedule->inverse));
    TULLE_CALL(send_offsets(t, push->first, push->nown + 1, "receivers", &task->first));
    return send(t, push->target, (size_t)t->words * sizeof *push->target, "receivers", &task->target);
}

static tulle_status send_columns(struct together *t, tulle__worker_schedule *worker)
{
    tulle__device_together *task = &t->task;
    const tulle__scatter *s = &t->scatter;
    size_t own = (size_t)s->nown * sizeof *s->row, all = (size_t)s->n * sizeof *s->line;
    int one = task->kind == TULLE__TOGETHER_ONE_SUM;
    task->nown = s->nown;
    task->entries = s->nnz;
    worker->nrows = s->nown;
    worker->nnz = s->nnz;
    for (int64_t l = 0; l < s->nown; l++) {
        worker->nwaits += s->far[l] > 0;
        t->words += 2 * (one ? t->comm->size > 1 : (int64_t)(t->comm->size - 1)); /* counters and sums that are read */
    }
    for (int64_t e = 0; one && e < s->nnz; e++) t->words += 2 * (s->line[s->rowind[e]] < 0);
    TULLE_CALL(send_offsets(t, s->colptr, s->nown + 1, "columns of a triangle", &task->rowptr));
    TULLE_CALL(send(t, s->rowind, (size_t)s->nnz * sizeof *s->rowind, "rows of a triangle", &task->colind));
    TULLE_CALL(send_values(t, s->val, s->inverse));
    TULLE_CALL(send(t, s->row, own, "rows", &task->row));
    TULLE_CALL(send(t, s->line, all, "own rows", &task->line));
    TULLE_CALL(send(t, s->near, own, "in-degrees", &task->near));
    TULLE_CALL(send(t, s->far, own, "in-degrees", &task->far));
    TULLE_CALL(hold(t, own, "in-degrees", &task->left));
    if (!one) TULLE_CALL(send(t, s->owed, all, "in-degrees", &task->owed));
    return TULLE_OK;
}

/* Collective. */
static tulle_status prepare(tulle_trisolve *solver, tulle__method_schedule *a)
{
    tulle_comm *comm = solver->comm;
    struct together *t = NULL;
    int near_rank = 0, near_size = 1, processes = 1;
    tulle_status status = tulle__alloc_zero(1, sizeof *t, "a triangle on devices", &t);
    a->state = t;
    if (status == TULLE_OK) status = tulle__alloc_zero((size_t)comm->size, sizeof *t->peer, "PEs", &t->peer);
    if (status == TULLE_OK && (tulle__is_virtual(comm) || comm->size > TULLE__TOGETHER_PES))
        status = tulle__fail(TULLE_ERR_UNSUPPORTED, "at most %d devices solve together, in real time: not %d",
            TULLE__TOGETHER_PES, comm->size);
    TULLE_TRY(tulle_comm_agree(comm, status));
    t->comm = comm;
    t->task = (tulle__device_together){
        .kind = a->method == TULLE_TRISOLVE_PUSH ? TULLE__TOGETHER_PUSH
                : a->method == TULLE_TRISOLVE_UNIFIED || a->method == TULLE_TRISOLVE_UNIFIED_TASKS
                    ? TULLE__TOGETHER_ONE_SUM
                    : TULLE__TOGETHER_OWN_SUMS,
        .type = solver->triangle.T->type,
        .rank = comm->rank,
        .size = comm->size,
        .n = solver->triangle.n};
    TULLE_TRY(tulle__comm_neighbours(comm, &near_rank, &near_size, &processes));
    TULLE_TRY(tulle_comm_agree(comm, open_device(solver, t, near_rank, near_size, processes)));
    TULLE_TRY(meet(solver, t));
    if (t->task.kind == TULLE__TOGETHER_PUSH) {
        solver->options.fanout = comm->size; /* owners store everywhere: no relays */
        TULLE_TRY(tulle__push_init(&solver->triangle, &t->push, &a->worker[0]));
        status = send_rows(t, &a->worker[0]);
    } else {
        TULLE_TRY(tulle__scatter_init(&solver->triangle, t->task.kind == TULLE__TOGETHER_ONE_SUM, &t->scatter));
        status = send_columns(t, &a->worker[0]);
    }
    a->bytes = (int64_t)t->device->used;
    status = tulle_comm_agree(comm, status);
out:
    return status;
}

static tulle_status renew(tulle_trisolve *solver, tulle__method_schedule *a)
{
    struct together *t = a->state;
    const tulle__worker_schedule *schedule = &a->worker[0];
    tulle_status status;
    if (t->task.kind == TULLE__TOGETHER_PUSH) {
        status = tulle__worker_schedules_renew(solver, a);
        if (status == TULLE_OK) status = send_values(t, schedule->val, schedule->inverse);
    } else {
        status = tulle__scatter_update(&solver->triangle, &t->scatter);
        if (status == TULLE_OK) status = send_values(t, t->scatter.val, t->scatter.inverse);
    }
    return tulle_comm_agree(solver->comm, status);
}

static void forget(tulle__method_schedule *a)
{
    struct together *t = a->state;
    if (!t) return;
    if (t->device) {
        if (t->queue) (void)t->device->ops->queue_wait(t->queue);
        drop_sized(t);
        for (int b = 0; b < t->nheld; b++) tulle__device_buffer_free(t->device, t->held[b]);
        t->device->ops->event_free(t->device, t->event);
        t->device->ops->queue_free(t->device, t->queue);
    }
    tulle__device_close(t->device);
    tulle__push_fini(&t->push);
    tulle__scatter_fini(&t->scatter);
    tulle__free(t->peer);
    tulle__free(t);
}

/* ---- a solve ---- */

static tulle_status make_sides(struct together *t, tulle_gidx cols)
{
    tulle__device_together *task = &t->task;
    size_t line = (size_t)cols * tulle_type_size(task->type), own = (size_t)task->nown * line;
    const int push = task->kind == TULLE__TOGETHER_PUSH, one = task->kind == TULLE__TOGETHER_ONE_SUM;
    struct peer *mine = &t->peer[task->rank];
    mine->shared[0] = mine->shared[1] = (tulle__device_place){NULL, 0};
    TULLE_CALL(t->device->ops->host_new(t->device, own, "lines", &t->lines));
    TULLE_CALL(hold_sized(t, own, "right-hand sides", &task->B));
    TULLE_CALL(hold_sized(t, own + (push ? (size_t)task->nghosts * line : 0), "solutions", &task->X));
    if (push) mine->shared[0] = (tulle__device_place){task->X.buffer, own};
    if (push) return TULLE_OK;
    TULLE_CALL(hold_sized(t, own, "partial sums", &task->sum));
    if (one && task->rank) return TULLE_OK; /* they are PE 0's */
    const size_t bytes[2] = {(size_t)task->n * line, (size_t)task->n * sizeof(int32_t)};
    for (int what = 0; what < 2; what++) {
        if (!one) {
            TULLE_CALL(hold_sized(t, bytes[what], "partial sums for others", &mine->shared[what]));
            continue;
        }
        TULLE_CALL(
            t->device->ops->managed_new(t->device, bytes[what], "partial sums of all", &mine->shared[what].buffer));
        t->sized[t->nsized++] = mine->shared[what].buffer;
    }
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status open_sides(tulle_trisolve *solver, tulle_gidx cols)
{
    struct together *t = solver->now->state;
    tulle__device_together *task = &t->task;
    tulle_status status = TULLE_OK;
    if (task->cols != cols) {
        drop_sized(t);
        TULLE_TRY(tulle_comm_agree(t->comm, make_sides(t, cols)));
        struct peer mine = t->peer[task->rank];
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
    const struct together *t = context;
    return tulle__fail(TULLE_ERR_STATE, "the device '%s' has not solved its %lld rows within %g s: it waits for others",
        t->device->name, (long long)t->task.nown, patience);
}

static void stop_all(const struct together *t)
{
    for (int r = 0; r < t->comm->size; r++) __atomic_store_n(t->peer[r].stop, 1, __ATOMIC_RELEASE);
}

static tulle_status sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    struct together *t = solver->now->state;
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

#define TOGETHER(same)                                                                                                 \
    {                                                                                                                  \
        .reproducible = (same), .prepare = prepare, .renew = renew, .forget = forget, .open = open_sides,              \
        .sweep = sweep                                                                                                 \
    }
static const tulle__method push = TOGETHER(true), sums = TOGETHER(false);
#undef TOGETHER

const tulle__method *tulle__method_together(tulle_trisolve_method method)
{
    switch (method) {
    case TULLE_TRISOLVE_PUSH:
        return &push;
    case TULLE_TRISOLVE_UNIFIED:
    case TULLE_TRISOLVE_UNIFIED_TASKS:
    case TULLE_TRISOLVE_SHMEM:
    case TULLE_TRISOLVE_ZEROCOPY:
        return &sums;
    default:
        return NULL;
    }
}
