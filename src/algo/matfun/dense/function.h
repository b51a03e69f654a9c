/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of an eigenvalue. */
#ifndef TULLE_ALGO_MATFUN_DENSE_FUNCTION_H
#define TULLE_ALGO_MATFUN_DENSE_FUNCTION_H

#include <tulle/matfun.h>

/* TULLE_ERR_ARG, with the cause, if a parameter is wrong. */
tulle_status tulle__function_check(const tulle_function *function);

/*
 * value[i] = f(x[i]), i < n, for the ascending eigenvalues x of a matrix of that type. Returns the
 * index of the first one outside the function's domain, -1: none.
 */
int64_t tulle__function_values(
    const tulle_function *function, tulle_type type, int64_t n, const double *x, double *value);

/*
 * Condition of f at a symmetric matrix with the ascending eigenvalues x, n > 0, and value[i] = f(x[i]): relative to
 * max |f(x)| / max |x|, the largest divided difference of f over two neighbours, or derivative at one (not of the
 * caller's functions), and at least 1. Of symmetric matrices that is the condition in the Frobenius norm: Higham,
 * "Functions of Matrices", SIAM 2008, section 3.3 (Corollary 3.16 for normal ones); cond(A) of the inverse.
 *
 * Pencils H c = x S c, c^T S c = 1, F the sum of f(x) c c^T: rounding moves each level by up to
 * ||S^-1|| (||H|| + |x| ||S||), as LAPACK's dsygv has it; divided differences and f count with |c_i| |c_j|.
 */
typedef struct tulle__pencil_norms {
    const double *square; /* [n]: |c|^2 */
    double inverse, H, S; /* ||S^-1||, ||H||, ||S|| */
} tulle__pencil_norms;
double tulle__function_amplification(const tulle_function *function, int64_t n, const double *x, const double *value,
    const tulle__pencil_norms *pencil); /* NULL: of a matrix */

/*
 * The error of f(A), relative to it, up to which a method that filters its matrices has a right result:
 * min(0.1, precise + 100 filter + (1000 epsilon + filter) amplification), precise = 1e-8 (f32: 1e-3), epsilon of the
 * type. More than a tenth is never right.
 */
double tulle__function_tolerance(tulle_type type, double filter, double amplification);

#endif
