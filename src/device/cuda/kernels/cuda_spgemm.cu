/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of sparse tiles into a sparse one. First the structure: a row's distinct columns are counted, and listed in
 * order once C has its place. Then the values, for which C's structure is all that is needed.
 *
 * Rows are sorted into bins by their size, at first a bound of it. Those of up to 8, 16 and 32 products, or entries of
 * C once C has them, stay in registers: a team of as many lanes of a warp has a row. Those of up to 256, 2048 and 8192
 * entries go through tables of hashed columns in shared memory, of twice that: a warp has a row of up to 256, a block
 * of threads a longer one. Longer
 * ones go by windows, which need no table: for the structure a window is a range of columns, of one bit each, for the
 * values a range of C's entries. A bin whose table a block of this GPU has no shared memory for goes by windows as
 * well. No memory is taken that grows with the number of products.
 *
 * The order of a sum is that of kernel.h, (pair, position in A's row). In registers, products lie in lanes in that
 * order. Else each warp has a row, or a range of C's entries, to itself and goes through the rows of B one after the
 * other, and the columns of a row of B are distinct. Products and sums are rounded each. So the bits are those of the host,
 * without atomics on values.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_spgemm_teams.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

const int WORDS = 4096, WINDOW = 2048; /* of windows: words of 32 columns, entries of C */
const int SIDE_BY_SIDE = 16;           /* windows of a row's values */
const int SMALL = 128, LARGE = 256;

/* Table of a bin; entries at most are half of it. */
__device__ __host__ constexpr int table_of(int bin)
{
    return bin == TEAMS ? 512 : bin == TEAMS + 1 ? 4096 : 16384;
}

/* ---- bins ---- */

/*
 * The rows of a warp's lanes, a row each, into the lists of their bins, in any order: rows are independent of each
 * other. in_lanes: what a team would hold; entries 0: none. The warp counts for a bin once: there are few bins, and
 * additions to one word follow each other.
 */
__device__ void put_in_bins(const tulle__cuda_rows &rows, int32_t row, int64_t in_lanes, int64_t entries)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    int bin = 0;
    while (bin < TEAMS && in_lanes > lanes_of(bin)) bin++;
    while (bin >= TEAMS && bin < BINS - 1 && (bin >= rows.tables || entries > table_of(bin) / 2)) bin++;
    for (int b = 0; b < BINS; b++) {
        const unsigned with = __ballot_sync(WARP, entries && bin == b);
        if (!with) continue;
        const int32_t first = __shfl_sync(WARP, lane == 0 ? atomicAdd(&rows.count[b], __popc(with)) : 0, 0);
        if (with >> lane & 1) *row_in_bin(rows, b, first + __popc(with & ((1u << lane) - 1))) = row;
    }
}

__device__ int64_t sum_of_warp(int64_t x)
{
    for (int by = 16; by; by /= 2) x += __shfl_xor_sync(WARP, x, by);
    return x;
}

/* Products that entries from, from + step, .. of a row of A have. */
__device__ int64_t products_of(const tulle__cuda_pair &q, int32_t from, int32_t to, int step)
{
    int64_t products = 0;
    for (int32_t e = from; e < to; e += step) products += q.b_rowptr[q.a_colind[e] + 1] - q.b_rowptr[q.a_colind[e]];
    return products;
}

/* Products of a pair in each lane's row, if it has one: short ones by their lane, long ones by all. */
__device__ int64_t bound_of(const tulle__cuda_pair &q, int32_t r, bool there)
{
    const int32_t LONG = 64;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (!q.a_rowptr) return there ? q.b_rowptr[r + 1] - q.b_rowptr[r] : 0;
    const int32_t from = there ? q.a_rowptr[r] : 0, to = there ? q.a_rowptr[r + 1] : 0;
    int64_t bound = to - from > LONG ? 0 : products_of(q, from, to, 1);
    for (unsigned rest = __ballot_sync(WARP, to - from > LONG); rest; rest &= rest - 1) {
        const int source = __ffs(static_cast<int>(rest)) - 1;
        const int32_t begin = __shfl_sync(WARP, from, source), end = __shfl_sync(WARP, to, source);
        const int64_t all = sum_of_warp(products_of(q, begin + lane, end, 32));
        if (lane == source) bound = all;
    }
    return bound;
}

