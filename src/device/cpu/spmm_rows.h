/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse-dense product's row kernel, included once an instruction set, value type and vector width with
 *   T, V, LANES                    the value type, a vector of it (or T itself), its lanes
 *   U                              V without alignment, for loads and stores
 *   NAME(x)                        x with the suffixes
 *   ROWS                           the function attribute of the instruction set
 *   SPLAT(x), FMA(a, b, c)         x in all lanes; a b + c
 *   STREAM(p, v)                   store past the caches
 *   SELECT(m, a, b), KEEP          if there are selects: a where m's bits are set, b elsewhere; an array whose
 * elements' `value` has all bits set in the first three and none in the next three
 *
 * COUNT vectors of a row of C stay in registers while the row of A passes. If the columns are no multiple of the vector
 * the last one overlaps the one before: some sums are made twice, to the same bits, and no lane needs a mask. With few
 * vectors a fused multiply-add would wait for the one before (4 cycles, while two a cycle could start), so `parts` sums
 * of each go side by side: entries a, a + parts, a + 2 parts, ... of the row of A.
 * How many entries are left over in the end is foreseen wrongly where rows are uneven, which costs as much as eight of
 * them. With selects parts - 1 are made always, and what belongs to the next row is dropped.
 */

enum { NAME(MOST) = 8, NAME(STEP) = 16 };

/* Entries of A ahead of which B is fetched. */
#define AHEAD (count * (int)sizeof(V) <= 32 ? 48 : 12)

/* sum += A's entry a times its row of B */
ROWS static inline __attribute__((always_inline)) void NAME(add)(
    V *sum, const T *val, const int32_t *colind, const T *B, int64_t ldb, int64_t a, int64_t tail, const int count)
{
    const T *b = B + colind[a] * ldb;
    const V x = SPLAT(val[a]);
#pragma GCC unroll 8
    for (int t = 0; t < count - 1; t++) sum[t] = FMA(x, *(const U *)(const void *)(b + t * LANES), sum[t]);
    sum[count - 1] = FMA(x, *(const U *)(const void *)(b + tail), sum[count - 1]);
}

/* sum[0 .. parts count - 1] += row i of the pair's product. */
ROWS static inline __attribute__((always_inline)) void NAME(row)(V *sum, const tulle__csr *A, const T *B, int64_t ldb,
    int64_t fetch_end, int64_t i, int64_t tail, const int count, const int parts)
{
    const int32_t *colind = A->colind;
    const T *val = A->val;
    const int64_t end = A->rowptr[i + 1];
    int64_t a = A->rowptr[i];
    for (; a + parts <= end; a += parts) {
        if (a < fetch_end - parts) {
#pragma GCC unroll 4
            for (int q = 0; q < parts; q++) {
                const char *ahead = (const char *)(B + colind[a + q + AHEAD] * ldb);
#pragma GCC unroll 8
                for (int line = 0; line < count * (int)sizeof(V); line += 64) __builtin_prefetch(ahead + line);
            }
        }
#pragma GCC unroll 4
        for (int q = 0; q < parts; q++) NAME(add)(sum + q * count, val, colind, B, ldb, a + q, tail, count);
    }
#ifdef SELECT
    if (parts > 1 && a + parts - 1 <= A->rowptr[A->m]) {
        V with[NAME(MOST)];
        const int64_t left = end - a;
#pragma GCC unroll 4
        for (int q = 0; q < parts - 1; q++) {
            const V keep = SPLAT(KEEP[3 - left + q].value);
#pragma GCC unroll 8
            for (int t = 0; t < count; t++) with[t] = sum[q * count + t];
            NAME(add)(with, val, colind, B, ldb, a + q, tail, count);
#pragma GCC unroll 8
            for (int t = 0; t < count; t++) sum[q * count + t] = SELECT(keep, with[t], sum[q * count + t]);
        }
        return;
    }
#endif
#pragma GCC unroll 4
    for (int q = 0; q < parts - 1; q++)
        if (a + q < end) NAME(add)(sum + q * count, val, colind, B, ldb, a + q, tail, count);
}

