/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse-dense product's row kernel, included once an instruction set, value type and vector width with
 *   T, V, LANES                    the value type, a vector of it (or T itself), its lanes
 *   U                              V without alignment, for loads and stores
 *   NAME(x)                        x with the suffixes
 *   ROWS                           the function attribute of the instruction set
 *   SPLAT(x), FMA(a, b, c)         x in all lanes; a b + c
 *   STREAM(p, v)                   store past the caches
 *
 * COUNT vectors of a row of C stay in registers while the row of A passes. If the columns are no multiple of the vector
 * the last one overlaps the one before: some sums are made twice, to the same bits, and no lane needs a mask.
 */

enum { NAME(FETCH_AHEAD) = 12, NAME(MOST) = 8, NAME(GROUP) = 16 };

ROWS static inline __attribute__((always_inline)) void NAME(block)(
    const tulle__spmm_rows *rows, int64_t begin, int64_t end, int64_t first, int64_t n, const int count)
{
    const tulle__csr *A = rows->A;
    const int32_t *colind = A->colind;
    const T *val = A->val, *B = (const T *)rows->B + first;
    const int64_t ldb = rows->ldb, tail = n - LANES;
    const int64_t fetch_end = rows->prefetch ? A->rowptr[A->m] - NAME(FETCH_AHEAD) : 0;
    const V alpha = SPLAT((T)rows->alpha), beta = SPLAT((T)rows->beta);
    const int reads = rows->beta != 0;
    T *c = (T *)rows->C + (begin - rows->begin) * rows->ldc + first;
    for (int64_t i = begin; i < end; i++, c += rows->ldc) {
        V sum[NAME(MOST)];
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) sum[t] = SPLAT(0);
        for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++) {
            const T *b = B + colind[a] * ldb;
            const V x = SPLAT(val[a]);
            if (a < fetch_end) {
                const char *ahead = (const char *)(B + colind[a + NAME(FETCH_AHEAD)] * ldb);
#pragma GCC unroll 8
                for (int line = 0; line < count * (int)sizeof(V); line += 64) __builtin_prefetch(ahead + line);
            }
#pragma GCC unroll 8
            for (int t = 0; t < count - 1; t++) sum[t] = FMA(x, *(const U *)(const void *)(b + t * LANES), sum[t]);
            sum[count - 1] = FMA(x, *(const U *)(const void *)(b + tail), sum[count - 1]);
        }
        V old[NAME(MOST)];
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) {
            int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
            sum[t] = sum[t] * alpha;
            if (reads) old[t] = *(const U *)(const void *)(c + at);
        }
#pragma GCC unroll 8
        for (int t = 0; t < count; t++) {
            int64_t at = t == count - 1 ? tail : (int64_t)t * LANES;
            if (reads)
                *(U *)(void *)(c + at) = sum[t] + beta * old[t];
            else if (rows->stream)
                STREAM(c + at, sum[t]);
            else
                *(U *)(void *)(c + at) = sum[t];
        }
    }
}

#define BLOCK(count)                                                                                                   \
    ROWS static __attribute__((noinline)) void NAME(block##count)(                                                     \
        const tulle__spmm_rows *rows, int64_t begin, int64_t end, int64_t first, int64_t n)                            \
    {                                                                                                                  \
        NAME(block)(rows, begin, end, first, n, count);                                                                \
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

#if LANES == 1
/* One column: four rows side by side, since a row's sums wait for each other. */
ROWS static void NAME(column)(const tulle__spmm_rows *rows)
{
    const int64_t *rowptr = rows->A->rowptr, ldb = rows->ldb;
    const int32_t *colind = rows->A->colind;
    const T *val = rows->A->val, *B = rows->B;
    T *C = rows->C, alpha = (T)rows->alpha, beta = (T)rows->beta;
    enum { FETCH_COLUMN = 48 };
    const int64_t fetch_end = rows->A->n > 1 << 19 ? rowptr[rows->A->m] - FETCH_COLUMN : 0; /* B outside L2 by far */
    for (int64_t i = rows->begin; i < rows->end; i += 4) {
        int count = rows->end - i < 4 ? (int)(rows->end - i) : 4;
        int64_t at[4], end[4], steps = INT64_MAX;
        T sum[4] = {0, 0, 0, 0};
        for (int r = 0; r < 4; r++) {
            at[r] = r < count ? rowptr[i + r] : 0;
            end[r] = r < count ? rowptr[i + r + 1] : 0;
            if (end[r] - at[r] < steps) steps = end[r] - at[r];
        }
        for (int64_t s = 0; s < steps; s++) {
            if (at[3] + s < fetch_end)
                for (int r = 0; r < 4; r++) __builtin_prefetch(&B[colind[at[r] + s + FETCH_COLUMN] * ldb]);
            sum[0] = FMA(val[at[0] + s], B[colind[at[0] + s] * ldb], sum[0]);
            sum[1] = FMA(val[at[1] + s], B[colind[at[1] + s] * ldb], sum[1]);
            sum[2] = FMA(val[at[2] + s], B[colind[at[2] + s] * ldb], sum[2]);
            sum[3] = FMA(val[at[3] + s], B[colind[at[3] + s] * ldb], sum[3]);
        }
        for (int r = 0; r < count; r++) {
            for (int64_t a = at[r] + steps; a < end[r]; a++) sum[r] = FMA(val[a], B[colind[a] * ldb], sum[r]);
            T *c = &C[(i - rows->begin + r) * rows->ldc];
            *c = beta == 0 ? alpha * sum[r] : alpha * sum[r] + beta * *c;
        }
    }
}
#endif

/* All columns, n >= LANES, in blocks of nearly equal numbers of vectors, for a group of rows whose A stays in L1. */
static void NAME(rows)(const tulle__spmm_rows *rows)
{
    typedef void (*block_kernel)(const tulle__spmm_rows *, int64_t, int64_t, int64_t, int64_t);
    static const block_kernel kernels[NAME(MOST) + 1] = {NULL, NAME(block1), NAME(block2), NAME(block3), NAME(block4),
        NAME(block5), NAME(block6), NAME(block7), NAME(block8)};
#if LANES == 1
    if (rows->n == 1) {
        NAME(column)(rows);
        return;
    }
#endif
    int64_t vectors = (rows->n + LANES - 1) / LANES, blocks = (vectors + NAME(MOST) - 1) / NAME(MOST);
    int64_t group = blocks == 1 ? rows->end - rows->begin : NAME(GROUP);
    for (int64_t begin = rows->begin; begin < rows->end; begin += group) {
        int64_t end = begin + group < rows->end ? begin + group : rows->end;
        int64_t first = 0, left = vectors;
        for (int64_t b = 0; b < blocks; b++) {
            int64_t count = left / (blocks - b), n = b == blocks - 1 ? rows->n - first : count * LANES;
            kernels[count](rows, begin, end, first, n);
            first += n;
            left -= count;
        }
    }
}

#undef V
#undef U
#undef LANES
#undef NAME
#undef SPLAT
#undef FMA
#undef STREAM