/* A bound of each row's entries, and all multiplications. */
__global__ void bound_rows(tulle__cuda_product P, tulle__cuda_rows rows, unsigned long long *multiplications)
{
    const int64_t r = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    int64_t bound = 0;
    for (int p = 0; p < P.npairs; p++) bound += bound_of(P.pair[p], static_cast<int32_t>(r), r < rows.m);
    put_in_bins(rows, static_cast<int32_t>(r), bound, bound < P.n ? bound : P.n);
    bound = sum_of_warp(bound);
    if (threadIdx.x % 32 == 0 && bound) atomicAdd(multiplications, static_cast<unsigned long long>(bound));
}

/* Bins by the entries that rows of C have. */
__global__ void sort_rows(tulle__cuda_rows rows, const int32_t *rowptr)
{
    const int64_t r = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int32_t entries = r < rows.m ? rowptr[r + 1] - rowptr[r] : 0;
    put_in_bins(rows, static_cast<int32_t>(r), entries, entries);
}

/* ---- rows of warps and blocks ---- */

/* Threads that work on a row, the `which`-th of the launch: a block, or a warp of SMALL / 32 in a block. */
struct crew {
    int me, threads, warp, warps, lane;
    int64_t which;
    int place; /* among those of the block */
};

template <bool ALONE = false> __device__ crew crew_of()
{
    const int t = static_cast<int>(threadIdx.x), all = static_cast<int>(blockDim.x), lane = t % 32;
    if (ALONE) return {lane, 32, 0, 1, lane, static_cast<int64_t>(blockIdx.x) * (all / 32) + t / 32, t / 32};
    return {t, all, t / 32, all / 32, lane, blockIdx.x, 0};
}

__device__ unsigned slot_of(int32_t col, int size)
{
    return (static_cast<unsigned>(col) * 2654435761u >> 7) & static_cast<unsigned>(size - 1);
}

/* Empty is -1. 1: the column was not there. */
__device__ int insert(int32_t *table, int size, int32_t col)
{
    for (unsigned s = slot_of(col, size);; s = (s + 1) & static_cast<unsigned>(size - 1)) {
        int32_t seen = atomicCAS(&table[s], -1, col);
        if (seen == -1) return 1;
        if (seen == col) return 0;
    }
}

__device__ unsigned find(const int32_t *table, int size, int32_t col)
{
    unsigned s = slot_of(col, size);
    while (table[s] != col) s = (s + 1) & static_cast<unsigned>(size - 1);
    return s;
}

/* Entries of a row of A that a warp goes through: from, from + step, .. before `to`. */
struct entries {
    int64_t from, to;
    int step, lane;
};

/* Columns first .. last - 1 of C's n. */
struct columns {
    int64_t first, last, n;
};

/*
 * The parts in these columns of the rows of B that entries of row r of A name, in the order of the entries, by all
 * lanes of a warp. The searches of 32 entries run side by side, a lane each: a search is a chain of loads, and so are
 * the index, the row and the part. load(e) is called by the lane of an entry, with its position in A;
 * use(b, end, source) by all lanes for each part that is not empty: b, b + 32, .. are the lane's positions in B, and
 * `source` is the lane of the entry.
 */
