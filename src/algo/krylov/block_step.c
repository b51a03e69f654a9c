/* SPDX-License-Identifier: Apache-2.0 */
/* An iteration of block CG, and its start; block_cg.c explains the algebra. */
#include <math.h>
#include <string.h>

#include "algo/krylov/block.h"
#include "base/error.h"

static const double negligible = 0.05; /* the fraction of a limit that may be dropped at the start */

/* ---- an iteration ---- */

/* Schedules the next computation of E: the nearer it is to I, the later. */
static void schedule(tulle__block *b)
{
    enum { LONGEST = 16 };
    static const double fair = 1e-11, poor = 1e-8;
    double off = 0;
    for (int i = 0; i < b->m; i++)
        for (int j = 0; j < b->m; j++) off = fmax(off, fabs(b->small->E[i][j] - (i == j)));
    b->interval = off > poor ? 0 : off > fair ? b->interval / 2 : 2 * b->interval + 1;
    if (b->interval > LONGEST) b->interval = LONGEST;
    b->due = b->interval;
}

/* Computes W, and E if `computed`. The block may stop. */
static tulle_status curvature(tulle__block *b, int computed)
{
    tulle__block_small *s = b->small;
    const tulle__block_vectors *p = &b->vectors;
    const tulle__multi_tsmttsm gram[] = {{p->in.val, p->ld, p->out.val, p->ld, b->m, b->m, 1, s->W},
        {p->in.val, p->ld, p->rest.val, p->ld, b->m, b->t, 0, s->A}};
    double pivot = 0, noise;
    TULLE_CALL(tulle__multi_tsmttsm_all(&b->multi, computed ? 2 : 1, gram));
    for (int i = 0; i < b->m; i++) {
        b->top = fmax(b->top, s->W[i][i]);
        for (int j = 0; j < b->m; j++)
            if (!isfinite(s->W[i][j])) {
                tulle__block_break(b, TULLE_STOP_NOT_FINITE, "P^T A P is not finite");
                return TULLE_OK;
            }
    }
    noise = tulle__block_epsilon(b) * b->top;
    tulle__small_copy(b->m, b->m, s->W, s->F);
    if (tulle__small_cholesky(b->m, s->F, noise, &pivot) < 0) return TULLE_OK;
    const char *indefinite = "P^T A P has a pivot of %.3g: the matrix is not positive definite";
    if (pivot < -sqrt(tulle__block_epsilon(b)) * b->top || b->top <= 0) /* more than rounding makes */
        tulle__block_stop(b, TULLE_STOP_INDEFINITE, indefinite, pivot);
    else if (pivot < -noise * b->m)
        tulle__block_break(b, TULLE_STOP_INDEFINITE, indefinite, pivot);
    else
        tulle__block_break(b, TULLE_STOP_RANK_LOSS,
            "P^T A P has a pivot of %.3g beside %.3g: the matrix is singular to working precision", pivot, b->top);
    return TULLE_OK;
}

/* X and T after the step; q: columns of Q. */
static void step(tulle__block *b, int computed, int q)
{
    tulle__block_small *s = b->small;
    tulle__block_vectors *p = &b->vectors;
    double pivot;
    if (computed)
        tulle__small_copy(b->m, q, s->E, s->F);
    else
        tulle__small_identity(b->m, s->F);
    tulle__small_copy(b->m, b->m, s->W, s->U);
    (void)tulle__small_cholesky(b->m, s->U, 0, &pivot);
    tulle__small_solve(b->m, s->U, q, s->F);
    tulle__small_copy(q, b->columns, s->C, s->A);
    for (int j = 0; j < b->columns; j++)
        for (int i = 0; i < q && !b->column[j].active; i++) s->A[i][j] = 0;
    tulle__small_product(b->m, q, b->columns, s->F, s->A, s->B);
    tulle__multi_term X = {p->in.val, p->ld, b->m, b->columns, 1, s->B};
    const tulle__multi_term T[] = {{p->rest.val, p->ld, b->t, q, 1, s->N}, {p->out.val, p->ld, b->m, q, -1, s->F}};
    tulle__multi_tsmm(&b->multi, 1, &X, b->columns, 1, b->x, b->columns);
    tulle__multi_tsmm(&b->multi, 2, T, p->ld, 0, p->rest.val, p->ld);
    b->t = q;
}

