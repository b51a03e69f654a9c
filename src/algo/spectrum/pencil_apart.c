/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs nearest to a sigma that is an eigenvalue, or nearly one. C = (H - sigma S)^-1 has then one value, or some, that
 * is larger than others by many orders of magnitude, and the projected matrix a rounding of that size. A second plan
 * has the shift s = sigma + D / 100, D the distance of the last wanted value, and so many pairs that they reach D + |s
 * - sigma| far: the wanted ones are among them.
 */
#include <math.h>
#include <string.h>

#include "algo/spectrum/spectrum_plan.h"
#include "base/error.h"

static const double apart = .0118;

enum { STUCK = 8 }; /* restarts without progress */

/* The ratio of C's values beyond which the smaller ones have too few digits. */
static double largest_ratio(const tulle_spectrum *s)
{
    return s->A->type == TULLE_F32 ? 200 : 1e4;
}

/* The distance of the farthest of the wanted values. */
static double reach(const tulle_spectrum *s, int found)
{
    const tulle__pencil *p = s->pencil;
    double most = 0;
    for (int i = 0; i < found; i++) most = fmax(most, fabs(tulle__pencil_value(p, s->wanted[i]) - p->sigma));
    return most;
}

/*
 * True if C has values so large, of pairs so near to the shift, that the factors' rounding may have made the smallest
 * of the first `count` of them: errors of C are epsilon N m^2, N the norm and m the largest. Those that it has not made
 * are right if their residuals say so.
 */
static bool are_rounding(const tulle_spectrum *s, const double *value, const int *order, int count)
{
    const double norm = tulle__pencil_shifted_scale(s->pencil), some = s->A->type == TULLE_F32 ? 1e-2 : 1e-4;
    double most = 0, least = INFINITY;
    for (int i = 0; i < count; i++) {
        const double m = fabs(value[order ? order[i] : i]);
        most = fmax(most, m);
        least = fmin(least, m);
    }
    return count > 1 && tulle__spectrum_epsilon(s) * norm * most * most > some * least;
}

bool tulle__pencil_drowned(const tulle_spectrum *s)
{
    const int count = s->options.count;
    if (!s->pencil || !s->pencil->nearest || s->apart || count < 2 || s->solved < count) return false;
    const double most = fabs(s->theta[s->order[0]]), least = fabs(s->theta[s->order[count - 1]]);
    return are_rounding(s, s->theta, s->order, count) || (s->stuck > STUCK && most > largest_ratio(s) * least);
}

/*
 * True if a value that was not found may be nearer to sigma than a wanted one: those that were not are at least as far
 * from the shift as the farthest that were, but for a part of the move that errors of C's values may be.
 */
static bool reaches_too_far(const tulle_spectrum *s, int found)
{
    const tulle__pencil *p = s->pencil;
    const double moved = fabs(p->shift - p->sigma), part = s->A->type == TULLE_F32 ? 1e-2 : 1e-6;
    double known = 0;
    for (int i = 0; i < found; i++) known = fmax(known, 1 / fabs(s->wanted[i]));
    return moved > 0 && found < s->A->n && reach(s, found) > known - (1 - part) * moved;
}

/* True if wanted values, mu of the `found` first vectors, are so much nearer to sigma than others that the inverse's
 * rounding drowns these. */
static bool drowns(const tulle_spectrum *s, int found)
{
    const tulle__pencil *p = s->pencil;
    double most = 0, least = INFINITY;
    if (!p->nearest || s->apart) return false;
    if (are_rounding(s, s->wanted, NULL, found)) return true;
    if (reaches_too_far(s, found)) return true;
    for (int i = 0; i < found; i++) {
        most = fmax(most, fabs(s->wanted[i]));
        least = fmin(least, fabs(s->wanted[i]));
    }
    return found && most > largest_ratio(s) * least;
}

