/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn systems of few levels: H, S, the number of electrons, and their levels by Jacobi's rotations. */
#ifndef TULLE_TEST_MATFUN_DRAWN_ELECTRONS_H
#define TULLE_TEST_MATFUN_DRAWN_ELECTRONS_H

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "dense_function.h"

enum { MOST = 24 };

#define KINDS(X)                                                                                                       \
    X(SINGLE, "single levels")                                                                                         \
    X(PAIRS, "equal pairs")                                                                                            \
    X(INTEGERS, "integers")                                                                                            \
    X(MOLECULES, "equal molecules")                                                                                    \
    X(DENSE, "dense")                                                                                                  \
    X(RING, "a ring")                                                                                                  \
    X(CHAIN, "a chain with a gap")                                                                                     \
    X(BANDED, "banded")                                                                                                \
    X(LATTICE, "a lattice")                                                                                            \
    X(STAR, "a star")
enum kind {
#define KIND_ENUM(name, text) name,
    KINDS(KIND_ENUM)
#undef KIND_ENUM
        KIND_COUNT
};
static const char *const kind_text[KIND_COUNT] = {
#define KIND_TEXT(name, text) text,
    KINDS(KIND_TEXT)
#undef KIND_TEXT
};

enum overlap { NO_OVERLAP, IDENTITY, NEAR_IDENTITY, ILL_CONDITIONED, OVERLAPS };
static const char *const overlap_text[OVERLAPS] = {"no S", "S = I", "S near I", "S of condition 1e6"};

/* Rows are a multiple of the blocks' b rows. */
struct drawn {
    uint64_t seed;
    enum kind kind;
    enum overlap overlap;
    int n, b;
    double electrons, kT;
};

struct system {
    double H[MOST][MOST], S[MOST][MOST];
    double level[MOST]; /* ascending */
    double energy, mu;  /* of the electrons; mu in the middle of the gap, or of the temperature */
    double HOMO, LUMO, scale;
};

static double draw(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static struct drawn draw_case(uint64_t seed, int64_t number)
{
    struct drawn d = {.seed = tulle__random_at(seed, (uint64_t)number, 1), .kind = (enum kind)(number % KIND_COUNT)};
    const double fraction = draw(d.seed, 1, 200), which = draw(d.seed, 2, 200), warm = draw(d.seed, 5, 200);
    d.b = 1 + (int)(3 * draw(d.seed, 3, 200));
    d.n = d.b * (1 + (int)(draw(d.seed, 0, 200) * (MOST / d.b)));
    d.overlap = (enum overlap)(draw(d.seed, 4, 200) * OVERLAPS);
    d.electrons = 2 * floor(fraction * (d.n + 1));
    if (which > .7) d.electrons = floor(fraction * (2 * d.n + 1)); /* also odd */
    if (which > .85) d.electrons = 2 * fraction * d.n;
    d.kT = warm < .7 ? 0 : warm < .85 ? 1e-3 : .1;
    return d;
}

/* Size of the molecule of kind MOLECULES. */
static int molecule(const struct drawn *d)
{
    return 2 + (int)(3 * draw(d->seed, 6, 200));
}

static bool linked(const struct drawn *d, int i, int j)
{
    const int apart = abs(i - j), low = i < j ? i : j, width = 4;
    switch (d->kind) {
    case SINGLE:
    case INTEGERS:
        return !apart;
    case PAIRS:
        return i / 2 == j / 2;
    case MOLECULES:
        return i / molecule(d) == j / molecule(d);
    case DENSE:
        return true;
    case RING:
        return apart <= 1 || apart == d->n - 1;
    case CHAIN:
        return apart <= 1;
    case BANDED:
        return apart <= 3;
    case STAR:
        return !apart || low == 0;
    default:
        return !apart || apart == width || (apart == 1 && low % width != width - 1);
    }
}

static double element(const struct drawn *d, int i, int j)
{
    const int low = i < j ? i : j, high = i < j ? j : i, m = molecule(d);
    switch (d->kind) {
    case SINGLE:
        return 2 * draw(d->seed, i, 1) - 1;
    case INTEGERS:
        return floor(6 * draw(d->seed, i, 1)) - 3;
    case PAIRS:
        return i == j ? i / 2 % 2 : -1;
    case MOLECULES:
        return draw(d->seed, low % m, m + high % m) - .5;
    case RING:
        return i == j ? 0 : -1;
    case CHAIN:
        return i == j ? 0 : -.5 - low % 2;
    case STAR:
        return i == j ? 0 : -1;
    case LATTICE:
        return i == j ? draw(d->seed, i, 2) : -1;
    default:
        return draw(d->seed, low, high) - .5;
    }
}

/* The levels of a, ascending. */
static void levels_of(struct dense *x, double *level)
{
    dense_solve(x);
    for (int i = 0; i < x->n; i++) {
        int at = i;
        for (; at > 0 && level[at - 1] > x->a[i][i]; at--) level[at] = level[at - 1];
        level[at] = x->a[i][i];
    }
}

/* S of a drawn symmetric A in the pattern: A - least I, scaled, and so much of I. */
static void draw_overlap(const struct drawn *d, struct dense *x, struct system *s)
{
    double level[MOST];
    const double part = d->overlap == NEAR_IDENTITY ? .1 : d->overlap == ILL_CONDITIONED ? 1 : 0;
    const double least = d->overlap == ILL_CONDITIONED ? 1e-6 : 1;
    x->n = d->n;
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++)
            s->S[i][j] = x->a[i][j] = linked(d, i, j) ? draw(d->seed, 300 + (i < j ? i : j), i < j ? j : i) : 0;
    levels_of(x, level);
    const double width = fmax(level[d->n - 1] - level[0], 1e-3);
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++)
            s->S[i][j] = part * (s->S[i][j] - (i == j ? level[0] : 0)) / width + (i == j ? least : 0);
}

