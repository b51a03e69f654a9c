/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A periodic crystal of L^3 cells of molecules, H and S of which couple neighbouring cells: both are
 * block-circulant, so that the exact density matrix follows from one small problem a wave vector k,
 *
 *   H(k) = sum_d H_d e^(i k d),   D_d = 1 / L^3 sum_k D(k) e^(-i k d),
 *
 * for cells that are d in {-1, 0, 1}^3 apart. Truth for any number of rows.
 */
#ifndef TULLE_TEST_MATFUN_BLOCH_H
#define TULLE_TEST_MATFUN_BLOCH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/types.h>

#include "base/random.h"
#include "dense_function.h"

enum { MOLECULE = 3, MOLECULES = 4, CELL = MOLECULE * MOLECULES, NEAR = 27 };

struct crystal {
    int L;
    double kT;
    double position[MOLECULES][3];
    double h[NEAR][CELL][CELL], s[NEAR][CELL][CELL]; /* of cell 0 and cell d */
    /* exact, of a cell; 2 electrons a level: */
    double electrons, energy, below, above, mu;
    double D[NEAR][CELL][CELL];
};

static const double crystal_edge = 2, crystal_cut = 1.9;

static int near_of(const int d[3])
{
    return 9 * (d[0] + 1) + 3 * (d[1] + 1) + d[2] + 1;
}

static void offset_of(int near, int d[3])
{
    d[0] = near / 9 - 1;
    d[1] = near / 3 % 3 - 1;
    d[2] = near % 3 - 1;
}

static double distance(const struct crystal *c, int near, int a, int b)
{
    int d[3];
    double square = 0;
    offset_of(near, d);
    for (int x = 0; x < 3; x++) {
        double r = c->position[b][x] - c->position[a][x] + crystal_edge * d[x];
        square += r * r;
    }
    return sqrt(square);
}

/* True if molecules a of cell 0 and b of cell d have blocks. */
static int coupled(const struct crystal *c, int near, int a, int b)
{
    return distance(c, near, a, b) < crystal_cut;
}

static void crystal_init(struct crystal *c, int L, double kT)
{
    static const double level[MOLECULE] = {-.8, -.4, .5};
    static const double corner[MOLECULES][3] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}};
    memset(c, 0, sizeof *c);
    c->L = L;
    c->kT = kT;
    for (int a = 0; a < MOLECULES; a++)
        for (int x = 0; x < 3; x++)
            c->position[a][x] = corner[a][x] + .2 * tulle__random_unit(tulle__random_at(21, (uint64_t)a, (uint64_t)x));
    for (int near = 0; near < NEAR; near++)
        for (int i = 0; i < CELL; i++)
            for (int j = 0; j < CELL; j++) {
                int back = NEAR - 1 - near; /* -d; the pair (d, i, j) is (-d, j, i) */
                int swap = near > back || (near == back && i > j);
                uint64_t place = (uint64_t)(swap ? back : near), p = (uint64_t)(swap ? j : i);
                uint64_t q = (uint64_t)(swap ? i : j);
                double x = tulle__random_unit(tulle__random_at(22, place * CELL + p, q)) - .5;
                double y = tulle__random_unit(tulle__random_at(23, place * CELL + p, q)) - .5;
                if (!coupled(c, near, i / MOLECULE, j / MOLECULE)) continue;
                double decay = exp(-distance(c, near, i / MOLECULE, j / MOLECULE) / .45);
                int own = near == NEAR / 2 && i / MOLECULE == j / MOLECULE, diagonal = own && i == j;
                c->h[near][i][j] = diagonal ? level[i % MOLECULE] + .1 * x : own ? 0 : decay * x;
                c->s[near][i][j] = diagonal ? 1 : own ? 0 : .3 * decay * y;
            }
}

/* The real form (Re, -Im; Im, Re) of the sum over d of T_d e^(i k d). */
static void bloch_sum(const double T[NEAR][CELL][CELL], const double k[3], struct dense *x)
{
    x->n = 2 * CELL;
    for (int i = 0; i < 2 * CELL; i++)
        for (int j = 0; j < 2 * CELL; j++) x->a[i][j] = 0;
    for (int near = 0; near < NEAR; near++) {
        int d[3];
        offset_of(near, d);
        double phase = k[0] * d[0] + k[1] * d[1] + k[2] * d[2], re = cos(phase), im = sin(phase);
        for (int i = 0; i < CELL; i++)
            for (int j = 0; j < CELL; j++) {
                x->a[i][j] += T[near][i][j] * re;
                x->a[CELL + i][CELL + j] += T[near][i][j] * re;
                x->a[CELL + i][j] += T[near][i][j] * im;
                x->a[i][CELL + j] -= T[near][i][j] * im;
            }
    }
}

