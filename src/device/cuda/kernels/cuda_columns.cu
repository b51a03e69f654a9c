/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's solves of several GPUs (Xie and others, "Fast and scalable sparse triangular solver for multi-GPU based
 * HPC architectures"): by columns, a warp an unknown, with counters of the entries of each row that are still to be
 * added. Sums for own rows are private. Those for rows of other PEs
 *
 *   own sums (shmem, zerocopy: algorithm 3): stay in an array of all rows on the PE that makes them. The warp of a row
 *     reads the counters and sums of all PEs, a lane each, and adds them by shuffles;
 *   one sum (unified: algorithm 2): go to one managed array by atomics of the system.
 *
 * Counters go to 0, but for the one array's, which count up: see trisolve/baselines/scatter.h, where the host's methods
 * are. Warps take rows by tickets in the order of solving until there are none, so the first unsolved row of all is
 * always somebody's.
 */
#include "device/cuda/kernels/cuda_await.h"
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

using tulle_cuda::await_count;

const int THREADS = 128;
const unsigned ALL = 0xffffffffu;

/* Waits until all entries of the row have been added, wherever; false: the solve is stopped, and sums still change. */
template <bool one> __device__ bool await_row(const tulle__cuda_columns &P, int64_t line, int64_t row, int lane)
{
    bool there = lane != 0 || await_count<false>(P.left + line, 0, P.stop);
    if (one && lane == 0 && there) there = await_count<true>(P.counts[0] + row, P.far[line], P.stop);
    for (int pe = lane; !one && there && pe < P.size; pe += 32)
        if (pe != P.rank) there = await_count<true>(P.counts[pe] + row, 0, P.stop);
    __syncwarp();
    return __all_sync(ALL, there);
}

/* The sum that others have made, for all lanes. */
template <typename T, bool one> __device__ T sum_of_others(const tulle__cuda_columns &P, int64_t at, int lane)
{
    T sum = 0;
    if (one && lane == 0) sum = static_cast<const T *>(P.sums[0])[at];
    for (int pe = lane; !one && pe < P.size; pe += 32)
        if (pe != P.rank) sum += static_cast<const T *>(P.sums[pe])[at];
    for (int by = 16; !one && by; by /= 2) sum += __shfl_down_sync(ALL, sum, static_cast<unsigned>(by));
    return __shfl_sync(ALL, sum, 0);
}

template <typename T, bool one> __device__ bool solve_line(const tulle__cuda_columns &P, int64_t line, int lane)
{
    int64_t row = P.row[line];
    const uint32_t from = static_cast<uint32_t>(P.colptr[line]) + static_cast<uint32_t>(lane),
                   to = static_cast<uint32_t>(P.colptr[line + 1]); /* no sign: steps go beyond the end */
    if (!await_row<one>(P, line, row, lane)) return false;
    for (int64_t c = 0; c < P.cols; c++) {
        T x = static_cast<const T *>(P.B)[line * P.cols + c] - static_cast<const T *>(P.sum)[line * P.cols + c];
        x -= sum_of_others<T, one>(P, row * P.cols + c, lane);
        if (P.inverse) x *= static_cast<const T *>(P.inverse)[line];
        if (lane == 0) static_cast<T *>(P.X)[line * P.cols + c] = x;
        for (uint32_t e = from; e < to; e += 32) {
            int64_t other = P.rowind[e], mine = P.line[other];
            T part = static_cast<const T *>(P.val)[e] * x;
            if (mine >= 0)
                atomicAdd(static_cast<T *>(P.sum) + mine * P.cols + c, part);
            else if (one)
                tulle_cuda::add_system(static_cast<T *>(P.sums[0]) + other * P.cols + c, part);
            else
                atomicAdd(static_cast<T *>(P.sums[P.rank]) + other * P.cols + c, part);
        }
    }
    for (uint32_t e = from; e < to; e += 32) { /* each lane behind its own additions */
        int64_t other = P.rowind[e], mine = P.line[other];
        if (mine >= 0)
            tulle_cuda::add_release(P.left + mine, -1);
        else if (one)
            tulle_cuda::add_release_system(P.counts[0] + other, 1);
        else
            tulle_cuda::add_release_system(P.counts[P.rank] + other, -1);
    }
    return true;
}

template <typename T, bool one> __global__ void solve_by_columns(tulle__cuda_columns P, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    for (int64_t line; (line = tulle_cuda::take_ticket(ticket, lane)) < P.nown;)
        if (!solve_line<T, one>(P, line, lane)) break;
}

const void *const kernels[] = {
    reinterpret_cast<const void *>(solve_by_columns<double, false>),
    reinterpret_cast<const void *>(solve_by_columns<float, false>),
    reinterpret_cast<const void *>(solve_by_columns<double, true>),
    reinterpret_cast<const void *>(solve_by_columns<float, true>),
};

} // namespace

cudaError_t tulle__cuda_load_columns(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_solve_columns(
    cudaStream_t stream, const tulle__cuda_columns *P, int processors, int sharers, unsigned long long *ticket)
{
    auto kernel = P->f64 ? (P->one ? solve_by_columns<double, true> : solve_by_columns<double, false>)
                         : (P->one ? solve_by_columns<float, true> : solve_by_columns<float, false>);
    int64_t blocks = (P->nown + THREADS / 32 - 1) / (THREADS / 32);
    int64_t most = tulle_cuda::shared_blocks(kernel, THREADS, processors, sharers);
    cudaError_t error = cudaMemsetAsync(ticket, 0, sizeof *ticket, stream);
    if (error != cudaSuccess) return error;
    return tulle_cuda::launch(kernel, blocks < most ? blocks : most, THREADS, 0, stream, *P, ticket);
}
