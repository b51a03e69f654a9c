/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local kernels on host memory: the records that describe their work and the table that holds them. The table starts as
 * the reference (plain, obviously right) and is overwritten by what the device has. All kernels are local calls,
 * leave their inputs alone, and are safe to run from several PEs at once, each with its own pool.
 */
#ifndef TULLE_KERNEL_KERNEL_H
#define TULLE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tulle/report.h>
#include <tulle/types.h>

#include "kernel/pool.h"
#include "kernel/stored_half.h"

/*
 * A CSR tile, m x n. rowptr has m + 1 entries and may start above 0 (a row range of a larger tile).
 *
 * In blocks (row_block is not NULL) m, n, rowptr and colind count block rows, block columns and
 * blocks. Block row r has row_block[r + 1] - row_block[r] rows, block columns likewise. Block e is
 * row-major at val + offset[e], or at e times its size if offset is NULL and all have one.
 */
typedef struct tulle__csr {
    int64_t m, n;
    const int64_t *rowptr;
    const int32_t *colind; /* indexed by rowptr values; ascending in each row unless a kernel says otherwise */
    const void *val;
    const int64_t *offset;
    const double *norm; /* squared Frobenius norm of each block; NULL: not known */
    const tulle_gidx *row_block, *col_block;
} tulle__csr;

/* Rows first .. first + rows - 1 of A, or block rows. */
static inline tulle__csr tulle__csr_rows(const tulle__csr *A, int64_t first, int64_t rows)
{
    tulle__csr part = *A;
    part.m = rows;
    if (part.rowptr) part.rowptr += first;
    if (part.row_block) part.row_block += first;
    return part;
}

typedef struct tulle__unchecked_csr tulle__unchecked_csr; /* unchecked_csr.h */

/* One summand of a chain of sparse-dense products: A m x k, B k x n with element (r, c) at B[r * b_row + c * b_col]. */
typedef struct tulle__spmm_pair {
    tulle__csr A;
    const void *B;
    int64_t b_row, b_col; /* strides in elements; row-major: b_col = 1, b_row >= n */
} tulle__spmm_pair;

/*
 * A chain into one dense C tile (m x n, element (r, c) at C[r * c_row + c * c_col]): C = alpha sum_p A_p B_p + beta C,
 * in one pass over C; beta = 0 does not read C. Pairs are added in their order, entries of a row of A in theirs. Up to
 * eight sums of a pair go side by side, those of positions equal modulo their number, and are added at the pair's end,
 * of one column to four that are added at the end of all: how many depends on n alone, and for one column on whether
 * B's rows lie next to each other in all pairs, so that results do not depend on threads; instruction sets have
 * different ones, and those with a fused multiply-add use it, so that the last bits may differ between them.
 * Column-major and other strides are right but slower: panels of B are packed, rows of C go through a small block.
 */
typedef struct tulle__spmm_task {
    tulle_type type;
    int64_t m, n;
    int npairs; /* at least one */
    const tulle__spmm_pair *pair;
    void *C;
    int64_t c_row, c_col;
    double alpha, beta;
} tulle__spmm_task;

/* One summand of a chain of dense products: A m x k, B k x n, element (r, c) of A at A[r * a_row + c * a_col]. */
typedef struct tulle__gemm_pair {
    int64_t k;
    const void *A;
    int64_t a_row, a_col; /* one of them is 1 */
    const void *B;
    int64_t b_row, b_col; /* one of them is 1 */
} tulle__gemm_pair;

/*
 * A chain of dense products into one C tile (m x n, element (r, c) at C[r * c_row + c * c_col], one stride is 1):
 * C = alpha sum_p A_p B_p + beta C; beta = 0 does not read C. Pairs are added in their order. The order of sums within
 * a pair, and so the last bits, is that of the BLAS or of the own tiles, on pieces of C that follow from the sizes and
 * the number of threads.
 */
typedef struct tulle__gemm_task {
    tulle_type type;
    int64_t m, n;
    int npairs; /* at least one */
    const tulle__gemm_pair *pair;
    void *C;
    int64_t c_row, c_col;
    double alpha, beta;
} tulle__gemm_task;

/*
 * The kernels of products of blocks (device/kernels/block_chain/), by the least of rows, inner indices and columns of
 * the blocks: the last one that is there and takes blocks of that size multiplies. The first takes all.
 */
