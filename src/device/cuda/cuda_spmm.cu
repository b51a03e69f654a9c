/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of sparse times dense into a row-major dense tile, in one pass over C. A team of 2 to 32 lanes has a row and
 * lies over its columns, up to four of each lane at a time; it loads as many entries of A as it has lanes at once and
 * hands them round. A sum is in the order (pair, position in A's row), products and sums rounded each: the bits of the
 * reference. Rows of more than 512 entries are cut into pieces of so many within each pair, which all teams of the
 * block take in turn; each adds up its own, and then their sums are added in the order of the teams. A row of blocks is
 * summed the same way, block after block, by one team whatever its length.
 */
#include "device/cuda/cuda_kernels.h"
#include "device/cuda/cuda_rounded.h"
#include "device/cuda/cuda_wrap.h"

namespace
{

using tulle_cuda::fused_never;

const int THREADS = 256, LONG = 512;

/* A team's place: columns first + me + j * LANES. */
template <int lanes, int each> struct team {
    static const int LANES = lanes, EACH = each;
    int me;
    unsigned mask; /* of its lanes in the warp */
};

/* Adds entries from .. to - 1 of a pair to the sums of columns from `first` on. */
template <typename S, typename T>
__device__ void add_entries(const tulle__cuda_chain &P, const tulle__cuda_chain_pair &q, const S &t, int32_t from,
    int32_t to, int64_t first, T (&sum)[S::EACH])
{
    const T *val = static_cast<const T *>(q.val), *B = static_cast<const T *>(q.B);
    for (; from < to; from += S::LANES) {
        int count = to - from < S::LANES ? to - from : S::LANES;
        int32_t col = 0;
        T a = 0;
        if (t.me < count) {
            col = q.colind[from + t.me];
            a = val[from + t.me];
        }
        for (int e = 0; e < count; e++) {
            int64_t k = __shfl_sync(t.mask, col, e, S::LANES);
            T x = __shfl_sync(t.mask, a, e, S::LANES);
            TULLE__UNROLL()
            for (int j = 0; j < S::EACH; j++) {
                int64_t c = first + t.me + j * S::LANES;
                if (c < P.n) sum[j] = fused_never(sum[j], x, B[k * q.b_row + c * q.b_col]);
            }
        }
    }
}

template <typename S, typename T>
__device__ void store(const tulle__cuda_chain &P, const S &t, int64_t row, int64_t first, const T (&sum)[S::EACH])
{
    T alpha = static_cast<T>(P.alpha), beta = static_cast<T>(P.beta), *C = static_cast<T *>(P.C) + row * P.ldc;
    for (int j = 0; j < S::EACH; j++) {
        int64_t c = first + t.me + j * S::LANES;
        if (c >= P.n) continue;
        T scaled = fused_never(-static_cast<T>(0), alpha, sum[j]);
        C[c] = P.beta == 0 ? scaled : fused_never(scaled, beta, C[c]);
    }
}

__device__ int64_t entries_of(const tulle__cuda_chain &P, int64_t row)
{
    int64_t entries = 0;
    for (int p = 0; p < P.npairs; p++) entries += P.pair[p].rowptr[row + 1] - P.pair[p].rowptr[row];
    return entries;
}

/* One long row by all teams of the block. */
template <typename S, typename T>
__device__ void long_row(const tulle__cuda_chain &P, const S &t, int64_t row, T *partial)
{
    const int teams = THREADS / S::LANES, mine = static_cast<int>(threadIdx.x) / S::LANES;
    for (int64_t first = 0; first < P.n; first += S::LANES * S::EACH) {
        T sum[S::EACH];
        int piece = 0;
        for (int j = 0; j < S::EACH; j++) sum[j] = 0;
        for (int p = 0; p < P.npairs; p++) {
            const tulle__cuda_chain_pair &q = P.pair[p];
            int32_t end = q.rowptr[row + 1];
            for (int32_t from = q.rowptr[row]; from < end; from += LONG, piece++)
                if (piece % teams == mine)
                    add_entries(P, q, t, from, end - from < LONG ? end : from + LONG, first, sum);
        }
        for (int j = 0; j < S::EACH; j++) partial[mine * S::LANES * S::EACH + j * S::LANES + t.me] = sum[j];
        __syncthreads();
        if (mine == 0) {
            for (int other = 1; other < teams; other++)
                for (int j = 0; j < S::EACH; j++) sum[j] += partial[(other * S::EACH + j) * S::LANES + t.me];
            store(P, t, row, first, sum);
        }
        __syncthreads();
    }
}

template <typename S, typename T> __global__ void multiply(tulle__cuda_chain P)
{
    const int rows = THREADS / S::LANES, mine = static_cast<int>(threadIdx.x) / S::LANES;
    TULLE__SHARED(int, is_long, THREADS / S::LANES);
    TULLE__SHARED(T, partial, THREADS * S::EACH);
    S t;
    t.me = static_cast<int>(threadIdx.x) % S::LANES;
    int lane = static_cast<int>(threadIdx.x) % 32;
    t.mask = (S::LANES == 32 ? 0xffffffffu : (1u << (S::LANES % 32)) - 1) << (lane / S::LANES * S::LANES);
    int64_t row = static_cast<int64_t>(blockIdx.x) * rows + mine;
    bool there = row < P.m, later = there && entries_of(P, row) > LONG;
    if (t.me == 0) is_long[mine] = later;
    for (int64_t first = 0; there && !later && first < P.n; first += S::LANES * S::EACH) {
        T sum[S::EACH];
        for (int j = 0; j < S::EACH; j++) sum[j] = 0;
        for (int p = 0; p < P.npairs; p++)
            add_entries(P, P.pair[p], t, P.pair[p].rowptr[row], P.pair[p].rowptr[row + 1], first, sum);
        store(P, t, row, first, sum);
    }
    __syncthreads();
    for (int r = 0; r < rows; r++)
        if (is_long[r]) long_row(P, t, static_cast<int64_t>(blockIdx.x) * rows + r, partial);
}

/* ---- blocks ---- */

/* Adds a row's entries of a pair, y rows below the top of block row r. */
template <typename S, typename T>
__device__ void add_blocks(const tulle__cuda_chain &P, const tulle__cuda_chain_pair &q, const S &t, int64_t r,
    int64_t y, int64_t first, T (&sum)[S::EACH])
{
    const T *B = static_cast<const T *>(q.B);
    for (int32_t e = q.rowptr[r]; e < q.rowptr[r + 1]; e++) {
        const int64_t c = q.colind[e], k = q.col_block[c] - q.col_block[0], width = q.col_block[c + 1] - q.col_block[c];
        const T *val = static_cast<const T *>(q.val) + q.offset[e] + y * width;
        for (int64_t x = 0; x < width; x++) {
            const T a = val[x];
            TULLE__UNROLL()
            for (int j = 0; j < S::EACH; j++) {
                int64_t at = first + t.me + j * S::LANES;
                if (at < P.n) sum[j] = fused_never(sum[j], a, B[(k + x) * q.b_row + at * q.b_col]);
            }
        }
    }
}

/* A team has a row, also of those of one block row. */
template <typename S, typename T> __global__ void multiply_blocks(tulle__cuda_chain P)
{
    const int rows = THREADS / S::LANES;
    S t;
    t.me = static_cast<int>(threadIdx.x) % S::LANES;
    t.mask = 0; /* its lanes exchange nothing */
    const int64_t row = static_cast<int64_t>(blockIdx.x) * rows + static_cast<int>(threadIdx.x) / S::LANES;
    if (row >= P.m) return;
    int64_t r = 0, beyond = P.block_rows;
    while (beyond - r > 1) {
        const int64_t middle = r + (beyond - r) / 2;
        if (P.row_block[middle] - P.row_block[0] <= P.row + row)
            r = middle;
        else
            beyond = middle;
    }
    const int64_t y = P.row + row - (P.row_block[r] - P.row_block[0]);
    for (int64_t first = 0; first < P.n; first += S::LANES * S::EACH) {
        T sum[S::EACH];
        for (int j = 0; j < S::EACH; j++) sum[j] = 0;
        for (int p = 0; p < P.npairs; p++) add_blocks(P, P.pair[p], t, r, y, first, sum);
        store(P, t, row, first, sum);
    }
}

/* ---- launches ---- */

#define TULLE__EACH_TEAM(X) X(2, 1) X(4, 1) X(8, 1) X(16, 1) X(32, 1) X(32, 2) X(32, 4)
#define TULLE__KERNELS(LANES, EACH)                                                                                    \
    reinterpret_cast<const void *>(multiply<team<LANES, EACH>, double>),                                               \
        reinterpret_cast<const void *>(multiply<team<LANES, EACH>, float>),                                            \
        reinterpret_cast<const void *>(multiply_blocks<team<LANES, EACH>, double>),                                    \
        reinterpret_cast<const void *>(multiply_blocks<team<LANES, EACH>, float>),
const void *const kernels[] = {TULLE__EACH_TEAM(TULLE__KERNELS)};
#undef TULLE__KERNELS

template <typename S, typename T> cudaError_t start(cudaStream_t stream, const tulle__cuda_chain &P, bool in_blocks)
{
    const int64_t rows = THREADS / S::LANES, blocks = (P.m + rows - 1) / rows;
    if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
    return in_blocks ? tulle_cuda::launch(multiply_blocks<S, T>, static_cast<unsigned>(blocks), THREADS, 0, stream, P)
                     : tulle_cuda::launch(multiply<S, T>, static_cast<unsigned>(blocks), THREADS, 0, stream, P);
}

/* By the narrowest team that has a lane for each column, or the widest. */
template <typename T> cudaError_t start_team(cudaStream_t stream, const tulle__cuda_chain &P, bool in_blocks)
{
#define TULLE__START(LANES, EACH)                                                                                      \
    if (P.n <= (LANES) * (EACH)) return start<team<LANES, EACH>, T>(stream, P, in_blocks);
    TULLE__EACH_TEAM(TULLE__START)
#undef TULLE__START
    return start<team<32, 4>, T>(stream, P, in_blocks);
}

} // namespace

cudaError_t tulle__cuda_load_spmm(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_spmm(cudaStream_t stream, const tulle__cuda_chain *P, int f64)
{
    return f64 ? start_team<double>(stream, *P, false) : start_team<float>(stream, *P, false);
}

cudaError_t tulle__cuda_spmm_blocks(cudaStream_t stream, const tulle__cuda_chain *P, int f64)
{
    return f64 ? start_team<double>(stream, *P, true) : start_team<float>(stream, *P, true);
}
