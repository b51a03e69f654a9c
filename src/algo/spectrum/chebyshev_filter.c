/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "algo/spectrum/block_lanczos.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

/* Steps of single directions that tell the bounds; restarts before a look at the near one, and without a pair that
 * converges; the degrees. */
enum { STEPS = 80, RESTARTS = 4, STALLED = 60, LOWEST = 3, HIGHEST = 60, MANY = TULLE__CHEBYSHEV_MANY };

/* Values that the near bound leaves for each wanted one, and some; what p should be at a half of the wanted ones, few
 * or many, and at most at the end of the spectrum, where its rounding is beside the others. */
static const double part = 1.15, some = 4, rise_of_few = 8, rise = 4, most = 1e4, most_f32 = 30;

/* The residual, beside the spread of the values, above which Steps have left few pairs far from converged. */
static const double far_off = 5e-3;

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

/* A value's distance along the end that is wanted: for both, in magnitude, p is odd. */
static double outward(tulle_spectrum_end end, double value)
{
    return end == TULLE_SPECTRUM_MAGNITUDE ? fabs(value) : value;
}

/*
 * p(t) - p(u) is at least (p(t) - 1) / (2 |e|) times t - u, for t beyond the near bound and u between both: components
 * of a residual are so much longer in p(A)'s. Those of its rounding, beside p's norm, are all that it may have.
 */
double tulle__chebyshev_limit(const tulle_spectrum *s, double p)
{
    const tulle__chebyshev *f = &s->filter;
    const double mu = outward(s->options.end, p);
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
    return stalls(s) ||
           (s->restarts >= RESTARTS && s->solved > last && !(outward(s->options.end, s->theta[s->order[last]]) > 1));
}

/* ---- bounds ---- */

/* The place beyond which there are `wanted` values, of T's at the end that is wanted, by their weights in the first
 * block. */
static double near_bound(const tulle_spectrum *s, int width, double wanted)
{
    const int n = s->solved;
    double before = 0, there = 0, all = 0;
    for (int i = 0; i < n; i++) {
        const int at = s->order[i];
        double weight = 0;
        for (int r = 0; r < width; r++) weight += s->U[(int64_t)at * n + r] * s->U[(int64_t)at * n + r];
        weight *= (double)s->A->n / width;
        const double middle = all + weight / 2, value = outward(s->options.end, s->theta[at]);
        if (middle >= wanted && i) return there + (value - there) * fmax(.5, (wanted - before) / (middle - before));
        all += weight;
        before = middle;
        there = value;
    }
    return NAN;
}

/* The far bound, by T's decomposition: a Ritz value and its residual; next: columns of Q. */
static void keep_far(tulle_spectrum *s, int next)
{
    const bool largest = s->options.end == TULLE_SPECTRUM_LARGEST;
    const int at = largest ? 0 : s->solved - 1;
    double rest = 0;
    for (int i = 0; i < s->solved; i++)
        if (s->order[i] == at) rest = tulle__lanczos_residual(s, i, next);
    s->filter.far = largest ? s->theta[at] - rest : s->theta[at] + rest;
}

/* Takes the end that has the largest in magnitude, if all values are of one sign: p rises sooner for an end. */
static void choose_end(tulle_spectrum *s)
{
    if (s->options.end != TULLE_SPECTRUM_MAGNITUDE || !s->solved) return;
    if (s->theta[0] > 0) s->options.end = TULLE_SPECTRUM_LARGEST;
    if (s->theta[s->solved - 1] < 0) s->options.end = TULLE_SPECTRUM_SMALLEST;
}

/* The Ritz value of that rank; NAN: there is none. */
static double ritz_value(const tulle_spectrum *s, int rank)
{
    return rank < s->solved ? outward(s->options.end, s->theta[s->order[rank]]) : NAN;
}

