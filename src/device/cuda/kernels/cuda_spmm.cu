/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of sparse times dense into a row-major dense tile, in one pass over C. A team of 2 to 32 lanes has a row and
 * lies over its columns, up to four of each lane at a time; it loads as many entries of A as it has lanes at once and
 * hands them round. A lane's columns are next to each other, 16 bytes of them from four lanes' worth of columns on,
 * where B is packed: row-major, aligned, and a multiple of that wide. All teams of a warp take as many steps as the
 * one with most entries, so that every shuffle has all lanes.
 *
 * A sum is in the order (pair, position in A's row), products and sums rounded each: the bits of the reference. Long
 * rows are cut into pieces, which the teams of the block take in turn; each adds up its own, and then their sums are
 * added in the order of the teams. All rows of more than 512 entries are long, and those of more than 128 where few of
 * the block's rows are: one team would hold up the others. Warps take the other rows as they get done with those before. A row of blocks is summed the same way, block after block,
 * by one team whatever its length.
 *
 * One column (multiply_column): a warp has 32 rows, multiplies all their entries in turn, into shared memory, and each
 * lane adds up those of its row. Long rows are those of more than 512 entries; all threads add them up.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

using tulle_cuda::fused_never;

const int THREADS = 256, LONG = 512, LONG_BESIDE = 128, LEAST_PIECE = 16;

const unsigned WARP = 0xffffffffu;

/* The shape of teams for up to so many columns: 16 bytes a lane, and a warp at most. */
template <typename T, int WIDTH> struct team {
    static const int WIDE = 16 / sizeof(T), PAIR = WIDTH / 2, LEAST = PAIR < WIDE ? PAIR : WIDE;
    static const int LANES = WIDTH / LEAST < 32 ? WIDTH / LEAST : 32, EACH = WIDTH / LANES;
    static const int ROWS = THREADS / LANES; /* of a block of threads */
    /* entries of A that a team loads at once, of which each lane has EACH_ENTRY */
    static const int ENTRIES = LANES < 8 ? 8 : LANES, EACH_ENTRY = ENTRIES / LANES;

    /* Number among a lane's entries of the team's e-th; 0 where a lane has one, whatever e is. */
    __device__ static constexpr int piece(int e)
    {
        return EACH_ENTRY > 1 ? e / LANES : 0;
    }
};

/* Values next to each other, which are loaded at once. */
template <typename T, int V> struct alignas(sizeof(T) * V) vector {
    T x[V];
};

/* A lane's columns: EACH of them, V next to each other, and then those of the other lanes. */
template <typename S, typename T, bool PACKED> struct span {
    static const int V = !PACKED ? 1 : S::EACH < S::WIDE ? S::EACH : S::WIDE, VECTORS = S::EACH / V;
    int64_t first, n; /* the lane's first column, and how many there are in all */

    __device__ span(int64_t from, int64_t columns, int lane) : first(from + lane * V), n(columns) {}

    /* The lane's j-th sum is of this column; there may be none. */
    __device__ int64_t column(int j) const
    {
        return first + j / V * S::LANES * V + j % V;
    }
};

/*
 * B as a lane reads it. Columns that are not there are the last ones again: their sums are never stored, and neither
 * loads nor sums have to be predicated. Rows of a packed B are less than 4 GB apart: an address
 * takes no multiplication of 64 bits.
 */
template <typename S, typename T, bool PACKED> struct lane_of_B {
    typedef span<S, T, PACKED> C;
    const T *at[C::VECTORS]; /* row 0 */
    int64_t row;
    uint32_t packed_row; /* bytes */

    __device__ lane_of_B(const tulle__cuda_chain_pair &q, const C &c) : row(q.b_row), packed_row(q.packed_row)
    {
        TULLE__UNROLL()
        for (int v = 0; v < C::VECTORS; v++) {
            int64_t column = c.column(v * C::V), last = c.n - C::V;
            if (column > last) column = last;
            at[v] = static_cast<const T *>(q.B) + column * (PACKED ? 1 : q.b_col);
        }
    }

    struct values {
        vector<T, C::V> of[C::VECTORS];
    };

    __device__ values load(int32_t k) const
    {
        values b;
        TULLE__UNROLL()
        for (int v = 0; v < C::VECTORS; v++) {
            const T *from = PACKED ? tulle_cuda::step(at[v], static_cast<uint32_t>(k), packed_row) : at[v] + k * row;
            b.of[v] = *reinterpret_cast<const vector<T, C::V> *>(from);
        }
        return b;
    }

    __device__ static void add(T a, const values &b, T (&sum)[S::EACH])
    {
        TULLE__UNROLL()
        for (int j = 0; j < S::EACH; j++) sum[j] = fused_never(sum[j], a, b.of[j / C::V].x[j % C::V]);
    }
};

/*
 * Adds entries from .. to - 1 of a pair to the sums of the span. Called by all lanes of the warp, whose teams go on
 * until the last has no entries. Rows of B are read AHEAD at a time, also for a team without an entry, which reads row
 * 0: so the reads of some entries are under way at once, and none is behind a branch.
 */
template <typename S, typename T, bool PACKED>
__device__ void add_entries(
    const tulle__cuda_chain_pair &q, const span<S, T, PACKED> &c, int lane, int32_t from, int32_t to, T (&sum)[S::EACH])
{
    const int AHEAD = 4;
    const T *val = static_cast<const T *>(q.val);
    const lane_of_B<S, T, PACKED> B(q, c);
    while (__any_sync(WARP, from < to)) {
        const int count = to - from < S::ENTRIES ? to - from : S::ENTRIES;
        int32_t col[S::EACH_ENTRY];
        T a[S::EACH_ENTRY];
        TULLE__UNROLL()
        for (int i = 0; i < S::EACH_ENTRY; i++) {
            const bool there = i * S::LANES + lane < count;
            col[i] = there ? q.colind[from + i * S::LANES + lane] : 0;
            a[i] = there ? val[from + i * S::LANES + lane] : 0;
        }
        TULLE__UNROLL(S::EACH_ENTRY > 1 ? 2 : 1)
        for (int e = 0; e < S::ENTRIES && __any_sync(WARP, e < count); e += AHEAD) {
            typename lane_of_B<S, T, PACKED>::values b[AHEAD];
            TULLE__UNROLL()
            for (int i = 0; i < AHEAD; i++)
                b[i] = B.load(__shfl_sync(WARP, col[S::piece(e + i)], (e + i) % S::LANES, S::LANES));
            TULLE__UNROLL()
            for (int i = 0; i < AHEAD; i++) {
                const T x = __shfl_sync(WARP, a[S::piece(e + i)], (e + i) % S::LANES, S::LANES);
                if (e + i < count) B.add(x, b[i], sum);
            }
        }
        from = count < S::ENTRIES ? to : from + S::ENTRIES;
    }
}

template <typename S, typename T, bool PACKED>
__device__ void store(const tulle__cuda_chain &P, const span<S, T, PACKED> &c, int64_t row, const T (&sum)[S::EACH])
{
    const T alpha = static_cast<T>(P.alpha), beta = static_cast<T>(P.beta);
    T *C = static_cast<T *>(P.C) + row * P.ldc;
    TULLE__UNROLL()
    for (int j = 0; j < S::EACH; j++) {
        if (c.column(j) >= c.n) continue;
        T scaled = fused_never(-static_cast<T>(0), alpha, sum[j]), *to = C + c.column(j);
        *to = P.beta == 0 ? scaled : fused_never(scaled, beta, *to);
    }
}

__device__ int64_t entries_of(const tulle__cuda_chain &P, int64_t row)
{
    int64_t entries = 0;
    for (int p = 0; p < P.npairs; p++) entries += P.pair[p].rowptr[row + 1] - P.pair[p].rowptr[row];
    return entries;
}

/* Entries of a piece of a long row: as many teams as there are have a part, but none has little. */
template <typename S> __device__ int64_t piece_of(int64_t entries)
{
    const int64_t even = (entries + S::ROWS - 1) / S::ROWS, piece = even < LEAST_PIECE ? LEAST_PIECE : even;
    return (piece + S::LANES - 1) / S::LANES * S::LANES;
}

/* One long row, in the span, by all teams of the block. */
template <typename S, typename T, bool PACKED>
__device__ void long_row(
    const tulle__cuda_chain &P, const span<S, T, PACKED> &c, int lane, int team, int64_t row, T *partial)
{
    const int64_t piece = piece_of<S>(entries_of(P, row));
    T sum[S::EACH];
    int64_t before = 0; /* pieces */
    for (int j = 0; j < S::EACH; j++) sum[j] = 0;
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_chain_pair &q = P.pair[p];
        const int64_t begin = q.rowptr[row], end = q.rowptr[row + 1], pieces = (end - begin + piece - 1) / piece;
        const int64_t own = (team + S::ROWS - before % S::ROWS) % S::ROWS;
        for (int64_t turn = 0; turn < pieces; turn += S::ROWS) { /* all teams as often, also without a piece */
            const int64_t from = begin + (turn + own) * piece, to = from + piece;
            add_entries<S, T, PACKED>(q, c, lane, static_cast<int32_t>(from < end ? from : end),
                static_cast<int32_t>(to < end ? to : end), sum);
        }
        before += pieces;
    }
    for (int j = 0; j < S::EACH; j++) partial[(team * S::EACH + j) * S::LANES + lane] = sum[j];
    __syncthreads();
    if (team == 0) {
        for (int other = 1; other < S::ROWS && other < before; other++)
            for (int j = 0; j < S::EACH; j++) sum[j] += partial[(other * S::EACH + j) * S::LANES + lane];
        store(P, c, row, sum);
    }
    __syncthreads();
}