/* C = S C, residuals, and which columns are within the limit. r: rows of S. */
static void follow(tulle__block *b, int q, int r)
{
    tulle__block_small *s = b->small;
    tulle__small_product(r, q, b->columns, s->S, s->C, s->A);
    tulle__small_copy(r, b->columns, s->A, s->C);
    if (b->M) { /* Q^T Q */
        tulle__small_product(b->t, b->t, r, s->H, s->N, s->A);
        tulle__small_product_t(r, b->t, r, s->N, s->A, s->B);
    }
    for (int j = 0; j < b->columns; j++) {
        double square = 0;
        for (int i = 0; i < r; i++)
            for (int k = b->M ? 0 : i; k < (b->M ? r : i + 1); k++)
                square += s->C[i][j] * s->C[k][j] * (b->M ? s->B[i][k] : 1);
        if (b->column[j].active) b->column[j].residual = square > 0 ? sqrt(square) : 0;
    }
}

/* P = Y N + P S^T, less its part along directions set aside. r: columns of Q. */
static void continue_directions(tulle__block *b, int computed, int q, int r)
{
    tulle__block_small *s = b->small;
    tulle__block_vectors *p = &b->vectors;
    tulle__multi_term term[TULLE__MULTI_TERMS] = {
        {b->M ? p->pre.val : p->rest.val, p->ld, b->t, r, 1, s->N}, {p->in.val, p->ld, b->m, r, 1, s->A}};
    int count = b->m ? 2 : 1;
    size_t size = tulle_type_size(b->multi.space.type);
    if (computed) { /* -W^-1 V^T Z */
        tulle__small_product(b->m, b->t, r, s->VY, s->N, s->A);
        tulle__small_solve(b->m, s->U, r, s->A);
        term[1].factor = -1;
    } else {
        for (int i = 0; i < q; i++)
            for (int k = 0; k < r; k++) s->A[i][k] = s->S[k][i];
    }
    for (int l = 0; l < b->nkept; l++) {
        const tulle__former_directions *former = &b->former[l];
        const char *D = former->D.val;
        tulle__small_product(former->count, b->t, r, s->K[l], s->N, s->B);
        tulle__small_solve(former->count, s->L[l], r, s->B);
        tulle__small_copy(former->count, r, s->B, s->K[l]);
        if (D) D += (size_t)former->at * size;
        term[count++] = (tulle__multi_term){D, former->ld, former->count, r, -1, s->K[l]};
    }
    tulle__multi_tsmm(&b->multi, count, term, p->ld, 0, p->in.val, p->ld);
    b->m = r;
}

/* Counts dropped directions, while anything is left to solve. */
static void count_deflated(tulle__block *b, int dropped)
{
    if (!tulle__block_active(b)) return;
    if (dropped && !b->deflated) b->deflated_at = b->iteration;
    b->deflated += dropped;
}

static void lock(tulle__block *b)
{
    for (int j = 0; j < b->columns && !tulle__block_ended(b); j++) {
        tulle__block_column *c = &b->column[j];
        if (!c->active) continue;
        tulle__block_report(b, j);
        c->iterations = b->iteration;
        const double most = fmax(c->norm, c->true_residual) / tulle__block_epsilon(b); /* as in cg.c, of ||r|| */
        if (!isfinite(c->residual))
            tulle__block_break(b, TULLE_STOP_NOT_FINITE, "the residual is not finite");
        else if (c->residual > most)
            tulle__block_break(b, TULLE_STOP_RANK_LOSS,
                "the residual has grown to %.3g, beyond %.3g: the matrix is singular to working precision",
                c->residual * c->scale, most * c->scale);
    }
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].residual + b->column[j].lost <= b->column[j].limit) b->column[j].active = 0;
}

