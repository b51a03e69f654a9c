/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs times vectors: blocks of 1, 2, 3, 6 or any size, one column or many, halves of symmetric matrices, 16-bit
 * columns, f32 values with f64 vectors. Sums are in double, whatever the types.
 *
 * A group of C x E lanes has a block row: C columns of Y side by side, and E parts of the row's entries, whose sums are
 * added by halves. C, E and the number of groups follow from the number of columns alone. A row of more than LONG
 * entries is cut into pieces of so many, which the groups of the block take in turn; their sums are added in the
 * groups' order. So the order of a row's sum follows from the row and the columns alone, and nothing is added
 * atomically.
 *
 * Of a symmetric slab, block j of row i also acts, transposed, on row j. The blocks right of the diagonal are listed by
 * their columns first ("mirrored"), in the order of their rows, so that a row of Y is one sum over the row of the whole
 * matrix, as far as the slab has it, by one group. The values are read twice; the second time mostly from the cache, if
 * `span` block rows fit there. Lists are counted and filled by atomics on integers, and then sorted.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

const int THREADS = 128, LONG = 512, SORTED = 24;

__device__ int64_t column(const tulle__cuda_slab &A, int64_t row, int64_t entry)
{
    if (A.index_bytes == 2) return A.base[row] + static_cast<const uint16_t *>(A.colind)[entry];
    return static_cast<const int32_t *>(A.colind)[entry];
}

/* ---- products ---- */

/* Work of a group: a block row of Y, from its first one on, or with blocks of any size a line of one. */
struct row {
    int64_t at, line;      /* block row of the slab; line in the block, or 0 */
    int64_t mirrored, all; /* summands: of the mirror, and all */
};

template <int B, bool SYMMETRIC> __device__ row row_of(const tulle__cuda_slab &A, int64_t number)
{
    row r = {B ? number : number / A.block, B ? 0 : number % A.block, 0, 0};
    if (SYMMETRIC) r.mirrored = A.mirror_ptr[r.at + 1] - A.mirror_ptr[r.at];
    r.all = r.mirrored;
    if (r.at < A.m) r.all += A.rowptr[r.at + 1] - A.rowptr[r.at];
    return r;
}

/* The n-th summand of a row, added to the sums of its lines. */
template <typename T, typename V, int B, bool SYMMETRIC>
__device__ void add_summand(const tulle__cuda_slab &A, const row &r, int64_t n, int64_t c, double *sum)
{
    const int64_t b = B ? B : A.block;
    int64_t j, entry, across = b, down = 1; /* element (l, k) of the block is at l * across + k * down */
    if (SYMMETRIC && n < r.mirrored) {
        uint64_t m = A.mirror[A.mirror_ptr[r.at] + n];
        entry = static_cast<int64_t>(m & 0xffffffffu);
        j = A.first + static_cast<int64_t>(m >> 32);
        across = 1;
        down = b;
    } else {
        entry = A.rowptr[r.at] + n - r.mirrored;
        j = column(A, r.at, entry);
    }
    const T *val = static_cast<const T *>(A.val) + entry * b * b + r.line * across;
    const V *x = static_cast<const V *>(A.X) + j * b * A.ldx + c;
    if (B) {
        for (int k = 0; k < B; k++) {
            const double xk = static_cast<double>(x[k * A.ldx]);
            for (int l = 0; l < B; l++) sum[l] += static_cast<double>(val[l * across + k * down]) * xk;
        }
    } else
        for (int64_t k = 0; k < b; k++)
            sum[0] += static_cast<double>(val[k * down]) * static_cast<double>(x[k * A.ldx]);
}

template <typename V, int B, bool SYMMETRIC>
__device__ void store(const tulle__cuda_slab &A, const row &r, int64_t c, const double *sum)
{
    const int64_t b = B ? B : A.block;
    V *y = static_cast<V *>(A.Y) + ((A.first + r.at) * b + r.line) * A.ldy + c;
    for (int l = 0; l < (B ? B : 1); l++) {
        V &to = y[l * A.ldy];
        to = static_cast<V>(SYMMETRIC ? static_cast<double>(to) + sum[l] : sum[l]);
    }
}

/* rows: of Y, or with blocks of any size lines; lanes of a group: C = across, E = deep. Blocks across have ranges of
 * columns, from first_range on. */