/* Rows of a block of threads: GROUPS of as many as a warp has teams, and which of them are long. */
template <typename S> struct block_rows {
    static const int GROUPS = 32, TEAMS = 32 / S::LANES, ROWS = GROUPS * TEAMS;
    int32_t next, long_ones; /* the group that is begun next */
    int16_t is_long[ROWS];   /* a list */
};

/* Entries that no row has but a long one, which is listed. */
template <typename S> __device__ int64_t find_long(const tulle__cuda_chain &P, int64_t top, block_rows<S> &rows)
{
    int beside = 0;
    if (threadIdx.x == 0) rows.next = rows.long_ones = 0;
    for (int first = 0; first < rows.ROWS; first += THREADS) {
        const int64_t r = first + static_cast<int>(threadIdx.x), row = top + r;
        beside += __syncthreads_count(r < rows.ROWS && row < P.m && entries_of(P, row) > LONG_BESIDE);
    }
    const int64_t most = beside * 8 <= rows.ROWS ? LONG_BESIDE : LONG;
    for (int r = static_cast<int>(threadIdx.x); r < rows.ROWS && beside; r += THREADS)
        if (top + r < P.m && entries_of(P, top + r) > most)
            rows.is_long[atomicAdd(&rows.long_ones, 1)] = static_cast<int16_t>(r);
    __syncthreads();
    return most;
}

