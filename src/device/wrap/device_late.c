/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `late` of devices: what is started in a queue is done only when a caller waits or polls for it, so that
 * a forgotten wait shows. An awaited queue is done in its order; work that it joins, in the queue where that
 * was recorded, is done before. With a seed other queues' work that could be done is done in between, by chance. A poll
 * (event_done) does one piece of work. What a download will bring is all bits set until then, and so are new buffers
 * of a device whose memory the host reaches.
 */
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/spec.h"
#include "device/wrap/device_wrap.h"

enum job_kind { UPLOAD, DOWNLOAD, COPY, KERNEL, RECORD, JOIN };

/* Work that has not been started in the device below. */
struct job {
    enum job_kind kind;
    struct job *next;
    tulle__device_place place; /* of an upload or a download */
    void *host;
    size_t bytes; /* of these, or of a kernel's task */
    tulle__device_copy copy;
    enum tulle__device_kernel kernel;
    const tulle__wrapped_any *task;
    tulle__device_event *event;
    tulle__device_queue *other; /* of a join: the queue that must have come as far as `ticket`; NULL: none */
    uint64_t ticket;
};

struct late {
    tulle__device device;
    pthread_mutex_t lock;                /* of queues and events, and while work is started below */
    uint64_t seed, draws;                /* seed 0: nothing but what is awaited is done */
    tulle__device_queue *queues, *freed; /* freed: work and events of others may still name them; all of it is done */
};

struct tulle__device_queue {
    struct late *late;
    tulle__device_queue *inner, *next;
    struct job *first, *last;
    uint64_t given, done; /* pieces of work */
};

struct tulle__device_event {
    struct late *late;
    tulle__device_event *inner;
    tulle__device_queue *queue; /* that it was recorded in last; NULL: in none */
    uint64_t ticket;
};

static const tulle__device_ops *below(const struct late *late)
{
    return late->device.inner->ops;
}

/* ---- doing what was started; under the lock ---- */

static void start_below(tulle__device_queue *q, const struct job *job)
{
    const tulle__device_ops *ops = below(q->late);
    switch (job->kind) {
    case UPLOAD:
        ops->upload(q->inner, &job->place, job->host, job->bytes);
        break;
    case DOWNLOAD:
        ops->download(q->inner, job->host, &job->place, job->bytes);
        break;
    case COPY:
        ops->copy(q->inner, &job->copy);
        break;
    case KERNEL:
        ops->start(q->inner, job->kernel, job->task);
        break;
    case RECORD:
        ops->record(q->inner, job->event->inner);
        break;
    case JOIN:
        ops->join(q->inner, job->event->inner);
        break;
    }
}

/* One piece of the queue's work, or of work that it waits for. Joins name what was recorded before: there is an end. */
static void step(tulle__device_queue *q)
{
    struct job *job = q->first;
    while (job && job->kind == JOIN && job->other && job->other->done < job->ticket) {
        q = job->other;
        job = q->first;
    }
    if (!job) return;
    start_below(q, job);
    q->first = job->next;
    if (!q->first) q->last = NULL;
    q->done++;
    tulle__free(job);
}

/* By chance, a piece of any queue's work. */
static void wander(struct late *late)
{
    int count = 0;
    if (!late->seed) return;
    for (const tulle__device_queue *q = late->queues; q; q = q->next) count++;
    uint64_t draw = tulle__random_at(late->seed, 7, late->draws++);
    if (!count || draw % 2) return;
    tulle__device_queue *q = late->queues;
    for (uint64_t n = (draw >> 8) % (uint64_t)count; n; n--) q = q->next;
    step(q);
}

static void run_to(tulle__device_queue *q, uint64_t ticket)
{
    while (q->done < ticket) {
        wander(q->late);
        if (q->done < ticket) step(q);
    }
}

