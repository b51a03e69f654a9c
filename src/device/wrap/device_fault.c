/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `fault` of devices: the op-th copy or kernel fails, once; what it should have written is not. With lost=
 * the device is lost at that operation, for good; what was started before is done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "device/wrap/device_wrap.h"

struct fault {
    tulle__device device;
    tulle__device_ops ops; /* of its own, since waiting for an event is the device's below */
    int64_t op, lost_at;
    int64_t started; /* from any thread, as the next two */
    int broken;      /* queues of which a copy has failed, not reported yet */
    int lost;
    int rank, number; /* of the PE, of the device among those of the PE */
};

struct tulle__device_queue {
    struct fault *fault;
    tulle__device_queue *inner;
    int failed, breaks; /* breaks: it was a copy */
};

static const tulle__device_ops *below(const tulle__device_queue *queue)
{
    return queue->fault->device.inner->ops;
}

static tulle_status state(tulle__device *device)
{
    struct fault *fault = (struct fault *)device;
    if (!__atomic_load_n(&fault->lost, __ATOMIC_ACQUIRE)) return device->inner->ops->state(device->inner);
    return tulle__fail(TULLE_ERR_COMM,
        "device %d of PE %d ('%s') is lost: fault, at operation %" PRId64 ", as asked for", fault->number, fault->rank,
        device->text, fault->lost_at);
}

/* Work behind a failure is left out, and kernels everywhere if it was a copy's; all of it behind a loss. */
static int strikes(tulle__device_queue *queue, int copy)
{
    struct fault *fault = queue->fault;
    if (queue->failed || __atomic_load_n(&fault->lost, __ATOMIC_ACQUIRE)) return 1;
    if (!copy && __atomic_load_n(&fault->broken, __ATOMIC_ACQUIRE)) return queue->failed = 1;
    int64_t number = __atomic_fetch_add(&fault->started, 1, __ATOMIC_RELAXED);
    if (number == fault->lost_at) {
        __atomic_store_n(&fault->lost, 1, __ATOMIC_RELEASE);
        return 1;
    }
    if (number != fault->op) return 0;
    queue->breaks = copy;
    __atomic_fetch_add(&fault->broken, copy, __ATOMIC_RELEASE);
    return queue->failed = 1;
}

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    TULLE_CALL(state(device));
    return tulle__wrapped_buffer_new(device, bytes, what, buffer);
}

static tulle_status host_new(tulle__device *device, size_t bytes, const char *what, void *block)
{
    TULLE_CALL(state(device));
    return tulle__wrapped_host_new(device, bytes, what, block);
}

static tulle_status host_register(tulle__device *device, void *memory, size_t bytes)
{
    TULLE_CALL(state(device));
    return tulle__wrapped_host_register(device, memory, bytes);
}

static tulle_status queue_new(tulle__device *device, tulle__device_queue **queue)
{
    tulle__device_queue *made = NULL;
    tulle_status status;
    TULLE_TRY(state(device));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a queue", &made));
    made->fault = (struct fault *)device;
    TULLE_TRY(device->inner->ops->queue_new(device->inner, &made->inner));
    *queue = made;
    return TULLE_OK;
out:
    tulle__free(made);
    return status;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    if (!queue) return;
    __atomic_fetch_sub(&queue->fault->broken, queue->breaks, __ATOMIC_RELEASE);
    device->inner->ops->queue_free(device->inner, queue->inner);
    tulle__free(queue);
}

static tulle_status queue_wait(tulle__device_queue *queue)
{
    tulle_status status = below(queue)->queue_wait(queue->inner), lost = state(&queue->fault->device);
    int failed = queue->failed;
    queue->failed = 0;
    __atomic_fetch_sub(&queue->fault->broken, queue->breaks, __ATOMIC_RELEASE);
    queue->breaks = 0;
    if (lost != TULLE_OK) return lost;
    if (!failed) return status;
    return tulle__fail(
        TULLE_ERR_COMM, "fault: operation %" PRId64 " of the device failed, as asked for", queue->fault->op);
}

static tulle_status event_new(tulle__device *device, tulle__device_event **event)
{
    TULLE_CALL(state(device));
    return device->inner->ops->event_new(device->inner, event);
}

