/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f(K) of a density matrix by submatrices. For a number of electrons the PEs guess mu from a submatrix
 * each. At kT = 0 they take the columns of all for that guess, by steps; tridiagonal matrices are kept, from
 * which mu follows (level_search.h). Only submatrices that have a level between the guess and mu get new
 * columns, from reflectors that are kept as far as memory allows. With kT > 0 there are no columns before
 * mu is known; submatrices with many levels near the guess store all eigenvectors instead. Idle PEs steal submatrices.
 * The thief stores their tridiagonal matrices, which count on its side, and recomputes them if memory was short.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "algo/matfun/density_state.h"
#include "algo/matfun/levels/frontier.h"
#include "algo/matfun/levels/level_search.h"
#include "algo/matfun/whole/row_tiles.h"
#include "base/clock.h"
#include "base/error.h"
#include "mat/context.h"

struct pass {
    struct tulle__density *d;
    const tulle_matfun *plan;
    tulle__spectrum spectrum;
    const tulle__occupation *occupation;  /* NULL: no columns are wanted */
    bool known;                           /* the spectrum is */
    tulle__occupation last;               /* of f(K) */
    tulle__decomposition *decompositions; /* [submatrices of the spectrum]; NULL: none are kept */
    int64_t keep_bytes;                   /* that they, or reductions, may still have */
    bool keeps, reduces;
    tulle__reduction *reductions; /* [submatrices of the spectrum] */
    tulle__anchor *at;            /* of `first`, or the given mu; `below` is nan if another PE computed the submatrix */
    double guess, anchor;         /* of mu, and where the search for it ended */
    tulle__sweep guessed;         /* what the guess of mu took */
    tulle__stolen stolen;
};

static const tulle__anchor unknown = {.below = NAN};

static tulle_status visit(void *context, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *wanted)
{
    struct pass *p = context;
    double *level = p->spectrum.level + p->spectrum.first[k], *weights = p->spectrum.weight + p->spectrum.first[k];
    for (int64_t i = 0; i < sub->n; i++) {
        double weight = 0;
        if (p->occupation) x->value[i] = tulle__occupy(p->occupation, x->lambda[i]);
        if (p->known) continue;
        const double *with = x->S ? x->U : x->Y;
        for (int64_t c = 0; c < sub->b; c++) weight += x->Y[c * sub->n + i] * with[c * sub->n + i];
        level[i] = x->lambda[i];
        weights[i] = weight;
    }
    if (!p->known) p->spectrum.rows[k] = sub->n;
    *wanted = p->occupation != NULL;
    return TULLE_OK;
}

static void stepped(void *context, int64_t k, const tulle__eigen *x)
{
    struct pass *p = context;
    p->at[k] = (tulle__anchor){{x->sums[0], x->sums[1]}, x->gap.below, x->gap.above};
}

/* Levels, and what is kept, of more submatrices. */
static tulle_status reserve_levels(void *context, const tulle__submatrices *more)
{
    struct pass *p = context;
    TULLE__SCOPED int64_t *rows = NULL;
    int64_t before = p->spectrum.submatrices, after = before + more->count;
    if (p->keeps) {
        TULLE_CALL(tulle__realloc((size_t)after, sizeof *p->decompositions, "decompositions", &p->decompositions));
        for (int64_t k = before; k < after; k++) p->decompositions[k] = (tulle__decomposition){.A = NULL};
    }
    if (p->reduces) {
        TULLE_CALL(tulle__realloc((size_t)after, sizeof *p->at, "traces of submatrices", &p->at));
        TULLE_CALL(tulle__realloc((size_t)after, sizeof *p->reductions, "tridiagonal matrices", &p->reductions));
        for (int64_t k = before; k < after; k++) {
            p->at[k] = unknown;
            p->reductions[k] = (tulle__reduction){.d = NULL};
        }
    }
    TULLE_CALL(tulle__alloc((size_t)more->count, sizeof *rows, "rows of submatrices", &rows));
    for (int64_t k = 0; k < more->count; k++) rows[k] = more->sub[k].n;
    return tulle__spectrum_add(&p->spectrum, more->count, rows);
}

static void limit_bytes(struct pass *p)
{
    p->keep_bytes = (int64_t)(tulle__memory_left() / 2 < INT64_MAX ? tulle__memory_left() / 2 : INT64_MAX);
}

