/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of buffers, and a product through it: see stream.h. */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/clock.h"
#include "base/error.h"

/* ---- allocation ---- */

/* Frees what was prepared: its products are done. */
static void forget(struct tulle_stream *s)
{
    for (int i = 0; i < s->nbuffers && s->prepared; i++) {
        if (s->prepared[i]) s->device->ops->forget(s->device, s->prepared[i]);
        s->prepared[i] = NULL;
    }
    s->prepared_cols = 0;
}

void tulle__ring_drop(struct tulle_stream *s)
{
    const tulle__device_ops *ops = s->device->ops;
    ops->queue_free(s->device, s->copies);
    ops->queue_free(s->device, s->kernels);
    ops->event_free(s->device, s->ended);
    s->copies = s->kernels = NULL;
    s->ended = NULL;
    forget(s);
    for (int i = 0; i < TULLE__STREAM_RING; i++) {
        ops->event_free(s->device, s->ready[i]);
        ops->event_free(s->device, s->used[i]);
        s->ready[i] = s->used[i] = NULL;
        ops->host_free(s->device, s->staging[i]);
        s->staging[i] = NULL;
    }
    for (int i = 0; i < s->nbuffers; i++) tulle__device_buffer_free(s->device, s->buffer[i]);
    tulle__device_buffer_free(s->device, s->pointed);
    tulle__device_buffer_free(s->device, s->workspaces);
    tulle__free(s->buffer);
    tulle__free(s->held);
    tulle__free(s->workspace);
    tulle__free(s->prepared);
    s->buffer = NULL;
    s->held = NULL;
    s->pointed = s->workspaces = NULL;
    s->workspace = NULL;
    s->prepared = NULL;
    s->nbuffers = s->loaded = 0;
}

static tulle__transfer_mode way_of(const struct tulle_stream *s, size_t host)
{
    if (s->plan.in_place) return TULLE__MODE_IN_PLACE;
    if (!host) return TULLE__MODE_COPIED;
    return s->device->ops->borrow ? TULLE__MODE_DIRECT : TULLE__MODE_STAGED;
}

/* Bytes of the buffer for slab k alone. */
static size_t buffer_bytes(const struct tulle_stream *s, int k)
{
    const tulle__stream_slab *slab = &s->slab[k];
    return s->mode == TULLE__MODE_DIRECT ? s->producer->ops->staging_bytes(s->producer, slab->entries)
                                         : tulle__slab_places(s, slab->rows, slab->entries).bytes;
}

/* The ring's buffers, each for the largest slab; a resident matrix has one for each slab. */
static tulle_status make_buffers(struct tulle_stream *s)
{
    size_t largest = 0;
    int ring = s->plan.resident || s->nslabs < s->plan.ring ? s->nslabs : s->plan.ring;
    for (int k = 0; k < s->nslabs; k++)
        if (buffer_bytes(s, k) > largest) largest = buffer_bytes(s, k);
    for (; s->nbuffers < ring; s->nbuffers++) {
        size_t bytes = s->plan.resident ? buffer_bytes(s, s->nbuffers) : largest;
        TULLE_CALL(tulle__device_buffer_new(s->device, bytes, "a buffer of slabs", &s->buffer[s->nbuffers]));
    }
    return TULLE_OK;
}

/*
 * A resident matrix has a workspace for each slab, which holds what was prepared for it; else slabs
 * share one in turn.
 */
static tulle_status make_workspaces(struct tulle_stream *s)
{
    size_t sum, largest, at = 0;
    TULLE_CALL(tulle__slab_workspaces(s, &sum, &largest));
    if (!largest) return TULLE_OK;
    TULLE_CALL(
        tulle__device_buffer_new(s->device, s->plan.resident ? sum : largest, "workspace of products", &s->workspaces));
    for (int i = 0; i < s->nbuffers; i++) {
        size_t bytes = 0;
        s->workspace[i] = (tulle__device_place){s->workspaces, at};
        if (s->plan.resident) TULLE_CALL(tulle__slab_workspace(s, i, &bytes));
        at += bytes;
    }
    return TULLE_OK;
}

