/* SPDX-License-Identifier: Apache-2.0 */
/* Random sparse rows: er (Erdos-Renyi) and circuit. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/generate/generator.h"

/*
 * log(x), 0 < x <= 1, by additions, products and quotients alone, so that every machine draws the
 * same matrix: C libraries may differ in the last bit. x = 2^e f with f in [sqrt(1/2), sqrt(2)],
 * log f = 2 atanh((f - 1) / (f + 1)).
 */
static double portable_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1022;
    bits = (bits & 0xfffffffffffffu) | 0x3fe0000000000000u;
    double f;
    memcpy(&f, &bits, sizeof f); /* in [1/2, 1) */
    if (f < 0.70710678118654752) {
        f *= 2;
        exponent--;
    }
    double s = (f - 1) / (f + 1), t = s * s;
    double odd = 1 + t * (1. / 3 + t * (1. / 5 + t * (1. / 7 + t * (1. / 9 + t * (1. / 11 + t * (1. / 13 + t / 15))))));
    return exponent * 0.69314718055994531 + 2 * s * odd;
}

tulle__er tulle__er_of(double degree, int64_t n)
{
    double p = n > 0 ? degree / (double)n : 0;
    double log1p = p < 0x1p-20 ? -p * (1 + p * (1. / 2 + p / 3)) : p < 1 ? portable_log(1 - p) : -INFINITY;
    /* twelve standard deviations and more: no row of any matrix that fits a machine comes near */
    double most = degree + 12 * sqrt(degree) + 64;
    return (tulle__er){.degree = degree,
        .rate = degree > 0 ? 1 / log1p : 0,
        .most = degree <= 0        ? 0
                : most < (double)n ? (int64_t)most
                                   : n};
}

static tulle_status open_er(tulle__spec_part *part, tulle__generator *g)
{
    int64_t m = -1, n = -1;
    double degree = 8;
    TULLE_CALL(tulle__spec_int(part, "n", 0, TULLE__GENERATOR_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'er' needs n");
    m = n;
    TULLE_CALL(tulle__spec_int(part, "m", 0, TULLE__GENERATOR_MAX, &m));
    if (degree > (double)n) degree = (double)n;
    TULLE_CALL(tulle__spec_real(part, "degree", 0, 1e12, &degree));
    if (degree > (double)n)
        return tulle__fail(TULLE_ERR_ARG, "'er': degree=%g is over the %" PRId64 " columns", degree, n);
    g->m = m;
    g->n = n;
    g->nnz = m == 0 || n == 0 || degree <= 0 ? 0 : -1;
    g->as.er = tulle__er_of(degree, n);
    return TULLE_OK;
}

static int64_t er_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row;
    return g->as.er.most < c1 - c0 ? g->as.er.most : c1 - c0;
}

static double er_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    if (g->n == 0) return 0;
    double mean = (double)(r1 - r0) * g->as.er.degree * ((double)(c1 - c0) / (double)g->n);
    return mean + 5 * sqrt(mean) + 16;
}

/* The gap between entries of a row is geometric: one draw an entry, already in order. */
int64_t tulle__er_row(const tulle__er *er, uint64_t seed, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t count = 0, c = -1;
    if (c0 == c1) return 0;
    for (int64_t drawn = 0; drawn < er->most; drawn++) {
        uint64_t draw = tulle__random_at(seed, (uint64_t)row, (uint64_t)drawn);
        double unit = (double)((draw >> 11) + 1) * 0x1p-53; /* (0, 1] */
        double gap = portable_log(unit) * er->rate;
        if (gap >= (double)(c1 - c - 1)) break;
        c += 1 + (int64_t)gap;
        col[count] = c;
        count += c >= c0;
    }
    return count;
}

static int64_t er_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    return tulle__er_row(&g->as.er, g->pattern_seed, row, c0, c1, col);
}

static int is_dense(const tulle__generator *g, int64_t index)
{
    int64_t low = 0, high = g->as.circuit.ndense;
    TULLE__PARTITION_POINT(low, high, middle, g->as.circuit.dense[middle] < index);
    return low < g->as.circuit.ndense && g->as.circuit.dense[low] == index;
}

/* Inserts x, or the next free number after it (cyclically, below n), into the ascending list. */
static void insert_distinct(int64_t *list, int64_t count, int64_t x, int64_t first, int64_t n)
{
    int64_t at = 0;
    while (at < count && list[at] < x) at++;
    while (at < count && list[at] == x) {
        at++;
        if (++x == n) {
            x = first;
            at = 0;
            while (at < count && list[at] < x) at++;
        }
    }
    memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
    list[at] = x;
}

