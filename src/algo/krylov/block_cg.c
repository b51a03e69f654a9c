/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block CG that cannot break down: BCGrQ (Dubrulle, "Retooling the method of block conjugate gradients", ETNA 12,
 * 2001), preconditioned, with deflation.
 *
 * O'Leary's method (Linear Algebra Appl. 29, 1980) divides by R^T M^-1 R, which becomes singular as soon as one
 * combination of the residuals converges. Here R = Q C is kept factorised, Q^T M^-1 Q = I, and C, m x columns, takes up
 * all that is small. (Without M this is Dubrulle's; with M = L L^T it is his for L^-1 A L^-T, multiplied out: only M^-1
 * is applied, once an iteration.) With Z = M^-1 Q and P = Z at first:
 *
 *   V = A P,  W = P^T V            a product, a meeting
 *   X = X + P W^-1 C
 *   T = Q - V W^-1                 R = T C
 *   Y = M^-1 T,  T = Q' S          a preconditioner, a meeting; Q'^T M^-1 Q' = I (orthonormal.c)
 *   C' = S C,  P' = Y N + P S^T    Q' = T N, N = S^-1 where S is square
 *
 * E = P^T Q = I throughout, so P has full rank, and W lies within the spectrum of M^-1 A: its condition is at most that
 * of the preconditioned matrix, however dependent residuals are. W has a Cholesky factor unless A is not positive
 * definite or singular to working precision: there is no other way to fail. P' is conjugate to P since Y^T V = N^-T
 * (Q'^T M^-1 (Q
 * - T)) W = -S W. ||r_j|| follows from c_j and Q^T Q, which comes with the second meeting.
 *
 * Rank. Where T has directions no larger than rounding, S gets less rows than columns, and the block is narrower from
 * then on (Ji and Li, "A breakdown-free block conjugate gradient method", BIT 57, 2017); what is dropped is rounding,
 * and conjugacy holds as before. Before the first iteration, where nothing has to stay conjugate, what contributes less
 * than a small part of the tolerance to every column is dropped too: columns that are nearly the same.
 *
 * Converged columns are locked: x_j stays, c_j is no longer looked at. Their directions go on to serve the others,
 * whose convergence depends on the width. Only when half of the directions have no column left does the block become
 * narrower: a rotation U of P, V and Q leaves residuals in the first ones, and the others, D, are no longer continued.
 * Dropping them altogether would lose conjugacy, and with it what has been gained (CG with a direction that is not its
 * own converges no better than linearly: Powell 1976). So D and A D are kept, P is made conjugate to D once, which does
 * not change the step, and each P' after it: D^T R = 0 and conjugacy to all before hold on (Nikishin and Yeremin, SIAM
 * J. Matrix Anal. Appl. 16, 1995). Nothing restarts.
 *
 * Rounding. An error of E, or of conjugacy, becomes S (error) S^-1 in the next iteration: it stays as it is in plain
 * CG, where S is a number, but here it grows as C becomes ill-conditioned. So both are computed from time to time, T =
 * Q - V W^-1 E and P' = Z - P W^-1 (V^T Z), which is a meeting of more sums and two passes over memory: how far E is
 * from I then says when it is to be done again; and after each factorisation that took several passes.
 *
 * When all columns are within their limits by the recurrence the true residuals are computed. Of those that are not
 * there T is made, and the next step is made with P^T T and V^T Y computed, not known: directions go on, as in cg.c.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "algo/krylov/block.h"
#include "algo/krylov/sides_by_column.h"
#include "base/error.h"

enum { PATIENCE = 50, STRIKES = 3 };
static const double negligible = 0.05; /* the part of a limit that may be left out at the beginning */

/* ---- operators and stops ---- */

static tulle_status product(tulle__block *b)
{
    int64_t start = tulle__now(b->comm);
    tulle_status status = b->A->apply(b->panels.bound_A);
    b->product_ns += tulle__now(b->comm) - start;
    return status;
}

tulle_status tulle__block_precondition(tulle__block *b)
{
    int64_t start = tulle__now(b->comm);
    tulle_status status = b->M ? b->M->apply(b->panels.bound_M) : TULLE_OK;
    b->precond_ns += tulle__now(b->comm) - start;
    return status;
}

static void end_column(tulle__block *b, int j, tulle_stop stop, const char *format, va_list args)
{
    char why[sizeof b->why];
    b->column[j].stop = stop;
    b->column[j].active = 0;
    vsnprintf(why, sizeof why, format, args);
    if (stop != TULLE_STOP_CONVERGED && !*b->why)
        snprintf(b->why, sizeof b->why, "column %lld, iteration %lld: %.100s", (long long)(b->first + j + 1),
            (long long)b->iteration, why);
}

