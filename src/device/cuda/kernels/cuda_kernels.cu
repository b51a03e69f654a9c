/* SPDX-License-Identifier: Apache-2.0 */
/* Small kernels, and the list of all files that have some. */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

const int THREADS = 128;

template <typename V> __global__ void scale(int64_t lines, int64_t width, int64_t ld, double beta, V *Y)
{
    int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= lines * width) return;
    V *y = &Y[at / width * ld + at % width];
    *y = beta == 0 ? static_cast<V>(0) : static_cast<V>(beta * static_cast<double>(*y));
}

const void *const kernels[] = {
    reinterpret_cast<const void *>(scale<double>),
    reinterpret_cast<const void *>(scale<float>),
};

/* Blocks of threads for so many elements. */
int64_t blocks_for(int64_t count)
{
    return (count + THREADS - 1) / THREADS;
}

} // namespace

cudaError_t tulle__cuda_load(size_t shared)
{
    cudaError_t error = tulle_cuda::load(kernels);
    if (error == cudaSuccess) error = tulle__cuda_load_slab();
    if (error == cudaSuccess) error = tulle__cuda_load_scan();
    if (error == cudaSuccess) error = tulle__cuda_load_spgemm(shared);
    if (error == cudaSuccess) error = tulle__cuda_load_blocks();
    if (error == cudaSuccess) error = tulle__cuda_load_spmm();
    if (error == cudaSuccess) error = tulle__cuda_load_solve();
    if (error == cudaSuccess) error = tulle__cuda_load_vectors();
    if (error == cudaSuccess) error = tulle__cuda_load_tall();
    if (error == cudaSuccess) error = tulle__cuda_load_columns();
    return error;
}

cudaError_t tulle__cuda_scale(
    cudaStream_t stream, int f64, int64_t lines, int64_t width, int64_t ld, double beta, void *Y)
{
    const int64_t blocks = blocks_for(lines * width);
    if (f64)
        return tulle_cuda::launch(
            scale<double>, blocks, THREADS, 0, stream, lines, width, ld, beta, static_cast<double *>(Y));
    return tulle_cuda::launch(
        scale<float>, blocks, THREADS, 0, stream, lines, width, ld, beta, static_cast<float *>(Y));
}
