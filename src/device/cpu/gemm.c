/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of dense products on pieces of C, one piece a thread: by tiles where a side is short or there is no BLAS that
 * may be called by several threads, else by the BLAS; by loops where the instruction set has no tiles. */
#include "device/cpu/dense_calls.h"

#include <limits.h>

#include "base/host/blas.h"
#include "base/host/blas_names.h"

#define TEMPLATE "device/cpu/gemm_loops.h"
#include "kernel/both_types.h"

#ifdef TULLE_HAVE_CBLAS
#include <cblas.h>

/* The BLAS counts in int: longer inner sizes are cut. */
enum { INNER_MOST = 1 << 30 };

/* The leading dimension of an operand, and whether the BLAS sees it transposed where C is row-major or column-major. */
static int leading(int64_t row, int64_t col, int by_row, CBLAS_TRANSPOSE *trans)
{
    int along_rows = col == 1;
    *trans = along_rows == by_row ? CblasNoTrans : CblasTrans;
    return (int)(along_rows ? row : col);
}

static int suits(const tulle__gemm_task *t)
{
    int fits = t->m <= INT_MAX && t->n <= INT_MAX && t->c_row <= INT_MAX && t->c_col <= INT_MAX;
    for (int p = 0; p < t->npairs; p++)
        fits &= t->pair[p].a_row <= INT_MAX && t->pair[p].a_col <= INT_MAX && t->pair[p].b_row <= INT_MAX &&
                t->pair[p].b_col <= INT_MAX;
    return fits && tulle__blas_by_threads() && tulle__blas_has_room();
}

static int at_least(int64_t ld, int64_t least)
{
    return (int)(ld < least ? least : ld);
}

/* The BLAS's order of a matrix with these strides, of lines of `row` or `col` elements, and its leading dimension. */
static CBLAS_ORDER order_of(int64_t row, int64_t col, int64_t rows, int64_t cols, int *ld)
{
    *ld = at_least(col == 1 ? at_least(row, cols) : at_least(col, rows), 1);
    return col == 1 ? CblasRowMajor : CblasColMajor;
}

/* y = alpha op(M) x + beta y */
static void multiply_vector(const tulle__gemm_task *t, CBLAS_ORDER order, CBLAS_TRANSPOSE trans, int rows, int cols,
    const void *M, int ld, const void *x, int64_t x_step, int64_t y_step)
{
    const int dx = at_least(x_step, 1), dy = at_least(y_step, 1);
    if (t->type == TULLE_F32)
        cblas_sgemv(order, trans, rows, cols, (float)t->alpha, M, ld, x, dx, (float)t->beta, t->C, dy);
    else
        cblas_dgemv(order, trans, rows, cols, t->alpha, M, ld, x, dx, t->beta, t->C, dy);
}

/* A column or a row of C, of one pair whose inner size the BLAS can count. */
static void multiply_line(const tulle__gemm_task *t)
{
    const tulle__gemm_pair *pair = t->pair;
    const int m = (int)t->m, n = (int)t->n, k = (int)pair->k;
    int ld;
    if (n == 1) {
        const CBLAS_ORDER order = order_of(pair->a_row, pair->a_col, m, k, &ld);
        multiply_vector(t, order, CblasNoTrans, m, k, pair->A, ld, pair->B, pair->b_row, t->c_row);
    } else {
        const CBLAS_ORDER order = order_of(pair->b_row, pair->b_col, k, n, &ld);
        multiply_vector(t, order, CblasTrans, k, n, pair->B, ld, pair->A, pair->a_col, t->c_col);
    }
}

