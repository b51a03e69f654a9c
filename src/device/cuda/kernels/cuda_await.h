/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of kernels of triangular solves: values that are their own flags, words that are awaited, tickets. */
#ifndef TULLE_DEVICE_CUDA_CUDA_AWAIT_H
#define TULLE_DEVICE_CUDA_CUDA_AWAIT_H

#include "device/cuda/kernels/cuda_wrap.h"

namespace tulle_cuda
{

const int LOOKS = 64; /* reads in vain between looks at the word that stops a solve */

__device__ inline bool is_known(double x)
{
    return __double_as_longlong(x) != -1;
}

__device__ inline bool is_known(float x)
{
    return __float_as_int(x) != -1;
}

template <typename T> __device__ T never_unknown(T x)
{
    return is_known(x) ? x : static_cast<T>(NAN);
}

/*
 * An unknown, once it is known. The value is its own flag: a reader uses nothing else that the writer has stored, so
 * relaxed loads suffice, and L1 keeps the rest of the triangle. together: another GPU may store it, and the solve may
 * be stopped; then it is NaN.
 */
template <typename T, bool together> __device__ T await_value(const T *x, const int32_t *stop)
{
    T value = together ? load_relaxed_system(x) : load_relaxed(x);
    for (int look = 1; !is_known(value); look++) {
        if (together && look % LOOKS == 0 && load_relaxed_system(stop)) return static_cast<T>(NAN);
        value = together ? load_relaxed_system(x) : load_relaxed(x);
    }
    return value;
}

/*
 * Until a counter is `wanted`, which it then stays; false: the solve is stopped. The counter stands for sums, which the
 * caller reads next: the look that ends the wait is followed by an acquire of the same count. The looks before it need
 * no order.
 */
template <bool system> __device__ bool await_count(const int32_t *count, int32_t wanted, const int32_t *stop)
{
    for (int look = 1; (system ? load_relaxed_system(count) : load_relaxed(count)) != wanted; look++)
        if (look % LOOKS == 0 && load_relaxed_system(stop)) return false;
    (void)(system ? load_acquire_system(count) : load_acquire(count));
    return true;
}

/* The next number of this warp. */
__device__ inline int64_t take_ticket(unsigned long long *ticket, int lane)
{
    unsigned long long mine = 0;
    if (lane == 0) mine = atomicAdd(ticket, 1ull);
    return static_cast<int64_t>(__shfl_sync(0xffffffffu, mine, 0));
}

} // namespace tulle_cuda

#endif
