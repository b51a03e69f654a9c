/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES, preconditioned from the right: B u = b with B = A M^-1, x = M^-1 u, so the
 * residual is that of A x = b. The basis is orthogonalised by classical Gram-Schmidt twice, the
 * second time an iteration late, together with the first time of the next vector (Bielich, Langou,
 * Thomas, Swirydowicz, Yamazaki, Boman, "Low-synch Gram-Schmidt with delayed reorthogonalization
 * for Krylov solvers", Parallel Comput. 112, 2022). An iteration thus has one reduction, however
 * long the basis is, and reads the basis twice, as a single sweep would.
 *
 * Iteration j begins with an orthonormal v_0 .. v_(j-1) and u, which has been swept once: u = alpha
 * v_j + V s. With w = B u and one reduction for s = V^T u, t = V^T w, u^T u, u^T w and w^T w it has
 *     alpha^2 = u^T u - s^T s,   v_j = (u - V s) / alpha,
 *     tau = v_j^T w = (u^T w - s^T t) / alpha,
 *
 * and, since B V = [V v_j] H, the projection of B v_j = (w - [V v_j] H s) / alpha and its
 * remainder:
 *     h_j = ([t tau] - H s) / alpha,   B v_j - [V v_j] h_j = (w - V t - v_j tau) / alpha,
 *
 * whose norm follows from w^T w. Divided by this norm it is the next u. The next iteration's sweep
 * corrects the norm and h_j, which are accurate enough for the residual until then.
 */
#include <math.h>
#include <string.h>

#include "algo/krylov/krylov.h"
#include "base/error.h"

struct gmres {
    tulle__krylov *k;
    int restart, steps;        /* steps: columns of H in this cycle */
    double *H, *R;             /* leading dimension restart + 2: H itself, and its triangular form */
    double *cosine, *sine, *g; /* R y = g */
    double *rest;              /* rest[j]: the part of the residual that the first j columns leave */
    double *sums;              /* of a reduction */
    double *coef;              /* of combinations */
    const void **x, **y;       /* of inner products and combinations */
};

static int sums_of(int restart)
{
    return 2 * restart + 3;
}

tulle__krylov_workspace tulle__gmres_workspace(const tulle_krylov_options *options)
{
    int64_t m = options->restart, sums = sums_of(options->restart);
    /*
     * H and R, four vectors of numbers, coefficients of two combinations, sums and two lists of
     * pointers
     */
    return (tulle__krylov_workspace){m + 1, 2 * (m + 2) * m + 6 * (m + 2) + 3 * sums, (int)sums};
}

static void arrange(struct gmres *s, tulle__krylov *k)
{
    int m = k->options.restart, sums = sums_of(m);
    *s = (struct gmres){.k = k, .restart = m, .H = k->small};
    s->R = s->H + (int64_t)(m + 2) * m;
    s->cosine = s->R + (int64_t)(m + 2) * m;
    s->sine = s->cosine + m + 2;
    s->g = s->sine + m + 2;
    s->rest = s->g + m + 2;
    s->coef = s->rest + m + 2;
    s->sums = s->coef + 2 * (m + 2);
    s->x = (const void **)(void *)(s->sums + sums);
    s->y = s->x + sums;
}

static double *column(const struct gmres *s, double *of, int j)
{
    return of + (int64_t)j * (s->restart + 2);
}

/* out = A M^-1 u; u is in the place of v_j. */
static tulle_status expand(struct gmres *s, int j)
{
    tulle__krylov *k = s->k;
    tulle__space_scale(&k->space, 1, tulle__krylov_basis(k, j), k->M ? k->rest.val : k->in.val);
    if (k->M) TULLE_CALL(tulle__krylov_precondition(k));
    return tulle__krylov_product(k);
}

/*
 * The rounding level, relative to the length of a vector that was orthogonalised against j + 1
 * others.
 */
static double noise(const struct gmres *s, int j)
{
    return (j + 8) * tulle__krylov_epsilon(s->k);
}

/*
 * Givens rotations make H's column upper triangular, again if the column has changed. The remainder
 * is the residual. A dependent column, of a singular matrix, leaves the residual unchanged, with 0
 * on the diagonal.
 */
static double rotate(struct gmres *s, int j)
{
    double *r = column(s, s->R, j), square = 0;
    memcpy(r, column(s, s->H, j), (size_t)(j + 2) * sizeof *r);
    for (int v = 0; v < j; v++) {
        double upper = s->cosine[v] * r[v] + s->sine[v] * r[v + 1];
        r[v + 1] = s->cosine[v] * r[v + 1] - s->sine[v] * r[v];
        r[v] = upper;
        square += upper * upper;
    }
    double length = hypot(r[j], r[j + 1]);
    if (length <= noise(s, j) * sqrt(square)) length = 0;
    s->cosine[j] = length == 0 ? 0 : r[j] / length;
    s->sine[j] = length == 0 ? 1 : r[j + 1] / length;
    r[j] = length;
    s->g[j] = s->cosine[j] * s->rest[j];
    s->rest[j + 1] = -s->sine[j] * s->rest[j];
    return fabs(s->rest[j + 1]);
}

/* Reduces, into sums: s[v] at 2 v, t[v] at 2 v + 1, then u^T u, u^T w and w^T w. */
static tulle_status meet(struct gmres *s, int j, const void *u, const void *w)
{
    int n = 0;
    for (int v = 0; v <= j; v++) {
        s->x[n] = s->x[n + 1] = v < j ? tulle__krylov_basis(s->k, v) : u;
        s->y[n++] = u;
        s->y[n++] = w;
    }
    s->x[n] = s->y[n] = w;
    return tulle__space_dots(&s->k->space, n + 1, s->x, s->y, s->sums);
}

/* Corrects the previous column, whose u is now known to be alpha v_j + V s. */
static void correct(struct gmres *s, int j, double alpha)
{
    if (!j) {
        s->rest[0] *= alpha;
        return;
    }
    double *h = column(s, s->H, j - 1), norm = h[j];
    for (int v = 0; v < j; v++) h[v] += norm * s->sums[2 * v];
    h[j] = norm * alpha;
    rotate(s, j - 1);
}

/* h = ([t tau] - H s) / alpha. */
static void project(struct gmres *s, int j, double tau, double alpha)
{
    double *h = column(s, s->H, j);
    for (int v = 0; v <= j; v++) h[v] = v < j ? s->sums[2 * v + 1] : tau;
    for (int c = 0; c < j; c++)
        for (int v = 0; v <= c + 1; v++) h[v] -= column(s, s->H, c)[v] * s->sums[2 * c];
    for (int v = 0; v <= j; v++) h[v] /= alpha;
}

/* Writes v_j in the place of u, and after it the remainder of B v_j, divided by `norm`. */
static void sweep(struct gmres *s, int j, double alpha, double tau, double norm)
{
    tulle__krylov *k = s->k;
    const double tilt = tau / alpha, by = 1 / (alpha * norm), of_w_and_u[] = {by, -tilt * by};
    double *ahead = s->coef, *along = s->coef + j;
    void *u = tulle__krylov_basis(k, j), *next = tulle__krylov_basis(k, j + 1);
    for (int v = 0; v < j; v++) {
        s->x[v] = tulle__krylov_basis(k, v);
        ahead[v] = (s->sums[2 * v] * tilt - s->sums[2 * v + 1]) * by;
        along[v] = -s->sums[2 * v] / alpha;
    }
    tulle__space_combine_all(&k->space, 2,
        (const tulle__combine_task[]){
            {.nx = 2, .ny = 1, .x = (const void *[]){k->out.val, u}, .coef = of_w_and_u, .beta = {0}, .y = {next}},
            {.nx = j, .ny = 2, .x = s->x, .coef = s->coef, .beta = {1, 1 / alpha}, .y = {next, u}}});
}

/*
 * Orthogonalises a small remainder of unknown norm until nothing cancels. Returns 0 if it is
 * rounding, for a vector with squared norm `whole`.
 */
static tulle_status sweep_again(struct gmres *s, int j, double whole, double *norm)
{
    enum { SWEEPS = 3 };
    tulle__krylov *k = s->k;
    double *h = column(s, s->H, j), left = 0, square = 1;
    void *next = tulle__krylov_basis(k, j + 1);
    for (int v = 0; v <= j + 1; v++) {
        s->x[v] = tulle__krylov_basis(k, v);
        s->y[v] = next;
    }
    for (int n = 0; n < SWEEPS && left < square / 2; n++) {
        TULLE_CALL(tulle__space_dots(&k->space, j + 2, s->x, s->y, s->sums));
        left = square = s->sums[j + 1];
        for (int v = 0; v <= j; v++) {
            left -= s->sums[v] * s->sums[v];
            h[v] += s->sums[v];
            s->sums[v] = -s->sums[v];
        }
        tulle__space_combine(&k->space, j + 1, s->sums, s->x, 1, next);
    }
    *norm = left > 0 ? sqrt(left) : 0;
    if (*norm <= noise(s, j) * sqrt(whole)) *norm = 0;
    if (*norm > 0) tulle__space_scale(&k->space, 1 / *norm, next, next);
    return TULLE_OK;
}

/*
 * Computes v_j from u, column j of H from w = B u, in `out`, and the next u; h[j + 1] is 0 if there
 * is none.
 */
static tulle_status orthogonalise(struct gmres *s, int j)
{
    enum { CANCELS = 1 << 12 };
    tulle__krylov *k = s->k;
    double *h = column(s, s->H, j), along = 0, across = 0, cross = 0;
    TULLE_CALL(meet(s, j, tulle__krylov_basis(k, j), k->out.val));
    const double *last = s->sums + 2 * (ptrdiff_t)j;
    for (int v = 0; v < j; v++) {
        along += s->sums[2 * v] * s->sums[2 * v];
        cross += s->sums[2 * v] * s->sums[2 * v + 1];
        across += s->sums[2 * v + 1] * s->sums[2 * v + 1];
    }
    double alpha = sqrt(last[0] - along), tau = (last[1] - cross) / alpha;
    double whole = last[2] / (alpha * alpha), left = (last[2] - across - tau * tau) / (alpha * alpha);
    int cancels = left < whole * CANCELS * tulle__krylov_epsilon(k);
    if (!isfinite(alpha) || alpha <= 0) { /* the previous columns stay as they are: x is computed from them */
        for (int v = 0; v <= j + 1; v++) h[v] = NAN;
        return TULLE_OK;
    }
    correct(s, j, alpha);
    project(s, j, tau, alpha);
    h[j + 1] = sqrt(left);
    sweep(s, j, alpha, tau, cancels || left == 0 ? 1 : h[j + 1]);
    if (cancels) TULLE_CALL(sweep_again(s, j, whole, &h[j + 1]));
    return TULLE_OK;
}

/* x += M^-1 V y with R y = g; a column without a pivot is skipped. */
static tulle_status update(struct gmres *s)
{
    tulle__krylov *k = s->k;
    double *y = s->coef, one = 1;
    const void *z = k->in.val;
    if (!s->steps) return TULLE_OK;
    for (int i = s->steps - 1; i >= 0; i--) {
        const double pivot = column(s, s->R, i)[i];
        y[i] = s->g[i];
        for (int j = i + 1; j < s->steps; j++) y[i] -= column(s, s->R, j)[i] * y[j];
        y[i] = pivot > 0 ? y[i] / pivot : 0;
        s->x[i] = tulle__krylov_basis(k, i);
    }
    tulle__space_combine(&k->space, s->steps, y, s->x, 0, k->M ? k->rest.val : k->in.val);
    if (k->M) TULLE_CALL(tulle__krylov_precondition(k));
    tulle__space_combine(&k->space, 1, &one, &z, 1, k->x);
    return TULLE_OK;
}

/*
 * A cycle, from the true residual in v_0, unscaled, until the limit or the restart. Its last
 * iteration is reported when x has been formed; *reported: it already is.
 */
static tulle_status cycle(struct gmres *s, bool *reported)
{
    tulle__krylov *k = s->k;
    bool ends = false;
    s->rest[0] = k->true_residual;
    s->steps = 0;
    tulle__space_scale(&k->space, 1 / k->true_residual, tulle__krylov_basis(k, 0), tulle__krylov_basis(k, 0));
    while (!ends) {
        int j = s->steps;
        TULLE_CALL(expand(s, j));
        k->iteration++;
        TULLE_CALL(orthogonalise(s, j));
        double residual = rotate(s, j);
        *reported = !tulle__krylov_take(k, residual);
        if (!*reported) s->steps++; /* else without this column, which caused the stop */
        ends = *reported || residual <= k->limit || column(s, s->H, j)[j + 1] == 0 || s->steps == s->restart ||
               k->iteration == k->options.max_iterations;
        if (!ends || *reported) tulle__krylov_report(k, false);
    }
    return TULLE_OK;
}

/* The last column of the cycle depends on the others, and the residual is not 0: A has a null space. */
static bool is_singular(const struct gmres *s)
{
    const int last = s->steps - 1;
    return last >= 0 && column(s, s->H, last)[last + 1] == 0 && column(s, s->R, last)[last] == 0;
}

/* After a cycle that began with a residual of `before`. */
static void judge(const struct gmres *s, double before, tulle__krylov_strikes *strikes)
{
    tulle__krylov *k = s->k;
    int expected = k->residual <= k->limit;
    if (k->stop != TULLE_STOP_COUNT) return;
    if ((expected || k->true_residual <= k->limit || !isfinite(k->true_residual)) && tulle__krylov_verdict(k, strikes))
        return;
    if (k->iteration == k->options.max_iterations)
        tulle__krylov_stop(k, TULLE_STOP_ITERATIONS, "the residual is %.3g, not yet %.3g", k->true_residual * k->scale,
            k->limit * k->scale);
    else if (!expected && is_singular(s))
        tulle__krylov_stop(k, TULLE_STOP_STAGNATED,
            "the matrix is singular, and b is not in its range as far as vectors reach: the residual is %.3g",
            k->true_residual * k->scale);
    else if (!expected && k->true_residual > before * (1 - sqrt(tulle__krylov_epsilon(k))))
        tulle__krylov_stop(k, TULLE_STOP_STAGNATED,
            "a cycle of %d left the residual at %.3g: a longer restart or another preconditioner may help",
            k->options.restart, k->true_residual * k->scale);
}

tulle_status tulle__gmres(tulle__krylov *k, int zero)
{
    struct gmres s;
    tulle__krylov_strikes strikes = {0, 0};
    arrange(&s, k);
    s.steps = 0;
    k->stop = TULLE_STOP_COUNT;
    TULLE_CALL(tulle__krylov_residual(k, zero, tulle__krylov_basis(k, 0)));
    if (!tulle__krylov_step(k, k->true_residual) || (k->residual <= k->limit && tulle__krylov_verdict(k, &strikes)))
        return TULLE_OK;
    if (!k->options.max_iterations) judge(&s, INFINITY, &strikes);
    while (k->stop == TULLE_STOP_COUNT) {
        double before = k->true_residual;
        bool reported = false;
        TULLE_CALL(cycle(&s, &reported));
        TULLE_CALL(update(&s));
        if (!reported) tulle__krylov_report(k, true);
        TULLE_CALL(tulle__krylov_residual(k, 0, tulle__krylov_basis(k, 0)));
        judge(&s, before, &strikes);
    }
    return TULLE_OK;
}