template <typename L, typename F>
__device__ void each_part(
    const tulle__cuda_pair &q, int32_t r, const entries &A, const columns &C, const L &load, const F &use)
{
    for (int64_t base = A.from; base < A.to; base += 32 * A.step) {
        const int64_t e = base + A.lane * A.step;
        int32_t begin = 0, end = 0;
        if (e < A.to) {
            int32_t k = q.a_rowptr ? q.a_colind[e] : r;
            load(static_cast<int32_t>(e));
            begin = q.b_rowptr[k];
            end = q.b_rowptr[k + 1];
            if (C.first > 0) begin = lower_bound(q.b_colind, begin, end, C.first);
            if (C.last < C.n) end = lower_bound(q.b_colind, begin, end, C.last);
        }
        for (unsigned left = __ballot_sync(WARP, begin < end); left; left &= left - 1) {
            const int source = __ffs(static_cast<int>(left)) - 1;
            const int32_t b = __shfl_sync(WARP, begin, source) + A.lane;
            use(b, __shfl_sync(WARP, end, source), source);
        }
    }
}

/* ---- structure ---- */

/* All columns of row r, first .. last - 1 of them, by `take`, in any order; warps go through different rows of B. */
template <typename F>
__device__ void each_column(
    const tulle__cuda_product &P, const crew &c, int32_t r, int64_t first, int64_t last, const F &take)
{
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_pair &q = P.pair[p];
        int32_t from, to;
        summands(q, r, &from, &to);
        const columns range = {first, last, P.n};
        auto no_value = [](int32_t) {};
        each_part(q, r, {from + c.warp, to, c.warps, c.lane}, range, no_value, [&](int32_t b, int32_t end, int) {
            for (; b < end; b += 32) take(q.b_colind[b]);
        });
    }
}

/* All columns of row r by one warp: where rows of B are short, those of 32 entries side by side, a lane each. */
template <typename F> __device__ void each_column_of_warp(const tulle__cuda_product &P, int lane, int32_t r, const F &take)
{
    const int32_t SHORT = 16;
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_pair &q = P.pair[p];
        int32_t from, to;
        summands(q, r, &from, &to);
        for (; from < to; from += 32) {
            int32_t begin = 0, end = 0;
            if (from + lane < to) {
                const int32_t k = q.a_rowptr ? q.a_colind[from + lane] : r;
                begin = q.b_rowptr[k];
                end = q.b_rowptr[k + 1];
            }
            unsigned left = __ballot_sync(WARP, end - begin > SHORT);
            if (end - begin <= SHORT)
                for (int32_t b = begin; b < end; b++) take(q.b_colind[b]);
            for (; left; left &= left - 1) {
                const int source = __ffs(static_cast<int>(left)) - 1;
                const int32_t last = __shfl_sync(WARP, end, source);
                for (int32_t b = __shfl_sync(WARP, begin, source) + lane; b < last; b += 32) take(q.b_colind[b]);
            }
        }
    }
}

/* The columns of rows of a bin with a table: counted if colind is NULL, else listed from rowptr on. ALONE: a warp has a
 * row. */
template <bool ALONE>
__global__ void structure_by_table(
    tulle__cuda_product P, tulle__cuda_rows rows, int bin, int32_t *counts, const int32_t *rowptr, int32_t *colind)
{
    TULLE__SHARED_DYNAMIC(int32_t, shared);
    TULLE__SHARED(int32_t, founds, SMALL / 32);
    const crew c = crew_of<ALONE>();
    if (ALONE && c.which >= rows.count[bin]) return;
    const int size = table_of(bin);
    const int32_t r = *row_in_bin(rows, bin, c.which);
    int32_t *table = shared + c.place * (size / 2 * 3), *list = table + size, *found = founds + c.place;
    for (int i = c.me; i < size; i += c.threads) table[i] = -1;
    if (c.me == 0) *found = 0;
    tulle_cuda::meet<ALONE>();
    int fresh = 0;
    auto take = [&](int32_t col) { fresh += insert(table, size, col); };
    if (ALONE)
        each_column_of_warp(P, c.lane, r, take);
    else
        each_column(P, c, r, 0, P.n, take);
    tulle_cuda::meet<ALONE>();
    if (!colind) {
        atomicAdd(found, fresh);
        tulle_cuda::meet<ALONE>();
        if (c.me == 0) counts[r] = *found;
        return;
    }
    for (int i = c.me; i < size; i += c.threads)
        if (table[i] != -1) list[atomicAdd(found, 1)] = table[i];
    tulle_cuda::meet<ALONE>();
    const int32_t count = *found;
    tulle_cuda::sort_together<ALONE>(list, count, c.me, c.threads);
    for (int i = c.me; i < count; i += c.threads) colind[rowptr[r] + i] = list[i];
}