struct tulle__block_chain;
typedef void (*tulle__block_chain_kernel)(const struct tulle__block_chain *chain);
typedef struct tulle__block_kernels {
    int64_t from[TULLE_BLOCK_KERNELS]; /* the least size that each takes */
    tulle__block_chain_kernel libxsmm; /* NULL: it is not there */
} tulle__block_kernels;
/* Limits where sizes have not been measured. */
enum { TULLE__LIBXSMM_FROM = 32, TULLE__BLAS_FROM = 192, TULLE__BLOCK_NEVER = 1 << 20 };

/* One summand of a chain: scale * A B. A->rowptr == NULL stands for the identity: the summand is scale * B. */
typedef struct tulle__spgemm_pair {
    tulle__csr A, B;
    double scale;
} tulle__spgemm_pair;

/*
 * A chain into one C tile (m x n): C = sum over p of scale_p A_p B_p, for all m rows of the pairs. Contributions to an
 * entry are added in the order (p, position in A's row), so results do not depend on threads or accumulators.
 * Structural: an entry exists if any product contributes to it, also where values cancel to 0. A contribution is
 * (scale a) b, rounded twice, added to a sum that starts as +0: the same bits from every kernel and instruction set.
 * The columns of a row of B ascend strictly; those of a row of A may come in any order.
 */
struct tulle__csr_result;
struct tulle__row_selection;

typedef struct tulle__spgemm_task {
    tulle_type type;
    int64_t m, n;
    int npairs;
    const tulle__spgemm_pair *pair;
    int unsorted; /* 1: the columns of a row of C may come in any order */
    /* Not NULL, not in blocks: C has these entries of each row, in ascending order; sums are complete before. */
    const struct tulle__row_selection *select;
    /*
     * Not NULL: C may be placed before its entries are counted, with room for more, and is trimmed then: with rowptr
     * not yet filled, nnz entries at C->colind and C->val move to where they belong, which C tells then. If the room is
     * too small C is placed again. The context is that of `place`.
     */
    tulle_status (*trim)(void *context, int64_t m, int64_t nnz, struct tulle__csr_result *C);
    /*
     * In blocks: least[r], not NULL, is the product of squared norms below which a product of blocks of block row r
     * is skipped. pattern, not NULL: block rows of m, and only blocks that it has are made.
     */
    const double *least;
    const tulle__csr *pattern;
    /* in blocks: only those that a half stores are made; where C's first block is among all of a matrix */
    bool half;
    int half_shift;
    int64_t first_row, first_col;
    const tulle__block_kernels *kernels; /* NULL: the own one and, from TULLE__BLAS_FROM on, the BLAS */
} tulle__spgemm_task;

/*
 * `count` rows of a triangular solve, one after the other, for `cols` right-hand sides side by side: the row at step s
 * (0 .. count - 1) is row r = s * step of rowptr, without its first `head` and last `tail` entries, and
 *   x[at + r] = (b[i] - sum of val[e] x[colind[e]]) * inverse[s],   out[i] = x[at + r],   i = row ? row[s] : r
 * If `divides`, its pivot is the entry left out, and inverse[s] = 1 / pivot, rounded. Lines of x, b and out are ld
 * apart. Entries are taken in the order of step; products and sums are rounded each, so that all instruction sets give
 * the same bits. They are subtracted one after the other; but if one column is solved for and a row has more than
 * TULLE__SOLVE_SHORT, all but about the TULLE__SOLVE_TAIL last ones, which others have computed last, are summed first,
 * in four sums side by side. (In a short row the chain of subtractions is hidden behind those of its neighbours.)
 */
enum { TULLE__SOLVE_SHORT = 16, TULLE__SOLVE_TAIL = 4 };
typedef struct tulle__solve_task {
    tulle_type type;
    int step;       /* 1 or -1 */
    int head, tail; /* 0 or 1: where the pivot is stored */
    int64_t count, cols;
    const int64_t *rowptr; /* at the first row to be solved, as the following are */
    const int32_t *colind;
    const void *val;
    const void *inverse; /* NULL: all 1, unless it divides */
    int divides;
    const int32_t *row; /* NULL, or the lines of b and out, which then begin at line 0 */
    const void *b;
    int64_t ldb;
    void *x; /* from line 0 */
    int64_t at, ldx;
    void *out; /* NULL: none */
    int64_t ldo;
} tulle__solve_task;

