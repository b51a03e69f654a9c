/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Newton-Schulz: X <- X (3 I - X^2) / 2 from (K - mu I) / norm to its sign, P = (I - X) / 2.
 * McWeeny, Rev. Mod. Phys. 32 (1960): P <- 3 P^2 - 2 P^3 from a linear function of K with 1/2 at mu.
 * TC2: Niklasson, Phys. Rev. B 66, 155115 (2002): P <- P^2 or 2 P - P^2, as the trace requires.
 */
#include "algo/matfun/purify.h"

#include <math.h>

#include <tulle/algebra.h>
#include <tulle/product.h>

#include "base/error.h"
#include "mat/algebra/block_sum.h"

enum { ITERATIONS_MOST = 200 };

static tulle_status square_layout(const tulle_mat *K, tulle_layout **layout)
{
    int pes = K->comm->size;
    const tulle_layout_spec spec = {.m = K->layout->m,
        .n = K->layout->n,
        .tile_rows = pes,
        .tile_cols = pes,
        .row_blocks = tulle_layout_row_blocks(K->layout),
        .col_blocks = tulle_layout_row_blocks(K->layout)};
    return tulle_layout_new(&spec, pes, layout);
}

static tulle_status multiply(const tulle_mat *A, const tulle_mat *B, double filter, tulle_mat **C)
{
    tulle_product *product = NULL;
    tulle_mat *made = NULL;
    const tulle_product_options options = {.filter = filter};
    tulle_status status = tulle_mat_new_vbsr(A->comm, A->layout, A->type, &made);
    if (status == TULLE_OK) status = tulle_product_new(A, B, made, &options, &product);
    if (status == TULLE_OK) status = tulle_product_execute(product, 1, 0, NULL);
    tulle_product_free(product);
    if (status == TULLE_OK)
        *C = made;
    else
        tulle_mat_free(made);
    return status;
}

/* The same in place of A. */
static tulle_status replace(const tulle__terms *t, tulle_mat **A, const tulle_mat *B)
{
    tulle_mat *sum = NULL;
    tulle_status status = tulle__block_sum(t, *A, B, &sum);
    if (status != TULLE_OK) return status;
    tulle_mat_free(*A);
    *A = sum;
    return TULLE_OK;
}

static tulle_status trace(const tulle_mat *A, double *sum)
{
    tulle_gidx n = A->layout->m;
    double *diagonal = NULL;
    tulle_status status = tulle__alloc((size_t)n, sizeof *diagonal, "a diagonal", &diagonal);
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK) status = tulle_mat_diagonal(A, diagonal);
    *sum = 0;
    for (tulle_gidx i = 0; status == TULLE_OK && i < n; i++) *sum += diagonal[i];
    tulle__free(diagonal);
    return status;
}

/* ---- iterations ---- */

struct purification {
    tulle_density_method method;
    double states, filter;
    tulle_mat *X; /* P, or a sign */
};

/* X = the first approximation. */
static tulle_status begin(struct purification *p, const tulle_mat *K, double mu)
{
    double radius;
    tulle_status status = tulle_mat_norm(K, TULLE_NORM_INFINITY, &radius);
    if (status != TULLE_OK) return status;
    tulle__terms t = {.beta = 0};
    double beyond = radius + fabs(mu) > 0 ? radius + fabs(mu) : 1;
    if (p->method == TULLE_DENSITY_NEWTON_SCHULZ) {
        t.alpha = 1 / beyond;
        t.gamma = -mu / beyond;
    } else if (p->method == TULLE_DENSITY_MCWEENY) {
        t.alpha = -.5 / beyond;
        t.gamma = .5 + .5 * mu / beyond;
    } else {
        t.alpha = -.5 / beyond;
        t.gamma = .5;
    }
    return tulle__block_sum(&t, K, K, &p->X);
}

