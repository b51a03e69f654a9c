/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "algo/spectrum/spectrum_plan.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

/* Steps that tell the bounds; restarts before a look at the near one, and without a pair that converges; the degrees.
 */
enum { STEPS = 40, RESTARTS = 4, STALLED = 60, LOWEST = 3, HIGHEST = 60 };

/* Values that the near bound leaves for each wanted one, and some; what p should be at a half of the wanted ones, and
 * at most at the end of the spectrum, where its rounding is beside the others. */
static const double part = 1.15, some = 4, rise = 4, most = 1e4, most_f32 = 30;

tulle_status tulle__chebyshev_init(tulle_spectrum *s)
{
    for (int i = 0; i < 2; i++) {
        tulle__vector *v = s->filter.turn + i;
        TULLE_CALL(tulle__vector_new(s->A, s->options.block, v));
        TULLE_CALL(s->A->bind(s->A->context, v->mat, s->out.mat, &s->filter.bound[i]));
    }
    return TULLE_OK;
}

void tulle__chebyshev_fini(tulle_spectrum *s)
{
    for (int i = 0; i < 2; i++) {
        if (s->filter.bound[i]) s->A->unbind(s->filter.bound[i]);
        tulle_mat_free(s->filter.turn[i].mat);
    }
}

/* ---- products ---- */

/* to = factor (out - c x) - (before, unless it is NULL). Local. */
static void combine(tulle_spectrum *s, double factor, const void *x, const void *before, void *to)
{
    const int w = s->options.block;
    const tulle__multi_term term[] = {{s->out.val, w, w, w, factor, NULL},
        {x, w, w, w, -factor * s->filter.centre, NULL}, {before, w, w, w, -1, NULL}};
    tulle__multi_tsmm(&s->basis.multi, before ? 3 : 2, term, w, 0, to, w);
}

tulle_status tulle__chebyshev_pass(tulle_spectrum *s, int columns)
{
    tulle__chebyshev *f = &s->filter;
    const void *before = NULL, *x = s->in.val;
    tulle_status status = TULLE_OK;
    for (int i = 0; i < f->degree && status == TULLE_OK; i++) {
        status = tulle__spectrum_pass(s, i ? f->bound[(i - 1) % 2] : s->bound, columns);
        void *to = i + 1 == f->degree ? s->out.val : f->turn[i % 2].val;
        if (status == TULLE_OK) combine(s, (i ? 2 : 1) / f->half, x, i ? before : NULL, to);
        before = x;
        x = to;
    }
    return status;
}

/* ---- values ---- */

static double rise_of(const tulle__chebyshev *f, int degree, double value)
{
    return cosh(degree * acosh(fmax(1, (value - f->centre) / f->half)));
}

/*
 * p(t) - p(u) is at least (p(t) - 1) / (2 |e|) times t - u, for t beyond the near bound and u between both: components
 * of a residual are so much longer in p(A)'s. Those of its rounding, beside p's norm, are all that it may have.
 */
double tulle__chebyshev_limit(const tulle_spectrum *s, double mu)
{
    const tulle__chebyshev *f = &s->filter;
    if (!(mu > 1)) return 0;
    const double value = f->centre + f->half * cosh(acosh(mu) / f->degree);
    const double strictness = s->pencil ? s->pencil->strictness : 1, epsilon = tulle__spectrum_epsilon(s);
    const double truly = fmax(s->options.tolerance * fabs(value) * strictness, 100 * epsilon * f->norm);
    return fmax(truly * (mu - 1) / (2 * fabs(f->half)), 20 * epsilon * s->norm);
}

/* True if no more pairs converge: the rounding of p(A) may be above what they may have, with many copies of a value. */
static bool stalls(tulle_spectrum *s)
{
    tulle__chebyshev *f = &s->filter;
    if (s->converged > f->converged) {
        f->converged = s->converged;
        f->since = s->restarts;
    }
    return s->restarts - f->since > STALLED + RESTARTS * s->options.count / s->options.block;
}

bool tulle__chebyshev_misses(tulle_spectrum *s)
{
    const int last = s->options.count - 1;
    if (!s->filter.on || s->locked) return false;
    return stalls(s) || (s->restarts >= RESTARTS && s->solved > last && !(s->theta[s->order[last]] > 1));
}

