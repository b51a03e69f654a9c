/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product of a slab of blocks with several columns, over lanes.h: values of type A_T, vectors of type
 * X_T, LANES doubles a vector. R lines of Y are kept in registers, `wide` vectors of them, while a block row's blocks
 * go by: an entry of A is spread over a vector once for all of these. There are up to WIDEST vectors side by side, 4 as
 * far as ROOM registers hold the sums, else 2. Block rows go in groups, so that A is read again from the cache where k
 * is more than that. Only A is fetched ahead: to fetch lines of X cost more than it gained, wherever they lay.
 */
#define WIDE_NAME(x) TULLE__SUFFIX_OF(NAME(x), LANES)
#define WIDEST (LANES * 8 == TULLE__REGISTER ? 4 : 1)
#define ROOM (LANES == 8 ? 24 : 12)

/* sum[r * wide + w] += line r of a block's R lines at a times columns c of x, which are ldx apart; in two sets of sums
 * the columns take turns, so that no addition waits for the one before. */
INLINE void WIDE_NAME(step)(V *sum, const A_T *a, const X_T *x, int64_t ldx, int64_t n, const int b, const int R,
    const int wide, const int part, const int sets)
{
#pragma GCC unroll 6
    for (int c = 0; c < b; c++, x += ldx) {
        V line[4];
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++) line[w] = part ? LOAD_FIRST(X_T, x, n) : LOAD_FROM(X_T, x + w * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            V entry = SPLAT((double)a[r * b + c]);
            V *to = sum + ((sets == 2 ? c & 1 : 0) * R + r) * wide;
#pragma GCC unroll 4
            for (int w = 0; w < wide; w++) to[w] = FMA(entry, line[w], to[w]);
        }
    }
}

/*
 * Lines r0 .. r0 + R - 1 of block row i, `wide` vectors from column j on, or a part of one, n columns. `known`: the
 * compiler knows b.
 */
INLINE void WIDE_NAME(tile)(const tulle__bsr_rows *rows, int64_t i, int64_t j, int64_t n, const int b, const int known,
    const int r0, const int R, const int wide, const int part)
{
    const tulle__bsr *A = rows->A;
    const int64_t ldx = rows->ldx, ldy = rows->ldy, end = A->rowptr[i + 1];
    const int sets = known && R * wide < 6 ? 2 : 1;
    const A_T *a = (const A_T *)A->val + (A->rowptr[i] * b + r0) * b;
    const X_T *X = (const X_T *)rows->X + j;
    X_T *Y = (X_T *)rows->Y + ((A->first + i) * b + r0) * ldy + j;
    V sum[24];
#pragma GCC unroll 24
    for (int t = 0; t < sets * R * wide; t++) sum[t] = SPLAT(0);
    int64_t e = A->rowptr[i];
    if (known && b == 1) /* entries take turns */
        for (; e + 2 <= end; e += 2, a += 2) {
            WIDE_NAME(step)(sum, a, X + tulle__bsr_column(A, i, e) * ldx, ldx, n, 1, 1, wide, part, sets);
            WIDE_NAME(step)
            (sum + wide, a + 1, X + tulle__bsr_column(A, i, e + 1) * ldx, ldx, n, 1, 1, wide, part, sets);
        }
    for (; e < end; e++, a += b * b) {
        WIDE_NAME(step)(sum, a, X + tulle__bsr_column(A, i, e) * b * ldx, ldx, n, b, R, wide, part, sets);
        for (int t = 0; known && b > 1 && t < b * b; t += 64 / (int)sizeof *a) tulle__fetch_page_ahead(a + t);
    }
#pragma GCC unroll 24
    for (int t = 0; t < R * wide; t++) {
        V result = sum[t];
        X_T *to = Y + t / wide * ldy + t % wide * LANES;
        if (sets == 2) result += sum[(R * wide + t) % 24];
        if (part)
            STORE_FIRST(X_T, to, result, n);
        else
            STORE_TO(X_T, to, result);
    }
}

