/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a GPU beside buffers. A part of what is free stays so: for what the driver and the libraries take later
 * (their code, loaded when it is used first, and their handles), and for the rooms of queues, which libraries and our
 * kernels work in. Rooms are counted; what they take beyond their part counts against the device's capacity.
 */
#include "device/cuda/cuda_device.h"

/*
 * On small cards an eighth; a context with cuSPARSE's, cuBLAS's and cuSOLVER's code takes most of a GB, more with
 * large products of cuBLAS, whatever the card has.
 */
size_t tulle__cuda_kept(size_t whole)
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

void tulle__cuda_divide(tulle__cuda *cuda, size_t left, size_t whole, int processes)
{
    const size_t sharers = (size_t)cuda->sharers;
    size_t own = left / sharers, kept = tulle__cuda_kept(whole) * (size_t)processes / sharers;
    cuda->rooms_kept = kept / 2 > cuda->gpu->blas_bytes ? kept / 2 : cuda->gpu->blas_bytes;
    kept = kept / 2 + cuda->rooms_kept;
    cuda->device.capacity = own > kept ? own - kept : 0;
}

int tulle__cuda_count_room(tulle__cuda *cuda, size_t old, size_t now)
{
    const size_t kept = cuda->rooms_kept;
    size_t all = cuda->rooms - old + now, before = cuda->rooms > kept ? cuda->rooms - kept : 0,
           after = all > kept ? all - kept : 0;
    if (after > before && after - before > cuda->device.capacity - cuda->device.used) return 0;
    cuda->device.used = cuda->device.used - before + after;
    cuda->rooms = all;
    return 1;
}

static tulle_status grow(tulle__device_queue *queue, size_t bytes)
{
    tulle__cuda *cuda = queue->cuda;
    if (bytes <= queue->room_bytes) return TULLE_OK;
    tulle_status status = tulle__cuda_check(
        cuda, cudaStreamSynchronize(queue->stream), "what the device has done"); /* it uses the old one */
    if (status != TULLE_OK) return status; /* which stays, and is freed with the queue */
    if (queue->room) status = tulle__cuda_check(cuda, cudaFree(queue->room), "room for cuSPARSE");
    tulle__cuda_count_room(cuda, queue->room_bytes, 0);
    queue->room = NULL;
    queue->room_bytes = 0;
    if (status != TULLE_OK) return status;
    if (!tulle__cuda_count_room(cuda, 0, bytes))
        return tulle__cuda_host->fail(TULLE_ERR_LIMIT,
            "room for a kernel: %zu bytes were asked for, but of the %zu bytes of the device '%s' %zu are used", bytes,
            cuda->device.capacity, cuda->device.name, cuda->device.used);
    status = tulle__cuda_check(cuda, cudaMalloc(&queue->room, bytes), "room for a kernel");
    if (status == TULLE_OK)
        queue->room_bytes = bytes;
    else
        tulle__cuda_count_room(cuda, bytes, 0);
    return status;
}

tulle_status tulle__cuda_room(tulle__device_queue *queue, size_t bytes, void **room)
{
    tulle_status status = grow(queue, bytes < TULLE__CUDA_ROOM_LEAST ? TULLE__CUDA_ROOM_LEAST : bytes);
    *room = queue->room;
    return status;
}