/* The same of rows of any size, a window of columns after the other. A thread has the same number of words as others.
 */
__global__ void structure_by_windows(
    tulle__cuda_product P, tulle__cuda_rows rows, int bin, int32_t *counts, const int32_t *rowptr, int32_t *colind)
{
    const int EACH = WORDS / LARGE;
    TULLE__SHARED(unsigned, words, WORDS);
    TULLE__SHARED(int32_t, sums, LARGE);
    crew c = crew_of();
    int32_t r = *row_in_bin(rows, bin, blockIdx.x), all = 0;
    for (int64_t first = 0; first < P.n; first += WORDS * 32) {
        for (int i = c.me; i < WORDS; i += c.threads) words[i] = 0;
        __syncthreads();
        each_column(P, c, r, first, first + WORDS * 32, [&](int32_t col) {
            int64_t at = col - first;
            atomicOr(&words[at / 32], 1u << (at % 32));
        });
        __syncthreads();
        int32_t mine = 0, before = 0, window = 0;
        for (int i = c.me * EACH; i < (c.me + 1) * EACH; i++) mine += __popc(words[i]);
        sums[c.me] = mine;
        __syncthreads();
        for (int t = 0; t < LARGE; t++) {
            if (t < c.me) before += sums[t];
            window += sums[t];
        }
        if (colind) {
            int64_t to = rowptr[r] + all + before;
            for (int i = c.me * EACH; i < (c.me + 1) * EACH; i++)
                for (unsigned bits = words[i]; bits; bits &= bits - 1)
                    colind[to++] = static_cast<int32_t>(first + i * 32 + __ffs(static_cast<int>(bits)) - 1);
        }
        all += window;
        __syncthreads();
    }
    if (!colind && c.me == 0) counts[r] = all;
}

/* ---- values ---- */

/* All contributions to columns first .. last of row r, in their order; one warp, with all lanes. */
template <typename T, typename F>
__device__ void each_product(
    const tulle__cuda_product &P, int lane, int32_t r, int32_t first, int32_t last, const F &take)
{
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_pair &q = P.pair[p];
        const T *aval = static_cast<const T *>(q.a_val), *bval = static_cast<const T *>(q.b_val);
        const T scale = static_cast<T>(q.scale);
        int32_t from, to;
        summands(q, r, &from, &to);
        const columns range = {first, static_cast<int64_t>(last) + 1, P.n};
        T a = 0; /* of this lane's entry */
        auto load = [&](int32_t e) { a = q.a_rowptr ? multiply_rounded(scale, aval[e]) : scale; };
        each_part(q, r, {from, to, 1, lane}, range, load, [&](int32_t b, int32_t end, int source) {
            const T x = __shfl_sync(WARP, a, source);
            for (; b < end; b += 32) take(q.b_colind[b], multiply_rounded(x, bval[b]));
            __syncwarp(); /* the next entry may add to the same columns, by other lanes */
        });
    }
}

/* A lane's part of a row of B: the first of its entries, which has been read, and where the next and the last are. */
template <typename T> struct part_of_B {
    int32_t at, end, col;
    T a, val;

    __device__ void read(const tulle__cuda_pair &q)
    {
        if (at < end) col = q.b_colind[at], val = static_cast<const T *>(q.b_val)[at];
    }
};

