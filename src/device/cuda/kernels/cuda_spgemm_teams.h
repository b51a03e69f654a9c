/* SPDX-License-Identifier: Apache-2.0 */
/* A part of cuda_spgemm.cu: bins of rows, and the rows of the first bins, which stay in registers. */
#ifndef TULLE_DEVICE_CUDA_CUDA_SPGEMM_TEAMS_H
#define TULLE_DEVICE_CUDA_CUDA_SPGEMM_TEAMS_H

#include <climits>

#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

using tulle_cuda::add_rounded;
using tulle_cuda::lower_bound;
using tulle_cuda::multiply_rounded;

const int BINS = TULLE__CUDA_BINS, TEAMS = 3; /* the first bins are of teams of lanes */
const unsigned WARP = 0xffffffffu;

/* Lanes of a team, so many products or entries at most. */
__device__ __host__ constexpr int lanes_of(int bin)
{
    return 8 << bin;
}

/* The n-th row of a bin. Two bins have a list of m, one from each end: a row is in one bin only. */
__device__ int32_t *row_in_bin(const tulle__cuda_rows &rows, int bin, int64_t n)
{
    return &rows.list[bin / 2 * rows.m + (bin % 2 ? rows.m - 1 - n : n)];
}

/* Summands of row r in pair p: positions from .. to - 1 of A, or one of an identity. */
__device__ void summands(const tulle__cuda_pair &q, int32_t r, int32_t *from, int32_t *to)
{
    *from = q.a_rowptr ? q.a_rowptr[r] : 0;
    *to = q.a_rowptr ? q.a_rowptr[r + 1] : 1;
}

/*
 * A team of lanes has a row; a lane has a product of it, and an entry of C. A table would cost a short row more than
 * its products do: it is cleared and read slot by slot, its slots are claimed by atomics one after the other, and it
 * takes shared memory, which bounds the rows under way. Lanes meet by shuffles alone, all rows of B that a row wants
 * are read at once, and short rows share a warp. All teams of a warp go the same way, those without work too.
 */
struct team {
    int lane;       /* of the team's */
    int shift;      /* the team's first lane in the warp */
    unsigned lanes; /* the team's, from bit 0 on */
    int32_t row;    /* -1: none is left */
};

template <int LANES> __device__ team team_of(const tulle__cuda_rows &rows, int bin)
{
    int64_t n = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / LANES;
    int t = static_cast<int>(threadIdx.x % 32);
    return {t % LANES, t / LANES * LANES, WARP >> (32 - LANES), n < rows.count[bin] ? *row_in_bin(rows, bin, n) : -1};
}

/* Lanes of the team that say yes. */
__device__ unsigned lanes_with(const team &t, bool yes)
{
    return __ballot_sync(WARP, yes) >> t.shift & t.lanes;
}

/* Number of the team's numbers, which ascend, below x; the last one counts as not below. */
template <int LANES> __device__ int count_below(int32_t ascending, int32_t x)
{
    int count = 0;
    TULLE__UNROLL()
    for (int step = LANES / 2; step; step /= 2)
        if (__shfl_sync(WARP, ascending, count + step - 1, LANES) < x) count += step;
    return count;
}

/*
 * The products of the row in their order, a lane each: `load` takes one of a pair's, by its positions in A and B;
 * `flush` is called by all lanes when the lanes of some team are full, and at the end, and is given how many lanes of
 * this team have a product that was not flushed.
 */
