/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block CG that seldom breaks down, and continues if it does: BCGrQ (Dubrulle, "Retooling the method of block conjugate
 * gradients", ETNA 12, 2001), preconditioned, with deflation.
 *
 * O'Leary's method (Linear Algebra Appl. 29, 1980) divides by R^T M^-1 R, which becomes singular as
 * soon as one combination of the residuals converges. Here R = Q C is kept factorised, Q^T M^-1 Q =
 * I, and C, m x columns, takes up all that is small. (Without M this is Dubrulle's; with M = L L^T
 * it is his for L^-1 A L^-T, multiplied out: only M^-1 is applied, once an iteration.) With Z =
 * M^-1 Q and P = Z at first:
 *
 *   V = A P,  W = P^T V            a product, a reduction
 *   X = X + P W^-1 C
 *   T = Q - V W^-1                 R = T C
 *   Y = M^-1 T,  T = Q' S          a preconditioner, a reduction; Q'^T M^-1 Q' = I (orthonormal.c)
 *   C' = S C,  P' = Y N + P S^T    Q' = T N, N = S^-1 where S is square
 *
 * E = P^T Q = I throughout, so P has full rank, and W lies within the spectrum of M^-1 A: its
 * condition is at most that of the preconditioned matrix, however dependent residuals are. W has a
 * Cholesky factor unless A is not positive definite or singular to working precision, or rounding
 * was taken for a direction. P' is conjugate to P, as Z'^T V = Z'^T (Q - T) W = -S W. ||r_j|| follows from
 * c_j and Q^T Q, which comes with the second reduction.
 *
 * Rank. Where T has directions no larger than rounding, S gets less rows than columns, and the
 * block is narrower from then on (Ji and Li, "A breakdown-free block conjugate gradient method",
 * BIT 57, 2017); what is dropped is rounding, and conjugacy holds as before. Before the first
 * iteration, where nothing has to stay conjugate, what contributes less than a small part of the
 * tolerance to every column is dropped too: columns that are nearly the same.
 *
 * Converged columns are locked: x_j stays, c_j is no longer looked at. Their directions go on to
 * serve the others, whose convergence depends on the width. Only when half of the directions have
 * no column left does the block become narrower: a rotation U of P, V and Q leaves residuals in the
 * first ones, and the others, D, are no longer continued. Dropping them altogether would lose
 * conjugacy, and with it what has been gained (CG with a direction that is not its own converges no
 * better than linearly: Powell 1976). So D and A D are kept, P is made conjugate to D once, which
 * does not change the step, and each P' after it: D^T R = 0 and conjugacy to all before hold on
 * (Nikishin and Yeremin, SIAM J. Matrix Anal. Appl. 16, 1995). Nothing restarts.
 *
 * Rounding. An error of E, or of conjugacy, becomes S (error) S^-1 in the next iteration: it stays
 * as it is in plain CG, where S is a number, but here it grows as C becomes ill-conditioned. So
 * both are computed from time to time, T = Q - V W^-1 E and P' = Z - P W^-1 (V^T Z), which is a
 * reduction of more sums and two passes over memory: how far E is from I then says when it is to be
 * done again; and after each factorisation that took several passes.
 *
 * Where the recurrence fails all the same - W is not positive definite by no more than rounding, or
 * something is not finite - the residuals that x has are computed, and a new recurrence begins with
 * them. If this gains nothing, or happens too often, each column that is left is solved by itself, and
 * what stops it is its own. A pivot of W that is clearly negative ends the solve at once: P has full
 * rank, so A is not positive definite.
 *
 * When all columns are within their limits by the recurrence the true residuals are computed. Of
 * those that are not there T is made, and the next step is made with E and V^T Z computed, too:
 * directions go on, as in cg.c.
 */
#include <math.h>
#include <string.h>

#include "algo/krylov/block.h"
#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "base/error.h"

enum { PATIENCE = 50, STRIKES = 3, RESTARTS = 3 };

/* ---- between iterations ---- */

/* T = columns of B, whose bytes go to the device if T is there. Agreed if so. */
static tulle_status read_b(tulle__block *b, int count, const tulle_gidx *from, const double *factor)
{
    const tulle__block_vectors *p = &b->vectors;
    tulle__columns_read_some(b->B, count, from, factor, p->rest.val, p->ld);
    if (!b->resident) return TULLE_OK;
    size_t bytes = (size_t)(b->multi.space.rows * p->ld) * tulle_type_size(b->multi.space.type);
    return tulle_comm_agree(b->comm, tulle__resident_send(b->resident, p->rest.val, bytes));
}

/* T = B - A X for the columns of a list, with their norms; P is not changed. */
static tulle_status true_residuals(tulle__block *b, int count, const int *list, int zero)
{
    tulle__block_small *s = b->small;
    double factor[TULLE__TALL_MOST];
    tulle_gidx from[TULLE__TALL_MOST];
    b->t = 0;
    if (b->vectors.ld < count) TULLE_CALL(tulle__block_move(b, count, NULL));
    tulle__block_vectors *p = &b->vectors;
    for (int i = 0; i < count; i++) {
        from[i] = b->first + list[i];
        factor[i] = 1 / b->column[list[i]].scale;
        for (int j = 0; j < b->columns; j++) s->A[j][i] = j == list[i];
    }
    if (!zero) {
        tulle__multi_term P = {p->in.val, p->ld, b->m, b->m, 1, NULL}, kept = {p->pre.val, p->ld, b->m, b->m, 1, NULL},
                          X = {b->x, b->columns, b->columns, count, 1, s->A},
                          AX = {p->out.val, p->ld, count, count, -1, NULL};
        tulle__multi_tsmm(&b->multi, 1, &P, p->ld, 0, p->pre.val, p->ld);
        tulle__multi_tsmm(&b->multi, 1, &X, p->ld, 0, p->in.val, p->ld);
        TULLE_CALL(tulle__block_product(b));
        TULLE_CALL(read_b(b, count, from, factor));
        tulle__multi_tsmm(&b->multi, 1, &AX, count, 1, p->rest.val, p->ld);
        tulle__multi_tsmm(&b->multi, 1, &kept, p->ld, 0, p->in.val, p->ld);
    } else {
        TULLE_CALL(read_b(b, count, from, factor));
    }
    tulle__multi_tsmttsm gram = {p->rest.val, p->ld, p->rest.val, p->ld, count, count, 1, s->G};
    TULLE_CALL(tulle__multi_tsmttsm_all(&b->multi, 1, &gram));
    for (int i = 0; i < count; i++) {
        tulle__block_column *c = &b->column[list[i]];
        c->true_residual = sqrt(s->G[i][i]);
        c->products += !zero;
    }
    b->t = count;
    return TULLE_OK;
}

/* Evaluates a true residual: see tulle__krylov_verdict. */
static void judge(tulle__block *b, int j)
{
    tulle__block_column *c = &b->column[j];
    double residual = c->true_residual * c->scale;
    if (!isfinite(c->true_residual))
        tulle__block_stop_column(b, j, TULLE_STOP_NOT_FINITE, "the residual is not finite");
    else if (c->true_residual <= c->limit)
        tulle__block_stop_column(b, j, TULLE_STOP_CONVERGED, " ");
    if (c->stop != TULLE_STOP_COUNT) return;
    if (c->strikes.before > 0 && c->true_residual > c->strikes.before / 2) c->strikes.count++;
    c->strikes.before = c->true_residual;
    if (c->strikes.count >= STRIKES && b->restarts && b->alone < 0)
        b->singly = 1; /* restarts gain nothing */
    else if (c->strikes.count >= STRIKES)
        tulle__block_stop_column(b, j, TULLE_STOP_STAGNATED,
            "the true residual stays at %.3g: the precision of the type is used up", residual);
    else if (b->iteration == b->options->max_iterations)
        tulle__block_stop_column(
            b, j, TULLE_STOP_ITERATIONS, "the residual is %.3g, not yet %.3g", residual, c->limit * c->scale);
}

static int list_going(const tulle__block *b, int *list)
{
    int count = 0;
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].stop == TULLE_STOP_COUNT && (b->alone < 0 || b->alone == j)) list[count++] = j;
    return count;
}

