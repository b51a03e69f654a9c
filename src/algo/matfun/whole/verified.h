/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of iterations against the matrix that they are of. An iteration that has ended has a result of some matrix:
 * a filter, or rounding of an ill-conditioned one, may have moved its small eigenvalues, beyond mu even, which no
 * residual of the iteration shows. The tolerance is tulle__function_tolerance of what f amplifies at A.
 * TULLE_ERR_CONVERGENCE, with the error, on all PEs; collective, agreed.
 */
#ifndef TULLE_ALGO_MATFUN_WHOLE_VERIFIED_H
#define TULLE_ALGO_MATFUN_WHOLE_VERIFIED_H

#include "algo/matfun/whole/iterations.h"

/* X = A^(-1/p): by |X^p A - I|, in the Frobenius norm over that of I, and a bound of the spectral norm. */
tulle_status tulle__verify_root(tulle__iterations *it, const tulle_mat *A, int p, const tulle_mat *X);

/* F = A X^(p - 1), a product of filtered matrices, by vectors. */
tulle_status tulle__verify_product(
    tulle__iterations *it, const tulle_mat *A, int p, const tulle_mat *X, const tulle_mat *F);

/*
 * F = below or above, for eigenvalues of A below mu and above. F splits a vector x of random signs into a part u that
 * belongs above and d = x - u. With P, the projector on eigenvalues below mu, and Q = I - P, the sign that F means
 * differs from that of A - mu I, applied to x, by the norm 2 (|P u|^2 + |Q d|^2)^(1/2), which Lanczos steps from u and
 * d find as weights of their Ritz values (Golub and Meurant, "Matrices, Moments and Quadrature", 2010, chapter 6).
 * Where F is right, u and d lie in invariant spaces, and all Ritz values are on their side, however few the steps.
 * Rounding of F in levels that are far away shows earlier than they do, as Ritz values between: up to `enough` the
 * error is not judged.
 */
tulle_status tulle__verify_step(tulle__iterations *it, const tulle_mat *A, double mu, double below, double above,
    double enough, const tulle_mat *F);

#endif