/* The rows of a block of threads in one span of columns, which warps take group by group; those that are long by all. */
template <typename S, typename T, bool PACKED>
__device__ void multiply_rows(const tulle__cuda_chain &P, block_rows<S> &rows, T *partial)
{
    const int lane = static_cast<int>(threadIdx.x) % S::LANES, team = static_cast<int>(threadIdx.x) / S::LANES;
    const int64_t top = static_cast<int64_t>(blockIdx.x) * rows.ROWS, width = S::LANES * S::EACH;
    const int64_t most = find_long(P, top, rows);
    for (int64_t first = blockIdx.y * width; first < P.n; first += gridDim.y * width) {
        const span<S, T, PACKED> c(first, P.n, lane);
        for (;;) {
            const int32_t group =
                __shfl_sync(WARP, threadIdx.x % 32 == 0 ? atomicAdd(&rows.next, 1) : 0, 0, 32);
            if (group >= rows.GROUPS) break;
            const int64_t row = top + group * rows.TEAMS + team % rows.TEAMS;
            const bool now = row < P.m && entries_of(P, row) <= most;
            T sum[S::EACH];
            for (int j = 0; j < S::EACH; j++) sum[j] = 0;
            for (int p = 0; p < P.npairs; p++) {
                const int32_t *rowptr = P.pair[p].rowptr + row;
                add_entries<S, T, PACKED>(P.pair[p], c, lane, now ? rowptr[0] : 0, now ? rowptr[1] : 0, sum);
            }
            if (now) store(P, c, row, sum);
        }
        __syncthreads();
        for (int l = 0; l < rows.long_ones; l++)
            long_row<S, T, PACKED>(P, c, lane, team, top + rows.is_long[l], partial);
        if (threadIdx.x == 0) rows.next = 0;
        __syncthreads();
    }
}

