/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `model`: a device in the virtual time of a simulation. A copy takes latency + bytes / rate of its link,
 * a kernel launch + the longer of operations / rate and bytes / memory. Each direction of the host's link, what comes
 * from other devices of the PE, and kernels go beside each other; of each, one follows the other. Nobody pays for
 * memory of the host, and a link between two devices is as wide as the receiver's.
 *
 * Over a device that computes (model:...+cpu), results are real and its time does not count. By itself it has shapes
 * only, for simulations without values (data=none).
 *
 * A queue knows when it will be done, an event when it happens: starts only add to these dates, and waits let virtual
 * time pass until then. Work below is started at once, in the order in which it is started here, which is as good.
 */
#include <limits.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "device/wrap/device_wrap.h"

enum { UP, DOWN, PEER, KERNELS, ENGINES };

struct engine {
    double ns_per_byte; /* of its link; below 0: there is none */
    int64_t free_at;
    tulle__timeline *line;
};

struct model {
    tulle__device device;
    tulle__device_clock clock;
    double latency_ns, launch_ns, ns_per_flop[TULLE_TYPE_COUNT], ns_per_byte; /* of its memory */
    struct engine engine[ENGINES];
};

struct tulle__device_queue {
    struct model *model;
    tulle__device_queue *inner; /* NULL: there is no device below */
    int64_t at;                 /* when all that was started is done */
};

struct tulle__device_event {
    struct model *model;
    tulle__device_event *inner;
    int64_t at; /* when it happens */
};

static struct model *model_of(const tulle__device *device)
{
    return (struct model *)(uintptr_t)device;
}

static const tulle__device_ops *below(const struct model *m)
{
    return m->device.inner ? m->device.inner->ops : NULL;
}

/* Work of so long on an engine, behind all that the queue has; returns how long it took in fact. */
static int64_t take(tulle__device_queue *queue, int engine, const char *name, double ns, int64_t bytes)
{
    struct engine *e = &queue->model->engine[engine];
    int64_t start = queue->model->clock.now(queue->model->clock.arg), took = (int64_t)(ns + 0.5);
    if (start < queue->at) start = queue->at;
    if (start < e->free_at) start = e->free_at;
    e->free_at = queue->at = start + took;
    tulle__timeline_span(e->line, name, start, queue->at, bytes, -1);
    return took;
}

/* ---- memory ---- */

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    if (device->inner) return tulle__wrapped_buffer_new(device, bytes, what, buffer);
    TULLE_CALL(tulle__alloc_zero(1, sizeof **buffer, what, buffer));
    (*buffer)->bytes = bytes;
    return TULLE_OK;
}

static void buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    if (device->inner)
        tulle__wrapped_buffer_free(device, buffer);
    else
        tulle__free(buffer);
}

/* Without values, memory of the host is not touched either. */
static tulle_status host_new(tulle__device *device, size_t bytes, const char *what, void *block)
{
    if (device->inner) return tulle__wrapped_host_new(device, bytes, what, block);
    return tulle__alloc(1, 1, what, block);
}

static void host_free(tulle__device *device, void *block)
{
    if (device->inner)
        tulle__wrapped_host_free(device, block);
    else
        tulle__free(block);
}

static tulle_status host_register(tulle__device *device, void *memory, size_t bytes)
{
    return device->inner ? tulle__wrapped_host_register(device, memory, bytes) : TULLE_OK;
}

static void host_unregister(tulle__device *device, void *memory)
{
    if (device->inner) tulle__wrapped_host_unregister(device, memory);
}

static tulle_status state(tulle__device *device)
{
    return device->inner ? tulle__wrapped_state(device) : TULLE_OK;
}

static int peer(const tulle__device *device, const tulle__device *other)
{
    if (model_of(device)->engine[PEER].ns_per_byte < 0 || other->ops->close != device->ops->close) return 0;
    return !device->inner || tulle__wrapped_peer(device, other);
}

/* ---- queues and events ---- */

