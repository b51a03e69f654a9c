/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product of a slab of blocks with one column, over lanes.h: values of type A_T, vectors of type X_T,
 * four doubles a vector. A block's row is one vector or two times those of x, summed in the order of the row: memory is
 * what bounds the product, so it is enough that no chain of additions is longer than a block takes to come.
 */

/* Entries e .. e + 3 of row i, block 1. */
INLINE V NAME(gather)(const tulle__bsr *A, const X_T *x, int64_t e, const int bytes)
{
    if (bytes == 2) return GATHER(x, (const uint16_t *)A->colind + e);
    return GATHER(x, (const int32_t *)A->colind + e);
}

INLINE void NAME(scalars)(const tulle__bsr_rows *rows, const int bytes)
{
    const tulle__bsr A = *rows->A;
    const A_T *val = A.val;
    X_T *Y = (X_T *)rows->Y + A.first;
    for (int64_t i = rows->begin; i < rows->end; i++) {
        const X_T *x = (const X_T *)rows->X + (bytes == 2 ? A.base[i] : 0);
        int64_t e = A.rowptr[i], end = A.rowptr[i + 1];
        V sum = {0}, other = {0};
        for (; e + 8 <= end; e += 8) {
            tulle__fetch_page_ahead(val + e);
            tulle__fetch_page_ahead((const char *)A.colind + e * bytes);
            sum = FMA(LOAD_FROM(A_T, val + e), NAME(gather)(&A, x, e, bytes), sum);
            other = FMA(LOAD_FROM(A_T, val + e + 4), NAME(gather)(&A, x, e + 4, bytes), other);
        }
        tulle__fetch_page_ahead(val + e);
        tulle__fetch_page_ahead((const char *)A.colind + e * bytes);
        if (e + 4 <= end) {
            sum = FMA(LOAD_FROM(A_T, val + e), NAME(gather)(&A, x, e, bytes), sum);
            e += 4;
        }
        double rest = 0;
        for (; e < end; e++)
            rest += (double)val[e] *
                    (double)x[bytes == 2 ? ((const uint16_t *)A.colind)[e] : ((const int32_t *)A.colind)[e]];
        Y[i] = (X_T)(SUM_OF_LANES(sum + other) + rest);
    }
}

/* sum[r] += row r of one block, b = 2 .. 8, times x. */
INLINE void NAME(block)(V *sum, const A_T *a, const X_T *x, const int b)
{
    V x0 = b >= 4 ? LOAD_FROM(X_T, x) : LOAD_FIRST(X_T, x, b), x1 = b > 4 ? LOAD_FIRST(X_T, x + 4, b - 4) : x0;
#pragma GCC unroll 8
    for (int r = 0; r < b; r++) {
        sum[r] = FMA(b >= 4 ? LOAD_FROM(A_T, a + r * b) : LOAD_FIRST(A_T, a + r * b, b), x0, sum[r]);
        if (b > 4) sum[r] = FMA(LOAD_FIRST(A_T, a + r * b + 4, b - 4), x1, sum[r]);
    }
#pragma GCC unroll 8
    for (int t = 0; t < b * b; t += 64 / (int)sizeof *a) tulle__fetch_ahead(a + t, 2048);
}

/* The blocks of one row, or of two that lie apart side by side. */
INLINE void NAME(block_rows)(
    const tulle__bsr *A, const X_T *X, X_T *Y, const int64_t *row, const int count, const int b)
{
    int64_t e[2], end[2];
    const A_T *val[2];
    V sum[16];
#pragma GCC unroll 16
    for (int r = 0; r < count * b; r++) sum[r] = (V){0};
#pragma GCC unroll 2
    for (int n = 0; n < count; n++) {
        e[n] = A->rowptr[row[n]];
        end[n] = A->rowptr[row[n] + 1];
        val[n] = (const A_T *)A->val + e[n] * b * b;
    }
    if (count == 2)
        for (; e[0] < end[0] && e[1] < end[1]; e[0]++, e[1]++, val[0] += b * b, val[1] += b * b) {
            NAME(block)(sum, val[0], X + tulle__bsr_column(A, row[0], e[0]) * b, b);
            NAME(block)(sum + b, val[1], X + tulle__bsr_column(A, row[1], e[1]) * b, b);
        }
#pragma GCC unroll 2
    for (int n = 0; n < count; n++) {
        for (; e[n] < end[n]; e[n]++, val[n] += b * b)
            NAME(block)(sum + n * b, val[n], X + tulle__bsr_column(A, row[n], e[n]) * b, b);
#pragma GCC unroll 8
        for (int r = 0; r < b; r++) Y[row[n] * b + r] = (X_T)SUM_OF_LANES(sum[n * b + r]);
    }
}

/*
 * Rows of the first and of the second half of the chunk side by side: from two places a core gets up to a quarter more
 * of memory than from one, and values come half a page ahead, whose other half the processor sees to. (Single entries
 * come from two places anyhow, values and columns; four are slower.)
 */
INLINE void NAME(blocks)(const tulle__bsr_rows *rows, const int b)
{
    const tulle__bsr A = *rows->A;
    X_T *Y = (X_T *)rows->Y + A.first * b;
    const int64_t half = (rows->end - rows->begin) / 2, last = rows->end - 1;
    for (int64_t i = rows->begin; i < rows->begin + half; i++) {
        const int64_t row[2] = {i, i + half};
        NAME(block_rows)(&A, rows->X, Y, row, 2, b);
    }
    if ((rows->end - rows->begin) % 2) NAME(block_rows)(&A, rows->X, Y, &last, 1, b);
}

/* Blocks of any size, R rows of them at a time. */
INLINE void NAME(band)(const tulle__bsr_rows *rows, int64_t i, int64_t r0, const int R)
{
    const tulle__bsr *A = rows->A;
    int64_t b = A->block, tail = b & 3;
    X_T *Y = (X_T *)rows->Y + (A->first + i) * b + r0;
    V sum[4] = {{0}, {0}, {0}, {0}};
    for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++) {
        const A_T *a = (const A_T *)A->val + (e * b + r0) * b;
        const X_T *x = (const X_T *)rows->X + tulle__bsr_column(A, i, e) * b;
        for (int64_t c = 0; c + 4 <= b; c += 4)
#pragma GCC unroll 4
            for (int r = 0; r < R; r++) sum[r] = FMA(LOAD_FROM(A_T, a + r * b + c), LOAD_FROM(X_T, x + c), sum[r]);
        if (tail)
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                sum[r] = FMA(LOAD_FIRST(A_T, a + r * b + b - tail, tail), LOAD_FIRST(X_T, x + b - tail, tail), sum[r]);
    }
    for (int r = 0; r < R; r++) Y[r] = (X_T)SUM_OF_LANES(sum[r]);
}

static void NAME(column)(const tulle__bsr_rows *rows)
{
    int b = rows->A->block;
    switch (b) {
    case 1:
        rows->A->index_bytes == 2 ? NAME(scalars)(rows, 2) : NAME(scalars)(rows, 4);
        return;
    case 2:
        NAME(blocks)(rows, 2);
        return;
    case 3:
        NAME(blocks)(rows, 3);
        return;
    case 4:
        NAME(blocks)(rows, 4);
        return;
    case 6:
        NAME(blocks)(rows, 6);
        return;
    default:
        for (int64_t i = rows->begin; i < rows->end; i++) {
            int64_t r = 0;
            for (; r + 4 <= b; r += 4) NAME(band)(rows, i, r, 4);
            for (; r < b; r++) NAME(band)(rows, i, r, 1);
        }
    }
}
