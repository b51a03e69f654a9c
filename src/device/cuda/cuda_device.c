/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device `cuda`: an NVIDIA GPU by the CUDA runtime. This file opens it and has its memory. PEs of a host take its
 * GPUs in turn, and those that have the same one divide what is free there. What the process has once for a GPU is in
 * cuda_gpu.c.
 */
#include "device/cuda/cuda_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/page_block.h"

const tulle__module_host *tulle__cuda_host;

/* ---- memory ---- */

struct block {
    tulle__device_buffer buffer;
    void *memory;
    int where;
    tulle__device_arena_block part; /* of the arena, on the device */
};

void *tulle__cuda_at(const tulle__device_place *place)
{
    const struct block *block = (const struct block *)place->buffer;
    return block ? (char *)block->memory + place->at : NULL;
}

enum { ON_DEVICE, MANAGED, ON_HOST }; /* memory of a block */

static tulle_status take(tulle__cuda *cuda, struct block *block, size_t bytes, int where, const char *what)
{
    const size_t left = cuda->device.capacity - cuda->device.used, least = bytes ? bytes : 1;
    cudaError_t error;
    if (where == ON_DEVICE) {
        tulle_status status = tulle__cuda_take(cuda, bytes, left > bytes ? left - bytes : 0, what, &block->part);
        block->memory = block->part.memory;
        return status;
    }
    if (where == MANAGED)
        error = cudaMallocManaged(&block->memory, least, cudaMemAttachGlobal);
    else
        error = cudaHostAlloc(&block->memory, least, cudaHostAllocPortable | cudaHostAllocMapped);
    return tulle__cuda_check(cuda, error, what);
}

static tulle_status make_block(
    tulle__device *device, size_t bytes, int where, const char *what, tulle__device_buffer **buffer)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    struct block *block = NULL;
    void *before;
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *block, what, &block);
    if (status == TULLE_OK) status = tulle__cuda_enter(cuda, &before);
    if (status == TULLE_OK) {
        status = take(cuda, block, bytes, where, what);
        tulle__cuda_leave(cuda, before);
    }
    if (status != TULLE_OK) {
        tulle__cuda_host->free(block);
        return status;
    }
    block->buffer.bytes = bytes;
    block->where = where;
    block->buffer.borrowed = where != ON_DEVICE;
    block->buffer.direct = where == ON_DEVICE ? NULL : block->memory;
    *buffer = &block->buffer;
    return TULLE_OK;
}

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    return make_block(device, bytes, ON_DEVICE, what, buffer);
}

static tulle_status managed_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    int can = 0;
    cudaError_t error = cudaDeviceGetAttribute(&can, cudaDevAttrConcurrentManagedAccess, cuda->gpu->ordinal);
    if (!tulle__cuda_quietly(error) || !can)
        return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED,
            "GPU %d and the host do not share managed memory at the same time", cuda->gpu->ordinal);
    return make_block(device, bytes, MANAGED, what, buffer);
}

/* Managed memory would be moved from the GPU to the host and back by each word that the host writes under kernels. */
static tulle_status word_new(tulle__device *device, const char *what, tulle__device_buffer **buffer)
{
    return make_block(device, sizeof(int32_t), ON_HOST, what, buffer);
}

static void buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    struct block *block = (struct block *)buffer;
    void *before;
    tulle__cuda_enter_anyway(cuda, &before);
    if (block->where == ON_DEVICE)
        tulle__cuda_give(cuda, &block->part);
    else /* of a lost GPU, too: for what the host keeps of it */
        (void)tulle__cuda_quietly(block->where == ON_HOST ? cudaFreeHost(block->memory) : cudaFree(block->memory));
    tulle__cuda_leave(cuda, before);
    tulle__cuda_host->free(block);
}

static void *address(tulle__device *device, const tulle__device_buffer *buffer)
{
    (void)device;
    return tulle__cuda_at(&(tulle__device_place){(tulle__device_buffer *)(uintptr_t)buffer, 0});
}

/* Memory of the PE, charged to it, that the driver has pinned; where it does not, copies are slower. */
static tulle_status host_new(tulle__device *device, size_t bytes, const char *what, void *out)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *memory, *before;
    TULLE_CALL(tulle__cuda_host->alloc(bytes + TULLE__PAGE_BLOCK_EXTRA, 1, what, &memory));
    void *block = tulle__page_block(memory);
    tulle_status status = tulle__cuda_enter(cuda, &before);
    if (status != TULLE_OK) {
        tulle__cuda_host->free(memory);
        return status;
    }
    if (bytes) (void)tulle__cuda_quietly(cudaHostRegister(block, bytes, cudaHostRegisterPortable));
    tulle__cuda_leave(cuda, before);
    memcpy(out, &block, sizeof block);
    return TULLE_OK;
}

static void host_free(tulle__device *device, void *block)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    if (!block) return;
    tulle__cuda_enter_anyway(cuda, &before);
    (void)tulle__cuda_quietly(cudaHostUnregister(block)); /* refused if it was not pinned */
    tulle__cuda_leave(cuda, before);
    tulle__cuda_host->free(tulle__page_block_memory(block));
}