/*
 * A dense block, m x k, row-major with lines lda apart, for `cols` vectors side by side: X of k lines and Y of m lines,
 * ldx and ldy apart. Sums may be in any order and fused, so that bits depend on the library behind it.
 */
typedef struct tulle__dense_task {
    tulle_type type;
    int64_t m, k, cols;
    const void *A;
    int64_t lda;
    const void *X;
    int64_t ldx;
    const int32_t *x_line; /* NULL, or where in X its k lines are */
    void *Y;
    int64_t ldy;
    const int32_t *y_line; /* NULL, or where in Y its m lines are */
} tulle__dense_task;

/*
 * Tall and narrow matrices, row-major with lines ld apart, of any number of rows and at most TULLE__TALL_MOST columns.
 *
 * tsmttsm: G = X^T Y in double, X `rows` x m, Y `rows` x n, G m x n with lines n apart. Rows are added one after the
 * other in chunks of TULLE__TALL_CHUNK, and chunks one after the other; products and sums are rounded each, so that all
 * instruction sets give the same bits. symmetric: G is known to be (m = n), and its halves are made the same.
 */
enum { TULLE__TALL_MOST = 64, TULLE__TALL_CHUNK = 64 };
typedef struct tulle__tsmttsm_task {
    tulle_type type;
    int symmetric;
    int64_t rows, m, n;
    const void *X;
    int64_t ldx;
    const void *Y;
    int64_t ldy;
    double *G;
} tulle__tsmttsm_task;

/*
 * tsmm: Y = (add ? Y : 0) + X_0 B_0 + X_1 B_1 + ..., all summands in that order, Y `rows` x n; any X may be Y. B_t is
 * k x TULLE__TALL_MOST, of the type, its columns beyond n zeros.
 */
typedef struct tulle__tsmm_term {
    const void *X;
    int64_t ld, k;
    const void *B;
} tulle__tsmm_term;
typedef struct tulle__tsmm_task {
    tulle_type type;
    int add, nterms;
    int64_t rows, n;
    const tulle__tsmm_term *term;
    void *Y;
    int64_t ld;
} tulle__tsmm_task;

/*
 * gram: rows of a sparse matrix and their transpose in one pass, row by row, entries e from ptr[r] - ptr[0] on:
 *   z_r = sum of val[e] X[col[e]] - shift + keep Z[r];  Z[r] = z_r;  total += z_r;  Y[col[e]] += val[e] z_r
 * X, Z and Y have lines of n values, ldx, ldz and ldy apart, of `type`, which is at least as wide as `values`. shift,
 * keep, [n], which takes Z as it was, Z, and Y with total, are NULL where they are not wanted. X NULL: Z is given,
 * Y += A^T Z.
 */
typedef struct tulle__gram_task {
    tulle_type values, type;
    int64_t rows, n;
    const int64_t *ptr; /* [rows + 1] */
    const int32_t *col;
    int64_t ldx, ldz, ldy;
    const void *val, *X, *shift, *keep;
    void *Z, *Y, *total;
} tulle__gram_task;

/*
 * Vectors, rows begin .. end - 1 of them.
 *
 * dots: sums[v * ny + w] = x[v]^T y[w], v < nx, w < ny, in double: eight sums side by side, of rows equal modulo 8 from
 * begin, each in the order of the rows, products and sums rounded each, s0 .. s7 then added as ((s0 + s4) + (s2 + s6))
 * +
 * ((s1 + s5) + (s3 + s7)), so that all instruction sets give the same bits.
 */
typedef struct tulle__dots_task {
    tulle_type type;
    int nx, ny; /* ny: 1 or 2 */
    const void *const *x, *const *y;
    int64_t begin, end;
    double *sums;
} tulle__dots_task;

/*
 * combine: y[w] = beta[w] y[w] + the sum over v < nx of coef[w * nx + v] x[v], w < ny, summand by summand in the type,
 * each product and sum rounded; beta = 0 does not read y. No y is any x, but y[0] may be x[0] where there is no other
 * of either.
 */
typedef struct tulle__combine_task {
    tulle_type type;
    int nx, ny; /* ny: 1 or 2 */
    const void *const *x;
    const double *coef;
    double beta[2];
    void *y[2];
    int64_t begin, end;
} tulle__combine_task;

/*
 * A slab of a sparse matrix in blocks: block rows first .. first + m - 1 of it, n block columns of which it names any.
 * A block is block x block values, row-major, all of them stored; block = 1 is CSR. If symmetric, the matrix is square
 * and only blocks with column >= row are stored; those with column > row act as their transposes as well, at (column,
 * row), so that a matrix is its slabs' sum.
 */