__attribute__((format(printf, 4, 5))) static void stop_column(
    tulle__block *b, int j, tulle_stop stop, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_column(b, j, stop, format, args);
    va_end(args);
}

void tulle__block_stop(tulle__block *b, tulle_stop stop, const char *format, ...)
{
    b->stopped = 1;
    for (int j = 0; j < b->columns; j++) {
        va_list args;
        if (b->column[j].stop != TULLE_STOP_COUNT) continue;
        va_start(args, format);
        end_column(b, j, stop, format, args);
        va_end(args);
    }
}

static int count_active(const tulle__block *b)
{
    int count = 0;
    for (int j = 0; j < b->columns; j++) count += b->column[j].active;
    return count;
}

/* A residual of the recurrence: to whom it may concern. */
static void tell(const tulle__block *b, int j)
{
    const tulle_krylov_options *o = b->options;
    const tulle__block_column *c = &b->column[j];
    tulle_gidx column = b->first + j;
    if (column == 0 && o->history && b->iteration < o->history_room) o->history[b->iteration] = c->residual * c->scale;
    tulle_krylov_step step = {.column = column,
        .iteration = b->iteration,
        .residual = c->residual * c->scale,
        .norm = c->norm * c->scale,
        .limit = c->limit * c->scale,
        .seconds = (double)(tulle__now(b->comm) - b->start) * 1e-9,
        .width = b->m ? b->m : count_active(b),
        .active = count_active(b)};
    if (o->watch && b->comm->rank == 0) o->watch(o->arg, &step);
}

/* ---- panels ---- */

/* Into panels of another width: P, T as Q, and V if asked for. The former ones' `in` and `out` stay in *before. */
static tulle_status move(tulle__block *b, int width, int with_V, tulle__block_panels *before)
{
    tulle__block_panels next = {.ld = 0}, *p = &b->panels;
    int q = b->t ? b->m : 0;
    tulle_status status = tulle__block_panels_new(b, width, &next);
    if (status != TULLE_OK) {
        tulle__block_panels_free(b, &next);
        return status;
    }
    tulle__multi_term P = {p->in.val, p->ld, b->m, b->m, 1, NULL}, V = {p->out.val, p->ld, b->m, b->m, 1, NULL},
                      T = {p->rest.val, p->ld, b->t, q, 1, b->small->N};
    tulle__multi_mix(&b->multi, 1, &P, width, 0, next.in.val, width);
    tulle__multi_mix(&b->multi, 1, &T, width, 0, next.rest.val, width);
    if (with_V) tulle__multi_mix(&b->multi, 1, &V, width, 0, next.out.val, width);
    *before = *p;
    before->in = before->out = (tulle__vector){NULL, NULL};
    if (!with_V) {
        before->in = p->in;
        before->out = p->out;
    }
    tulle__block_panels_free(b, before);
    *before = *p;
    *p = next;
    b->t = q;
    tulle__small_identity(q, b->small->N);
    return TULLE_OK;
}

/*
 * Half of the directions, or more, have no column left: see above. W, of which nothing else is known yet but that it is
 * positive definite, becomes that of the others.
 */
static tulle_status narrow(tulle__block *b)
{
    tulle_status status = TULLE_OK;
    tulle__block_small *s = b->small;
    int a = count_active(b), m = b->m, d = m - a, level = b->nkept;
    tulle__block_panels *p = &b->panels, before;
    double pivot;
    if (2 * a > m || d == 0 || level == TULLE__BLOCK_LEVELS) return TULLE_OK;
    for (int j = 0, k = 0; j < b->columns; j++) {
        if (!b->column[j].active) continue;
        for (int i = 0; i < m; i++) s->A[i][k] = s->C[i][j] / b->column[j].residual;
        k++;
    }
    tulle__small_basis(m, a, s->A, s->U);
    tulle__small_product(m, m, m, s->W, s->U, s->A);
    tulle__small_product_t(m, m, m, s->U, s->A, s->W);
    for (int i = 0; i < d; i++) {
        memcpy(s->L[level][i], s->W[a + i] + a, (size_t)d * sizeof(double));
        memcpy(s->B[i], s->W[a + i], (size_t)a * sizeof(double));
    }
    if (tulle__small_cholesky(d, s->L[level], 0, &pivot) >= 0) return TULLE_OK; /* rounding: it stays as wide */
    tulle__small_solve(d, s->L[level], a, s->B);
    /* W of P_1 - D B; U with that in its first columns */
    for (int i = 0; i < a; i++)
        for (int j = 0; j < a; j++)
            for (int k = 0; k < d; k++) s->W[i][j] -= s->W[i][a + k] * s->B[k][j];
    tulle__small_product_t(a, m, b->columns, s->U, s->C, s->A);
    tulle__small_copy(a, b->columns, s->A, s->C);
    tulle__small_product(b->t, m, a, s->N, s->U, s->A);
    tulle__small_copy(b->t, a, s->A, s->N);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < a; j++)
            for (int k = 0; k < d; k++) s->U[i][j] -= s->U[i][a + k] * s->B[k][j];
    tulle__multi_term P = {p->in.val, p->ld, m, m, 1, s->U}, V = {p->out.val, p->ld, m, m, 1, s->U};
    tulle__multi_mix(&b->multi, 1, &P, p->ld, 0, p->in.val, p->ld);
    tulle__multi_mix(&b->multi, 1, &V, p->ld, 0, p->out.val, p->ld);
    b->m = a;
    TULLE_TRY(move(b, a, 1, &before));
    b->kept[b->nkept++] =
        (tulle__kept_directions){.D = before.in, .AD = before.out, .ld = before.ld, .at = a, .count = d};
