/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small triangles that every PE knows, distributed in any layout, and their solutions by the
 * formula.
 */
#ifndef TULLE_TEST_TRISOLVE_TRIANGLES_H
#define TULLE_TEST_TRISOLVE_TRIANGLES_H

#include <math.h>
#include <stdlib.h>

#include <tulle/trisolve.h>

#include "base/random.h"
#include "body.h"
#include "elements.h"

enum structure { DIAGONAL, CHAIN, FULL, RANDOM, BANDED, WIDE, ARROW, BLOCKS, STRUCTURES };
static const char *const structure_names[] = {
    "diagonal", "chain", "full", "random", "banded", "wide", "arrow", "blocks"};

/* n x n by rows; entry (i, j) is there if has. */
struct triangle {
    int64_t n;
    int upper, unit, shift; /* unit: 1: no row stores its diagonal, 2: some do; shift: another set of values */
    enum structure structure;
};

static int has(const struct triangle *t, int64_t i, int64_t j)
{
    if (t->upper) return has(&(struct triangle){t->n, 0, t->unit, t->shift, t->structure}, t->n - 1 - i, t->n - 1 - j);
    if (j > i) return 0;
    if (i == j) return !t->unit || (t->unit == 2 && tulle__random_at(14, (uint64_t)i, 0) % 3 == 0);
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

static double side_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return side(i, c);
}

__attribute__((unused)) static tulle_status fill_sides(tulle_mat *B)
{
    return fill(B, side_of, NULL);
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
                if (i == j && t->unit) continue;
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
