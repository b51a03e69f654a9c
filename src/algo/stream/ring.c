/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of buffers, and a product through it: see stream.h. */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/clock.h"
#include "base/error.h"

/* ---- what there is ---- */

/* Products with it are done. */
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
        ops->host_free(s->device, s->room[i]);
        s->room[i] = NULL;
    }
    for (int i = 0; i < s->nbuffers; i++) tulle__device_buffer_free(s->device, s->buffer[i]);
    tulle__device_buffer_free(s->device, s->pointed);
    tulle__device_buffer_free(s->device, s->workspaces);
    tulle__free(s->buffer);
    tulle__free(s->there);
    tulle__free(s->workspace);
    tulle__free(s->prepared);
    s->buffer = NULL;
    s->there = NULL;
    s->pointed = s->workspaces = NULL;
    s->workspace = NULL;
    s->prepared = NULL;
    s->nbuffers = s->loaded = 0;
}

static tulle__stream_way way_of(const struct tulle_stream *s, size_t host)
{
    if (s->plan.in_place) return TULLE__WAY_IN_PLACE;
    if (!host) return TULLE__WAY_COPIED;
    return s->device->ops->borrow ? TULLE__WAY_DIRECT : TULLE__WAY_STAGED;
}

/* Bytes of the buffer for slab k alone. */
static size_t buffer_bytes(const struct tulle_stream *s, int k)
{
    const tulle__stream_slab *slab = &s->slab[k];
    return s->way == TULLE__WAY_DIRECT ? s->feed->ops->room(s->feed, slab->entries)
                                       : tulle__slab_places(s, slab->rows, slab->entries).bytes;
}

/* Of the ring, each for the largest slab; of a matrix that stays one for each. */
static tulle_status make_buffers(struct tulle_stream *s)
{
    tulle_status status = TULLE_OK;
    size_t largest = 0;
    int ring = s->plan.resident || s->nslabs < s->plan.ring ? s->nslabs : s->plan.ring;
    for (int k = 0; k < s->nslabs; k++)
        if (buffer_bytes(s, k) > largest) largest = buffer_bytes(s, k);
    for (; s->nbuffers < ring; s->nbuffers++) {
        size_t bytes = s->plan.resident ? buffer_bytes(s, s->nbuffers) : largest;
        TULLE_TRY(tulle__device_buffer_new(s->device, bytes, "a buffer of slabs", &s->buffer[s->nbuffers]));
    }
out:
    return status;
}

/* Of a matrix that stays each slab has its own, as what is found out about it lies there; else they take turns. */
static tulle_status make_workspaces(struct tulle_stream *s)
{
    size_t sum, largest, at = 0;
    tulle_status status;
    TULLE_TRY(tulle__slab_workspaces(s, &sum, &largest));
    if (!largest) goto out;
    TULLE_TRY(
        tulle__device_buffer_new(s->device, s->plan.resident ? sum : largest, "workspace of products", &s->workspaces));
    for (int i = 0; i < s->nbuffers; i++) {
        size_t bytes = 0;
        s->workspace[i] = (tulle__device_place){s->workspaces, at};
        if (s->plan.resident) TULLE_TRY(tulle__slab_workspace(s, i, &bytes));
        at += bytes;
    }
out:
    return status;
}

static tulle__device_place *array_of(tulle__slab *slab, int array)
{
    return array == TULLE__COLIND ? &slab->colind : array == TULLE__BASE ? &slab->base : &slab->val;
}

/* The arrays of each slab where they lie. */
static tulle_status borrow_tiles(struct tulle_stream *s)
{
    tulle_status status = TULLE_OK;
    for (int k = 0; k < s->nslabs; k++) {
        tulle__arrived at = {{NULL}};
        TULLE_TRY(s->feed->ops->wait(s->feed, 0, &s->slab[k], &at));
        for (int a = 0; a < TULLE__ARRAYS; a++, s->nbuffers++) {
            TULLE_TRY(s->device->ops->borrow(s->device, (void *)(uintptr_t)at.array[a], 0, &s->buffer[s->nbuffers]));
            array_of(&s->there[k], a)->buffer = s->buffer[s->nbuffers];
        }
    }
out:
    return status;
}

