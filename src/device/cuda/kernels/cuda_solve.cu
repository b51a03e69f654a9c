/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves. X is its own flag: it begins as a pattern of bits that no result has, and who needs an unknown
 * reads it until it has another. Rows are taken by tickets, in an order in which all that a row requires comes
 * earlier, so that whoever waits waits for a row that somebody has begun (Liu, Li, Hogg, Duff, Vinter, "A
 * synchronization-free algorithm for parallel sparse triangular solves", Euro-Par 2016; Su, Zhang et al., "Capellini:
 * thread-level synchronization-free sparse triangular solve on GPUs", ICPP 2020, for a thread a row; Zhang et al.,
 * "YuenyeungSpTRSV", TPDS 2021, for both). A wide level, of rows that do not require each other, is a launch without
 * tickets and flags.
 *
 * One column: a ticket is a group of rows, which are short, a thread each; or one row, of a warp, whose lanes multiply
 * what they have waited for. Many columns: a warp has a row of 32 of them. Of a triangle that PEs solve together a warp
 * takes tickets until there are none, since all kernels that wait for each other must be there at the same time; an
 * unknown that others require is stored there as well, and is its own flag there. Sums are in the order of
 * tulle__solve_task, products and sums rounded each, so the bits are the host's; what a last column of an odd number
 * does is what one column does, as there.
 */
#include "device/cuda/kernels/cuda_await.h"
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

using tulle_cuda::add_rounded;
using tulle_cuda::await_value;
using tulle_cuda::multiply_rounded;
using tulle_cuda::never_unknown;
using tulle_cuda::take_ticket;

const int THREADS = 128, SHORT = 16, TAIL = 4; /* TULLE__SOLVE_SHORT, TULLE__SOLVE_TAIL */
const int EACH = 32;                           /* columns of a warp */

/* Rows wait for others; also for those of other PEs; or all that they require is there. */
const int WAIT = 0, WAIT_FOR_ALL = 1, APART = 2;

/* Entries off the diagonal of the row at a position, in the order of solving: `first`, first + step, .. n of them. */
struct row {
    int64_t at;
    int32_t first, n, pivot;
    int step;
};

__device__ row row_at(const tulle__cuda_triangle &A, int64_t position)
{
    row r;
    r.at = A.order ? A.order[position] : A.upper ? A.n - 1 - position : position;
    int32_t from = A.rowptr[r.at] + A.head, to = A.rowptr[r.at + 1] - A.tail;
    r.step = A.upper ? -1 : 1;
    r.first = A.upper ? to - 1 : from;
    r.n = to - from;
    r.pivot = A.head ? from - 1 : to;
    return r;
}

/* Entries of n that are summed by fours first. */
__device__ int32_t by_fours(int32_t n)
{
    return n > SHORT ? (n - TAIL) / 4 * 4 : 0;
}

/* The factor of a row's sum. It is made before the row waits for others: a load and a division off the critical path.
 */
template <typename T, int kind> __device__ T inverse_of(const tulle__cuda_triangle &A, const row &r)
{
    if (A.unit) return static_cast<T>(1);
    if (kind == WAIT_FOR_ALL) return static_cast<const T *>(A.push.inverse)[r.at];
    return static_cast<T>(1) / static_cast<const T *>(A.val)[r.pivot];
}

template <typename T> __device__ T by_pivot(const tulle__cuda_triangle &A, T x, T inverse)
{
    return A.unit ? x : multiply_rounded(x, inverse);
}

/*
 * A result is never the pattern, which is not what arithmetic makes of NaN but may be what B has. Nobody reads anything
 * else on the strength of it, so the store needs no order.
 */
