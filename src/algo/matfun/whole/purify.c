/* SPDX-License-Identifier: Apache-2.0 */
/*
 * McWeeny, Rev. Mod. Phys. 32 (1960): P <- 3 P^2 - 2 P^3 from a linear function of K with 1/2 at mu.
 * TC2: Niklasson, Phys. Rev. B 66, 155115 (2002): P <- P^2 or 2 P - P^2, as the trace requires.
 * TRS4: Niklasson, Tymczak, Challacombe, J. Chem. Phys. 118, 8611 (2003): P <- F + g G, F = P^2 (4 P - 3 P^2),
 * G = P^2 (I - P)^2, with g such that the trace is right, or TC2's steps where g is not in [0, 6].
 *
 * The polynomials of TC2 and TRS4 increase, so the level at which all of them together are 1/2 is mu.
 */
#include "algo/matfun/whole/purify.h"

#include <math.h>

#include <tulle/algebra.h>

#include "algo/matfun/dense/function.h"
#include "algo/matfun/whole/verified.h"
#include "base/error.h"

/* A step as a polynomial of the level. */
struct polynomial {
    enum { SQUARE, DOUBLE, CUBIC, QUARTIC } kind; /* P^2, 2 P - P^2, 3 P^2 - 2 P^3, F + g G */
    double g;
};

struct purification {
    tulle__purification *method;
    tulle__iterations *it;
    tulle_mat *P;
    double center, width; /* P_0 = 1/2 - (K - center) / width */
    struct polynomial step[TULLE__ITERATIONS_MOST];
};

static double evaluate(const struct polynomial *step, double x)
{
    switch (step->kind) {
    case SQUARE:
        return x * x;
    case DOUBLE:
        return 2 * x - x * x;
    case CUBIC:
        return x * x * (3 - 2 * x);
    default:
        return x * x * (x * (4 - 3 * x) + step->g * (1 - x) * (1 - x));
    }
}

/* The level that the steps so far take to 1/2. */
static double level_between(const struct purification *p)
{
    double low = 0, high = 1;
    for (int bisection = 0; bisection < 60; bisection++) {
        double middle = (low + high) / 2, x = middle;
        for (int k = 0; k < p->it->count; k++) x = fmin(1, fmax(0, evaluate(&p->step[k], x)));
        if (x < .5)
            low = middle;
        else
            high = middle;
    }
    return p->center + (.5 - (low + high) / 2) * p->width;
}

static bool counts(const struct purification *p)
{
    return p->method->method == TULLE_DENSITY_TC2 || p->method->method == TULLE_DENSITY_TRS4;
}

/* The polynomial that has the right trace next; sum and square_sum: traces of P and P^2. Collective, agreed. */
static tulle_status choose(const struct purification *p, const tulle_mat *square, double sum, struct polynomial *step)
{
    double square_sum = 0, cube = 0, fourth = 0, states = p->method->states;
    *step = (struct polynomial){.kind = CUBIC};
    if (p->method->method == TULLE_DENSITY_TC2) step->kind = sum > states ? SQUARE : DOUBLE;
    if (p->method->method != TULLE_DENSITY_TRS4) return TULLE_OK;
    TULLE_CALL(tulle__trace(square, &square_sum));
    TULLE_CALL(tulle__inner_product(square, p->P, &cube));
    TULLE_CALL(tulle__inner_product(square, square, &fourth));
    double F = 4 * cube - 3 * fourth, G = square_sum - 2 * cube + fourth;
    double g = G > 1e-14 * (1 + fabs(sum)) ? (states - F) / G : 3;
    step->kind = g < 0 ? SQUARE : g > 6 ? DOUBLE : QUARTIC;
    step->g = g;
    return TULLE_OK;
}

/* *next = the step's polynomial of P. Collective, agreed. */
static tulle_status apply(
    const struct purification *p, const struct polynomial *step, const tulle_mat *square, tulle_mat **next)
{
    TULLE__SCOPED_MAT tulle_mat *factor = NULL;
    const tulle_mat *const term[] = {p->P, square};
    const double twice[] = {2, -1}, same[] = {0, 1}, cubic[] = {-2, 0};
    const double quartic[] = {4 - 2 * step->g, step->g - 3};
    if (step->kind == DOUBLE) return tulle__combination(2, twice, term, 0, next);
    if (step->kind == SQUARE) return tulle__combination(1, same + 1, term + 1, 0, next);
    bool cube = step->kind == CUBIC;
    TULLE_CALL(tulle__combination(cube ? 1 : 2, cube ? cubic : quartic, term, cube ? 3 : step->g, &factor));
    return tulle__iterations_multiply(p->it, square, factor, next);
}

