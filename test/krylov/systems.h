/* SPDX-License-Identifier: Apache-2.0 */
/* Small systems that every PE knows, distributed in any layout, and their solutions by elimination. */
#ifndef TULLE_TEST_KRYLOV_SYSTEMS_H
#define TULLE_TEST_KRYLOV_SYSTEMS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/krylov.h>

#include "base/random.h"
#include "body.h"

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

static void put(void *val, tulle_type type, int64_t at, double x)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)x;
    else
        ((double *)val)[at] = x;
}

static double get(const void *val, tulle_type type, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static double rounded(tulle_type type, double x)
{
    return type == TULLE_F32 ? (double)(float)x : x;
}

/* Rows of A, tiles dealt out in turn; tiles 0: one a PE. */
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

/* Element (i, c) is value(arg, i, c). */
__attribute__((unused)) static tulle_status fill(
    tulle_mat *B, double (*value)(const void *arg, int64_t i, int64_t c), const void *arg)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(B);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_tile tile;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(B))) continue;
            status = tulle_mat_tile(B, i, j, &tile);
            for (int64_t r = 0; status == TULLE_OK && r < tile.m; r++)
                for (int64_t c = 0; c < tile.n; c++)
                    put(tile.val, tile.type, tile.order == TULLE_ROW_MAJOR ? r * tile.ld + c : c * tile.ld + r,
                        value(arg, tulle_layout_row_cut(l)[i] + r, tulle_layout_col_cut(l)[j] + c));
        }
    return tulle_comm_agree(tulle_mat_comm(B), status);
}

/* x[i * cols + c]: all of a dense matrix, on every PE. */
__attribute__((unused)) static tulle_status collect(tulle_mat *X, double *x)
{
    tulle_status status = tulle_comm_barrier(tulle_mat_comm(X));
    const tulle_layout *l = tulle_mat_layout(X);
    int64_t cols = tulle_layout_cols(l);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_fetch *fetch;
            tulle_tile tile;
            status = tulle_mat_get_tile(X, i, j, &fetch);
            if (status != TULLE_OK) return status;
            status = tulle_fetch_wait(fetch, &tile);
            for (int64_t r = 0; status == TULLE_OK && r < tile.m; r++)
                for (int64_t c = 0; c < tile.n; c++)
                    x[(tulle_layout_row_cut(l)[i] + r) * cols + tulle_layout_col_cut(l)[j] + c] =
                        get(tile.val, tile.type, tile.order == TULLE_ROW_MAJOR ? r * tile.ld + c : c * tile.ld + r);
            tulle_fetch_free(fetch);
        }
    return status;
}

/* By elimination with pivots, in double, from values rounded to the type; x[i * cols + c] holds b before. */
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