/* All contributions to row r, in their order, by one warp, which reads a row of B while it adds the one before. */
template <typename T, typename F>
__device__ void each_product_of_warp(const tulle__cuda_product &P, int lane, int32_t r, const F &take)
{
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_pair &q = P.pair[p];
        const T scale = static_cast<T>(q.scale);
        int32_t from, to;
        summands(q, r, &from, &to);
        for (; from < to; from += 32) {
            int32_t begin = 0, end = 0;
            T a = scale;
            if (from + lane < to) {
                const int32_t k = q.a_rowptr ? q.a_colind[from + lane] : r;
                if (q.a_rowptr) a = multiply_rounded(scale, static_cast<const T *>(q.a_val)[from + lane]);
                begin = q.b_rowptr[k];
                end = q.b_rowptr[k + 1];
            }
            part_of_B<T> now = {0, 0, 0, 0, 0};
            for (unsigned left = __ballot_sync(WARP, begin < end), more = 1; more; left &= left - 1) {
                more = left;
                const int source = left ? __ffs(static_cast<int>(left)) - 1 : 0;
                part_of_B<T> next = {__shfl_sync(WARP, begin, source) + lane,
                    left ? __shfl_sync(WARP, end, source) : 0, 0, __shfl_sync(WARP, a, source), 0};
                next.read(q);
                for (; now.at < now.end; now.at += 32, now.read(q)) take(now.col, multiply_rounded(now.a, now.val));
                __syncwarp(); /* the next row may add to the same columns, by other lanes */
                now = next;
            }
        }
    }
}

/* Values of rows of a bin with a table, whose columns C has. ALONE: a warp has a row. */
template <bool ALONE, typename T>
__global__ void values_by_table(
    tulle__cuda_product P, tulle__cuda_rows rows, int bin, const int32_t *rowptr, const int32_t *colind, T *val)
{
    TULLE__SHARED_DYNAMIC(double, shared);
    const crew c = crew_of<ALONE>();
    if (ALONE && c.which >= rows.count[bin]) return;
    const int size = table_of(bin), crews = ALONE ? SMALL / 32 : 1;
    T *sum = reinterpret_cast<T *>(shared) + c.place * size;
    int32_t *table = reinterpret_cast<int32_t *>(reinterpret_cast<T *>(shared) + crews * size) + c.place * size;
    const int32_t r = *row_in_bin(rows, bin, c.which), start = rowptr[r], count = rowptr[r + 1] - start;
    for (int i = c.me; i < size; i += c.threads) {
        table[i] = -1;
        sum[i] = 0;
    }
    tulle_cuda::meet<ALONE>();
    for (int i = c.me; i < count; i += c.threads) insert(table, size, colind[start + i]);
    tulle_cuda::meet<ALONE>();
    const int32_t from = static_cast<int32_t>(static_cast<int64_t>(count) * c.warp / c.warps),
                  to = static_cast<int32_t>(static_cast<int64_t>(count) * (c.warp + 1) / c.warps);
    auto take = [&](int32_t col, T x) {
        unsigned s = find(table, size, col);
        sum[s] = add_rounded(sum[s], x);
    };
    if (ALONE)
        each_product_of_warp<T>(P, c.lane, r, take);
    else if (from < to)
        each_product<T>(P, c.lane, r, colind[start + from], colind[start + to - 1], take);
    tulle_cuda::meet<ALONE>();
    for (int i = c.me; i < count; i += c.threads) val[start + i] = sum[find(table, size, colind[start + i])];
}

