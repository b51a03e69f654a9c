/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSQR and LSMR from the numbers alpha and beta of the bidiagonal matrix. LSQR is MINRES's and CG's least residual over
 * the Krylov space of A^T A, by one rotation a step. LSMR is MINRES on the normal equations, by two: the second makes
 * the transpose of the triangular factor of the first triangular. Its ||r|| comes from a third one (Fong and Saunders,
 * section 5).
 */
#include <math.h>

#include "algo/least_squares/bidiagonal.h"
#include "tile/element.h"

static double over(double x, double y)
{
    return y != 0 ? x / y : 0;
}

/* y = coef x + beta y */
static void add(tulle__fit *f, double coef, const void *x, double beta, void *y)
{
    tulle__space_combine(&f->of_columns, 1, &coef, &x, beta, y);
}

static void take_pivot(tulle__fit_column *c, double pivot)
{
    c->most = fmax(c->most, fabs(pivot));
    if (pivot != 0) c->least = fmin(c->least, fabs(pivot));
}

/*
 * A step's column w / rho of D = V R^-1, R the triangular factor of B: its squares are added to the variances, of the
 * first bidiagonal matrix alone, as another one finds the same directions again.
 */
static void add_variance(const tulle__fit *f, const tulle__fit_column *c, double rho)
{
    const tulle_type type = f->of_columns.type;
    if (!c->variance || c->begun > 0 || rho == 0) return;
    for (int64_t i = 0; i < f->of_columns.rows; i++) {
        const double d = tulle__element(type, c->w, i) / rho;
        tulle__element_set(type, c->variance, i, tulle__element(type, c->variance, i) + d * d);
    }
}

/* The condition by the norms of B and D, of LSQR. */
static void add_norms(tulle__fit_column *c, double alpha, double rho)
{
    c->of_B += alpha * alpha + c->beta * c->beta;
    if (rho != 0) c->of_D += c->w_square / (rho * rho);
    c->condition = fmax(c->condition, sqrt(c->of_B) * sqrt(c->of_D));
}

/* The condition by pivots, of LSMR: those before, and `part`, which is the last one's without the next step. */
static void add_pivots(tulle__fit_column *c, bool first, double before, double part)
{
    if (!first) take_pivot(c, before);
    const double most = fmax(c->most, fabs(part)), least = fmin(c->least, part != 0 ? fabs(part) : INFINITY);
    if (least < INFINITY) c->condition = fmax(c->condition, most / least);
}

void tulle__fit_begin(tulle__fit *f, tulle__fit_column *c)
{
    const double by = over(1, c->alpha);
    c->begun = c->k.iteration;
    c->of_B = c->of_D = c->most = 0;
    c->least = INFINITY;
    if (f->options->method == TULLE_LEAST_SQUARES_LSQR) {
        c->phi_bar = c->beta;
        c->rho_bar = c->alpha;
        add(f, by, c->v, 0, c->w);
        return;
    }
    c->alpha_bar = c->alpha;
    c->zeta_bar = c->alpha * c->beta;
    c->rho = c->rho_bar = c->cosine_bar = 1;
    c->sine_bar = c->zeta = 0;
    c->beta_dd = c->beta;
    c->beta_d = c->tau_tilde = c->theta_tilde = 0;
    c->rho_d = 1;
    add(f, by, c->v, 0, c->h);
    add(f, 0, c->v, 0, c->bar);
}

static void step_lsqr(tulle__fit *f, tulle__fit_column *c, double last_alpha)
{
    const double rho = hypot(c->rho_bar, c->beta), cosine = over(c->rho_bar, rho), sine = over(c->beta, rho),
                 theta = sine * c->alpha, phi = cosine * c->phi_bar;
    add_norms(c, last_alpha, rho);
    add_variance(f, c, rho);
    c->rho = cosine;
    c->rho_bar = -cosine * c->alpha;
    c->phi_bar *= rho > 0 ? sine : 1;
    add(f, over(phi, rho), c->w, 1, c->k.x);
    add(f, over(1, c->alpha), c->v, -over(theta, rho), c->w);
}

/* The third rotation: what ||r|| follows from. */
static void follow_residual(tulle__fit_column *c, double cosine, double sine, double theta_bar, double last_zeta)
{
    const double beta_hat = cosine * c->beta_dd, tilde = hypot(c->rho_d, theta_bar),
                 cosine_tilde = over(c->rho_d, tilde), sine_tilde = over(theta_bar, tilde), last_theta = c->theta_tilde;
    c->beta_dd *= -sine;
    c->theta_tilde = sine_tilde * c->rho_bar;
    c->rho_d = cosine_tilde * c->rho_bar;
    c->beta_d = -sine_tilde * c->beta_d + cosine_tilde * beta_hat;
    c->tau_tilde = over(last_zeta - last_theta * c->tau_tilde, tilde);
}

static void step_lsmr(tulle__fit *f, tulle__fit_column *c)
{
    const double last_rho = c->rho, last_bar = c->rho_bar, last_zeta = c->zeta, rho = hypot(c->alpha_bar, c->beta),
                 cosine = over(c->alpha_bar, rho), sine = over(c->beta, rho), theta = sine * c->alpha,
                 theta_bar = c->sine_bar * rho, part = c->cosine_bar * rho, bar = hypot(part, theta);
    add_pivots(c, c->k.iteration == c->begun, last_bar, part);
    add_variance(f, c, rho);
    c->alpha_bar = cosine * c->alpha;
    c->rho = rho;
    c->rho_bar = bar;
    c->cosine_bar = over(part, bar);
    c->sine_bar = over(theta, bar);
    c->zeta = c->cosine_bar * c->zeta_bar;
    c->zeta_bar *= bar > 0 ? -c->sine_bar : 1;
    add(f, 1, c->h, -over(theta_bar * rho, last_rho * last_bar), c->bar);
    add(f, over(c->zeta, rho * bar), c->bar, 1, c->k.x);
    add(f, over(1, c->alpha), c->v, -over(theta, rho), c->h);
    follow_residual(c, cosine, sine, theta_bar, last_zeta);
}

void tulle__fit_step(tulle__fit *f, tulle__fit_column *c, double alpha)
{
    c->norm = fmax(c->norm, hypot(alpha, c->beta));
    f->options->method == TULLE_LEAST_SQUARES_LSQR ? step_lsqr(f, c, alpha) : step_lsmr(f, c);
}

double tulle__fit_residual(const tulle__fit *f, const tulle__fit_column *c)
{
    if (f->options->method == TULLE_LEAST_SQUARES_LSQR) return c->phi_bar;
    const double tau = over(c->zeta - c->theta_tilde * c->tau_tilde, c->rho_d);
    return hypot(c->beta_d - tau, c->beta_dd);
}

double tulle__fit_gradient(const tulle__fit *f, const tulle__fit_column *c)
{
    if (f->options->method == TULLE_LEAST_SQUARES_LSQR) return c->phi_bar * c->alpha * fabs(c->rho);
    return fabs(c->zeta_bar);
}