/* An operand that has one line only may have any stride between lines; the BLAS wants one that a line fits in. */
static void multiply_blas(const tulle__gemm_task *t)
{
    if ((t->m == 1 || t->n == 1) && t->npairs == 1 && t->pair->k > 0 && t->pair->k <= INNER_MOST) {
        multiply_line(t);
        return;
    }
    int by_row = t->c_col == 1, m = (int)t->m, n = (int)t->n;
    int ldc = at_least(by_row ? t->c_row : t->c_col, by_row ? n : m);
    double beta = t->beta;
    for (int p = 0; p < t->npairs; p++) {
        const tulle__gemm_pair *pair = &t->pair[p];
        const char *A = pair->A, *B = pair->B;
        int64_t size = (int64_t)tulle_type_size(t->type);
        int64_t k = pair->k;
        do { /* also with k = 0, which is beta C */
            CBLAS_TRANSPOSE ta, tb;
            int inner = (int)(k < INNER_MOST ? k : INNER_MOST), order = by_row ? CblasRowMajor : CblasColMajor;
            int lda = leading(pair->a_row, pair->a_col, by_row, &ta),
                ldb = leading(pair->b_row, pair->b_col, by_row, &tb);
            lda = at_least(lda, pair->a_col == 1 ? inner : m);
            ldb = at_least(ldb, pair->b_col == 1 ? n : inner);
            lda = at_least(lda, 1);
            ldb = at_least(ldb, 1);
            if (t->type == TULLE_F32)
                cblas_sgemm((CBLAS_ORDER)order, ta, tb, m, n, inner, (float)t->alpha, (const float *)(const void *)A,
                    lda, (const float *)(const void *)B, ldb, (float)beta, t->C, ldc);
            else
                cblas_dgemm((CBLAS_ORDER)order, ta, tb, m, n, inner, t->alpha, (const double *)(const void *)A, lda,
                    (const double *)(const void *)B, ldb, beta, t->C, ldc);
            beta = 1;
            A += pair->a_col * inner * size;
            B += pair->b_row * inner * size;
            k -= inner;
        } while (k > 0);
    }
}
#else
static int suits(const tulle__gemm_task *t)
{
    (void)t;
    return 0;
}
static void multiply_blas(const tulle__gemm_task *t)
{
    (void)t;
}
#endif

/* Tiles are faster than the BLAS where a side is short, or all sides are within these; below, it does not pack either.
 */
enum { SHORT_SIDE = 48, LEAST_SIDE = 96, LONG_SIDE = 320 };

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* True if tiles are faster than the BLAS; C is row-major. */
static bool is_for_tiles(const tulle__gemm_task *t)
{
    const int64_t m = t->m, n = t->n, k = t->pair->k;
    if (m == 1 || n == 1 || !suits(t)) return !suits(t);
    if (t->pair->b_col != 1 && m < SHORT_SIDE) return false; /* B would be packed for a few rows */
    const int64_t longest = largest(largest(m, n), k);
    if (longest <= LEAST_SIDE) return false;
    return m <= SHORT_SIDE || n <= SHORT_SIDE || k <= SHORT_SIDE || longest <= LONG_SIDE;
}

/* C = A B as C^T = B^T A^T: one of both has a row-major C. */
static tulle__gemm_task transposed(const tulle__gemm_task *t, tulle__gemm_pair *pair)
{
    const tulle__gemm_pair *old = t->pair;
    tulle__gemm_task x = *t;
    *pair = (tulle__gemm_pair){old->k, old->B, old->b_col, old->b_row, old->A, old->a_col, old->a_row};
    x.pair = pair;
    x.m = t->n;
    x.n = t->m;
    x.c_row = t->c_col;
    x.c_col = t->c_row;
    return x;
}

static bool multiply_tiles(tulle__gemm_tiles tiles, const tulle__gemm_task *t)
{
    tulle__gemm_pair pair;
    const tulle__gemm_task x = t->c_col == 1 ? *t : transposed(t, &pair);
    return is_for_tiles(&x) && tiles(&x);
}

static void multiply(tulle__gemm_tiles tiles, const tulle__gemm_task *t)
{
    if (multiply_tiles(tiles, t)) return;
    if (suits(t))
        multiply_blas(t);
    else if (t->type == TULLE_F32)
        gemm_f32(t);
    else
        gemm_f64(t);
}

/*
 * Pieces of C, rows x cols of them, each as a sum of products over slices of its inner size: as near to squares as
 * threads allow, and so short that a product which shall end does so soon.
 */
struct pieces {
    tulle__gemm_tiles tiles;
    const tulle__gemm_task *task;
    tulle__pool *pool;
    int64_t rows, cols, inner; /* inner: the longest slice */
    atomic_int_fast64_t next;
};

enum { PIECE_LEAST = 32 }; /* rows or columns of a piece: smaller ones cost more in calls than they save */
enum {
    SMALL_WORK = 1 << 18,
    ELEMENT_WORK = 8
}; /* multiplications that one thread is done with before another is awake;
      an element that is read or written is as much as so many */
static const double blas_flops = 2e9, loop_flops = 5e8; /* most of a slice of a piece: tenths of a second */

