/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarted GMRES, preconditioned from the right: A M^-1 u = b, x = M^-1 u, so the residual is that of A x = b. The
 * basis is made orthogonal by classical Gram-Schmidt, a second time where much of the vector went away (Daniel, Gragg,
 * Kaufman, Stewart, Math. Comp. 30, 1976; "twice is enough": Giraud, Langou, Rozloznik, van den Eshof, Numer. Math.
 * 101, 2005), so that an iteration has one or two meetings however long the basis is: the norm of what is left follows
 * from the last sweep's coefficients, of which little was lost.
 */
#include <math.h>
#include <string.h>

#include "algo/krylov/krylov.h"
#include "base/error.h"

/* Coefficients of a basis of up to restart vectors; columns of H are `restart` + 2 apart. */
struct gmres {
    tulle__krylov *k;
    int restart, steps; /* steps: columns of H that this cycle has */
    double *H, *cosine, *sine, *g, *sweep;
    const void **basis, **repeated; /* repeated: the new vector, as often as there are others */
};

tulle__krylov_room tulle__gmres_room(const tulle_krylov_options *options)
{
    int64_t m = options->restart;
    /* H, g, cosine and sine, a sweep, and two lists of pointers */
    return (tulle__krylov_room){m + 1, (m + 2) * m + 6 * (m + 2), options->restart + 2};
}

static void arrange(struct gmres *s, tulle__krylov *k)
{
    int m = k->options.restart;
    *s = (struct gmres){.k = k, .restart = m, .H = k->small};
    s->g = s->H + (int64_t)(m + 2) * m;
    s->cosine = s->g + m + 2;
    s->sine = s->cosine + m + 2;
    s->sweep = s->sine + m + 2;
    s->basis = (const void **)(void *)(s->sweep + m + 2);
    s->repeated = s->basis + m + 2;
    for (int v = 0; v <= m; v++) {
        s->basis[v] = tulle__krylov_kept(k, v);
        s->repeated[v] = k->out.val;
    }
    s->basis[m + 1] = s->repeated[m + 1] = k->out.val;
}

static double *column(const struct gmres *s, int j)
{
    return s->H + (int64_t)j * (s->restart + 2);
}

/* out = A M^-1 v_j */
static tulle_status expand(struct gmres *s, int j)
{
    tulle__krylov *k = s->k;
    tulle__space_scale(&k->space, 1, s->basis[j], k->M ? k->rest.val : k->in.val);
    tulle_status status = k->M ? tulle__krylov_precondition(k) : TULLE_OK;
    return status == TULLE_OK ? tulle__krylov_product(k) : status;
}

/* `out` less its part along v_0 .. v_j: h[0 .. j], and h[j + 1] its norm, 0 if nothing is left but rounding. */
static tulle_status orthogonalise(struct gmres *s, int j, double *h)
{
    enum { SWEEPS = 3 };
    tulle__krylov *k = s->k;
    tulle_status status = TULLE_OK;
    int count = j + 1;
    const void *last = s->basis[count];
    double whole = 0, left = 0;
    memset(h, 0, (size_t)(count + 1) * sizeof *h);
    s->basis[count] = k->out.val;
    TULLE_TRY(tulle__space_dots(&k->space, count + 1, s->basis, s->repeated, s->sweep));
    whole = s->sweep[count];
    for (int sweep = 1;; sweep++) {
        double square = s->sweep[count], along = 0;
        for (int v = 0; v < count; v++) {
            along += s->sweep[v] * s->sweep[v];
            h[v] += s->sweep[v];
            s->sweep[v] = -s->sweep[v];
        }
        left = square - along;
        /* Nothing has cancelled: it is orthogonal, and the norm is right. A lower limit would let the basis lose as
         * much as it allows in each step anew: with 1/100 half of the sweeps go, and residuals miss their limits. */
        if (left >= square / 2 || sweep == SWEEPS) break;
        TULLE_TRY(tulle__space_combine_dots(&k->space, count, s->sweep, s->basis, s->repeated, s->sweep));
    }
    tulle__space_combine(&k->space, count, s->sweep, s->basis, 1, k->out.val);
    h[count] = left > 0 ? sqrt(left) : 0;
    if (h[count] <= tulle__krylov_epsilon(k) * sqrt(whole)) h[count] = 0;
out:
    s->basis[count] = last;
    return status;
}