/* Each with a kernel of its own: what reads any B takes more registers, which the other need not have. */
template <typename S, typename T, bool PACKED> __global__ void multiply(tulle__cuda_chain P)
{
    TULLE__SHARED(block_rows<S>, rows, 1);
    TULLE__SHARED(T, partial, THREADS * S::EACH);
    multiply_rows<S, T, PACKED>(P, rows[0], partial);
}

/* ---- one column ---- */

const int LANES = 32, CHUNK = 256, WARPS = THREADS / LANES;

/* The products of CHUNK entries from `at` on, before `to`, which all are in flight at once. */
template <typename T>
__device__ void multiply_chunk(const tulle__cuda_chain_pair &q, int32_t at, int32_t to, int lane, T *product)
{
    const int EACH = CHUNK / LANES;
    const T *val = static_cast<const T *>(q.val), *B = static_cast<const T *>(q.B);
    int32_t col[EACH];
    T a[EACH];
    TULLE__UNROLL()
    for (int i = 0; i < EACH; i++) {
        const bool there = at + i * LANES + lane < to;
        col[i] = there ? q.colind[at + i * LANES + lane] : 0;
        a[i] = there ? val[at + i * LANES + lane] : 0;
    }
    TULLE__UNROLL()
    for (int i = 0; i < EACH; i++)
        product[i * LANES + lane] = tulle_cuda::multiply_rounded(a[i], B[static_cast<int64_t>(col[i]) * q.b_row]);
}

/* The largest of the warp's. */
__device__ int32_t largest_of(int32_t x)
{
    TULLE__UNROLL()
    for (int by = LANES / 2; by; by /= 2) {
        const int32_t other = __shfl_xor_sync(WARP, x, by, LANES);
        x = x < other ? other : x;
    }
    return x;
}

/* Adds a pair's entries of the warp's rows, each lane its row's; what lies in rows that are for later is passed over. */
template <typename T>
__device__ T add_rows(
    const tulle__cuda_chain_pair &q, int32_t begin, int32_t end, bool later, int lane, T sum, T *product)
{
    int32_t at = __shfl_sync(WARP, begin, 0, LANES);
    const int32_t to = __shfl_sync(WARP, end, LANES - 1, LANES);
    while (at < to) {
        const int32_t past = largest_of(later && begin <= at && at < end ? end : at);
        if (past > at) {
            at = past;
            continue;
        }
        multiply_chunk(q, at, to, lane, product);
        __syncwarp(WARP);
        const int32_t first = begin > at ? begin : at, last = end < at + CHUNK ? end : at + CHUNK;
        for (int32_t e = first; e < last && !later; e++) sum = tulle_cuda::add_rounded(sum, product[e - at]);
        __syncwarp(WARP);
        at += CHUNK;
    }
    return sum;
}

