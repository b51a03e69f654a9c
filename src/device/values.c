/* SPDX-License-Identifier: Apache-2.0 */
#include "device/values.h"

#include <string.h>

struct scaling {
    tulle_type type;
    int64_t lines, width, ld;
    double beta;
    void *val;
};

/* Values from .. to - 1. */
static void scale_run(const struct scaling *s, int64_t from, int64_t to)
{
    size_t size = tulle_type_size(s->type);
    if (s->beta == 0) {
        memset((char *)s->val + (size_t)from * size, 0, (size_t)(to - from) * size);
    } else if (s->type == TULLE_F32) {
        float *v = s->val, beta = (float)s->beta;
        for (int64_t e = from; e < to; e++) v[e] *= beta;
    } else {
        double *v = s->val;
        for (int64_t e = from; e < to; e++) v[e] *= s->beta;
    }
}

/* Each thread has the same part whenever a tile is gone through: its pages lie near it. */
static tulle_status scale_part(void *arg, int thread, int nthreads)
{
    const struct scaling *s = arg;
    if (s->ld == s->width) {
        int64_t count = s->lines * s->width;
        scale_run(s, count * thread / nthreads, count * (thread + 1) / nthreads);
        return TULLE_OK;
    }
    for (int64_t line = s->lines * thread / nthreads; line < s->lines * (thread + 1) / nthreads; line++)
        scale_run(s, line * s->ld, line * s->ld + s->width);
    return TULLE_OK;
}

tulle_status tulle__values_scale(
    tulle__pool *pool, tulle_type type, int64_t lines, int64_t width, int64_t ld, double beta, void *val)
{
    struct scaling scaling = {type, lines, width, ld, beta, val};
    return tulle__pool_run(pool, scale_part, &scaling);
}

void tulle__values_add(tulle_type type, int64_t m, int64_t n, const void *panel, void *C, int64_t c_row, int64_t c_col)
{
    for (int64_t r = 0; r < m; r++) {
        if (type == TULLE_F32) {
            float *restrict to = (float *)C + r * c_row;
            const float *restrict from = (const float *)panel + r * n;
            for (int64_t c = 0; c < n; c++) to[c * c_col] += from[c];
        } else {
            double *restrict to = (double *)C + r * c_row;
            const double *restrict from = (const double *)panel + r * n;
            for (int64_t c = 0; c < n; c++) to[c * c_col] += from[c];
        }
    }
}

struct gathering {
    tulle_type type;
    int64_t n;
    const char *order, *from;
    size_t order_bytes;
    char *to;
};

/* With sizes that are known where it is inlined, so that each pair of them is a loop of its own. */
static inline __attribute__((always_inline)) void gather_run(
    const struct gathering *g, int64_t begin, int64_t end, size_t number, size_t value)
{
    for (int64_t e = begin; e < end; e++) {
        uint32_t narrow;
        uint64_t wide;
        memcpy(number == sizeof wide ? (void *)&wide : (void *)&narrow, g->order + (size_t)e * number, number);
        memcpy(g->to + (size_t)e * value, g->from + (number == sizeof wide ? wide : narrow) * value, value);
    }
}

static tulle_status gather_part(void *arg, int thread, int nthreads)
{
    const struct gathering *g = arg;
    int64_t begin = g->n / nthreads * thread + g->n % nthreads * thread / nthreads;
    int64_t end = g->n / nthreads * (thread + 1) + g->n % nthreads * (thread + 1) / nthreads;
    if (g->order_bytes == sizeof(uint32_t))
        g->type == TULLE_F32 ? gather_run(g, begin, end, 4, 4) : gather_run(g, begin, end, 4, 8);
    else
        g->type == TULLE_F32 ? gather_run(g, begin, end, 8, 4) : gather_run(g, begin, end, 8, 8);
    return TULLE_OK;
}

tulle_status tulle__values_gather(
    tulle__pool *pool, tulle_type type, int64_t n, const void *order, size_t order_bytes, const void *from, void *to)
{
    struct gathering gathering = {type, n, order, from, order_bytes, to};
    return tulle__pool_run(pool, gather_part, &gathering);
}

void tulle__values_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
