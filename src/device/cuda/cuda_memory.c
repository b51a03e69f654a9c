/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a GPU. buffers and workspaces are blocks of an arena (device/device_arena.h), which the devices of a PE
 * share and the team retains: in a steady state nothing is taken from CUDA, or given back, as that waits for the whole
 * GPU. A part of what is free stays so: for what the driver and the libraries take later (their code, loaded when it is
 * used first, and their handles), for gaps between blocks, and for the workspaces of queues, which libraries and our
 * kernels work in. Rooms are counted; what they take beyond their part counts against the device's capacity.
 */
#include "device/cuda/cuda_device.h"

#ifdef EMUL_BLOCK /* the emulation guards blocks as it does allocations */
#define GUARD(block, used) EMUL_BLOCK((block)->memory, (block)->bytes, tulle__extent_length(&(block)->extent), used)
#else
#define GUARD(block, used) ((void)0)
#endif

size_t tulle__cuda_piece(size_t whole)
{
    const size_t large = (size_t)32 << 20, least = (size_t)1 << 20, part = whole / 1024;
    return part > large ? large : part < least ? least : part;
}

static tulle_status take_piece(void *context, size_t bytes, const char *what, void **piece)
{
    tulle__cuda *cuda = context;
    cudaError_t error = cudaMalloc(piece, bytes);
    if (error == cudaErrorMemoryAllocation && tulle__cuda_trim_others(cuda)) {
        (void)cudaGetLastError();
        error = cudaMalloc(piece, bytes);
    }
    return tulle__cuda_check(cuda, error, what);
}

static void give_piece(void *context, void *piece)
{
    (void)context;
    (void)tulle__cuda_quietly(cudaFree(piece)); /* of a lost GPU, too: for what the host keeps of it */
}

tulle__device_arena_source tulle__cuda_source(tulle__cuda *cuda)
{
    return (tulle__device_arena_source){
        .take = take_piece, .give = give_piece, .context = cuda, .least = cuda ? cuda->piece : 1};
}

tulle_status tulle__cuda_take(
    tulle__cuda *cuda, size_t bytes, size_t still, const char *what, tulle__device_arena_block *block)
{
    const tulle__device_arena_source source = tulle__cuda_source(cuda);
    const size_t spare = cuda->capacities < cuda->capacities_kept ? cuda->capacities_kept - cuda->capacities : 0;
    TULLE_CALL(cuda->share->arenas->take(cuda->share->arena, &source, bytes, still, spare, what, block));
    GUARD(block, 1);
    return TULLE_OK;
}

void tulle__cuda_give(tulle__cuda *cuda, const tulle__device_arena_block *block)
{
    const tulle__device_arena_source source = tulle__cuda_source(cuda);
    GUARD(block, 0);
    cuda->share->arenas->give(cuda->share->arena, &source, block);
}

/*
 * On small cards an eighth; a context with cuSPARSE's, cuBLAS's and cuSOLVER's code takes most of a GB, more with
 * large products of cuBLAS, whatever the card has.
 */
size_t tulle__cuda_reserved(size_t whole)
{
    const size_t large = 16000000000u, least = (size_t)1 << 30;
    if (whole < large) return whole / 8;
    return whole / 50 > least ? whole / 50 : least;
}

/* As cuBLAS asks for by itself: 32 MiB on Hopper, 4 MiB on GPUs before. */
size_t tulle__cuda_blas_bytes(size_t whole, int major)
{
    return major >= 9 && whole >= (size_t)8 << 30 ? (size_t)32 << 20 : (size_t)4 << 20;
}

void tulle__cuda_divide(tulle__cuda *cuda, size_t left, size_t idle, size_t whole, int processes)
{
    const size_t sharers = (size_t)cuda->sharers, n = (size_t)processes;
    size_t own = (left / n + idle) * n / sharers, kept = tulle__cuda_reserved(whole) * n / sharers;
    cuda->capacities_kept = kept / 2 > cuda->gpu->blas_bytes ? kept / 2 : cuda->gpu->blas_bytes;
    kept = kept / 2 + cuda->capacities_kept;
    cuda->device.capacity = own > kept ? own - kept : 0;
}

int tulle__cuda_count_workspace(tulle__cuda *cuda, size_t old, size_t now)
{
    const size_t kept = cuda->capacities_kept;
    size_t all = cuda->capacities - old + now, before = cuda->capacities > kept ? cuda->capacities - kept : 0,
           after = all > kept ? all - kept : 0;
    if (after > before && after - before > cuda->device.capacity - cuda->device.used) return 0;
    cuda->device.used = cuda->device.used - before + after;
    cuda->capacities = all;
    return 1;
}

void tulle__cuda_scratch_give(tulle__device_queue *queue, tulle__cuda_scratch_block *workspace)
{
    if (!workspace->bytes) return;
    tulle__cuda_give(queue->cuda, &workspace->block);
    tulle__cuda_count_workspace(queue->cuda, workspace->bytes, 0);
    workspace->bytes = 0;
}

static tulle_status take_workspace(tulle__device_queue *queue, size_t bytes)
{
    tulle__cuda *cuda = queue->cuda;
    if (!tulle__cuda_count_workspace(cuda, 0, bytes))
        return tulle__cuda_host->fail(TULLE_ERR_LIMIT,
            "room for a kernel: %zu bytes were asked for, but of the %zu bytes of the device '%s' %zu are used", bytes,
            cuda->device.capacity, cuda->device.name, cuda->device.used);
    tulle_status status = tulle__cuda_take(
        cuda, bytes, cuda->device.capacity - cuda->device.used, "room for a kernel", &queue->workspace.block);
    if (status == TULLE_OK)
        queue->workspace.bytes = bytes;
    else
        tulle__cuda_count_workspace(cuda, bytes, 0);
    return status;
}

/* Waits for the queue, whose work may use the old workspace; if that fails, it is freed with the queue. */
static tulle_status drop_old(tulle__device_queue *queue)
{
    if (!queue->old_workspace.bytes) return TULLE_OK;
    TULLE_CALL(tulle__cuda_check(queue->cuda, cudaStreamSynchronize(queue->stream), "what the device has done"));
    tulle__cuda_scratch_give(queue, &queue->old_workspace);
    return TULLE_OK;
}

/* The old workspace stays until the queue is awaited: growing once waits for nothing, unless memory is short. */
static tulle_status grow(tulle__device_queue *queue, size_t bytes)
{
    if (bytes <= queue->workspace.bytes) return TULLE_OK;
    TULLE_CALL(drop_old(queue));
    queue->old_workspace = queue->workspace;
    queue->workspace.bytes = 0;
    tulle_status status = take_workspace(queue, bytes);
    if ((status != TULLE_ERR_LIMIT && status != TULLE_ERR_MEMORY) || !queue->old_workspace.bytes) return status;
    TULLE_CALL(drop_old(queue));
    return take_workspace(queue, bytes);
}

tulle_status tulle__cuda_scratch(tulle__device_queue *queue, size_t bytes, void **workspace)
{
    tulle_status status = grow(queue, bytes < TULLE__CUDA_WORKSPACE_LEAST ? TULLE__CUDA_WORKSPACE_LEAST : bytes);
    *workspace = queue->workspace.bytes ? queue->workspace.block.memory : NULL;
    return status;
}