tulle_status tulle__ring_make(struct tulle_stream *s)
{
    const tulle__device_ops *ops = s->device->ops;
    size_t host, count = TULLE__ARRAYS * (size_t)s->nslabs + TULLE__STREAM_RING;
    tulle_status status;
    tulle__slab_largest(s, &host);
    s->way = way_of(s, host);
    TULLE_TRY(ops->queue_new(s->device, &s->copies));
    TULLE_TRY(ops->queue_new(s->device, &s->kernels));
    TULLE_TRY(ops->event_new(s->device, &s->ended));
    for (int i = 0; i < s->plan.ring; i++) {
        TULLE_TRY(ops->event_new(s->device, &s->ready[i]));
        TULLE_TRY(ops->event_new(s->device, &s->used[i]));
    }
    TULLE_TRY(tulle__alloc_zero(count, sizeof(tulle__device_buffer *), "buffers", &s->buffer));
    TULLE_TRY(tulle__alloc_zero(count, sizeof *s->there, "slabs on the device", &s->there));
    TULLE_TRY(tulle__alloc_zero(count, sizeof *s->workspace, "workspaces", &s->workspace));
    TULLE_TRY(tulle__alloc_zero(count, sizeof(tulle__device_prepared *), "prepared slabs", &s->prepared));
    if (ops->borrow) TULLE_TRY(ops->borrow(s->device, s->pointers, 0, &s->pointed));
    TULLE_TRY(s->way == TULLE__WAY_IN_PLACE ? borrow_tiles(s) : make_buffers(s));
    if (s->way != TULLE__WAY_IN_PLACE) TULLE_TRY(make_workspaces(s));
    for (int i = 0; i < s->plan.ring && i < s->nslabs && s->way == TULLE__WAY_STAGED; i++)
        TULLE_TRY(ops->host_new(s->device, host, "staging of slabs", &s->room[i]));
out:
    return status;
}

size_t tulle__ring_host_bytes(const struct tulle_stream *s)
{
    size_t room, bytes = 0;
    tulle__slab_largest(s, &room);
    for (int i = 0; i < TULLE__STREAM_RING; i++)
        if (s->room[i]) bytes += room;
    for (int k = 0; k < s->nslabs; k++) bytes += (size_t)(s->slab[k].rows + 1) * (size_t)s->device->rowptr_bytes;
    return bytes;
}

/* ---- a slab ---- */

char *tulle__ring_room(const struct tulle_stream *s, int in)
{
    return s->way == TULLE__WAY_DIRECT ? s->buffer[in]->direct : s->room[in % s->plan.ring];
}

void tulle__ring_upload(struct tulle_stream *s, int k, int in, const tulle__arrived *arrived)
{
    const tulle__stream_slab *slab = &s->slab[k];
    tulle__device_buffer *buffer = s->buffer[in];
    tulle__slab *there = &s->there[in];
    *there = tulle__slab_of(s, k);
    if (s->way == TULLE__WAY_DIRECT) {
        there->rowptr = (tulle__device_place){s->pointed, slab->pointers};
        for (int a = 0; a < TULLE__ARRAYS; a++)
            if (arrived->array[a])
                *array_of(there, a) =
                    (tulle__device_place){buffer, (size_t)((const char *)arrived->array[a] - (char *)buffer->direct)};
        return;
    }
    tulle__slab_place at = tulle__slab_places(s, slab->rows, slab->entries);
    there->rowptr = (tulle__device_place){buffer, 0};
    const tulle__device_ops *ops = s->device->ops;
    ops->upload(s->copies, &there->rowptr, s->pointers + slab->pointers,
        (size_t)(slab->rows + 1) * (size_t)s->device->rowptr_bytes);
    for (int a = 0; a < TULLE__ARRAYS; a++) {
        size_t bytes = tulle__array_bytes(s, a, slab->rows, slab->entries);
        *array_of(there, a) = (tulle__device_place){buffer, at.array[a]};
        if (a != TULLE__BASE || s->format.index_bytes == 2)
            ops->upload(s->copies, array_of(there, a), arrived->array[a], bytes);
    }
}