/* S = R R^T; H becomes R^-1 H R^-T. */
static void reduce(struct dense *S, struct dense *H)
{
    int n = S->n;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = S->a[i][j];
            for (int l = 0; l < j; l++) sum -= S->a[i][l] * S->a[j][l];
            S->a[i][j] = i == j ? sqrt(sum) : sum / S->a[j][j];
        }
    for (int side = 0; side < 2; side++) {
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                for (int l = 0; l < i; l++) H->a[i][j] -= S->a[i][l] * H->a[l][j];
                H->a[i][j] /= S->a[i][i];
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) {
                double x = H->a[i][j];
                H->a[i][j] = H->a[j][i];
                H->a[j][i] = x;
            }
    }
}

static double crystal_occupation(const struct crystal *c, double x)
{
    return c->kT > 0 ? 1 / (exp((x - c->mu) / c->kT) + 1) : x < c->mu;
}

/* Adds the parts of one k, `weight` times. H and S are reduced and solved. */
static void add_wave(struct crystal *c, const double k[3], double weight, const struct dense *S, struct dense *H)
{
    int n = H->n;
    double D[CELL][CELL][2];
    memset(D, 0, sizeof D);
    for (int l = 0; l < n; l++) /* R^-T q */
        for (int i = n - 1; i >= 0; i--) {
            for (int j = i + 1; j < n; j++) H->q[i][l] -= S->a[j][i] * H->q[j][l];
            H->q[i][l] /= S->a[i][i];
        }
    for (int l = 0; l < n; l++) {
        double x = H->a[l][l], f = crystal_occupation(c, x);
        c->electrons += weight * f; /* each level twice, 2 electrons a level */
        c->energy += weight * f * x;
        for (int i = 0; i < CELL; i++)
            for (int j = 0; j < CELL; j++) {
                D[i][j][0] += f * H->q[i][l] * H->q[j][l];
                D[i][j][1] += f * H->q[CELL + i][l] * H->q[j][l];
            }
    }
    for (int near = 0; near < NEAR; near++) {
        int d[3];
        offset_of(near, d);
        double phase = k[0] * d[0] + k[1] * d[1] + k[2] * d[2], re = cos(phase), im = sin(phase);
        for (int i = 0; i < CELL; i++)
            for (int j = 0; j < CELL; j++) c->D[near][i][j] += weight * (D[i][j][0] * re + D[i][j][1] * im);
    }
}

/* The exact density matrix with mu in the middle of the gap. D(-k) is the conjugate of D(k). */
static void crystal_solve(struct crystal *c)
{
    static struct dense S, H;
    double pi = acos(-1), all = (double)c->L * c->L * c->L;
    c->below = -1e9;
    c->above = 1e9;
    for (int round = 0; round < 2; round++)
        for (int at = 0; at < c->L * c->L * c->L; at++) {
            int m[3] = {at / c->L / c->L, at / c->L % c->L, at % c->L}, minus = 0;
            double k[3];
            for (int x = 0; x < 3; x++) {
                k[x] = 2 * pi * m[x] / c->L;
                minus = minus * c->L + (c->L - m[x]) % c->L;
            }
            if (minus < at) continue;
            if (round == 0 && c->L > 8 && at % 7) continue; /* the gap: some wave vectors suffice */
            bloch_sum(c->s, k, &S);
            bloch_sum(c->h, k, &H);
            reduce(&S, &H);
            dense_solve(&H);
            if (round) {
                add_wave(c, k, (minus > at ? 2 : 1) / all, &S, &H);
                continue;
            }
            double level[2 * CELL];
            for (int i = 0; i < 2 * CELL; i++) {
                int l = i;
                for (; l > 0 && level[l - 1] > H.a[i][i]; l--) level[l] = level[l - 1];
                level[l] = H.a[i][i];
            }
            c->below = fmax(c->below, level[4 * MOLECULES - 1]); /* two levels a molecule, each twice */
            c->above = fmin(c->above, level[4 * MOLECULES]);
            c->mu = (c->below + c->above) / 2;
        }
}

#endif