/* ---- bounds ---- */

/* The place beyond which there are `wanted` values, of T's at the end that is wanted, by their weights in the first
 * block. */
static double near_bound(const tulle_spectrum *s, int width, double wanted)
{
    const int n = s->solved;
    double before = 0, there = 0, all = 0;
    for (int i = 0; i < n; i++) {
        const int at = s->options.end == TULLE_SPECTRUM_LARGEST ? n - 1 - i : i;
        double weight = 0;
        for (int r = 0; r < width; r++) weight += s->U[(int64_t)at * n + r] * s->U[(int64_t)at * n + r];
        weight *= (double)s->A->n / width;
        const double middle = all + weight / 2, value = s->theta[at];
        if (middle >= wanted && i) return there + (value - there) * fmax(.5, (wanted - before) / (middle - before));
        all += weight;
        before = middle;
        there = value;
    }
    return NAN;
}

/* Bounds by T's decomposition, near ones for more and more values; rest: the residual of its far end. */
static void keep_bounds(tulle_spectrum *s, int width, double rest)
{
    tulle__chebyshev *f = &s->filter;
    const bool largest = s->options.end == TULLE_SPECTRUM_LARGEST;
    const double low = s->theta[0], high = s->theta[s->solved - 1];
    double values = part * s->options.count + some;
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES; i++, values *= 2) f->near[i] = near_bound(s, width, values);
    f->far = largest ? low - rest : high + rest;
    f->end = largest ? high : low;
    f->half_way = near_bound(s, width, s->options.count / 2.);
    f->norm = s->norm;
}

/* p of a near bound; without a degree if there is none. */
static void choose(tulle_spectrum *s, double near)
{
    tulle__chebyshev *f = &s->filter;
    f->centre = (near + f->far) / 2;
    f->half = (near - f->far) / 2;
    f->degree = 0;
    if (!(fabs(near - f->far) > .1 * fabs(f->end - f->far) && fabs(f->end - near) > 1e-6 * fabs(near - f->far))) return;
    f->degree = s->options.degree ? s->options.degree : LOWEST;
    while (!s->options.degree && f->degree < HIGHEST && rise_of(f, f->degree, f->half_way) < rise) f->degree++;
    while (f->degree && rise_of(f, f->degree, f->end) > (s->A->type == TULLE_F32 ? most_f32 : most)) f->degree--;
    if (f->degree == 1) f->degree = 0;
}

/* True where bounds are worth some steps: counts that are a small part of n, and room for these. */
static bool bounds_wanted(const tulle_spectrum_options *o, tulle_gidx n)
{
    return 4 * (tulle_gidx)o->count <= n && o->basis / o->block > 3;
}

/* ---- the whole ---- */

/*
 * True if all values lie beyond the near bound. An invariant subspace may have left too few; and beyond the far bound p
 * is large too: that becomes such a value, and a part of the spread more.
 */
static bool keeps_to_end(tulle_spectrum *s)
{
    tulle__chebyshev *f = &s->filter;
    double least = INFINITY;
    for (int i = 0; i < s->options.count; i++) least = fmin(least, (s->wanted[i] - f->centre) / f->half);
    if (least < -1) f->far = f->centre + 1.05 * least * f->half;
    return least > 1;
}

/* Passes that p(A) may take: a tenth is left for A itself, should p's rise be too small or its rounding too large. */
static int64_t allowed(const tulle_spectrum *s)
{
    return s->options.max_passes - s->options.max_passes / 10;
}

/* By p(A). *done: all pairs have converged, at the end that is wanted. Collective, agreed. */
static tulle_status filter(tulle_spectrum *s, bool *done)
{
    tulle__chebyshev *f = &s->filter;
    const tulle_spectrum_end end = s->options.end;
    tulle__spectrum_clear(s);
    f->on = true;
    s->allowed = allowed(s);
    f->converged = 0;
    f->since = 0;
    s->options.end = TULLE_SPECTRUM_LARGEST; /* of p */
    tulle_status status = tulle__spectrum_iterate(s);
    f->on = false;
    s->allowed = s->options.max_passes;
    s->options.end = end;
    s->norm = f->norm;
    *done = status == TULLE_OK && s->converged == s->options.count;
    if (!*done) return status;
    TULLE_CALL(tulle__spectrum_rayleigh(s));
    *done = keeps_to_end(s);
    return TULLE_OK;
}

