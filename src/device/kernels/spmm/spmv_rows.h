/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with one dense column, B's rows next to each other, over lanes.h, for values of type T: four
 * at a time, in one vector, or in two where a register holds no more.
 *
 * A row's entries go four to a vector, two vectors side by side: what bounds the loop is one load of a column and one
 * of B an entry, and short rows are bound by mispredicted branches, three a row (irregular rows: spmv_irregular.h).
 * Where B lies outside the caches and rows differ it is prefetched, at the cost of half as many instructions more; A
 * always is. Pairs go one after another over a few rows, as in
 * spmm_rows.h, though also where one has no entries: leaving it out there cost the others more than it gained.
 */
#include "base/prefetch.h"
#include "device/kernels/spmm/flat_loop.h"

#define NAME(x) TULLE__SUFFIX_OF(x, T)
#define PARTS (4 / LANES)
#define EACH_PART _Pragma("GCC unroll 2") for (int q = 0; q < PARTS; q++)

/* Entries to fetch ahead; rows that pairs take turns over. */
enum { NAME(AHEAD) = 96, NAME(STEP) = 128 };

/* As in spmm_rows.h. */
#define NOTHING SPLAT(-(T)0)
/* The first product of a sum. */
#define FIRST(a, b) TULLE__OPERATION_OF(fma, T, 1)(a, b, 0)

INLINE V NAME(step)(V sum, const T *val, const int32_t *colind, const T *B)
{
    return FMA(LOAD(val), GATHER(B, colind), sum);
}

/* B's elements for `entries` entries from a + AHEAD on, if A has so many. */
INLINE void NAME(fetch)(const tulle__spmm_operand *pair, int64_t a, const int entries)
{
    if (a + NAME(AHEAD) + entries > pair->fetch_end) return;
#pragma GCC unroll 8
    for (int q = 0; q < entries; q++) __builtin_prefetch((const T *)pair->B + pair->A.colind[a + q + NAME(AHEAD)]);
}

/* Four entries. */
INLINE void NAME(four)(V *sum, const T *val, const int32_t *colind, const T *B)
{
    EACH_PART sum[q] = NAME(step)(sum[q], val + q * LANES, colind + q * LANES, B);
}

/* The last n < 4. */
INLINE void NAME(rest)(V *sum, const T *val, const int32_t *colind, const T *B, int64_t n)
{
    EACH_PART sum[q] = FMA_FIRST(sum[q], val + q * LANES, colind + q * LANES, B, n - q * LANES);
}

/* sum[0], sum[1] += row i of the pair's product: entries e with e mod 8 < 4, and the others. */
INLINE void NAME(row)(V (*sum)[PARTS], const tulle__spmm_operand *pair, int64_t i, const int fetches)
{
    const int32_t *colind = pair->A.colind;
    const T *val = pair->A.val, *B = pair->B;
    int64_t a = pair->A.rowptr[i], end = pair->A.rowptr[i + 1];
    for (; a + 8 <= end; a += 8) {
        tulle__fetch_page_ahead(val + a);
        tulle__fetch_page_ahead(colind + a);
        if (fetches) NAME(fetch)(pair, a, 8);
        NAME(four)(sum[0], val + a, colind + a, B);
        NAME(four)(sum[1], val + a + 4, colind + a + 4, B);
    }
    tulle__fetch_page_ahead(val + a);
    tulle__fetch_page_ahead(colind + a);
    if (a + 4 <= end) {
        if (fetches) NAME(fetch)(pair, a, 4);
        NAME(four)(sum[0], val + a, colind + a, B);
        a += 4;
        if (fetches) NAME(fetch)(pair, a, 3);
        NAME(rest)(sum[1], val + a, colind + a, B, end - a);
    } else {
        if (fetches) NAME(fetch)(pair, a, 3);
        NAME(rest)(sum[0], val + a, colind + a, B, end - a);
    }
}

