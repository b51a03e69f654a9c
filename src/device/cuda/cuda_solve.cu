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
 * columns: a warp has a row of 32 of them. Sums are in the order of tulle__solve_task, products and sums rounded each,
 * so the bits are the host's; what a last column of an odd number does is what one column does, as there.
 */
#include "device/cuda/cuda_kernels.h"
#include "device/cuda/cuda_rounded.h"
#include "device/cuda/cuda_wrap.h"

namespace
{

using tulle_cuda::add_rounded;
using tulle_cuda::multiply_rounded;

const int THREADS = 128, SHORT = 16, TAIL = 4; /* TULLE__SOLVE_SHORT, TULLE__SOLVE_TAIL */
const int EACH = 32;                           /* rows, or columns, of a warp */

__device__ bool is_known(double x)
{
    return __double_as_longlong(x) != -1;
}

__device__ bool is_known(float x)
{
    return __float_as_int(x) != -1;
}

template <typename T> __device__ T await(const T *x)
{
    T value = tulle_cuda::load_acquire(x);
    while (!is_known(value)) value = tulle_cuda::load_acquire(x);
    return value;
}

/* A result is never the pattern, which is not what arithmetic makes of NaN but may be what B has. */
template <typename T> __device__ void publish(T *x, T value)
{
    if (!is_known(value)) value = static_cast<T>(NAN);
    tulle_cuda::store_release(x, value);
}

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

template <typename T> __device__ T by_pivot(const tulle__cuda_triangle &A, const row &r, T x)
{
    return A.unit ? x : multiply_rounded(x, static_cast<T>(1) / static_cast<const T *>(A.val)[r.pivot]);
}

template <typename T> __device__ T term(const tulle__cuda_triangle &A, const row &r, int32_t k, int64_t c)
{
    int32_t e = r.first + k * r.step;
    return multiply_rounded(
        static_cast<const T *>(A.val)[e], await(static_cast<const T *>(A.X) + A.colind[e] * A.cols + c));
}

/* A row of one column by one thread. */
template <typename T> __device__ void solve_row(const tulle__cuda_triangle &A, int64_t number, int64_t c, bool fours)
{
    row r = row_at(A, number);
    int32_t begin = fours ? by_fours(r.n) : 0;
    T x = static_cast<const T *>(A.B)[r.at * A.ldb + c], side[4] = {0, 0, 0, 0};
    for (int32_t k = 0; k < begin; k += 4)
        for (int q = 0; q < 4; q++) side[q] = add_rounded(side[q], term<T>(A, r, k + q, c));
    if (begin) x = add_rounded(x, -add_rounded(add_rounded(side[0], side[1]), add_rounded(side[2], side[3])));
    for (int32_t k = begin; k < r.n; k++) x = add_rounded(x, -term<T>(A, r, k, c));
    publish(static_cast<T *>(A.X) + r.at * A.cols + c, by_pivot(A, r, x));
}

/* The next number of this warp. */
__device__ int64_t take_ticket(unsigned long long *ticket, int lane)
{
    unsigned long long mine = 0;
    if (lane == 0) mine = atomicAdd(ticket, 1ull);
    return static_cast<int64_t>(__shfl_sync(0xffffffffu, mine, 0));
}

/* One column: a thread a row. Lanes may wait for each other: they share nothing but the ticket. */
template <typename T> __global__ void solve_by_threads(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t number = take_ticket(ticket, lane) * EACH + lane;
    if (number < A.n) solve_row<T>(A, number, 0, true);
}

/* One column: a warp a row. All lanes have the sum. */
template <typename T> __global__ void solve_by_warps(tulle__cuda_triangle A, unsigned long long *ticket)
{
    const unsigned all = 0xffffffffu;
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t number = take_ticket(ticket, lane);
    if (number >= A.n) return;
    row r = row_at(A, number);
    int32_t begin = by_fours(r.n);
    T x = static_cast<const T *>(A.B)[r.at * A.ldb], side = 0;
    for (int32_t base = 0; base < begin; base += 32) {
        T mine = base + lane < begin ? term<T>(A, r, base + lane, 0) : static_cast<T>(0);
        for (int k = 0; k < 32 && base + k < begin; k += 4)
            side = add_rounded(side, __shfl_sync(all, mine, k + lane % 4));
    }
    if (begin) {
        T q[4];
        for (int k = 0; k < 4; k++) q[k] = __shfl_sync(all, side, k);
        x = add_rounded(x, -add_rounded(add_rounded(q[0], q[1]), add_rounded(q[2], q[3])));
    }
    T mine = begin + lane < r.n ? term<T>(A, r, begin + lane, 0) : static_cast<T>(0); /* at most SHORT are left */
    for (int k = 0; begin + k < r.n; k++) x = add_rounded(x, -__shfl_sync(all, mine, k));
    if (lane == 0) publish(static_cast<T *>(A.X) + r.at, by_pivot(A, r, x));
}

/* Many columns: a lane each. */
template <typename T> __global__ void solve_columns(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t ranges = (A.cols + EACH - 1) / EACH, number = take_ticket(ticket, lane);
    int64_t c = number % ranges * EACH + lane;
    if (number / ranges >= A.n || c >= A.cols) return;
    solve_row<T>(A, number / ranges, c, A.cols % 2 && c == A.cols - 1);
}

const void *const kernels[] = {
    reinterpret_cast<const void *>(solve_by_threads<double>),
    reinterpret_cast<const void *>(solve_by_threads<float>),
    reinterpret_cast<const void *>(solve_by_warps<double>),
    reinterpret_cast<const void *>(solve_by_warps<float>),
    reinterpret_cast<const void *>(solve_columns<double>),
    reinterpret_cast<const void *>(solve_columns<float>),
};

template <typename T> cudaError_t start(cudaStream_t stream, const tulle__cuda_triangle &A, unsigned long long *ticket)
{
    const int MEAN = 8; /* entries of a row, up to which a thread has it */
    bool threads = A.cols == 1 && A.entries <= MEAN * A.n;
    int64_t warps = threads ? (A.n + EACH - 1) / EACH : A.n * ((A.cols + EACH - 1) / EACH);
    int64_t blocks = (warps + THREADS / 32 - 1) / (THREADS / 32);
    if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
    return tulle_cuda::launch(A.cols > 1 ? solve_columns<T>
                              : threads  ? solve_by_threads<T>
                                         : solve_by_warps<T>,
        static_cast<unsigned>(blocks), THREADS, 0, stream, A, ticket);
}

} // namespace

cudaError_t tulle__cuda_load_solve(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_solve(cudaStream_t stream, const tulle__cuda_triangle *A, unsigned long long *ticket)
{
    size_t size = A->f64 ? sizeof(double) : sizeof(float);
    cudaError_t error = cudaMemsetAsync(ticket, 0, sizeof *ticket, stream);
    if (error == cudaSuccess) error = cudaMemsetAsync(A->X, 0xff, static_cast<size_t>(A->n * A->cols) * size, stream);
    if (error != cudaSuccess) return error;
    return A->f64 ? start<double>(stream, *A, ticket) : start<float>(stream, *A, ticket);
}
