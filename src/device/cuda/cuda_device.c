/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device `cuda`: memory, streams and events of the CUDA runtime, products by cuSPARSE (cuda_sparse.c) or kernels of
 * our own (cuda_kernels.cu). A queue is a stream; what fails when it is started sticks to its queue, what fails later
 * is what waiting for the stream says, and CUDA says it of all streams from then on.
 */
#include "device/cuda/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const tulle__module_host *tulle__cuda_host;

tulle_status tulle__cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return TULLE_OK;
    (void)cudaGetLastError(); /* one that does not stay is forgotten */
    return tulle__cuda_host->fail(error == cudaErrorMemoryAllocation ? TULLE_ERR_MEMORY : TULLE_ERR_COMM,
        "CUDA, %s: %s", what, cudaGetErrorString(error));
}

/* The device is chosen for each thread. */
static tulle_status choose(const tulle__cuda *cuda)
{
    return tulle__cuda_check(cudaSetDevice(cuda->ordinal), "choosing the device");
}

/* ---- memory ---- */

struct block {
    tulle__device_buffer buffer;
    void *memory;
};

void *tulle__cuda_at(const tulle__device_place *place)
{
    const struct block *block = (const struct block *)place->buffer;
    return block ? (char *)block->memory + place->at : NULL;
}

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    struct block *block = NULL;
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *block, what, &block);
    if (status == TULLE_OK) status = choose((const tulle__cuda *)device);
    if (status == TULLE_OK) status = tulle__cuda_check(cudaMalloc(&block->memory, bytes ? bytes : 1), what);
    if (status != TULLE_OK) {
        tulle__cuda_host->free(block);
        return status;
    }
    block->buffer.bytes = bytes;
    *buffer = &block->buffer;
    return TULLE_OK;
}

static void buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    struct block *block = (struct block *)buffer;
    (void)choose((const tulle__cuda *)device);
    (void)cudaFree(block->memory);
    tulle__cuda_host->free(block);
}

/* Pinned; CUDA's is aligned to pages. */
static tulle_status host_new(tulle__device *device, size_t bytes, const char *what, void *out)
{
    void *memory = NULL;
    tulle_status status = choose((const tulle__cuda *)device);
    if (status == TULLE_OK)
        status = tulle__cuda_check(cudaHostAlloc(&memory, bytes ? bytes : 1, cudaHostAllocDefault), what);
    if (status == TULLE_OK) memcpy(out, &memory, sizeof memory);
    return status;
}

static void host_free(tulle__device *device, void *block)
{
    (void)choose((const tulle__cuda *)device);
    if (block) (void)cudaFreeHost(block);
}

/* ---- queues and events ---- */

static void drop_queue(tulle__device_queue *queue)
{
    if (!queue) return;
    for (int i = 0; i < TULLE__CUDA_SPANS; i++) {
        if (queue->span[i].begin) (void)cudaEventDestroy(queue->span[i].begin);
        if (queue->span[i].end) (void)cudaEventDestroy(queue->span[i].end);
    }
    if (queue->origin) (void)cudaEventDestroy(queue->origin);
    if (queue->room) (void)cudaFree(queue->room);
    if (queue->stream) (void)cudaStreamDestroy(queue->stream);
    tulle__cuda_host->free(queue);
}

static tulle_status queue_new(tulle__device *device, tulle__device_queue **out)
{
    tulle__device_queue *queue = NULL;
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *queue, "a queue", &queue);
    if (status != TULLE_OK) return status;
    queue->cuda = (tulle__cuda *)device;
    status = choose(queue->cuda);
    if (status == TULLE_OK)
        status = tulle__cuda_check(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking), "a stream");
    if (status == TULLE_OK) status = tulle__cuda_check(cudaEventCreate(&queue->origin), "an event");
    for (int i = 0; i < TULLE__CUDA_SPANS && status == TULLE_OK; i++) {
        status = tulle__cuda_check(cudaEventCreate(&queue->span[i].begin), "an event");
        if (status == TULLE_OK) status = tulle__cuda_check(cudaEventCreate(&queue->span[i].end), "an event");
    }
    if (status == TULLE_OK) status = tulle__cuda_check(cudaEventRecord(queue->origin, queue->stream), "an event");
    if (status == TULLE_OK) status = tulle__cuda_check(cudaStreamSynchronize(queue->stream), "a stream");
    if (status != TULLE_OK) {
        drop_queue(queue);
        return status;
    }
    queue->origin_ns = tulle__clock_ns();
    *out = queue;
    return TULLE_OK;
}

void tulle__cuda_stick(tulle__device_queue *queue, tulle_status status)
{
    if (status == TULLE_OK || queue->status != TULLE_OK) return;
    queue->status = status;
    snprintf(queue->message, sizeof queue->message, "%s", tulle__cuda_host->error_message());
}

