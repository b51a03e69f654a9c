/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of rows of A whose entries are added to one column, over lanes.h, for values of type T.
 *
 * A row that ends where the one before did not is mispredicted, which costs as much as a dozen entries. Where rows are
 * short their products are made first, whole vectors of them, of which the next row overwrites what is too many: then
 * the entries of many rows are added in one loop.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)
#define LANES MOST(T)

enum { NAME(SHORT) = 16, NAME(PRODUCTS) = 1024, NAME(STEP) = 16 };

/* C's element of entry a += val[a] x */
INLINE void NAME(add)(T *C, const int32_t *colind, const T *val, T x, int64_t a)
{
    C[colind[a]] = TULLE__OPERATION_OF(fma, T, 1)(val[a], x, C[colind[a]]);
}

/* Rows begin .. end - 1, one by one. */
static void NAME(scatter_long)(const tulle__scatter_rows *rows, int64_t begin, int64_t end)
{
    const int64_t *rowptr = rows->A.rowptr, ldx = rows->ldx;
    const int32_t *colind = rows->A.colind;
    const T *val = rows->A.val, *X = rows->X, alpha = (T)rows->alpha;
    T *C = rows->C;
    for (int64_t i = begin; i < end; i++) {
        const T x = alpha * X[i * ldx];
        const int64_t stop = rowptr[i + 1];
        int64_t a = rowptr[i];
        for (; a + 8 <= stop; a += 8) {
            tulle__fetch_page_ahead(val + a);
            tulle__fetch_page_ahead(colind + a);
#pragma GCC unroll 8
            for (int q = 0; q < 8; q++) NAME(add)(C, colind, val, x, a + q);
        }
        for (; a < stop; a++) NAME(add)(C, colind, val, x, a);
    }
}

/* C's elements of `count` entries += their products */
INLINE void NAME(add_products)(T *C, const int32_t *colind, const T *product, int64_t count)
{
    int64_t e = 0;
    for (; e + 8 <= count; e += 8) {
        tulle__fetch_page_ahead(colind + e);
#pragma GCC unroll 8
        for (int q = 0; q < 8; q++) C[colind[e + q]] += product[e + q];
    }
    for (; e < count; e++) C[colind[e]] += product[e];
}

/*
 * Products of rows from i on, as many as there is room for, whose last vectors are within the entries of all; returns
 * the first row that is left.
 */
INLINE int64_t NAME(products)(const tulle__scatter_rows *rows, int64_t i, T *to)
{
    const int64_t *rowptr = rows->A.rowptr, first = rowptr[i], m = rows->A.m, ldx = rows->ldx;
    const int64_t last = rowptr[m] - first - NAME(STEP), capacity = NAME(PRODUCTS) < last ? NAME(PRODUCTS) : last;
    const T *X = rows->X, *val = (const T *)rows->A.val + first, alpha = (T)rows->alpha;
    for (; i < m && rowptr[i + 1] - first <= capacity; i++) {
        const V x = SPLAT(alpha * X[i * ldx]);
        const int64_t end = rowptr[i + 1] - first;
        int64_t at = rowptr[i] - first;
        do {
            tulle__fetch_page_ahead(val + at);
#pragma GCC unroll 8
            for (int t = 0; t < NAME(STEP); t += LANES) STORE(to + at + t, x * LOAD(val + at + t));
            at += NAME(STEP);
        } while (at < end);
    }
    return i;
}

static void NAME(scatter_column)(const tulle__scatter_rows *rows)
{
    const int64_t *rowptr = rows->A.rowptr, m = rows->A.m;
    const int32_t *colind = rows->A.colind;
    T product[NAME(PRODUCTS) + NAME(STEP)];
    if (rowptr[m] - rowptr[0] > NAME(SHORT) * m) {
        NAME(scatter_long)(rows, 0, m);
        return;
    }
    for (int64_t i = 0, next; i < m; i = next) {
        const int64_t first = rowptr[i];
        next = NAME(products)(rows, i, product);
        NAME(add_products)(rows->C, colind + first, product, rowptr[next] - first);
        if (next > i) continue;
        NAME(scatter_long)(rows, i, i + 1);
        next = i + 1;
    }
}

#undef NAME
#undef T
#undef LANES