out:
    return status;
}

/* ---- an iteration ---- */

/* When E is looked at the next time: the nearer to I it was, the later. */
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

/* W; and E if it is computed. The block may be stopped. */
static tulle_status curvature(tulle__block *b, int computed)
{
    tulle__block_small *s = b->small;
    const tulle__block_panels *p = &b->panels;
    const tulle__multi_gram gram[] = {{p->in.val, p->ld, p->out.val, p->ld, b->m, b->m, 1, s->W},
        {p->in.val, p->ld, p->rest.val, p->ld, b->m, b->t, 0, s->A}};
    double pivot = 0, noise;
    tulle_status status = tulle__multi_grams(&b->multi, computed ? 2 : 1, gram);
    if (status != TULLE_OK) return status;
    for (int i = 0; i < b->m; i++) {
        b->top = fmax(b->top, s->W[i][i]);
        for (int j = 0; j < b->m; j++)
            if (!isfinite(s->W[i][j])) {
                tulle__block_stop(b, TULLE_STOP_NOT_FINITE, "P^T A P is not finite");
                return TULLE_OK;
            }
    }
    noise = tulle__block_epsilon(b) * b->top;
    tulle__small_copy(b->m, b->m, s->W, s->F);
    if (tulle__small_cholesky(b->m, s->F, noise, &pivot) < 0) return TULLE_OK;
    if (pivot < -noise * b->m || b->top <= 0)
        tulle__block_stop(
            b, TULLE_STOP_INDEFINITE, "P^T A P has a pivot of %.3g: the matrix is not positive definite", pivot);
    else
        tulle__block_stop(b, TULLE_STOP_RANK_LOSS,
            "P^T A P has a pivot of %.3g beside %.3g: the matrix is singular to working precision", pivot, b->top);
    return TULLE_OK;
}

/* X and T after the step; q: columns of Q. */
static void step(tulle__block *b, int computed, int q)
{
    tulle__block_small *s = b->small;
    tulle__block_panels *p = &b->panels;
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
    tulle__multi_mix(&b->multi, 1, &X, b->columns, 1, b->x, b->columns);
    tulle__multi_mix(&b->multi, 2, T, p->ld, 0, p->rest.val, p->ld);
    b->t = q;
}

/* C = S C, residuals, and who is within the limit. r: rows of S. */
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

/* P = Y N + P S^T, less its part along directions that were kept. r: columns of Q. */
static void continue_directions(tulle__block *b, int computed, int q, int r)
{
    tulle__block_small *s = b->small;
    tulle__block_panels *p = &b->panels;
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
        const tulle__kept_directions *kept = &b->kept[l];
        const char *D = kept->D.val;
        tulle__small_product(kept->count, b->t, r, s->K[l], s->N, s->B);
        tulle__small_solve(kept->count, s->L[l], r, s->B);
        tulle__small_copy(kept->count, r, s->B, s->K[l]);
        if (D) D += (size_t)kept->at * size;
        term[count++] = (tulle__multi_term){D, kept->ld, kept->count, r, -1, s->K[l]};
    }
    tulle__multi_mix(&b->multi, count, term, p->ld, 0, p->in.val, p->ld);
    b->m = r;
}

/* Directions that were dropped, while there was something left to solve. */
static void count_deflated(tulle__block *b, int dropped)
{
    if (!count_active(b)) return;
    if (dropped && !b->deflated) b->deflated_at = b->iteration;
    b->deflated += dropped;
}