static tulle_status queue_new(tulle__device *device, tulle__device_queue **queue)
{
    const tulle__device_ops *ops = below(model_of(device));
    tulle_status status = TULLE_OK;
    TULLE_CALL(state(device));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **queue, "a queue", queue));
    (*queue)->model = model_of(device);
    if (ops) status = ops->queue_new(device->inner, &(*queue)->inner);
    if (status == TULLE_OK) return TULLE_OK;
    tulle__free(*queue);
    *queue = NULL;
    return status;
}

static tulle_status queue_wait(tulle__device_queue *queue)
{
    struct model *m = queue->model;
    m->clock.until(m->clock.arg, queue->at);
    return queue->inner ? below(m)->queue_wait(queue->inner) : TULLE_OK;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    if (queue && queue->inner) below(queue->model)->queue_free(device->inner, queue->inner);
    tulle__free(queue);
}

static tulle_status event_new(tulle__device *device, tulle__device_event **event)
{
    const tulle__device_ops *ops = below(model_of(device));
    tulle_status status = TULLE_OK;
    TULLE_CALL(state(device));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **event, "an event", event));
    (*event)->model = model_of(device);
    if (ops) status = ops->event_new(device->inner, &(*event)->inner);
    if (status == TULLE_OK) return TULLE_OK;
    tulle__free(*event);
    *event = NULL;
    return status;
}

static void event_free(tulle__device *device, tulle__device_event *event)
{
    if (event && event->inner) below(event->model)->event_free(device->inner, event->inner);
    tulle__free(event);
}

static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    event->at = queue->at;
    if (queue->inner) below(queue->model)->record(queue->inner, event->inner);
}

static void join(tulle__device_queue *queue, tulle__device_event *event)
{
    if (queue->at < event->at) queue->at = event->at;
    if (queue->inner) below(queue->model)->join(queue->inner, event->inner);
}

static void event_wait(tulle__device_event *event)
{
    struct model *m = event->model;
    m->clock.until(m->clock.arg, event->at);
    if (event->inner) below(m)->event_wait(event->inner);
}

/* Polls the device below too: repeated polling lets time pass in between. */
static int event_done(tulle__device_event *event)
{
    struct model *m = event->model;
    int done = !event->inner || below(m)->event_done(event->inner);
    return done && event->at <= m->clock.now(m->clock.arg);
}

/* ---- copies ---- */

static void count(tulle__device_queue *queue, enum tulle__copy_kind kind, size_t bytes)
{
    struct model *m = queue->model;
    const int engine = kind == TULLE__COPY_UP ? UP : kind == TULLE__COPY_DOWN ? DOWN : PEER;
    const char *name = tulle__copy_name(kind);
    m->device.counts.copies[kind]++;
    m->device.counts.bytes[kind] += (int64_t)bytes;
    if (kind == TULLE__COPY_WITHIN)
        m->device.counts.copy_ns[kind] +=
            take(queue, KERNELS, name, m->launch_ns + 2 * (double)bytes * m->ns_per_byte, (int64_t)bytes);
    else
        m->device.counts.copy_ns[kind] +=
            take(queue, engine, name, m->latency_ns + (double)bytes * m->engine[engine].ns_per_byte, (int64_t)bytes);
}

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    count(queue, TULLE__COPY_UP, bytes);
    if (!queue->inner) return;
    tulle__device_place place = tulle__wrapped_place(to);
    below(queue->model)->upload(queue->inner, &place, from, bytes);
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    count(queue, TULLE__COPY_DOWN, bytes);
    if (!queue->inner) return;
    tulle__device_place place = tulle__wrapped_place(from);
    below(queue->model)->download(queue->inner, to, &place, bytes);
}

/* From a device that is no peer the device below refuses; without a device below there is no such copy. */
static void copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    count(queue, tulle__copy_kind_of(copy), copy->lines * copy->width);
    if (!queue->inner) return;
    tulle__device_copy inner = tulle__wrapped_copy(copy);
    below(queue->model)->copy(queue->inner, &inner);
}