template <typename T> __device__ void store_one(const tulle__cuda_chain &P, int64_t row, T sum)
{
    T scaled = fused_never(-static_cast<T>(0), static_cast<T>(P.alpha), sum), *to = static_cast<T *>(P.C) + row * P.ldc;
    *to = P.beta == 0 ? scaled : fused_never(scaled, static_cast<T>(P.beta), *to);
}

/* A long row: each thread adds every THREADS-th entry, and pairs of sums are added. */
template <typename T> __device__ void add_long(const tulle__cuda_chain &P, int64_t row, T *partial)
{
    const int thread = static_cast<int>(threadIdx.x);
    T sum = 0;
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_chain_pair &q = P.pair[p];
        const T *val = static_cast<const T *>(q.val), *B = static_cast<const T *>(q.B);
        TULLE__UNROLL(4)
        for (int32_t e = q.rowptr[row] + thread; e < q.rowptr[row + 1]; e += THREADS)
            sum = fused_never(sum, val[e], B[static_cast<int64_t>(q.colind[e]) * q.b_row]);
    }
    partial[thread] = sum;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (thread < half) partial[thread] += partial[thread + half];
    }
    if (thread == 0) store_one(P, row, partial[0]);
    __syncthreads();
}

template <typename T> __global__ void multiply_column(tulle__cuda_chain P)
{
    TULLE__SHARED(T, products, WARPS * CHUNK);
    TULLE__SHARED(unsigned, is_long, WARPS);
    const int lane = static_cast<int>(threadIdx.x) % LANES, warp = static_cast<int>(threadIdx.x) / LANES;
    const int64_t top = static_cast<int64_t>(blockIdx.x) * THREADS, row = top + threadIdx.x;
    const int64_t here = row < P.m ? row : P.m - 1; /* lanes behind the last row have none of its entries */
    const bool later = row < P.m && entries_of(P, row) > LONG;
    const unsigned long_ones = __ballot_sync(WARP, later);
    if (lane == 0) is_long[warp] = long_ones;
    T sum = 0;
    for (int p = 0; p < P.npairs; p++) {
        const int32_t *rowptr = P.pair[p].rowptr + here;
        sum = add_rows(P.pair[p], row < P.m ? rowptr[0] : rowptr[1], rowptr[1], later, lane, sum, products + warp * CHUNK);
    }
    if (row < P.m && !later) store_one(P, row, sum);
    __syncthreads();
    for (int w = 0; w < WARPS; w++)
        for (unsigned rest = is_long[w]; rest; rest &= rest - 1)
            add_long(P, top + w * LANES + __ffs(static_cast<int>(rest)) - 1, products);
}

/* ---- blocks ---- */

/* Adds a row's entries of a pair, y rows below the top of block row r. */
template <typename S, typename T, bool PACKED>
__device__ void add_blocks(
    const tulle__cuda_chain_pair &q, const span<S, T, PACKED> &c, int64_t r, int64_t y, T (&sum)[S::EACH])
{
    const lane_of_B<S, T, PACKED> B(q, c);
    for (int32_t e = q.rowptr[r]; e < q.rowptr[r + 1]; e++) {
        const int64_t at = q.colind[e], k = q.col_block[at] - q.col_block[0],
                      width = q.col_block[at + 1] - q.col_block[at];
        const T *val = static_cast<const T *>(q.val) + q.offset[e] + y * width;
        for (int64_t x = 0; x < width; x++) B.add(val[x], B.load(static_cast<int32_t>(k + x)), sum);
    }
}

template <typename S, typename T, bool PACKED>
__device__ void multiply_block_row(const tulle__cuda_chain &P, int lane, int64_t row, int64_t r, int64_t y)
{
    for (int64_t first = 0; first < P.n; first += S::LANES * S::EACH) {
        const span<S, T, PACKED> c(first, P.n, lane);
        T sum[S::EACH];
        for (int j = 0; j < S::EACH; j++) sum[j] = 0;
        for (int p = 0; p < P.npairs; p++) add_blocks(P.pair[p], c, r, y, sum);
        store(P, c, row, sum);
    }
}