/* Bounds by some steps, from which tulle__spectrum_resume goes on with *next columns. Collective, agreed. */
static tulle_status find_bounds(tulle_spectrum *s, int *next)
{
    const int capacity = s->most / s->options.block - 1;
    double rest = 0;
    int width = 0;
    TULLE_CALL(tulle__spectrum_sample(
        s, capacity < STEPS ? capacity : STEPS, s->options.end == TULLE_SPECTRUM_LARGEST, &width, next, &rest));
    keep_bounds(s, width, rest);
    return TULLE_OK;
}

tulle_status tulle__chebyshev_iterate(tulle_spectrum *s)
{
    tulle__chebyshev *f = &s->filter;
    bool done = false, tried = false;
    int next = 0;
    if (!bounds_wanted(&s->options, s->A->n)) return tulle__spectrum_iterate(s);
    TULLE_CALL(find_bounds(s, &next));
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES && !done && s->passes > 2 && s->passes < allowed(s); i++) {
        choose(s, f->near[i]);
        if (!f->degree) continue;
        tried = true;
        TULLE_CALL(filter(s, &done));
    }
    if (done) return TULLE_OK;
    f->degree = 0;
    if (!tried) return tulle__spectrum_resume(s, next);
    tulle__spectrum_clear(s);
    return tulle__spectrum_iterate(s);
}

/* ---- before an execution ---- */

tulle_status tulle_spectrum_filter_degree(tulle_spectrum *plan, int *degree)
{
    int next;
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    if (TULLE__NULL(degree)) return tulle__refuse(plan->comm);
    TULLE__ENTER(plan->comm);
    TULLE_CALL(tulle_comm_agree(plan->comm, TULLE_OK)); /* all have somewhere to write */
    tulle__chebyshev *f = &plan->filter;
    *degree = f->degree = 0;
    if (!plan->options.chebyshev || !bounds_wanted(&plan->options, plan->A->n)) return TULLE_OK;
    plan->begun = tulle__now(plan->comm);
    plan->passes = plan->columns = 0;
    plan->allowed = plan->options.max_passes;
    plan->stream = 0;
    tulle__spectrum_clear(plan);
    TULLE_CALL(find_bounds(plan, &next));
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES && !f->degree && plan->passes > 2; i++) choose(plan, f->near[i]);
    *degree = f->degree;
    return TULLE_OK;
}

int64_t tulle_spectrum_filter_passes(const tulle_spectrum_options *options, tulle_gidx n, int degree)
{
    static const double blocks = 1.8; /* of p(A), over those of a full basis: a fill, some restarts, and a probe */
    tulle_spectrum_options own;
    if (TULLE__OPTIONS(options, &own, guess) || TULLE__NEGATIVE(n) || TULLE__NEGATIVE(degree)) return 0;
    tulle__spectrum_defaults(&own, n, TULLE_F64, 0);
    if (own.block < 1 || own.block > TULLE__TALL_MOST || own.count < 1 || !bounds_wanted(&own, n)) return 0;
    const int capacity = own.basis / own.block - 1, last = own.count < TULLE__TALL_MOST ? own.count : TULLE__TALL_MOST;
    const double bounds = capacity < STEPS ? capacity : STEPS, values = (own.count + own.block - 1) / own.block,
                 ends = own.count > own.block ? (own.count + last - 1) / last : 1;
    return (int64_t)(bounds + values + ends + ceil(degree * blocks * own.basis / own.block));
}

bool tulle_spectrum_filter_pays(const tulle_spectrum_options *options, tulle_gidx n, double entries)
{
    enum { LEAST = 20, ENTRIES = 3 };
    tulle_spectrum_options own;
    if (TULLE__OPTIONS(options, &own, guess) || TULLE__NEGATIVE(n)) return false;
    const bool end = own.end == TULLE_SPECTRUM_SMALLEST || own.end == TULLE_SPECTRUM_LARGEST;
    return end && !own.nearest && !own.passes && own.count >= LEAST && 4 * (tulle_gidx)own.count <= n &&
           entries <= (double)ENTRIES * own.count * (double)n;
}
