/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, events and copies of the device `cuda`. A queue is a stream; what fails when it is started sticks to its
 * queue, what fails later is what waiting for the stream says. An upload that fails, or is left out because its queue
 * has failed before, breaks the device until that failure has been reported: no kernel of any queue runs on what it
 * should have brought. So does an event that is not recorded, as others would take it for the one before.
 */
#include <stdio.h>

#include "base/clock.h"
#include "device/cuda/cuda_device.h"

struct tulle__device_event {
    tulle__cuda *cuda;
    cudaEvent_t event;
};

/* ---- queues ---- */

static void drop_queue(tulle__device_queue *queue)
{
    for (int i = 0; i < TULLE__CUDA_SPANS; i++) {
        if (queue->span[i].begin) (void)cudaEventDestroy(queue->span[i].begin);
        if (queue->span[i].end) (void)cudaEventDestroy(queue->span[i].end);
    }
    if (queue->origin) (void)cudaEventDestroy(queue->origin);
    tulle__cuda_scratch_give(queue, &queue->old_workspace);
    tulle__cuda_scratch_give(queue, &queue->workspace);
    if (queue->stream) (void)cudaStreamDestroy(queue->stream);
    (void)cudaGetLastError();
    tulle__cuda_host->free(queue);
}

static tulle_status make_stream(tulle__device_queue *queue)
{
    tulle__cuda *cuda = queue->cuda;
    tulle_status status =
        tulle__cuda_check(cuda, cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking), "a stream");
    if (status == TULLE_OK) status = tulle__cuda_check(cuda, cudaEventCreate(&queue->origin), "an event");
    if (status == TULLE_OK) status = tulle__cuda_check(cuda, cudaEventRecord(queue->origin, queue->stream), "an event");
    if (status == TULLE_OK) status = tulle__cuda_check(cuda, cudaStreamSynchronize(queue->stream), "a stream");
    queue->origin_ns = tulle__clock_ns();
    return status;
}

tulle_status tulle__cuda_queue_make(tulle__cuda *cuda, tulle__device_queue **out)
{
    tulle__device_queue *queue = NULL;
    TULLE_CALL(tulle__cuda_host->alloc_zero(1, sizeof *queue, "a queue", &queue));
    queue->cuda = cuda;
    tulle_status status = make_stream(queue);
    if (status == TULLE_OK)
        *out = queue;
    else
        drop_queue(queue);
    return status;
}

tulle_status tulle__cuda_queue_new(tulle__device *device, tulle__device_queue **queue)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    tulle_status status = tulle__cuda_start(cuda);
    if (status == TULLE_OK) status = tulle__cuda_queue_make(cuda, queue);
    tulle__cuda_leave(cuda, before);
    return status;
}

void tulle__cuda_stick(tulle__device_queue *queue, tulle_status status)
{
    if (status == TULLE_OK || queue->status != TULLE_OK) return;
    queue->status = status;
    snprintf(queue->message, sizeof queue->message, "%s", tulle__cuda_host->error_message());
}

static void break_device(tulle__device_queue *queue)
{
    if (queue->breaks) return;
    queue->breaks = 1;
    __atomic_fetch_add(&queue->cuda->broken, 1, __ATOMIC_RELEASE);
}

/* 1: the context is the GPU's, and work may be started in the queue. */
static int begin_call(tulle__device_queue *queue)
{
    if (queue->status == TULLE_OK) tulle__cuda_stick(queue, tulle__cuda_enter(queue->cuda, &queue->before));
    return queue->status == TULLE_OK;
}

static void end_call(tulle__device_queue *queue, tulle_status status)
{
    tulle__cuda_stick(queue, status);
    tulle__cuda_leave(queue->cuda, queue->before);
}

/* ---- spans of time: a missing one is no failure ---- */

/* Time of the oldest span, which is done. Counts are added to by several threads. */
static void tell_span(tulle__device_queue *queue)
{
    tulle__device_counts *counts = &queue->cuda->device.counts;
    const tulle__cuda_span *span = &queue->span[queue->first_span];
    float begin = 0, took = 0;
    if (span->begin && span->end && tulle__cuda_quietly(cudaEventElapsedTime(&begin, queue->origin, span->begin)) &&
        tulle__cuda_quietly(cudaEventElapsedTime(&took, span->begin, span->end))) {
        int64_t start = queue->origin_ns + (int64_t)((double)begin * 1e6), ns = (int64_t)((double)took * 1e6);
        __atomic_fetch_add(
            span->kind == TULLE__CUDA_KERNEL ? &counts->kernel_ns : &counts->copy_ns[span->kind], ns, __ATOMIC_RELAXED);
        tulle__cuda_host->timeline_span(
            span->kind == TULLE__CUDA_KERNEL ? queue->cuda->kernels_line : queue->cuda->copies_line, span->name, start,
            start + ns, span->bytes, -1);
    }
    queue->first_span = (queue->first_span + 1) % TULLE__CUDA_SPANS;
    queue->nspans--;
}

