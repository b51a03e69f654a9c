/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look for pairs that were missed. A block Krylov space of w random directions has at most w copies of a value in
 * exact arithmetic, and pairs may converge before a better one, of which these directions have little, shows. So the
 * method begins again with random directions V_1, apart from what is locked: the wanted vectors, and others.
 *
 * The chance that a vector x of a better value t escapes. Let A V = V T + Q R E^T, E the last block of the identity.
 * From x^T A = t x^T follows x^T V (t I - T) = x^T Q R E^T, so that
 *
 *   x^T V_1 = (x^T Q) G,   G = R E^T (t I - T)^-1 E_1,   |x^T Q| <= 1.
 *
 * No random direction v of an n-space has |x^T v| <= g but with a chance of at most sqrt(n) g; all columns of V_1 have
 * that of the product of sqrt(n) g over the columns of G, g their lengths. G falls as fast as a Krylov method converges
 * to a value t beyond T's, and is computed at the t where it is largest, the worst value that would be better. At a
 * restart Q becomes a block of V and takes the place of V_1, whose G multiplies that of Q from then on.
 *
 * Directions of Q that are no longer than some roundings are dropped, and may have been x's: with what they leave, A V
 * = V T + Q R E^T + D, a column of x^T V_1 is in doubt by |D| times its length in (t I - T)^-1 E_1. Where none are
 * left, another random block begins, whose chance multiplies that of those before.
 *
 * Beside the wanted vectors some Ritz vectors y_i of values theta_i are locked, which leaves T smaller values that are
 * farther from t: those whose residuals r_i are small beside t - theta_i. x without its parts of these is a vector of
 * A's part apart from them but for sum of r_i^2 / (t - theta_i), and |x^T v| is in doubt by that over the distance of T
 * from t, no more than the sum of (r_i / (t - theta_i))^2.
 */
#include <math.h>
#include <string.h>

#include "algo/spectrum/block_lanczos.h"
#include "base/error.h"

/* The chance that is small enough. A probe takes at most twice the passes before it, or DIRECTIONS and some. */
static const double enough = 1e-4;
enum { DIRECTIONS = 36, SOME = 4, ENDS = 2 };

struct probe {
    tulle_spectrum *s;
    int ends;                            /* where a better value may lie */
    double value[ENDS];                  /* the worst one that is better */
    double before[ENDS];                 /* the chance that it has escaped former random blocks */
    double doubt;                        /* of x^T v, by what is locked beside the wanted vectors, */
    double lost[ENDS][TULLE__TALL_MOST]; /* and by what was dropped before a restart, of columns of V_1 */
    double
        *path[ENDS]; /* [block x block], row-major: G of V_1, in terms of the block of V at `from`; NULL: that is it */
    double *next;    /* [block x block] */
    int from, width; /* that block: without what is locked, and its columns */
    int first;       /* columns of V_1 */
};

/* ---- better values ---- */

/* The last wanted value at an end, 0, or 1 for the other one. */
static double last_value(const tulle_spectrum *s, int end)
{
    const int count = s->options.count;
    const bool both = s->options.end == TULLE_SPECTRUM_BOTH;
    return s->wanted[!both ? count - 1 : end ? count / 2 * 2 - 1 : (count - 1) / 2 * 2];
}

/* The worst value that is better than the last wanted one by what its residual may be. */
static double better_than(const tulle_spectrum *s, int end)
{
    const double last = last_value(s, end), limit = tulle__spectrum_limit(s, last);
    switch (s->options.end) {
    case TULLE_SPECTRUM_MAGNITUDE:
        return end ? -fabs(last) - limit : fabs(last) + limit;
    case TULLE_SPECTRUM_SMALLEST:
        return last - limit;
    default:
        return end ? last - limit : last + limit;
    }
}

/* True if a value is better than the wanted ones are. */
static bool is_better(const struct probe *p, double theta)
{
    switch (p->s->options.end) {
    case TULLE_SPECTRUM_SMALLEST:
        return theta < p->value[0];
    case TULLE_SPECTRUM_LARGEST:
        return theta > p->value[0];
    default:
        return theta > p->value[0] || (p->ends > 1 && theta < p->value[1]);
    }
}

/* T's better values become the first ones in order; true: there are some. */
static bool bring_forward(const struct probe *p)
{
    int *order = p->s->order, better = 0;
    for (int i = 0; i < p->s->solved; i++) {
        const int at = order[i];
        if (!is_better(p, p->s->theta[at])) continue;
        memmove(order + better + 1, order + better, (size_t)(i - better) * sizeof *order);
        order[better++] = at;
    }
    return better > 0;
}

