/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of tests of functions: symmetric, in blocks of 1 to 5 rows, in several patterns. */
#ifndef TULLE_TEST_MATFUN_PROBLEM_H
#define TULLE_TEST_MATFUN_PROBLEM_H

#include <math.h>
#include <stdlib.h>

#include <tulle/mat.h>

#include "base/error.h"
#include "base/random.h"

enum { BLOCKS = 22, SIZES = 5 };

enum pattern { SPARSE, FULL, DIAGONAL };

struct problem {
    enum pattern pattern;
    int blocks, n;
    tulle_gidx cut[BLOCKS + 1];
    double shift; /* of the diagonal: makes it positive definite */
};

static void problem_init(struct problem *p, enum pattern pattern, int blocks, double shift)
{
    *p = (struct problem){.pattern = pattern, .blocks = blocks, .shift = shift};
    for (int b = 0; b < blocks; b++)
        p->cut[b + 1] = p->cut[b] + 1 + (int64_t)(tulle__random_at(7, 0, (uint64_t)b) % SIZES);
    p->n = (int)p->cut[blocks];
}

static int block_of(const struct problem *p, int i)
{
    int b = 0;
    while (p->cut[b + 1] <= i) b++;
    return b;
}

/* A ring of blocks with some long links; a group of blocks with the same neighbours. */
static int linked(const struct problem *p, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a, apart = high - low;
    if (a == b || p->pattern == FULL) return 1;
    if (p->pattern == DIAGONAL) return 0;
    if (low >= 8 && high < 12) return 1;
    return apart == 1 || apart == p->blocks - 1 || tulle__random_at(8, (uint64_t)low, (uint64_t)high) % 9 == 0;
}

static double entry(const struct problem *p, int i, int j)
{
    int low = i < j ? i : j, high = i < j ? j : i;
    if (!linked(p, block_of(p, i), block_of(p, j))) return 0;
    double x = tulle__random_unit(tulle__random_at(9, (uint64_t)low, (uint64_t)high)) - .5;
    return i == j ? 4 * x + p->shift : x;
}

/* Changes of the matrix that are mistakes. */
enum change { NONE, ONE_SIDED, UNEQUAL, NO_DIAGONAL, NOT_FINITE };

static tulle_status build(
    tulle_comm *comm, const struct problem *p, tulle_type type, int tiles, enum change change, tulle_mat **A)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *entries = NULL;
    int npes = tulle_comm_size(comm);
    tulle_layout_spec spec = {.m = p->n,
        .n = p->n,
        .grid_rows = tiles ? 0 : npes,
        .grid_cols = tiles ? 0 : 1,
        .tile_rows = tiles,
        .tile_cols = tiles,
        .map = TULLE_CYCLIC,
        .row_blocks = {p->blocks, p->cut},
        .col_blocks = {p->blocks, p->cut}};
    TULLE_TRY(tulle_layout_new(&spec, npes, &layout));
    /* row r by PE r mod npes, in rounds: entries of a row at a time */
    int64_t *rows = malloc((size_t)(p->n * p->n + 1) * 8), *cols = malloc((size_t)(p->n * p->n + 1) * 8), count = 0;
    double *vals = malloc((size_t)(p->n * p->n + 1) * 8);
    float *narrows = malloc((size_t)(p->n * p->n + 1) * 4);
    for (int i = tulle_comm_rank(comm); i < p->n; i += npes)
        for (int j = 0; j < p->n; j++) {
            int a = block_of(p, i), b = block_of(p, j);
            double x = entry(p, i, j);
            if (!linked(p, a, b)) continue;
            if (change == ONE_SIDED && a == 3 && b == 2) continue;
            if (change == NO_DIAGONAL && a == b && a % 5 == 1) continue;
            if (change == UNEQUAL && i == p->cut[4] && b == 3) x += .01;
            if (change == NOT_FINITE && a == 6 && b == 6) x = NAN;
            rows[count] = i;
            cols[count] = j;
            narrows[count] = (float)x;
            vals[count++] = x;
        }
    status = tulle_mat_from_entries(comm, layout, type, count, rows, cols,
        type == TULLE_F32 ? (void *)narrows : (void *)vals, TULLE_DUPLICATES_ERROR, &entries);
    free(rows);
    free(cols);
    free(vals);
    free(narrows);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(entries, layout, A);
out:
    tulle_mat_free(entries);
    tulle_layout_free(layout);
    return status;
}

#endif