/* Near bounds for more and more values, by T's decomposition. */
static void keep_near(tulle_spectrum *s, int width)
{
    tulle__chebyshev *f = &s->filter;
    double values = part * s->options.count + some;
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES; i++, values *= 2) f->near[i] = near_bound(s, width, values);
    f->end = ritz_value(s, 0);
    f->half_way = near_bound(s, width, s->options.count / 2.);
    f->norm = s->norm;
}

/* The same of few values: Ritz values, none of which is beyond the value of its rank. */
static void keep_near_of_few(tulle_spectrum *s)
{
    tulle__chebyshev *f = &s->filter;
    const int count = s->options.count;
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES; i++) f->near[i] = ritz_value(s, count + (i + 1) * s->options.block);
    f->end = ritz_value(s, 0);
    f->half_way = ritz_value(s, count / 2);
    f->norm = s->norm;
}

/* True if few pairs are so far from converged that a filter is worth its passes; next: columns of Q. */
static bool far_from_converged(const tulle_spectrum *s, int next)
{
    const tulle__chebyshev *f = &s->filter;
    const int count = s->options.count;
    double worst = 0;
    if (s->solved < count) return false;
    for (int i = 0; i < count; i++) worst = fmax(worst, tulle__lanczos_residual(s, i, next));
    return worst > far_off * (s->options.end == TULLE_SPECTRUM_MAGNITUDE ? 2 * f->end : fabs(f->end - f->far));
}

/* p of a near bound; without a degree if there is none. In magnitude it is odd, so that values keep their sign. */
static void choose(tulle_spectrum *s, double near)
{
    tulle__chebyshev *f = &s->filter;
    const bool odd = s->options.end == TULLE_SPECTRUM_MAGNITUDE, few = s->options.count < MANY;
    const int step = odd ? 2 : 1, given = s->options.degree;
    if (odd) f->far = -near;
    f->centre = (near + f->far) / 2;
    f->half = (near - f->far) / 2;
    f->degree = 0;
    if (!(fabs(near - f->far) > .1 * fabs(f->end - f->far) && fabs(f->end - near) > 1e-6 * fabs(near - f->far))) return;
    f->degree = !given ? LOWEST : odd ? given | 1 : given;
    while (!given && f->degree < HIGHEST && rise_of(f, f->degree, f->half_way) < (few ? rise_of_few : rise))
        f->degree += step;
    while (f->degree > 0 && rise_of(f, f->degree, f->end) > (s->A->type == TULLE_F32 ? most_f32 : most))
        f->degree -= step;
    if (f->degree < 2) f->degree = 0;
}

/* A block of b directions converges in fewer steps, but in more than b times fewer. */
static int steps_of(int block)
{
    return (int)(STEPS / sqrt(block));
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
    for (int i = 0; i < s->options.count; i++)
        least = fmin(least, (outward(s->options.end, s->wanted[i]) - f->centre) / f->half);
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
    if (end != TULLE_SPECTRUM_MAGNITUDE) s->options.end = TULLE_SPECTRUM_LARGEST; /* of p */
    tulle_status status = tulle__spectrum_iterate(s);
    f->on = false;
    s->allowed = s->options.max_passes;
    s->options.end = end;
    s->norm = f->norm;
    /* the passes that are left are A's, if the others ended in the look for what was missed */
    const bool cut = !tulle__lanczos_sure(s) && s->passes >= allowed(s);
    *done = status == TULLE_OK && s->converged == s->options.count && !cut;
    if (!*done) return status;
    TULLE_CALL(tulle__spectrum_rayleigh(s));
    *done = keeps_to_end(s);
    return TULLE_OK;
}

/*
 * Bounds by some steps, from which tulle__spectrum_resume goes on with *next columns; none where a filter is not worth
 * its passes. options.end is that of the filter then. Collective, agreed.
 */