/* ---- kernels ---- */

static void kernel(tulle__device_queue *queue, const char *name, tulle_type type, double flops, double bytes)
{
    struct model *m = queue->model;
    double arithmetic = flops * m->ns_per_flop[type], memory = bytes * m->ns_per_byte;
    m->device.counts.kernels++;
    m->device.counts.kernel_ns +=
        take(queue, KERNELS, name, m->launch_ns + (arithmetic > memory ? arithmetic : memory), (int64_t)bytes);
}

static double tile_values(const tulle__device_tile *tile)
{
    if (tile->kind == TULLE_DENSE) return (double)tile->m * (double)tile->n;
    return (double)(tile->kind == TULLE_VBSR ? tile->values : tile->nnz);
}

/* Each operand is read once, the result written once, and read before if it is added to. */
static void chain(tulle__device_queue *queue, const tulle__device_chain *task)
{
    double flops = 0, values = (double)task->m * (double)task->n * (task->beta == 0 ? 1 : 2), indices = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__device_tile *A = &task->A[p], *B = &task->B[p];
        flops += 2 * tile_values(A) * (double)task->n;
        values += tile_values(A) + tile_values(B);
        if (A->kind != TULLE_DENSE) indices += (double)A->nnz * sizeof(tulle_lidx);
    }
    kernel(queue, "multiply", task->type, flops, values * (double)tulle_type_size(task->type) + indices);
}

/* Bytes of a sparse tile, without those that blocks need beside their values. */
static double sparse_bytes(const tulle__device_tile *tile)
{
    double values = (double)(tile->row_block.buffer ? tile->values : tile->nnz);
    return values * (double)tulle_type_size(tile->type) + (double)tile->nnz * sizeof(tulle_lidx);
}

/* Each operand and the result once. The host, which finds a place for the result, waits for all of it. */
static tulle_status product(tulle__device_queue *queue, const tulle__device_product *task, tulle__device_result place,
    void *context, tulle__device_product_counts *counts)
{
    struct model *m = queue->model;
    tulle__device_product inner = tulle__wrapped_product(task);
    tulle__wrapped_result asked = {.place = place, .context = context};
    double bytes = 0;
    if (!queue->inner) return tulle__fail(TULLE_ERR_UNSUPPORTED, "a sparse product on a device without values");
    TULLE_CALL(below(m)->product(queue->inner, &inner, tulle__wrapped_place_result, &asked, counts));
    for (int p = 0; p < task->npairs; p++) bytes += sparse_bytes(&task->A[p]) + sparse_bytes(&task->B[p]);
    kernel(queue, "multiply", task->type, 2 * (double)counts->multiplications, bytes + sparse_bytes(&asked.made));
    m->clock.until(m->clock.arg, queue->at);
    return TULLE_OK;
}

static void scale(tulle__device_queue *queue, const tulle__device_scale *task)
{
    double values = (double)task->lines * (double)task->width * (task->beta == 0 ? 1 : 2);
    kernel(queue, "scale", task->type, 0, values * (double)tulle_type_size(task->type));
}

/* Kernels whose time is known. */
#define MODELLED(X)                                                                                                    \
    X(CHAIN, chain, tulle__device_chain)                                                                               \
    X(SCALE, scale, tulle__device_scale)

static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    tulle__wrapped_any inner;
    switch (kernel) {
        MODELLED(TULLE__KERNEL_CASE)
    default:
        break;
    }
    if (!queue->inner) return;
    (void)tulle__wrapped_task(kernel, task, &inner);
    below(queue->model)->start(queue->inner, kernel, &inner);
}

static void close_model(tulle__device *device)
{
    tulle__free(device);
}

static const tulle__device_ops ops = {
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .host_new = host_new,
    .host_free = host_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .state = state,
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
    .close = close_model,
};