/* ---- the chance ---- */

/* to [coupled x first] = R E^T (t I - T)^-1 E_from path, of one end. lost: of the columns, as above, so far. */
static void carry(const struct probe *p, int end, int coupled, double *to, double *lost)
{
    const tulle_spectrum *s = p->s;
    const int n = s->solved, ld = s->options.block;
    const double *path = p->path[end];
    double begins[TULLE__TALL_MOST], ends[TULLE__TALL_MOST], square[TULLE__TALL_MOST] = {0};
    memset(to, 0, (size_t)ld * (size_t)ld * sizeof *to);
    for (int j = 0; j < n; j++) {
        const double *u = s->U + (int64_t)j * n, *here = u + p->from, *last = u + n - s->width;
        const double factor = 1 / (p->value[end] - s->theta[j]);
        for (int c = 0; c < p->first; c++) {
            begins[c] = path ? 0 : here[c];
            for (int r = 0; r < p->width && path; r++) begins[c] += here[r] * path[r * ld + c];
            square[c] += factor * factor * begins[c] * begins[c];
        }
        for (int r = 0; r < coupled; r++) {
            ends[r] = 0;
            for (int c = 0; c < s->width; c++) ends[r] += s->share[r][c] * last[c];
            for (int c = 0; c < p->first; c++) to[r * ld + c] += factor * ends[r] * begins[c];
        }
    }
    for (int c = 0; c < p->first; c++) lost[c] = p->lost[end][c] + (s->dropped > 0 ? s->dropped * sqrt(square[c]) : 0);
}

/* Chance that a better pair at an end has escaped. */
static double escapes(const struct probe *p, int end, int coupled)
{
    const tulle_spectrum *s = p->s;
    double all = p->before[end], lost[TULLE__TALL_MOST];
    carry(p, end, coupled, p->next, lost);
    for (int c = 0; c < p->first; c++) {
        double square = 0;
        for (int r = 0; r < coupled; r++)
            square += p->next[r * s->options.block + c] * p->next[r * s->options.block + c];
        all *= fmin(1, sqrt((double)s->A->n) * (sqrt(square) + p->doubt + lost[c]));
    }
    return all;
}

static double chance(const struct probe *p, int coupled)
{
    double most = 0;
    if (p->s->basis.columns == p->s->A->n) return 0;
    for (int end = 0; end < p->ends; end++) most = fmax(most, escapes(p, end, coupled));
    return most;
}

/* ---- steps ---- */

/* Ritz vectors beside the wanted ones that are locked, too. */
static int choose_others(struct probe *p, int coupled)
{
    const tulle_spectrum *s = p->s;
    const int count = s->options.count, room = (s->most - count) / 2 - 2 * s->options.block,
              kept = tulle__lanczos_kept(s) - count, most = kept < room ? kept : room;
    const double allowed = .1 * pow(enough, 1. / s->options.block) / sqrt((double)s->A->n);
    int others = 0;
    for (; others < most; others++) {
        double part = 0;
        for (int end = 0; end < p->ends; end++)
            part = fmax(part, tulle__lanczos_residual(s, count + others, coupled) /
                                  fabs(p->value[end] - s->theta[s->order[count + others]]));
        if (!(p->doubt + part * part <= allowed)) break;
        p->doubt += part * part;
    }
    return others;
}

/* A random block, apart from V. *width: its columns. Collective, agreed. */
static tulle_status begin_block(struct probe *p, int *width)
{
    p->from = p->s->basis.columns - p->s->locked;
    TULLE_CALL(tulle__lanczos_begin(p->s, width));
    p->first = p->width = *width;
    return TULLE_OK;
}

/* V = what is locked, and a random block. *width: its columns. Collective, agreed. */
static tulle_status begin(struct probe *p, int coupled, int *width)
{
    tulle_spectrum *s = p->s;
    const size_t block = (size_t)s->options.block;
    p->ends =
        s->options.end == TULLE_SPECTRUM_MAGNITUDE || (s->options.end == TULLE_SPECTRUM_BOTH && s->options.count > 1)
            ? ENDS
            : 1;
    for (int i = 0; i < s->options.count; i++) s->wanted[i] = s->theta[s->order[i]];
    for (int end = 0; end < p->ends; end++) {
        p->value[end] = better_than(s, end);
        p->before[end] = 1;
    }
    TULLE_CALL(tulle_comm_agree(s->comm, tulle__alloc(block * block, sizeof *p->next, "a probe", &p->next)));
    const int locked = s->options.count + choose_others(p, coupled);
    TULLE_CALL(tulle__lanczos_restart(s, locked));
    s->locked = locked;
    s->dropped = 0;
    return begin_block(p, width);
}

