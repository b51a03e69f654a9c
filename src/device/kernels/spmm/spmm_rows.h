/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse-dense product's row kernel over lanes.h, for LANES values of type T a vector.
 *
 * COUNT vectors of a row of C stay in registers while the row of A passes. If the columns are no multiple of the vector
 * the last one overlaps the one before: some sums are made twice, to the same bits, and no lane needs a mask. With few
 * vectors a fused multiply-add would wait for the one before (4 cycles, while two a cycle could start), so `parts` sums
 * of each go side by side: entries a, a + parts, a + 2 parts, ... of the row of A.
 * With irregular rows the remainder loop mispredicts, which costs as much as eight entries. With selects, parts - 1
 * entries are always made, and those of the next row are dropped.
 */
#define NAME(x) INSTANCE(x, T, LANES)
#define GROUPED (SELECTS && LANES == MOST(T)) /* there are kernels for identical-pattern rows */

enum { NAME(MOST) = 8, NAME(STEP) = 16, NAME(PAIR_STEP) = 128, NAME(PARTS_OF_ONE) = 4 };

/*
 * Entries of A ahead of which B is fetched: 256 lines, which are a third of an L1 of 48 KiB, or 96 rows. Less leaves a
 * part of the memory's latency to wait for: with 12 rows of a line each, er:n=1000000,degree=8 took 2.4 times as long.
 */
#define LINES ((count * (int)sizeof(V) + 63) / 64)
#define AHEAD (LINES <= 2 ? 96 : 256 / LINES)

/* Begin of a part of a sum: x + -0 is x for each x, and a pair without entries in a row changes no bit of it.
 */
#define NOTHING (-(T)0)

/* sum += A's entry a times its row of B */
INLINE void NAME(add)(
    V *sum, const T *val, const int32_t *colind, const T *B, int64_t ldb, int64_t a, int64_t tail, const int count)
{
    const T *b = B + colind[a] * ldb;
    const V x = SPLAT(val[a]);
#pragma GCC unroll 8
    for (int t = 0; t < count - 1; t++) sum[t] = FMA(x, LOAD(b + t * LANES), sum[t]);
    sum[count - 1] = FMA(x, LOAD(b + tail), sum[count - 1]);
}

#if SELECTS
/* The same where the mask is set; elsewhere sum stays as it is, whatever is in B. */
INLINE void NAME(add_some)(V *sum, const T *val, const int32_t *colind, const T *B, int64_t ldb, int64_t a,
    int64_t tail, const MASK mask, const int count)
{
    const T *b = B + colind[a] * ldb;
    const V x = SPLAT(val[a]);
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        const int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
        sum[t] = SELECT(mask, FMA(x, LOAD(b + at), sum[t]), sum[t]);
    }
}
#endif

/* Fetches a row of B. */
INLINE void NAME(fetch)(const T *b, const int count)
{
#pragma GCC unroll 8
    for (int line = 0; line < count * (int)sizeof(V); line += 64) __builtin_prefetch((const char *)b + line);
}

/* Fetches the rows of B for entries AHEAD .. AHEAD + entries - 1 from here. */
INLINE void NAME(fetch_rows)(const int32_t *colind, const T *B, int64_t ldb, const int count, const int entries)
{
#pragma GCC unroll 4
    for (int q = 0; q < entries; q++) NAME(fetch)(B + colind[q + AHEAD] * ldb, count);
}

/*
 * sum[0 .. parts count - 1] += row i of the pair's product. What is left over is fetched as the rest is: of a row of
 * four to eight entries it is a third.
 */
