/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product of a symmetric slab of blocks, of which half is stored, with several columns, with the macros
 * of bsr_columns.h. Sums of the own rows stay in registers; the lines at a block's columns are read and written. As
 * many columns as registers hold are done at once, since lines of many columns that are taken in narrow panels lie in
 * few sets of the cache.
 */

#define LOAD_X TULLE__BSR_OP(load, W, X_L)
#define LOAD_X_N TULLE__BSR_OP(part, W, X_L)
#define LOAD_SUM TULLE__BSR_OP(load, W, d)
#define LOAD_SUM_N TULLE__BSR_OP(part, W, d)
#define STORE_SUM TULLE__BSR_OP(store, W, d)
#define STORE_SUM_N TULLE__BSR_OP(put, W, d)

/*
 * A block, both ways: sum += a times the lines of X at its columns, and, if it is right of the diagonal, to[c lines, ld
 * apart] += a^T times the block row's own lines of X. An entry is spread over a vector once for both. `mine` are the
 * own lines, in registers if `held`.
 */
ROWS static inline __attribute__((always_inline)) void NAME(both_ways)(V *sum, const V *mine, const A_T *a,
    const X_T *x, const X_T *here, int64_t ldx, double *to, int64_t ld, int64_t n, const int b, const int wide,
    const int part, const int held, const int across)
{
#pragma GCC unroll 6
    for (int c = 0; c < b; c++, x += ldx, to += ld) {
        V line[4], other[4];
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++) {
            line[w] = part ? LOAD_X_N(x, n) : LOAD_X(x + w * W);
            if (across) other[w] = part ? LOAD_SUM_N(to, n) : LOAD_SUM(to + w * W);
        }
#pragma GCC unroll 6
        for (int r = 0; r < b; r++) {
            V entry = SPLAT((double)a[r * b + c]);
            const X_T *own = here + r * ldx;
#pragma GCC unroll 4
            for (int w = 0; w < wide; w++) {
                sum[r * wide + w] = FMA(entry, line[w], sum[r * wide + w]);
                if (!across) continue;
                V one = held ? mine[r * wide + w] : part ? LOAD_X_N(own, n) : LOAD_X(own + w * W);
                other[w] = FMA(entry, one, other[w]);
            }
        }
        if (!across) continue;
#pragma GCC unroll 4
        for (int w = 0; w < wide; w++)
            if (part)
                STORE_SUM_N(to, other[w], n);
            else
                STORE_SUM(to + w * W, other[w]);
    }
}

/* Block rows i0 .. i1 - 1, columns j .. j + wide * W - 1, or n of a part of a vector. */
ROWS static inline __attribute__((always_inline)) void NAME(half_panel)(const tulle__bsr_rows *rows, int64_t i0,
    int64_t i1, int64_t j, int64_t n, const int b, const int wide, const int part)
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
            const X_T *from = here + t / wide * ldx + t % wide * W;
            sum[t] = SPLAT(0);
            if (held) mine[t] = part ? LOAD_X_N(from, n) : LOAD_X(from);
        }
        if (e < stop && tulle__bsr_column(A, i, e) == A->first + i) {
            NAME(both_ways)(sum, mine, a, here, here, ldx, own, 0, n, b, wide, part, held, 0);
            a += b * b;
            e++;
        }
        for (; e < stop; e++, a += b * b) {
            int64_t col = tulle__bsr_column(A, i, e);
            double *to =
                col >= end ? rows->beyond + (col - end) * b * rows->k + j : rows->own + (col - begin) * b * own_ld + j;
            NAME(both_ways)
            (sum, mine, a, X + col * b * ldx, here, ldx, to, col >= end ? rows->k : own_ld, n, b, wide, part, held, 1);
        }
#pragma GCC unroll 24
        for (int t = 0; t < b * wide; t++) {
            double *to = own + t / wide * own_ld + t % wide * W;
            if (part)
                STORE_SUM_N(to, LOAD_SUM_N(to, n) + sum[t], n);
            else
                STORE_SUM(to, LOAD_SUM(to) + sum[t]);
        }
    }
}

/* In groups of rows, so that A is read again from the cache. */
#define HALF(b, most)                                                                                                  \
    ROWS static __attribute__((noinline)) void NAME(half_panels_##b)(const tulle__bsr_rows *rows)                      \
    {                                                                                                                  \
        for (int64_t i = rows->begin, stop; i < rows->end; i = stop) {                                                 \
            int64_t j = 0;                                                                                             \
            stop = i + 32 < rows->end ? i + 32 : rows->end;                                                            \
            for (; j + most * W <= rows->k; j += most * W) NAME(half_panel)(rows, i, stop, j, 0, b, most, 0);          \
            if (most > 2)                                                                                              \
                for (; j + 2 * W <= rows->k; j += 2 * W) NAME(half_panel)(rows, i, stop, j, 0, b, 2, 0);               \
            for (; j + W <= rows->k; j += W) NAME(half_panel)(rows, i, stop, j, 0, b, 1, 0);                           \
            if (j < rows->k) NAME(half_panel)(rows, i, stop, j, rows->k - j, b, 1, 1);                                 \
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

ROWS static void NAME(half_columns)(const tulle__bsr_rows *rows)
{
    switch (rows->A->block) {
    case 1:
        NAME(half_panels_1)(rows);
        return;
    case 3:
        NAME(half_panels_3)(rows);
        return;
    case 6:
        NAME(half_panels_6)(rows);
        return;
    default:
        HALF_FORMULA(rows);
    }
}

#undef LOAD_X
#undef LOAD_X_N
#undef LOAD_SUM
#undef LOAD_SUM_N
#undef STORE_SUM
#undef STORE_SUM_N