static tulle__visitor reducing(struct pass *p, double mu)
{
    return (tulle__visitor){.visit = visit,
        .context = p,
        .stepped = stepped,
        .mu = mu,
        .below = 1,
        .above = 0,
        .reductions = &p->reductions,
        .keep_bytes = &p->keep_bytes,
        .restore = true};
}

/* The pool of level searches: none in virtual time. Agreed. */
static tulle_status pool_of(tulle_comm *comm, tulle__pool **pool)
{
    tulle__context *context = NULL;
    const tulle_status status = tulle_comm_agree(comm, tulle__context_get(comm, &context));
    *pool = status != TULLE_OK || tulle__is_virtual(comm) ? NULL : context->pool;
    return status;
}

/* The frontier around the given mu. Collective, agreed. */
static tulle_status find_gap(struct pass *p)
{
    tulle__pool *pool;
    TULLE_CALL(pool_of(p->d->comm, &pool));
    TULLE_CALL(tulle__level_gap(&p->spectrum, p->reductions, p->at, p->d->mu, pool));
    return tulle__frontier_find(&p->spectrum, &p->d->report.below, &p->d->report.above);
}

/* Adds the work of another sweep over some submatrices, and its rounding. */
static void add_sweep(tulle__sweep *sweep, const tulle__sweep *other)
{
    sweep->bytes += other->bytes;
    sweep->dense += other->dense;
    sweep->transfers += other->transfers;
    sweep->rounding = fmax(sweep->rounding, other->rounding);
    tulle__sweep_add_device(sweep, other);
}

/* Bounds of the levels of submatrix k of this PE. */
static double magnitude_of(const struct pass *p, int64_t k)
{
    const tulle__reduction *r = &p->reductions[k];
    double most = 0;
    for (int64_t i = 0; r->d && i < r->n; i++)
        most = fmax(most, fabs(r->d[i]) + (i ? fabs(r->e[i - 1]) : 0) + (i + 1 < r->n ? fabs(r->e[i]) : 0));
    for (int64_t i = p->spectrum.first[k]; !r->d && i < p->spectrum.first[k] + p->spectrum.rows[k]; i++)
        most = fmax(most, fabs(p->spectrum.level[i]));
    return most;
}

/* Local: mu from own submatrix 0, whose reduction stays, and the magnitude of its levels. */
static tulle_status guess_from_first(struct pass *p, double *mu, double *magnitude)
{
    TULLE__SCOPED bool *skip = NULL;
    const tulle__submatrices *s = &p->plan->s;
    tulle__visitor first = reducing(p, -1e300);
    if (!s->count) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)s->count, sizeof *skip, "submatrices", &skip));
    for (int64_t k = 0; k < s->count; k++) skip[k] = k > 0;
    first.skip = skip;
    TULLE_CALL(tulle__matfun_sweep(p->plan, &first, NULL, &p->guessed));
    double part = p->d->states * (double)s->sub[0].b / (double)p->d->H->layout->m;
    if (p->reductions[0].d)
        TULLE_CALL(tulle__level_guess(&p->reductions[0], part, mu));
    else
        *mu = tulle__spectrum_guess(&p->spectrum, 0, part);
    *magnitude = magnitude_of(p, 0);
    p->spectrum.rows[0] = 0; /* another PE may steal it */
    p->at[0] = unknown;
    return TULLE_OK;
}

/*
 * mu from a submatrix of each PE, the mean of these, beside any number that a level could be: levels of
 * atoms, of equal molecules or of integers are often exactly the mean of two others, and a step on a level
 * counts it or not by rounding. Collective, agreed.
 */
static tulle_status guess(struct pass *p, tulle__occupation *o)
{
    static const double beside = 3.14159265e-7, least = 1e-9; /* of the levels' magnitude; if they are all 0 */
    double sums[2] = {0, p->plan->s.count > 0}, magnitude = 0;
    tulle_comm *comm = p->d->comm;
    TULLE_CALL(tulle_comm_agree(comm, guess_from_first(p, &sums[0], &magnitude)));
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_SUM, 2, sums)));
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 1, &magnitude)));
    double mean = sums[1] > 0 ? sums[0] / sums[1] : 0;
    *o = tulle__occupation_at(mean + (magnitude > 0 ? beside * magnitude : least), 0);
    return TULLE_OK;
}