#if SELECTS
/* The last n < 4 entries of a row, behind branches, and SUM_OF_LANES of all. */
INLINE T NAME(row_end)(V sum, V other, const T *val, const int32_t *colind, const T *B, int64_t n)
{
    const T none = -(T)0; /* a lane without an entry adds 0 * -0, which is nothing */
    if (n == 1)
        sum = FMA(((V){val[0], 0, 0, 0}), ((V){B[colind[0]], none, none, none}), sum);
    else if (n == 2)
        sum = FMA(((V){val[0], val[1], 0, 0}), ((V){B[colind[0]], B[colind[1]], none, none}), sum);
    else if (n == 3)
        sum = FMA(((V){val[0], val[1], val[2], 0}), ((V){B[colind[0]], B[colind[1]], B[colind[2]], none}), sum);
    return SUM_OF_LANES(sum + other);
}

/* A row of n < 4 entries: lanes without one are 0, which makes -0 of the others 0. */
INLINE T NAME(short_row)(const T *val, const int32_t *colind, const T *B, int64_t n)
{
    const T none = 0;
    if (n == 3)
        return (FIRST(val[0], B[colind[0]]) + FIRST(val[2], B[colind[2]])) + (FIRST(val[1], B[colind[1]]) + none);
    if (n == 2) return (FIRST(val[0], B[colind[0]]) + none) + (FIRST(val[1], B[colind[1]]) + none);
    return n ? FIRST(val[0], B[colind[0]]) + none : none;
}

/*
 * Rows begin .. end - 1 of the only pair where nothing is fetched, with the bits of `some`. What is left of fours goes
 * behind branches: rows as long as the one before take them as foreseen, and others mispredict at the fours already.
 * Masks cost twice as much where rows are short.
 */
INLINE V NAME(gathered)(V sum, const T *val, const int32_t *colind, const T *B, const int far)
{
    return far ? FMA(LOAD(val), TULLE__OPERATION_OF(gather_far, T, 4)(B, colind), sum)
               : NAME(step)(sum, val, colind, B);
}

INLINE void NAME(sums)(const tulle__spmm_rows *rows, int64_t begin, int64_t end, const int adds, const int far)
{
    const tulle__csr *A = &rows->pair->A;
    const int64_t *stop = A->rowptr + begin, *const all = A->rowptr + end, ldc = rows->ldc;
    const int32_t *colind = A->colind + *stop;
    const T *val = (const T *)A->val + *stop, *B = rows->pair->B;
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    T *c = (T *)rows->C + (begin - rows->begin) * ldc;
    for (; stop < all; stop++, c += ldc) {
        int64_t n = stop[1] - stop[0];
        T x;
        if (n < 4) {
            x = NAME(short_row)(val, colind, B, n);
        } else {
            V sum = SPLAT(0), other = NOTHING;
            for (; n >= 8; n -= 8, val += 8, colind += 8) {

                sum = NAME(gathered)(sum, val, colind, B, far);
                other = NAME(gathered)(other, val + 4, colind + 4, B, far);
            }
            if (n < 4) {
                x = NAME(row_end)(sum, other, val, colind, B, n);
            } else {
                sum = NAME(gathered)(sum, val, colind, B, far);
                x = NAME(row_end)(other, sum, val + 4, colind + 4, B, n - 4);
            }
        }
        val += n;
        colind += n;
        *c = adds ? x * alpha + beta * *c : x * alpha;
    }
}

#define SUMS(name, adds, far)                                                                                          \
    static __attribute__((noinline)) void NAME(name)(const tulle__spmm_rows *rows, int64_t begin, int64_t end)         \
    {                                                                                                                  \
        NAME(sums)(rows, begin, end, adds, far);                                                                       \
    }
SUMS(row_sums, 0, 0)
SUMS(row_sums_far, 0, 1)
SUMS(row_sums_added, 1, 0)
SUMS(row_sums_added_far, 1, 1)
#undef SUMS
#endif