static void lock(tulle__block *b)
{
    for (int j = 0; j < b->columns && !b->stopped; j++) {
        tulle__block_column *c = &b->column[j];
        if (!c->active) continue;
        tell(b, j);
        c->iterations = b->iteration;
        if (!isfinite(c->residual)) tulle__block_stop(b, TULLE_STOP_NOT_FINITE, "the residual is not finite");
    }
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].residual + b->column[j].lost <= b->column[j].limit) b->column[j].active = 0;
}

/* anew: T is R of some columns, computed, and C says of which. */
static tulle_status iterate(tulle__block *b, int anew)
{
    tulle_status status;
    tulle__block_small *s = b->small;
    tulle__block_panels before;
    int computed = anew || b->due-- <= 0, q, r;
    TULLE_TRY(product(b));
    b->iteration++;
    for (int j = 0; j < b->columns; j++) b->column[j].products += b->column[j].stop == TULLE_STOP_COUNT;
    TULLE_TRY(curvature(b, computed));
    if (b->stopped) goto out;
    q = anew ? b->t : b->m;
    if (computed) tulle__small_product(b->m, b->t, q, s->A, s->N, s->E);
    if (computed && !anew) schedule(b);
    if (!computed) TULLE_TRY(narrow(b));
    if (!computed) q = b->m;
    step(b, computed, q);
    TULLE_TRY(tulle__block_precondition(b));
    TULLE_TRY(tulle__block_orthonormalise(b, anew ? 0 : 1, computed, &r));
    if (b->stopped) goto out;
    if (b->ill) b->due = 0;
    follow(b, q, r);
    continue_directions(b, computed, q, r);
    lock(b);
    count_deflated(b, q - r);
    /* a plan for another width is worth it only for a width that is a good deal smaller */
    if (!b->stopped && b->m && b->m <= b->panels.ld - (b->panels.ld + 3) / 4) TULLE_TRY(move(b, b->m, 0, &before));
out:
    return status;
}

/* ---- between iterations ---- */

/* What adds least to the residuals goes, as long as every column loses no more than a small part of its limit. */
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

/* P = Z from T. */
static tulle_status begin(tulle__block *b)
{
    tulle_status status;
    int t = b->t, r;
    TULLE_TRY(tulle__block_precondition(b));
    TULLE_TRY(tulle__block_orthonormalise(b, 0, 0, &r));
    if (b->stopped) goto out;
    if (r == 0) {
        tulle__block_stop(
            b, TULLE_STOP_PRECOND_INDEFINITE, "r^T M^-1 r is 0: the preconditioner is not positive definite");
        goto out;
    }
    follow(b, t, r);
    r = drop_negligible(b, r);
    count_deflated(b, t - r);
    continue_directions(b, 0, 0, r);
out:
    return status;
}

/* T = B - A X for the columns of a list, with their norms; P stays. */
static tulle_status true_residuals(tulle__block *b, int count, const int *list, int zero)
{
    tulle_status status = TULLE_OK;
    tulle__block_small *s = b->small;
    tulle__block_panels before;
    double factor[TULLE__TALL_MOST];
    tulle_gidx from[TULLE__TALL_MOST];
    b->t = 0;
    if (b->panels.ld < count) TULLE_TRY(move(b, count, 0, &before));
    tulle__block_panels *p = &b->panels;
    for (int i = 0; i < count; i++) {
        from[i] = b->first + list[i];
        factor[i] = 1 / b->column[list[i]].scale;
        for (int j = 0; j < b->columns; j++) s->A[j][i] = j == list[i];
    }
    if (!zero) {
        tulle__multi_term P = {p->in.val, p->ld, b->m, b->m, 1, NULL}, kept = {p->pre.val, p->ld, b->m, b->m, 1, NULL},
                          X = {b->x, b->columns, b->columns, count, 1, s->A},
                          AX = {p->out.val, p->ld, count, count, -1, NULL};
        tulle__multi_mix(&b->multi, 1, &P, p->ld, 0, p->pre.val, p->ld);
        tulle__multi_mix(&b->multi, 1, &X, p->ld, 0, p->in.val, p->ld);
        TULLE_TRY(product(b));
        tulle__columns_read_some(b->B, count, from, factor, p->rest.val, p->ld);
        tulle__multi_mix(&b->multi, 1, &AX, count, 1, p->rest.val, p->ld);
        tulle__multi_mix(&b->multi, 1, &kept, p->ld, 0, p->in.val, p->ld);
    } else {
        tulle__columns_read_some(b->B, count, from, factor, p->rest.val, p->ld);
    }
    tulle__multi_gram gram = {p->rest.val, p->ld, p->rest.val, p->ld, count, count, 1, s->G};
    TULLE_TRY(tulle__multi_grams(&b->multi, 1, &gram));
    for (int i = 0; i < count; i++) {
        tulle__block_column *c = &b->column[list[i]];
        c->true_residual = sqrt(s->G[i][i]);
        c->products += !zero;
    }
    b->t = count;
out:
    return status;
}