int tulle__cuda_ready(tulle__device_queue *queue, int copy)
{
    if (queue->status != TULLE_OK) return 0;
    tulle__cuda_stick(queue, choose(queue->cuda));
    if (!copy && __atomic_load_n(&queue->cuda->broken, __ATOMIC_ACQUIRE))
        tulle__cuda_stick(queue, tulle__cuda_host->fail(TULLE_ERR_COMM, "a copy to the device has failed"));
    return queue->status == TULLE_OK;
}

/* How long the oldest span took, which is done. Counts are added to by several threads. */
static void tell_span(tulle__device_queue *queue)
{
    tulle__device_counts *counts = &queue->cuda->device.counts;
    const tulle__cuda_span *span = &queue->span[queue->first_span];
    float begin = 0, took = 0;
    if (cudaEventElapsedTime(&begin, queue->origin, span->begin) == cudaSuccess &&
        cudaEventElapsedTime(&took, span->begin, span->end) == cudaSuccess) {
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

static tulle_status queue_wait(tulle__device_queue *queue)
{
    tulle_status status = choose(queue->cuda), before = queue->status;
    if (status == TULLE_OK)
        status = tulle__cuda_check(cudaStreamSynchronize(queue->stream), "what the device has done");
    while (queue->nspans) tell_span(queue);
    queue->status = TULLE_OK;
    if (queue->breaks) __atomic_store_n(&queue->cuda->broken, 0, __ATOMIC_RELEASE);
    queue->breaks = 0;
    if (before == TULLE_OK) return status;
    tulle__cuda_host->error_set(queue->message);
    return before;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    (void)device;
    if (!queue) return;
    (void)queue_wait(queue);
    drop_queue(queue);
}

static tulle__cuda_span *newest(tulle__device_queue *queue)
{
    return &queue->span[(queue->first_span + queue->nspans) % TULLE__CUDA_SPANS];
}

void tulle__cuda_begin(tulle__device_queue *queue, const char *name, int kind, int64_t bytes)
{
    if (queue->nspans == TULLE__CUDA_SPANS) { /* the oldest is done long since */
        (void)cudaEventSynchronize(queue->span[queue->first_span].end);
        tell_span(queue);
    }
    tulle__cuda_span *span = newest(queue);
    span->name = name;
    span->kind = kind;
    span->bytes = bytes;
    (void)cudaEventRecord(span->begin, queue->stream);
}

void tulle__cuda_end(tulle__device_queue *queue)
{
    (void)cudaEventRecord(newest(queue)->end, queue->stream);
    queue->nspans++;
}

static tulle_status event_new(tulle__device *device, tulle__device_event **out)
{
    tulle__device_event *event = NULL;
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *event, "an event", &event);
    if (status == TULLE_OK) status = choose((const tulle__cuda *)device);
    if (status == TULLE_OK)
        status = tulle__cuda_check(cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming), "an event");
    if (status == TULLE_OK)
        *out = event;
    else
        tulle__cuda_host->free(event);
    return status;
}

static void event_free(tulle__device *device, tulle__device_event *event)
{
    (void)device;
    if (!event) return;
    (void)cudaEventDestroy(event->event);
    tulle__cuda_host->free(event);
}

/* Errors of both stick to the queue, but do not keep others from going on: an event is recorded all the same. */
static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    tulle__cuda_stick(queue, choose(queue->cuda));
    tulle__cuda_stick(queue, tulle__cuda_check(cudaEventRecord(event->event, queue->stream), "recording an event"));
}

static void join(tulle__device_queue *queue, tulle__device_event *event)
{
    tulle__cuda_stick(queue, choose(queue->cuda));
    tulle__cuda_stick(
        queue, tulle__cuda_check(cudaStreamWaitEvent(queue->stream, event->event, 0), "waiting for an event"));
}

static void event_wait(tulle__device_event *event)
{
    (void)cudaEventSynchronize(event->event);
}

/* ---- copies ---- */

static void copy(tulle__device_queue *queue, int down, void *to, const void *from, size_t bytes)
{
    tulle__device_counts *counts = &queue->cuda->device.counts;
    if (!tulle__cuda_ready(queue, 1)) return;
    tulle__cuda_begin(queue, down ? "download" : "upload", down, (int64_t)bytes);
    cudaError_t error =
        bytes ? cudaMemcpyAsync(to, from, bytes, down ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, queue->stream)
              : cudaSuccess;
    tulle__cuda_end(queue);
    tulle__cuda_stick(queue, tulle__cuda_check(error, down ? "a copy from the device" : "a copy to the device"));
    if (queue->status != TULLE_OK) {
        queue->breaks = 1;
        __atomic_store_n(&queue->cuda->broken, 1, __ATOMIC_RELEASE);
        return;
    }
    __atomic_fetch_add(&counts->copies[down], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->bytes[down], (int64_t)bytes, __ATOMIC_RELAXED);
}

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    copy(queue, 0, tulle__cuda_at(to), from, bytes);
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    copy(queue, 1, to, tulle__cuda_at(from), bytes);
}

