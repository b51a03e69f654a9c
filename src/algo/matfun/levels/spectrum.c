/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/levels/spectrum.h"

#include <math.h>

#include "algo/matfun/dense/step.h"
#include "base/error.h"
#include "base/memory.h"

tulle_status tulle__spectrum_add(tulle__spectrum *x, int64_t more, const int64_t *rows)
{
    int64_t count = x->submatrices + more;
    TULLE_CALL(tulle__realloc((size_t)count + 1, sizeof *x->first, "levels of submatrices", &x->first));
    TULLE_CALL(tulle__realloc((size_t)count + 1, sizeof *x->rows, "levels of submatrices", &x->rows));
    if (!x->submatrices) x->first[0] = 0;
    for (int64_t k = 0; k < more; k++) {
        x->first[x->submatrices + k + 1] = x->first[x->submatrices + k] + rows[k];
        x->rows[x->submatrices + k] = 0;
    }
    x->submatrices = count;
    TULLE_CALL(tulle__realloc((size_t)x->first[count], sizeof *x->level, "levels of submatrices", &x->level));
    return tulle__realloc((size_t)x->first[count], sizeof *x->weight, "levels of submatrices", &x->weight);
}

void tulle__spectrum_fini(tulle__spectrum *x)
{
    tulle__free(x->first);
    tulle__free(x->rows);
    tulle__free(x->level);
    tulle__free(x->weight);
    *x = (tulle__spectrum){.comm = NULL};
}

double tulle__occupy(const tulle__occupation *o, double level)
{
    if (o->kT > 0) return tulle__fermi(level, o->mu, o->kT);
    return level <= o->low ? 1 : level >= o->high ? 0 : o->part;
}

tulle__occupation tulle__occupation_at(double mu, double kT)
{
    return (tulle__occupation){
        .mu = mu, .kT = kT, .low = nextafter(mu, -INFINITY), .high = nextafter(mu, INFINITY), .part = .5};
}

tulle_status tulle__spectrum_sums(const tulle__spectrum *x, const tulle__occupation *o, double sums[2])
{
    sums[0] = x->base[0];
    sums[1] = x->base[1];
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            double part = x->weight[i] * tulle__occupy(o, x->level[i]);
            sums[0] += part;
            sums[1] += x->level[i] * part;
        }
    return tulle_comm_reduce_real(x->comm, TULLE_SUM, 2, sums);
}

/* The levels next to mu: the highest below and the lowest from it on. Collective. */
static tulle_status spectrum_gap(const tulle__spectrum *x, double mu, double *below, double *above)
{
    double gap[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            if (x->level[i] < mu)
                gap[0] = fmax(gap[0], x->level[i]);
            else
                gap[1] = fmax(gap[1], -x->level[i]);
        }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 2, gap);
    *below = gap[0];
    *above = -gap[1];
    return status;
}

/* Bounds of all levels, and beyond them by as much as temperature needs. Collective. */
static tulle_status bounds(const tulle__spectrum *x, double *low, double *high)
{
    double ends[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            ends[0] = fmax(ends[0], -x->level[i]);
            ends[1] = fmax(ends[1], x->level[i]);
        }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 2, ends);
    double beyond = 50 * x->kT + 1e-9 * fmax(fabs(ends[0]), fabs(ends[1])) + 1e-300;
    *low = -ends[0] - beyond;
    *high = ends[1] + beyond;
    return status;
}

/* All levels up to mu, and no others. */
static tulle__occupation up_to(double mu)
{
    return (tulle__occupation){.mu = mu, .low = mu, .high = nextafter(mu, INFINITY)};
}

/* Levels near `level` are filled in part. The bounds have a distance, as levels are known up to rounding only. */
static tulle_status fill_in_part(const tulle__spectrum *x, double states, double level, tulle__occupation *o)
{
    double under[2], over[2], low = level - x->tolerance, high = level + x->tolerance;
    if (x->bracketed) {
        low = fmax(low, x->low);
        high = fmin(high, x->high);
    }
    tulle__occupation below = up_to(fmin(low, nextafter(level, -INFINITY))), up = up_to(high);
    TULLE_CALL(tulle__spectrum_sums(x, &below, under));
    TULLE_CALL(tulle__spectrum_sums(x, &up, over));
    *o = (tulle__occupation){.mu = level, .low = below.mu, .high = up.high};
    o->part = fmin(1, fmax(0, (states - under[0]) / (over[0] - under[0])));
    return TULLE_OK;
}

/* A plateau of N, where the spectrum has no levels. */
static tulle_status in_gap(const tulle__spectrum *x, double mu, tulle__occupation *o)
{
    double below, above;
    tulle_status status = spectrum_gap(x, mu, &below, &above);
    *o = tulle__occupation_at(isfinite(below) && isfinite(above) ? below + (above - below) / 2 : mu, 0);
    o->part = 0;
    return status;
}

/* Bisection to neighbouring numbers: N(*low) < states <= N(*high). All PEs have the same sums, so the same steps. */
static tulle_status bisect(const tulle__spectrum *x, double states, double *low, double *high)
{
    enum { STEPS = 2100 }; /* of a double's exponents and digits */
    double sums[2];
    for (int step = 0; step < STEPS; step++) {
        double middle = *low + (*high - *low) / 2;
        if (middle <= *low || middle >= *high) break;
        const tulle__occupation at = up_to(middle);
        TULLE_CALL(tulle__spectrum_sums(x, &at, sums));
        *(sums[0] < states ? low : high) = middle;
    }
    return TULLE_OK;
}