static tulle_status find_bounds(tulle_spectrum *s, int *next)
{
    const int capacity = s->most / s->options.block - 1, steps = steps_of(s->options.block);
    int width = 0;
    TULLE_CALL(tulle__spectrum_sample(s, capacity < steps ? capacity : steps, &width, next));
    choose_end(s);
    keep_far(s, *next);
    keep_near(s, width);
    bool wanted = s->converged < s->options.count;
    if (s->options.count < MANY) {
        TULLE_CALL(tulle__spectrum_settle(s, steps, next));
        keep_near_of_few(s);
        wanted = s->options.degree || far_from_converged(s, *next);
    }
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES && !wanted; i++) s->filter.near[i] = NAN;
    return TULLE_OK;
}

/* end: the one that is wanted. Collective, agreed. */
static tulle_status iterate(tulle_spectrum *s, tulle_spectrum_end end)
{
    tulle__chebyshev *f = &s->filter;
    bool done = false, tried = false;
    int next = 0;
    TULLE_CALL(find_bounds(s, &next));
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES && !done && s->passes > 2 && s->passes < allowed(s); i++) {
        choose(s, f->near[i]);
        if (!f->degree) continue;
        tried = true;
        TULLE_CALL(filter(s, &done));
    }
    s->options.end = end;
    if (done) return TULLE_OK;
    f->degree = 0;
    if (!tried) return tulle__spectrum_resume(s, next);
    tulle__spectrum_clear(s);
    return tulle__spectrum_iterate(s);
}

tulle_status tulle__chebyshev_iterate(tulle_spectrum *s)
{
    if (!bounds_wanted(&s->options, s->A->n)) return tulle__spectrum_iterate(s);
    const tulle_spectrum_end end = s->options.end;
    const tulle_status status = iterate(s, end);
    s->options.end = end;
    return status;
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
    const tulle_spectrum_end end = plan->options.end;
    const tulle_status status = find_bounds(plan, &next);
    for (int i = 0; i < TULLE__CHEBYSHEV_TRIES && status == TULLE_OK && !f->degree && plan->passes > 2; i++)
        choose(plan, f->near[i]);
    plan->options.end = end;
    *degree = f->degree;
    return status;
}

int64_t tulle_spectrum_filter_passes(const tulle_spectrum_options *options, tulle_gidx n, int degree)
{
    /* of p(A), over those of a full basis: a fill, some restarts, and a probe */
    static const double of_many = 1.8, of_few = 2.4;
    tulle_spectrum_options own;
    if (TULLE__OPTIONS(options, &own, guess) || TULLE__NEGATIVE(n) || TULLE__NEGATIVE(degree)) return 0;
    tulle__spectrum_defaults(&own, n, TULLE_F64, 0, 1);
    if (own.block < 1 || own.block > TULLE__TALL_MOST || own.count < 1 || !bounds_wanted(&own, n)) return 0;
    const bool many = own.count >= MANY;
    const int capacity = own.basis / own.block - 1, steps = steps_of(own.block), last = own.count < TULLE__TALL_MOST ? own.count : TULLE__TALL_MOST;
    const double bounds = many && capacity < steps ? capacity : steps, blocks = many ? of_many : of_few,
                 values = (own.count + own.block - 1) / own.block,
                 ends = own.count > own.block ? (own.count + last - 1) / last : 1;
    return (int64_t)(bounds + values + ends + ceil(degree * blocks * own.basis / own.block));
}

bool tulle_spectrum_filter_pays(const tulle_spectrum_options *options, tulle_gidx n, double entries)
{
    /* entries a row, for each of many or few pairs, as if there were so many: the basis is no smaller; passes that it
     * may need */
    enum { OF_MANY = 3, OF_FEW = 2, FEWEST = 8, PASSES = 1000 };
    tulle_spectrum_options own;
    if (TULLE__OPTIONS(options, &own, guess) || TULLE__NEGATIVE(n)) return false;
    const double pairs = own.count > FEWEST ? own.count : FEWEST, entries_of_each = own.count < MANY ? OF_FEW : OF_MANY;
    if (own.end == TULLE_SPECTRUM_BOTH || (own.max_passes && own.max_passes < PASSES)) return false;
    return !own.nearest && !own.passes && 4 * (tulle_gidx)own.count <= n && entries <= entries_of_each * pairs * (double)n;
}
