/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product of a symmetric slab of blocks, of which half is stored, with one column; instances as those
 * of bsr_column.h. A block right of the diagonal is used twice while it is at hand: with
 * the lines of x at its columns for its own rows, and with those at its rows for the lines of y at its columns. These
 * are read again soon after they were written, so LOAD_PIECES and STORE_PIECES read and write them in pieces of the
 * same sizes, which a processor forwards from store to load. Values are fetched a quarter of a page ahead: a whole one
 * took 3 % longer.
 */
/* Memory for sums of block column `col`. */
INLINE double *NAME(there)(const tulle__bsr_rows *rows, int64_t begin, int64_t end, int64_t col, int64_t b)
{
    return col < end ? rows->own + (col - begin) * b * rows->own_ld : rows->beyond + (col - end) * b * rows->k;
}

#include "device/kernels/bsr/bsr_half_scalars.h"

/* y += A^T x for one block, b = 2 .. 8; spread[r]: x's line r in all lanes. sum += A (x at the block's columns). */
INLINE void NAME(both)(V *sum, const V *spread, const A_T *a, const X_T *x, double *y, const int b)
{
    V x0 = b >= 4 ? LOAD_FROM(X_T, x) : LOAD_FIRST(X_T, x, b), x1 = b > 4 ? LOAD_FIRST(X_T, x + 4, b - 4) : x0;
    V y0 = b >= 4 ? LOAD(y) : LOAD_PIECES(y, b), y1 = b > 4 ? LOAD_PIECES(y + 4, b - 4) : y0;
#pragma GCC unroll 8
    for (int r = 0; r < b; r++) {
        V a0 = b >= 4 ? LOAD_FROM(A_T, a + r * b) : LOAD_FIRST(A_T, a + r * b, b);
        sum[r] = FMA(a0, x0, sum[r]);
        y0 = FMA(a0, spread[r], y0);
        if (b > 4) {
            V a1 = LOAD_FIRST(A_T, a + r * b + 4, b - 4);
            sum[r] = FMA(a1, x1, sum[r]);
            y1 = FMA(a1, spread[r], y1);
        }
    }
    if (b >= 4)
        STORE(y, y0);
    else
        STORE_PIECES(y, y0, b);
    if (b > 4) STORE_PIECES(y + 4, y1, b - 4);
#pragma GCC unroll 8
    for (int t = 0; t < b * b; t += 64 / (int)sizeof *a) tulle__fetch_ahead(a + t, 1024);
}

/* sum += A x for a block on the diagonal. */
INLINE void NAME(diagonal)(V *sum, const A_T *a, const X_T *x, const int b)
{
    V x0 = b >= 4 ? LOAD_FROM(X_T, x) : LOAD_FIRST(X_T, x, b), x1 = b > 4 ? LOAD_FIRST(X_T, x + 4, b - 4) : x0;
#pragma GCC unroll 8
    for (int r = 0; r < b; r++) {
        sum[r] = FMA(b >= 4 ? LOAD_FROM(A_T, a + r * b) : LOAD_FIRST(A_T, a + r * b, b), x0, sum[r]);
        if (b > 4) sum[r] = FMA(LOAD_FIRST(A_T, a + r * b + 4, b - 4), x1, sum[r]);
    }
}

INLINE void NAME(half_blocks)(const tulle__bsr_rows *rows, const int b)
{
    const tulle__bsr A = *rows->A;
    const X_T *X = rows->X;
    const A_T *val = (const A_T *)A.val + A.rowptr[rows->begin] * b * b;
    const int64_t begin = A.first + rows->begin, end = A.first + rows->end;
    double *own = rows->own;
    for (int64_t i = rows->begin; i < rows->end; i++, own += b) {
        int64_t e = A.rowptr[i], stop = A.rowptr[i + 1], row = A.first + i;
        V sum[8], spread[8];
#pragma GCC unroll 8
        for (int r = 0; r < b; r++) {
            sum[r] = (V){0};
            spread[r] = SPLAT((double)X[row * b + r]);
        }
        if (e < stop && tulle__bsr_column(&A, i, e) == row) {
            NAME(diagonal)(sum, val, X + row * b, b);
            val += b * b;
            e++;
        }
        for (; e < stop; e++, val += b * b) {
            int64_t col = tulle__bsr_column(&A, i, e);
            NAME(both)(sum, spread, val, X + col * b, NAME(there)(rows, begin, end, col, b), b);
        }
#pragma GCC unroll 8
        for (int r = 0; r < b; r++) own[r] += SUM_OF_LANES(sum[r]);
    }
}

/* Blocks of any size, and columns that are not next to each other: by the formula, a line of Y at a time. */
INLINE void NAME(half_lines)(const tulle__bsr_rows *rows, int64_t i, int64_t e, const int b)
{
    const tulle__bsr *A = rows->A;
    const int64_t begin = A->first + rows->begin, end = A->first + rows->end, row = A->first + i, k = rows->k;
    const int64_t col = tulle__bsr_column(A, i, e), ldx = rows->ldx;
    const A_T *a = (const A_T *)A->val + e * b * b;
    const X_T *here = (const X_T *)rows->X + row * b * ldx, *across = (const X_T *)rows->X + col * b * ldx;
    double *own = rows->own + (row - begin) * b * rows->own_ld, *there = NAME(there)(rows, begin, end, col, b);
    const int64_t ld = col < end ? rows->own_ld : k;
    for (int r = 0; r < b; r++)
        for (int c = 0; c < b; c++) {
            const double entry = (double)a[r * b + c];
            double *restrict to = own + r * rows->own_ld;
            for (int64_t j = 0; j < k; j++) to[j] += entry * (double)across[c * ldx + j];
        }
    if (col == row) return;
    for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++) {
            const double entry = (double)a[r * b + c];
            double *restrict to = there + c * ld;
            for (int64_t j = 0; j < k; j++) to[j] += entry * (double)here[r * ldx + j];
        }
}

static void NAME(half_formula)(const tulle__bsr_rows *rows)
{
    for (int64_t i = rows->begin; i < rows->end; i++)
        for (int64_t e = rows->A->rowptr[i]; e < rows->A->rowptr[i + 1]; e++)
            NAME(half_lines)(rows, i, e, rows->A->block);
}

static void NAME(half_column)(const tulle__bsr_rows *rows)
{
    switch (rows->A->block) {
    case 1:
        rows->A->index_bytes == 2 ? NAME(half_scalars)(rows, 2) : NAME(half_scalars)(rows, 4);
        return;
    case 2:
        NAME(half_blocks)(rows, 2);
        return;
    case 3:
        NAME(half_blocks)(rows, 3);
        return;
    case 4:
        NAME(half_blocks)(rows, 4);
        return;
    case 6:
        NAME(half_blocks)(rows, 6);
        return;
    default:
        NAME(half_formula)(rows);
    }
}