/* Keeps a copy of the job for later. */
static void keep(tulle__device_queue *q, const struct job *job)
{
    struct job *made = NULL;
    const size_t behind = job->kind == KERNEL ? job->bytes : 0; /* its task */
    tulle_status status = tulle__alloc(sizeof *made + behind, 1, "work for later", &made);
    pthread_mutex_lock(&q->late->lock);
    if (status != TULLE_OK) { /* nothing may be lost: it is done now */
        run_to(q, q->given);
        start_below(q, job);
        pthread_mutex_unlock(&q->late->lock);
        return;
    }
    *made = *job;
    made->next = NULL;
    if (behind) made->task = memcpy(made + 1, job->task, behind);
    if (q->last)
        q->last->next = made;
    else
        q->first = made;
    q->last = made;
    q->given++;
    pthread_mutex_unlock(&q->late->lock);
}

/* ---- queues and events ---- */

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    TULLE_CALL(tulle__wrapped_buffer_new(device, bytes, what, buffer));
    void *direct = ((tulle__wrapped_buffer *)*buffer)->inner->direct;
    if (direct) memset(direct, 0xff, bytes);
    return TULLE_OK;
}

static tulle_status queue_new(tulle__device *device, tulle__device_queue **queue)
{
    struct late *late = (struct late *)device;
    tulle__device_queue *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a queue", &made));
    made->late = late;
    TULLE_TRY(below(late)->queue_new(device->inner, &made->inner));
    pthread_mutex_lock(&late->lock);
    made->next = late->queues;
    late->queues = made;
    pthread_mutex_unlock(&late->lock);
    *queue = made;
    return TULLE_OK;
out:
    tulle__free(made);
    return status;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    struct late *late = (struct late *)device;
    if (!queue) return;
    pthread_mutex_lock(&late->lock);
    run_to(queue, queue->given);
    for (tulle__device_queue **at = &late->queues; *at; at = &(*at)->next)
        if (*at == queue) {
            *at = queue->next;
            break;
        }
    queue->next = late->freed;
    late->freed = queue;
    pthread_mutex_unlock(&late->lock);
    below(late)->queue_free(device->inner, queue->inner);
}

static tulle_status queue_wait(tulle__device_queue *queue)
{
    pthread_mutex_lock(&queue->late->lock);
    run_to(queue, queue->given);
    pthread_mutex_unlock(&queue->late->lock);
    return below(queue->late)->queue_wait(queue->inner);
}

static tulle_status event_new(tulle__device *device, tulle__device_event **event)
{
    struct late *late = (struct late *)device;
    tulle__device_event *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "an event", &made));
    made->late = late;
    TULLE_TRY(below(late)->event_new(device->inner, &made->inner));
    *event = made;
    return TULLE_OK;
out:
    tulle__free(made);
    return status;
}

/* Work may still name it. */
static void event_free(tulle__device *device, tulle__device_event *event)
{
    struct late *late = (struct late *)device;
    if (!event) return;
    pthread_mutex_lock(&late->lock);
    for (tulle__device_queue *q = late->queues; q; q = q->next) run_to(q, q->given);
    pthread_mutex_unlock(&late->lock);
    below(late)->event_free(device->inner, event->inner);
    tulle__free(event);
}

static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    keep(queue, &(struct job){.kind = RECORD, .event = event});
    event->queue = queue;
    event->ticket = queue->given;
}

static void join(tulle__device_queue *queue, tulle__device_event *event)
{
    if (!event->queue) return; /* it has happened */
    keep(queue, &(struct job){.kind = JOIN, .event = event, .other = event->queue, .ticket = event->ticket});
}

static void event_wait(tulle__device_event *event)
{
    if (!event->queue) return;
    pthread_mutex_lock(&event->late->lock);
    run_to(event->queue, event->ticket);
    pthread_mutex_unlock(&event->late->lock);
    below(event->late)->event_wait(event->inner);
}

static int event_done(tulle__device_event *event)
{
    if (!event->queue) return 1;
    pthread_mutex_lock(&event->late->lock);
    if (event->queue->done < event->ticket) step(event->queue);
    int done = event->queue->done >= event->ticket;
    pthread_mutex_unlock(&event->late->lock);
    return done && below(event->late)->event_done(event->inner);
}