static tulle__device_place *array_of(tulle__slab *slab, int array)
{
    return array == TULLE__COLIND ? &slab->colind : array == TULLE__BASE ? &slab->base : &slab->val;
}

/* Maps the arrays of each slab in place. */
static tulle_status borrow_tiles(struct tulle_stream *s)
{
    for (int k = 0; k < s->nslabs; k++) {
        tulle__arrived at = {{NULL}};
        TULLE_CALL(s->producer->ops->wait(s->producer, 0, &s->slab[k], &at));
        for (int a = 0; a < TULLE__ARRAYS; a++, s->nbuffers++) {
            TULLE_CALL(s->device->ops->borrow(s->device, (void *)(uintptr_t)at.array[a], 0, &s->buffer[s->nbuffers]));
            array_of(&s->held[k], a)->buffer = s->buffer[s->nbuffers];
        }
    }
    return TULLE_OK;
}

tulle_status tulle__ring_make(struct tulle_stream *s)
{
    const tulle__device_ops *ops = s->device->ops;
    size_t host, count = TULLE__ARRAYS * (size_t)s->nslabs + TULLE__STREAM_RING;
    tulle__slab_largest(s, &host);
    s->mode = way_of(s, host);
    TULLE_CALL(ops->queue_new(s->device, &s->copies));
    TULLE_CALL(ops->queue_new(s->device, &s->kernels));
    TULLE_CALL(ops->event_new(s->device, &s->ended));
    for (int i = 0; i < s->plan.ring; i++) {
        TULLE_CALL(ops->event_new(s->device, &s->ready[i]));
        TULLE_CALL(ops->event_new(s->device, &s->used[i]));
    }
    TULLE_CALL(tulle__alloc_zero(count, sizeof(tulle__device_buffer *), "buffers", &s->buffer));
    TULLE_CALL(tulle__alloc_zero(count, sizeof *s->held, "slabs on the device", &s->held));
    TULLE_CALL(tulle__alloc_zero(count, sizeof *s->workspace, "workspaces", &s->workspace));
    TULLE_CALL(tulle__alloc_zero(count, sizeof(tulle__device_prepared *), "prepared slabs", &s->prepared));
    if (ops->borrow) TULLE_CALL(ops->borrow(s->device, s->pointers, 0, &s->pointed));
    TULLE_CALL(s->mode == TULLE__MODE_IN_PLACE ? borrow_tiles(s) : make_buffers(s));
    if (s->mode != TULLE__MODE_IN_PLACE) TULLE_CALL(make_workspaces(s));
    for (int i = 0; i < s->plan.ring && i < s->nslabs && s->mode == TULLE__MODE_STAGED; i++)
        TULLE_CALL(ops->host_new(s->device, host, "staging of slabs", &s->staging[i]));
    return TULLE_OK;
}

size_t tulle__ring_host_bytes(const struct tulle_stream *s)
{
    size_t capacity, bytes = 0;
    tulle__slab_largest(s, &capacity);
    for (int i = 0; i < TULLE__STREAM_RING; i++)
        if (s->staging[i]) bytes += capacity;
    for (int k = 0; k < s->nslabs; k++) bytes += (size_t)(s->slab[k].rows + 1) * (size_t)s->device->rowptr_bytes;
    return bytes;
}

/* ---- a slab ---- */

char *tulle__ring_buffer(const struct tulle_stream *s, int in)
{
    return s->mode == TULLE__MODE_DIRECT ? s->buffer[in]->direct : s->staging[in % s->plan.ring];
}