/* *c = alpha times the sum of four lanes + beta *c */
INLINE void NAME(put)(T *c, const V *sum, const T alpha, const T beta)
{
    T x = SUM_OF_LANES(PARTS == 1 ? sum[0] : sum[0] + sum[PARTS - 1]) * alpha;
    *c = beta == 0 ? x : x + beta * *c;
}

/* Rows begin .. end - 1 of pair p; kept: a sum a row, of the pairs before and for the next. */
INLINE void NAME(some)(
    const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept, const int several, const int fetches)
{
    const tulle__spmm_operand pair = rows->pair[p];
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    const int64_t ldc = rows->ldc;
    const int last = !several || p == rows->npairs - 1;
    T *c = (T *)rows->C + (begin - rows->begin) * ldc;
    for (int64_t i = begin; i < end; i++, c += ldc, kept += several * PARTS) {
        V sum[2][PARTS];
        EACH_PART sum[0][q] = several && p ? kept[q] : SPLAT(0), sum[1][q] = NOTHING;
        NAME(row)(sum, &pair, i, fetches);
        EACH_PART sum[0][q] += sum[1][q];
        if (last)
            NAME(put)(c, sum[0], alpha, beta);
        else
            EACH_PART kept[q] = sum[0][q];
    }
}

/* Each with registers of its own. */
#define SOME(name, several, fetches)                                                                                   \
    static __attribute__((noinline)) void NAME(name)(                                                                  \
        const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept)                                      \
    {                                                                                                                  \
        NAME(some)(rows, p, begin, end, kept, several, fetches);                                                       \
    }
SOME(one, 0, 0)
SOME(one_fetched, 0, 1)
SOME(turn, 1, 0)
SOME(turn_fetched, 1, 1)
#undef SOME

#if SELECTS
#include "device/kernels/spmm/spmv_irregular.h"
#include "device/kernels/spmm/spmv_offsets.h"
#endif
#if TULLE__REGISTER == 64
#include "device/kernels/spmm/spmv_masked.h"
#endif

/* Rows begin .. end - 1 of a turn, by one pair. */
static void NAME(one_pair)(const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept)
{
#if SELECTS
    if (rows->irregular) {
        int64_t first = begin;
        begin = NAME(irregular_turn)(rows, p, begin, end, kept);
        kept += begin - first;
    }
#endif
    if (begin < end) (rows->pair[p].fetch_end ? NAME(turn_fetched) : NAME(turn))(rows, p, begin, end, kept);
}

static void NAME(rows)(const tulle__spmm_rows *rows)
{
    V kept[(NAME(STEP) + 1) * PARTS]; /* one more is read */
#if SELECTS
    if (rows->npairs == 1 && !rows->irregular && rows->groups & TULLE__ROWS_AT_OFFSETS) {
        NAME(maybe_offset_rows)(rows);
        return;
    }
#endif
#if TULLE__REGISTER == 64
    if (rows->npairs == 1 && rows->irregular && !rows->pair->fetch_end) {
        NAME(masked_sums)(rows);
        return;
    }
#endif
    if (rows->npairs == 1) {
#if SELECTS
        if (!rows->pair->fetch_end) {
            static void (*const sums[2][2])(const tulle__spmm_rows *, int64_t, int64_t) = {
                {NAME(row_sums), NAME(row_sums_far)}, {NAME(row_sums_added), NAME(row_sums_added_far)}};
            sums[rows->beta != 0][rows->pair->far](rows, rows->begin, rows->end);
            return;
        }
#endif
        (rows->pair->fetch_end ? NAME(one_fetched) : NAME(one))(rows, 0, rows->begin, rows->end, kept);
        return;
    }
    for (int64_t begin = rows->begin; begin < rows->end; begin += NAME(STEP)) {
        int64_t end = begin + NAME(STEP) < rows->end ? begin + NAME(STEP) : rows->end;
        for (int p = 0; p < rows->npairs; p++) NAME(one_pair)(rows, p, begin, end, kept);
    }
}

#undef FIRST
#undef T
#undef LANES
