/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `limit`: a device with a small memory behind a slow link. Each direction has a copy engine, a thread that
 * really copies while kernels run: in pieces, so that a copy is at no moment further than the link would be, and asleep
 * whenever it is ahead of it. A copy takes latency + bytes / link, copies of one direction follow each other. With
 * peer= a third engine brings what comes from other devices, over a link of its own.
 *
 * An engine works in the order in which copies were started, and gives each a ticket, 1, 2, ... What a queue or an
 * event has to wait for is then a number an engine: how far it must have come. Work only waits for tickets that were
 * given out before it, so the oldest copy that is not done waits for nothing, and no copy waits for ever. Kernels, and
 * copies within the device, are run by the caller, when the engines have come as far as their queue says, and are done
 * when the call returns.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "device/wrap/device_wrap.h"

enum { UP, DOWN, PEER, ENGINES, JOBS = 256 };

typedef struct clock_of_engines {
    uint64_t done[ENGINES]; /* tickets */
} engines_clock;

struct job {
    tulle__device_queue *queue;
    tulle__device_copy copy; /* of the device below */
    size_t bytes;
    engines_clock after; /* so far must the engines have come */
    int64_t started;
};

struct engine {
    struct limit *limit;
    int direction;
    double ns_per_byte; /* of its link; below 0: there is none, and no thread */
    int runs;           /* the thread was made */
    pthread_t thread;
    pthread_cond_t work;
    uint64_t given, done; /* tickets */
    struct job job[JOBS];
    int64_t free_at; /* when the link has carried what it was given */
    tulle__device_queue *inner;
    tulle__timeline *line;
};

struct limit {
    tulle__device device;
    double latency_ns;
    tulle__account *account;
    tulle__timeline *timeline;
    tulle__device_queue *inner; /* for kernels; NULL until the first queue */
    pthread_mutex_t lock;
    pthread_cond_t progress; /* an engine has done a copy */
    int leaving;
    int broken;           /* queues to which the failure of a copy sticks */
    tulle_status failure; /* the last one */
    char message[TULLE_MESSAGE_MAX];
    struct engine engine[ENGINES];
};

struct tulle__device_queue {
    struct limit *limit;
    engines_clock clock;
    tulle_status status; /* under the lock */
    int breaks;          /* it is the failure of a copy in this queue */
    char message[TULLE_MESSAGE_MAX];
};

struct tulle__device_event {
    struct limit *limit;
    engines_clock clock;
};

/* ---- copy engines ---- */

static void sleep_until(int64_t then)
{
    struct timespec t = {.tv_sec = then / 1000000000, .tv_nsec = then % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) continue;
}

/* A fifth of a millisecond of the link, so that sleeping is exact enough and pieces are not too small for memory. */
static size_t piece_of(const struct engine *engine, size_t bytes)
{
    enum { LEAST = 1 << 16, MOST = 1 << 22 };
    double piece = engine->ns_per_byte > 0 ? 2e5 / engine->ns_per_byte : MOST;
    size_t size = piece < LEAST ? LEAST : piece > MOST ? MOST : (size_t)piece;
    return size < bytes ? size : bytes;
}

/* Whole lines from `line` on, or of a long one bytes from `at` on; returns its bytes. */
static size_t carry_piece(struct engine *engine, const struct job *job, size_t line, size_t at)
{
    const tulle__device_ops *ops = engine->limit->device.inner->ops;
    tulle__device_copy part = job->copy;
    size_t width = part.width, piece = piece_of(engine, job->bytes - line * width - at);
    int whole = at == 0 && width && width <= piece;
    part.lines = whole ? piece / width : 1;
    if (!whole) part.width = piece < width - at ? piece : width - at;
    part.to.at += part.to.buffer ? line * part.to_pitch + at : 0;
    part.from.at += part.from.buffer ? line * part.from_pitch + at : 0;
    if (engine->direction != PEER)
        part.host = (char *)part.host + line * (engine->direction == UP ? part.from_pitch : part.to_pitch) + at;
    if (engine->direction == PEER || !tulle__copy_is_plain(&part))
        ops->copy(engine->inner, &part);
    else if (engine->direction == UP)
        ops->upload(engine->inner, &part.to, part.host, part.lines * part.width);
    else
        ops->download(engine->inner, part.host, &part.from, part.lines * part.width);
    return part.lines * part.width;
}

