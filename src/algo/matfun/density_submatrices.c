/* SPDX-License-Identifier: Apache-2.0 */
/*
 * f(K) of a density matrix by submatrices. For a number of electrons and kT = 0, the PEs guess mu from a
 * submatrix each, and take the columns of all for that guess; when mu is known, they repeat only those
 * submatrices that have a level in between. With kT > 0 decompositions are kept as far as memory allows,
 * and only the others are repeated. Idle PEs steal submatrices of others; they keep the levels of these, which
 * count where they are, and repeat them if need be.
 */
#include <math.h>
#include <string.h>

#include "algo/matfun/density_state.h"
#include "algo/matfun/spectrum.h"
#include "algo/matfun/whole/row_tiles.h"
#include "base/error.h"

struct pass {
    struct tulle__density *d;
    const tulle_matfun *plan;
    tulle__spectrum spectrum;
    const tulle__occupation *occupation; /* NULL: no columns are wanted */
    bool known;                          /* the spectrum is */
    /* [submatrices], if mu is given and kT = 0: there is no spectrum; NULL else */
    struct stepped_sums {
        double trace, first, below, above;
    } * sums;
    int64_t count;          /* of sums */
    tulle__occupation last; /* of f(K) */
    tulle__kept *kept;      /* [submatrices of the spectrum]; NULL: none are kept */
    int64_t keep_bytes;     /* that they may still have */
    bool keeps;
    tulle__stolen stolen;
};

static tulle_status reserve_sums(void *context, const tulle__submatrices *more)
{
    struct pass *p = context;
    int64_t submatrices = p->count + more->count;
    tulle_status status = tulle__realloc((size_t)submatrices, sizeof *p->sums, "sums of submatrices", &p->sums);
    if (status != TULLE_OK) return status;
    for (; p->count < submatrices; p->count++)
        p->sums[p->count] = (struct stepped_sums){.below = -INFINITY, .above = INFINITY};
    return TULLE_OK;
}

static void add_level(struct stepped_sums *sums, double mu, double level, double part)
{
    sums->trace += part;
    sums->first += part * level;
    if (level < mu)
        sums->below = fmax(sums->below, level);
    else
        sums->above = fmin(sums->above, level);
}

static tulle_status visit(void *context, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *wanted)
{
    struct pass *p = context;
    double *level = p->sums ? NULL : p->spectrum.level + p->spectrum.first[k];
    double *weights = p->sums ? NULL : p->spectrum.weight + p->spectrum.first[k];
    if (p->sums) p->sums[k] = (struct stepped_sums){.below = -INFINITY, .above = INFINITY};
    for (int64_t i = 0; i < sub->n; i++) {
        double weight = 0;
        if (p->occupation) x->value[i] = tulle__occupy(p->occupation, x->lambda[i]);
        if (p->known) continue;
        const double *with = x->S ? x->U : x->Y;
        for (int64_t c = 0; c < sub->b; c++) weight += x->Y[c * sub->n + i] * with[c * sub->n + i];
        if (p->sums) {
            add_level(&p->sums[k], p->occupation->mu, x->lambda[i], weight * x->value[i]);
        } else {
            level[i] = x->lambda[i];
            weights[i] = weight;
        }
    }
    if (!p->sums) p->spectrum.rows[k] = sub->n;
    *wanted = p->occupation != NULL;
    return TULLE_OK;
}

static void stepped(void *context, int64_t k, const tulle__eigen *x)
{
    struct pass *p = context;
    p->sums[k] = (struct stepped_sums){x->trace, x->first, x->gap.below, x->gap.above};
}

/* A step at the given mu, in one pass. Collective, agreed. */
static tulle_status occupy_up_to(struct pass *p, tulle_mat *F, tulle__sweep *sweep)
{
    tulle_status status;
    struct tulle__density *d = p->d;
    double sums[2] = {0, 0}, gap[2] = {-INFINITY, -INFINITY};
    const tulle__occupation at = tulle__occupation_at(d->mu, 0);
    const tulle__visitor visitor = {
        .visit = visit, .context = p, .stepped = stepped, .mu = d->mu, .below = 1, .above = 0, .reserve = reserve_sums};
    TULLE_TRY(reserve_sums(p, &p->plan->s));
    p->occupation = &at;
    p->last = at;
    TULLE_TRY(tulle__matfun_sweep(p->plan, &visitor, F, sweep));
    for (int64_t k = 0; k < p->count; k++) {
        sums[0] += d->options.degeneracy * p->sums[k].trace;
        sums[1] += d->options.degeneracy * p->sums[k].first;
        gap[0] = fmax(gap[0], p->sums[k].below);
        gap[1] = fmax(gap[1], -p->sums[k].above);
    }
out:
    status = tulle_comm_agree(d->comm, status);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(d->comm, TULLE_SUM, 2, sums);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(d->comm, TULLE_MAX, 2, gap);
    d->report.mu = d->mu;
    d->report.electrons = sums[0];
    d->report.energy = sums[1];
    d->report.below = gap[0];
    d->report.above = -gap[1];
    tulle__free(p->sums);
    p->sums = NULL;
    return tulle_comm_agree(d->comm, status);
}