/*
 * Reduces T to the columns that continue, among those it was computed for, and reactivates these.
 */
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
    tulle__multi_term T = {b->vectors.rest.val, b->vectors.ld, b->t, next, 1, s->N};
    if (next < b->t) tulle__multi_tsmm(&b->multi, 1, &T, b->vectors.ld, 0, b->vectors.rest.val, b->vectors.ld);
    b->t = next;
    tulle__small_identity(next, s->N);
}

/*
 * Iterates from computed residuals in T until all columns are within their limits by the
 * recurrence, or progress ends.
 */
static tulle_status pass(tulle__block *b, int again)
{
    int restarted = b->m > 0, steps = 0;
    if (!restarted) TULLE_CALL(tulle__block_begin(b));
    while (!tulle__block_ended(b) && b->m && tulle__block_active(b) && b->iteration < b->options->max_iterations) {
        /* after rounding has been detected, the recurrence may also stagnate */
        if (again && steps++ >= PATIENCE) break;
        TULLE_CALL(tulle__block_iterate(b, restarted));
        restarted = 0;
    }
    return TULLE_OK;
}

/* True residuals for the report. */
static tulle_status residuals_of_stopped(tulle__block *b, int count, const int *list)
{
    int some[TULLE__TALL_MOST], left = 0;
    for (int i = 0; i < count && b->iteration; i++)
        if (b->column[list[i]].stop != TULLE_STOP_CONVERGED) some[left++] = list[i];
    return left ? true_residuals(b, left, some, 0) : TULLE_OK;
}