/* busy: how long the link carried it. */
static tulle_status carry(struct engine *engine, const struct job *job, int64_t *busy)
{
    const struct limit *limit = engine->limit;
    const tulle__device_ops *ops = limit->device.inner->ops;
    int64_t start = engine->free_at > job->started ? engine->free_at : job->started;
    tulle_status status = TULLE_OK;
    size_t done = 0, width = job->copy.width;
    double due = (double)start + limit->latency_ns;
    do {
        size_t piece = carry_piece(engine, job, width ? done / width : 0, width ? done % width : 0);
        status = ops->queue_wait(engine->inner);
        done += piece;
        due += (double)piece * engine->ns_per_byte;
        if (status == TULLE_OK && tulle__clock_ns() < (int64_t)due) sleep_until((int64_t)due);
    } while (status == TULLE_OK && done < job->bytes);
    /* what memory was too slow for is not caught up */
    int64_t now = tulle__clock_ns(), late = now - (int64_t)due;
    engine->free_at = late > 1000000 || status != TULLE_OK ? now : (int64_t)due;
    *busy = engine->free_at - start;
    return status;
}

/* Under the lock. */
static void stick(tulle__device_queue *queue, tulle_status status)
{
    queue->status = status;
    snprintf(queue->message, sizeof queue->message, "%s", tulle__error_marked());
}

static void do_job(struct engine *engine, const struct job *job)
{
    static const enum tulle__copy_kind kinds[] = {TULLE__COPY_UP, TULLE__COPY_DOWN, TULLE__COPY_PEER};
    enum tulle__copy_kind kind = kinds[engine->direction];
    struct limit *limit = engine->limit;
    int64_t start = tulle__clock_ns(), busy;
    tulle_status status = carry(engine, job, &busy);
    int64_t end = tulle__clock_ns();
    tulle__timeline_span(engine->line, tulle__copy_name(kind), start, end, (int64_t)job->bytes, -1);
    pthread_mutex_lock(&limit->lock);
    limit->device.counts.copies[kind]++;
    limit->device.counts.bytes[kind] += (int64_t)job->bytes;
    limit->device.counts.copy_ns[kind] += busy;
    if (status != TULLE_OK && job->queue->status == TULLE_OK) {
        job->queue->breaks = 1;
        limit->broken++;
        limit->failure = status;
        snprintf(limit->message, sizeof limit->message, "%s", tulle__error_marked());
        stick(job->queue, status);
    }
}

/* Under the lock, as the next. */
static int has_come(const struct limit *limit, const engines_clock *clock)
{
    for (int e = 0; e < ENGINES; e++)
        if (limit->engine[e].done < clock->done[e]) return 0;
    return 1;
}

static void wait_for(struct limit *limit, const engines_clock *clock)
{
    while (!has_come(limit, clock)) pthread_cond_wait(&limit->progress, &limit->lock);
}

static void *work(void *arg)
{
    struct engine *engine = arg;
    struct limit *limit = engine->limit;
    tulle__account_enter(limit->account);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    pthread_mutex_lock(&limit->lock);
    for (;;) {
        while (engine->given == engine->done && !limit->leaving) pthread_cond_wait(&engine->work, &limit->lock);
        if (engine->given == engine->done) break;
        struct job job = engine->job[engine->done % JOBS];
        if (!has_come(limit, &job.after)) {
            wait_for(limit, &job.after);
            job.started = tulle__clock_ns();
        }
        if (job.queue->status == TULLE_OK) { /* else it is left out */
            pthread_mutex_unlock(&limit->lock);
            do_job(engine, &job); /* comes back with the lock */
        }
        engine->done++;
        pthread_cond_broadcast(&limit->progress);
    }
    pthread_mutex_unlock(&limit->lock);
    return NULL;
}

