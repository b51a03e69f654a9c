/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of rows of A whose entries are added to lines of C, over lanes.h, for LANES values of type T a vector.
 *
 * COUNT vectors of a line of X stay in registers while the row of A passes, and an entry loads and stores as many of C.
 * If the columns are no multiple of the vector the last one overlaps the one before: both are loaded before either is
 * stored, so that what they share is made twice from the same values, to the same bits.
 */
#define NAME(x) INSTANCE(x, T, LANES)

enum { NAME(MOST) = 8, NAME(AHEAD) = 16 };

/* Fetches a line of C, to be written. */
INLINE void NAME(fetch)(const T *c, const int count)
{
#pragma GCC unroll 8
    for (int line = 0; line < count * (int)sizeof(V); line += 64) __builtin_prefetch((const char *)c + line, 1);
}

/* Columns first .. first + n - 1, of `count` vectors. Stores may change what pointers name, so all are copied before.
 */
INLINE void NAME(block)(const tulle__scatter_rows *rows, int64_t first, int64_t n, const int count)
{
    const int64_t tail = count > 1 ? n - LANES : 0, m = rows->A.m, ldx = rows->ldx, ldc = rows->ldc;
    const int64_t *rowptr = rows->A.rowptr, fetched = rows->fetches ? rowptr[m] - NAME(AHEAD) : 0;
    const int32_t *colind = rows->A.colind;
    const T *val = rows->A.val, *X = (const T *)rows->X + first;
    const V alpha = SPLAT((T)rows->alpha);
    T *C = (T *)rows->C + first;
    for (int64_t i = 0; i < m; i++, X += ldx) {
        const int64_t end = rowptr[i + 1];
        V x[NAME(MOST)], sum[NAME(MOST)];
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) x[t] = alpha * LOAD(X + (t == count - 1 ? tail : (int64_t)t * LANES));
        for (int64_t a = rowptr[i]; a < end; a++) {
            T *c = C + colind[a] * ldc;
            const V value = SPLAT(val[a]);
            if (a < fetched) NAME(fetch)(C + colind[a + NAME(AHEAD)] * ldc, count);
#pragma GCC unroll 8
            for (int t = 0; t < count; t++)
                sum[t] = FMA(value, x[t], LOAD(c + (t == count - 1 ? tail : (int64_t)t * LANES)));
#pragma GCC unroll 8
            for (int t = 0; t < count; t++) STORE(c + (t == count - 1 ? tail : (int64_t)t * LANES), sum[t]);
        }
    }
}

#define BLOCK(count)                                                                                                   \
    static __attribute__((noinline)) void NAME(block##count)(                                                          \
        const tulle__scatter_rows *rows, int64_t first, int64_t n)                                                     \
    {                                                                                                                  \
        NAME(block)(rows, first, n, count);                                                                            \
    }
BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(4)
BLOCK(5)
BLOCK(6)
BLOCK(7)
BLOCK(8)
#undef BLOCK

/* All columns, n >= LANES, in blocks of nearly equal numbers of vectors. */
static void NAME(scatter)(const tulle__scatter_rows *rows)
{
    static void (*const blocks[NAME(MOST)])(const tulle__scatter_rows *, int64_t, int64_t) = {
        NAME(block1), NAME(block2), NAME(block3), NAME(block4), NAME(block5), NAME(block6), NAME(block7), NAME(block8)};
    int64_t left = (rows->n + LANES - 1) / LANES;
    for (int64_t parts = (left + NAME(MOST) - 1) / NAME(MOST), first = 0; parts; parts--) {
        const int64_t count = left / parts, n = parts == 1 ? rows->n - first : count * LANES;
        blocks[count - 1](rows, first, n);
        first += n;
        left -= count;
    }
}

#undef NAME
#undef T
#undef LANES