/* The same of rows of any size by windows of C's entries, which the blocks of a row take in turn. */
template <typename T>
__global__ void values_by_windows(
    tulle__cuda_product P, tulle__cuda_rows rows, int bin, const int32_t *rowptr, const int32_t *colind, T *val)
{
    TULLE__SHARED(T, sum, WINDOW);
    TULLE__SHARED(int32_t, cols, WINDOW);
    crew c = crew_of();
    const int32_t r = *row_in_bin(rows, bin, blockIdx.x), end = rowptr[r + 1];
    for (int64_t at = rowptr[r] + static_cast<int64_t>(blockIdx.y) * WINDOW; at < end; at += gridDim.y * WINDOW) {
        const int32_t start = static_cast<int32_t>(at);
        int32_t count = end - start < WINDOW ? end - start : WINDOW;
        for (int i = c.me; i < count; i += c.threads) {
            sum[i] = 0;
            cols[i] = colind[start + i];
        }
        __syncthreads();
        int32_t from = count * c.warp / c.warps, to = count * (c.warp + 1) / c.warps;
        if (from < to)
            each_product<T>(P, c.lane, r, cols[from], cols[to - 1], [&](int32_t col, T x) {
                int32_t s = lower_bound(cols, from, to, col);
                sum[s] = add_rounded(sum[s], x);
            });
        __syncthreads();
        for (int i = c.me; i < count; i += c.threads) val[start + i] = sum[i];
        __syncthreads();
    }
}

/* ---- launches ---- */

const void *const kernels[] = {
    reinterpret_cast<const void *>(bound_rows),
    reinterpret_cast<const void *>(sort_rows),
    reinterpret_cast<const void *>(structure_by_windows),
    reinterpret_cast<const void *>(values_by_windows<double>),
    reinterpret_cast<const void *>(values_by_windows<float>),
};
template <int LANES>
const void *const of_teams[] = {
    reinterpret_cast<const void *>(structure_in_registers<LANES>),
    reinterpret_cast<const void *>(values_in_registers<LANES, double>),
    reinterpret_cast<const void *>(values_in_registers<LANES, float>),
};
const void *const with_tables[] = {
    reinterpret_cast<const void *>(structure_by_table<true>),
    reinterpret_cast<const void *>(structure_by_table<false>),
    reinterpret_cast<const void *>(values_by_table<true, double>),
    reinterpret_cast<const void *>(values_by_table<true, float>),
    reinterpret_cast<const void *>(values_by_table<false, double>),
    reinterpret_cast<const void *>(values_by_table<false, float>),
};

unsigned threads_of(int bin)
{
    return bin <= TEAMS ? SMALL : LARGE;
}

int64_t blocks_of(int bin, int32_t rows)
{
    int each = bin < TEAMS ? SMALL / lanes_of(bin) : bin == TEAMS ? SMALL / 32 : 1;
    return rows / each + (rows % each != 0);
}

/* A column, and what is kept beside it: half as many in a list, or a value. */
size_t shared_of(int bin, size_t value)
{
    if (bin < TEAMS) return 0;
    size_t entries = static_cast<size_t>(table_of(bin)) * (bin == TEAMS ? SMALL / 32 : 1);
    return value ? entries * (sizeof(int32_t) + value) : entries * sizeof(int32_t) * 3 / 2;
}

int64_t blocks_for(int64_t rows)
{
    return (rows + SMALL - 1) / SMALL;
}

typedef void structure_kernel(tulle__cuda_product, tulle__cuda_rows, int, int32_t *, const int32_t *, int32_t *);

template <typename T>
using values_kernel = void(tulle__cuda_product, tulle__cuda_rows, int, const int32_t *, const int32_t *, T *);

/* The kernel of a bin: of teams of as many lanes, with a table of a warp or of a block, or by windows. */
template <typename K>
K *kernel_of(const tulle__cuda_rows &rows, int bin, K *const (&small)[TEAMS + 1], K *table, K *windows)
{
    return bin <= TEAMS ? small[bin] : bin < rows.tables ? table : windows;
}