/* ---- opening and closing ---- */

static void close_cuda(tulle__device *device)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    (void)choose(cuda);
    if (cuda->sparse) (void)cusparseDestroy(cuda->sparse);
    tulle__cuda_host->free(cuda);
}

static const tulle__device_ops ops = {
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .host_new = host_new,
    .host_free = host_free,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .queue_wait = queue_wait,
    .event_new = event_new,
    .event_free = event_free,
    .record = record,
    .join = join,
    .event_wait = event_wait,
    .upload = upload,
    .download = download,
    .multiply = tulle__cuda_queue_multiply,
    .scale = tulle__cuda_queue_scale,
    .close = close_cuda,
};

/* cuda:N is the N-th; else PEs take them in turn. The number stands alone, as a key without a value. */
static tulle_status read_ordinal(tulle__spec_part *part, int count, int rank, int *ordinal)
{
    *ordinal = rank % count;
    for (int i = 0; i < part->nkeys; i++) {
        char *end;
        long n = strtol(part->key[i], &end, 10);
        if (part->value[i] || *end || end == part->key[i]) continue;
        if (n < 0 || n >= count)
            return tulle__cuda_host->fail(
                TULLE_ERR_UNSUPPORTED, "there is no GPU %ld: %d %s here, from 0", n, count, count == 1 ? "is" : "are");
        part->used[i] = 1;
        *ordinal = (int)n;
    }
    return TULLE_OK;
}

static tulle_status find_devices(int *count)
{
    cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaSuccess && *count > 0) return TULLE_OK;
    (void)cudaGetLastError();
    return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "no GPU can be used: %s",
        error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
}

static tulle_status open_cuda(tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device)
{
    static const char *const keys[] = {"0", "mem"};
    enum { KEPT = 64 << 20 }; /* for cuSPARSE and what the driver takes */
    tulle__cuda *cuda = NULL;
    struct cudaDeviceProp facts;
    size_t left = 0, whole = 0;
    double memory = 0;
    int count = 0, ordinal = 0;
    tulle_status status = find_devices(&count);
    if (status == TULLE_OK) status = read_ordinal(part, count, setting->rank, &ordinal);
    if (status == TULLE_OK) status = tulle__cuda_host->spec_bytes(part, "mem", &memory);
    if (status == TULLE_OK) status = tulle__cuda_host->spec_done(part, keys, 2);
    if (status == TULLE_OK) status = tulle__cuda_host->alloc_zero(1, sizeof *cuda, "a device", &cuda);
    if (status != TULLE_OK) return status;
    cuda->ordinal = ordinal;
    cuda->kernels_line = setting->timeline;
    cuda->copies_line = setting->copied ? NULL : setting->timeline;
    status = choose(cuda);
    if (status == TULLE_OK) status = tulle__cuda_check(cudaGetDeviceProperties(&facts, ordinal), "its properties");
    if (status == TULLE_OK) status = tulle__cuda_check(cudaMemGetInfo(&left, &whole), "its memory");
    if (status == TULLE_OK && cusparseCreate(&cuda->sparse) != CUSPARSE_STATUS_SUCCESS)
        status = tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "cuSPARSE cannot be started on %s", facts.name);
    if (status == TULLE_OK && memory > (double)left)
        status = tulle__cuda_host->fail(
            TULLE_ERR_LIMIT, "%.0f bytes were asked for of %s, which has %zu left", memory, facts.name, left);
    if (status != TULLE_OK) {
        close_cuda(&cuda->device);
        return status;
    }
    cuda->device.ops = &ops;
    cuda->device.name = "cuda";
    cuda->device.capacity = memory > 0 ? (size_t)memory : left > KEPT ? left - KEPT : 0;
    cuda->device.rowptr_bytes = 4; /* what cuSPARSE takes beside columns of 32 bits */
    cuda->device.pinned = 1;
    cuda->device.real_time = 1;
    cuda->device.counting = &cuda->device;
    snprintf(cuda->device.text, sizeof cuda->device.text, "%.80s, %.1f GiB", facts.name, (double)whole / (1 << 30));
    *device = &cuda->device;
    return TULLE_OK;
}

static const tulle__device_driver driver = {
    .name = "cuda", .summary = "an NVIDIA GPU: cuda:N is the N-th (mem=)", .open = open_cuda};

static const tulle__module module = {.version = TULLE__MODULE_VERSION, .device = &driver};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    if (host->version != TULLE__MODULE_VERSION) return NULL;
    tulle__cuda_host = host;
    return &module;
}
