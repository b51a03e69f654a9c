/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for what cuSPARSE has none for: symmetric slabs, 16-bit columns, values of another type than the vectors, Y
 * that is not aligned to 16 bytes. A thread has one element of Y and goes through the blocks of its row, so that a row
 * is summed in one order whatever slab it is in. What a symmetric slab adds to other lines is added atomically, in any
 * order.
 */
#include "device/cuda/cuda_kernels.h"
#include "device/cuda/cuda_wrap.h"

namespace
{

const int THREADS = 128;

__device__ int64_t column(const tulle__cuda_slab &A, int64_t row, int64_t entry)
{
    if (A.index_bytes == 2) return A.base[row] + static_cast<const uint16_t *>(A.colind)[entry];
    return static_cast<const int32_t *>(A.colind)[entry];
}

/* atomicAdd of doubles is there from compute capability 6.0 on, which is less than what this is compiled for. */
template <typename V> __device__ void add(V *to, double x)
{
    atomicAdd(to, static_cast<V>(x));
}

template <typename T, typename V> __global__ void multiply(tulle__cuda_slab A)
{
    int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, b = A.block;
    if (at >= A.m * b * A.cols) return;
    int64_t c = at % A.cols, line = at / A.cols, row = line / b, r = line % b;
    const T *val = static_cast<const T *>(A.val);
    const V *X = static_cast<const V *>(A.X);
    V *Y = static_cast<V *>(A.Y);
    int64_t mine = (A.first + row) * b + r;
    double sum = 0, x = A.symmetric ? static_cast<double>(X[mine * A.ldx + c]) : 0;
    for (int64_t e = A.rowptr[row]; e < A.rowptr[row + 1]; e++) {
        int64_t j = column(A, row, e);
        for (int64_t k = 0; k < b; k++) {
            double a = static_cast<double>(val[(e * b + r) * b + k]);
            sum += a * static_cast<double>(X[(j * b + k) * A.ldx + c]);
            if (A.symmetric && j != A.first + row) add(&Y[(j * b + k) * A.ldy + c], a * x);
        }
    }
    if (A.symmetric)
        add(&Y[mine * A.ldy + c], sum);
    else
        Y[mine * A.ldy + c] = static_cast<V>(sum);
}

template <typename V> __global__ void scale(int64_t lines, int64_t width, int64_t ld, double beta, V *Y)
{
    int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= lines * width) return;
    V *y = &Y[at / width * ld + at % width];
    *y = beta == 0 ? static_cast<V>(0) : static_cast<V>(beta * static_cast<double>(*y));
}

/* All kernels there are: a new one is a line here. */
const void *const kernels[] = {
    reinterpret_cast<const void *>(multiply<double, double>),
    reinterpret_cast<const void *>(multiply<float, double>),
    reinterpret_cast<const void *>(multiply<float, float>),
    reinterpret_cast<const void *>(scale<double>),
    reinterpret_cast<const void *>(scale<float>),
};

/* Blocks of threads for so many elements; 0: more than a grid has. */
unsigned blocks_for(int64_t count)
{
    int64_t blocks = (count + THREADS - 1) / THREADS;
    return blocks > INT32_MAX ? 0 : static_cast<unsigned>(blocks);
}

} // namespace

cudaError_t tulle__cuda_load(void)
{
    cudaError_t error = cudaSuccess;
    for (const void *kernel : kernels) {
        cudaFuncAttributes facts;
        if (error == cudaSuccess) error = cudaFuncGetAttributes(&facts, kernel);
    }
    return error;
}

cudaError_t tulle__cuda_multiply(cudaStream_t stream, const tulle__cuda_slab *slab)
{
    unsigned blocks = blocks_for(slab->m * slab->block * slab->cols);
    if (!blocks) return cudaErrorInvalidConfiguration;
    if (slab->f64) return tulle_cuda::launch(multiply<double, double>, blocks, THREADS, 0, stream, *slab);
    if (slab->vectors_f64) return tulle_cuda::launch(multiply<float, double>, blocks, THREADS, 0, stream, *slab);
    return tulle_cuda::launch(multiply<float, float>, blocks, THREADS, 0, stream, *slab);
}

cudaError_t tulle__cuda_scale(
    cudaStream_t stream, int f64, int64_t lines, int64_t width, int64_t ld, double beta, void *Y)
{
    unsigned blocks = blocks_for(lines * width);
    if (!blocks) return cudaErrorInvalidConfiguration;
    if (f64)
        return tulle_cuda::launch(
            scale<double>, blocks, THREADS, 0, stream, lines, width, ld, beta, static_cast<double *>(Y));
    return tulle_cuda::launch(
        scale<float>, blocks, THREADS, 0, stream, lines, width, ld, beta, static_cast<float *>(Y));
}