/* True if the columns of submatrix k are the same for both occupations. */
static bool is_same(const struct pass *p, int64_t k, const tulle__occupation *a, const tulle__occupation *b)
{
    const tulle__spectrum *x = &p->spectrum;
    if (p->reductions[k].d) return tulle__occupy(b, p->at[k].below) >= 1 && tulle__occupy(b, p->at[k].above) <= 0;
    for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++)
        if (fabs(tulle__occupy(a, x->level[i]) - tulle__occupy(b, x->level[i])) > 0) return false;
    return true;
}

static void forget(struct pass *p)
{
    for (int64_t k = 0; p->decompositions && k < p->spectrum.submatrices; k++)
        tulle__decomposition_fini(&p->decompositions[k]);
    for (int64_t k = 0; p->reductions && k < p->spectrum.submatrices; k++) tulle__reduction_fini(&p->reductions[k]);
    tulle__free(p->decompositions);
    tulle__free(p->reductions);
    tulle__free(p->at);
    tulle__stolen_fini(&p->stolen);
}

/* N and the energy of a given mu: of columns, and of levels where eigenvectors were needed. */
static void sum_columns(const struct pass *p, double sums[2])
{
    const tulle__spectrum *x = &p->spectrum;
    for (int64_t k = 0; k < x->submatrices; k++) {
        for (int i = 0; i < 2 && p->reductions[k].d; i++) sums[i] += p->at[k].sums[i];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            const double part = x->weight[i] * tulle__occupy(&p->last, x->level[i]);
            sums[0] += part;
            sums[1] += part * x->level[i];
        }
    }
}

/* The given mu, in one pass. Collective. */
static tulle_status occupy_up_to(struct pass *p, tulle_mat *F, tulle__sweep *sweep)
{
    struct tulle__density *d = p->d;
    double sums[2] = {0, 0};
    tulle__visitor visitor = reducing(p, d->mu);
    visitor.kT = d->options.kT;
    visitor.reserve = reserve_levels;
    visitor.bare = true;
    p->last = tulle__occupation_at(d->mu, d->options.kT);
    p->occupation = &p->last;
    p->reduces = true;
    p->spectrum = (tulle__spectrum){.comm = d->comm, .kT = d->options.kT};
    limit_bytes(p);
    TULLE_CALL(tulle_comm_agree(d->comm, reserve_levels(p, &p->plan->s)));
    TULLE_CALL(tulle_comm_agree(d->comm, tulle__matfun_sweep(p->plan, &visitor, F, sweep)));
    sum_columns(p, sums);
    TULLE_CALL(tulle_comm_agree(d->comm, tulle_comm_reduce_real(d->comm, TULLE_SUM, 2, sums)));
    d->report.mu = d->mu;
    d->report.electrons = d->options.degeneracy * sums[0];
    d->report.energy = d->options.degeneracy * sums[1];
    for (int64_t k = 0; d->options.kT > 0 && k < p->spectrum.submatrices; k++)
        p->at[k].sums[0] = p->at[k].sums[1] = 0; /* N is that of a temperature: the frontier is as far from any */
    return find_gap(p);
}

/* Columns for p->last by the step at the guess of mu; the search found all levels from there to mu and near it. */
static tulle_status change_levels(const struct pass *p, const tulle__reduction *r, tulle__eigen *x)
{
    TULLE__SCOPED double *change = NULL;
    TULLE_CALL(tulle__alloc((size_t)r->found, sizeof *change, "levels", &change));
    for (int64_t i = 0; i < r->found; i++) change[i] = tulle__occupy(&p->last, r->level[i]) - (r->level[i] <= p->guess);
    tulle__reduction_change(r, x, change);
    return TULLE_OK;
}

/* Columns for p->last from a reduction: a step, or one at the anchor and the levels from there to mu. */
static tulle_status occupy_again(void *context, int64_t k, tulle__eigen *x, bool *done)
{
    const struct pass *p = context;
    const tulle__spectrum *s = &p->spectrum;
    const tulle__occupation *o = &p->last;
    const tulle__reduction *r = &p->reductions[k];
    const double beyond = TULLE__BEYOND * o->kT;
    double low = o->kT > 0 ? o->mu - beyond : o->low, high = o->kT > 0 ? o->mu + beyond : o->high;
    TULLE__SCOPED double *level = NULL, *change = NULL, *vectors = NULL;
    int64_t count;
    *done = true;
    if (o->kT > 0 && r->Z && (r->vector || !r->found) && !(p->anchor < p->guess || p->anchor > p->guess))
        return change_levels(p, r, x);
    for (int64_t i = s->first[k]; i < s->first[k] + s->rows[k]; i++)
        *done = *done && !(s->level[i] > low && s->level[i] < high);
    if (*done) *done = tulle__reduction_columns(r, x, o->mu, 0, NULL, NULL);
    if (*done) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)r->n, sizeof *level, "levels", &level));
    TULLE_CALL(tulle__alloc((size_t)r->n, sizeof *change, "levels", &change));
    TULLE_CALL(
        tulle__reduction_levels(r, fmin(p->anchor, low), fmax(p->anchor, high), r->n, level, change, &count, &vectors));
    for (int64_t i = 0; i < count; i++) change[i] = tulle__occupy(o, level[i]) - (level[i] <= p->anchor);
    *done = tulle__reduction_columns(r, x, p->anchor, count, change, vectors);
    return TULLE_OK;
}