static tulle_status open_circuit(tulle__spec_part *part, tulle__generator *g)
{
    int64_t n = -1, ndense = 4, width, most_local = 1 << 12;
    double degree = 4;
    TULLE_CALL(tulle__spec_int(part, "n", 1, TULLE__GENERATOR_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'circuit' needs n");
    if (ndense > n) ndense = n;
    TULLE_CALL(tulle__spec_int(part, "dense", 0, n < 1 << 12 ? n : 1 << 12, &ndense));
    TULLE_CALL(tulle__spec_real(part, "degree", 0, (double)most_local, &degree));
    int64_t nlocal = (int64_t)ceil(degree);
    width = n / 64 > nlocal ? n / 64 : nlocal;
    TULLE_CALL(tulle__spec_int(part, "width", 0, TULLE__GENERATOR_MAX, &width));
    if (width > n - 1) width = n - 1;
    if (nlocal > width) nlocal = width;
    if (degree > (double)(2 * nlocal)) degree = (double)(2 * nlocal);
    TULLE_CALL(tulle__alloc((size_t)(ndense + nlocal), sizeof(int64_t), "the generator's lists", &g->as.circuit.dense));
    g->as.circuit.local = g->as.circuit.dense + ndense;
    g->as.circuit.ndense = ndense;
    g->as.circuit.nlocal = nlocal;
    /*
     * an entry at a listed distance is kept with this probability, on either side of the diagonal
     */
    g->as.circuit.keep = nlocal > 0 ? (uint64_t)(degree / (double)(2 * nlocal) * 0x1p32 + 0.5) : 0;
    int levels = 0;
    while (width >> levels > 1) levels++;
    for (int64_t i = 0; i < ndense; i++) {
        uint64_t draw = tulle__random_at(g->pattern_seed, UINT64_MAX, (uint64_t)i);
        insert_distinct(g->as.circuit.dense, i, (int64_t)tulle__random_below(draw, (uint64_t)n), 0, n);
    }
    for (int64_t i = 0; i < nlocal; i++) { /* the logarithms of the distances are equidistant: many near, some far */
        uint64_t draw = tulle__random_at(g->pattern_seed, UINT64_MAX - 1, (uint64_t)i);
        uint64_t reach = (uint64_t)width >> (draw % (uint64_t)(levels + 1));
        int64_t distance = 1 + (int64_t)tulle__random_below(tulle__random_mix(draw), reach);
        insert_distinct(g->as.circuit.local, i, distance, 1, width + 1);
    }
    g->m = g->n = n;
    g->symmetric = 1;
    return TULLE_OK;
}

static void close_circuit(tulle__generator *g)
{
    tulle__free(g->as.circuit.dense);
}

static int64_t circuit_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    int64_t most = g->as.circuit.ndense + 2 * g->as.circuit.nlocal + 1;
    return most > c1 - c0 || is_dense(g, row) ? c1 - c0 : most;
}

static double circuit_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    int64_t full = 0, columns = 0;
    for (int64_t i = 0; i < g->as.circuit.ndense; i++) {
        int64_t index = g->as.circuit.dense[i];
        full += index >= r0 && index < r1;
        columns += index >= c0 && index < c1;
    }
    int64_t span = g->as.circuit.nlocal > 0 ? g->as.circuit.local[g->as.circuit.nlocal - 1] : 0;
    int64_t low = c0 - span > r0 ? c0 - span : r0, high = c1 + span < r1 ? c1 + span : r1;
    double chance = (double)g->as.circuit.keep * 0x1p-32;
    double local = high > low ? (double)(high - low) * (1 + 2.1 * chance * (double)g->as.circuit.nlocal) + 16 : 0;
    return (double)full * (double)(c1 - c0) + (double)columns * (double)(r1 - r0) + local;
}

/* True if (row, row + distance) exists. Asked for both halves, so the pattern is symmetric. */
static int kept(const tulle__generator *g, int64_t row, int64_t distance)
{
    return tulle__random_at(g->pattern_seed, (uint64_t)row, (uint64_t)distance) >> 32 < g->as.circuit.keep;
}

static int64_t circuit_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    const int64_t *dense = g->as.circuit.dense, *local = g->as.circuit.local;
    int64_t ndense = g->as.circuit.ndense, nlocal = g->as.circuit.nlocal, count = 0, next = 0;
    if (is_dense(g, row)) {
        for (int64_t c = c0; c < c1; c++) col[count++] = c;
        return count;
    }
    while (next < ndense && dense[next] < c0) next++;
    for (int64_t i = -nlocal; i <= nlocal; i++) { /* neighbours below, the diagonal, neighbours above */
        int64_t distance = i ? local[(i < 0 ? -i : i) - 1] : 0, c = i < 0 ? row - distance : row + distance;
        if (c < c0) continue;
        if (c >= c1) break;
        if (i && !kept(g, i < 0 ? c : row, distance)) continue;
        while (next < ndense && dense[next] < c) col[count++] = dense[next++];
        if (next < ndense && dense[next] == c) next++;
        col[count++] = c;
    }
    while (next < ndense && dense[next] < c1) col[count++] = dense[next++];
    return count;
}

static const char *const er_keys[] = {"m", "n", "degree", NULL};
static const char *const circuit_keys[] = {"n", "degree", "dense", "width", NULL};

const tulle__generator_kind tulle__generator_er = {
    .name = "er",
    .sentence = "Erdos-Renyi: each entry of m x n with chance degree / n; degree=8",
    .keys = er_keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_er,
    .bound = er_bound,
    .estimate = er_estimate,
    .row = er_row,
};

const tulle__generator_kind tulle__generator_circuit = {
    .name = "circuit",
    .sentence = "diagonal, degree=4 neighbours a row within width=n/64, dense=4 full rows and columns",
    .keys = circuit_keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_circuit,
    .close = close_circuit,
    .bound = circuit_bound,
    .estimate = circuit_estimate,
    .row = circuit_row,
};
