/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f(A) x by the Lanczos method, for checks of functions of whole matrices: products with vectors by
 * plain loops, and a small tridiagonal matrix, but no product of two matrices. Saad, "Analysis of
 * some Krylov subspace approximations to the matrix exponential operator", SIAM J. Numer. Anal. 29
 * (1992): f(A) x = |x| V f(T) e_1 with A V = V T + ...
 */
#ifndef TULLE_ALGO_MATFUN_DENSE_LANCZOS_H
#define TULLE_ALGO_MATFUN_DENSE_LANCZOS_H

#include <tulle/matfun.h>

#include "mat/mat.h"

/*
 * y = f(A) x; vectors are whole and the same on all PEs. *change: the part by which the last steps
 * have changed y, relative: below `enough` unless as many steps as are taken (300) do not suffice.
 * *amplification: of f at the Ritz values (tulle__function_amplification). Collective, agreed.
 */
tulle_status tulle__lanczos(const tulle_mat *A, const tulle_function *function, double enough, const double *x,
    double *y, double *change, double *amplification);

/* The spectrum of A as far as some Lanczos steps from a vector find it. */
typedef struct tulle__ritz {
    double low, high;    /* Ritz values, within the spectrum */
    double under, over;  /* those next to mu: below it, and from it on */
    double nearest;      /* at least the distance of mu from the spectrum */
    double below, above; /* parts of |x|^2 of Ritz values on either side of mu */
    double square;       /* |x|^2 */
} tulle__ritz;

/*
 * `steps` from x, which is whole and the same on all PEs; x = 0: all are 0. While both parts exceed `enough`, up to
 * twice as many: the Ritz value next to mu has weight of the other side until it arrives at its eigenvalue. Each step's
 * weights beyond mu bound their true sum from above if a Ritz value lies between mu and the eigenvalues there
 * (Chebyshev, Markov and Stieltjes; Golub and Meurant, chapter 2), so that the greatest of a few steps does with
 * near certainty, and the least of these is taken. Collective, agreed.
 */
tulle_status tulle__lanczos_ritz(
    const tulle_mat *A, double mu, int steps, double enough, const double *x, tulle__ritz *ritz);

/* The same from a vector of random signs. Collective, agreed. */
tulle_status tulle__lanczos_bounds(const tulle_mat *A, double mu, int steps, tulle__ritz *ritz);

#endif
