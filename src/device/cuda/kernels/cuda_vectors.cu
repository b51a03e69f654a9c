/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of Krylov methods, with the sums and the roundings of tulle__dots_task and tulle__combine_task (kernel.h), so
 * that a solve has the same bits wherever its vectors lie. A warp has a piece of four inner products, eight lanes each:
 * the eight sums side by side. A piece is a fixed number of rows, so nothing depends on the number of blocks.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

using tulle_cuda::fused_never;

const int THREADS = 128, SIDES = 8;

template <typename T> __device__ T scaled(T a, T b)
{
    return fused_never(static_cast<T>(-0.0), a, b); /* -0 + x is x, also if that is -0 */
}

template <typename T> __global__ void dots(tulle__cuda_dots D, int64_t pieces)
{
    int t = static_cast<int>(threadIdx.x), side = t % SIDES, products = D.nx * D.ny;
    int64_t number = (static_cast<int64_t>(blockIdx.x) * THREADS + t) / SIDES, piece = number / products;
    int d = static_cast<int>(number % products), v = d / D.ny, w = d % D.ny;
    double sum = 0;
    if (piece < pieces) {
        int64_t offset = D.first / D.block * D.block - D.first, begin = offset + piece * D.block, end = begin + D.block;
        const T *x = static_cast<const T *>(D.x[v]), *y = static_cast<const T *>(D.y[w]);
        if (begin < 0) begin = 0;
        if (end > D.rows) end = D.rows;
        for (int64_t r = begin + side; r < end; r += SIDES)
            sum = fused_never(sum, static_cast<double>(x[r]), static_cast<double>(y[r]));
    }
    for (int by = SIDES / 2; by; by /= 2) { /* (s0 + s4) + (s2 + s6) + ... */
        double other = __shfl_down_sync(0xffffffffu, sum, static_cast<unsigned>(by), SIDES);
        if (side < by) sum = __dadd_rn(sum, other);
    }
    if (side == 0 && piece < pieces) D.sums[piece * D.stride + d] = sum;
}

template <typename T> __global__ void combine(tulle__cuda_combine C)
{
    int64_t r = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (r >= C.rows) return;
    for (int w = 0; w < C.ny; w++) {
        T *y = static_cast<T *>(C.y[w]), beta = static_cast<T>(C.beta[w]);
        T sum = beta == 0 ? (C.nx ? static_cast<T>(-0.0) : static_cast<T>(0)) : scaled(beta, y[r]);
        for (int v = 0; v < C.nx; v++)
            sum = fused_never(sum, static_cast<T>(C.coef[w * C.nx + v]), static_cast<const T *>(C.x[v])[r]);
        y[r] = sum;
    }
}

const void *const kernels[] = {
    reinterpret_cast<const void *>(dots<double>),
    reinterpret_cast<const void *>(dots<float>),
    reinterpret_cast<const void *>(combine<double>),
    reinterpret_cast<const void *>(combine<float>),
};

} // namespace

cudaError_t tulle__cuda_load_vectors(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_dots_start(cudaStream_t stream, const tulle__cuda_dots *D, int f64, int64_t pieces)
{
    int64_t blocks = (pieces * D->nx * D->ny * SIDES + THREADS - 1) / THREADS;
    return tulle_cuda::launch(f64 ? dots<double> : dots<float>, blocks, THREADS, 0, stream, *D, pieces);
}

cudaError_t tulle__cuda_combine_start(cudaStream_t stream, const tulle__cuda_combine *C, int f64)
{
    int64_t blocks = (C->rows + THREADS - 1) / THREADS;
    return tulle_cuda::launch(f64 ? combine<double> : combine<float>, blocks, THREADS, 0, stream, *C);
}