/* ---- work ---- */

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    keep(
        queue, &(struct job){
                   .kind = UPLOAD, .place = tulle__wrapped_place(to), .host = (void *)(uintptr_t)from, .bytes = bytes});
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    if (bytes) memset(to, 0xff, bytes);
    keep(queue, &(struct job){.kind = DOWNLOAD, .place = tulle__wrapped_place(from), .host = to, .bytes = bytes});
}

static void copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    if (!copy->to.buffer)
        for (size_t l = 0; l < copy->lines; l++) memset((char *)copy->host + l * copy->to_pitch, 0xff, copy->width);
    keep(queue, &(struct job){.kind = COPY, .copy = tulle__wrapped_copy(copy)});
}

static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    tulle__wrapped_any inner;
    const size_t bytes = tulle__wrapped_task(kernel, task, &inner);
    keep(queue, &(struct job){.kind = KERNEL, .kernel = kernel, .task = &inner, .bytes = bytes});
}

/* A product returns the size of its result, so all that the queue was given is done first. */
static tulle_status product(tulle__device_queue *queue, const tulle__device_product *task, tulle__device_result place,
    void *context, tulle__device_product_counts *counts)
{
    tulle__device_product inner = tulle__wrapped_product(task);
    tulle__wrapped_result asked = {.place = place, .context = context};
    pthread_mutex_lock(&queue->late->lock);
    run_to(queue, queue->given);
    pthread_mutex_unlock(&queue->late->lock);
    return below(queue->late)->product(queue->inner, &inner, tulle__wrapped_place_result, &asked, counts);
}

/* Preparing looks at what lies on the device, so all that the queue was given is done first. */
static tulle_status prepare(tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared **prepared)
{
    tulle__slab_task inner = tulle__wrapped_slab(task);
    tulle_status status = TULLE_OK;
    *prepared = NULL;
    if (!below(queue->late)->prepare) return TULLE_OK;
    pthread_mutex_lock(&queue->late->lock);
    run_to(queue, queue->given);
    status = below(queue->late)->prepare(queue->inner, &inner, prepared);
    pthread_mutex_unlock(&queue->late->lock);
    return status;
}

/* ---- opening and closing ---- */

static void close_late(tulle__device *device)
{
    struct late *late = (struct late *)device;
    for (tulle__device_queue *q = late->freed, *next; q; q = next) {
        next = q->next;
        tulle__free(q);
    }
    pthread_mutex_destroy(&late->lock);
    tulle__free(late);
}

static const tulle__device_ops ops = {
    TULLE__WRAPPED_OPS,
    .buffer_new = buffer_new,
    .host_new = tulle__wrapped_host_new,
    .host_register = tulle__wrapped_host_register,
    .state = tulle__wrapped_state,
    .peer = tulle__wrapped_peer,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .queue_wait = queue_wait,
    .event_new = event_new,
    .event_free = event_free,
    .record = record,
    .join = join,
    .event_wait = event_wait,
    .event_done = event_done,
    .upload = upload,
    .download = download,
    .copy = copy,
    .start = start,
    .product = product,
    .prepare = prepare,
    .close = close_late,
};

static tulle_status open_late(
    tulle__spec_part *part, const tulle__device_setting *setting, tulle__device *inner, tulle__device **device)
{
    static const char *const keys[] = {"seed"};
    struct late *late = NULL;
    int64_t seed = 0;
    TULLE_CALL(tulle__spec_int(part, "seed", 0, INT64_MAX, &seed));
    TULLE_CALL(tulle__spec_done(part, keys, 1));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *late, "a device", &late));
    late->device = *inner;
    late->device.ops = &ops;
    late->device.inner = inner;
    late->device.name = "late";
    late->device.used = 0;
    late->device.kernels &= TULLE__WRAPPED_KERNELS;
    late->seed = seed ? (uint64_t)seed + (uint64_t)setting->rank : 0;
    pthread_mutex_init(&late->lock, NULL);
    *device = &late->device;
    return TULLE_OK;
}

const tulle__device_driver tulle__device_late = {
    .name = "late",
    .summary = "does what was started only when it is waited or polled for (seed=N: other work meanwhile, by chance)",
    .wrap = open_late,
};
