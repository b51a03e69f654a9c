/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of iterations with whole matrices in blocks: filtered products, sums, norms, the end, and
 * the history. Matrices are symmetric up to the filter, and lie in one square grid of tiles.
 */
#ifndef TULLE_ALGO_MATFUN_WHOLE_ITERATIONS_H
#define TULLE_ALGO_MATFUN_WHOLE_ITERATIONS_H

#include <tulle/matfun.h>

#include "mat/mat.h"

enum { TULLE__ITERATIONS_MOST = 200, TULLE__ORDER_MOST = 7 };

/* An iteration as it is foreseen (method_estimate.h), of `auto`. */
typedef struct tulle__forecast {
    double seconds, other; /* of all steps, and of the other method */
    int steps;
    double step[TULLE__ITERATIONS_MOST]; /* seconds of each */
} tulle__forecast;

typedef struct tulle__iterations {
    double filter;
    double tolerance;     /* of the result, relative */
    double offset, scale; /* the history has offset + scale trace */
    tulle_matfun_iteration *history;
    int64_t capacity;
    const tulle__forecast *forecast; /* NULL, or the iteration is given up where the other method is faster */
    /* so far: */
    int count;
    double residual; /* of the approximation before the last step */
    double bound;    /* of the spectral norm of that defect */
    double flops;    /* of all products, of all PEs */
    /* private */
    double before[2]; /* residuals of earlier steps */
    double flops_before;
    int64_t start;
    int64_t begun, last; /* of the first step, and of the present one */
} tulle__iterations;

/* A step begins. */
void tulle__iterations_step(tulle__iterations *it, tulle_comm *comm);

/*
 * The residual |defect|_F / max(|of|_F, 1) and the bound, for the approximation that the step starts with.
 * of NULL: the identity. Collective, agreed.
 */
tulle_status tulle__iterations_measure(tulle__iterations *it, const tulle_mat *defect, const tulle_mat *of);

/* The step has been made from X; trace and mu of X go into the history. */
void tulle__iterations_record(tulle__iterations *it, const tulle_mat *X, double trace, double mu);

/* Blocks of X over those of a full matrix. Local. */
double tulle__occupation_of(const tulle_mat *X);

/* A residual stalls if it has not fallen to `part` of that `steps` before (1 or 2). */
typedef struct tulle__iterations_stall {
    int steps;
    double part;
} tulle__iterations_stall;

/*
 * The one ending of all iterations: `next`, a bound of the defect after the last step, is below the tolerance; or
 * the residual has stalled where the filter, or without one rounding, limits it. A residual that stalls higher
 * does not end them: eigenvalues far from the result change it little for many steps.
 */
bool tulle__iterations_ended(
    const tulle__iterations *it, const tulle_mat *X, double next, const tulle__iterations_stall *stall);
/* True if the residual has grown beyond all that converges, or is not a number. */
bool tulle__iterations_diverge(const tulle__iterations *it);

/* TULLE_ERR_CONVERGENCE, with the last residual, on all PEs. */
tulle_status tulle__iterations_fail(const tulle__iterations *it, tulle_comm *comm, const char *hint);

/* A square grid of tiles with the block cuts of a square matrix. Local. */
tulle_status tulle__square_layout(const tulle_mat *K, tulle_layout **layout);

/* *C = A B without what the filter removes, which may be any matrix. Collective, agreed. */
tulle_status tulle__iterations_multiply_any(
    tulle__iterations *it, const tulle_mat *A, const tulle_mat *B, tulle_mat **C);
/* The same where A B is symmetric, as that of two functions of one symmetric matrix: one triangle is multiplied
 * (symmetric_c). */
tulle_status tulle__iterations_multiply(tulle__iterations *it, const tulle_mat *A, const tulle_mat *B, tulle_mat **C);

/* *C = sum over k < n of factor[k] term[k], plus gamma I. Collective, agreed. */
tulle_status tulle__combination(int n, const double *factor, const tulle_mat *const *term, double gamma, tulle_mat **C);

/* *A = alpha *A + beta B + gamma I. Collective, agreed; after a failure *A stays. */
tulle_status tulle__add_to(tulle_mat **A, double alpha, double beta, const tulle_mat *B, double gamma);

/* The sum over i, j of a_ij b_ij, for matrices of one layout: tr(A^T B). Collective, agreed. */
tulle_status tulle__inner_product(const tulle_mat *A, const tulle_mat *B, double *sum);

/* The trace. Collective, agreed. */
tulle_status tulle__trace(const tulle_mat *A, double *sum);

/* *C = T^p, p > 0. Collective, agreed. */
tulle_status tulle__power_of(tulle__iterations *it, const tulle_mat *T, int p, tulle_mat **C);

/*
 * Replaces *X, of eigenvalues in [-1, 1], by its sign, by Newton-Schulz iterations of that order, 2
 * to 7: X times the first terms of (1 - y)^(-1/2), y = I - X^2. Collective, agreed.
 */
tulle_status tulle__newton_schulz(tulle__iterations *it, int order, double mu, tulle_mat **X);

/*
 * *X = A^(-1/p), p > 0, of a positive definite A, by the coupled Newton iteration, not verified. Collective,
 * agreed.
 */
tulle_status tulle__coupled_newton(tulle__iterations *it, const tulle_mat *A, int p, tulle_mat **X);

#endif
