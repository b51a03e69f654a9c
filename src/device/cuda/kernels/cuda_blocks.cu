/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of tiles in blocks into one in blocks. First the structure: a block of threads goes through a block row of C
 * by windows of columns, of one bit each, once to count and once to list. Then the values: a team of threads holds one
 * block of C, or up to 64 x 64 of it, in registers over its whole sum. It searches the rows of B that A's row names for
 * the block's column, many at a time, so that no list of products takes memory, and brings the blocks that it finds
 * through shared memory, one while it multiplies the one before.
 *
 * A sum is in the order (pair, position of A's block, column in it), with fused multiply-adds: results depend neither
 * on the number of threads nor on time.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_wrap.h"
#include "kernel/stored_half.h"

namespace
{

using tulle_cuda::lower_bound;

const int WORDS = 2048, THREADS = 256; /* of a window: words of 32 columns */

/* True if the filter leaves the product of two blocks in row r; what is not a number stays. */
__device__ bool survives(const tulle__cuda_blocks &P, const tulle__cuda_block_pair &q, int64_t r, int32_t e, int32_t f)
{
    return !P.least || !(q.a_norm[e] * q.b_norm[f] < P.least[r]);
}

/* ---- structure ---- */

/* Counts of a thread in a row. */
struct counts {
    unsigned long long multiplications, skipped;
};

/* Sets the bits of columns first .. first + 32 words - 1 that row r of C has; those of the pattern are set in
 * `allowed`. */
__device__ void meet_columns(const tulle__cuda_blocks &P, int64_t r, int64_t first, int words, unsigned *bits,
    const unsigned *allowed, counts *n)
{
    int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    int64_t last = first + static_cast<int64_t>(words) * 32, height = P.row_cut[r + 1] - P.row_cut[r];
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_block_pair &q = P.pair[p];
        int32_t from = q.a_rowptr ? q.a_rowptr[r] : 0, to = q.a_rowptr ? q.a_rowptr[r + 1] : 1;
        for (int64_t e = static_cast<int64_t>(from) + warp; e < to; e += THREADS / 32) {
            int64_t k = q.a_rowptr ? q.a_colind[e] : r, inner = q.a_rowptr ? q.inner[k + 1] - q.inner[k] : 0;
            const int32_t end = q.b_rowptr[k + 1], start = lower_bound(q.b_colind, q.b_rowptr[k], end, first);
            for (int64_t f = static_cast<int64_t>(start) + lane; f < end && q.b_colind[f] < last; f += 32) {
                int64_t col = q.b_colind[f], at = col - first;
                if (P.half && !tulle__half_stores(P.half_shift, P.first_row + r, P.first_col + col)) continue;
                if (q.a_rowptr && !survives(P, q, r, static_cast<int32_t>(e), static_cast<int32_t>(f))) {
                    n->skipped++;
                    continue;
                }
                if (P.pattern && !(allowed[at / 32] >> (at % 32) & 1u)) continue;
                atomicOr(&bits[at / 32], 1u << (at % 32));
                n->multiplications +=
                    static_cast<unsigned long long>(height * inner * (P.col_cut[col + 1] - P.col_cut[col]));
            }
        }
    }
}

/* Sums over a warp go to the device's figures. */
__device__ void add_counts(counts n, unsigned long long *multiplications, unsigned long long *skipped)
{
    for (int by = 16; by; by /= 2) {
        n.multiplications += __shfl_xor_sync(0xffffffffu, n.multiplications, by);
        n.skipped += __shfl_xor_sync(0xffffffffu, n.skipped, by);
    }
    if (threadIdx.x % 32) return;
    if (n.multiplications) atomicAdd(multiplications, n.multiplications);
    if (n.skipped) atomicAdd(skipped, n.skipped);
}

/*
 * Block row blockIdx.x of C: counted, with its values, if C has no columns yet; else its columns and where its blocks
 * begin. Threads have the same number of words as others.
 */
__global__ void structure_of_blocks(tulle__cuda_blocks P, tulle__cuda_block_result C)
{
    TULLE__SHARED(unsigned, bits, WORDS);
    TULLE__SHARED(unsigned, allowed, WORDS);
    TULLE__SHARED(int32_t, found, THREADS);
    TULLE__SHARED(int64_t, width, THREADS);
    int me = static_cast<int>(threadIdx.x), words = static_cast<int>(P.n / 32 + 1 < WORDS ? P.n / 32 + 1 : WORDS);
    int each = (words + THREADS - 1) / THREADS, begin = me * each, end = begin + each < words ? begin + each : words;
    int64_t r = blockIdx.x, height = P.row_cut[r + 1] - P.row_cut[r], blocks = 0, values = 0;
    counts n = {0, 0};
    for (int64_t first = 0; first < P.n; first += static_cast<int64_t>(words) * 32) {
        for (int i = me; i < words; i += THREADS) bits[i] = allowed[i] = 0;
        __syncthreads();
        for (int64_t e = P.pattern ? static_cast<int64_t>(P.pattern_ptr[r]) + me : 0;
             P.pattern && e < P.pattern_ptr[r + 1]; e += THREADS) {
            int64_t at = P.pattern[e] - first;
            if (at >= 0 && at < static_cast<int64_t>(words) * 32) atomicOr(&allowed[at / 32], 1u << (at % 32));
        }
        __syncthreads();
        meet_columns(P, r, first, words, bits, allowed, &n);
        __syncthreads();
        int32_t mine = 0, before = 0, window = 0;
        int64_t across = 0, left = 0, all = 0;
        for (int i = begin; i < end; i++)
            for (unsigned some = bits[i]; some; some &= some - 1, mine++) {
                int64_t col = first + i * 32 + __ffs(static_cast<int>(some)) - 1;
                across += P.col_cut[col + 1] - P.col_cut[col];
            }
        found[me] = mine;
        width[me] = across;
        __syncthreads();
        for (int t = 0; t < THREADS; t++) {
            if (t < me) before += found[t], left += width[t];
            window += found[t], all += width[t];
        }
        if (C.colind) {
            int64_t to = C.rowptr[r] + blocks + before, value = C.values[r] + height * (values + left);
            for (int i = begin; i < end; i++)
                for (unsigned some = bits[i]; some; some &= some - 1, to++) {
                    int64_t col = first + i * 32 + __ffs(static_cast<int>(some)) - 1;
                    C.colind[to] = static_cast<int32_t>(col);
                    C.offset[to] = value;
                    value += height * (P.col_cut[col + 1] - P.col_cut[col]);
                }
        }
        blocks += window;
        values += all;
        __syncthreads();
    }
    if (C.colind) {
        if (r == P.m - 1 && me == 0) C.offset[C.rowptr[P.m]] = C.values[P.m];
        return;
    }
    if (me == 0) {
        C.rowptr[r] = static_cast<int32_t>(blocks);
        C.values[r] = static_cast<int32_t>(height * values);
    }
    add_counts(n, C.multiplications, C.skipped);
}

/* ---- values ---- */

/*
 * Layout of a team of TEAM threads, TEAMS of them in a block, for a panel of C: SIZE x SIZE, or less, by tiles
 * of ROWS x COLS a thread, whose rows and columns are apart. FIXED: all blocks have just this size.
 */
template <int size, bool fixed, int rows, int cols, int team> struct panel {
    static const int SIZE = size, ROWS = rows, COLS = cols, TEAM = team, TEAMS = team == 32 ? 4 : 1;
    static const bool FIXED = fixed;
    static const int DOWN = (size + rows - 1) / rows, ACROSS = (size + cols - 1) / cols; /* threads */
    static const int DEEP = size > 32 ? 16 : size;                                       /* of a step, columns of A */
    static const int A = DOWN * rows * DEEP, B = DEEP * (ACROSS * cols);                 /* of a stage */
    static_assert(DOWN * ACROSS <= team, "each tile has a thread");
};

template <typename S> __device__ void meet()
{
    if (S::TEAM == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* Place in the list of the thread's block, whose places are in the order of threads; *all: how many there are. */
template <typename S> __device__ int place_in_list(bool has, int me, int32_t *of_warp, int *all)
{
    unsigned mask = __ballot_sync(0xffffffffu, has);
    int before = __popc(mask & ((1u << (me % 32)) - 1));
    *all = __popc(mask);
    if (S::TEAM == 32) return before;
    if (me % 32 == 0) of_warp[me / 32] = *all;
    meet<S>();
    *all = 0;
    for (int w = 0; w < S::TEAM / 32; w++) {
        if (w < me / 32) before += of_warp[w];
        *all += of_warp[w];
    }
    meet<S>();
    return before;
}

/* Values of a panel of C: rows row .. row + m - 1, columns col .. col + n - 1 of a block with lines `ld` apart. */
template <typename T> struct piece {
    T *C;
    int64_t ld;
    int row, col, m, n;
};

/* C = (fresh ? 0 : C) + scale times the sums, which are 0 then. */
template <typename S, typename T>
__device__ void flush(const piece<T> &c, int me, double scale, bool fresh, T (&sum)[S::ROWS][S::COLS])
{
    int x0 = me / S::ACROSS, y0 = me % S::ACROSS;
    if (x0 >= S::DOWN) return;
    for (int i = 0; i < S::ROWS; i++)
        for (int j = 0; j < S::COLS; j++) {
            int x = x0 + i * S::DOWN, y = y0 + j * S::ACROSS;
            if (x < c.m && y < c.n) {
                T *to = c.C + (c.row + x) * c.ld + c.col + y, add = static_cast<T>(scale) * sum[i][j];
                *to = fresh ? add : *to + add;
            }
            sum[i][j] = 0;
        }
}

/* One step: `deep` columns of a block of A and rows of one of B, which lie in shared memory. */
template <typename S, typename T>
__device__ void multiply_step(int me, int deep, const T *A, const T *B, T (&sum)[S::ROWS][S::COLS])
{
    int x0 = me / S::ACROSS, y0 = me % S::ACROSS;
    if (x0 >= S::DOWN) return;
    TULLE__UNROLL(4)
    for (int p = 0; p < deep; p++) {
        T a[S::ROWS], b[S::COLS];
        TULLE__UNROLL()
        for (int i = 0; i < S::ROWS; i++) a[i] = A[(x0 + i * S::DOWN) * S::DEEP + p];
        TULLE__UNROLL()
        for (int j = 0; j < S::COLS; j++) b[j] = B[p * (S::ACROSS * S::COLS) + y0 + j * S::ACROSS];
        TULLE__UNROLL()
        for (int i = 0; i < S::ROWS; i++) {
            TULLE__UNROLL()
            for (int j = 0; j < S::COLS; j++) sum[i][j] += a[i] * b[j];
        }
    }
}

/* Work of a team. */
template <typename T> struct products {
    const tulle__cuda_block_pair *q;
    const int32_t *list; /* places in A and B, one after the other */
    int count;
};

/* Starts the copies of a step: from column `at` of the l-th block of A on. Returns its columns. */
template <typename S, typename T>
__device__ int load_step(const products<T> &w, const piece<T> &c, int me, int l, int64_t at, T *A, T *B)
{
    const tulle__cuda_block_pair &q = *w.q;
    int32_t e = w.list[2 * l], f = w.list[2 * l + 1], column = q.a_colind[e];
    int64_t k = S::FIXED ? S::SIZE : q.inner[column + 1] - q.inner[column], ld = S::FIXED ? S::SIZE : c.ld;
    int m = S::FIXED ? S::SIZE : c.m, n = S::FIXED ? S::SIZE : c.n;
    int deep = k - at < S::DEEP ? static_cast<int>(k - at) : S::DEEP;
    const T *a = static_cast<const T *>(q.a_val) + q.a_offset[e] + c.row * k + at;
    const T *b = static_cast<const T *>(q.b_val) + q.b_offset[f] + at * ld + c.col;
    for (int i = me; i < m * deep; i += S::TEAM)
        tulle_cuda::async_copy<sizeof(T)>(&A[i / deep * S::DEEP + i % deep], &a[i / deep * k + i % deep]);
    for (int i = me; i < deep * n; i += S::TEAM)
        tulle_cuda::async_copy<sizeof(T)>(&B[i / n * (S::ACROSS * S::COLS) + i % n], &b[i / n * ld + i % n]);
    tulle_cuda::async_commit();
    return deep;
}

/* All products of the list, two stages of shared memory in turn. */
template <typename S, typename T>
__device__ void multiply_list(const products<T> &w, const piece<T> &c, int me, T *A, T *B, T (&sum)[S::ROWS][S::COLS])
{
    int l = 0, stage = 0;
    int64_t at = 0;
    int deep = w.count ? load_step<S>(w, c, me, 0, 0, A, B) : 0;
    while (l < w.count) {
        int32_t column = w.q->a_colind[w.list[2 * l]];
        int64_t k = S::FIXED ? S::SIZE : w.q->inner[column + 1] - w.q->inner[column];
        int next = at + deep < k ? l : l + 1, now = deep;
        at = next == l ? at + deep : 0;
        if (next < w.count) {
            deep = load_step<S>(w, c, me, next, at, A + (1 - stage) * S::A, B + (1 - stage) * S::B);
            tulle_cuda::async_wait<1>();
        } else {
            tulle_cuda::async_wait<0>();
        }
        meet<S>();
        multiply_step<S>(me, now, A + stage * S::A, B + stage * S::B, sum);
        meet<S>();
        stage = 1 - stage;
        l = next;
    }
}

/* An identity's product: row r of B has the block, or not. */
template <typename S, typename T>
__device__ void add_block(
    const tulle__cuda_block_pair &q, const piece<T> &c, int me, int64_t r, int32_t col, bool fresh)
{
    int32_t end = q.b_rowptr[r + 1], f = lower_bound(q.b_colind, q.b_rowptr[r], end, col);
    if (f == end || q.b_colind[f] != col || q.scale == 0) return;
    const T *b = static_cast<const T *>(q.b_val) + q.b_offset[f];
    for (int i = me; i < c.m * c.n; i += S::TEAM) {
        int64_t at = (c.row + i / c.n) * c.ld + c.col + i % c.n;
        T add = static_cast<T>(q.scale) * b[at];
        c.C[at] = fresh ? add : c.C[at] + add;
    }
}

/* Block blockIdx.x of C, or one for each of its warps; panel first + blockIdx.y of it. */
template <typename S, typename T>
__global__ void values_of_blocks(tulle__cuda_blocks P, tulle__cuda_block_result C, int64_t first_panel)
{
    TULLE__SHARED(T, a_stages, S::TEAMS * 2 * S::A);
    TULLE__SHARED(T, b_stages, S::TEAMS * 2 * S::B);
    TULLE__SHARED(int32_t, lists, S::TEAMS * 2 * S::TEAM);
    TULLE__SHARED(int32_t, of_warp, S::TEAM / 32);
    int me = static_cast<int>(threadIdx.x) % S::TEAM, team = static_cast<int>(threadIdx.x) / S::TEAM;
    int64_t at = static_cast<int64_t>(blockIdx.x) * S::TEAMS + team;
    if (at >= C.blocks) return;
    T *A = a_stages + team * 2 * S::A, *B = b_stages + team * 2 * S::B;
    int32_t *list = lists + team * 2 * S::TEAM, r = 0, after = static_cast<int32_t>(P.m), col = C.colind[at];
    while (after - r > 1) { /* the row that has it */
        int32_t middle = r + (after - r) / 2;
        if (C.rowptr[middle] <= at)
            r = middle;
        else
            after = middle;
    }
    int64_t height = P.row_cut[r + 1] - P.row_cut[r], width = P.col_cut[col + 1] - P.col_cut[col];
    int64_t panels = (width + S::SIZE - 1) / S::SIZE, panel = first_panel + blockIdx.y, row = panel / panels * S::SIZE;
    if (row >= height) return;
    int64_t left = panel % panels * S::SIZE;
    piece<T> c = {static_cast<T *>(C.val) + C.offset[at], width, static_cast<int>(row), static_cast<int>(left),
        static_cast<int>(height - row < S::SIZE ? height - row : S::SIZE),
        static_cast<int>(width - left < S::SIZE ? width - left : S::SIZE)};
    T sum[S::ROWS][S::COLS];
    for (int i = 0; i < S::ROWS; i++)
        for (int j = 0; j < S::COLS; j++) sum[i][j] = 0;
    double scale = 1;
    bool fresh = true;
    for (int p = 0; p < P.npairs; p++) {
        const tulle__cuda_block_pair &q = P.pair[p];
        if (p == 0) scale = q.scale;
        if (q.scale != scale || !q.a_rowptr) {
            flush<S>(c, me, scale, fresh, sum);
            meet<S>();
            fresh = false;
            scale = q.scale;
        }
        if (!q.a_rowptr) {
            add_block<S>(q, c, me, r, col, false);
            meet<S>();
            continue;
        }
        int32_t end = q.a_rowptr[r + 1];
        for (int32_t first = q.a_rowptr[r]; first < end; first += S::TEAM) {
            int32_t e = first + me, f = 0;
            bool has = e < end;
            if (has) {
                int32_t k = q.a_colind[e], last = q.b_rowptr[k + 1];
                f = lower_bound(q.b_colind, q.b_rowptr[k], last, col);
                has = f < last && q.b_colind[f] == col &&
                      survives(P, q, r, static_cast<int32_t>(e), static_cast<int32_t>(f));
            }
            products<T> w = {&q, list, 0};
            int to = place_in_list<S>(has, me, of_warp, &w.count);
            if (has) {
                list[2 * to] = e;
                list[2 * to + 1] = f;
            }
            meet<S>();
            multiply_list<S>(w, c, me, A, B, sum);
        }
    }
    flush<S>(c, me, scale, fresh, sum);
}

/* Squared norms of C's blocks: a warp has one, lanes take values in turn. */
template <typename T> __global__ void norms_of_blocks(tulle__cuda_block_result C)
{
    int64_t at = static_cast<int64_t>(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
    if (at >= C.blocks) return;
    const T *val = static_cast<const T *>(C.val);
    double sum = 0;
    for (int64_t i = C.offset[at] + threadIdx.x % 32; i < C.offset[at + 1]; i += 32)
        sum += static_cast<double>(val[i]) * static_cast<double>(val[i]);
    for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    if (threadIdx.x % 32 == 0) C.norm[at] = sum;
}

/* ---- launches ---- */

/* Fixed sizes first. */
typedef panel<5, true, 1, 1, 32> fixed5;
typedef panel<6, true, 2, 1, 32> fixed6;
typedef panel<13, true, 4, 2, 32> fixed13;
typedef panel<23, true, 3, 3, 64> fixed23;
typedef panel<32, true, 4, 4, 64> fixed32;
typedef panel<8, false, 2, 1, 32> upto8;
typedef panel<16, false, 4, 2, 32> upto16;
typedef panel<32, false, 4, 4, 64> upto32;
typedef panel<64, false, 4, 4, 256> upto64;

#define TULLE__EACH_PANEL(X) X(fixed5) X(fixed6) X(fixed13) X(fixed23) X(fixed32) X(upto8) X(upto16) X(upto32) X(upto64)

#define TULLE__KERNELS(S)                                                                                              \
    reinterpret_cast<const void *>(values_of_blocks<S, double>),                                                       \
        reinterpret_cast<const void *>(values_of_blocks<S, float>),
const void *const kernels[] = {reinterpret_cast<const void *>(structure_of_blocks),
    reinterpret_cast<const void *>(norms_of_blocks<double>), reinterpret_cast<const void *>(norms_of_blocks<float>),
    TULLE__EACH_PANEL(TULLE__KERNELS)};
#undef TULLE__KERNELS

template <typename S>
cudaError_t start_values(
    cudaStream_t stream, const tulle__cuda_blocks &P, const tulle__cuda_block_result &C, int f64, int64_t m, int64_t n)
{
    const int64_t blocks = (C.blocks + S::TEAMS - 1) / S::TEAMS;
    const unsigned threads = S::TEAMS * S::TEAM;
    auto kernel = f64 ? values_of_blocks<S, double> : values_of_blocks<S, float>;
    return tulle_cuda::by_pieces(
        ((m + S::SIZE - 1) / S::SIZE) * ((n + S::SIZE - 1) / S::SIZE), [&](int64_t first, int64_t panels) {
            return tulle_cuda::launch(kernel, {blocks, panels}, threads, 0, stream, P, C, first);
        });
}

} // namespace

cudaError_t tulle__cuda_load_blocks(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_blocks_structure(
    cudaStream_t stream, const tulle__cuda_blocks *P, const tulle__cuda_block_result *C)
{
    return tulle_cuda::launch(structure_of_blocks, P->m, THREADS, 0, stream, *P, *C);
}

cudaError_t tulle__cuda_blocks_values(cudaStream_t stream, const tulle__cuda_blocks *P,
    const tulle__cuda_block_result *C, int f64, int64_t rows, int64_t cols, int fixed)
{
    cudaError_t error;
    int64_t most = rows > cols ? rows : cols;
    const int64_t norms = (C->blocks + THREADS / 32 - 1) / (THREADS / 32);
    if (fixed && most == fixed5::SIZE)
        error = start_values<fixed5>(stream, *P, *C, f64, rows, cols);
    else if (fixed && most == fixed6::SIZE)
        error = start_values<fixed6>(stream, *P, *C, f64, rows, cols);
    else if (fixed && most == fixed13::SIZE)
        error = start_values<fixed13>(stream, *P, *C, f64, rows, cols);
    else if (fixed && most == fixed23::SIZE)
        error = start_values<fixed23>(stream, *P, *C, f64, rows, cols);
    else if (fixed && most == fixed32::SIZE)
        error = start_values<fixed32>(stream, *P, *C, f64, rows, cols);
    else if (most <= upto8::SIZE)
        error = start_values<upto8>(stream, *P, *C, f64, rows, cols);
    else if (most <= upto16::SIZE)
        error = start_values<upto16>(stream, *P, *C, f64, rows, cols);
    else if (most <= upto32::SIZE)
        error = start_values<upto32>(stream, *P, *C, f64, rows, cols);
    else
        error = start_values<upto64>(stream, *P, *C, f64, rows, cols);
    if (error != cudaSuccess) return error;
    if (f64) return tulle_cuda::launch(norms_of_blocks<double>, norms, THREADS, 0, stream, *C);
    return tulle_cuda::launch(norms_of_blocks<float>, norms, THREADS, 0, stream, *C);
}
