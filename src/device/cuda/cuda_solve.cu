/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangular solve without levels. X is its own flag: it begins as a pattern of bits that no result has, and who
 * needs an unknown reads it until it has another. Rows are taken by tickets in the order of solving, so that whoever
 * waits waits for a row that somebody has begun (Liu, Li, Hogg, Duff, Vinter, "A synchronization-free algorithm for
 * parallel sparse triangular solves", Euro-Par 2016; Su, Zhang et al., "Capellini: thread-level synchronization-free
 * sparse triangular solve on GPUs", ICPP 2020, for a thread a row; Zhang et al., "YuenyeungSpTRSV", TPDS 2021, for
 * both).
 *
 * One column: a thread has a row if rows are short, else a warp, whose lanes multiply what they have waited for. Many
 * columns: a warp has a row of 32 of them. Of a triangle that PEs solve together a warp takes tickets until there are
 * none, since all kernels that wait for each other must be there at the same time; an unknown that others require is
 * stored there as well, and is its own flag there. Sums are in the order of tulle__solve_task, products and sums
 * rounded each, so the bits are the host's; what a last column of an odd number does is what one column does, as there.
 */
#include "device/cuda/cuda_await.h"
#include "device/cuda/cuda_kernels.h"
#include "device/cuda/cuda_rounded.h"
#include "device/cuda/cuda_wrap.h"