/* The copy is of the device below. */
static void start_job(tulle__device_queue *queue, int direction, const tulle__device_copy *copy)
{
    struct limit *limit = queue->limit;
    struct engine *engine = &limit->engine[direction];
    pthread_mutex_lock(&limit->lock);
    while (engine->given - engine->done == JOBS) pthread_cond_wait(&limit->progress, &limit->lock);
    engine->job[engine->given % JOBS] = (struct job){.queue = queue,
        .copy = *copy,
        .bytes = copy->lines * copy->width,
        .after = queue->clock,
        .started = tulle__clock_ns()};
    queue->clock.done[direction] = ++engine->given;
    pthread_cond_signal(&engine->work);
    pthread_mutex_unlock(&limit->lock);
}

/* ---- the calls ---- */

/* Once, at the first queue: a probe starts neither these nor the device below. What failed is tried again. */
static tulle_status start_engines(struct limit *limit)
{
    static const char *const rows[] = {"uploads", "downloads", "peer copies"};
    tulle__device *below = limit->device.inner;
    if (!limit->inner) TULLE_CALL(below->ops->queue_new(below, &limit->inner));
    for (int e = 0; e < ENGINES; e++) {
        struct engine *engine = &limit->engine[e];
        if (engine->ns_per_byte < 0 || engine->runs) continue;
        if (!engine->inner) TULLE_CALL(below->ops->queue_new(below, &engine->inner));
        if (limit->timeline && !engine->line) TULLE_CALL(tulle__timeline_lane(limit->timeline, rows[e], &engine->line));
        if (pthread_create(&engine->thread, NULL, work, engine)) {
            return tulle__fail(TULLE_ERR_MEMORY, "the system gave no thread for a copy engine");
        }
        engine->runs = 1;
    }
    return TULLE_OK;
}

/* The device below has no queue for it, but may be lost. */
static tulle_status queue_new(tulle__device *device, tulle__device_queue **queue)
{
    TULLE_CALL(tulle__wrapped_state(device));
    TULLE_CALL(start_engines((struct limit *)device));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **queue, "a queue", queue));
    (*queue)->limit = (struct limit *)device;
    return TULLE_OK;
}

static tulle_status queue_wait(tulle__device_queue *queue)
{
    struct limit *limit = queue->limit;
    pthread_mutex_lock(&limit->lock);
    wait_for(limit, &queue->clock);
    tulle_status status = queue->status;
    queue->status = TULLE_OK;
    limit->broken -= queue->breaks;
    queue->breaks = 0;
    pthread_mutex_unlock(&limit->lock);
    if (status == TULLE_OK) return tulle__wrapped_state(&limit->device);
    tulle__error_set(queue->message);
    return status;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    (void)device;
    if (!queue) return;
    pthread_mutex_lock(&queue->limit->lock);
    wait_for(queue->limit, &queue->clock);
    queue->limit->broken -= queue->breaks;
    pthread_mutex_unlock(&queue->limit->lock);
    tulle__free(queue);
}

static tulle_status event_new(tulle__device *device, tulle__device_event **event)
{
    TULLE_CALL(tulle__wrapped_state(device));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **event, "an event", event));
    (*event)->limit = (struct limit *)device;
    return TULLE_OK;
}

static void event_free(tulle__device *device, tulle__device_event *event)
{
    (void)device;
    tulle__free(event);
}

static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    event->clock = queue->clock;
}

static void join(tulle__device_queue *queue, tulle__device_event *event)
{
    for (int e = 0; e < ENGINES; e++)
        if (queue->clock.done[e] < event->clock.done[e]) queue->clock.done[e] = event->clock.done[e];
}

static void event_wait(tulle__device_event *event)
{
    pthread_mutex_lock(&event->limit->lock);
    wait_for(event->limit, &event->clock);
    pthread_mutex_unlock(&event->limit->lock);
}

static int event_done(tulle__device_event *event)
{
    struct limit *limit = event->limit;
    pthread_mutex_lock(&limit->lock);
    int done = has_come(limit, &event->clock);
    pthread_mutex_unlock(&limit->lock);
    return done;
}

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    start_job(queue, UP,
        &(tulle__device_copy){
            .to = tulle__wrapped_place(to), .host = (void *)(uintptr_t)from, .lines = 1, .width = bytes});
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    start_job(
        queue, DOWN, &(tulle__device_copy){.from = tulle__wrapped_place(from), .host = to, .lines = 1, .width = bytes});
}