INLINE void NAME(row)(V *sum, const tulle__csr *A, const T *B, int64_t ldb, int64_t fetch_end, int64_t i, int64_t tail,
    const int count, const int parts)
{
    const int32_t *colind = A->colind;
    const T *val = A->val;
    const int64_t end = A->rowptr[i + 1];
    int64_t a = A->rowptr[i];
    for (; a + parts <= end; a += parts) {
        tulle__fetch_page_ahead(val + a);
        tulle__fetch_page_ahead(colind + a);
        if (a <= fetch_end - parts) NAME(fetch_rows)(colind + a, B, ldb, count, parts);
#pragma GCC unroll 4
        for (int q = 0; q < parts; q++) NAME(add)(sum + q * count, val, colind, B, ldb, a + q, tail, count);
    }
    if (parts > 1 && a <= fetch_end - (parts - 1)) NAME(fetch_rows)(colind + a, B, ldb, count, parts - 1);
#if SELECTS
    if (parts > 1 && a + parts - 1 <= A->rowptr[A->m]) {
        const MASKS some = MASKS_OF_VECTORS(end - a);
#pragma GCC unroll 4
        for (int q = 0; q < parts - 1; q++)
            NAME(add_some)(sum + q * count, val, colind, B, ldb, a + q, tail, MASK_OF_VECTOR(some, q), count);
        return;
    }
#endif
#pragma GCC unroll 4
    for (int q = 0; q < parts - 1; q++)
        if (a + q < end) NAME(add)(sum + q * count, val, colind, B, ldb, a + q, tail, count);
}

/* to = the sum of the parts */
INLINE void NAME(join)(V *to, const V *sum, const int count, const int parts)
{
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        to[t] = sum[t];
        if (parts > 1) to[t] = to[t] + sum[(count + t) % 8];
        if (parts == 4) to[t] = to[t] + (sum[(2 * count + t) % 8] + sum[(3 * count + t) % 8]);
    }
}

/* c = alpha sum + beta c */
INLINE void NAME(put)(
    T *c, const V *sum, const V alpha, const V beta, int reads, int stream, int64_t tail, const int count)
{
    V scaled[NAME(MOST)], old[NAME(MOST)];
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
        scaled[t] = sum[t] * alpha;
        if (reads) old[t] = LOAD(c + at);
    }
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
        if (reads)
            STORE(c + at, scaled[t] + beta * old[t]);
        else if (stream)
            STREAM(c + at, scaled[t]);
        else
            STORE(c + at, scaled[t]);
    }
}

/* Part made at a time: rows begin .. end - 1, columns first .. first + n - 1, of one pair of several. */
typedef struct NAME(turn) {
    const tulle__spmm_operand *pair;
    int64_t begin, end, first, n;
    V *kept;           /* of each row: the sum of the pairs before, and with this one for the next */
    int resumes, ends; /* there were pairs before; this one is the last */
} NAME(turn);

/*
 * One pair at a time: its arrays stay in registers, prefetching goes on in one array, and a mispredicted end of a row
 * holds back this row only. A product of two pairs with four entries a row each took twice as long row by row.
 */
INLINE void NAME(block)(const tulle__spmm_rows *rows, const NAME(turn) * turn, const int count, const int parts)
{
    const int64_t tail = count > 1 ? turn->n - LANES : 0, ldc = rows->ldc, end = turn->end;
    const V alpha = SPLAT((T)rows->alpha), beta = SPLAT((T)rows->beta);
    const int reads = rows->beta != 0, stream = rows->stream, resumes = turn->resumes, ends = turn->ends;
    const int step = turn->kept ? count : 0;
    const tulle__csr A = turn->pair->A;
    const T *B = (const T *)turn->pair->B + turn->first;
    const int64_t ldb = turn->pair->ldb, fetch_end = turn->pair->fetch_end - AHEAD;
    T *c = (T *)rows->C + (turn->begin - rows->begin) * ldc + turn->first;
    V *kept = turn->kept;
    for (int64_t i = turn->begin; i < end; i++, c += ldc, kept += step) {
        V sum[NAME(MOST)];
#pragma GCC unroll 8
        for (int t = 0; t < parts * count; t++) sum[t] = t >= count ? SPLAT(NOTHING) : resumes ? kept[t] : SPLAT(0);
        NAME(row)(sum, &A, B, ldb, fetch_end, i, tail, count, parts);
        NAME(join)(sum, sum, count, parts);
        if (ends)
            NAME(put)(c, sum, alpha, beta, reads, stream, tail, count);
        else
#pragma GCC unroll 8
            for (int t = 0; t < count; t++) kept[t] = sum[t];
    }
}