/* Time passes for it where time is virtual. */
static void charge(const struct tulle_stream *s, const tulle__slab *A, tulle_gidx cols)
{
    tulle__work work = {.memory = (double)tulle__slab_bytes(s, A->m, A->blocks)};
    double lines = (double)(s->n + A->m * A->block);
    work.flops[s->type] = 2 * (double)(A->blocks * A->block * A->block) * (double)cols * (A->symmetric ? 2 : 1);
    work.memory += lines * (double)cols * (double)tulle_type_size(s->type);
    tulle__kernel_end(s->comm, &work);
}

/* The product of what lies in buffer `in` with columns v .. v + width - 1. */
static tulle__slab_task task_of(const struct tulle_stream *s, int in, tulle_gidx v, tulle_gidx width)
{
    size_t size = tulle_type_size(s->type);
    return (tulle__slab_task){.A = s->there[in],
        .vectors = s->type,
        .X = {.place = {s->X, (size_t)(v * s->n + tulle__slab_columns_before(s) * width) * size}, .ld = width},
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
        s->device->ops->multiply(s->kernels, &task);
    }
    if (tulle__is_virtual(s->comm)) charge(s, &s->there[in], cols);
}

/* ---- a product ---- */

/* How far slabs have come: started with the feed, brought to the device, given to the kernels. */
struct progress {
    int fed, sent, done;
    int ring;
    double reading;
};

/* Starts reading slabs as far as their rooms are free: nobody copies from them, or works on them, any more. */
static void feed_more(struct tulle_stream *s, struct progress *p)
{
    int rooms = s->way == TULLE__WAY_DIRECT || s->way == TULLE__WAY_STAGED;
    while (rooms && p->fed < s->nslabs && p->fed < p->done + p->ring && (!s->options.no_overlap || p->fed == p->done)) {
        int slot = p->fed % s->plan.ring;
        tulle__device_event *last = s->way == TULLE__WAY_DIRECT ? s->used[slot] : s->ready[slot];
        if (p->fed >= p->ring && !s->device->ops->event_done(last)) return;
        s->feed->ops->start(s->feed, slot, &s->slab[p->fed], tulle__ring_room(s, s->plan.resident ? p->fed : slot));
        p->fed++;
    }
}

/* Whether the next slab to be sent has come, so that sending it takes no waiting; gets are waited for. */
static int has_come(struct tulle_stream *s, const struct progress *p)
{
    if (s->way == TULLE__WAY_COPIED) return 1;
    if (p->sent >= p->fed) return 0;
    const tulle__producer_ops *feed = s->feed->ops;
    return !feed->ready || feed->ready(s->feed, p->sent % s->plan.ring);
}

static tulle_status send(struct tulle_stream *s, struct progress *p)
{
    int slot = p->sent % s->plan.ring;
    tulle__arrived arrived = {{NULL}};
    double start = tulle__clock_seconds();
    tulle_status status = s->feed->ops->wait(s->feed, slot, &s->slab[p->sent], &arrived);
    p->reading += tulle__clock_seconds() - start;
    if (status == TULLE_OK) {
        s->device->ops->join(s->copies, s->used[slot]);
        tulle__ring_upload(s, p->sent, s->plan.resident ? p->sent : slot, &arrived);
        s->device->ops->record(s->copies, s->ready[slot]);
    }
    p->sent++;
    if (status == TULLE_OK && s->options.no_overlap) status = tulle__ring_wait(s, s->copies);
    return status;
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
    tulle_status status = TULLE_OK;
    int turns = 0;
    while (p->done < s->nslabs && status == TULLE_OK) {
        int may_send =
            p->sent < s->nslabs && p->sent < p->done + p->ring && (!s->options.no_overlap || p->sent == p->done);
        feed_more(s, p);
        int started = s->way == TULLE__WAY_COPIED || p->sent < p->fed; /* else its room is not free yet */
        if (may_send && started && (has_come(s, p) || p->done == p->sent))
            status = send(s, p);
        else if (p->done < p->sent)
            status = multiply_next(s, p, cols);
        else {
            tulle__pause(s->comm, &turns);
            continue;
        }
        turns = 0;
    }
    return status;
}