/* Levels, and decompositions that are kept, of more submatrices. */
static tulle_status reserve_levels(void *context, const tulle__submatrices *more)
{
    tulle_status status = TULLE_OK;
    struct pass *p = context;
    int64_t before = p->spectrum.submatrices;
    if (p->keeps) {
        TULLE_TRY(tulle__realloc((size_t)(before + more->count), sizeof *p->kept, "decompositions", &p->kept));
        for (int64_t k = 0; k < more->count; k++) p->kept[before + k] = (tulle__kept){.A = NULL};
    }
    TULLE_TRY(tulle__spectrum_add(&p->spectrum, more));
out:
    return status;
}

/* Local: mu from own submatrix 0, which is decomposed for that. */
static tulle_status guess_from_first(struct pass *p, double *mu)
{
    tulle_status status;
    tulle__sweep sweep;
    bool *skip = NULL;
    const tulle__submatrices *s = &p->plan->s;
    tulle__visitor first = {.visit = visit, .context = p};
    if (!s->count) return TULLE_OK;
    TULLE_TRY(tulle__alloc((size_t)s->count, sizeof *skip, "submatrices", &skip));
    for (int64_t k = 0; k < s->count; k++) skip[k] = k > 0;
    first.skip = skip;
    TULLE_TRY(tulle__matfun_sweep(p->plan, &first, NULL, &sweep));
    double part = (double)s->sub[0].b / (double)p->d->H->layout->m;
    *mu = tulle__spectrum_guess(&p->spectrum, 0, p->d->states * part);
    p->spectrum.rows[0] = 0; /* another PE may steal it */
out:
    tulle__free(skip);
    return status;
}

/* mu from a submatrix of each PE, the mean of these. Collective, agreed. */
static tulle_status guess(struct pass *p, tulle__occupation *o)
{
    double sums[2] = {0, p->plan->s.count > 0};
    tulle_status status = tulle_comm_agree(p->d->comm, guess_from_first(p, &sums[0]));
    if (status == TULLE_OK)
        status = tulle_comm_agree(p->d->comm, tulle_comm_reduce_real(p->d->comm, TULLE_SUM, 2, sums));
    *o = tulle__occupation_at(sums[1] > 0 ? sums[0] / sums[1] : 0, 0);
    return status;
}

/* Marks submatrices for which both occupations are the same; returns the number of others. */
static int64_t mark_same(const tulle__spectrum *x, const tulle__occupation *a, const tulle__occupation *b, bool *same)
{
    int64_t others = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        same[k] = true;
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++)
            same[k] = same[k] && fabs(tulle__occupy(a, x->level[i]) - tulle__occupy(b, x->level[i])) <= 0;
        others += !same[k];
    }
    return others;
}

/* The gap at mu; that next to the level at mu, if it is filled in part. Collective. */
static tulle_status find_gap(struct tulle__density *d, const tulle__spectrum *x, const tulle__occupation *o)
{
    double below, above;
    tulle_status status = tulle__spectrum_gap(x, o->mu, &d->report.below, &d->report.above);
    if (status != TULLE_OK || d->report.filled <= 0) return status;
    status = tulle__spectrum_gap(x, o->high, &below, &above);
    if (above - o->mu > o->mu - d->report.below) {
        d->report.below = below;
        d->report.above = above;
    }
    return status;
}

static void forget(struct pass *p)
{
    for (int64_t k = 0; p->kept && k < p->spectrum.submatrices; k++) tulle__kept_fini(&p->kept[k]);
    tulle__free(p->kept);
    tulle__stolen_fini(&p->stolen);
}

/* Marks submatrices that other PEs computed; returns the number of those of which no decomposition is kept. */
static int64_t mark_others(const struct pass *p, bool *others)
{
    int64_t again = 0;
    for (int64_t k = 0; k < p->spectrum.submatrices; k++) {
        others[k] = !p->spectrum.rows[k];
        again += !others[k] && !p->kept[k].A;
    }
    return again;
}

/*
 * All levels, mu, and the columns of f(K) in F for `first`. Decompositions are kept in half of the memory that
 * is left if the occupation follows from the levels, as with kT > 0. Agreed.
 */
static tulle_status find_levels(
    struct pass *p, tulle_mat *F, bool at_once, tulle__occupation *first, tulle__sweep *sweep)
{
    tulle_status status;
    struct tulle__density *d = p->d;
    bool counted = d->states >= 0;
    tulle__visitor visitor = {.visit = visit, .context = p, .reserve = reserve_levels, .stolen = &p->stolen};
    p->keeps = !at_once;
    p->spectrum = (tulle__spectrum){.comm = d->comm, .kT = d->options.kT};
    status = tulle_comm_agree(d->comm, reserve_levels(p, &p->plan->s));
    if (status == TULLE_OK && counted && at_once) status = guess(p, first);
    p->occupation = at_once ? first : NULL;
    p->keep_bytes = (int64_t)(tulle__memory_left() / 2 < INT64_MAX ? tulle__memory_left() / 2 : INT64_MAX);
    if (p->keeps) {
        visitor.kept = &p->kept;
        visitor.keep_bytes = &p->keep_bytes;
    }
    if (status != TULLE_OK) return status;
    return tulle_comm_agree(d->comm, tulle__matfun_sweep(p->plan, &visitor, at_once ? F : NULL, sweep));
}

