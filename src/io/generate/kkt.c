/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nlpkkt: the pattern of the optimality system of control by boundary values (Schenk's nlpkkt80 ..
 * 240 of the SuiteSparse collection have these rows and entries). A cube of n^3 points has a state
 * and a constraint each, and each of its six faces n^2 controls:
 *
 *     states    D 0 S'     D diagonal; S: a constraint names the states of its 27 neighbours;
 *     controls  0 D T'     T: on each face that its point lies on, the controls of 9 neighbours
 *     constr.   S T 0
 *
 * Point (x, y, z) has number (z n + y) n + x; faces follow each other as x = 0, x = n - 1, y = 0,
 * ..., z = n - 1, on each the coordinates left keep their order. The order within the original may
 * be another.
 */
#include <inttypes.h>

#include "base/error.h"
#include "io/generate/generator.h"

enum { EDGE_MAX = 1 << 15 }; /* 7 * 10^13 rows, 2 * 10^15 entries */

static tulle_status open_nlpkkt(tulle__spec_part *part, tulle__generator *g)
{
    int64_t n = -1;
    TULLE_CALL(tulle__spec_int(part, "n", 1, EDGE_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'nlpkkt' needs n");
    int64_t line = 3 * n - 2, first = n * n * (n + 6); /* points within one step of each other, along a line */
    g->as.kkt.n = n;
    g->as.kkt.constraints = first;
    g->m = g->n = first + n * n * n;
    g->nnz = first + 2 * line * line * (line + 6);
    return TULLE_OK;
}

/*
 * Columns first + neighbours of (x, y, z) in a box of n^3 points, or in one with a size of 1 in a
 * direction.
 */
static int64_t neighbours(const int64_t at[3], const int64_t size[3], int64_t first, int64_t *col)
{
    int64_t count = 0, low[3], high[3];
    for (int d = 0; d < 3; d++) {
        low[d] = at[d] > 0 ? at[d] - 1 : 0;
        high[d] = at[d] + 1 < size[d] ? at[d] + 1 : size[d] - 1;
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++)
            for (int64_t x = low[0]; x <= high[0]; x++) col[count++] = first + (z * size[1] + y) * size[0] + x;
    return count;
}

/* Entries of face 2 d + end: the controls near point `at`, as columns. */
static int64_t controls(const tulle__generator *g, int face, const int64_t at[3], int64_t *col)
{
    int64_t n = g->as.kkt.n, place[3] = {at[0], at[1], at[2]}, size[3] = {n, n, n};
    place[face / 2] = 0;
    size[face / 2] = 1;
    return neighbours(place, size, n * n * (n + face), col);
}

static int64_t constraint_row(const tulle__generator *g, int64_t point, int64_t *col)
{
    int64_t n = g->as.kkt.n, at[3] = {point % n, point / n % n, point / n / n}, size[3] = {n, n, n};
    int64_t count = neighbours(at, size, 0, col);
    for (int face = 0; face < 6; face++)
        if (at[face / 2] == (face % 2 ? n - 1 : 0)) count += controls(g, face, at, col + count);
    return count;
}

/* The constraints of a face's points near control `number`. */
static int64_t control_row(const tulle__generator *g, int64_t number, int64_t *col)
{
    int64_t n = g->as.kkt.n, place = number % (n * n), u = place % n, v = place / n, count = 0;
    int face = (int)(number / (n * n)), d = face / 2;
    for (int64_t w = v > 0 ? v - 1 : 0; w <= v + 1 && w < n; w++)
        for (int64_t t = u > 0 ? u - 1 : 0; t <= u + 1 && t < n; t++) {
            int64_t end = face % 2 ? n - 1 : 0;
            int64_t x = d == 0 ? end : t, y = d == 1 ? end : d == 0 ? t : w, z = d == 2 ? end : w;
            col[count++] = g->as.kkt.constraints + (z * n + y) * n + x;
        }
    return count;
}

static int64_t row_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t n = g->as.kkt.n, points = n * n * n, count = 0;
    if (row >= g->as.kkt.constraints) {
        count = constraint_row(g, row - g->as.kkt.constraints, col);
    } else {
        col[count++] = row;
        if (row < points) {
            const int64_t at[3] = {row % n, row / n % n, row / n / n}, size[3] = {n, n, n};
            count += neighbours(at, size, g->as.kkt.constraints, col + count);
        } else {
            count += control_row(g, row - points, col + count);
        }
    }
    return tulle__generator_clip(col, count, c0, c1);
}

/* 27 states and six faces' 9 controls, where one point is on all of them. */
enum { MOST = 27 + 6 * 9 };

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)g, (void)row, (void)c0, (void)c1; /* a row is generated whole and then cut */
    return MOST;
}

static int64_t overlap(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
    int64_t low = a0 > b0 ? a0 : b0, high = a1 < b1 ? a1 : b1;
    return high > low ? high - low : 0;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    /* S and its transpose: 27 diagonals over as many columns as two planes; T is small */
    int64_t first = g->as.kkt.constraints, end = g->m, n = g->as.kkt.n, span = 2 * n * n;
    int64_t lower = overlap(r0 - first, r1 - first, c0 - span, c1 + span);
    int64_t upper = overlap(c0 - first, c1 - first, r0 - span, r1 + span);
    double most = overlap(r0, r1, first, end) ? 27. * (double)lower : 0;
    if (overlap(c0, c1, first, end)) most += 27. * (double)upper;
    return most + (double)overlap(r0, r1, c0, c1) + 32;
}

static const char *const keys[] = {"n", NULL};

const tulle__generator_kind tulle__generator_nlpkkt = {
    .name = "nlpkkt",
    .sentence = "optimality system of a cube of n^3 points: n=160 has the rows and entries of nlpkkt160",
    .keys = keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_nlpkkt,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
};
