/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with one dense column for constant-offset rows, each with the columns of the row before plus
 * one, as the nodes of a line of a regular grid; spmv_rows.h includes it where there are selects.
 *
 * Four rows are made together, a row a lane: their values are transposed four by four, B's elements are a vector, and
 * nothing is gathered or summed across. An entry costs a third of the instructions of spmv_rows.h.
 *
 * Sums are made as there: entry e of a row is added to part e modulo 8, and parts are added in the same order.
 */
#include "device/kernels/constant_offsets.h"

/* sum[e] += the products of entry e of four rows, e < 4; rows have n entries, those of the first are val and colind. */
INLINE void NAME(turned)(V *sum, const T *val, const int32_t *colind, int64_t n, const T *B)
{
    V to[4];
    TRANSPOSE(LOAD(val), LOAD(val + n), LOAD(val + 2 * n), LOAD(val + 3 * n), to);
    for (int e = 0; e < 4; e++) sum[e] = FMA(to[e], LOAD(B + colind[e]), sum[e]);
}

/* sum[e] += the products of entry e of four rows, e < count. */
INLINE void NAME(turned_last)(V *sum, const T *val, const int32_t *colind, int64_t n, const T *B, const int count)
{
    for (int e = 0; e < count; e++) {
        const V a = {val[e], val[n + e], val[2 * n + e], val[3 * n + e]};
        sum[e] = FMA(a, LOAD(B + colind[e]), sum[e]);
    }
}

/* The rows' arrays a page ahead, as much of them as four entries of each are. */
INLINE void NAME(fetch_four)(const T *val, const int32_t *colind, int64_t e)
{
    for (int line = 0; line < 16 * (int)sizeof(T); line += 64)
        tulle__fetch_ahead(val + 4 * e, (uintptr_t)(TULLE__PAGE + line));
    tulle__fetch_page_ahead(colind + 4 * e);
}

/* Four rows of n entries: their sums. */
INLINE V NAME(offset_four)(const T *val, const int32_t *colind, int64_t n, const T *B)
{
    V sum[8] = {SPLAT(0), SPLAT(0), SPLAT(0), SPLAT(0), NOTHING, NOTHING, NOTHING, NOTHING};
    int64_t e = 0;
    for (; e + 8 <= n; e += 8) {
        NAME(fetch_four)(val, colind, e);
        NAME(turned)(sum, val + e, colind + e, n, B);
        NAME(fetch_four)(val, colind, e + 4);
        NAME(turned)(sum + 4, val + e + 4, colind + e + 4, n, B);
    }
    NAME(fetch_four)(val, colind, e);
    if (e + 4 <= n) {
        NAME(turned)(sum, val + e, colind + e, n, B);
        e += 4;
        NAME(fetch_four)(val, colind, e);
        switch (n - e) {
        case 1:
            NAME(turned_last)(sum + 4, val + e, colind + e, n, B, 1);
            break;
        case 2:
            NAME(turned_last)(sum + 4, val + e, colind + e, n, B, 2);
            break;
        case 3:
            NAME(turned_last)(sum + 4, val + e, colind + e, n, B, 3);
            break;
        default:
            break;
        }
    } else {
        switch (n - e) {
        case 1:
            NAME(turned_last)(sum, val + e, colind + e, n, B, 1);
            break;
        case 2:
            NAME(turned_last)(sum, val + e, colind + e, n, B, 2);
            break;
        case 3:
            NAME(turned_last)(sum, val + e, colind + e, n, B, 3);
            break;
        default:
            break;
        }
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* True if four rows from `first` on, all of n entries, have each the columns of the row before plus one. */
INLINE int NAME(follow)(const int64_t *first, const int32_t *colind, int64_t n)
{
    const uint32_t *columns = (const uint32_t *)colind + first[0];
    if (((first[2] - first[1]) ^ n) | ((first[3] - first[2]) ^ n) | ((first[4] - first[3]) ^ n)) return 0;
    return tulle__has_offset_32(columns, columns + n, 3 * n, 1);
}

/* Rows from i on, before `end`, of the only pair, four at a time while their offset is constant; returns the first that
 * is left.
 */
static __attribute__((noinline)) int64_t NAME(offset_rows)(const tulle__spmm_rows *rows, int64_t i, int64_t end)
{
    const tulle__csr *A = &rows->pair->A;
    const int64_t ldc = rows->ldc;
    const T *B = rows->pair->B;
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    T *c = (T *)rows->C + (i - rows->begin) * ldc;
    for (; end - i >= 4; i += 4, c += 4 * ldc) {
        const int64_t a = A->rowptr[i], n = A->rowptr[i + 1] - a;
        if (!NAME(follow)(A->rowptr + i, A->colind, n)) break;
        V sum = NAME(offset_four)((const T *)A->val + a, A->colind + a, n, B) * SPLAT(alpha);
        if (beta != 0) sum += SPLAT(beta) * (V){c[0], c[ldc], c[2 * ldc], c[3 * ldc]};
        if (ldc == 1)
            STORE(c, sum);
        else
            for (int r = 0; r < 4; r++) c[r * ldc] = sum[r];
    }
    return i;
}

/* All rows of the only pair. Where some were looked at in vain, more and more are left out before others are. */
static void NAME(maybe_offset_rows)(const tulle__spmm_rows *rows)
{
    enum { PAUSE = 32 };
    V kept[1]; /* nothing is */
    for (int64_t i = rows->begin, pause = 1, last; i < rows->end; i = last) {
        last = NAME(offset_rows)(rows, i, rows->end);
        pause = last > i ? 1 : pause < PAUSE ? 2 * pause : PAUSE;
        i = last;
        last = rows->end - i < pause ? rows->end : i + pause;
        if (i < last) NAME(one)(rows, 0, i, last, kept);
    }
}