void tulle__ring_upload(struct tulle_stream *s, int k, int in, const tulle__arrived *arrived)
{
    const tulle__stream_slab *slab = &s->slab[k];
    tulle__device_buffer *buffer = s->buffer[in];
    tulle__slab *held = &s->held[in];
    *held = tulle__slab_of(s, k);
    if (s->mode == TULLE__MODE_DIRECT) {
        held->rowptr = (tulle__device_place){s->pointed, slab->pointers};
        for (int a = 0; a < TULLE__ARRAYS; a++)
            if (arrived->array[a])
                *array_of(held, a) =
                    (tulle__device_place){buffer, (size_t)((const char *)arrived->array[a] - (char *)buffer->direct)};
        return;
    }
    tulle__slab_place at = tulle__slab_places(s, slab->rows, slab->entries);
    held->rowptr = (tulle__device_place){buffer, 0};
    const tulle__device_ops *ops = s->device->ops;
    ops->upload(s->copies, &held->rowptr, s->pointers + slab->pointers,
        (size_t)(slab->rows + 1) * (size_t)s->device->rowptr_bytes);
    for (int a = 0; a < TULLE__ARRAYS; a++) {
        size_t bytes = tulle__array_bytes(s, a, slab->rows, slab->entries);
        *array_of(held, a) = (tulle__device_place){buffer, at.array[a]};
        if (a != TULLE__BASE || s->format.index_bytes == 2)
            ops->upload(s->copies, array_of(held, a), arrived->array[a], bytes);
    }
}

/* Advances virtual time by the slab's work. */
static void account_work(const struct tulle_stream *s, const tulle__slab *A, tulle_gidx cols)
{
    tulle__work work = {.memory = (double)tulle__slab_bytes(s, A->m, A->blocks)};
    double lines = (double)(s->x_lines + A->m * A->block);
    work.flops[s->type] = 2 * (double)(A->blocks * A->block * A->block) * (double)cols * (A->symmetric ? 2 : 1);
    work.memory += lines * (double)cols * (double)tulle_type_size(s->type);
    tulle__kernel_end(s->comm, &work);
}

/* The product of the slab in buffer `in` with columns v .. v + width - 1. */
static tulle__slab_task task_of(const struct tulle_stream *s, int in, tulle_gidx v, tulle_gidx width)
{
    size_t size = tulle_type_size(s->type);
    return (tulle__slab_task){.A = s->held[in],
        .vectors = s->type,
        .X = {.place = {s->X, (size_t)(v * s->x_lines + tulle__slab_columns_before(s) * width) * size}, .ld = width},
        .Y = {.place = {s->Y, (size_t)(v * tulle__stream_y_lines(s)) * size}, .ld = width},
        .cols = width,
        .workspace = s->workspace[in],
        .prepared = s->prepared_cols == width ? s->prepared[in] : NULL};
}

void tulle__ring_multiply(struct tulle_stream *s, int in, tulle_gidx cols)
{
    tulle_gidx turns = s->options.column_by_column ? cols : 1, width = s->options.column_by_column ? 1 : cols;
    if (tulle__is_virtual(s->comm)) tulle__kernel_begin(s->comm);
    for (tulle_gidx v = 0; v < turns; v++) {
        tulle__slab_task task = task_of(s, in, v, width);
        tulle__start_multiply(s->device, s->kernels, &task);
    }
    if (tulle__is_virtual(s->comm)) account_work(s, &s->held[in], cols);
}

/* ---- a product ---- */

/* Progress of slabs: reads started, uploads started, kernels started. */
struct progress {
    int started, sent, done;
    int ring;
    double reading;
};

/* Starts reads for all free staging buffers: no copy or kernel uses them any more. */
static void start_reads(struct tulle_stream *s, struct progress *p)
{
    int capacities = s->mode == TULLE__MODE_DIRECT || s->mode == TULLE__MODE_STAGED;
    while (capacities && p->started < s->nslabs && p->started < p->done + p->ring &&
           (!s->options.no_overlap || p->started == p->done)) {
        int slot = p->started % s->plan.ring;
        tulle__device_event *last = s->mode == TULLE__MODE_DIRECT ? s->used[slot] : s->ready[slot];
        if (p->started >= p->ring && !s->device->ops->event_done(last)) return;
        s->producer->ops->start(
            s->producer, slot, &s->slab[p->started], tulle__ring_buffer(s, s->plan.resident ? p->started : slot));
        p->started++;
    }
}