template <typename T, typename V, int B, bool SYMMETRIC>
__global__ void multiply(tulle__cuda_slab A, int64_t rows, int across, int deep, int64_t first_range)
{
    const int LINES = B ? B : 1;
    TULLE__SHARED(double, workspace, LINES *THREADS);
    int t = static_cast<int>(threadIdx.x), lanes = across * deep, groups = THREADS / lanes, group = t / lanes;
    int part = t % lanes / across;
    int64_t c = t % across + (first_range + blockIdx.y) * across;
    int64_t first = static_cast<int64_t>(blockIdx.x) * groups, mine = first + group;
    bool counts = c < A.cols;
    double sum[LINES] = {0};
    row r = {0, 0, 0, 0};
    if (mine < rows) r = row_of<B, SYMMETRIC>(A, mine);
    bool is_long = r.all > LONG;
    if (counts && !is_long)
        for (int64_t n = part; n < r.all; n += deep) add_summand<T, V, B, SYMMETRIC>(A, r, n, c, sum);
    for (int by = across; by < lanes; by *= 2)
        for (int l = 0; l < LINES; l++) sum[l] += __shfl_xor_sync(0xffffffffu, sum[l], by);
    if (counts && !is_long && part == 0 && mine < rows) store<V, B, SYMMETRIC>(A, r, c, sum);
    if (!__syncthreads_or(is_long)) return;
    for (int g = 0; g < groups && first + g < rows; g++) {
        r = row_of<B, SYMMETRIC>(A, first + g);
        if (r.all <= LONG) continue;
        for (int l = 0; l < LINES; l++) sum[l] = 0;
        for (int64_t piece = group; piece * LONG < r.all && counts; piece += groups) {
            int64_t end = piece * LONG + LONG < r.all ? piece * LONG + LONG : r.all;
            for (int64_t n = piece * LONG + part; n < end; n += deep) add_summand<T, V, B, SYMMETRIC>(A, r, n, c, sum);
        }
        for (int l = 0; l < LINES; l++) workspace[l * THREADS + t] = sum[l];
        __syncthreads();
        if (group == 0 && part == 0 && counts) {
            for (int other = across; other < THREADS; other += across)
                for (int l = 0; l < LINES; l++) sum[l] += workspace[l * THREADS + t + other];
            store<V, B, SYMMETRIC>(A, r, c, sum);
        }
        __syncthreads();
    }
}

/* ---- mirrors ---- */

/* Counts the blocks right of the diagonal by columns, or writes them to their places. */
__global__ void mirror_blocks(tulle__cuda_slab A, const int32_t *begin, int32_t *count, uint64_t *mirror)
{
    int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= A.m) return;
    for (int64_t e = A.rowptr[row]; e < A.rowptr[row + 1]; e++) {
        int64_t j = column(A, row, e) - A.first;
        if (j == row) continue;
        int32_t n = atomicAdd(&count[j], 1);
        if (mirror) mirror[begin[j] + n] = static_cast<uint64_t>(row) << 32 | static_cast<uint64_t>(e);
    }
}

/* Sorts each list: short ones by a thread, others by all of the block, by bitonic merges that leave out what is beyond
 * the end. */