/* The columns for `last` of those submatrices for which it differs from `first`. Agreed. */
static tulle_status repeat(struct pass *p, tulle_mat *F, const tulle__occupation *first, const tulle__occupation *last,
    tulle__sweep *sweep, int64_t *repeated)
{
    tulle_status status;
    bool *skip = NULL;
    tulle__sweep again = {.waves = 0};
    tulle__visitor visitor = {.visit = visit, .context = p, .stolen = &p->stolen, .restore = true};
    TULLE_TRY(tulle__alloc((size_t)p->spectrum.submatrices, sizeof *skip, "submatrices", &skip));
    *repeated = p->keeps ? mark_others(p, skip) : mark_same(&p->spectrum, first, last, skip);
    visitor.skip = skip;
    visitor.kept = p->keeps ? &p->kept : NULL;
    p->occupation = last;
    p->known = true;
    if (*repeated || p->keeps) TULLE_TRY(tulle__matfun_sweep(p->plan, &visitor, F, &again));
    sweep->bytes += again.bytes;
    sweep->dense += again.dense;
out:
    tulle__free(skip);
    return tulle_comm_agree(p->d->comm, status);
}

/* The spectrum, mu, and the columns of f(K) in F. Collective, agreed. */
static tulle_status occupy(struct pass *p, tulle_mat *F, tulle__sweep *sweep)
{
    struct tulle__density *d = p->d;
    tulle__occupation first = tulle__occupation_at(d->mu, d->options.kT), last;
    bool counted = d->states >= 0;
    int64_t repeated = 0;
    double sums[2] = {0, 0};
    tulle_status status = find_levels(p, F, !counted || d->options.kT <= 0, &first, sweep);
    last = first;
    if (status == TULLE_OK && counted) status = tulle__spectrum_find(&p->spectrum, d->states, &last);
    if (status == TULLE_OK && counted) status = repeat(p, F, &first, &last, sweep, &repeated);
    p->last = last;
    if (status == TULLE_OK) status = tulle_comm_reduce_int(d->comm, TULLE_SUM, 1, &repeated);
    if (status == TULLE_OK) status = tulle__spectrum_sums(&p->spectrum, &last, sums);
    d->report.mu = last.mu;
    d->report.repeated = repeated;
    d->report.filled = last.kT > 0 || !counted ? 0 : last.part;
    if (status == TULLE_OK) status = find_gap(d, &p->spectrum, &last);
    d->report.electrons = d->options.degeneracy * sums[0];
    d->report.energy = d->options.degeneracy * sums[1];
    forget(p);
    return tulle_comm_agree(d->comm, status);
}

/* A level filled in part is the same one up to rounding. */
static double occupation_of(double x, void *context)
{
    const struct pass *p = context;
    double slack = 1e-12 * fmax(fabs(p->d->report.function.least), fabs(p->d->report.function.most));
    return p->d->report.filled > 0 && fabs(x - p->last.mu) <= slack ? p->last.part : tulle__occupy(&p->last, x);
}

/* Some columns of f(K) again. Collective, agreed. */
static tulle_status check_columns(struct pass *p, const tulle_mat *F)
{
    const tulle_function again = {.kind = TULLE_FUNCTION_USER, .value = occupation_of, .context = p};
    return tulle_matfun_check(p->plan, &again, F, p->d->options.check, &p->d->report.error);
}

tulle_status tulle__density_by_submatrices(struct tulle__density *d, const tulle_matfun *plan, tulle_mat **P)
{
    tulle_mat *F = NULL;
    tulle__sweep sweep = {.waves = 0};
    int64_t start = tulle__now(d->comm);
    struct pass pass = {.d = d, .plan = plan};
    tulle_status status = tulle__like(tulle__matfun_rows(plan), &F);
    if (status == TULLE_OK) {
        bool at_once = d->states < 0 && d->options.kT <= 0;
        status = at_once ? occupy_up_to(&pass, F, &sweep) : occupy(&pass, F, &sweep);
        if (status == TULLE_OK)
            status = tulle_comm_agree(d->comm,
                tulle__matfun_report(plan, &sweep, (double)(tulle__now(d->comm) - start) * 1e-9, &d->report.function));
        d->report.function.below = d->report.below;
        d->report.function.above = d->report.above;
        if (status == TULLE_OK && d->options.check) status = check_columns(&pass, F);
        if (status == TULLE_OK) status = tulle__symmetrise(&F, &d->report.function.asymmetry);
    }
    tulle__spectrum_fini(&pass.spectrum);
    if (status == TULLE_OK)
        *P = F;
    else
        tulle_mat_free(F);
    return status;
}