/* order: of `count` pairs, those nearest to sigma first. */
static void arrange(const tulle__pair *pair, int count, double sigma, int *order)
{
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at && fabs(pair[order[at - 1]].value - sigma) > fabs(pair[i].value - sigma); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* The first columns of a plan become those of the `found` first pairs in order. Collective, agreed. */
static tulle_status put_in_order(tulle_spectrum *s, const int *order, int found)
{
    const int n = s->basis.columns;
    TULLE__SCOPED double *Y = NULL;
    tulle_status status = tulle__alloc_zero((size_t)n * (size_t)found, sizeof *Y, "an order of vectors", &Y);
    for (int i = 0; i < found && status == TULLE_OK; i++) Y[(int64_t)i * n + order[i]] = 1;
    if (status == TULLE_OK) status = tulle__basis_rotate(&s->basis, Y, found);
    return tulle_comm_agree(s->comm, status);
}

/* The plan's first columns become the other one's. Local. */
static void take(tulle_spectrum *s, const tulle_spectrum *other, int found)
{
    const int width = s->options.block;
    s->basis.columns = 0;
    for (int at = 0; at < found; at += width) {
        const tulle__block_of_columns W = {s->out.val, width, found - at < width ? found - at : width};
        tulle__basis_extract(&other->basis, at, W.columns, &W);
        tulle__basis_append(&s->basis, &W);
    }
}

/* Pairs of another plan with `count` of them, in so many passes. *enough: the wanted ones are among them. Collective,
 * agreed. */
static tulle_status search(
    tulle_spectrum *s, int count, double shift, int64_t passes, int found, tulle__pair *pair, double *off, bool *enough)
{
    const tulle__pencil *p = s->pencil;
    tulle_spectrum *other = NULL;
    tulle_spectrum_report report;
    double *value = NULL, farthest = 0;
    int *order = NULL;
    tulle_spectrum_options o = s->options;
    o.sigma = shift;
    o.count = count;
    o.basis = 0;
    o.max_passes = passes > 1 ? passes : 1;
    if (o.passes) { /* they stand alone */
        o.max_passes = 0;
        o.tolerance = 0;
    }
    TULLE_CALL(tulle_spectrum_of_mat(p->given_H, p->given_S, &o, &other));
    other->apart = true;
    tulle_status status = tulle__alloc((size_t)count, sizeof *value, "values", &value);
    if (status == TULLE_OK) status = tulle__alloc((size_t)count, sizeof *order, "values", &order);
    TULLE_TRY(tulle_comm_agree(s->comm, status));
    status = tulle_spectrum_execute(other, value, NULL, NULL, &report);
    if (status == TULLE_ERR_CONVERGENCE && other->found) status = TULLE_OK; /* residuals say so */
    TULLE_TRY(status);
    s->passes += report.passes;
    s->columns += report.columns;
    s->restarts += report.restarts;
    s->probes += report.probes;
    s->missed = report.missed;
    const int all = other->basis.columns, taken = found < all ? found : all;
    arrange(other->pair, all, p->sigma, order);
    for (int i = 0; i < all; i++) farthest = fmax(farthest, fabs(value[i] - other->pencil->shift));
    *enough = all == s->A->n || all < found ||
              farthest >= fabs(value[order[found - 1]] - p->sigma) + fabs(other->pencil->shift - p->sigma);
    for (int i = 0; i < found; i++) pair[i] = i < taken ? other->pair[order[i]] : (tulle__pair){NAN, NAN, 1, 1};
    *off = report.orthogonality;
    status = put_in_order(other, order, taken);
    if (status == TULLE_OK) take(s, other, taken);
out:
    tulle__free(order);
    tulle__free(value);
    tulle_spectrum_free(other);
    return status;
}

/* True if a pair has not converged. */
static bool any_above(const tulle_spectrum *s, int found, const tulle__pair *pair)
{
    bool any = false;
    for (int i = 0; i < found; i++) any |= !(pair[i].residual <= tulle__pencil_limit(s, &pair[i]));
    return any;
}

/*
 * The distance to which the wanted values reach is a guess at first, as the first plan's may be rounding: Rayleigh's
 * quotients of a search correct it, up or down. A first search with a wrong shift may not converge: it has an eighth of
 * the passes, the next one a quarter of what is left.
 */
static tulle_status find_apart(tulle_spectrum *s, int found, tulle__pair *pair, double *off)
{
    const tulle__pencil *p = s->pencil;
    const tulle_gidx n = s->A->n;
    enum { TRIES = 12, SHIFTS = 3 };
    const double scale = tulle__pencil_shifted_scale(p), least = 100 * tulle__spectrum_epsilon(s) * scale;
    double distance = reach(s, found), away = apart;
    if (are_rounding(s, s->wanted, NULL, found)) /* and what they are near to is unknown */
        distance = .1 * sqrt(tulle__pencil_least_distance(p->given_H)) * scale;
    bool over = false;
    tulle_status status = TULLE_OK;
    for (int i = 0, more = 4, moved = 0; !over && i < TRIES && status == TULLE_OK; i++) {
        bool enough = false;
        double far = 0;
        const tulle_gidx count = found + more < n ? found + more : n;
        const int64_t left = s->allowed - s->passes, passes = i < 3 ? left >> (3 - i) : left;
        status = search(s, (int)count, p->sigma + away * distance, passes, found, pair, off, &enough);
        for (int v = 0; v < found; v++) far = fmax(far, fabs(pair[v].value - p->sigma));
        over = enough && far <= 2 * distance;
        if (s->passes >= s->allowed) break;
        if (far > 2 * distance) {
            distance = far;
        } else if (over && moved < SHIFTS && any_above(s, found, pair)) { /* it may lie next to another value */
            over = false;
            moved++;
            away *= -1.7;
        } else if (!enough && far < distance / 8 && distance > least) {
            distance = fmax(far, least);
        } else {
            more *= 4;
        }
    }
    if (status == TULLE_OK && !over && s->passes < s->allowed)
        status = tulle__fail(TULLE_ERR_CONVERGENCE, "more values are as near to sigma as those that are wanted");
    return status;
}

/* Pairs in order of their distance from the shift become those of that from sigma. Collective, agreed. */
static tulle_status order_by_sigma(tulle_spectrum *s, int found, tulle__pair *pair)
{
    TULLE__SCOPED int *order = NULL;
    TULLE__SCOPED tulle__pair *former = NULL;
    bool same = true;
    tulle_status status = tulle__alloc((size_t)found, sizeof *order, "values", &order);
    if (status == TULLE_OK) status = tulle__alloc((size_t)found, sizeof *former, "values", &former);
    TULLE_CALL(tulle_comm_agree(s->comm, status));
    arrange(pair, found, s->pencil->sigma, order);
    memcpy(former, pair, (size_t)found * sizeof *pair);
    for (int i = 0; i < found; i++) {
        same &= order[i] == i;
        pair[i] = former[order[i]];
    }
    return same ? TULLE_OK : put_in_order(s, order, found);
}

tulle_status tulle__pencil_pairs(tulle_spectrum *s, int found, tulle__pair *pair, double *off)
{
    if (!s->pencil->nearest) return tulle__pencil_finish(s, found, pair, off);
    if (drowns(s, found)) return find_apart(s, found, pair, off);
    TULLE_CALL(tulle__pencil_finish(s, found, pair, off));
    /* they had converged, of an inverse with some values far larger than others, but are none of H and S */
    if (!s->apart && found > 1 && s->converged == s->options.count && any_above(s, found, pair))
        return find_apart(s, found, pair, off);
    return found ? order_by_sigma(s, found, pair) : TULLE_OK;
}