/*
 * True if the next slab to upload has arrived, so that waiting takes no time; gets are always
 * awaited.
 */
static int has_arrived(struct tulle_stream *s, const struct progress *p)
{
    if (s->mode == TULLE__MODE_COPIED) return 1;
    if (p->sent >= p->started) return 0;
    const tulle__producer_ops *producer = s->producer->ops;
    return !producer->ready || producer->ready(s->producer, p->sent % s->plan.ring);
}

static tulle_status send(struct tulle_stream *s, struct progress *p)
{
    const int k = p->sent++, slot = k % s->plan.ring; /* awaited, also if that fails */
    tulle__arrived arrived = {{NULL}};
    double start = tulle__clock_seconds();
    const tulle_status status = s->producer->ops->wait(s->producer, slot, &s->slab[k], &arrived);
    p->reading += tulle__clock_seconds() - start;
    TULLE_CALL(status);
    s->device->ops->join(s->copies, s->used[slot]);
    tulle__ring_upload(s, k, s->plan.resident ? k : slot, &arrived);
    s->device->ops->record(s->copies, s->ready[slot]);
    return s->options.no_overlap ? tulle__ring_wait(s, s->copies) : TULLE_OK;
}

static tulle_status multiply_next(struct tulle_stream *s, struct progress *p, tulle_gidx cols)
{
    int slot = p->done % s->plan.ring;
    s->device->ops->join(s->kernels, s->ready[slot]);
    tulle__ring_multiply(s, s->plan.resident ? p->done : slot, cols);
    s->device->ops->record(s->kernels, s->used[slot]);
    p->done++;
    return !s->options.no_overlap ? TULLE_OK : tulle__ring_wait(s, s->kernels);
}

static tulle_status stream_slabs(struct tulle_stream *s, struct progress *p, tulle_gidx cols)
{
    int turns = 0;
    while (p->done < s->nslabs) {
        int may_send =
            p->sent < s->nslabs && p->sent < p->done + p->ring && (!s->options.no_overlap || p->sent == p->done);
        start_reads(s, p);
        int started =
            s->mode == TULLE__MODE_COPIED || p->sent < p->started; /* else its staging buffer is not free yet */
        if (may_send && started && (has_arrived(s, p) || p->done == p->sent)) {
            TULLE_CALL(send(s, p));
        } else if (p->done < p->sent) {
            TULLE_CALL(multiply_next(s, p, cols));
        } else {
            tulle__pause(s->comm, &turns);
            continue;
        }
        TULLE_CALL(tulle__comm_interrupted(s->comm));
        turns = 0;
    }
    return TULLE_OK;
}

/* Slabs of a half add to Y. */
static void clear_y(struct tulle_stream *s, tulle_gidx cols)
{
    tulle_gidx width = s->options.column_by_column ? 1 : cols;
    const tulle__device_scale task = {.type = s->type,
        .lines = tulle__stream_y_lines(s) * (s->options.column_by_column ? cols : 1),
        .width = width,
        .Y = {.place = {s->Y, 0}, .ld = width}};
    tulle__start_scale(s->device, s->kernels, &task);
}

/* Lines of X that pad the last block, which nothing else writes. */
static void clear_padding(struct tulle_stream *s, tulle_gidx cols)
{
    const tulle_gidx turns = s->options.column_by_column ? cols : 1, width = s->options.column_by_column ? 1 : cols;
    for (tulle_gidx v = 0; v < turns && s->x_lines > s->n; v++) {
        const size_t at = (size_t)(v * s->x_lines + s->n * width) * tulle_type_size(s->type);
        const tulle__device_scale task = {
            .type = s->type, .lines = s->x_lines - s->n, .width = width, .Y = {.place = {s->X, at}, .ld = width}};
        tulle__start_scale(s->device, s->kernels, &task);
    }
}

