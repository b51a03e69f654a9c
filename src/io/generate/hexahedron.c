/* SPDX-License-Identifier: Apache-2.0 */
#include "io/generate/hexahedron.h"

#include <string.h>

enum { NODES = TULLE__HEXAHEDRON_NODES, D = 3, POINTS = 8 };

static const double gauss = 0.577350269189625764509; /* 1 / sqrt(3) */

/* Moduli for Young's modulus 1 and Poisson's ratio 0.3. */
#define SHEAR (1 / 2.6)
static const double lambda = 0.3 / (1.3 * 0.4);

/* A function of the 8 nodes and its gradient at a point. */
struct shape {
    double value, slope[D];
};

/*
 * Strain of an unknown at a point: stretch[k][l] = u_l,k + epsilon_lkm w_m, twist[k][l] = w_k,l.
 */
struct strain {
    double stretch[D][D], twist[D][D];
};

static struct shape shape_at(int node, int point)
{
    double part[D], step[D];
    for (int k = 0; k < D; k++) {
        double at = (1 + (point >> k & 1 ? gauss : -gauss)) / 2;
        step[k] = node >> k & 1 ? 1 : -1;
        part[k] = node >> k & 1 ? at : 1 - at;
    }
    return (struct shape){part[0] * part[1] * part[2],
        {step[0] * part[1] * part[2], part[0] * step[1] * part[2], part[0] * part[1] * step[2]}};
}

/* epsilon_klm */
static double permutation(int k, int l, int m)
{
    return (double)((l - k) * (m - l) * (m - k)) / 2;
}

/* Strain of unknown a, 0 .. 2 a displacement, 3 .. 5 a rotation, with the shape function f. */
static struct strain strain_of(const struct shape *f, int a)
{
    struct strain s;
    memset(&s, 0, sizeof s);
    for (int k = 0; k < D; k++) {
        if (a < D) {
            s.stretch[k][a] = f->slope[k];
            continue;
        }
        s.twist[a - D][k] = f->slope[k];
        for (int l = 0; l < D; l++) s.stretch[k][l] = permutation(l, k, a - D) * f->value;
    }
    return s;
}

/* p (tr X)(tr Y) + q X : Y + r X : Y^T */
static double form(double X[D][D], double Y[D][D], double p, double q, double r)
{
    double sum = p * (X[0][0] + X[1][1] + X[2][2]) * (Y[0][0] + Y[1][1] + Y[2][2]);
    for (int k = 0; k < D; k++)
        for (int l = 0; l < D; l++) sum += X[k][l] * (q * Y[k][l] + r * Y[l][k]);
    return sum;
}

/* The density of energy between two strains. */
static double density(int dof, struct strain *x, struct strain *y)
{
    if (dof < 2 * D) return form(x->stretch, y->stretch, lambda, SHEAR, SHEAR);
    double kappa = SHEAR / 2, mu = SHEAR - kappa / 2, alpha = SHEAR / 4;
    return form(x->stretch, y->stretch, lambda, mu + kappa, mu) + form(x->twist, y->twist, alpha, SHEAR, alpha);
}

void tulle__hexahedron(int dof, double *K)
{
    int n = NODES * dof;
    memset(K, 0, (size_t)(n * n) * sizeof *K);
    for (int point = 0; point < POINTS; point++)
        for (int p = 0; p < n; p++)
            for (int q = 0; q <= p; q++) {
                struct shape f = shape_at(p / dof, point), g = shape_at(q / dof, point);
                struct strain x = strain_of(&f, p % dof), y = strain_of(&g, q % dof);
                double product = f.slope[0] * g.slope[0] + f.slope[1] * g.slope[1] + f.slope[2] * g.slope[2];
                K[p * n + q] += (dof == 1 ? product : density(dof, &x, &y)) / POINTS;
            }
    for (int p = 0; p < n; p++)
        for (int q = 0; q < p; q++) K[q * n + p] = K[p * n + q];
}