typedef struct tulle__bsr {
    int64_t first, m, n;
    int block;
    int symmetric;
    int64_t span;          /* symmetric: no block is more columns right of the diagonal than that; 0: to be found */
    const int64_t *rowptr; /* m + 1, counting blocks; may start above 0 (a range of block rows of a larger slab) */
    int index_bytes;       /* 4: colind are int32_t, block columns; 2: uint16_t, block columns less base of the row */
    const void *colind;    /* indexed by rowptr values; ascending in each row */
    const int32_t *base;   /* index_bytes = 2: [m] */
    const void *val;       /* block * block values for each of colind's */
} tulle__bsr;

/*
 * A slab times k columns side by side. X has n * block lines, ldx apart; Y is given from its line 0 on, ldy apart.
 *   not symmetric: Y = A X in lines first * block .. (first + m) * block - 1, which are written and not read
 *   symmetric:     Y += A X in the same lines, and in as many after them as the blocks reach right (span); nothing else
 *                  is touched. Who starts with Y = 0 and goes through all slabs of a matrix, in any order but one after
 *                  the other, has its product with X.
 * Products and sums are f64 whatever the types; an element of Y is rounded once a call, if vectors are f32. Values f64
 * with vectors f32 are TULLE_ERR_UNSUPPORTED. Sums are in an order that follows from slab, k and instruction set alone
 * and never from threads or time: a row is summed by one thread, and of a symmetric slab what goes to other rows is
 * collected in runs of block rows, whose number the slab's structure gives, and added run by run.
 */
typedef struct tulle__bsr_task {
    tulle_type values, vectors;
    tulle__bsr A;
    int64_t k;
    const void *X;
    int64_t ldx;
    void *Y;
    int64_t ldy;
} tulle__bsr_task;

/*
 * sddmm: val[e] = alpha x_r . y_c for the entries e = from[r] .. to[r] - 1 of rows r < m, c = colind[e] - first: X and
 * Y row-major, of k columns. Sums are in the type: lanes of columns equal modulo 16 (f64: 8) in the order of the
 * columns, then halves of them, products and sums rounded each, so that all instruction sets give the same bits.
 */
typedef struct tulle__sddmm_task {
    tulle_type type;
    int64_t m, k;
    const int64_t *from, *to;
    const tulle_lidx *colind;
    int64_t first;
    const void *X;
    int64_t ldx;
    const void *Y;
    int64_t ldy;
    double alpha;
    void *val;
} tulle__sddmm_task;

/* The C tile that a kernel made. */
typedef struct tulle__csr_result {
    int64_t multiplications; /* that spgemm did for it */
    int64_t nnz;             /* entries, or blocks */
    int64_t *rowptr;         /* m + 1, from 0 */
    int32_t *colind;
    void *val;
    /* In blocks. */
    int64_t values;                  /* of all blocks */
    int64_t skipped;                 /* products of blocks, by the filter */
    int64_t by[TULLE_BLOCK_KERNELS]; /* multiplications of each kernel; the reference does not tell */
    int64_t *offset;                 /* nnz + 1 */
    double *norm;                    /* squared norms */
} tulle__csr_result;

/*
 * Places the result of a kernel: called once (but see trim), by the thread that called the kernel, as soon as nnz is
 * known, so that the caller can put C where other PEs reach it. Fills rowptr, colind, val with room for m + 1, nnz, nnz
 * entries. A kernel can still fail after that, since it allocates working space late: the caller frees what was placed
 * then. In blocks nnz counts blocks, C->values is set before, and offset and norm are filled as well.
 */
typedef tulle_status (*tulle__csr_place)(void *context, int64_t m, int64_t nnz, tulle__csr_result *C);