/* a = L^-1 H L^-T, S = L L^T. */
static void orthogonal(const struct drawn *d, const struct system *s, struct dense *x)
{
    const int n = d->n;
    double L[MOST][MOST] = {{0}};
    x->n = n;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = s->S[i][j];
            for (int k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    memset(x->a, 0, sizeof x->a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) x->a[i][j] = s->H[i][j];
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < n; c++)
            for (int i = 0; i < n; i++) {
                double *at = side ? &x->a[c][i] : &x->a[i][c];
                for (int k = 0; k < i; k++) *at -= L[i][k] * (side ? x->a[c][k] : x->a[k][c]);
                *at /= L[i][i];
            }
}

static double occupied(double x, double mu, double kT)
{
    const double y = (x - mu) / kT;
    return y > 700 ? 0 : 1 / (1 + exp(y));
}

static void fill(const struct drawn *d, struct system *s)
{
    const double states = d->electrons / 2, whole = floor(states);
    const int full = (int)whole;
    double low = s->level[0] - 1e3 * (d->kT + s->scale), high = s->level[d->n - 1] + 1e3 * (d->kT + s->scale);
    s->HOMO = states > 0 ? s->level[(int)ceil(states) - 1] : -INFINITY;
    s->LUMO = full < d->n ? s->level[full] : INFINITY;
    s->mu = (s->HOMO + s->LUMO) / 2;
    s->energy = 0;
    for (int i = 0; i < full; i++) s->energy += 2 * s->level[i];
    if (full < d->n) s->energy += 2 * (states - whole) * s->level[full];
    if (!(d->kT > 0)) return;
    for (int step = 0; step < 200; step++) {
        double sum = 0;
        s->mu = (low + high) / 2;
        for (int i = 0; i < d->n; i++) sum += occupied(s->level[i], s->mu, d->kT);
        *(sum < states ? &low : &high) = s->mu;
    }
    s->energy = 0;
    for (int i = 0; i < d->n; i++) s->energy += 2 * occupied(s->level[i], s->mu, d->kT) * s->level[i];
}

static void make_system(const struct drawn *d, struct system *s)
{
    struct dense *x = malloc(sizeof *x);
    draw_overlap(d, x, s);
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++) {
            s->H[i][j] = linked(d, i, j) ? element(d, i, j) : 0;
            if (d->overlap == NO_OVERLAP || d->overlap == IDENTITY) s->S[i][j] = i == j;
        }
    orthogonal(d, s, x);
    levels_of(x, s->level);
    s->scale = fmax(1, fmax(fabs(s->level[0]), fabs(s->level[d->n - 1])));
    fill(d, s);
    free(x);
}

/* True if submatrices are exact: groups of rows that are all linked with each other, and with no others. */
static bool closed(enum kind kind)
{
    return kind <= DENSE;
}

#endif
