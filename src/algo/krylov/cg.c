/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditioned conjugate gradients with two reductions an iteration: p^T A p, then ||r||^2 and
 * r^T M^-1 r together. When the recurrence has r within the limit, r is recomputed from x. If it is
 * not within the limit, it replaces the recurrence's, and the directions continue (van der Vorst
 * and Ye, "Residual replacement strategies for Krylov subspace iterative methods for the
 * convergence of true residuals", SIAM J. Sci. Comput. 22, 2000).
 */
#include <math.h>

#include "algo/krylov/krylov.h"
#include "base/error.h"

struct cg {
    tulle__krylov *k;
    void *p, *q, *r, *z;
    double rr, rz;
    double most;      /* r^T M^-1 r where A is not singular */
    int64_t replaced; /* iteration of the last replacement; 0: none */
};

enum { PATIENCE = 50 };

/* z = M^-1 r, ||r||^2, r^T z. */
static tulle_status compute_products(struct cg *cg)
{
    const void *left[2] = {cg->r, cg->r}, *right[2] = {cg->r, cg->z};
    double result[2];
    if (cg->k->M) TULLE_CALL(tulle__krylov_precondition(cg->k));
    TULLE_CALL(tulle__space_dots(&cg->k->space, cg->k->M ? 2 : 1, left, right, result));
    cg->rr = result[0];
    cg->rz = cg->k->M ? result[1] : result[0];
    return TULLE_OK;
}

/* alpha = r^T z / p^T A p; 0 if the solve stops here. */
static tulle_status step_length(struct cg *cg, double *alpha)
{
    tulle__krylov *k = cg->k;
    const void *p = cg->p, *q = cg->q;
    double curvature;
    *alpha = 0;
    TULLE_CALL(tulle__space_dots(&k->space, 1, &p, &q, &curvature));
    if (!isfinite(curvature))
        tulle__krylov_stop(k, TULLE_STOP_NOT_FINITE, "p^T A p is not finite");
    else if (curvature <= 0)
        tulle__krylov_stop(k, TULLE_STOP_INDEFINITE, "p^T A p is %.3g: the matrix is not positive definite", curvature);
    else
        *alpha = cg->rz / curvature;
    return TULLE_OK;
}

/* Replaces r by the true residual; the direction stays. */
static tulle_status replace_residual(struct cg *cg)
{
    tulle__krylov *k = cg->k;
    tulle__space_scale(&k->space, 1, cg->p, k->stored);
    tulle_status status = tulle__krylov_residual(k, 0, cg->r);
    tulle__space_scale(&k->space, 1, k->stored, cg->p);
    cg->replaced = k->iteration;
    return status;
}

/*
 * The error's A-norm falls: r^T M^-1 r <= lambda_max e^T A e <= kappa (r^T M^-1 r)_0, kappa the condition of M^-1 A. Of
 * a singular A, with a b out of its range, x grows along the kernel until it is infinite, and r^T M^-1 r with it. Most
 * is what a kappa of 1 / epsilon^2 allows: diagonal matrices with 1 / epsilon may still converge.
 */
static void check_growth(const struct cg *cg)
{
    if (cg->rz > cg->most && isfinite(cg->rz))
        tulle__krylov_stop(cg->k, TULLE_STOP_RANK_LOSS,
            "r^T M^-1 r has grown to %.3g, beyond %.3g: the matrix is singular to working precision", cg->rz, cg->most);
}

/* before: r^T z of the previous direction; 0: there is none. */
static void next_direction(struct cg *cg, double before)
{
    tulle__krylov *k = cg->k;
    const void *z = cg->z;
    double one = 1;
    if (!isfinite(cg->rz))
        tulle__krylov_stop(k, TULLE_STOP_NOT_FINITE, "r^T M^-1 r is not finite");
    else if (cg->rz <= 0)
        tulle__krylov_stop(k, TULLE_STOP_PRECOND_INDEFINITE,
            "r^T M^-1 r is %.3g: the preconditioner is not positive definite", cg->rz);
    else
        tulle__space_combine(&k->space, 1, &one, &z, before > 0 ? cg->rz / before : 0, cg->p);
}

/* stop stays TULLE_STOP_COUNT while the solve continues. */
static tulle_status iterate(struct cg *cg, tulle__krylov_strikes *strikes)
{
    tulle__krylov *k = cg->k;
    double alpha, minus, before = cg->rz;
    const void *p = cg->p, *q = cg->q;
    TULLE_CALL(tulle__krylov_product(k));
    k->iteration++;
    TULLE_CALL(step_length(cg, &alpha));
    if (k->stop != TULLE_STOP_COUNT) return TULLE_OK;
    minus = -alpha;
    tulle__space_combine(&k->space, 1, &alpha, &p, 1, k->x);
    tulle__space_combine(&k->space, 1, &minus, &q, 1, cg->r);
    TULLE_CALL(compute_products(cg));
    if (!tulle__krylov_step(k, sqrt(cg->rr))) return TULLE_OK;
    /* after rounding has been detected, the recurrence may also stagnate */
    int overdue = cg->replaced && k->iteration - cg->replaced >= PATIENCE;
    if (k->residual <= k->limit || overdue) {
        TULLE_CALL(replace_residual(cg));
        if (tulle__krylov_verdict(k, strikes)) return TULLE_OK;
        TULLE_CALL(compute_products(cg));
    }
    check_growth(cg);
    if (k->stop == TULLE_STOP_COUNT) next_direction(cg, before);
    return TULLE_OK;
}

tulle_status tulle__cg(tulle__krylov *k, int zero)
{
    struct cg cg = {.k = k, .p = k->in.val, .q = k->out.val, .r = k->rest.val};
    tulle__krylov_strikes strikes = {0, 0};
    cg.z = k->M ? k->pre.val : cg.r;
    k->stop = TULLE_STOP_COUNT;
    TULLE_CALL(tulle__krylov_residual(k, zero, cg.r));
    if (!tulle__krylov_step(k, k->true_residual) || (k->residual <= k->limit && tulle__krylov_verdict(k, &strikes)))
        return TULLE_OK;
    TULLE_CALL(compute_products(&cg));
    cg.most = cg.rz / (tulle__krylov_epsilon(k) * tulle__krylov_epsilon(k));
    next_direction(&cg, 0);
    while (k->stop == TULLE_STOP_COUNT) {
        if (k->iteration == k->options.max_iterations)
            tulle__krylov_stop(k, TULLE_STOP_ITERATIONS, "the residual is %.3g, not yet %.3g", k->residual * k->scale,
                k->limit * k->scale);
        else
            TULLE_CALL(iterate(&cg, &strikes));
    }
    if (k->stop != TULLE_STOP_CONVERGED && k->stop != TULLE_STOP_STAGNATED && k->iteration)
        TULLE_CALL(tulle__krylov_residual(k, 0, cg.r)); /* for the report */
    return TULLE_OK;
}