/* Slabs of a half add to Y. */
static void clear_y(struct tulle_stream *s, tulle_gidx cols)
{
    tulle_gidx width = s->options.column_by_column ? 1 : cols;
    tulle__vectors Y = {.place = {s->Y, 0}, .ld = width};
    s->device->ops->scale(
        s->kernels, s->type, tulle__stream_y_lines(s) * (s->options.column_by_column ? cols : 1), width, &Y, 0);
}

/* What is found out once about slabs that stay, for products of so many columns. */
static tulle_status prepare(struct tulle_stream *s, tulle_gidx cols)
{
    tulle_gidx width = s->options.column_by_column ? 1 : cols;
    tulle_status status = TULLE_OK;
    if (s->prepared_cols == width || !s->device->ops->prepare || s->way == TULLE__WAY_IN_PLACE) return TULLE_OK;
    forget(s);
    for (int k = 0; k < s->nslabs && status == TULLE_OK; k++) {
        tulle__slab_task task = task_of(s, k, 0, width);
        status = s->device->ops->prepare(s->kernels, &task, &s->prepared[k]);
    }
    s->prepared_cols = width;
    if (status != TULLE_OK) forget(s);
    return status;
}

/* What lies on the device already. */
static tulle_status multiply_resident(struct tulle_stream *s, tulle_gidx cols)
{
    tulle_status status = prepare(s, cols);
    for (int k = 0; k < s->nslabs && status == TULLE_OK; k++) {
        if (s->way == TULLE__WAY_IN_PLACE) {
            tulle__slab at = tulle__slab_of(s, k);
            at.rowptr = (tulle__device_place){s->pointed, s->slab[k].pointers};
            for (int a = 0; a < TULLE__ARRAYS; a++) array_of(&at, a)->buffer = array_of(&s->there[k], a)->buffer;
            s->there[k] = at;
        }
        tulle__ring_multiply(s, k, cols);
    }
    return status;
}

tulle_status tulle__ring_wait(struct tulle_stream *s, tulle__device_queue *queue)
{
    int turns = 0;
    s->device->ops->record(queue, s->ended);
    while (!s->device->ops->event_done(s->ended)) tulle__pause(s->comm, &turns);
    return s->device->ops->queue_wait(queue);
}

tulle_status tulle__ring_pass(struct tulle_stream *s, tulle_gidx cols, tulle__stream_times *times)
{
    struct progress p = {.ring = s->plan.ring};
    int resident = s->loaded || s->way == TULLE__WAY_IN_PLACE;
    tulle_status status = TULLE_OK, ended;
    double start = tulle__clock_seconds();
    if (!resident && s->feed->ops->check) status = s->feed->ops->check(s->feed);
    if (status == TULLE_OK && s->format.symmetric) clear_y(s, cols);
    if (status == TULLE_OK && resident) status = multiply_resident(s, cols);
    if (status == TULLE_OK && !resident) status = stream_slabs(s, &p, cols);
    /* the message of the first failure is kept */
    char cause[TULLE_MESSAGE_MAX];
    strcpy(cause, tulle_error_message());
    for (tulle__arrived unused; p.sent < p.fed; p.sent++) /* after a failure: what is on its way must end */
        s->feed->ops->wait(s->feed, p.sent % s->plan.ring, &s->slab[p.sent], &unused);
    for (int q = 0; q < 2; q++) {
        ended = tulle__ring_wait(s, q ? s->kernels : s->copies);
        if (status != TULLE_OK)
            tulle__error_set(cause);
        else if (ended != TULLE_OK)
            strcpy(cause, tulle_error_message());
        if (status == TULLE_OK) status = ended;
    }
    times->loop = tulle__clock_seconds() - start;
    times->reading = p.reading;
    if (status == TULLE_OK && !resident && s->feed->ops->check) status = s->feed->ops->check(s->feed);
    if (status == TULLE_OK) s->loaded = s->plan.resident;
    return status;
}