/* sums[0] = N(mu) with kT > 0, sums[1] = its derivative. Collective. */
static tulle_status warm_sums(const tulle__spectrum *x, double mu, double sums[2])
{
    sums[0] = x->base[0];
    sums[1] = 0;
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            double part = tulle__fermi(x->level[i], mu, x->kT);
            sums[0] += x->weight[i] * part;
            sums[1] += x->weight[i] * part * (1 - part) / x->kT;
        }
    return tulle_comm_reduce_real(x->comm, TULLE_SUM, 2, sums);
}

/* Newton's method with kT > 0, or bisection where it leaves the bounds or does not halve them in three steps. */
static tulle_status find_warm(const tulle__spectrum *x, double states, double low, double high, tulle__occupation *o)
{
    enum { STEPS = 3000 };
    double mu = low + (high - low) / 2, width = high - low, sums[2], slack = 1e-13 * (1 + states);
    tulle_status status = TULLE_OK;
    for (int step = 1; step < STEPS; step++) {
        status = warm_sums(x, mu, sums);
        double off = sums[0] - states;
        if (status != TULLE_OK || fabs(off) <= slack) break;
        *(off < 0 ? &low : &high) = mu;
        double middle = low + (high - low) / 2, next = mu - off / sums[1];
        if (middle <= low || middle >= high) break;
        mu = next > low && next < high ? next : middle;
        if (step % 3) continue;
        if (high - low > width / 2) mu = middle;
        width = high - low;
    }
    *o = tulle__occupation_at(mu, x->kT);
    return status;
}

tulle_status tulle__spectrum_find(const tulle__spectrum *x, double states, tulle__occupation *o)
{
    tulle_status status = TULLE_OK;
    double low = x->low, high = x->high, sums[2], below, above;
    double slack = 1e-11 * (1 + states); /* rounding, which depends on who computed what */
    if (!x->bracketed) TULLE_TRY(bounds(x, &low, &high));
    if (x->settled && x->kT <= 0) {
        status = in_gap(x, x->mu, o);
        goto out;
    }
    if (!(low < high)) {
        status = in_gap(x, x->bracketed ? low : 0, o);
        o->kT = x->kT;
        goto out;
    }
    if (x->kT > 0) {
        status = find_warm(x, states, low, high, o);
        goto out;
    }
    const double beyond = high;
    TULLE_TRY(bisect(x, states - slack, &low, &high));
    /* levels in (low, high] are filled in part; a plateau of N, if there is one, begins at high */
    tulle__occupation step = up_to(high), before = up_to(low);
    TULLE_TRY(tulle__spectrum_sums(x, &before, sums));
    double under = sums[0];
    TULLE_TRY(tulle__spectrum_sums(x, &step, sums));
    TULLE_TRY(spectrum_gap(x, step.high, &below, &above));
    double missing = states - under, jump = sums[0] - under;
    *o = step;
    bool flat = fabs(sums[0] - states) <= slack, alone = above - high > 2 * x->tolerance;
    if (flat && alone)
        *o = up_to(isfinite(above) ? high + (above - high) / 2 : beyond);
    else if (jump > 0 && (missing < jump || (flat && !alone)))
        status = fill_in_part(x, states, high, o);
out:
    return tulle_comm_agree(x->comm, status);
}

tulle_status tulle__spectrum_count(const tulle__spectrum *x, double mu, double *number)
{
    double sums[2];
    const tulle__occupation at = up_to(mu);
    const tulle_status status = tulle__spectrum_sums(x, &at, sums);
    *number = sums[0];
    return status;
}

/* The first and the last level in (low, high]. Collective. */
static tulle_status levels_within(const tulle__spectrum *x, double low, double high, double *first, double *last)
{
    double ends[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            if (x->level[i] > low) ends[0] = fmax(ends[0], -x->level[i]);
            if (x->level[i] <= high) ends[1] = fmax(ends[1], x->level[i]);
        }
    const tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 2, ends);
    *first = -ends[0];
    *last = ends[1];
    return status;
}

tulle_status tulle__spectrum_level(const tulle__spectrum *x, double number, double *level)
{
    double low = x->low, high = x->high, first, last, sum;
    *level = INFINITY;
    TULLE_CALL(tulle__spectrum_count(x, high, &sum));
    if (!(sum >= number)) return TULLE_OK;
    *level = -INFINITY;
    TULLE_CALL(tulle__spectrum_count(x, low, &sum));
    if (sum >= number) return TULLE_OK;
    for (;;) {
        TULLE_CALL(levels_within(x, low, high, &first, &last));
        *level = last;
        if (!(first < last)) break;
        double middle = first + (last - first) / 2;
        if (middle >= last) middle = first;
        TULLE_CALL(tulle__spectrum_count(x, middle, &sum));
        *(sum >= number ? &high : &low) = middle;
    }
    return TULLE_OK;
}

double tulle__spectrum_guess(const tulle__spectrum *x, int64_t k, double states)
{
    double sum = 0, best = INFINITY, mu = 0;
    for (int64_t i = x->first[k]; i + 1 < x->first[k] + x->rows[k]; i++) {
        sum += x->weight[i];
        if (fabs(sum - states) < best) {
            best = fabs(sum - states);
            mu = (x->level[i] + x->level[i + 1]) / 2;
        }
    }
    return mu;
}