static tulle_status make(
    tulle__spec_part *part, const tulle__device_setting *setting, tulle__device *inner, tulle__device **device)
{
    static const char *const keys[] = {"mem", "link", "peer", "latency", "flops", "flops32", "memory", "launch"};
    static const char *const rows[ENGINES] = {"uploads", "downloads", "peer copies", "kernels"};
    struct model *m = NULL;
    double capacity = 16e9, link = 50e9, from_peers = 0, latency = 5e-6, launch = 5e-6; /* as V100s of Summit */
    double flops = 7.8e12, flops32 = 0, memory = 790e9;
    tulle_status status;
    TULLE_TRY(tulle__spec_bytes(part, "mem", &capacity));
    TULLE_TRY(tulle__spec_bytes(part, "link", &link));
    TULLE_TRY(tulle__spec_bytes(part, "peer", &from_peers));
    TULLE_TRY(tulle__spec_seconds(part, "latency", &latency));
    TULLE_TRY(tulle__spec_bytes(part, "flops", &flops));
    TULLE_TRY(tulle__spec_bytes(part, "flops32", &flops32));
    TULLE_TRY(tulle__spec_bytes(part, "memory", &memory));
    TULLE_TRY(tulle__spec_seconds(part, "launch", &launch));
    TULLE_TRY(tulle__spec_done(part, keys, sizeof keys / sizeof *keys));
    if (link < 1 || flops < 1 || memory < 1)
        return tulle__fail(
            TULLE_ERR_ARG, "model: link=%g, flops=%g and memory=%g are to be at least 1 a second", link, flops, memory);
    if (!setting->clock)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "model: it takes the virtual time of a simulation (--comm sim), where products on devices run");
    if ((inner == NULL) != (setting->clock->shapes != 0))
        return tulle__fail(TULLE_ERR_ARG, "%s",
            inner ? "model: a simulation without values (data=none) has nothing to compute: the device is 'model:...'"
                  : "model: it has no values: say 'model:...+cpu', or simulate shapes only (data=none)");
    TULLE_TRY(tulle__alloc_zero(1, sizeof *m, "a device", &m));
    m->device = (tulle__device){.ops = &ops,
        .inner = inner,
        .name = "model",
        .capacity = inner && (double)inner->capacity < capacity ? inner->capacity : (size_t)capacity,
        .kernels = (inner ? inner->kernels : UINT_MAX) & (0 MODELLED(TULLE__KERNEL_BIT)),
        .rowptr_bytes = inner ? inner->rowptr_bytes : 4,
        .on_host = inner ? inner->on_host : 0,
        .virtual_time = 1};
    tulle__decimal_format(m->device.text, sizeof m->device.text, "model of %.4g GB, %.4g Tflop/s, link %.4g GB/s",
        capacity / 1e9, flops / 1e12, link / 1e9);
    m->device.counting = &m->device;
    m->clock = *setting->clock;
    m->latency_ns = latency * 1e9;
    m->launch_ns = launch * 1e9;
    m->ns_per_byte = 1e9 / memory;
    m->ns_per_flop[TULLE_F64] = 1e9 / flops;
    m->ns_per_flop[TULLE_F32] = 1e9 / (flops32 > 0 ? flops32 : 2 * flops);
    m->engine[UP].ns_per_byte = m->engine[DOWN].ns_per_byte = 1e9 / link;
    m->engine[PEER].ns_per_byte = from_peers >= 1 ? 1e9 / from_peers : -1;
    for (int e = 0; e < ENGINES && setting->timeline; e++)
        TULLE_TRY(tulle__timeline_lane(setting->timeline, rows[e], &m->engine[e].line));
    *device = &m->device;
    return TULLE_OK;
out:
    tulle__free(m);
    return status;
}

static tulle_status open_model(tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device)
{
    return make(part, setting, NULL, device);
}

const tulle__device_driver tulle__device_model = {
    .name = "model",
    .summary =
        "takes the virtual time of a simulation (mem=16G, link=50G, peer=, latency=5us, flops=7.8T, memory=790G, "
        "launch=5us); alone, without values",
    .open = open_model,
    .wrap = make,
};
