/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a symmetric tridiagonal T of n rows without eigenvectors, which take as long as the
 * tridiagonalisation: by solves with T - mu - i s, or T + s^2, for few s,
 *
 *   sign(x)  = sum_j w_j x / (x^2 + s_j^2) = sum_j w_j Re 1 / (x - i s_j)
 *   x^(-1/2) = sum_j w_j / (x + s_j^2)
 *
 * with the nodes of Hale, Higham, Trefethen, "Computing A^alpha, log(A), and related matrix functions by
 * contour integrals", SIAM J. Numer. Anal. 46 (2008), method 3. The eigenvalues next to mu and the
 * extreme ones come from Sturm counts. Norms of columns are checked: sign(T - mu) keeps them, and those
 * of T^(+-1/2) y are the inner products of y and T^(+-1) y.
 */
#ifndef TULLE_ALGO_MATFUN_DENSE_STEP_H
#define TULLE_ALGO_MATFUN_DENSE_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* 1 / (e^((x - mu) / kT) + 1), without overflow. */
double tulle__fermi(double x, double mu, double kT);

/* The spectrum around mu. The extreme eigenvalues are known to 1e-6 of its width. */
typedef struct tulle__gap {
    double least, below, above, most; /* below: -INFINITY, above: INFINITY if there is none */
} tulle__gap;

/* Eigenvalues of T: diagonal d, off-diagonal e. */
tulle__gap tulle__gap_of(int64_t n, const double *d, const double *e, double mu);

/* Number of eigenvalues below x. */
int64_t tulle__levels_below(int64_t n, const double *d, const double *e, double x);

/* sums: inner products of Y and Z, and of Y and T Z; row-major with lines of b. */
void tulle__step_sums(
    int64_t n, const double *d, const double *e, int64_t b, const double *Y, const double *Z, double sums[2]);

/* Doubles of workspace for b columns. */
static inline int64_t tulle__step_workspace(int64_t n, int64_t b)
{
    return 3 * n * b + 2 * n;
}

/*
 * Z = sign(T - mu) Y, row-major with lines of b. False if mu is too near to an eigenvalue, or the result
 * is not accurate: eigenvectors are needed.
 */
bool tulle__step_apply(int64_t n, const double *d, const double *e, double mu, const tulle__gap *gap, int64_t b,
    const double *Y, double *Z, double *workspace);

typedef enum tulle__power { TULLE__POWER_NONE, TULLE__INVERSE, TULLE__SQRT, TULLE__INVSQRT } tulle__power;

/* Z = T^-1 Y, T^(1/2) Y or T^(-1/2) Y; gap: that at 0. False: too, if T is not positive definite. */
bool tulle__power_apply(int64_t n, const double *d, const double *e, tulle__power power, const tulle__gap *gap,
    int64_t b, const double *Y, double *Z, double *workspace);

#endif
