/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f(A) x by the Lanczos method, for checks of functions of whole matrices: products with vectors by
 * plain loops, and a small tridiagonal matrix, but no product of two matrices. Saad, "Analysis of
 * some Krylov subspace approximations to the matrix exponential operator", SIAM J. Numer. Anal. 29
 * (1992): f(A) x = |x| V f(T) e_1 with A V = V T + ...
 */
#ifndef TULLE_ALGO_MATFUN_LANCZOS_H
#define TULLE_ALGO_MATFUN_LANCZOS_H

#include <tulle/matfun.h>

#include "mat/mat.h"

/*
 * y = f(A) x; vectors are whole and the same on all PEs. *change: the part by which the last steps
 * have changed y, relative: below 1e-12 unless as many steps as are taken (300) do not suffice.
 * Collective, agreed.
 */
tulle_status tulle__lanczos(
    const tulle_mat *A, const tulle_function *function, const double *x, double *y, double *change);

#endif
