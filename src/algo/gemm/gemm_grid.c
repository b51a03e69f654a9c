/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/gemm.h>

#include <inttypes.h>
#include <math.h>

#include "base/arg.h"
#include "base/error.h"

struct shape {
    tulle_gidx m, n, k;
    int64_t bytes; /* of an element */
};

/* Part i of n indices in even cuts. */
static int64_t part(int64_t n, int i, int parts)
{
    return (int64_t)((__int128)n * (i + 1) / parts - (__int128)n * i / parts);
}

static int64_t larger(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* The sum over all PEs; 128 bits hold it for any shape whose operands fit 64. */
static __int128 volume(const struct shape *s, int rows, int cols, int layers)
{
    return s->bytes * ((__int128)(cols - 1) * s->m * s->k + (__int128)(rows - 1) * s->k * s->n +
                          (__int128)(layers - 1) * s->m * s->n);
}

/* The most elements that a PE receives, times their bytes. */
static int64_t most_of(const struct shape *s, const tulle_gemm_grid *g)
{
    int64_t most = 0;
    for (int i = 0; i < g->rows; i++)
        for (int j = 0; j < g->cols; j++)
            for (int l = 0; l < g->layers; l++) {
                int64_t mi = part(s->m, i, g->rows), nj = part(s->n, j, g->cols), kl = part(s->k, l, g->layers);
                int64_t a = part(kl, j, g->cols), b = part(kl, i, g->rows), c = part(nj, l, g->layers);
                most = larger(most, mi * (kl - a) + (kl - b) * nj + (g->layers - 1) * mi * c);
            }
    return most * s->bytes;
}

static int64_t ceiling(int64_t n, int parts)
{
    return n / parts + (n % parts != 0);
}

/* Elements of a PE that has the largest part of each. */
static int64_t held(const struct shape *s, const tulle_gemm_grid *g)
{
    int64_t mi = ceiling(s->m, g->rows), nj = ceiling(s->n, g->cols), kl = ceiling(s->k, g->layers);
    int64_t c = mi * ceiling(nj, g->layers), all = mi * ceiling(kl, g->cols) + ceiling(kl, g->rows) * nj + c;
    if (g->cols > 1) all += mi * kl;
    if (g->rows > 1) all += kl * nj;
    if (g->layers > 1) all += mi * nj + (g->layers - 1) * c;
    return all;
}

/* m >= n >= k in the paper's names. */
static double bound_of(const struct shape *s, int pes)
{
    double d[3] = {(double)s->m, (double)s->n, (double)s->k}, P = pes;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (d[j] < d[j + 1]) {
                double t = d[j];
                d[j] = d[j + 1];
                d[j + 1] = t;
            }
    double m = d[0], n = d[1], k = d[2], words;
    if (k == 0) return 0;
    if (P <= m / n)
        words = n * k * (1 - 1 / P);
    else if (P <= m * n / (k * k))
        words = 2 * sqrt(m * n * k * k / P) - (m * k + n * k) / P;
    else
        words = 3 * cbrt(m * n * k / P) * cbrt(m * n * k / P) - (m * n + m * k + n * k) / P;
    return words * (double)s->bytes;
}

static tulle_status check(const struct shape *s, int pes)
{
    int64_t elements;
    if (TULLE__NEGATIVE(s->m) || TULLE__NEGATIVE(s->n) || TULLE__NEGATIVE(s->k)) return TULLE_ERR_ARG;
    if (pes < 1) return tulle__fail(TULLE_ERR_ARG, "a grid of %d PEs", pes);
    const tulle_gidx pair[3][2] = {{s->m, s->k}, {s->k, s->n}, {s->m, s->n}};
    for (int x = 0; x < 3; x++)
        if (__builtin_mul_overflow(pair[x][0], pair[x][1], &elements) ||
            __builtin_mul_overflow(elements, 16 * s->bytes, &elements))
            return tulle__fail(TULLE_ERR_OVERFLOW, "a dense matrix of %" PRId64 " x %" PRId64, pair[x][0], pair[x][1]);
    return TULLE_OK;
}

/* All figures but `most`, whose cost grows with the PEs. */
static tulle_status make(const struct shape *s, int pes, int rows, int cols, int layers, tulle_gemm_grid *grid)
{
    __int128 bytes = volume(s, rows, cols, layers);
    if (bytes > INT64_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "the volume of a grid of %d x %d x %d PEs", rows, cols, layers);
    *grid = (tulle_gemm_grid){.rows = rows,
        .cols = cols,
        .layers = layers,
        .pes = rows * cols * layers,
        .volume = (int64_t)bytes,
        .multiplied = (double)ceiling(s->m, rows) * (double)ceiling(s->n, cols) * (double)ceiling(s->k, layers),
        .bound = bound_of(s, pes)};
    grid->memory = held(s, grid) * s->bytes;
    return TULLE_OK;
}

tulle_status tulle_gemm_grid_of(tulle_gidx m, tulle_gidx n, tulle_gidx k, tulle_type type, int pes, int rows, int cols,
    int layers, tulle_gemm_grid *grid)
{
    if (TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(grid)) return TULLE_ERR_ARG;
    const struct shape s = {m, n, k, (int64_t)tulle_type_size(type)};
    TULLE_CALL(check(&s, pes));
    if (rows < 1 || cols < 1 || layers < 1 || (__int128)rows * cols * layers > pes)
        return tulle__fail(TULLE_ERR_ARG, "a grid of %d x %d x %d does not fit %d PEs", rows, cols, layers, pes);
    TULLE_CALL(make(&s, pes, rows, cols, layers, grid));
    grid->most = most_of(&s, grid);
    return TULLE_OK;
}

static int at_most(int64_t n, int pes)
{
    return n < 1 ? 1 : n < pes ? (int)n : pes;
}

static int better(const struct shape *s, const tulle_gemm_grid *x, const tulle_gemm_grid *y)
{
    if (x->volume != y->volume) return x->volume < y->volume;
    if (x->pes != y->pes) return x->pes > y->pes;
    int64_t most = most_of(s, x), other = most_of(s, y);
    return most != other ? most < other : x->layers < y->layers;
}

tulle_status tulle_gemm_grid_best(
    tulle_gidx m, tulle_gidx n, tulle_gidx k, tulle_type type, int pes, size_t memory, tulle_gemm_grid *grid)
{
    if (TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(grid)) return TULLE_ERR_ARG;
    const struct shape s = {m, n, k, (int64_t)tulle_type_size(type)};
    TULLE_CALL(check(&s, pes));
    tulle_gemm_grid best = {.pes = 0}, x;
    int64_t least_memory = INT64_MAX;
    int P = at_most(m, pes), Q = at_most(n, pes), L = at_most(k, pes), used = 1;
    for (int p = 1; p <= P; p++)
        for (int q = 1; q <= Q && q <= pes / p; q++) {
            int l = pes / p / q < L ? pes / p / q : L;
            if (p * q * l > used) used = p * q * l;
        }
    for (int p = 1; p <= P; p++)
        for (int q = 1; q <= Q && q <= pes / p; q++)
            for (int l = pes / p / q < L ? pes / p / q : L; l >= 1 && 20 * (int64_t)p * q * l >= 19 * (int64_t)used;
                 l--) {
                if (best.pes && volume(&s, p, q, l) > best.volume) continue;
                TULLE_CALL(make(&s, pes, p, q, l, &x));
                if (x.memory < least_memory) least_memory = x.memory;
                if (memory && (uint64_t)x.memory > memory) continue;
                if (!best.pes || better(&s, &x, &best)) best = x;
            }
    if (!best.pes)
        return tulle__fail(TULLE_ERR_MEMORY,
            "no grid of %d PEs multiplies %" PRId64 " x %" PRId64 " times %" PRId64 " x %" PRId64
            " in %zu bytes a PE: the least is %" PRId64,
            pes, m, k, k, n, memory, least_memory);
    best.most = most_of(&s, &best);
    *grid = best;
    return TULLE_OK;
}