/* Portable: for the contexts of all GPUs. Their driver says no to memory that is registered already. */
static tulle_status host_register(tulle__device *device, void *memory, size_t bytes)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    tulle_status status = tulle__cuda_enter(cuda, &before);
    if (status != TULLE_OK || !bytes) {
        if (status == TULLE_OK) tulle__cuda_leave(cuda, before);
        return status;
    }
    cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
    status = tulle__cuda_check(cuda, error, "pinning memory of the host");
    tulle__cuda_leave(cuda, before);
    if (status == TULLE_OK || tulle__cuda_state(device) != TULLE_OK) return status;
    return tulle__cuda_host->fail(
        TULLE_ERR_UNSUPPORTED, "CUDA pins no memory here, %zu bytes: %s", bytes, cudaGetErrorString(error));
}

static void host_unregister(tulle__device *device, void *memory)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    tulle__cuda_enter_anyway(cuda, &before);
    (void)tulle__cuda_quietly(cudaHostUnregister(memory)); /* refused if it was not pinned */
    tulle__cuda_leave(cuda, before);
}

/* If GPUs do not reach each other, the driver goes by way of the host. */
static int peer(const tulle__device *device, const tulle__device *other)
{
    return other->ops == device->ops;
}

static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    switch (kernel) {
#define CASE(kind, name, type) TULLE__KERNEL_CASE(kind, tulle__cuda_queue_##name, type)
        TULLE__DEVICE_KERNEL_LIST(CASE)
#undef CASE
    default:
        break;
    }
}

/* ---- opening and closing ---- */

static void close_cuda(tulle__device *device)
{
    tulle__cuda *cuda = (tulle__cuda *)device;
    void *before;
    if (cuda->nchoices) {
        tulle__cuda_enter_anyway(cuda, &before);
        tulle__cuda_choices_free(cuda);
        tulle__cuda_leave(cuda, before);
    }
    tulle__cuda_release(cuda->share);
    tulle__cuda_host->free(cuda);
}

static const tulle__device_ops ops = {
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .address = address,
    .host_new = host_new,
    .host_free = host_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .state = tulle__cuda_state,
    .peer = peer,
    .queue_new = tulle__cuda_queue_new,
    .queue_free = tulle__cuda_queue_free,
    .queue_wait = tulle__cuda_queue_wait,
    .event_new = tulle__cuda_event_new,
    .event_free = tulle__cuda_event_free,
    .record = tulle__cuda_record,
    .join = tulle__cuda_join,
    .event_wait = tulle__cuda_event_wait,
    .event_done = tulle__cuda_event_done,
    .upload = tulle__cuda_upload,
    .download = tulle__cuda_download,
    .copy = tulle__cuda_copy,
    .start = start,
    .product = tulle__cuda_queue_product,
    .eigen_bytes = tulle__cuda_eigen_bytes,
    .managed_new = managed_new,
    .word_new = word_new,
    .reach = tulle__cuda_reach,
    .waits = tulle__cuda_waits,
    .workspace = tulle__cuda_workspace,
    .prepare = tulle__cuda_prepare,
    .forget = tulle__cuda_forget,
    .retain = tulle__cuda_retain,
    .release = tulle__cuda_release,
    .close = close_cuda,
};

/* cuda:N is the N-th; else PEs of a host take them in turn. The number stands alone, as a key without a value. */
static tulle_status read_ordinal(
    tulle__spec_part *part, int count, const tulle__device_setting *setting, int *ordinal, int *sharers)
{
    *ordinal = setting->near_rank % count;
    *sharers = tulle__device_sharers(setting, count);
    for (int i = 0; i < part->nkeys; i++) {
        char *end;
        long n = strtol(part->key[i], &end, 10);
        if (part->value[i] || *end || end == part->key[i]) continue;
        if (n < 0 || n >= count)
            return tulle__cuda_host->fail(
                TULLE_ERR_UNSUPPORTED, "there is no GPU %ld: %d %s here, from 0", n, count, count == 1 ? "is" : "are");
        part->used[i] = 1;
        *ordinal = (int)n;
        *sharers = setting->near_size > 0 ? setting->near_size : 1; /* each says the same */
    }
    return TULLE_OK;
}

static tulle_status read_kernels(tulle__spec_part *part, int *kernels)
{
    static const char *const names[] = {"library", "own", "measured"};
    const char *word = NULL;
    TULLE_CALL(tulle__cuda_host->spec_word(part, "kernels", &word));
    if (!word) return TULLE_OK;
    return tulle__cuda_host->name_parse("kernels", word, names, 3, kernels);
}

static tulle_status find_devices(int *count)
{
    cudaError_t error = cudaGetDeviceCount(count);
    if (tulle__cuda_quietly(error) && *count > 0) return TULLE_OK;
    return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "no GPU can be used: %s",
        error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
}