__global__ void mirror_sort(int64_t lists, const int32_t *begin, uint64_t *mirror)
{
    int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x, mine = first + threadIdx.x;
    int64_t from = mine < lists ? begin[mine] : 0, count = mine < lists ? begin[mine + 1] - from : 0;
    if (count <= SORTED)
        for (int64_t i = 1; i < count; i++) {
            uint64_t value = mirror[from + i];
            int64_t to = i;
            for (; to > 0 && mirror[from + to - 1] > value; to--) mirror[from + to] = mirror[from + to - 1];
            mirror[from + to] = value;
        }
    if (!__syncthreads_or(count > SORTED)) return;
    for (int64_t list = first; list < first + blockDim.x && list < lists; list++) {
        uint64_t *data = mirror + begin[list];
        int64_t n = begin[list + 1] - begin[list];
        if (n > SORTED) tulle_cuda::sort_together(data, n, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
    }
}

/* ---- launches ---- */

#define OF_BLOCK(T, V, B)                                                                                              \
    reinterpret_cast<const void *>(multiply<T, V, B, false>), reinterpret_cast<const void *>(multiply<T, V, B, true>)
#define OF_TYPES(T, V) OF_BLOCK(T, V, 0), OF_BLOCK(T, V, 1), OF_BLOCK(T, V, 2), OF_BLOCK(T, V, 3), OF_BLOCK(T, V, 6)
const void *const kernels[] = {OF_TYPES(double, double), OF_TYPES(float, double), OF_TYPES(float, float),
    reinterpret_cast<const void *>(mirror_blocks), reinterpret_cast<const void *>(mirror_sort)};

template <typename T, typename V, int B> cudaError_t start(cudaStream_t stream, const tulle__cuda_slab &A, int64_t rows)
{
    int across = 1, deep = 1;
    while (across < A.cols && across < 32) across *= 2;
    while (across * deep < 8) deep *= 2;
    int64_t each = THREADS / (across * deep), blocks = (rows + each - 1) / each,
            ranges = (A.cols + across - 1) / across;
    auto kernel = A.symmetric ? multiply<T, V, B, true> : multiply<T, V, B, false>;
    return tulle_cuda::by_pieces(ranges, [&](int64_t first, int64_t some) {
        return tulle_cuda::launch(kernel, {blocks, some}, THREADS, 0, stream, A, rows, across, deep, first);
    });
}

template <typename T, typename V> cudaError_t start_block(cudaStream_t stream, const tulle__cuda_slab &A, int64_t rows)
{
    switch (A.block) {
    case 1:
        return start<T, V, 1>(stream, A, rows);
    case 2:
        return start<T, V, 2>(stream, A, rows);
    case 3:
        return start<T, V, 3>(stream, A, rows);
    case 6:
        return start<T, V, 6>(stream, A, rows);
    default:
        return start<T, V, 0>(stream, A, rows * A.block);
    }
}

/* Block rows of Y that a slab adds to. */
int64_t rows_of(const tulle__cuda_slab &A)
{
    if (!A.symmetric) return A.m;
    int64_t rows = A.span ? A.m + A.span : A.n - A.first;
    return rows < A.n - A.first ? rows : A.n - A.first;
}

/* Offsets in the workspace of a mirror, which begins with the lists. */
struct mirror_places {
    int64_t lists, ptr, count, scan, total, bytes;
};

mirror_places places_of(const tulle__cuda_slab &A)
{
    mirror_places p;
    p.lists = rows_of(A);
    p.ptr = A.blocks * static_cast<int64_t>(sizeof(uint64_t));
    p.count = p.ptr + (p.lists + 2) * static_cast<int64_t>(sizeof(int32_t));
    p.scan = (p.count + (p.lists + 1) * static_cast<int64_t>(sizeof(int32_t)) + 15) / 16 * 16;
    p.total = p.scan + static_cast<int64_t>(tulle__cuda_scan_workspace(p.lists + 1));
    p.bytes = p.total + static_cast<int64_t>(sizeof(int64_t));
    return p;
}

int64_t blocks_for(int64_t count)
{
    return (count + THREADS - 1) / THREADS;
}

} // namespace

cudaError_t tulle__cuda_load_slab(void)
{
    return tulle_cuda::load(kernels);
}

size_t tulle__cuda_mirror_workspace(const tulle__cuda_slab *slab)
{
    return static_cast<size_t>(places_of(*slab).bytes);
}

void tulle__cuda_mirror_at(tulle__cuda_slab *slab, void *workspace)
{
    slab->mirror = static_cast<const uint64_t *>(workspace);
    slab->mirror_ptr = reinterpret_cast<const int32_t *>(static_cast<const char *>(workspace) + places_of(*slab).ptr);
}

cudaError_t tulle__cuda_mirror(cudaStream_t stream, tulle__cuda_slab *slab, void *workspace)
{
    mirror_places p = places_of(*slab);
    char *at = static_cast<char *>(workspace);
    uint64_t *mirror = reinterpret_cast<uint64_t *>(at), *none = nullptr;
    int32_t *ptr = reinterpret_cast<int32_t *>(at + p.ptr), *count = reinterpret_cast<int32_t *>(at + p.count);
    int64_t *total = reinterpret_cast<int64_t *>(at + p.total);
    tulle__cuda_mirror_at(slab, workspace);
    if (p.lists > INT32_MAX - THREADS) return cudaErrorInvalidConfiguration;
    cudaError_t error = cudaMemsetAsync(ptr, 0, static_cast<size_t>(p.scan - p.ptr), stream);
    const int32_t *begin = ptr;
    if (error == cudaSuccess && slab->m)
        error = tulle_cuda::launch(mirror_blocks, blocks_for(slab->m), THREADS, 0, stream, *slab, begin, ptr, none);
    if (error == cudaSuccess) error = tulle__cuda_scan(stream, p.lists + 1, ptr, total, at + p.scan);
    if (error == cudaSuccess && slab->m)
        error = tulle_cuda::launch(mirror_blocks, blocks_for(slab->m), THREADS, 0, stream, *slab, begin, count, mirror);
    if (error == cudaSuccess && p.lists)
        error = tulle_cuda::launch(mirror_sort, blocks_for(p.lists), THREADS, 0, stream, p.lists, begin, mirror);
    return error;
}

cudaError_t tulle__cuda_multiply(cudaStream_t stream, const tulle__cuda_slab *slab)
{
    int64_t rows = rows_of(*slab);
    if (!rows || !slab->cols) return cudaSuccess;
    if (slab->f64) return start_block<double, double>(stream, *slab, rows);
    if (slab->vectors_f64) return start_block<float, double>(stream, *slab, rows);
    return start_block<float, float>(stream, *slab, rows);
}