/* The columns for p->last, of submatrices but those in `skip`. Agreed. */
static tulle_status repeat(struct pass *p, tulle_mat *F, const bool *skip, tulle__sweep *sweep)
{
    tulle_status status = TULLE_OK;
    bool any = false;
    tulle__sweep again = {.waves = 0};
    tulle__visitor visitor = {.visit = visit, .context = p, .stolen = &p->stolen, .restore = true, .skip = skip};
    if (p->keeps) visitor.decompositions = &p->decompositions;
    if (p->reduces) {
        visitor.reductions = &p->reductions;
        visitor.columns = occupy_again;
    }
    p->occupation = &p->last;
    p->known = true;
    for (int64_t k = 0; k < p->spectrum.submatrices; k++) any = any || !skip[k];
    if (any) status = tulle__matfun_sweep(p->plan, &visitor, F, &again);
    add_sweep(sweep, &again);
    return tulle_comm_agree(p->d->comm, status);
}

/* Sums, mu and the gap of p->last to the report. Collective. */
static tulle_status conclude(struct pass *p, int64_t repeated)
{
    struct tulle__density *d = p->d;
    double sums[2] = {0, 0};
    TULLE_CALL(tulle_comm_reduce_int(d->comm, TULLE_SUM, 1, &repeated));
    TULLE_CALL(tulle__spectrum_sums(&p->spectrum, &p->last, sums));
    TULLE_CALL(tulle__frontier_find(&p->spectrum, &d->report.below, &d->report.above));
    d->report.mu = p->last.mu;
    d->report.repeated = repeated;
    d->report.filled = p->last.kT > 0 ? 0 : p->last.part;
    const bool has_gap = isfinite(d->report.below) && isfinite(d->report.above);
    if (has_gap && p->last.kT <= 0 && tulle__is_whole(d->states))
        d->report.mu = d->report.below + (d->report.above - d->report.below) / 2;
    d->report.electrons = d->options.degeneracy * sums[0];
    d->report.energy = d->options.degeneracy * sums[1];
    return TULLE_OK;
}

/* mu from the levels near it, of all submatrices. Collective, agreed. */
static tulle_status find_mu(struct pass *p, tulle__sweep *sweep)
{
    tulle__pool *pool;
    TULLE_CALL(pool_of(p->d->comm, &pool));
    for (int64_t k = 0; k < p->spectrum.submatrices; k++)
        if (isnan(p->at[k].below)) tulle__reduction_fini(&p->reductions[k]);
    p->spectrum.rounding = tulle__dense_type(p->plan) == TULLE_F32 ? 16 * FLT_EPSILON : 64 * DBL_EPSILON;
    int64_t start = tulle__clock_ns();
    tulle_status status = tulle__level_search(&p->spectrum, p->reductions, p->at, &p->anchor, p->d->states, pool);
    sweep->dense += (double)(tulle__clock_ns() - start) * 1e-9 * tulle__pool_size(pool);
    return status == TULLE_OK ? tulle__spectrum_find(&p->spectrum, p->d->states, &p->last) : status;
}

/* The reductions, or decompositions, of all submatrices; at kT = 0 the columns for `first`, too. Collective, agreed. */
static tulle_status sweep_first(struct pass *p, tulle_mat *F, const tulle__occupation *first, tulle__sweep *sweep)
{
    const bool warm = p->keeps;
    tulle__visitor visitor = reducing(p, first->mu);
    visitor.kT = p->d->options.kT;
    visitor.reserve = reserve_levels;
    visitor.stolen = &p->stolen;
    if (warm) visitor.decompositions = &p->decompositions;
    p->occupation = warm ? NULL : first;
    p->guess = p->anchor = first->mu;
    TULLE_CALL(tulle_comm_agree(p->d->comm, tulle__matfun_sweep(p->plan, &visitor, warm ? NULL : F, sweep)));
    add_sweep(sweep, &p->guessed);
    return TULLE_OK;
}