static tulle_status make_step(struct purification *p, bool *quadratic)
{
    double sum = 0;
    TULLE__SCOPED_MAT tulle_mat *square = NULL, *rest = NULL;
    tulle_mat *next = NULL;
    const double minus[] = {1, -1};
    struct polynomial *step = &p->step[p->it->count];
    tulle__iterations_step(p->it, p->P->comm);
    TULLE_CALL(tulle__iterations_multiply(p->it, p->P, p->P, &square));
    const tulle_mat *const term[] = {square, p->P};
    TULLE_CALL(tulle__combination(2, minus, term, 0, &rest));
    TULLE_CALL(tulle__iterations_measure(p->it, rest, square));
    TULLE_CALL(tulle__trace(p->P, &sum));
    TULLE_CALL(choose(p, square, sum, step));
    TULLE_CALL(apply(p, step, square, &next));
    tulle__iterations_record(p->it, p->P, sum, counts(p) ? level_between(p) : p->method->mu);
    *quadratic = step->kind >= CUBIC;
    tulle_mat_free(p->P);
    p->P = next;
    return TULLE_OK;
}

static tulle_status purify(struct purification *p)
{
    bool done = false, quadratic = false, two = counts(p);
    const tulle__iterations_stall stall = {two ? 2 : 1, two ? 1 : .5};
    tulle_status status = TULLE_OK;
    while (status == TULLE_OK && !done && p->it->count < TULLE__ITERATIONS_MOST) {
        if (p->it->count && tulle__iterations_diverge(p->it)) break;
        status = make_step(p, &quadratic);
        /* P^2 - P becomes less than 12 times its square; a step of TC2 may double half of it */
        double next = quadratic ? 12 * p->it->bound * p->it->bound : p->it->bound;
        done = tulle__iterations_ended(p->it, p->P, next, &stall);
    }
    if (status == TULLE_OK && !done)
        status = tulle__iterations_fail(p->it, p->P->comm, two ? "; is there a gap?" : "; is mu an eigenvalue?");
    if (status == TULLE_OK && two) p->method->mu = level_between(p);
    return status;
}

/* The first approximation: P, or (NEWTON_SCHULZ) a matrix with the sign of K - mu I. */
static tulle_status begin(struct purification *p, const tulle_mat *K)
{
    double row = 0, factor;
    bool sign = p->method->method == TULLE_DENSITY_NEWTON_SCHULZ;
    TULLE_CALL(tulle_mat_norm(K, TULLE_NORM_INFINITY, &row));
    p->center = counts(p) ? 0 : p->method->mu;
    /* wider than the levels: one at a bound would be a fixed point of every polynomial */
    double beyond = row + fabs(p->center) > 0 ? 1.01 * (row + fabs(p->center)) : 1;
    p->width = 2 * beyond;
    factor = sign ? 1 / beyond : -1 / p->width;
    return tulle__combination(1, &factor, &K, sign ? -p->center / beyond : .5 + p->center / p->width, &p->P);
}

tulle_status tulle__purify(
    tulle__purification *method, tulle__iterations *it, const tulle_mat *K, const tulle_mat *given, tulle_mat **P)
{
    struct purification p = {.method = method, .it = it};
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE__SCOPED_MAT tulle_mat *moved = NULL, *all = NULL;
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(K->comm, tulle__square_layout(K, &layout)));
    TULLE_TRY(tulle_mat_redistribute(K, layout, &moved));
    TULLE_TRY(begin(&p, moved));
    if (method->method == TULLE_DENSITY_NEWTON_SCHULZ) {
        TULLE_TRY(tulle__newton_schulz(it, method->order, method->mu, &p.P));
        TULLE_TRY(tulle__add_to(&p.P, -.5, 0, p.P, .5));
    } else {
        TULLE_TRY(purify(&p));
    }
    if (given != K) TULLE_TRY(tulle_mat_redistribute(given, layout, &all));
    /* the number of states is right already; a level that rounding has split is wrong as a whole */
    const double enough = counts(&p) ? tulle__function_tolerance(K->type, 0, INFINITY) : 0;
    TULLE_TRY(tulle__verify_step(it, all ? all : moved, method->mu, 1, 0, enough, p.P));
out:
    return tulle__mat_or_free(status, p.P, P);
}