namespace
{

using tulle_cuda::add_rounded;
using tulle_cuda::await_value;
using tulle_cuda::multiply_rounded;
using tulle_cuda::never_unknown;
using tulle_cuda::take_ticket;

const int THREADS = 128, SHORT = 16, TAIL = 4; /* TULLE__SOLVE_SHORT, TULLE__SOLVE_TAIL */
const int EACH = 32;                           /* rows, or columns, of a warp */

/* Entries off the diagonal of the row at a step, in the order of solving: `first`, first + step, .. n of them. */
struct row {
    int64_t at;
    int32_t first, n, pivot;
    int step;
};

__device__ row row_at(const tulle__cuda_triangle &A, int64_t number)
{
    row r;
    r.at = A.upper ? A.n - 1 - number : number;
    int32_t from = A.rowptr[r.at] + A.head, to = A.rowptr[r.at + 1] - A.tail;
    r.step = A.upper ? -1 : 1;
    r.first = A.upper ? to - 1 : from;
    r.n = to - from;
    r.pivot = A.head ? from - 1 : to;
    return r;
}

/* Of n entries those that are summed by fours first. */
__device__ int32_t by_fours(int32_t n)
{
    return n > SHORT ? (n - TAIL) / 4 * 4 : 0;
}

template <typename T, bool together> __device__ T by_pivot(const tulle__cuda_triangle &A, const row &r, T x)
{
    if (A.unit) return x;
    if (together) return multiply_rounded(x, static_cast<const T *>(A.push.inverse)[r.at]);
    return multiply_rounded(x, static_cast<T>(1) / static_cast<const T *>(A.val)[r.pivot]);
}

/* A result is never the pattern, which is not what arithmetic makes of NaN but may be what B has. */
template <typename T, bool together>
__device__ void publish(const tulle__cuda_triangle &A, const row &r, int64_t c, T value)
{
    value = never_unknown(value);
    tulle_cuda::store_release(static_cast<T *>(A.X) + r.at * A.cols + c, value);
    for (int32_t i = together ? A.push.first[r.at] : 0; together && i < A.push.first[r.at + 1]; i++)
        tulle_cuda::store_release_system(
            static_cast<T *>(A.push.ghosts[A.push.target[2 * i]]) + A.push.target[2 * i + 1] * A.cols + c, value);
}

template <typename T, bool together>
__device__ T term(const tulle__cuda_triangle &A, const row &r, int32_t k, int64_t c)
{
    int32_t e = r.first + k * r.step;
    return multiply_rounded(static_cast<const T *>(A.val)[e],
        await_value<T, together>(static_cast<const T *>(A.X) + A.colind[e] * A.cols + c, A.push.stop));
}

/* A row of one column by one thread. */
template <typename T, bool together>
__device__ void solve_row(const tulle__cuda_triangle &A, int64_t number, int64_t c, bool fours)
{
    row r = row_at(A, number);
    int32_t begin = fours ? by_fours(r.n) : 0;
    T x = static_cast<const T *>(A.B)[r.at * A.ldb + c], side[4] = {0, 0, 0, 0};
    for (int32_t k = 0; k < begin; k += 4)
        for (int q = 0; q < 4; q++) side[q] = add_rounded(side[q], term<T, together>(A, r, k + q, c));
    if (begin) x = add_rounded(x, -add_rounded(add_rounded(side[0], side[1]), add_rounded(side[2], side[3])));
    for (int32_t k = begin; k < r.n; k++) x = add_rounded(x, -term<T, together>(A, r, k, c));
    publish<T, together>(A, r, c, by_pivot<T, together>(A, r, x));
}

/* One column: a thread a row. Lanes may wait for each other: they share nothing but the ticket. */
template <typename T, bool together>
__global__ void solve_by_threads(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t number;
    do {
        number = take_ticket(ticket, lane) * EACH;
        if (number + lane < A.n) solve_row<T, together>(A, number + lane, 0, true);
    } while (together && number < A.n);
}

/* A row of one column by a warp. All lanes have the sum. */
template <typename T, bool together> __device__ void solve_wide(const tulle__cuda_triangle &A, int64_t number, int lane)
{
    const unsigned all = 0xffffffffu;
    row r = row_at(A, number);
    int32_t begin = by_fours(r.n);
    T x = static_cast<const T *>(A.B)[r.at * A.ldb], side = 0;
    for (int32_t base = 0; base < begin; base += 32) {
        T mine = base + lane < begin ? term<T, together>(A, r, base + lane, 0) : static_cast<T>(0);
        for (int k = 0; k < 32 && base + k < begin; k += 4)
            side = add_rounded(side, __shfl_sync(all, mine, k + lane % 4));
    }
    if (begin) {
        T q[4];
        for (int k = 0; k < 4; k++) q[k] = __shfl_sync(all, side, k);
        x = add_rounded(x, -add_rounded(add_rounded(q[0], q[1]), add_rounded(q[2], q[3])));
    }
    T mine =
        begin + lane < r.n ? term<T, together>(A, r, begin + lane, 0) : static_cast<T>(0); /* at most SHORT are left */
    for (int k = 0; begin + k < r.n; k++) x = add_rounded(x, -__shfl_sync(all, mine, k));
    if (lane == 0) publish<T, together>(A, r, 0, by_pivot<T, together>(A, r, x));
}

template <typename T, bool together> __global__ void solve_by_warps(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t number;
    do {
        number = take_ticket(ticket, lane);
        if (number < A.n) solve_wide<T, together>(A, number, lane);
    } while (together && number < A.n);
}

/* Many columns: a lane each. */
template <typename T, bool together> __global__ void solve_columns(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t ranges = (A.cols + EACH - 1) / EACH, number;
    do {
        number = take_ticket(ticket, lane);
        int64_t c = number % ranges * EACH + lane;
        if (number / ranges < A.n && c < A.cols)
            solve_row<T, together>(A, number / ranges, c, A.cols % 2 && c == A.cols - 1);
    } while (together && number / ranges < A.n);
}

#define KERNELS(T)                                                                                                     \
    reinterpret_cast<const void *>(solve_by_threads<T, false>),                                                        \
        reinterpret_cast<const void *>(solve_by_warps<T, false>),                                                      \
        reinterpret_cast<const void *>(solve_columns<T, false>),                                                       \
        reinterpret_cast<const void *>(solve_by_threads<T, true>),                                                     \
        reinterpret_cast<const void *>(solve_by_warps<T, true>),                                                       \
        reinterpret_cast<const void *>(solve_columns<T, true>)

const void *const kernels[] = {KERNELS(double), KERNELS(float)};

/* Most blocks: those that are there at the same time. */
template <typename T, bool together>
cudaError_t start(
    cudaStream_t stream, const tulle__cuda_triangle &A, int processors, int sharers, unsigned long long *ticket)
{
    const int MEAN = 8; /* entries of a row, up to which a thread has it */
    bool threads = A.cols == 1 && A.entries <= MEAN * A.n;
    int64_t warps = threads ? (A.n + EACH - 1) / EACH : A.n * ((A.cols + EACH - 1) / EACH);
    int64_t blocks = (warps + THREADS / 32 - 1) / (THREADS / 32);
    auto kernel = A.cols > 1 ? solve_columns<T, together>
                  : threads  ? solve_by_threads<T, together>
                             : solve_by_warps<T, together>;
    int64_t most = together ? tulle_cuda::shared_blocks(kernel, THREADS, processors, sharers) : INT32_MAX;
    if (together && blocks > most) blocks = most;
    if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
    cudaError_t error = cudaMemsetAsync(ticket, 0, sizeof *ticket, stream);
    if (error != cudaSuccess) return error;
    return tulle_cuda::launch(kernel, static_cast<unsigned>(blocks), THREADS, 0, stream, A, ticket);
}

} // namespace

cudaError_t tulle__cuda_load_solve(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_solve(cudaStream_t stream, const tulle__cuda_triangle *A, unsigned long long *ticket)
{
    size_t size = A->f64 ? sizeof(double) : sizeof(float);
    cudaError_t error = cudaMemsetAsync(A->X, 0xff, static_cast<size_t>(A->n * A->cols) * size, stream);
    if (error != cudaSuccess) return error;
    return A->f64 ? start<double, false>(stream, *A, 1, 1, ticket) : start<float, false>(stream, *A, 1, 1, ticket);
}

cudaError_t tulle__cuda_solve_push(
    cudaStream_t stream, const tulle__cuda_triangle *A, int processors, int sharers, unsigned long long *ticket)
{
    return A->f64 ? start<double, true>(stream, *A, processors, sharers, ticket)
                  : start<float, true>(stream, *A, processors, sharers, ticket);
}