/* True if a kernel of the queue may run: what it waits for is done, and nothing has failed that it might work on. */
static int may_run(tulle__device_queue *queue)
{
    struct limit *limit = queue->limit;
    pthread_mutex_lock(&limit->lock);
    wait_for(limit, &queue->clock);
    if (limit->broken && queue->status == TULLE_OK) {
        tulle__error_set(limit->message);
        stick(queue, limit->failure);
    }
    int fine = queue->status == TULLE_OK;
    pthread_mutex_unlock(&limit->lock);
    return fine;
}

static void kernel_done(tulle__device_queue *queue, int64_t start)
{
    struct limit *limit = queue->limit;
    tulle_status status = limit->device.inner->ops->queue_wait(limit->inner);
    int64_t end = tulle__clock_ns();
    pthread_mutex_lock(&limit->lock);
    limit->device.counts.kernels++;
    limit->device.counts.kernel_ns += end - start;
    if (status != TULLE_OK) stick(queue, status);
    pthread_mutex_unlock(&limit->lock);
}

/* As a kernel. */
static void copy_within(tulle__device_queue *queue, const tulle__device_copy *inner)
{
    struct limit *limit = queue->limit;
    if (!may_run(queue)) return;
    int64_t start = tulle__clock_ns();
    limit->device.inner->ops->copy(limit->inner, inner);
    tulle_status status = limit->device.inner->ops->queue_wait(limit->inner);
    int64_t end = tulle__clock_ns();
    pthread_mutex_lock(&limit->lock);
    limit->device.counts.copies[TULLE__COPY_WITHIN]++;
    limit->device.counts.bytes[TULLE__COPY_WITHIN] += (int64_t)(inner->lines * inner->width);
    limit->device.counts.copy_ns[TULLE__COPY_WITHIN] += end - start;
    if (status != TULLE_OK) stick(queue, status);
    pthread_mutex_unlock(&limit->lock);
}

static int peer(const tulle__device *device, const tulle__device *other)
{
    const struct limit *limit = (const struct limit *)device;
    return limit->engine[PEER].runs && tulle__wrapped_peer(device, other);
}

static void copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    struct limit *limit = queue->limit;
    tulle__device_copy inner = tulle__wrapped_copy(copy);
    enum tulle__copy_kind kind = tulle__copy_kind_of(copy);
    if (kind == TULLE__COPY_WITHIN) {
        copy_within(queue, &inner);
        return;
    }
    if (kind == TULLE__COPY_PEER && !peer(&limit->device, copy->source)) {
        pthread_mutex_lock(&limit->lock);
        wait_for(limit, &queue->clock); /* what was started before is done */
        if (queue->status == TULLE_OK)
            stick(queue, tulle__fail(TULLE_ERR_UNSUPPORTED, "limit: without peer= nothing comes from other devices"));
        pthread_mutex_unlock(&limit->lock);
        return;
    }
    start_job(queue, kind == TULLE__COPY_PEER ? PEER : kind == TULLE__COPY_UP ? UP : DOWN, &inner);
}

static const tulle__device_ops *inner_ops(const tulle__device_queue *queue)
{
    return queue->limit->device.inner->ops;
}

/* A kernel of the device below, if the queue may run it. */
static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    tulle__wrapped_any inner;
    (void)tulle__wrapped_task(kernel, task, &inner);
    if (!may_run(queue)) return;
    const int64_t began = tulle__clock_ns();
    inner_ops(queue)->start(queue->limit->inner, kernel, &inner);
    kernel_done(queue, began);
}

static tulle_status product(tulle__device_queue *queue, const tulle__device_product *task, tulle__device_result place,
    void *context, tulle__device_product_counts *counts)
{
    if (!may_run(queue)) return queue_wait(queue);
    tulle__device_product inner = tulle__wrapped_product(task);
    tulle__wrapped_result asked = {.place = place, .context = context};
    int64_t start = tulle__clock_ns();
    tulle_status status =
        inner_ops(queue)->product(queue->limit->inner, &inner, tulle__wrapped_place_result, &asked, counts);
    kernel_done(queue, start);
    return status;
}

static tulle_status prepare(tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared **prepared)
{
    tulle__slab_task inner = tulle__wrapped_slab(task);
    *prepared = NULL; /* why not the queue says when it is waited for */
    if (!inner_ops(queue)->prepare || !may_run(queue)) return TULLE_OK;
    return inner_ops(queue)->prepare(queue->limit->inner, &inner, prepared);
}