/* A team has a row, also of those of one block row. Its lanes exchange nothing. */
template <typename S, typename T> __global__ void multiply_blocks(tulle__cuda_chain P)
{
    const int lane = static_cast<int>(threadIdx.x) % S::LANES;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * S::ROWS + static_cast<int>(threadIdx.x) / S::LANES;
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
    if (P.packed)
        multiply_block_row<S, T, true>(P, lane, row, r, y);
    else
        multiply_block_row<S, T, false>(P, lane, row, r, y);
}

/* ---- launches ---- */

#define TULLE__EACH_WIDTH(X) X(2) X(4) X(8) X(16) X(32) X(64) X(128)
#define TULLE__KERNELS(WIDTH)                                                                                          \
    reinterpret_cast<const void *>(multiply<team<double, WIDTH>, double, true>),                                       \
        reinterpret_cast<const void *>(multiply<team<double, WIDTH>, double, false>),                                  \
        reinterpret_cast<const void *>(multiply<team<float, WIDTH>, float, true>),                                     \
        reinterpret_cast<const void *>(multiply<team<float, WIDTH>, float, false>),                                    \
        reinterpret_cast<const void *>(multiply_blocks<team<double, WIDTH>, double>),                                  \
        reinterpret_cast<const void *>(multiply_blocks<team<float, WIDTH>, float>),
const void *const kernels[] = {
    TULLE__EACH_WIDTH(TULLE__KERNELS) reinterpret_cast<const void *>(multiply_column<double>),
    reinterpret_cast<const void *>(multiply_column<float>)};
#undef TULLE__KERNELS

/* True if all B can be read by vectors as wide as a lane of the team, none of which goes beyond the last column. */
template <typename S, typename T> bool pack(tulle__cuda_chain &P)
{
    const int64_t values = span<S, T, true>::V, bytes = values * static_cast<int64_t>(sizeof(T));
    bool yes = P.n % values == 0;
    for (int p = 0; p < P.npairs; p++) {
        tulle__cuda_chain_pair &q = P.pair[p];
        yes = yes && q.b_col == 1 && q.b_row >= 0 && q.b_row % values == 0 &&
              q.b_row <= UINT32_MAX / static_cast<int64_t>(sizeof(T)) && reinterpret_cast<intptr_t>(q.B) % bytes == 0;
        if (yes) q.packed_row = static_cast<uint32_t>(q.b_row * static_cast<int64_t>(sizeof(T)));
    }
    return yes;
}

template <typename T, int WIDTH> cudaError_t start(cudaStream_t stream, tulle__cuda_chain P, bool in_blocks)
{
    typedef team<T, WIDTH> S;
    P.packed = pack<S, T>(P);
    const int64_t each = block_rows<S>::ROWS, width = S::LANES * S::EACH, spans = (P.n + width - 1) / width;
    if (in_blocks) return tulle_cuda::launch(multiply_blocks<S, T>, (P.m + S::ROWS - 1) / S::ROWS, THREADS, 0, stream, P);
    const int64_t across = spans < tulle_cuda::grid_most_across() ? spans : tulle_cuda::grid_most_across();
    return tulle_cuda::launch(P.packed ? multiply<S, T, true> : multiply<S, T, false>,
        tulle_cuda::grid((P.m + each - 1) / each, across), THREADS, 0, stream, P);
}

/* One column, or the narrowest team that has a place for each, or the widest. */
template <typename T> cudaError_t start_team(cudaStream_t stream, const tulle__cuda_chain &P, bool in_blocks)
{
    if (P.n == 1 && !in_blocks)
        return tulle_cuda::launch(multiply_column<T>, (P.m + THREADS - 1) / THREADS, THREADS, 0, stream, P);
#define TULLE__START(WIDTH)                                                                                            \
    if (P.n <= (WIDTH)) return start<T, WIDTH>(stream, P, in_blocks);
    TULLE__EACH_WIDTH(TULLE__START)
#undef TULLE__START
    return start<T, 128>(stream, P, in_blocks);
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
