/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product of a symmetric slab of blocks, of which half is stored, with several columns; instances
 * as those of bsr_columns.h. Sums of the own rows stay in registers; the lines at a block's columns are read and
 * written. As many columns as registers hold are done at once, since lines of many columns that are taken in narrow
 * panels lie in few sets of the cache.
 */

/*
 * A block, both ways: sum += a times the lines of X at its columns, and, if it is right of the diagonal, to[c lines, ld
 * apart] += a^T times the block row's own lines of X. An entry is spread over a vector once for both. `mine` are the
 * own lines, in registers if `held`.
 */
INLINE void WIDE_NAME(both_ways)(V *sum, const V *mine, const A_T *a, const X_T *x, const X_T *here, int64_t ldx,
    double *to, int64_t ld, int64_t n, const int b, const int wide, const int part, const int held, const int across)
{
#pragma GCC unroll 6
    for (int c = 0; c < b; c++, x += ldx, to += ld) {
        V line[4], other[4];
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++) {
            line[w] = part ? LOAD_FIRST(X_T, x, n) : LOAD_FROM(X_T, x + w * LANES);
            if (across) other[w] = part ? LOAD_FIRST(double, to, n) : LOAD(to + w * LANES);
        }
#pragma GCC unroll 6
        for (int r = 0; r < b; r++) {
            V entry = SPLAT((double)a[r * b + c]);
            const X_T *own = here + r * ldx;
#pragma GCC unroll 4
            for (int w = 0; w < wide; w++) {
                sum[r * wide + w] = FMA(entry, line[w], sum[r * wide + w]);
                if (!across) continue;
                V one = held ? mine[r * wide + w] : part ? LOAD_FIRST(X_T, own, n) : LOAD_FROM(X_T, own + w * LANES);
                other[w] = FMA(entry, one, other[w]);
            }
        }
        if (!across) continue;
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++)
            if (part)
                STORE_FIRST(double, to, other[w], n);
            else
                STORE(to + w * LANES, other[w]);
    }
}

/* Block rows i0 .. i1 - 1, columns j .. j + wide * LANES - 1, or n of a part of a vector. */
INLINE void WIDE_NAME(half_panel)(const tulle__bsr_rows *rows, int64_t i0, int64_t i1, int64_t j, int64_t n,
    const int b, const int wide, const int part)
{
    const tulle__bsr *A = rows->A;
    const int64_t begin = A->first + rows->begin, end = A->first + rows->end, ldx = rows->ldx, own_ld = rows->own_ld;
    const int held = 2 * b * wide + 2 * wide < (ROOM >= 24 ? 31 : 15);
    const A_T *a = (const A_T *)A->val + A->rowptr[i0] * b * b;
    const X_T *X = (const X_T *)rows->X + j;
    double *own = rows->own + (i0 - rows->begin) * b * own_ld + j;
    for (int64_t i = i0; i < i1; i++, own += b * own_ld) {
        V sum[24], mine[24];
        const X_T *here = X + (A->first + i) * b * ldx;
        int64_t e = A->rowptr[i], stop = A->rowptr[i + 1];
#pragma GCC unroll 24
        for (int t = 0; t < b * wide; t++) {
            const X_T *from = here + t / wide * ldx + t % wide * LANES;
            sum[t] = SPLAT(0);
            if (held) mine[t] = part ? LOAD_FIRST(X_T, from, n) : LOAD_FROM(X_T, from);
        }
        if (e < stop && tulle__bsr_column(A, i, e) == A->first + i) {
            WIDE_NAME(both_ways)(sum, mine, a, here, here, ldx, own, 0, n, b, wide, part, held, 0);
            a += b * b;
            e++;
        }
        for (; e < stop; e++, a += b * b) {
            int64_t col = tulle__bsr_column(A, i, e);
            double *to =
                col >= end ? rows->beyond + (col - end) * b * rows->k + j : rows->own + (col - begin) * b * own_ld + j;
            WIDE_NAME(both_ways)
            (sum, mine, a, X + col * b * ldx, here, ldx, to, col >= end ? rows->k : own_ld, n, b, wide, part, held, 1);
        }
#pragma GCC unroll 24
        for (int t = 0; t < b * wide; t++) {
            double *to = own + t / wide * own_ld + t % wide * LANES;
            if (part)
                STORE_FIRST(double, to, LOAD_FIRST(double, to, n) + sum[t], n);
            else
                STORE(to, LOAD(to) + sum[t]);
        }
    }
}

/* In groups of rows, so that A is read again from the cache. */
#define HALF(b, most)                                                                                                  \
    static __attribute__((noinline)) void WIDE_NAME(half_panels_##b)(const tulle__bsr_rows *rows)                      \
    {                                                                                                                  \
        for (int64_t i = rows->begin, stop; i < rows->end; i = stop) {                                                 \
            int64_t j = 0;                                                                                             \
            stop = i + 32 < rows->end ? i + 32 : rows->end;                                                            \
            for (; j + most * LANES <= rows->k; j += most * LANES)                                                     \
                WIDE_NAME(half_panel)(rows, i, stop, j, 0, b, most, 0);                                                \
            if (most > 2)                                                                                              \
                for (; j + 2 * LANES <= rows->k; j += 2 * LANES) WIDE_NAME(half_panel)(rows, i, stop, j, 0, b, 2, 0);  \
            for (; j + LANES <= rows->k; j += LANES) WIDE_NAME(half_panel)(rows, i, stop, j, 0, b, 1, 0);              \
            if (j < rows->k) WIDE_NAME(half_panel)(rows, i, stop, j, rows->k - j, b, 1, 1);                            \
        }                                                                                                              \
    }
#if WIDEST == 1
HALF(1, 1)
HALF(3, 1)
HALF(6, 1)
#elif ROOM >= 24
HALF(1, 4)
HALF(3, 4)
HALF(6, 4)
#else
HALF(1, 4)
HALF(3, 2)
HALF(6, 1)
#endif
#undef HALF

static void WIDE_NAME(half_columns)(const tulle__bsr_rows *rows)
{
    switch (rows->A->block) {
    case 1:
        WIDE_NAME(half_panels_1)(rows);
        return;
    case 3:
        WIDE_NAME(half_panels_3)(rows);
        return;
    case 6:
        WIDE_NAME(half_panels_6)(rows);
        return;
    default:
        NAME(half_formula)(rows);
    }
}