/* Iterates the columns that are going until they stop, or are to be solved one by one. */
static tulle_status solve_going(tulle__block *b, int zero)
{
    int list[TULLE__TALL_MOST], count = list_going(b, list);
    for (int again = 0; count; again = 1) {
        TULLE_CALL(true_residuals(b, count, list, zero));
        zero = 0;
        for (int i = 0; i < count; i++) {
            tulle__block_column *c = &b->column[list[i]];
            if (!again) c->residual = c->true_residual;
            if (!again && b->alone < 0) tulle__block_report(b, list[i]);
            judge(b, list[i]);
        }
        if (b->singly && b->alone < 0) break;
        select_columns(b, count, list);
        if (b->t) TULLE_CALL(pass(b, again));
        if (b->stopped) TULLE_CALL(residuals_of_stopped(b, count, list));
        if (b->broken) {
            b->broken = 0;
            tulle__block_forget(b);
            b->singly |= ++b->restarts > RESTARTS;
        }
        count = list_going(b, list);
    }
    return TULLE_OK;
}

/* The columns that a block could not solve, each as CG would: what stops one is its own. */
static tulle_status solve_singly(tulle__block *b)
{
    tulle_status status = TULLE_OK;
    const int64_t before = b->iteration;
    int64_t most = before;
    for (int j = 0; j < b->columns; j++) b->column[j].active = 0;
    for (b->alone = 0; b->alone < b->columns; b->alone++) {
        if (b->column[b->alone].stop != TULLE_STOP_COUNT) continue;
        b->column[b->alone].strikes = (tulle__krylov_strikes){.count = 0};
        b->stopped = 0;
        b->iteration = before;
        tulle__block_forget(b);
        TULLE_TRY(solve_going(b, 0));
        most = b->iteration > most ? b->iteration : most;
    }
    b->iteration = most;
out:
    b->alone = -1;
    return status;
}

tulle_status tulle__block_cg(tulle__block *b, int zero)
{
    b->alone = -1;
    for (int j = 0; j < b->columns; j++)
        if (b->column[j].stop == TULLE_STOP_CONVERGED) tulle__block_report(b, j); /* b = 0 */
    TULLE_CALL(solve_going(b, zero));
    if (b->singly) TULLE_CALL(solve_singly(b));
    return TULLE_OK;
}