static bool is_small(const tulle__gemm_task *t)
{
    const double m = (double)t->m, n = (double)t->n;
    double work = ELEMENT_WORK * m * n;
    for (int p = 0; p < t->npairs; p++) work += (double)t->pair[p].k * (m * n + ELEMENT_WORK * (m + n));
    return work < SMALL_WORK;
}

static struct pieces cut(const tulle__gemm_task *task, tulle__pool *pool)
{
    struct pieces best = {.task = task, .pool = pool, .rows = 1, .cols = 1, .inner = 1};
    const int threads = is_small(task) ? 1 : tulle__pool_size(pool);
    const double most = suits(task) ? blas_flops : loop_flops;
    double least = 0;
    for (int rows = 1; rows <= threads; rows++) {
        if (threads % rows) continue;
        int cols = threads / rows;
        double height = (double)task->m / rows, width = (double)task->n / cols;
        if ((rows > 1 && height < PIECE_LEAST) || (cols > 1 && width < PIECE_LEAST)) continue;
        if (least > 0 && height + width >= least) continue;
        least = height + width;
        best.rows = rows;
        best.cols = cols;
    }
    for (int p = 0; p < task->npairs; p++)
        if (task->pair[p].k > best.inner) best.inner = task->pair[p].k;
    for (;;) {
        const double height = (double)task->m / (double)best.rows, width = (double)task->n / (double)best.cols,
                     depth = (double)best.inner;
        if (2 * height * width * depth <= most) return best;
        if (height >= width && height >= depth)
            best.rows *= 2;
        else if (width >= depth)
            best.cols *= 2;
        else
            best.inner = (best.inner + 1) / 2;
    }
}

/* A piece of one pair's product, by slices. False if the job shall end. */
static bool multiply_slices(const struct pieces *x, const tulle__gemm_task *piece, const tulle__gemm_pair *whole)
{
    const size_t size = tulle_type_size(piece->type);
    tulle__gemm_task part = *piece;
    tulle__gemm_pair pair = *whole;
    part.pair = &pair;
    for (int64_t k = 0; k == 0 || k < whole->k; k += x->inner) { /* also with k = 0, which is beta C */
        if (!tulle__pool_continues(x->pool)) return false;
        pair.k = whole->k - k < x->inner ? whole->k - k : x->inner;
        pair.A = (const char *)whole->A + (size_t)(k * pair.a_col) * size;
        pair.B = (const char *)whole->B + (size_t)(k * pair.b_row) * size;
        multiply(x->tiles, &part);
        part.beta = 1;
    }
    return true;
}

static tulle_status multiply_pieces(void *arg, int thread, int nthreads)
{
    struct pieces *x = arg;
    const tulle__gemm_task *t = x->task;
    const size_t size = tulle_type_size(t->type);
    const int64_t count = x->rows * x->cols;
    (void)thread;
    (void)nthreads;
    for (int64_t piece; (piece = tulle__pool_take(x->pool, &x->next, count)) < count;) {
        int64_t i = piece / x->cols, j = piece % x->cols;
        int64_t r0 = t->m * i / x->rows, r1 = t->m * (i + 1) / x->rows, c0 = t->n * j / x->cols,
                c1 = t->n * (j + 1) / x->cols;
        for (int p = 0; p < t->npairs; p++) {
            tulle__gemm_pair pair = t->pair[p];
            pair.A = (const char *)pair.A + (size_t)(r0 * pair.a_row) * size;
            pair.B = (const char *)pair.B + (size_t)(c0 * pair.b_col) * size;
            tulle__gemm_task part = *t;
            part.m = r1 - r0;
            part.n = c1 - c0;
            part.npairs = 1;
            part.C = (char *)t->C + (size_t)(r0 * t->c_row + c0 * t->c_col) * size;
            part.beta = p ? 1 : t->beta;
            if (!multiply_slices(x, &part, &pair)) return TULLE_OK;
        }
    }
    return TULLE_OK;
}

tulle_status tulle__dense_gemm(tulle__gemm_tiles tiles, tulle__pool *pool, const tulle__gemm_task *task)
{
    if (!task->m || !task->n) return TULLE_OK;
    struct pieces x = cut(task, pool);
    x.tiles = tiles;
    bool sliced = false;
    for (int p = 0; p < task->npairs; p++) sliced |= task->pair[p].k > x.inner;
    if (sliced || x.rows * x.cols > 1) return tulle__pool_run(pool, multiply_pieces, &x);
    x.pool = NULL; /* one that is short is not worth waking threads for */
    return multiply_pieces(&x, 0, 1);
}