tulle_status tulle__block_iterate(tulle__block *b, int restarted)
{
    tulle__block_small *s = b->small;
    int computed = restarted || b->due-- <= 0, q, r;
    TULLE_CALL(tulle__block_product(b));
    b->iteration++;
    for (int j = 0; j < b->columns; j++) b->column[j].products += b->column[j].stop == TULLE_STOP_COUNT;
    TULLE_CALL(curvature(b, computed));
    if (tulle__block_ended(b)) return TULLE_OK;
    q = restarted ? b->t : b->m;
    if (computed) tulle__small_product(b->m, b->t, q, s->A, s->N, s->E);
    if (computed && !restarted) schedule(b);
    if (!computed) TULLE_CALL(tulle__block_narrow(b));
    if (!computed) q = b->m;
    step(b, computed, q);
    TULLE_CALL(tulle__block_precondition(b));
    TULLE_CALL(tulle__block_orthonormalise(b, restarted ? 0 : 1, computed, &r));
    if (tulle__block_ended(b)) return TULLE_OK;
    if (b->ill) b->due = 0;
    follow(b, q, r);
    continue_directions(b, computed, q, r);
    lock(b);
    count_deflated(b, q - r);
    /* a plan for another width pays only for a much smaller width */
    if (!tulle__block_ended(b) && b->m && b->m <= b->vectors.ld - (b->vectors.ld + 3) / 4)
        TULLE_CALL(tulle__block_move(b, b->m, NULL));
    return TULLE_OK;
}

/* ---- the start ---- */

/*
 * Drops directions that contribute least to the residuals, as long as every column loses only a
 * small part of its limit.
 */
static int drop_negligible(tulle__block *b, int r)
{
    tulle__block_small *s = b->small;
    double length[TULLE__TALL_MOST];
    for (int i = 0; i < r; i++) {
        double square = 0;
        for (int k = 0; b->M && k < b->t; k++)
            for (int l = 0; l < b->t; l++) square += s->N[k][i] * s->H[k][l] * s->N[l][i];
        length[i] = b->M ? sqrt(fmax(square, 0)) : 1;
    }
    for (;;) {
        double least = INFINITY;
        int which = 0;
        for (int i = 0; i < r; i++) {
            double most = 0;
            for (int j = 0; j < b->columns; j++) {
                const tulle__block_column *c = &b->column[j];
                if (c->active) most = fmax(most, (length[i] * fabs(s->C[i][j]) + c->lost) / c->limit);
            }
            if (most < least) least = most, which = i;
        }
        if (!(least <= negligible)) return r;
        for (int j = 0; j < b->columns; j++) b->column[j].lost += length[which] * fabs(s->C[which][j]);
        r--;
        length[which] = length[r];
        memcpy(s->C[which], s->C[r], sizeof s->C[r]);
        for (int k = 0; k < b->t; k++) s->N[k][which] = s->N[k][r];
    }
}

tulle_status tulle__block_begin(tulle__block *b)
{
    int t = b->t, r;
    TULLE_CALL(tulle__block_precondition(b));
    TULLE_CALL(tulle__block_orthonormalise(b, 0, 0, &r));
    if (tulle__block_ended(b)) return TULLE_OK;
    if (r == 0) {
        tulle__block_break(
            b, TULLE_STOP_PRECOND_INDEFINITE, "r^T M^-1 r is 0: the preconditioner is not positive definite");
        return TULLE_OK;
    }
    follow(b, t, r);
    r = drop_negligible(b, r);
    count_deflated(b, t - r);
    continue_directions(b, 0, 0, r);
    return TULLE_OK;
}