template <typename T>
cudaError_t start_values(cudaStream_t stream, const tulle__cuda_product &P, const tulle__cuda_rows &rows,
    const int32_t *in_bin, const int32_t *rowptr, const int32_t *colind, T *val)
{
    values_kernel<T> *const small[] = {values_in_registers<lanes_of(0), T>, values_in_registers<lanes_of(1), T>,
        values_in_registers<lanes_of(2), T>, values_by_table<true, T>};
    cudaError_t error = cudaSuccess;
    for (int bin = 0; bin < BINS && error == cudaSuccess; bin++)
        if (in_bin[bin])
            error = tulle_cuda::launch(kernel_of(rows, bin, small, values_by_table<false, T>, values_by_windows<T>),
                tulle_cuda::grid(blocks_of(bin, in_bin[bin]), bin < rows.tables ? 1 : SIDE_BY_SIDE), threads_of(bin),
                bin < rows.tables ? shared_of(bin, sizeof(T)) : 0, stream, P, rows, bin, rowptr, colind, val);
    return error;
}

} // namespace

cudaError_t tulle__cuda_load_spgemm(size_t shared)
{
    cudaError_t error = tulle_cuda::load(kernels);
    if (error == cudaSuccess) error = tulle_cuda::load(of_teams<lanes_of(0)>);
    if (error == cudaSuccess) error = tulle_cuda::load(of_teams<lanes_of(1)>);
    if (error == cudaSuccess) error = tulle_cuda::load(of_teams<lanes_of(2)>);
    if (error == cudaSuccess) error = tulle_cuda::load(with_tables);
    for (const void *kernel : with_tables) {
        size_t most = shared_of(tulle__cuda_tables(shared) - 1, sizeof(double));
        if (error == cudaSuccess)
            error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most));
    }
    return error;
}

int tulle__cuda_tables(size_t shared)
{
    int tables = TEAMS + 1; /* every GPU has room for the smallest */
    while (tables < BINS - 1 && shared_of(tables, sizeof(double)) + 64 <= shared) tables++;
    return tables;
}

cudaError_t tulle__cuda_product_bound(cudaStream_t stream, const tulle__cuda_product *P, const tulle__cuda_rows *rows,
    unsigned long long *multiplications)
{
    return tulle_cuda::launch(bound_rows, blocks_for(rows->m), SMALL, 0, stream, *P, *rows, multiplications);
}

cudaError_t tulle__cuda_product_sort(cudaStream_t stream, const tulle__cuda_rows *rows, const int32_t *rowptr)
{
    return tulle_cuda::launch(sort_rows, blocks_for(rows->m), SMALL, 0, stream, *rows, rowptr);
}

cudaError_t tulle__cuda_product_structure(cudaStream_t stream, const tulle__cuda_product *P,
    const tulle__cuda_rows *rows, const int32_t *in_bin, int32_t *counts, const int32_t *rowptr, int32_t *colind)
{
    structure_kernel *const small[] = {structure_in_registers<lanes_of(0)>, structure_in_registers<lanes_of(1)>,
        structure_in_registers<lanes_of(2)>, structure_by_table<true>};
    cudaError_t error = cudaSuccess;
    for (int bin = 0; bin < BINS && error == cudaSuccess; bin++)
        if (in_bin[bin])
            error = tulle_cuda::launch(kernel_of(*rows, bin, small, structure_by_table<false>, structure_by_windows),
                blocks_of(bin, in_bin[bin]), threads_of(bin), bin < rows->tables ? shared_of(bin, 0) : 0, stream, *P,
                *rows, bin, counts, rowptr, colind);
    return error;
}

cudaError_t tulle__cuda_product_values(cudaStream_t stream, const tulle__cuda_product *P, const tulle__cuda_rows *rows,
    const int32_t *in_bin, const int32_t *rowptr, const int32_t *colind, void *val)
{
    if (P->f64) return start_values(stream, *P, *rows, in_bin, rowptr, colind, static_cast<double *>(val));
    return start_values(stream, *P, *rows, in_bin, rowptr, colind, static_cast<float *>(val));
}