static tulle__cuda_span *newest(tulle__device_queue *queue)
{
    return &queue->span[(queue->first_span + queue->nspans) % TULLE__CUDA_SPANS];
}

/* Recorded now; made when it is needed first. */
static void mark(tulle__device_queue *queue, cudaEvent_t *event)
{
    if (!*event && !tulle__cuda_quietly(cudaEventCreate(event))) *event = NULL;
    if (*event) (void)tulle__cuda_quietly(cudaEventRecord(*event, queue->stream));
}

static void begin_span(tulle__device_queue *queue, const char *name, int kind, int64_t bytes)
{
    if (queue->nspans == TULLE__CUDA_SPANS) { /* the oldest is done long since */
        cudaEvent_t end = queue->span[queue->first_span].end;
        if (end) (void)tulle__cuda_quietly(cudaEventSynchronize(end));
        tell_span(queue);
    }
    tulle__cuda_span *span = newest(queue);
    span->name = name;
    span->kind = kind;
    span->bytes = bytes;
    mark(queue, &span->begin);
}

static void end_span(tulle__device_queue *queue)
{
    mark(queue, &newest(queue)->end);
    queue->nspans++;
}

/*
 * After a failure to choose the context, or to wait: what was started may still be under way, and others would take its
 * memory. Streams are awaited in any context; of a lost GPU nothing is awaited.
 */
static void wait_anyway(tulle__device_queue *queue)
{
    void *before;
    tulle__cuda_enter_anyway(queue->cuda, &before);
    if (!__atomic_load_n(&queue->cuda->gpu->lost, __ATOMIC_ACQUIRE))
        (void)tulle__cuda_quietly(cudaStreamSynchronize(queue->stream));
    tulle__cuda_leave(queue->cuda, before);
}

tulle_status tulle__cuda_queue_wait(tulle__device_queue *queue)
{
    tulle_status before = queue->status, status = tulle__cuda_enter(queue->cuda, &queue->before);
    if (status == TULLE_OK) {
        status = tulle__cuda_check(queue->cuda, cudaStreamSynchronize(queue->stream), "what the device has done");
        while (queue->nspans) tell_span(queue);
        if (status == TULLE_OK) tulle__cuda_scratch_give(queue, &queue->old_workspace);
        if (status == TULLE_OK && tulle__cuda_quietly(cudaEventRecord(queue->origin, queue->stream)))
            queue->origin_ns = tulle__clock_ns(); /* nothing is before it; times since then are floats */
        tulle__cuda_leave(queue->cuda, queue->before);
    }
    if (status != TULLE_OK) wait_anyway(queue);
    queue->status = TULLE_OK;
    __atomic_fetch_sub(&queue->cuda->broken, queue->breaks, __ATOMIC_RELEASE);
    queue->breaks = 0;
    if (before == TULLE_OK) return status;
    tulle__cuda_host->error_set(queue->message);
    return before;
}

void tulle__cuda_queue_free(tulle__device *device, tulle__device_queue *queue)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    if (!queue) return;
    (void)tulle__cuda_queue_wait(queue);
    tulle__cuda_enter_anyway(cuda, &before);
    drop_queue(queue);
    tulle__cuda_leave(cuda, before);
}

int tulle__cuda_start_kernel(tulle__device_queue *queue, const char *name)
{
    if (queue->status == TULLE_OK && __atomic_load_n(&queue->cuda->broken, __ATOMIC_ACQUIRE))
        tulle__cuda_stick(queue, tulle__cuda_host->fail(TULLE_ERR_COMM, "a copy to the device has failed"));
    if (!begin_call(queue)) return 0;
    begin_span(queue, name, TULLE__CUDA_KERNEL, -1);
    return 1;
}

void tulle__cuda_finish_kernel(tulle__device_queue *queue, tulle_status status)
{
    end_span(queue);
    end_call(queue, status);
    if (queue->status == TULLE_OK) queue->cuda->device.counts.kernels++;
}

/* ---- events ---- */

tulle_status tulle__cuda_event_new(tulle__device *device, tulle__device_event **out)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    tulle__device_event *event = NULL;
    void *before;
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *event, "an event", &event);
    if (status == TULLE_OK)
        status = tulle__cuda_check(cuda, cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming), "an event");
    tulle__cuda_leave(cuda, before);
    if (status != TULLE_OK) {
        tulle__cuda_host->free(event);
        return status;
    }
    event->cuda = cuda;
    *out = event;
    return TULLE_OK;
}

void tulle__cuda_event_free(tulle__device *device, tulle__device_event *event)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    if (!event) return;
    tulle__cuda_enter_anyway(cuda, &before);
    (void)tulle__cuda_quietly(cudaEventDestroy(event->event));
    tulle__cuda_leave(cuda, before);
    tulle__cuda_host->free(event);
}