/* The true residual has been computed: see tulle__krylov_verdict. */
static void judge(tulle__block *b, int j)
{
    tulle__block_column *c = &b->column[j];
    double residual = c->true_residual * c->scale;
    if (!isfinite(c->true_residual))
        stop_column(b, j, TULLE_STOP_NOT_FINITE, "the residual is not finite");
    else if (c->true_residual <= c->limit)
        stop_column(b, j, TULLE_STOP_CONVERGED, " ");
    if (c->stop != TULLE_STOP_COUNT) return;
    if (c->strikes.before > 0 && c->true_residual > c->strikes.before / 2) c->strikes.count++;
    c->strikes.before = c->true_residual;
    if (c->strikes.count >= STRIKES)
        stop_column(b, j, TULLE_STOP_STAGNATED, "the true residual stays at %.3g: the precision of the type is used up",
            residual);
    else if (b->iteration == b->options->max_iterations)
        stop_column(b, j, TULLE_STOP_ITERATIONS, "the residual is %.3g, not %.3g yet", residual, c->limit * c->scale);
}

static int list_going(const tulle__block *b, int *list)
{
    int count = 0;
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].stop == TULLE_STOP_COUNT) list[count++] = j;
    return count;
}

/* T of the columns that go on, of those it was made for; they are active again. */
static void select_columns(tulle__block *b, int count, const int *list)
{
    tulle__block_small *s = b->small;
    int next = 0;
    memset(s->N, 0, sizeof s->N);
    memset(s->C, 0, sizeof s->C);
    for (int i = 0; i < count; i++) {
        tulle__block_column *c = &b->column[list[i]];
        c->active = c->stop == TULLE_STOP_COUNT;
        if (!c->active) continue;
        c->lost = 0;
        s->C[next][list[i]] = 1;
        s->N[i][next++] = 1;
    }
    tulle__multi_term T = {b->panels.rest.val, b->panels.ld, b->t, next, 1, s->N};
    if (next < b->t) tulle__multi_mix(&b->multi, 1, &T, b->panels.ld, 0, b->panels.rest.val, b->panels.ld);
    b->t = next;
    tulle__small_identity(next, s->N);
}

/* From computed residuals in T until all columns are within their limits by the recurrence, or nothing more happens. */
static tulle_status pass(tulle__block *b, int again)
{
    tulle_status status = TULLE_OK;
    int anew = b->m > 0, steps = 0;
    if (!anew) TULLE_TRY(begin(b));
    while (!b->stopped && count_active(b) && b->iteration < b->options->max_iterations) {
        /* where rounding has been met once, the recurrence may also go on without coming down */
        if (again && steps++ >= PATIENCE) break;
        TULLE_TRY(iterate(b, anew));
        anew = 0;
    }
out:
    return status;
}

/* For the report. */
static tulle_status residuals_of_stopped(tulle__block *b, int count, const int *list)
{
    int some[TULLE__TALL_MOST], left = 0;
    for (int i = 0; i < count && b->iteration; i++)
        if (b->column[list[i]].stop != TULLE_STOP_CONVERGED) some[left++] = list[i];
    return left ? true_residuals(b, left, some, 0) : TULLE_OK;
}

tulle_status tulle__block_cg(tulle__block *b, int zero)
{
    tulle_status status = TULLE_OK;
    int list[TULLE__TALL_MOST], count = list_going(b, list);
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].stop == TULLE_STOP_CONVERGED) tell(b, j); /* b = 0 */
    for (int again = 0; count; again = 1) {
        TULLE_TRY(true_residuals(b, count, list, zero));
        zero = 0;
        for (int i = 0; i < count; i++) {
            tulle__block_column *c = &b->column[list[i]];
            if (!again) c->residual = c->true_residual;
            if (!again) tell(b, list[i]);
            judge(b, list[i]);
        }
        select_columns(b, count, list);
        if (b->t) TULLE_TRY(pass(b, again));
        if (b->stopped) TULLE_TRY(residuals_of_stopped(b, count, list));
        count = list_going(b, list);
    }
out:
    return status;
}
