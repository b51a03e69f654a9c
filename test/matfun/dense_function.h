/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of small dense symmetric matrices by Jacobi's rotations, for comparison. */
#ifndef TULLE_TEST_MATFUN_DENSE_FUNCTION_H
#define TULLE_TEST_MATFUN_DENSE_FUNCTION_H

#include <math.h>
#include <string.h>

enum { DENSE_MOST = 96 };

struct dense {
    int n;
    double a[DENSE_MOST][DENSE_MOST], q[DENSE_MOST][DENSE_MOST];
};

static void rotate(struct dense *x, int p, int q)
{
    double theta = (x->a[q][q] - x->a[p][p]) / (2 * x->a[p][q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < x->n; k++) {
        double u = x->a[k][p], v = x->a[k][q];
        x->a[k][p] = c * u - s * v;
        x->a[k][q] = s * u + c * v;
        u = x->q[k][p], v = x->q[k][q];
        x->q[k][p] = c * u - s * v;
        x->q[k][q] = s * u + c * v;
    }
    for (int k = 0; k < x->n; k++) {
        double u = x->a[p][k], v = x->a[q][k];
        x->a[p][k] = c * u - s * v;
        x->a[q][k] = s * u + c * v;
    }
}

/* Eigenvalues to the diagonal of a, eigenvectors to the columns of q. */
static void dense_solve(struct dense *x)
{
    memset(x->q, 0, sizeof x->q);
    for (int i = 0; i < x->n; i++) x->q[i][i] = 1;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, all = 0;
        for (int p = 0; p < x->n; p++)
            for (int q = 0; q < x->n; q++) {
                all += x->a[p][q] * x->a[p][q];
                if (p != q) off += x->a[p][q] * x->a[p][q];
            }
        if (off <= 1e-30 * all) return;
        for (int p = 0; p < x->n; p++)
            for (int q = p + 1; q < x->n; q++)
                if (x->a[p][q] != 0) rotate(x, p, q);
    }
}

/* After dense_solve: element (i, j) of f(a). */
static inline double dense_element(const struct dense *x, int i, int j, double (*f)(double x))
{
    double sum = 0;
    for (int k = 0; k < x->n; k++) sum += x->q[i][k] * f(x->a[k][k]) * x->q[j][k];
    return sum;
}

#endif
