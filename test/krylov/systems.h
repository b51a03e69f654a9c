/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small systems that every PE knows, distributed in any layout, and their solutions by elimination.
 */
#ifndef TULLE_TEST_KRYLOV_SYSTEMS_H
#define TULLE_TEST_KRYLOV_SYSTEMS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/krylov.h>

#include "base/random.h"
#include "body.h"
#include "elements.h"

/* n x n; GRIDS are of edge x edge points, n = edge^2. */
enum kind {
    IDENTITY,
    VALUES,     /* diagonal, of five different values */
    SPREAD,     /* diagonal, of random values */
    CHAIN,      /* symmetric, tridiagonal */
    POISSON,    /* grid of five points */
    CONVECTION, /* the same with a wind: not symmetric */
    RANDOM,     /* symmetric, diagonally dominant */
    SHIFT,      /* x_i = b_(i + 1) */
    INDEFINITE, /* diagonal, the last value is -1 */
    SINGULAR,   /* diagonal, the last value is 0 */
    KINDS
};
static const char *const kind_names[] = {
    "identity", "values", "spread", "chain", "poisson", "convection", "random", "shift", "indefinite", "singular"};

static double entry(enum kind kind, int64_t n, int64_t i, int64_t j)
{
    int64_t edge = (int64_t)(sqrt((double)n) + 0.5), low = i < j ? i : j, high = i < j ? j : i;
    int beside = high - low == 1 && high % edge != 0, above = high - low == edge;
    double x = tulle__random_unit(tulle__random_at(21, (uint64_t)low, (uint64_t)high));
    switch (kind) {
    case IDENTITY:
        return i == j;
    case VALUES:
        return i == j ? 1 + (double)(i % 5) * 0.7 : 0;
    case SPREAD:
        return i == j ? 1 + 9 * x : 0;
    case CHAIN:
        return i == j ? 2.3 + x : high - low == 1 ? -1 : 0;
    case POISSON:
        return i == j ? 4 : beside || above ? -1 : 0;
    case CONVECTION:
        return i == j ? 4.5 : beside ? (j < i ? -1.6 : -0.4) : above ? (j < i ? -1.4 : -0.6) : 0;
    case RANDOM:
        return i == j ? 8 + x : tulle__random_at(22, (uint64_t)low, (uint64_t)high) % 9 == 0 ? (2 * x - 1) / 3 : 0;
    case SHIFT:
        return j == (i + 1) % n;
    case INDEFINITE:
        return i == j ? (i == n - 1 ? -1 : 1 + 0.1 * (double)(i % 7)) : 0;
    default:
        return i == j ? (i == n - 1 ? 0 : 1) : 0;
    }
}

static double side(int64_t i, int64_t c)
{
    return 2 * tulle__random_unit(tulle__random_at(23, (uint64_t)i, (uint64_t)c)) - 1;
}

static double rounded(tulle_type type, double x)
{
    return type == TULLE_F32 ? (double)(float)x : x;
}

/* Rows of A, with tiles assigned cyclically; tiles 0: one a PE. */
static tulle_status make_layout(tulle_comm *comm, int64_t m, int64_t n, int tiles, int tile_cols, tulle_layout **layout)
{
    int size = tulle_comm_size(comm);
    tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = size,
        .grid_cols = 1,
        .tile_rows = tiles ? tiles : size,
        .tile_cols = tile_cols,
        .map = TULLE_CYCLIC};
    return tulle_layout_new(&spec, size, layout);
}

/* Every size-th entry from each PE. strange: one entry, -1: none, is NaN. */
__attribute__((unused)) static tulle_status distribute(tulle_comm *comm, enum kind kind, int64_t n, int tiles,
    int tile_cols, tulle_type type, int64_t strange, tulle_mat **A)
{
    int64_t count = 0, met = 0, most = n * 40 + n * n / 4 + 1, *row = malloc((size_t)most * 8),
            *col = malloc((size_t)most * 8);
    void *val = malloc((size_t)most * 8);
    tulle_layout *layout = NULL;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = kind <= SPREAD || kind >= INDEFINITE ? i : 0;
             j < (kind <= SPREAD || kind >= INDEFINITE ? i + 1 : n); j++) {
            double x = entry(kind, n, i, j);
            if ((x == 0 && i != j) || met++ % tulle_comm_size(comm) != tulle_comm_rank(comm)) continue;
            row[count] = i;
            col[count] = j;
            put(val, type, count++, met - 1 == strange ? NAN : x);
        }
    tulle_status status = make_layout(comm, n, n, tiles, tile_cols, &layout);
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(comm, layout, type, count, row, col, val, TULLE_DUPLICATES_ERROR, A);
    tulle_layout_free(layout);
    free(row);
    free(col);
    free(val);
    return status;
}

/*
 * By elimination with pivots, in double, from values rounded to the type; x[i * cols + c] holds b
 * before.
 */
__attribute__((unused)) static void solve_plainly(enum kind kind, int64_t n, tulle_type type, int64_t cols, double *x)
{
    double *a = malloc((size_t)(n * n + 1) * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * n + j] = rounded(type, entry(kind, n, i, j));
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        for (int64_t j = 0; j < n && pivot != k; j++) {
            double t = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = t;
        }
        for (int64_t c = 0; c < cols && pivot != k; c++) {
            double t = x[k * cols + c];
            x[k * cols + c] = x[pivot * cols + c];
            x[pivot * cols + c] = t;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double f = a[i * n + k] / a[k * n + k];
            for (int64_t j = k; f != 0 && j < n; j++) a[i * n + j] -= f * a[k * n + j];
            for (int64_t c = 0; f != 0 && c < cols; c++) x[i * cols + c] -= f * x[k * cols + c];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--)
        for (int64_t c = 0; c < cols; c++) {
            for (int64_t j = i + 1; j < n; j++) x[i * cols + c] -= a[i * n + j] * x[j * cols + c];
            x[i * cols + c] /= a[i * n + i];
        }
    free(a);
}

#endif
