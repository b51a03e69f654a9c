/* SPDX-License-Identifier: Apache-2.0 */
/* Full matrices and full bands. */
#include <inttypes.h>

#include "base/error.h"
#include "io/generate/generator.h"

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t run(int64_t c0, int64_t c1, int64_t *col)
{
    for (int64_t c = c0; c < c1; c++) col[c - c0] = c;
    return c1 > c0 ? c1 - c0 : 0;
}

static tulle_status open_dense(tulle__spec_part *part, tulle__generator *g)
{
    int64_t m = -1, n = -1;
    TULLE_CALL(tulle__spec_int(part, "n", 0, TULLE__GENERATOR_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'dense' needs n");
    m = n;
    TULLE_CALL(tulle__spec_int(part, "m", 0, TULLE__GENERATOR_MAX, &m));
    if (__builtin_mul_overflow(m, n, &g->nnz))
        return tulle__fail(TULLE_ERR_ARG, "'dense': %" PRId64 " x %" PRId64 " entries are over the limit", m, n);
    g->m = m;
    g->n = n;
    g->symmetric = m == n;
    return TULLE_OK;
}

int64_t tulle__full_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)g, (void)row;
    return c1 - c0;
}

double tulle__full_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    (void)g;
    return (double)(r1 - r0) * (double)(c1 - c0);
}

int64_t tulle__full_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    (void)g, (void)row;
    return run(c0, c1, col);
}

static tulle_status open_band(tulle__spec_part *part, tulle__generator *g)
{
    int64_t n = -1, lower = 1, upper;
    TULLE_CALL(tulle__spec_int(part, "n", 0, TULLE__GENERATOR_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'band' needs n");
    TULLE_CALL(tulle__spec_int(part, "lower", 0, TULLE__GENERATOR_MAX, &lower));
    upper = lower;
    TULLE_CALL(tulle__spec_int(part, "upper", 0, TULLE__GENERATOR_MAX, &upper));
    if (lower >= n) lower = n > 0 ? n - 1 : 0;
    if (upper >= n) upper = n > 0 ? n - 1 : 0;
    /* diagonal k misses |k| of its n places */
    __int128 count =
        (__int128)n * (lower + upper + 1) - (__int128)lower * (lower + 1) / 2 - (__int128)upper * (upper + 1) / 2;
    if (count > INT64_MAX) return tulle__fail(TULLE_ERR_ARG, "'band': its entries are over the limit");
    g->m = g->n = n;
    g->nnz = (int64_t)count;
    g->symmetric = lower == upper;
    g->as.band.lower = lower;
    g->as.band.upper = upper;
    return TULLE_OK;
}

static int64_t band_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    return run(clamp(row - g->as.band.lower, c0, c1), clamp(row + g->as.band.upper + 1, c0, c1), col);
}

static int64_t band_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    return clamp(row + g->as.band.upper + 1, c0, c1) - clamp(row - g->as.band.lower, c0, c1);
}

static double band_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    int64_t low = clamp(c0 - g->as.band.upper, r0, r1), high = clamp(c1 + g->as.band.lower, r0, r1);
    int64_t width = g->as.band.lower + g->as.band.upper + 1;
    return (double)(high - low) * (double)(width < c1 - c0 ? width : c1 - c0);
}

static const char *const dense_keys[] = {"m", "n", NULL};
static const char *const band_keys[] = {"n", "lower", "upper", NULL};

const tulle__generator_kind tulle__generator_dense = {
    .name = "dense",
    .sentence = "full matrix, m x n",
    .keys = dense_keys,
    .mode = TULLE__VALUES_RANDOM,
    .dense = 1,
    .open = open_dense,
    .bound = tulle__full_bound,
    .estimate = tulle__full_estimate,
    .row = tulle__full_row,
};

const tulle__generator_kind tulle__generator_band = {
    .name = "band",
    .sentence = "every entry of a band; lower=1, upper=lower diagonals beside the main one",
    .keys = band_keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_band,
    .bound = band_bound,
    .estimate = band_estimate,
    .row = band_row,
};