#if SELECTS
#include "device/kernels/spmm/spmm_irregular.h"
#endif

#define BLOCK(count, parts)                                                                                            \
    static __attribute__((noinline)) void NAME(block##count)(const tulle__spmm_rows *rows, const NAME(turn) * turn)    \
    {                                                                                                                  \
        NAME(block)(rows, turn, count, parts);                                                                         \
    }
BLOCK(1, NAME(PARTS_OF_ONE))
BLOCK(2, 2)
BLOCK(3, 2)
BLOCK(4, 1)
BLOCK(5, 1)
BLOCK(6, 1)
BLOCK(7, 1)
BLOCK(8, 1)
#undef BLOCK

typedef void (*NAME(kernel))(const tulle__spmm_rows *rows, const NAME(turn) * turn);

/* The columns of a turn by one pair. */
static void NAME(one_pair)(const tulle__spmm_rows *rows, NAME(turn) * turn, int64_t count)
{
    static const NAME(kernel) kernels[NAME(MOST) + 1] = {NULL, NAME(block1), NAME(block2), NAME(block3), NAME(block4),
        NAME(block5), NAME(block6), NAME(block7), NAME(block8)};
#if SELECTS
    if (rows->irregular && count == 1) {
        NAME(turn) rest = *turn;
        rest.begin = NAME(irregular_turn)(rows, turn);
        rest.kept += rest.begin - turn->begin;
        if (rest.begin < rest.end) kernels[count](rows, &rest);
        return;
    }
#endif
    kernels[count](rows, turn);
}

/* The columns of a turn by all pairs that have entries in its rows, or by one that has none. */
static void NAME(pairs)(const tulle__spmm_rows *rows, NAME(turn) * turn, int64_t count)
{
    int last = rows->npairs - 1;
    while (last > 0 && !tulle__spmm_entries(rows, last, turn->begin, turn->end)) last--;
    turn->resumes = 0;
    for (int p = 0; p <= last; p++) {
        if (p < last && !tulle__spmm_entries(rows, p, turn->begin, turn->end)) continue;
        turn->pair = &rows->pair[p];
        turn->ends = p == last;
        NAME(one_pair)(rows, turn, count);
        turn->resumes = 1;
    }
}

/* All columns, n >= LANES, in blocks of nearly equal numbers of vectors, `step` rows at a time. */
static void NAME(steps)(const tulle__spmm_rows *rows, int64_t from, int64_t to, int64_t step, V *kept)
{
    int64_t vectors = (rows->n + LANES - 1) / LANES, blocks = (vectors + NAME(MOST) - 1) / NAME(MOST);
    if (blocks > 1) step = NAME(STEP); /* their A stays in L1 */
    NAME(turn) turn = {.kept = kept};
    for (turn.begin = from; turn.begin < to; turn.begin = turn.end) {
        int64_t left = vectors;
        turn.end = turn.begin + step < to ? turn.begin + step : to;
        turn.first = 0;
        for (int64_t b = 0; b < blocks; b++) {
            int64_t count = left / (blocks - b);
            turn.n = b == blocks - 1 ? rows->n - turn.first : count * LANES;
            NAME(pairs)(rows, &turn, count);
            turn.first += turn.n;
            left -= count;
        }
    }
}

static __attribute__((noinline)) void NAME(in_turns)(const tulle__spmm_rows *rows, int64_t from, int64_t to)
{
    V kept[NAME(PAIR_STEP) * NAME(MOST)];
    NAME(steps)(rows, from, to, NAME(PAIR_STEP), kept);
}

static void NAME(alone)(const tulle__spmm_rows *rows, int64_t from, int64_t to)
{
    rows->npairs > 1 || rows->irregular ? NAME(in_turns)(rows, from, to) : NAME(steps)(rows, from, to, to - from, NULL);
}

#if GROUPED
#include "device/kernels/spmm/spmm_groups.h"
#endif

static void NAME(rows)(const tulle__spmm_rows *rows)
{
#if GROUPED
    if (rows->groups) {
        NAME(grouped)(rows);
        return;
    }
#endif
    NAME(alone)(rows, rows->begin, rows->end);
}

#undef T
#undef LANES
