/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with one dense column, B's rows next to each other, included once an instruction set and
 * type, with
 *
 *   T, V, U                        the value type, a vector of four, the same without alignment
 *   NAME(x)                        x with the suffixes
 *   ROWS                           the function attribute of the instruction set
 *   FMA(a, b, c)                   a b + c of vectors
 *   REST(sum, val, colind, B, n)   sum plus the products of the last n < 4 entries, without a branch where masks exist
 *   SELECT, MASKS, ALL_IF          as for spmm_rows.h, if there are selects
 *   TURN                           then also: as spmv_shifted.h has it
 *   EIGHT(n), LANES_OF(s, q)       then also: masks of eight entries, set for the first n; those of the q-th four
 *
 * A row's entries go four to a vector, two vectors side by side: what bounds the loop is one load of a column and one
 * of B an entry, and what bounds short rows is a wrongly foreseen branch, of which there are three a row (where rows
 * are uneven: spmv_uneven.h). Where B lies outside the caches and rows are unlike each other it is fetched ahead, at
 * the cost of half as many instructions more; A always is. Pairs go one after another over a few rows, as in
 * spmm_rows.h, though also where one has no entries: leaving it out there cost the others more than it gained.
 */
#include "base/page_ahead.h"
#include "device/kernels/spmm/all_entries.h"

/* Entries to fetch ahead; rows that pairs take turns over. */
enum { NAME(AHEAD) = 96, NAME(STEP) = 128 };

/* As in spmm_rows.h. */
#define SPLAT(x) ((V){(x), (x), (x), (x)})
#define NOTHING SPLAT(-(T)0)

ROWS static inline __attribute__((always_inline)) V NAME(gather)(const T *B, const int32_t *colind)
{
    return (V){B[colind[0]], B[colind[1]], B[colind[2]], B[colind[3]]};
}

ROWS static inline __attribute__((always_inline)) V NAME(four)(V sum, const T *val, const int32_t *colind, const T *B)
{
    return FMA(*(const U *)(const void *)val, NAME(gather)(B, colind), sum);
}

/* B's elements for `entries` entries from a + AHEAD on, if A has so many. */
ROWS static inline __attribute__((always_inline)) void NAME(fetch)(
    const tulle__spmm_operand *pair, int64_t a, const int entries)
{
    if (a + NAME(AHEAD) + entries > pair->fetch_end) return;
#pragma GCC unroll 8
    for (int q = 0; q < entries; q++) __builtin_prefetch((const T *)pair->B + pair->A.colind[a + q + NAME(AHEAD)]);
}

/* sum[0 .. 1] += row i of the pair's product. */
ROWS static inline __attribute__((always_inline)) void NAME(row)(
    V *sum, const tulle__spmm_operand *pair, int64_t i, const int fetches)
{
    const int32_t *colind = pair->A.colind;
    const T *val = pair->A.val, *B = pair->B;
    int64_t a = pair->A.rowptr[i], end = pair->A.rowptr[i + 1];
    for (; a + 8 <= end; a += 8) {
        tulle__fetch_page_ahead(val + a);
        tulle__fetch_page_ahead(colind + a);
        if (fetches) NAME(fetch)(pair, a, 8);
        sum[0] = NAME(four)(sum[0], val + a, colind + a, B);
        sum[1] = NAME(four)(sum[1], val + a + 4, colind + a + 4, B);
    }
    tulle__fetch_page_ahead(val + a);
    tulle__fetch_page_ahead(colind + a);
    if (a + 4 <= end) {
        if (fetches) NAME(fetch)(pair, a, 4);
        sum[0] = NAME(four)(sum[0], val + a, colind + a, B);
        a += 4;
        if (fetches) NAME(fetch)(pair, a, 3);
        sum[1] = REST(sum[1], val + a, colind + a, B, end - a);
    } else {
        if (fetches) NAME(fetch)(pair, a, 3);
        sum[0] = REST(sum[0], val + a, colind + a, B, end - a);
    }
}

/* *c = alpha times the sum of four lanes + beta *c */
ROWS static inline __attribute__((always_inline)) void NAME(put)(T *c, V sum, const T alpha, const T beta)
{
    T x = ((sum[0] + sum[2]) + (sum[1] + sum[3])) * alpha;
    *c = beta == 0 ? x : x + beta * *c;
}

/* Rows begin .. end - 1 of pair p; kept: a sum a row, of the pairs before and for the next. */
ROWS static inline __attribute__((always_inline)) void NAME(some)(
    const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept, const int several, const int fetches)
{
    const tulle__spmm_operand pair = rows->pair[p];
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    const int64_t ldc = rows->ldc;
    const int last = !several || p == rows->npairs - 1;
    T *c = (T *)rows->C + (begin - rows->begin) * ldc;
    for (int64_t i = begin; i < end; i++, c += ldc, kept += several) {
        V sum[2] = {several && p ? *kept : SPLAT(0), NOTHING};
        NAME(row)(sum, &pair, i, fetches);
        if (last)
            NAME(put)(c, sum[0] + sum[1], alpha, beta);
        else
            *kept = sum[0] + sum[1];
    }
}

/* Each with registers of its own. */
#define SOME(name, several, fetches)                                                                                   \
    ROWS static __attribute__((noinline)) void NAME(name)(                                                             \
        const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept)                                      \
    {                                                                                                                  \
        NAME(some)(rows, p, begin, end, kept, several, fetches);                                                       \
    }
SOME(one, 0, 0)
SOME(one_fetched, 0, 1)
SOME(turn, 1, 0)
SOME(turn_fetched, 1, 1)
#undef SOME

#ifdef SELECT
#include "device/kernels/spmm/spmv_shifted.h"
#include "device/kernels/spmm/spmv_uneven.h"
#endif

/* Rows begin .. end - 1 of a turn, by one pair. */
static void NAME(one_pair)(const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept)
{
#ifdef SELECT
    if (rows->uneven) {
        int64_t first = begin;
        begin = NAME(uneven_turn)(rows, p, begin, end, kept);
        kept += begin - first;
    }
#endif
    if (begin < end) (rows->pair[p].fetch_end ? NAME(turn_fetched) : NAME(turn))(rows, p, begin, end, kept);
}

static void NAME(rows)(const tulle__spmm_rows *rows)
{
    V kept[NAME(STEP) + 1]; /* one more is read */
#ifdef SELECT
    if (rows->npairs == 1 && !rows->uneven && rows->groups & TULLE__ROWS_SHIFTED_BY_ONE) {
        NAME(maybe_shifted)(rows);
        return;
    }
#endif
    if (rows->npairs == 1 && !rows->uneven) {
        (rows->pair->fetch_end ? NAME(one_fetched) : NAME(one))(rows, 0, rows->begin, rows->end, kept);
        return;
    }
    for (int64_t begin = rows->begin; begin < rows->end; begin += NAME(STEP)) {
        int64_t end = begin + NAME(STEP) < rows->end ? begin + NAME(STEP) : rows->end;
        for (int p = 0; p < rows->npairs; p++) NAME(one_pair)(rows, p, begin, end, kept);
    }
}

#undef SPLAT
#undef NOTHING
#undef V
#undef U
#undef NAME
#undef FMA
#undef REST
#ifdef SELECT
#undef SELECT
#undef TURN
#endif