/* Block rows begin .. end - 1, the same columns; b = 0: blocks of any size. */
INLINE void WIDE_NAME(panel)(const tulle__bsr_rows *rows, int64_t begin, int64_t end, int64_t j, int64_t n, const int b,
    const int wide, const int part)
{
    const int size = b ? b : rows->A->block;
    for (int64_t i = begin; i < end; i++) {
        int r = 0;
        if (b) {
            WIDE_NAME(tile)(rows, i, j, n, b, 1, 0, b, wide, part);
            continue;
        }
        for (; r + 4 <= size; r += 4) WIDE_NAME(tile)(rows, i, j, n, size, 0, r, 4, wide, part);
        for (; r < size; r++) WIDE_NAME(tile)(rows, i, j, n, size, 0, r, 1, wide, part);
    }
}

#define PANEL(name, b, wide, part)                                                                                     \
    static __attribute__((noinline)) void WIDE_NAME(name)(                                                             \
        const tulle__bsr_rows *rows, int64_t begin, int64_t end, int64_t j, int64_t n)                                 \
    {                                                                                                                  \
        WIDE_NAME(panel)(rows, begin, end, j, n, b, wide, part);                                                       \
    }
#define PANELS(b) PANEL(wide1_##b, b, 1, 0) PANEL(part_##b, b, 1, 1)
PANELS(0)
PANELS(1)
PANELS(2)
PANELS(3)
PANELS(4)
PANELS(6)
#if WIDEST > 1
PANEL(wide2_0, 0, 2, 0)
PANEL(wide2_1, 1, 2, 0)
PANEL(wide2_2, 2, 2, 0)
PANEL(wide2_3, 3, 2, 0)
PANEL(wide2_4, 4, 2, 0)
PANEL(wide2_6, 6, 2, 0)
PANEL(wide4_1, 1, 4, 0)
PANEL(wide4_2, 2, 4, 0)
PANEL(wide4_3, 3, 4, 0)
#if ROOM >= 24
PANEL(wide4_0, 0, 4, 0)
PANEL(wide4_4, 4, 4, 0)
PANEL(wide4_6, 6, 4, 0)
#endif
#endif
#undef PANELS
#undef PANEL

static void WIDE_NAME(columns)(const tulle__bsr_rows *rows)
{
    enum { GROUP = 32 };
    typedef void (*panel)(const tulle__bsr_rows *, int64_t, int64_t, int64_t, int64_t);
    static const panel one[7] = {WIDE_NAME(wide1_0), WIDE_NAME(wide1_1), WIDE_NAME(wide1_2), WIDE_NAME(wide1_3),
        WIDE_NAME(wide1_4), WIDE_NAME(wide1_0), WIDE_NAME(wide1_6)},
                       some[7] = {WIDE_NAME(part_0), WIDE_NAME(part_1), WIDE_NAME(part_2), WIDE_NAME(part_3),
                           WIDE_NAME(part_4), WIDE_NAME(part_0), WIDE_NAME(part_6)};
#if WIDEST > 1
    static const panel two[7] = {WIDE_NAME(wide2_0), WIDE_NAME(wide2_1), WIDE_NAME(wide2_2), WIDE_NAME(wide2_3),
        WIDE_NAME(wide2_4), WIDE_NAME(wide2_0), WIDE_NAME(wide2_6)};
#if ROOM >= 24
    static const panel four[7] = {WIDE_NAME(wide4_0), WIDE_NAME(wide4_1), WIDE_NAME(wide4_2), WIDE_NAME(wide4_3),
        WIDE_NAME(wide4_4), WIDE_NAME(wide4_0), WIDE_NAME(wide4_6)};
#else
    static const panel four[7] = {NULL, WIDE_NAME(wide4_1), WIDE_NAME(wide4_2), WIDE_NAME(wide4_3), NULL, NULL, NULL};
#endif
#endif
    int shape = rows->A->block <= 6 ? rows->A->block : 0;
    int64_t vectors = rows->k / LANES, rest = rows->k % LANES;
    for (int64_t begin = rows->begin, end; begin < rows->end; begin = end) {
        int64_t j = 0, left = vectors;
        end = begin + GROUP < rows->end ? begin + GROUP : rows->end;
#if WIDEST > 1
        for (; four[shape] && left >= 4; left -= 4, j += 4 * LANES) four[shape](rows, begin, end, j, 0);
        for (; left >= 2; left -= 2, j += 2 * LANES) two[shape](rows, begin, end, j, 0);
#endif
        for (; left; left--, j += LANES) one[shape](rows, begin, end, j, 0);
        if (rest) some[shape](rows, begin, end, j, rest);
    }
}