/* True if submatrix k gets no columns for p->last: it has those for `first`, or other PEs computed it. */
static bool is_done(const struct pass *p, int64_t k, const tulle__occupation *first)
{
    return p->keeps ? !p->spectrum.rows[k] && !p->reductions[k].d : is_same(p, k, first, &p->last);
}

/*
 * A number of electrons. At kT > 0 tridiagonal matrices or decompositions, which are kept in half of the memory that is
 * left, then mu, then columns; at kT = 0 those at a guess of mu, which are changed where mu is another. Collective.
 */
static tulle_status occupy_counted(struct pass *p, tulle_mat *F, tulle__sweep *sweep)
{
    struct tulle__density *d = p->d;
    tulle__occupation first;
    TULLE__SCOPED bool *skip = NULL;
    int64_t repeated = 0;
    p->keeps = d->options.kT > 0;
    p->reduces = true;
    p->spectrum = (tulle__spectrum){.comm = d->comm, .kT = d->options.kT};
    limit_bytes(p);
    TULLE_CALL(tulle_comm_agree(d->comm, reserve_levels(p, &p->plan->s)));
    TULLE_CALL(guess(p, &first));
    TULLE_CALL(sweep_first(p, F, &first, sweep));
    TULLE_CALL(find_mu(p, sweep));
    TULLE_CALL(
        tulle_comm_agree(d->comm, tulle__alloc((size_t)p->spectrum.submatrices, sizeof *skip, "submatrices", &skip)));
    for (int64_t k = 0; k < p->spectrum.submatrices; k++) {
        skip[k] = is_done(p, k, &first);
        repeated += !skip[k] && !(p->keeps && (p->decompositions[k].A || p->reductions[k].A));
    }
    TULLE_CALL(repeat(p, F, skip, sweep));
    return conclude(p, repeated);
}

static double occupation_of(double x, void *context)
{
    const struct pass *p = context;
    return tulle__occupy(&p->last, x);
}

/* Some columns of f(K) again. Collective, agreed. */
static tulle_status check_columns(struct pass *p, const tulle_mat *F)
{
    const tulle__occupation *o = &p->last;
    const bool warm = o->kT > 0; /* the check knows what Fermi's function amplifies */
    const tulle_function again =
        warm ? (tulle_function){.kind = TULLE_FUNCTION_FERMI, .mu = o->mu, .kT = o->kT}
             : (tulle_function){.kind = TULLE_FUNCTION_USER, .value = occupation_of, .context = p};
    return tulle_matfun_check(p->plan, &again, F, p->d->options.check, &p->d->report.error);
}

/* Collective, agreed. */
static tulle_status occupy(struct pass *p, tulle_mat *F, tulle__sweep *sweep)
{
    const tulle_status status = p->d->states < 0 ? occupy_up_to(p, F, sweep) : occupy_counted(p, F, sweep);
    forget(p);
    return tulle_comm_agree(p->d->comm, status);
}

/* *F and the report; *F is the caller's also after a failure. Collective, agreed. */
static tulle_status compute(struct pass *p, tulle_mat **F)
{
    struct tulle__density *d = p->d;
    tulle__sweep sweep = {.waves = 0};
    int64_t start = tulle__now(d->comm);
    TULLE_CALL(tulle__like(tulle__matfun_rows(p->plan), F));
    TULLE_CALL(occupy(p, *F, &sweep));
    TULLE_CALL(tulle_comm_agree(d->comm,
        tulle__matfun_report(p->plan, &sweep, (double)(tulle__now(d->comm) - start) * 1e-9, &d->report.function)));
    d->report.function.below = d->report.below;
    d->report.function.above = d->report.above;
    if (d->options.check) TULLE_CALL(check_columns(p, *F));
    return tulle__symmetrise(F, &d->report.function.asymmetry);
}

tulle_status tulle__density_by_submatrices(struct tulle__density *d, const tulle_matfun *plan, tulle_mat **P)
{
    tulle_mat *F = NULL;
    struct pass pass = {.d = d, .plan = plan};
    const tulle_status status = compute(&pass, &F);
    tulle__spectrum_fini(&pass.spectrum);
    return tulle__mat_or_free(status, F, P);
}