static void event_free(tulle__device *device, tulle__device_event *event)
{
    device->inner->ops->event_free(device->inner, event);
}

static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    below(queue)->record(queue->inner, event);
}

static void join(tulle__device_queue *queue, tulle__device_event *event)
{
    below(queue)->join(queue->inner, event);
}

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    tulle__device_place place = tulle__wrapped_place(to);
    if (!strikes(queue, 1)) below(queue)->upload(queue->inner, &place, from, bytes);
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    tulle__device_place place = tulle__wrapped_place(from);
    if (!strikes(queue, 1)) below(queue)->download(queue->inner, to, &place, bytes);
}

static void copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    tulle__device_copy inner = tulle__wrapped_copy(copy);
    if (!strikes(queue, 1)) below(queue)->copy(queue->inner, &inner);
}

static tulle_status product(tulle__device_queue *queue, const tulle__device_product *task, tulle__device_result place,
    void *context, tulle__device_product_counts *counts)
{
    tulle__device_product inner = tulle__wrapped_product(task);
    tulle__wrapped_result asked = {.place = place, .context = context};
    if (strikes(queue, 0)) return queue_wait(queue);
    return below(queue)->product(queue->inner, &inner, tulle__wrapped_place_result, &asked, counts);
}

static tulle_status prepare(tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared **prepared)
{
    tulle__slab_task inner = tulle__wrapped_slab(task);
    *prepared = NULL;
    if (!below(queue)->prepare || queue->failed || queue->fault->lost) return TULLE_OK;
    return below(queue)->prepare(queue->inner, &inner, prepared);
}

static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    tulle__wrapped_any inner;
    (void)tulle__wrapped_task(kernel, task, &inner);
    if (!strikes(queue, 0)) below(queue)->start(queue->inner, kernel, &inner);
}

static void close_fault(tulle__device *device)
{
    tulle__free(device);
}

static const tulle__device_ops template = {
    TULLE__WRAPPED_OPS,
    .buffer_new = buffer_new,
    .host_new = host_new,
    .host_register = host_register,
    .state = state,
    .peer = tulle__wrapped_peer,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .queue_wait = queue_wait,
    .event_new = event_new,
    .event_free = event_free,
    .record = record,
    .join = join,
    .upload = upload,
    .download = download,
    .copy = copy,
    .start = start,
    .product = product,
    .prepare = prepare,
    .close = close_fault,
};

static tulle_status open_fault(
    tulle__spec_part *part, const tulle__device_setting *setting, tulle__device *inner, tulle__device **device)
{
    static const char *const keys[] = {"op", "lost", "rank", "device"};
    struct fault *fault = NULL;
    int64_t op = INT64_MAX, lost = INT64_MAX, rank = 0, number = -1;
    TULLE_CALL(tulle__spec_int(part, "op", 0, INT64_MAX, &op));
    TULLE_CALL(tulle__spec_int(part, "lost", 0, INT64_MAX, &lost));
    TULLE_CALL(tulle__spec_int(part, "rank", 0, INT32_MAX, &rank));
    TULLE_CALL(tulle__spec_int(part, "device", 0, INT32_MAX, &number));
    TULLE_CALL(tulle__spec_done(part, keys, 4));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *fault, "a device", &fault));
    fault->device = *inner;
    fault->device.ops = &fault->ops;
    fault->device.inner = inner;
    fault->device.name = "fault";
    fault->device.used = 0;
    fault->device.kernels &= TULLE__WRAPPED_KERNELS;
    fault->ops = template;
    fault->ops.event_wait = inner->ops->event_wait;
    fault->ops.event_done = inner->ops->event_done;
    fault->rank = setting->rank;
    fault->number = setting->number;
    int struck = rank == setting->rank && (number < 0 || number == setting->number);
    fault->op = struck ? op : INT64_MAX;
    fault->lost_at = struck ? lost : INT64_MAX;
    *device = &fault->device;
    return TULLE_OK;
}

const tulle__device_driver tulle__device_fault = {
    .name = "fault",
    .summary = "the op-th copy or kernel of PE rank fails, or loses the device (op=N, lost=N, rank=R, device=D: all)",
    .wrap = open_fault,
};
