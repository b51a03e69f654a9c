/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tall and narrow matrices of block Krylov methods, with the sums and the roundings of tulle__tsmttsm_task and
 * tulle__tsmm_task (kernel.h), so that a solve has the same bits wherever its vectors lie.
 *
 * G = X^T Y: a block of threads has a square of G in one piece of rows, a thread each entry. Chunks of rows pass
 * through shared memory, so that X and Y are read once for a square. Sums of Y = X B: a thread has a column of some
 * rows, and writes when all threads of these rows have read, as X may be Y.
 */
#include "device/cuda/kernels/cuda_kernels.h"
#include "device/cuda/kernels/cuda_rounded.h"
#include "device/cuda/kernels/cuda_wrap.h"

namespace
{

using tulle_cuda::fused_never;

const int CHUNK = 64;              /* TULLE__TALL_CHUNK */
const int THREADS = 128, EACH = 4; /* of a tsmm: threads of a block; rows of a thread */
const int LINE = TULLE__CUDA_TALL; /* of coefficients */

/* Columns from `left` on of a chunk of rows, in double; what is beyond is not read later. */
template <typename T, int SIDE>
__device__ void stage(const T *X, int64_t ld, int rows, int left, int cols, double (*to)[SIDE])
{
    for (int e = static_cast<int>(threadIdx.x); e < rows * SIDE; e += SIDE * SIDE)
        if (left + e % SIDE < cols) to[e / SIDE][e % SIDE] = static_cast<double>(X[e / SIDE * ld + left + e % SIDE]);
}

/* SIDE x SIDE threads: the square (blockIdx.y, blockIdx.z) of G of piece blockIdx.x. */
template <typename T, int SIDE> __global__ void tsmttsm(tulle__cuda_tsmttsm G)
{
    TULLE__SHARED(double, x, CHUNK *SIDE);
    TULLE__SHARED(double, y, CHUNK *SIDE);
    double(*xs)[SIDE] = reinterpret_cast<double(*)[SIDE]>(x), (*ys)[SIDE] = reinterpret_cast<double(*)[SIDE]>(y);
    int up = static_cast<int>(blockIdx.y) * SIDE, left = static_cast<int>(blockIdx.z) * SIDE;
    int di = static_cast<int>(threadIdx.x) / SIDE, dj = static_cast<int>(threadIdx.x) % SIDE, i = up + di,
        j = left + dj;
    if (G.symmetric && left + SIDE <= up) return; /* all threads: below the diagonal */
    bool mine = i < G.m && j < G.n && !(G.symmetric && j < i);
    int64_t piece = blockIdx.x, offset = G.first / G.block * G.block - G.first, begin = offset + piece * G.block,
            end = begin + G.block;
    if (begin < 0) begin = 0;
    if (end > G.rows) end = G.rows;
    double sum = 0;
    for (int64_t at = begin; at < end; at += CHUNK) {
        int rows = static_cast<int>(end - at < CHUNK ? end - at : CHUNK);
        stage<T, SIDE>(static_cast<const T *>(G.X) + at * G.ldx, G.ldx, rows, up, G.m, xs);
        stage<T, SIDE>(static_cast<const T *>(G.Y) + at * G.ldy, G.ldy, rows, left, G.n, ys);
        __syncthreads();
        double chunk = 0;
        for (int r = 0; mine && r < rows; r++) chunk = fused_never(chunk, xs[r][di], ys[r][dj]);
        sum = __dadd_rn(sum, chunk);
        __syncthreads();
    }
    if (!mine) return;
    int64_t before = G.symmetric ? static_cast<int64_t>(i) * G.n - static_cast<int64_t>(i) * (i - 1) / 2 - i
                                 : static_cast<int64_t>(i) * G.n;
    G.sums[piece * G.stride + before + j] = sum;
}

template <typename T> __global__ void tsmm(tulle__cuda_tsmm S, int lines)
{
    int line = static_cast<int>(threadIdx.x) / S.n, c = static_cast<int>(threadIdx.x) % S.n;
    int64_t first = static_cast<int64_t>(blockIdx.x) * lines * EACH + line;
    T *Y = static_cast<T *>(S.Y), sum[EACH];
    bool mine = line < lines;
    for (int q = 0; q < EACH; q++) {
        int64_t r = first + q * lines;
        sum[q] = mine && S.add && r < S.rows ? Y[r * S.ldy + c] : static_cast<T>(0);
    }
    for (int t = 0; mine && t < S.nterms; t++) {
        const T *B = static_cast<const T *>(S.B[t]) + c, *X = static_cast<const T *>(S.X[t]);
        for (int k = 0; k < S.k[t]; k++) {
            T b = B[k * LINE];
            TULLE__UNROLL(EACH)
            for (int q = 0; q < EACH; q++) {
                int64_t r = first + q * lines;
                if (r < S.rows) sum[q] = fused_never(sum[q], X[r * S.ldx[t] + k], b);
            }
        }
    }
    __syncthreads();
    for (int q = 0; mine && q < EACH; q++) {
        int64_t r = first + q * lines;
        if (r < S.rows) Y[r * S.ldy + c] = sum[q];
    }
}

const int SMALL = 8, LARGE = 16; /* sides of squares */

const void *const kernels[] = {
    reinterpret_cast<const void *>(tsmttsm<double, SMALL>),
    reinterpret_cast<const void *>(tsmttsm<float, SMALL>),
    reinterpret_cast<const void *>(tsmttsm<double, LARGE>),
    reinterpret_cast<const void *>(tsmttsm<float, LARGE>),
    reinterpret_cast<const void *>(tsmm<double>),
    reinterpret_cast<const void *>(tsmm<float>),
};

} // namespace

cudaError_t tulle__cuda_load_tall(void)
{
    return tulle_cuda::load(kernels);
}

cudaError_t tulle__cuda_tsmttsm_start(cudaStream_t stream, const tulle__cuda_tsmttsm *G, int f64, int64_t pieces)
{
    int side = G->m <= SMALL && G->n <= SMALL ? SMALL : LARGE;
    const tulle_cuda::grid squares(pieces, (G->m + side - 1) / side, (G->n + side - 1) / side);
    return tulle_cuda::launch(side == SMALL ? (f64 ? tsmttsm<double, SMALL> : tsmttsm<float, SMALL>)
                                            : (f64 ? tsmttsm<double, LARGE> : tsmttsm<float, LARGE>),
        squares, static_cast<unsigned>(side * side), 0, stream, *G);
}

cudaError_t tulle__cuda_tsmm_start(cudaStream_t stream, const tulle__cuda_tsmm *S, int f64)
{
    int lines = THREADS / S->n;
    int64_t blocks = (S->rows + lines * EACH - 1) / (lines * EACH);
    return tulle_cuda::launch(f64 ? tsmm<double> : tsmm<float>, blocks, THREADS, 0, stream, *S, lines);
}