template <typename T, int kind> __device__ void publish(const tulle__cuda_triangle &A, const row &r, int64_t c, T value)
{
    value = never_unknown(value);
    T *x = static_cast<T *>(A.X) + r.at * A.cols + c;
    if constexpr (kind == APART)
        *x = value;
    else
        tulle_cuda::store_relaxed(x, value);
    if constexpr (kind == WAIT_FOR_ALL)
        for (int32_t i = A.push.first[r.at]; i < A.push.first[r.at + 1]; i++)
            tulle_cuda::store_relaxed_system(
                static_cast<T *>(A.push.ghosts[A.push.target[2 * i]]) + A.push.target[2 * i + 1] * A.cols + c, value);
}

template <typename T, int kind> __device__ T term(const tulle__cuda_triangle &A, const row &r, int32_t k, int64_t c)
{
    int32_t e = r.first + k * r.step;
    const T *x = static_cast<const T *>(A.X) + A.colind[e] * A.cols + c;
    const T a = static_cast<const T *>(A.val)[e]; /* under way while x is awaited */
    return multiply_rounded(a, kind == APART ? *x : await_value<T, kind == WAIT_FOR_ALL>(x, A.push.stop));
}

/* A row of one column by one thread. */
template <typename T, int kind>
__device__ void solve_row(const tulle__cuda_triangle &A, int64_t position, int64_t c, bool fours)
{
    row r = row_at(A, position);
    int32_t begin = fours ? by_fours(r.n) : 0;
    const T inverse = inverse_of<T, kind>(A, r);
    T x = static_cast<const T *>(A.B)[r.at * A.ldb + c], side[4] = {0, 0, 0, 0};
    for (int32_t k = 0; k < begin; k += 4)
        for (int q = 0; q < 4; q++) side[q] = add_rounded(side[q], term<T, kind>(A, r, k + q, c));
    if (begin) x = add_rounded(x, -add_rounded(add_rounded(side[0], side[1]), add_rounded(side[2], side[3])));
    for (int32_t k = begin; k < r.n; k++) x = add_rounded(x, -term<T, kind>(A, r, k, c));
    publish<T, kind>(A, r, c, by_pivot<T>(A, x, inverse));
}

/* A row of one column by a warp. All lanes have the sum. */
template <typename T, int kind> __device__ void solve_wide(const tulle__cuda_triangle &A, int64_t position, int lane)
{
    const unsigned all = 0xffffffffu;
    row r = row_at(A, position);
    int32_t begin = by_fours(r.n);
    const T inverse = inverse_of<T, kind>(A, r);
    T x = static_cast<const T *>(A.B)[r.at * A.ldb], side = 0;
    for (int32_t base = 0; base < begin; base += 32) {
        T mine = base + lane < begin ? term<T, kind>(A, r, base + lane, 0) : static_cast<T>(0);
        for (int k = 0; k < 32 && base + k < begin; k += 4)
            side = add_rounded(side, __shfl_sync(all, mine, k + lane % 4));
    }
    if (begin) {
        T q[4];
        for (int k = 0; k < 4; k++) q[k] = __shfl_sync(all, side, k);
        x = add_rounded(x, -add_rounded(add_rounded(q[0], q[1]), add_rounded(q[2], q[3])));
    }
    T mine = begin + lane < r.n ? term<T, kind>(A, r, begin + lane, 0) : static_cast<T>(0); /* at most SHORT are left */
    for (int k = 0; begin + k < r.n; k++) x = add_rounded(x, -__shfl_sync(all, mine, k));
    if (lane == 0) publish<T, kind>(A, r, 0, by_pivot<T>(A, x, inverse));
}

/* The next piece of work of this warp in the stretch, of which others come before. */
template <int kind> __device__ int64_t take(const tulle__cuda_triangle &A, unsigned long long *ticket, int lane)
{
    if (kind == APART) return (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) / 32;
    return take_ticket(ticket, lane) - A.tickets;
}

/* One column. Lanes with a row each may wait for each other: they share nothing but the ticket. */
template <typename T, int kind> __global__ void solve_groups(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t group;
    do {
        group = A.first_group + take<kind>(A, ticket, lane);
        if (group >= A.groups_end) break;
        int32_t row = A.group[group], end = A.group[group + 1];
        if (end - row == 1)
            solve_wide<T, kind>(A, row, lane);
        else if (lane < end - row)
            solve_row<T, kind>(A, row + lane, 0, true);
    } while (kind == WAIT_FOR_ALL);
}