template <int LANES, typename L, typename F>
__device__ void each_team_product(const tulle__cuda_product &P, const team &t, const L &load, const F &flush)
{
    int32_t held = 0; /* lanes that have a product; below 0, of a long row of B: -held products were before */
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_pair &q = P.pair[p];
        int32_t from = 0, to = 0;
        if (t.row >= 0) summands(q, t.row, &from, &to);
        for (; __any_sync(WARP, from < to); from = to - from > LANES ? from + LANES : to) {
            int32_t begin = 0, length = 0; /* of the row of B that this lane's entry of A has */
            if (t.lane < to - from) {
                int32_t k = q.a_rowptr ? q.a_colind[from + t.lane] : t.row;
                begin = q.b_rowptr[k];
                length = q.b_rowptr[k + 1] - begin;
            }
            int32_t end = length; /* where its products end among those of all */
            TULLE__UNROLL()
            for (int by = 1; by < LANES; by *= 2) {
                int32_t before = __shfl_up_sync(WARP, end, static_cast<unsigned>(by), LANES);
                if (t.lane >= by) end += before;
            }
            int32_t all = __shfl_sync(WARP, end, LANES - 1, LANES);
            begin -= end - length;
            for (bool some = true; some;) {
                int32_t mine = t.lane - held;
                int entry = count_below<LANES>(end, mine + 1);
                int32_t b = __shfl_sync(WARP, begin, entry, LANES) + mine;
                if (mine >= 0 && mine < all) load(q, from + entry, b);
                bool full = held + all >= LANES;
                some = __any_sync(WARP, full);
                if (some) flush(full ? LANES : 0);
                held += full ? -LANES : all;
                if (!full) all = 0;
            }
        }
    }
    if (__any_sync(WARP, held > 0)) flush(held);
}

/* The number of the row's columns if colind is NULL; else the columns, from rowptr on. Rows of up to LANES products. */
template <int LANES>
__global__ void structure_in_registers(
    tulle__cuda_product P, tulle__cuda_rows rows, int bin, int32_t *counts, const int32_t *rowptr, int32_t *colind)
{
    const team t = team_of<LANES>(rows, bin);
    int32_t col = 0;
    auto load = [&](const tulle__cuda_pair &q, int32_t, int32_t b) { col = q.b_colind[b]; };
    each_team_product<LANES>(P, t, load, [&](int held) {
        int32_t mine = t.lane < held ? col : INT32_MAX, left;
        TULLE__UNROLL()
        for (int size = 2; size <= LANES; size *= 2) /* sorted, as by sort_together */
            TULLE__UNROLL()
        for (int step = size / 2; step; step /= 2) {
            int32_t other = __shfl_xor_sync(WARP, mine, step == size / 2 ? size - 1 : step, LANES);
            bool lower = !(t.lane & step);
            mine = lower == (other < mine) ? other : mine;
        }
        left = __shfl_up_sync(WARP, mine, 1, LANES);
        bool first = mine != INT32_MAX && (t.lane == 0 || mine != left);
        unsigned columns = lanes_with(t, first);
        if (colind && first) colind[rowptr[t.row] + __popc(columns & ((1u << t.lane) - 1))] = mine;
        if (!colind && held && t.lane == 0) counts[t.row] = __popc(columns);
    });
}

/* Values of rows of up to LANES entries of C, an entry a lane. */
template <int LANES, typename T>
__global__ void values_in_registers(
    tulle__cuda_product P, tulle__cuda_rows rows, int bin, const int32_t *rowptr, const int32_t *colind, T *val)
{
    const team t = team_of<LANES>(rows, bin);
    int32_t start = t.row < 0 ? 0 : rowptr[t.row], count = t.row < 0 ? 0 : rowptr[t.row + 1] - start, col = 0;
    int32_t own = t.lane < count ? colind[start + t.lane] : INT32_MAX;
    T sum = 0, product = 0;
    auto load = [&](const tulle__cuda_pair &q, int32_t a, int32_t b) {
        const T scale = static_cast<T>(q.scale);
        const T left = q.a_rowptr ? multiply_rounded(scale, static_cast<const T *>(q.a_val)[a]) : scale;
        product = multiply_rounded(left, static_cast<const T *>(q.b_val)[b]);
        col = q.b_colind[b];
    };
    each_team_product<LANES>(P, t, load, [&](int held) {
        int place = count_below<LANES>(own, col);
        unsigned mine = lanes_with(t, t.lane < held); /* the lanes with products of this lane's entry */
        TULLE__UNROLL()
        for (int bit = 1; bit < LANES; bit *= 2) {
            unsigned with = lanes_with(t, place & bit);
            mine &= (t.lane & bit) ? with : ~with;
        }
        for (; __any_sync(WARP, mine != 0); mine &= mine - 1) {
            T next = __shfl_sync(WARP, product, __ffs(static_cast<int>(mine)) - 1, LANES);
            if (mine) sum = add_rounded(sum, next);
        }
    });
    if (t.lane < count) val[start + t.lane] = sum;
}

} // namespace

#endif