/* A restart of a full V; Q's `coupled` columns take the place of V_1. Collective, agreed. */
static tulle_status restart(struct probe *p, int coupled)
{
    tulle_spectrum *s = p->s;
    const size_t block = (size_t)s->options.block;
    const int keep = tulle__lanczos_kept(s);
    for (int end = 0; end < p->ends; end++) {
        TULLE__SCOPED double *path = NULL;
        TULLE_CALL(tulle_comm_agree(s->comm, tulle__alloc(block * block, sizeof *path, "a probe", &path)));
        carry(p, end, coupled, path, p->lost[end]);
        tulle__free(p->path[end]);
        p->path[end] = path;
        path = NULL;
    }
    p->from = keep;
    p->width = coupled;
    return tulle__lanczos_restart(s, keep);
}

/* Another block after one that has no directions left. Collective, agreed. */
static tulle_status renew(struct probe *p, int *width)
{
    tulle_spectrum *s = p->s;
    for (int end = 0; end < p->ends; end++) {
        p->before[end] = escapes(p, end, 0);
        tulle__free(p->path[end]);
        p->path[end] = NULL;
        memset(p->lost[end], 0, sizeof p->lost[end]);
    }
    const tulle_gidx left = s->A->n - s->basis.columns;
    const int more = left < s->options.block ? (int)left : s->options.block;
    if (s->basis.columns + more > s->most) TULLE_CALL(tulle__lanczos_restart(s, tulle__lanczos_kept(s)));
    return begin_block(p, width);
}

/* V = the wanted vectors and the best of the probe, *width of them, which become the last block. Agreed. */
static tulle_status leave(struct probe *p, int *width)
{
    tulle_spectrum *s = p->s;
    const int count = s->options.count, ld = s->basis.capacity, locked = s->locked;
    *width = s->solved < s->options.block ? s->solved : s->options.block;
    const tulle__block_of_columns best = {s->out.val, s->options.block, *width};
    for (int i = 0; i < *width; i++) p->next[i] = s->theta[s->order[i]];
    TULLE_CALL(tulle__lanczos_restart(s, *width));
    tulle__basis_extract(&s->basis, locked, *width, &best);
    s->basis.columns = count;
    tulle__lanczos_append(s, *width);
    memset(s->T, 0, (size_t)ld * (size_t)ld * sizeof *s->T);
    for (int i = 0; i < count + *width; i++) s->T[(int64_t)i * ld + i] = i < count ? s->wanted[i] : p->next[i - count];
    s->locked = s->tied = s->width = s->stuck = 0;
    s->least = INFINITY;
    TULLE_CALL(tulle__lanczos_project(s, 0)); /* should passes end here */
    s->converged = 0;
    return TULLE_OK;
}

static tulle_status run(struct probe *p, int coupled, bool *found, int *width)
{
    tulle_spectrum *s = p->s;
    const int least = (DIRECTIONS / s->options.block + SOME) * (s->filter.on ? s->filter.degree : 1);
    const int64_t begun = s->passes, steps = 2 * begun > least ? 2 * begun : least;
    int next = 0;
    TULLE_CALL(begin(p, coupled, width));
    s->missed = *width > 0;
    while (s->missed >= enough && s->passes - begun < steps && s->passes < s->allowed) {
        TULLE_CALL(tulle__lanczos_expand(s, *width, &next));
        TULLE_CALL(tulle__lanczos_project(s, next));
        tulle__lanczos_watch(s);
        *found = bring_forward(p);
        s->missed = *found ? 1 : chance(p, next);
        if (*found || s->missed < enough) break;
        if (!next) {
            TULLE_CALL(renew(p, width));
            continue;
        }
        if (s->basis.columns + next > s->most) TULLE_CALL(restart(p, next));
        tulle__lanczos_append(s, next);
        *width = next;
    }
    s->probes += s->passes - begun;
    return *found ? leave(p, width) : TULLE_OK;
}

bool tulle__lanczos_sure(const tulle_spectrum *s)
{
    return s->missed < enough;
}

tulle_status tulle__lanczos_probe(tulle_spectrum *s, int coupled, bool *found, int *width)
{
    struct probe p = {.s = s};
    *found = false;
    const tulle_status status = run(&p, coupled, found, width);
    for (int end = 0; end < ENDS; end++) tulle__free(p.path[end]);
    tulle__free(p.next);
    if (!*found) s->locked = s->options.count;
    return status;
}