/* Sets this device's part of the GPU's memory, and its description; with the GPU's context. */
static tulle_status set_up(tulle__cuda *cuda, double memory, int processes)
{
    size_t left = 0, whole = 0;
    const size_t idle = tulle__cuda_idle(cuda->gpu);
    const char *name = cuda->gpu->name;
    TULLE_CALL(tulle__cuda_check(cuda, cudaMemGetInfo(&left, &whole), "the device's memory"));
    if (memory > (double)(left + idle))
        return tulle__cuda_host->fail(
            TULLE_ERR_LIMIT, "%.0f bytes were asked for of %s, which has %zu left", memory, name, left + idle);
    tulle__cuda_divide(cuda, left, idle, whole, processes);
    if (memory > 0) cuda->device.capacity = (size_t)memory;
    const unsigned tenths = (unsigned)((double)whole * 10 / (1 << 30) + .5); /* whatever point the locale has */
    int end = snprintf(cuda->device.text, sizeof cuda->device.text, "%s, %u.%u GiB", name, tenths / 10, tenths % 10);
    if (cuda->sharers > cuda->connections)
        snprintf(cuda->device.text + end, sizeof cuda->device.text - (size_t)end, "; %d PEs on %d hardware queues (%s)",
            cuda->sharers, cuda->connections, TULLE__CUDA_CONNECTIONS);
    return TULLE_OK;
}

/* Rows of a level from which a launch of its own, some microseconds, costs less than the tickets of its rows, one
 * after the other at one address, and their waits; not measured yet (wide=). */
enum { WIDE_LEVEL = 4096 };

static tulle_status open_cuda(tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device)
{
    static const char *const keys[] = {"0", "mem", "kernels", "wide", "piece"};
    tulle__cuda *cuda = NULL;
    double memory = 0, piece = -1;
    int64_t wide = WIDE_LEVEL;
    int count = 0, ordinal = 0, sharers = 1, kernels = TULLE__CUDA_LIBRARY;
    void *before;
    TULLE_CALL(find_devices(&count));
    TULLE_CALL(read_ordinal(part, count, setting, &ordinal, &sharers));
    TULLE_CALL(tulle__cuda_host->spec_bytes(part, "mem", &memory));
    TULLE_CALL(read_kernels(part, &kernels));
    TULLE_CALL(tulle__cuda_host->spec_int(part, "wide", 1, INT32_MAX, &wide));
    TULLE_CALL(tulle__cuda_host->spec_bytes(part, "piece", &piece));
    TULLE_CALL(tulle__cuda_host->spec_done(part, keys, 5));
    TULLE_CALL(tulle__cuda_host->alloc_zero(1, sizeof *cuda, "a device", &cuda));
    tulle_status status = tulle__cuda_gpu_open(cuda, ordinal, setting);
    if (status != TULLE_OK) {
        tulle__cuda_host->free(cuda);
        return status;
    }
    cuda->piece = piece < 0 ? cuda->gpu->piece : (size_t)piece;
    cuda->kernels = kernels;
    cuda->sharers = sharers;
    cuda->connections = tulle__cuda_connections();
    cuda->kernels_line = setting->timeline;
    cuda->copies_line = setting->copied ? NULL : setting->timeline;
    cuda->device = (tulle__device){.ops = &ops,
        .name = "cuda",
        .kernels = 0 TULLE__DEVICE_KERNEL_LIST(TULLE__KERNEL_BIT),
        .rowptr_bytes = 4, /* what cuSPARSE takes beside columns of 32 bits */
        .most_blocks = INT32_MAX,
        .wide_level = wide,
        .y_align = 16, /* what some releases of cuSPARSE want */
        .pinned = 1,
        .real_time = 1,
        .by_times = kernels == TULLE__CUDA_MEASURED,
        .counting = &cuda->device};
    status = tulle__cuda_enter(cuda, &before);
    if (status == TULLE_OK) {
        status = set_up(cuda, memory, tulle__device_processes(setting, sharers));
        tulle__cuda_leave(cuda, before);
    }
    if (status != TULLE_OK) {
        close_cuda(&cuda->device);
        return status;
    }
    *device = &cuda->device;
    return TULLE_OK;
}

static const tulle__device_driver driver = {.name = "cuda",
    .summary = "an NVIDIA GPU: cuda:N is the N-th (mem=, kernels=library, own or measured; wide=4096: rows from which "
               "a level of a triangle is a launch; piece=: bytes that its arena grows by at least, 0: each buffer is "
               "an allocation, for tools that check memory)",
    .open = open_cuda};

static const tulle__module module = {.version = TULLE__MODULE_VERSION, .device = &driver};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    if (host->version != TULLE__MODULE_VERSION) return NULL;
    /* each PE loads the module, all with the same table */
    if (__atomic_load_n(&tulle__cuda_host, __ATOMIC_ACQUIRE) != host)
        __atomic_store_n(&tulle__cuda_host, host, __ATOMIC_RELEASE);
    return &module;
}
