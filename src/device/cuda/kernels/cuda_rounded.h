/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of kernels: sums and products that are rounded each, never fused, so that results have the bits of the
 * reference; and the search in a row of columns.
 */
#ifndef TULLE_DEVICE_CUDA_CUDA_ROUNDED_H
#define TULLE_DEVICE_CUDA_CUDA_ROUNDED_H

#include <cstdint>

namespace tulle_cuda
{

__device__ inline float add_rounded(float a, float b)
{
    return __fadd_rn(a, b);
}

__device__ inline double add_rounded(double a, double b)
{
    return __dadd_rn(a, b);
}

__device__ inline float multiply_rounded(float a, float b)
{
    return __fmul_rn(a, b);
}

__device__ inline double multiply_rounded(double a, double b)
{
    return __dmul_rn(a, b);
}

/* sum + a b */
template <typename T> __device__ T fused_never(T sum, T a, T b)
{
    return add_rounded(sum, multiply_rounded(a, b));
}

/* The first place from `from` on, before `to`, whose column is not below. */
__device__ inline int32_t lower_bound(const int32_t *colind, int32_t from, int32_t to, int64_t col)
{
    while (from < to) {
        int32_t middle = from + (to - from) / 2;
        if (colind[middle] < col)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

} // namespace tulle_cuda

#endif
