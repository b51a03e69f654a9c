/* SPDX-License-Identifier: Apache-2.0 */
/* Small triangles that every PE knows, distributed in any layout, and their solutions by the formula. */
#ifndef TULLE_TEST_TRISOLVE_TRIANGLES_H
#define TULLE_TEST_TRISOLVE_TRIANGLES_H

#include <math.h>
#include <stdlib.h>

#include <tulle/trisolve.h>

#include "base/random.h"
#include "body.h"

enum structure { DIAGONAL, CHAIN, FULL, RANDOM, BANDED, WIDE, ARROW, BLOCKS, STRUCTURES };
static const char *const structure_names[] = {
    "diagonal", "chain", "full", "random", "banded", "wide", "arrow", "blocks"};

/* n x n by rows; entry (i, j) is there if has, with the diagonal unless unit. */
struct triangle {
    int64_t n;
    int upper, unit, shift; /* shift: another set of values */
    enum structure structure;
};

static int has(const struct triangle *t, int64_t i, int64_t j)
{
    if (t->upper) return has(&(struct triangle){t->n, 0, t->unit, t->shift, t->structure}, t->n - 1 - i, t->n - 1 - j);
    if (j > i || (i == j && t->unit)) return 0;
    if (i == j) return 1;
    uint64_t x = tulle__random_at(11, (uint64_t)i, (uint64_t)j);
    switch (t->structure) {
    case CHAIN:
        return j == i - 1;
    case FULL:
        return 1;
    case RANDOM:
        return x % 7 == 0;
    case BANDED:
        return i - j < 4 || i - j == 20 || i - j == 21;
    case WIDE:
        return j < 5 && x % 2 == 0;
    case ARROW:
        return i == t->n - 1 || j == 0;
    case BLOCKS: /* of 3 x 3; rows of more than 24 entries too */
        return i / 3 == j / 3 || tulle__random_at(11, (uint64_t)i / 3, (uint64_t)j / 3) % 2 == 0;
    default:
        return 0;
    }
}

/* No integers, and rows that keep solutions of moderate size. */
static double entry(const struct triangle *t, int64_t i, int64_t j)
{
    double x = tulle__random_unit(tulle__random_at(12 + (uint64_t)t->shift, (uint64_t)i, (uint64_t)j));
    return i == j ? (i % 3 ? 1 : -1) * (1 + x)
                  : (2 * x - 1) / (t->structure == FULL || t->structure == BLOCKS || i == t->n - 1 ? 20 : 4);
}

static double side(int64_t i, int64_t c)
{
    return 2 * tulle__random_unit(tulle__random_at(13, (uint64_t)i, (uint64_t)c)) - 1;
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

/* Every size-th entry from each PE. */
__attribute__((unused)) static tulle_status distribute_triangle(
    tulle_comm *comm, const struct triangle *t, const tulle_layout *layout, tulle_type type, tulle_mat **T)
{
    int64_t count = 0, met = 0, most = t->n * t->n + 1, *row = malloc((size_t)most * 8),
            *col = malloc((size_t)most * 8);
    void *val = malloc((size_t)most * 8);
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t j = 0; j < t->n; j++) {
            if (!has(t, i, j) || met++ % tulle_comm_size(comm) != tulle_comm_rank(comm)) continue;
            row[count] = i;
            col[count] = j;
            put(val, type, count++, entry(t, i, j));
        }
    tulle_status status = tulle_mat_from_entries(comm, layout, type, count, row, col, val, TULLE_DUPLICATES_ERROR, T);
    free(row);
    free(col);
    free(val);
    return status;
}

__attribute__((unused)) static tulle_status fill_sides(tulle_mat *B)
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
                        side(tulle_layout_row_cut(l)[i] + r, tulle_layout_col_cut(l)[j] + c));
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

/* By the formula, in double, from values rounded to the type. */
__attribute__((unused)) static void solve_plainly(
    const struct triangle *t, tulle_op op, tulle_type type, int64_t cols, double *x)
{
    int64_t n = t->n, forward = !t->upper == (op == TULLE_OP_N);
    double rounded[1];
    for (int64_t s = 0; s < n; s++) {
        int64_t i = forward ? s : n - 1 - s;
        for (int64_t c = 0; c < cols; c++) {
            put(rounded, type, 0, side(i, c));
            double sum = get(rounded, type, 0), pivot = 1;
            for (int64_t j = 0; j < n; j++) {
                int64_t row = op == TULLE_OP_N ? i : j, col = op == TULLE_OP_N ? j : i;
                if (!has(t, row, col)) continue;
                put(rounded, type, 0, entry(t, row, col));
                if (i == j)
                    pivot = get(rounded, type, 0);
                else
                    sum -= get(rounded, type, 0) * x[j * cols + c];
            }
            x[i * cols + c] = sum / pivot;
        }
    }
}

#endif
