/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the local work on vectors, included once a type: T the value type, NAME(x) x with its suffix. Sums are
 * made in double, eight side by side in the order of the rows, so that no instruction set changes their bits.
 *
 * Of many vectors x a few thousand rows each are used at a time, with those of y, which stay in the cache; four x are
 * added side by side, so that y is loaded and stored once for them. Vectors of 16 bytes are what any processor has.
 */
#include "base/page_ahead.h"

enum { NAME(LANES) = 16 / sizeof(T), NAME(FETCHED) = 64 };
typedef T NAME(lanes) __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));

/* fetches: n is many; apart from the sums, as compilers would not use vectors for these */
static inline __attribute__((always_inline)) double NAME(sum_products)(
    const T *x, const T *y, int64_t n, const int fetches)
{
    double sum[8] = {0};
    int64_t i = 0;
    while (i + 8 <= n) {
        const int64_t stop = fetches && i + NAME(FETCHED) < n ? i + NAME(FETCHED) : n;
        for (int64_t at = i; fetches && at < stop; at += 64 / (int64_t)sizeof(T)) {
            tulle__fetch_page_ahead(x + at);
            tulle__fetch_page_ahead(y + at);
        }
        for (; i + 8 <= stop; i += 8)
            for (int s = 0; s < 8; s++) sum[s] += (double)x[i + s] * (double)y[i + s];
    }
    for (int s = 0; i < n; i++, s++) sum[s] += (double)x[i] * (double)y[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static double NAME(dot)(const T *x, const T *y, int64_t n)
{
    return n < NAME(FETCHED) ? NAME(sum_products)(x, y, n, 0) : NAME(sum_products)(x, y, n, 1);
}

/* y = y + the sum of coef[v] x[v], v < 4, for rows begin .. end - 1, summand by summand; y is none of x. */
static void NAME(add_four)(const double *coef, const void *const *x, T *y, int64_t begin, int64_t end)
{
    const T *from[4] = {x[0], x[1], x[2], x[3]};
    const T by[4] = {(T)coef[0], (T)coef[1], (T)coef[2], (T)coef[3]};
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        for (int v = 0; v < 4; v++) tulle__fetch_page_ahead(from[v] + i);
        for (int64_t at = i; at < i + 8; at += NAME(LANES)) {
            NAME(lanes) sum = *(const NAME(lanes) *)(const void *)(y + at);
            for (int v = 0; v < 4; v++) sum += by[v] * *(const NAME(lanes) *)(const void *)(from[v] + at);
            *(NAME(lanes) *)(void *)(y + at) = sum;
        }
    }
    for (; i < end; i++)
        for (int v = 0; v < 4; v++) y[i] += by[v] * from[v][i];
}

/* y = beta y + the sum of coef[v] x[v], for rows begin .. end - 1, summand by summand; y may be x[0], if alone. */
static void NAME(combine)(
    int count, const double *coef, const void *const *x, double beta, T *y, int64_t begin, int64_t end)
{
    int v = 0;
    if (beta != 1 && count) {
        const T *from = x[0], c = (T)coef[0], b = (T)beta;
        if (beta == 0)
            for (int64_t i = begin; i < end; i++) y[i] = c * from[i];
        else
            for (int64_t i = begin; i < end; i++) y[i] = b * y[i] + c * from[i];
        v = 1;
    }
    for (; v + 4 <= count; v += 4) NAME(add_four)(coef + v, x + v, y, begin, end);
    for (; v < count; v++) {
        const T *from = x[v], c = (T)coef[v];
        for (int64_t i = begin; i < end; i++) y[i] += c * from[i];
    }
}