/* The next X; *residual is that of the old one. */
static tulle_status step(struct purification *p, double *residual)
{
    tulle_mat *square = NULL, *rest = NULL, *next = NULL;
    double difference, norm, sum = 0;
    const int sign = p->method == TULLE_DENSITY_NEWTON_SCHULZ, cubic = p->method != TULLE_DENSITY_TC2;
    tulle_status status = multiply(p->X, p->X, p->filter, &square);
    const tulle__terms defect = {.alpha = 1, .beta = sign ? 0 : -1, .gamma = sign ? -1 : 0};
    if (status == TULLE_OK) status = tulle__block_sum(&defect, square, p->X, &rest);
    if (status == TULLE_OK) status = tulle_mat_norm(rest, TULLE_NORM_FROBENIUS, &difference);
    if (status == TULLE_OK) status = tulle_mat_norm(square, TULLE_NORM_FROBENIUS, &norm);
    if (status == TULLE_OK && !cubic) status = trace(p->X, &sum);
    if (status == TULLE_OK) *residual = norm > 0 ? difference / norm : difference;
    if (status == TULLE_OK && cubic) {
        /* X (3 I - X^2) / 2, or P^2 (3 I - 2 P) */
        const tulle__terms factor = {.alpha = sign ? -.5 : -2, .gamma = sign ? 1.5 : 3};
        tulle_mat_free(rest);
        rest = NULL;
        status = tulle__block_sum(&factor, sign ? square : p->X, square, &rest);
        if (status == TULLE_OK) status = multiply(sign ? p->X : square, rest, p->filter, &next);
    } else if (status == TULLE_OK) {
        const tulle__terms up = {.alpha = -1, .beta = 2}, down = {.alpha = 1};
        status = tulle__block_sum(sum > p->states ? &down : &up, square, p->X, &next);
    }
    tulle_mat_free(rest);
    tulle_mat_free(square);
    if (status != TULLE_OK) return status;
    tulle_mat_free(p->X);
    p->X = next;
    return TULLE_OK;
}

tulle_status tulle__purify(const tulle_mat *K, tulle_density_method method, double mu, double states, double filter,
    tulle_mat **P, int *iterations, double *residual)
{
    struct purification p = {.method = method, .states = states, .filter = filter};
    tulle_layout *layout = NULL;
    tulle_mat *moved = NULL;
    double least = K->type == TULLE_F32 ? 1e-5 : 1e-12, tolerance = fmax(filter, least);
    double before[2] = {INFINITY, INFINITY}; /* residuals of the two steps before */
    tulle_status status = tulle_comm_agree(K->comm, square_layout(K, &layout));
    if (status == TULLE_OK) status = tulle_mat_redistribute(K, layout, &moved);
    if (status == TULLE_OK) status = begin(&p, moved, mu);
    bool done = false;
    for (*iterations = 0; status == TULLE_OK && !done && *iterations < ITERATIONS_MOST; ++*iterations) {
        status = step(&p, residual);
        /* quadratic, but where filters or rounding limit it; a step of TC2 may double half of it */
        double enough = method == TULLE_DENSITY_TC2 ? before[1] : before[0] / 2;
        done = *residual < tolerance || (*residual < .05 && *residual >= enough);
        before[1] = before[0];
        before[0] = *residual;
    }
    if (status == TULLE_OK && !done)
        status = tulle_comm_agree(
            K->comm, tulle__fail(TULLE_ERR_CONVERGENCE, "no convergence in %d iterations: the residual is %.3g",
                         *iterations, *residual));
    const tulle__terms projector = {.alpha = -.5, .gamma = .5};
    if (status == TULLE_OK && method == TULLE_DENSITY_NEWTON_SCHULZ) status = replace(&projector, &p.X, p.X);
    tulle_mat_free(moved);
    tulle_layout_free(layout);
    if (status == TULLE_OK)
        *P = p.X;
    else
        tulle_mat_free(p.X);
    return status;
}