/* c = alpha sum + beta c */
ROWS static inline __attribute__((always_inline)) void NAME(put)(
    T *c, V *sum, const V alpha, const V beta, int reads, int stream, int64_t tail, const int count, const int parts)
{
    V old[NAME(MOST)];
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
        if (parts == 4)
            sum[t] = (sum[t] + sum[(count + t) % 8]) + (sum[(2 * count + t) % 8] + sum[(3 * count + t) % 8]);
        else if (parts == 2)
            sum[t] = sum[t] + sum[(count + t) % 8];
        sum[t] = sum[t] * alpha;
        if (reads) old[t] = *(const U *)(const void *)(c + at);
    }
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
        if (reads)
            *(U *)(void *)(c + at) = sum[t] + beta * old[t];
        else if (stream)
            STREAM(c + at, sum[t]);
        else
            *(U *)(void *)(c + at) = sum[t];
    }
}

/* The first pair's arrays stay in registers: a row of few entries costs as much as finding them would. */
ROWS static inline __attribute__((always_inline)) void NAME(block)(const tulle__spmm_rows *rows, int64_t begin,
    int64_t end, int64_t first, int64_t n, const int count, const int parts)
{
    const int64_t tail = n - LANES, ldc = rows->ldc;
    const V alpha = SPLAT((T)rows->alpha), beta = SPLAT((T)rows->beta);
    const int reads = rows->beta != 0, stream = rows->stream, npairs = rows->npairs;
    const tulle__spmm_operand *pair = rows->pair;
    const tulle__csr A = pair->A;
    const T *B = (const T *)pair->B + first;
    const int64_t ldb = pair->ldb, fetch_end = pair->fetch_end - AHEAD;
    T *c = (T *)rows->C + (begin - rows->begin) * ldc + first;
    for (int64_t i = begin; i < end; i++, c += ldc) {
        V sum[8];
#pragma GCC unroll 8
        for (int t = 0; t < parts * count; t++) sum[t] = SPLAT(0);
        NAME(row)(sum, &A, B, ldb, fetch_end, i, tail, count, parts);
        for (int p = 1; p < npairs; p++) NAME(row)
        (sum, &pair[p].A, (const T *)pair[p].B + first, pair[p].ldb, pair[p].fetch_end - AHEAD, i, tail, count, parts);
        NAME(put)(c, sum, alpha, beta, reads, stream, tail, count, parts);
    }
}

#define BLOCK(count, parts)                                                                                            \
    ROWS static __attribute__((noinline)) void NAME(block##count)(                                                     \
        const tulle__spmm_rows *rows, int64_t begin, int64_t end, int64_t first, int64_t n)                            \
    {                                                                                                                  \
        NAME(block)(rows, begin, end, first, n, count, parts);                                                         \
    }
#if LANES == 1
BLOCK(1, 4)
#else
BLOCK(1, 4)
#endif
BLOCK(2, 2)
BLOCK(3, 2)
BLOCK(4, 1)
BLOCK(5, 1)
BLOCK(6, 1)
BLOCK(7, 1)
BLOCK(8, 1)
#undef BLOCK

/* All columns, n >= LANES, in blocks of nearly equal numbers of vectors, for rows whose A stays in L1. */
static void NAME(alone)(const tulle__spmm_rows *rows, int64_t from, int64_t to)
{
    typedef void (*block_kernel)(const tulle__spmm_rows *, int64_t, int64_t, int64_t, int64_t);
    static const block_kernel kernels[NAME(MOST) + 1] = {NULL, NAME(block1), NAME(block2), NAME(block3), NAME(block4),
        NAME(block5), NAME(block6), NAME(block7), NAME(block8)};
    int64_t vectors = (rows->n + LANES - 1) / LANES, blocks = (vectors + NAME(MOST) - 1) / NAME(MOST);
    int64_t step = blocks == 1 ? to - from : NAME(STEP);
    for (int64_t begin = from; begin < to; begin += step) {
        int64_t end = begin + step < to ? begin + step : to;
        int64_t first = 0, left = vectors;
        for (int64_t b = 0; b < blocks; b++) {
            int64_t count = left / (blocks - b), n = b == blocks - 1 ? rows->n - first : count * LANES;
            kernels[count](rows, begin, end, first, n);
            first += n;
            left -= count;
        }
    }
}

#ifdef REGISTERS
#include "device/cpu/spmm_groups.h"
#endif

static void NAME(rows)(const tulle__spmm_rows *rows)
{
#ifdef REGISTERS
    if (rows->groups) {
        NAME(grouped)(rows);
        return;
    }
#endif
    NAME(alone)(rows, rows->begin, rows->end);
}

#undef AHEAD
#undef V
#undef U
#undef LANES
#undef NAME
#undef SPLAT
#undef FMA
#undef STREAM
#ifdef SELECT
#undef SELECT
#endif
#ifdef REGISTERS
#undef REGISTERS
#endif