/* In a queue that has failed, too: it stands for what was started, and others must not wait for what was before. */
void tulle__cuda_record(tulle__device_queue *queue, tulle__device_event *event)
{
    void *before;
    tulle_status status = tulle__cuda_enter(queue->cuda, &before);
    if (status == TULLE_OK) {
        cudaError_t error = cudaEventRecord(event->event, queue->stream);
        status = tulle__cuda_check(queue->cuda, error, "recording an event");
        tulle__cuda_leave(queue->cuda, before);
    }
    tulle__cuda_stick(queue, status);
    if (status != TULLE_OK) break_device(queue);
}

void tulle__cuda_join(tulle__device_queue *queue, tulle__device_event *event)
{
    if (!begin_call(queue)) return;
    end_call(queue,
        tulle__cuda_check(queue->cuda, cudaStreamWaitEvent(queue->stream, event->event, 0), "waiting for an event"));
}

/* Events work in any context, so a failure to choose the GPU's does not keep from waiting; but of a lost one nothing is
 * waited for. */
static cudaError_t look_at(tulle__device_event *event, cudaError_t (*look)(cudaEvent_t event))
{
    void *before;
    tulle__cuda_enter_anyway(event->cuda, &before);
    if (__atomic_load_n(&event->cuda->gpu->lost, __ATOMIC_ACQUIRE)) {
        tulle__cuda_leave(event->cuda, before);
        return cudaSuccess;
    }
    cudaError_t error = look(event->event);
    if (error != cudaErrorNotReady && !tulle__cuda_quietly(error)) /* what it stands for may still be under way */
        error = cudaEventSynchronize(event->event);
    if (error != cudaErrorNotReady) (void)tulle__cuda_quietly(error);
    tulle__cuda_leave(event->cuda, before);
    return error;
}

void tulle__cuda_event_wait(tulle__device_event *event)
{
    (void)look_at(event, cudaEventSynchronize);
}

int tulle__cuda_event_done(tulle__device_event *event)
{
    return look_at(event, cudaEventQuery) != cudaErrorNotReady;
}

/* ---- copies ---- */

/* Events around a copy cost more than it does, below so many bytes: its time is left out of the sums, unless a timeline
 * is to show it. */
enum { TIMED_LEAST = 32768 };

/* Between devices a line at a time, by whatever way the driver has; lines without gaps are one. */
static cudaError_t start_peer(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    int to = queue->cuda->gpu->ordinal, from = ((const tulle__cuda *)copy->source)->gpu->ordinal;
    int plain = tulle__copy_is_plain(copy);
    size_t lines = plain ? 1 : copy->lines, width = plain ? copy->lines * copy->width : copy->width;
    cudaError_t error = cudaSuccess;
    for (size_t l = 0; l < lines && error == cudaSuccess; l++)
        error = cudaMemcpyPeerAsync((char *)tulle__cuda_at(&copy->to) + l * copy->to_pitch, to,
            (const char *)tulle__cuda_at(&copy->from) + l * copy->from_pitch, from, width, queue->stream);
    return error;
}

static cudaError_t start_copy(tulle__device_queue *queue, enum tulle__copy_kind kind, const tulle__device_copy *copy)
{
    static const enum cudaMemcpyKind kinds[] = {
        cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
    void *to = copy->to.buffer ? tulle__cuda_at(&copy->to) : copy->host;
    const void *from = copy->from.buffer ? tulle__cuda_at(&copy->from) : copy->host;
    if (!copy->lines || !copy->width) return cudaSuccess;
    if (kind == TULLE__COPY_PEER) return start_peer(queue, copy);
    if (tulle__copy_is_plain(copy))
        return cudaMemcpyAsync(to, from, copy->lines * copy->width, kinds[kind], queue->stream);
    return cudaMemcpy2DAsync(
        to, copy->to_pitch, from, copy->from_pitch, copy->width, copy->lines, kinds[kind], queue->stream);
}

void tulle__cuda_copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    static const char *const what[] = {
        "a copy to the device", "a copy from the device", "a copy on the device", "a copy from another device"};
    tulle__device_counts *counts = &queue->cuda->device.counts;
    enum tulle__copy_kind kind = tulle__copy_kind_of(copy);
    int64_t bytes = (int64_t)(copy->lines * copy->width);
    int timed = bytes >= TIMED_LEAST || queue->cuda->copies_line;
    if (begin_call(queue)) {
        if (timed) begin_span(queue, tulle__copy_name(kind), (int)kind, bytes);
        cudaError_t error = start_copy(queue, kind, copy);
        if (timed) end_span(queue);
        end_call(queue, tulle__cuda_check(queue->cuda, error, what[kind]));
    }
    if (queue->status != TULLE_OK) {
        break_device(queue);
        return;
    }
    __atomic_fetch_add(&counts->copies[kind], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->bytes[kind], bytes, __ATOMIC_RELAXED);
}

void tulle__cuda_upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    tulle__cuda_copy(
        queue, &(tulle__device_copy){.to = *to, .host = (void *)(uintptr_t)from, .lines = 1, .width = bytes});
}

void tulle__cuda_download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    tulle__cuda_copy(queue, &(tulle__device_copy){.from = *from, .host = to, .lines = 1, .width = bytes});
}