/* Givens' rotations make H's new column upper triangular; the residual is what is left of g. */
static double rotate(struct gmres *s, int j)
{
    double *h = column(s, j);
    for (int v = 0; v < j; v++) {
        double upper = s->cosine[v] * h[v] + s->sine[v] * h[v + 1];
        h[v + 1] = s->cosine[v] * h[v + 1] - s->sine[v] * h[v];
        h[v] = upper;
    }
    double length = hypot(h[j], h[j + 1]);
    s->cosine[j] = length > 0 ? h[j] / length : 1;
    s->sine[j] = length > 0 ? h[j + 1] / length : 0;
    h[j] = length;
    s->g[j + 1] = -s->sine[j] * s->g[j];
    s->g[j] *= s->cosine[j];
    return fabs(s->g[j + 1]);
}

/* x += M^-1 V y with H y = g; a column of zeros, of a singular matrix, takes no part. */
static tulle_status update(struct gmres *s)
{
    tulle__krylov *k = s->k;
    tulle_status status = TULLE_OK;
    double *y = s->sweep, one = 1;
    const void *z = k->in.val;
    if (!s->steps) return TULLE_OK;
    for (int i = s->steps - 1; i >= 0; i--) {
        y[i] = s->g[i];
        for (int j = i + 1; j < s->steps; j++) y[i] -= column(s, j)[i] * y[j];
        y[i] = column(s, i)[i] > 0 ? y[i] / column(s, i)[i] : 0;
    }
    tulle__space_combine(&k->space, s->steps, y, s->basis, 0, k->M ? k->rest.val : k->in.val);
    if (k->M) TULLE_TRY(tulle__krylov_precondition(k));
    tulle__space_combine(&k->space, 1, &one, &z, 1, k->x);
out:
    return status;
}

/* From the true residual in v_0, unscaled, to one that is within the limit or to the end of the cycle. */
static tulle_status cycle(struct gmres *s)
{
    tulle__krylov *k = s->k;
    tulle_status status = TULLE_OK;
    s->g[0] = k->true_residual;
    s->steps = 0;
    tulle__space_scale(&k->space, 1 / k->true_residual, s->basis[0], tulle__krylov_kept(k, 0));
    while (s->steps < s->restart && k->iteration < k->options.max_iterations) {
        int j = s->steps;
        double *h = column(s, j);
        TULLE_TRY(expand(s, j));
        k->iteration++;
        TULLE_TRY(orthogonalise(s, j, h));
        double next = h[j + 1], residual = rotate(s, j);
        if (!tulle__krylov_step(k, residual)) goto out; /* without this column, which has made it so */
        s->steps++;
        if (residual <= k->limit || next == 0) break;
        tulle__space_scale(&k->space, 1 / next, k->out.val, tulle__krylov_kept(k, j + 1));
    }
out:
    return status;
}

/* After a cycle that began with a residual of `before`. */
static void judge(tulle__krylov *k, double before, tulle__krylov_strikes *strikes)
{
    int expected = k->residual <= k->limit;
    if (k->stop != TULLE_STOP_COUNT) return;
    if ((expected || k->true_residual <= k->limit || !isfinite(k->true_residual)) && tulle__krylov_verdict(k, strikes))
        return;
    if (k->iteration == k->options.max_iterations)
        tulle__krylov_stop(k, TULLE_STOP_ITERATIONS, "the residual is %.3g, not %.3g yet", k->true_residual * k->scale,
            k->limit * k->scale);
    else if (!expected && k->true_residual > before * (1 - sqrt(tulle__krylov_epsilon(k))))
        tulle__krylov_stop(k, TULLE_STOP_STAGNATED,
            "a cycle of %d left the residual at %.3g: a longer restart or another preconditioner may help",
            k->options.restart, k->true_residual * k->scale);
}

tulle_status tulle__gmres(tulle__krylov *k, int zero)
{
    tulle_status status;
    struct gmres s;
    tulle__krylov_strikes strikes = {0, 0};
    arrange(&s, k);
    k->stop = TULLE_STOP_COUNT;
    TULLE_TRY(tulle__krylov_residual(k, zero, tulle__krylov_kept(k, 0)));
    if (!tulle__krylov_step(k, k->true_residual) || (k->residual <= k->limit && tulle__krylov_verdict(k, &strikes)))
        goto out;
    if (!k->options.max_iterations) judge(k, INFINITY, &strikes);
    while (k->stop == TULLE_STOP_COUNT) {
        double before = k->true_residual;
        TULLE_TRY(cycle(&s));
        TULLE_TRY(update(&s));
        TULLE_TRY(tulle__krylov_residual(k, 0, tulle__krylov_kept(k, 0)));
        judge(k, before, &strikes);
    }
out:
    return status;
}
