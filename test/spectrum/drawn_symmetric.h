/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawn symmetric matrices of kinds that single out a method's mistakes: multiple eigenvalues, decoupled parts, zero
 * and equal rows, clusters, both signs, huge and tiny values.
 */
#ifndef TULLE_TEST_DRAWN_SYMMETRIC_H
#define TULLE_TEST_DRAWN_SYMMETRIC_H

#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "algo/matfun/dense/jacobi.h"
#include "base/random.h"

enum { MOST = 48, KINDS = 12 };
static const char *const kind_name[KINDS] = {"diagonal", "few values", "identity", "zero", "chain", "equal blocks",
    "grid", "graph", "dense", "both signs", "low rank", "clusters"};

struct system {
    int64_t number;
    int n, kind, count, block, basis;
    tulle_type type;
    tulle_spectrum_end end;
    double A[MOST * MOST], truth[MOST];
    int order[MOST];
};

static inline double unit(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static inline void couple(struct system *s, int i, int j, double x)
{
    if (i == j || i < 0 || j < 0 || i >= s->n || j >= s->n) return;
    s->A[i * s->n + j] -= x;
    s->A[j * s->n + i] -= x;
    s->A[i * s->n + i] += x;
    s->A[j * s->n + j] += x;
}

static inline void rotate(struct system *s, uint64_t seed)
{
    const int n = s->n;
    for (int r = 0; r < 3 * n; r++) {
        const int p = (int)(unit(seed, r, 2) * n), q = (int)(unit(seed, r, 3) * n);
        const double c = cos(6 * unit(seed, r, 4)), t = sin(6 * unit(seed, r, 4));
        if (p == q) continue;
        tulle__jacobi_rotate(n, s->A + p * n, s->A + q * n, 1, c, t);
        tulle__jacobi_rotate(n, s->A + p, s->A + q, n, c, t);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) s->A[i * n + j] = s->A[j * n + i];
}

static inline double diagonal_of(const struct system *s, uint64_t seed, int i)
{
    switch (s->kind) {
    case 0:
        return 1 + 9 * unit(seed, i, i);
    case 1:
        return 1 + i % 3;
    case 2:
        return 1;
    case 8:
        return pow(10, (s->basis ? -2 : -6) * unit(seed, i, 1)); /* small bases take long for small values */
    case 9:
        return (i % 2 ? 1 : -1) * (1 + i / 2 % 4);
    case 10:
        return i < 3 ? 1 + i : 0;
    case 11:
        return 1 + i / 8 + 1e-9 * i;
    default:
        return 0;
    }
}

static inline void draw_matrix(struct system *s, uint64_t seed)
{
    const int n = s->n, edge = (int)sqrt((double)n);
    memset(s->A, 0, sizeof s->A);
    for (int i = 0; i < n; i++) s->A[i * n + i] = diagonal_of(s, seed, i);
    for (int i = 0; i < n; i++) {
        if (s->kind == 4) couple(s, i, i + 1, 1);
        if (s->kind == 5 && i % 4 != 3) couple(s, i, i + 1, 1 + i % 4);
        if (s->kind == 6 && i % edge != edge - 1) couple(s, i, i + 1, 1);
        if (s->kind == 6) couple(s, i, i + edge, 1);
        if (s->kind == 7) couple(s, i, (int)(unit(seed, i, 77) * n), 1);
    }
    if (s->kind >= 8) rotate(s, seed);
    const double scale = s->number % 5 == 3   ? s->type == TULLE_F32 ? 1e12 : 1e120
                         : s->number % 5 == 4 ? s->type == TULLE_F32 ? 1e-12 : 1e-120
                                              : 1;
    for (int i = 0; i < n * n; i++) s->A[i] = s->type == TULLE_F32 ? (double)(float)(s->A[i] * scale) : s->A[i] * scale;
}

#endif