/* Many columns: a lane each. */
template <typename T, int kind> __global__ void solve_columns(tulle__cuda_triangle A, unsigned long long *ticket)
{
    int lane = static_cast<int>(threadIdx.x) % 32;
    int64_t ranges = (A.cols + EACH - 1) / EACH;
    do {
        int64_t number = take<kind>(A, ticket, lane), row = A.row + number / ranges;
        if (row >= A.rows_end) break;
        int64_t c = number % ranges * EACH + lane;
        if (c < A.cols) solve_row<T, kind>(A, row, c, A.cols % 2 && c == A.cols - 1);
    } while (kind == WAIT_FOR_ALL);
}

#define KERNELS(T, kind)                                                                                               \
    reinterpret_cast<const void *>(solve_groups<T, kind>), reinterpret_cast<const void *>(solve_columns<T, kind>)

const void *const kernels[] = {KERNELS(double, WAIT), KERNELS(double, WAIT_FOR_ALL), KERNELS(double, APART),
    KERNELS(float, WAIT), KERNELS(float, WAIT_FOR_ALL), KERNELS(float, APART)};

/* Most blocks that wait for all: those that are there at the same time. */
template <typename T, int kind>
cudaError_t start(cudaStream_t stream, tulle__cuda_triangle *A, int processors, int sharers, unsigned long long *ticket)
{
    const int WARPS = THREADS / 32;
    int64_t ranges = (A->cols + EACH - 1) / EACH;
    int64_t work = A->cols > 1 ? (A->rows_end - A->row) * ranges : A->groups_end - A->first_group;
    int64_t blocks = (work + WARPS - 1) / WARPS;
    auto kernel = A->cols > 1 ? solve_columns<T, kind> : solve_groups<T, kind>;
    if (kind == WAIT_FOR_ALL) {
        int64_t most = tulle_cuda::shared_blocks(kernel, THREADS, processors, sharers);
        if (blocks > most) blocks = most;
    }
    cudaError_t error = tulle_cuda::launch(kernel, blocks, THREADS, 0, stream, *A, ticket);
    if (kind == WAIT) A->tickets += blocks * WARPS;
    return error;
}

template <typename T>
cudaError_t start_stretch(cudaStream_t stream, tulle__cuda_triangle *A, int apart, unsigned long long *ticket)
{
    return apart ? start<T, APART>(stream, A, 1, 1, ticket) : start<T, WAIT>(stream, A, 1, 1, ticket);
}

} // namespace

cudaError_t tulle__cuda_load_solve(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_solve_arm(cudaStream_t stream, const tulle__cuda_triangle *A, unsigned long long *ticket)
{
    size_t size = A->f64 ? sizeof(double) : sizeof(float);
    cudaError_t error = cudaMemsetAsync(A->X, 0xff, static_cast<size_t>(A->n * A->cols) * size, stream);
    return error == cudaSuccess ? cudaMemsetAsync(ticket, 0, sizeof *ticket, stream) : error;
}

cudaError_t tulle__cuda_solve(cudaStream_t stream, tulle__cuda_triangle *A, int apart, unsigned long long *ticket)
{
    return A->f64 ? start_stretch<double>(stream, A, apart, ticket) : start_stretch<float>(stream, A, apart, ticket);
}

cudaError_t tulle__cuda_solve_push(
    cudaStream_t stream, tulle__cuda_triangle *A, int processors, int sharers, unsigned long long *ticket)
{
    cudaError_t error = cudaMemsetAsync(ticket, 0, sizeof *ticket, stream);
    if (error != cudaSuccess) return error;
    return A->f64 ? start<double, WAIT_FOR_ALL>(stream, A, processors, sharers, ticket)
                  : start<float, WAIT_FOR_ALL>(stream, A, processors, sharers, ticket);
}