/* Prepares resident slabs for products of so many columns, once. */
static tulle_status prepare(struct tulle_stream *s, tulle_gidx cols)
{
    tulle_gidx width = s->options.column_by_column ? 1 : cols;
    tulle_status status = TULLE_OK;
    if (s->prepared_cols == width || !s->device->ops->prepare || s->mode == TULLE__MODE_IN_PLACE) return TULLE_OK;
    forget(s);
    for (int k = 0; k < s->nslabs && status == TULLE_OK; k++) {
        tulle__slab_task task = task_of(s, k, 0, width);
        status = s->device->ops->prepare(s->kernels, &task, &s->prepared[k]);
    }
    s->prepared_cols = width;
    if (status != TULLE_OK) forget(s);
    return status;
}

/* Multiplies a resident matrix. */
static tulle_status multiply_resident(struct tulle_stream *s, tulle_gidx cols)
{
    TULLE_CALL(prepare(s, cols));
    for (int k = 0; k < s->nslabs; k++) {
        if (s->mode == TULLE__MODE_IN_PLACE) {
            tulle__slab at = tulle__slab_of(s, k);
            at.rowptr = (tulle__device_place){s->pointed, s->slab[k].pointers};
            for (int a = 0; a < TULLE__ARRAYS; a++) array_of(&at, a)->buffer = array_of(&s->held[k], a)->buffer;
            s->held[k] = at;
        }
        tulle__ring_multiply(s, k, cols);
    }
    return TULLE_OK;
}

tulle_status tulle__ring_wait(struct tulle_stream *s, tulle__device_queue *queue)
{
    int turns = 0;
    s->device->ops->record(queue, s->ended);
    while (!s->device->ops->event_done(s->ended)) tulle__pause(s->comm, &turns);
    return s->device->ops->queue_wait(queue);
}

/* A matrix that stays on the device needs no staging buffers on the host any more. */
static void finish_loading(struct tulle_stream *s)
{
    s->loaded = 1;
    for (int i = 0; i < TULLE__STREAM_RING; i++) {
        s->device->ops->host_free(s->device, s->staging[i]);
        s->staging[i] = NULL;
    }
}

static tulle_status run(struct tulle_stream *s, struct progress *p, tulle_gidx cols, int resident)
{
    if (!resident && s->producer->ops->check) TULLE_CALL(s->producer->ops->check(s->producer));
    clear_padding(s, cols);
    if (s->format.symmetric) clear_y(s, cols);
    return resident ? multiply_resident(s, cols) : stream_slabs(s, p, cols);
}

/* Ends what a run has started. Returns its status, else the first failure here; the message is that of this one. */
static tulle_status drain(struct tulle_stream *s, struct progress *p, tulle_status status)
{
    char cause[TULLE_MESSAGE_MAX];
    strcpy(cause, tulle__error_marked());
    for (tulle__arrived unused; p->sent < p->started; p->sent++) /* after a failure: pending reads must complete */
        s->producer->ops->wait(s->producer, p->sent % s->plan.ring, &s->slab[p->sent], &unused);
    for (int q = 0; q < 2; q++) {
        const tulle_status ended = tulle__ring_wait(s, q ? s->kernels : s->copies);
        if (status != TULLE_OK)
            tulle__error_set(cause);
        else if (ended != TULLE_OK)
            strcpy(cause, tulle__error_marked());
        if (status == TULLE_OK) status = ended;
    }
    return status;
}

tulle_status tulle__ring_pass(struct tulle_stream *s, tulle_gidx cols, tulle__stream_times *times)
{
    struct progress p = {.ring = s->plan.ring};
    int resident = s->loaded || s->mode == TULLE__MODE_IN_PLACE;
    double start = tulle__clock_seconds();
    if (s->rows) s->rows->counting = !resident && !s->rows->counted;
    const tulle_status status = drain(s, &p, run(s, &p, cols, resident));
    if (s->rows && s->rows->counting) {
        s->rows->counting = false;
        s->rows->counted = true;
    }
    times->loop = tulle__clock_seconds() - start;
    times->reading = p.reading;
    TULLE_CALL(status);
    if (!resident && s->producer->ops->check) TULLE_CALL(s->producer->ops->check(s->producer));
    if (s->plan.resident && !s->loaded) finish_loading(s);
    return TULLE_OK;
}
