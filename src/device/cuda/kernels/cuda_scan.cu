/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefix sums in three steps: of each chunk, by a block of threads; of the chunks' sums, by one block; and both
 * together. Sums of chunks have 64 bits, so that the total is known where offsets no longer fit into 32.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

const int THREADS = 256, EACH = 8, CHUNK = THREADS * EACH;

/* The sum of `mine` over the threads before this one; *all: over all. `workspace`: a number for each thread, and one. */
template <typename N> __device__ N threads_before(N mine, N *workspace, N *all)
{
    int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
    N sum = mine;
    for (int by = 1; by < 32; by *= 2) {
        N other = __shfl_up_sync(0xffffffffu, sum, static_cast<unsigned>(by));
        if (lane >= by) sum += other;
    }
    if (lane == 31) workspace[warp] = sum;
    __syncthreads();
    N before = 0, whole = 0;
    for (int w = 0; w < THREADS / 32; w++) {
        if (w < warp) before += workspace[w];
        whole += workspace[w];
    }
    __syncthreads();
    *all = whole;
    return before + sum - mine;
}

__global__ void scan_chunk(int64_t n, int32_t *data, int64_t *sums)
{
    TULLE__SHARED(int64_t, workspace, THREADS / 32);
    int64_t at = static_cast<int64_t>(blockIdx.x) * CHUNK + static_cast<int64_t>(threadIdx.x) * EACH;
    int64_t mine = 0, all;
    for (int64_t i = at; i < at + EACH && i < n; i++) mine += data[i];
    int64_t before = threads_before<int64_t>(mine, workspace, &all);
    for (int64_t i = at; i < at + EACH && i < n; i++) {
        int32_t value = data[i];
        data[i] = static_cast<int32_t>(before);
        before += value;
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

/* One block. */
__global__ void scan_sums(int64_t chunks, int64_t *sums, int64_t *total)
{
    TULLE__SHARED(int64_t, workspace, THREADS / 32);
    int64_t carry = 0, all;
    for (int64_t first = 0; first < chunks; first += THREADS) {
        int64_t i = first + threadIdx.x, mine = i < chunks ? sums[i] : 0;
        int64_t before = threads_before<int64_t>(mine, workspace, &all);
        if (i < chunks) sums[i] = carry + before;
        carry += all;
    }
    if (threadIdx.x == 0) *total = carry;
}

__global__ void scan_add(int64_t n, int32_t *data, const int64_t *sums)
{
    int64_t at = static_cast<int64_t>(blockIdx.x) * CHUNK + threadIdx.x;
    int32_t before = static_cast<int32_t>(sums[blockIdx.x]);
    for (int e = 0; e < EACH; e++, at += THREADS)
        if (at < n) data[at] += before;
}

const void *const kernels[] = {
    reinterpret_cast<const void *>(scan_chunk),
    reinterpret_cast<const void *>(scan_sums),
    reinterpret_cast<const void *>(scan_add),
};

int64_t chunks_of(int64_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

} // namespace

cudaError_t tulle__cuda_load_scan(void)
{
    return tulle_cuda::load(kernels);
}

size_t tulle__cuda_scan_workspace(int64_t n)
{
    return static_cast<size_t>(chunks_of(n) + 1) * sizeof(int64_t);
}

cudaError_t tulle__cuda_scan(cudaStream_t stream, int64_t n, int32_t *data, int64_t *total, void *workspace)
{
    int64_t *sums = static_cast<int64_t *>(workspace), chunks = chunks_of(n);
    cudaError_t error = cudaSuccess;
    if (chunks) error = tulle_cuda::launch(scan_chunk, chunks, THREADS, 0, stream, n, data, chunks == 1 ? total : sums);
    if (chunks == 1) return error;
    if (error == cudaSuccess) error = tulle_cuda::launch(scan_sums, 1, THREADS, 0, stream, chunks, sums, total);
    if (error == cudaSuccess && chunks > 1)
        error = tulle_cuda::launch(scan_add, chunks, THREADS, 0, stream, n, data, static_cast<const int64_t *>(sums));
    return error;
}