/* Also of one that was not made completely. The device below is closed by the caller. */
static void close_limit(tulle__device *device)
{
    struct limit *limit = (struct limit *)device;
    tulle__device *below = limit->device.inner;
    pthread_mutex_lock(&limit->lock);
    limit->leaving = 1;
    for (int e = 0; e < ENGINES; e++) pthread_cond_signal(&limit->engine[e].work);
    pthread_mutex_unlock(&limit->lock);
    for (int e = 0; e < ENGINES; e++) {
        if (limit->engine[e].runs) pthread_join(limit->engine[e].thread, NULL);
        pthread_cond_destroy(&limit->engine[e].work);
        below->ops->queue_free(below, limit->engine[e].inner);
    }
    below->ops->queue_free(below, limit->inner);
    pthread_cond_destroy(&limit->progress);
    pthread_mutex_destroy(&limit->lock);
    tulle__free(limit);
}

static const tulle__device_ops ops = {
    TULLE__WRAPPED_OPS,
    .buffer_new = tulle__wrapped_buffer_new,
    .host_new = tulle__wrapped_host_new,
    .host_register = tulle__wrapped_host_register,
    .state = tulle__wrapped_state,
    .peer = peer,
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
    .close = close_limit,
};

static tulle_status open_limit(
    tulle__spec_part *part, const tulle__device_setting *setting, tulle__device *inner, tulle__device **device)
{
    static const char *const keys[] = {"mem", "link", "latency", "blocks", "peer"};
    struct limit *limit = NULL;
    double memory = 0, link = 12e9, latency = 2e-6, from_peers = 0;
    int64_t blocks = inner->most_blocks;
    TULLE_CALL(tulle__spec_bytes(part, "mem", &memory));
    TULLE_CALL(tulle__spec_bytes(part, "link", &link));
    TULLE_CALL(tulle__spec_seconds(part, "latency", &latency));
    TULLE_CALL(tulle__spec_int(part, "blocks", 1, INT32_MAX, &blocks));
    TULLE_CALL(tulle__spec_bytes(part, "peer", &from_peers));
    TULLE_CALL(tulle__spec_done(part, keys, 5));
    if (link < 1) return tulle__fail(TULLE_ERR_ARG, "limit: a link of %g bytes a second", link);
    TULLE_CALL(tulle__alloc_zero(1, sizeof *limit, "a device", &limit));
    limit->device = (tulle__device){.ops = &ops,
        .inner = inner,
        .name = "limit",
        .capacity = memory > 0 && memory < (double)inner->capacity ? (size_t)memory : inner->capacity,
        .kernels = inner->kernels & TULLE__WRAPPED_KERNELS,
        .rowptr_bytes = inner->rowptr_bytes,
        .most_blocks = blocks,
        .wide_level = inner->wide_level,
        .y_align = inner->y_align,
        .pinned = inner->pinned,
        .on_host = inner->on_host,
        .real_time = 1};
    tulle__decimal_format(limit->device.text, sizeof limit->device.text,
        "%.60s, behind a link of %.4g GB/s and %.3g us", inner->text, link / 1e9, latency * 1e6);
    limit->latency_ns = latency * 1e9;
    limit->device.counting = &limit->device;
    limit->account = tulle__account_current();
    pthread_mutex_init(&limit->lock, NULL);
    pthread_cond_init(&limit->progress, NULL);
    for (int e = 0; e < ENGINES; e++) {
        limit->engine[e].limit = limit;
        limit->engine[e].direction = e;
        limit->engine[e].ns_per_byte = e != PEER ? 1e9 / link : from_peers >= 1 ? 1e9 / from_peers : -1;
        pthread_cond_init(&limit->engine[e].work, NULL);
    }
    limit->timeline = setting->timeline;
    *device = &limit->device;
    return TULLE_OK;
}

const tulle__device_driver tulle__device_limit = {
    .name = "limit",
    .summary =
        "gives a device a small memory and a slow link (mem=, link=12G, latency=2us, peer=: from devices of the PE, "
        "blocks=: a slab's at most)",
    .copier = 1,
    .wrap = open_limit,
};