typedef struct tulle__kernels {
    tulle_status (*spmm)(tulle__pool *pool, const tulle__spmm_task *task);

    /*
     * The same for one pair, whose A is in arrays that have not been checked: pair->A is not looked at. Rows are
     * checked as they are multiplied, and nothing that they name outside of B is read. *valid: false if pointers do not
     * ascend from 0 to nnz or a column is not in 0 .. n - 1; C is undefined then.
     */
    tulle_status (*spmm_unchecked)(
        tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid);

    /* C = alpha A^T B + beta C without a transpose, m columns of A: A's rows are added to beta C in their order. */
    tulle_status (*spmm_scatter)(
        tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid);

    /*
     * The same with all A in blocks; m, C and `first` count rows: those of the task are rows first .. first + m - 1 of
     * the pairs. An element is one sum over (p, position of the block, column in it), times alpha, then + beta C.
     */
    tulle_status (*spmm_blocks)(tulle__pool *pool, const tulle__spmm_task *task, int64_t first);

    tulle_status (*gemm)(tulle__pool *pool, const tulle__gemm_task *task);

    tulle_status (*bsr)(tulle__pool *pool, const tulle__bsr_task *task);

    /* flops[r] = multiplications for row r of C (additions not counted), r = 0 .. m - 1. */
    tulle_status (*spgemm_flops)(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *flops);

    /* The whole product. TULLE_ERR_OVERFLOW if n is over INT32_MAX. */
    tulle_status (*spgemm)(
        tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C);

    /* rowptr[0 .. m] of C only. */
    tulle_status (*spgemm_symbolic)(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *rowptr);

    /* Values only: C->rowptr and C->colind are those of an earlier product of the same structure; rowptr may begin
     * anywhere, in the middle of a larger one. */
    tulle_status (*spgemm_numeric)(tulle__pool *pool, const tulle__spgemm_task *task, const tulle__csr_result *C);

    /*
     * The same with all factors and C in blocks; m and n count block rows and columns. C's blocks have squared norms.
     * An element of a block is one sum over (p, position of A's block in its row, inner index), in groups of A's blocks
     * whose size follows from the structure alone. An identity A with scale 0 gives B's structure, and its values are
     * not read. spgemm_blocks_numeric leaves out blocks that C does not have; others become 0.
     */
    tulle_status (*spgemm_blocks)(
        tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C);
    tulle_status (*spgemm_blocks_numeric)(tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C);

    /*
     * T = A^T (A m x n): T has n rows; room of n + 1, nnz, nnz is the caller's. Columns of T ascend. Values are moved
     * as they are, whatever their bits.
     */
    tulle_status (*transpose)(tulle__pool *pool, tulle_type type, const tulle__csr *A, tulle__csr_result *T);

    tulle_status (*sddmm)(tulle__pool *pool, const tulle__sddmm_task *task);

    void (*solve)(const tulle__solve_task *task);

    /* Y -= A X. */
    void (*subtract)(const tulle__dense_task *task);
    /* Y = A^-1 Y, A the upper or lower triangle of the block, m x m (k = m; X is not looked at), its diagonal ones if
     * unit. */
    void (*substitute)(const tulle__dense_task *task, int upper, int unit);
    /* Whatever threads a library of dense blocks has of its own: from now on each caller has one, in all the process.
     */
    void (*alone)(void);

    void (*tsmttsm)(const tulle__tsmttsm_task *task);
    void (*tsmm)(const tulle__tsmm_task *task);
    void (*gram)(const tulle__gram_task *task);
    void (*dots)(const tulle__dots_task *task);
    void (*combine)(const tulle__combine_task *task);

    /* Lines of `width` values, ld apart, times beta; beta = 0 does not read them. */
    tulle_status (*scale)(
        tulle__pool *pool, tulle_type type, int64_t lines, int64_t width, int64_t ld, double beta, void *val);

    /* Element (r, c) of a row-major panel, m x n, is added to C[r * c_row + c * c_col]. */
    void (*add)(tulle_type type, int64_t m, int64_t n, const void *panel, void *C, int64_t c_row, int64_t c_col);

    /* to[e] = from[order[e]], e = 0 .. n - 1, for numbers of 4 or 8 bytes without sign. */
    tulle_status (*gather)(tulle__pool *pool, tulle_type type, int64_t n, const void *order, size_t order_bytes,
        const void *from, void *to);

    /* Values, or what else only kernels read, from one place to another. */
    void (*copy)(void *to, const void *from, size_t bytes);
} tulle__kernels;

/* The reference; and what this processor runs best, chosen once by its instruction set. */
const tulle__kernels *tulle__kernels_ref(void);
const tulle__kernels *tulle__kernels_cpu(void);

/* Kernels of a device that holds no values (none/none.c). */
tulle__kernels tulle__kernels_none(void);

/* The instruction set that the cpu kernels use here: "avx512", "avx2", "portable". */
const char *tulle__kernels_cpu_isa(void);

#endif
