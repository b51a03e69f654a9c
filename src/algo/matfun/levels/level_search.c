/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/levels/level_search.h"

#include <math.h>
#include <string.h>

#include "algo/matfun/levels/frontier.h"
#include "algo/matfun/levels/level_operations.h"
#include "base/error.h"
#include "base/memory.h"

enum {
    FEW = 8,     /* levels a submatrix that are found one by one: three of them take as long as a step */
    WINDOWS = 64 /* and moves, at most: each halves what is left, or more */
};

#define LEAST 1e-305

/* ---- the search ---- */

static bool is_beyond(const tulle__levels_state *s, double number)
{
    return s->up ? number >= s->states - s->slack : number <= s->states + s->slack;
}

/* The search begins at the anchor again, where N is `number`. */
static void turn(tulle__levels_state *s, double number)
{
    s->up = number < s->states;
}

/*
 * Windows from the anchor until N is beyond the number, or moves of the anchor: to both sides, between ends
 * that come nearer. Sets the bounds of the spectrum. Collective, agreed.
 */
static tulle_status approach(tulle__levels_state *s)
{
    double ends[2], number, levels, explored = 0, reached = s->anchor;
    tulle_status status = tulle__levels_ends(s, ends);
    if (status == TULLE_OK) status = tulle__levels_number(s, s->anchor, &number);
    if (status == TULLE_OK) turn(s, number);
    double width = ends[1] - ends[0];
    for (int step = 0; status == TULLE_OK && fabs(number - s->states) > s->slack; step++) {
        double end = ends[s->up], place, few = FEW * s->subs, missing = fabs(number - s->states) / s->weight;
        double more = fmax(fmax(4, explored), 1.5 * missing);
        bool last = step >= WINDOWS || fabs(end - reached) < 1e-7 * width, moves = !last && explored + more > few;
        if (explored > 0 && is_beyond(s, number)) break;
        status = tulle__levels_place(s, reached, end, moves ? fmax(missing, few) : more, &place, &levels);
        if (status != TULLE_OK) break;
        moves = moves && levels > few;
        if (last) place = end;
        status = moves ? tulle__levels_move(s, place) : tulle__levels_extend(s, reached, place);
        reached = place;
        explored += levels + 1;
        if (moves) explored = 0;
        if (status == TULLE_OK) status = tulle__levels_number(s, reached, &number);
        if (moves) {
            ends[!s->up] = s->from; /* the search turns if N is beyond */
            turn(s, number);
        }
        if (last) break;
    }
    s->x->bracketed = true;
    s->x->settled = !(s->anchor < reached || s->anchor > reached);
    s->x->mu = s->anchor;
    s->x->low = fmin(s->anchor, reached);
    s->x->high = fmax(s->anchor, reached);
    return status;
}

/* A level without a weight: for the gap. */
static void add_neighbour(tulle__spectrum *x, int64_t k, double level)
{
    int64_t at = x->first[k] + x->rows[k];
    if (isinf(level) || (level > x->low && level <= x->high) || at == x->first[k + 1]) return;
    x->level[at] = level;
    x->weight[at] = 0;
    x->rows[k]++;
}

/* The levels next to the bounds of the spectrum. */
static void add_neighbours(const tulle__levels_state *s)
{
    tulle__spectrum *x = s->x;
    double below = -INFINITY, above = INFINITY;
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!tulle__levels_stored(s, k)) continue;
        below = tulle__reduction_last_below(&s->reduction[k], x->low, below);
        above = tulle__reduction_first_above(&s->reduction[k], x->high, above);
        add_neighbour(x, k, below);
        add_neighbour(x, k, above);
    }
}

/* ---- temperature ---- */

/*
 * Levels as far around mu as occupations are between 0 and 1; further ones in every step, if mu moves. Collective,
 * agreed.
 */
static tulle_status surround(tulle__levels_state *s)
{
    tulle__spectrum *x = s->x;
    double ends[2], beyond = TULLE__BEYOND * x->kT, more = 0;
    double low = x->low - beyond, high = x->high + beyond;
    tulle__occupation at;
    tulle_status status = tulle__levels_ends(s, ends);
    ends[0] -= 2 * beyond;
    ends[1] += 2 * beyond;
    for (int step = 0;; step++) {
        bool down = fmax(low, ends[0])<x->low, up = fmin(high, ends[1])> x->high;
        if (status != TULLE_OK || (step && !down && !up)) break;
        status = tulle__levels_widen(
            s, down ? fmax(low - more, ends[0]) : x->low, up ? fmin(high + more, ends[1]) : x->high);
        if (status != TULLE_OK) break;
        tulle__levels_base(s);
        status = tulle__spectrum_find(x, s->states, &at);
        low = at.mu - beyond;
        high = at.mu + beyond;
        more = 2 * more + beyond;
    }
    if (status == TULLE_OK) x->mu = at.mu;
    return status;
}

/*
 * Accuracy of levels near mu: by the magnitude of the submatrices that have some, not of all.
 * Collective, agreed.
 */
static tulle_status find_tolerance(const tulle__levels_state *s)
{
    tulle__spectrum *x = s->x;
    double most = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        double magnitude = 0;
        bool near = tulle__levels_stored(s, k) && x->rows[k];
        const tulle__reduction *r = &s->reduction[k];
        for (int64_t i = 0; tulle__levels_stored(s, k) && i < r->n; i++)
            magnitude =
                fmax(magnitude, fabs(r->d[i]) + (i ? fabs(r->e[i - 1]) : 0) + (i + 1 < r->n ? fabs(r->e[i]) : 0));
        for (int64_t i = x->first[k]; !tulle__levels_stored(s, k) && i < x->first[k] + x->rows[k]; i++) {
            magnitude = fmax(magnitude, fabs(x->level[i]));
            near = near || (x->level[i] > x->low && x->level[i] <= x->high);
        }
        if (near) most = fmax(most, magnitude);
    }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 1, &most);
    x->tolerance = x->rounding * most + LEAST; /* levels of 0 are known to a few of the least numbers */
    return status;
}

/* ---- all ---- */

/* The mean weight, and the number of submatrices. Collective. */
static tulle_status measure(tulle__levels_state *s)
{
    double sums[3] = {0, 0, 0};
    const tulle__spectrum *x = s->x;
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!tulle__levels_stored(s, k) && !x->rows[k]) continue;
        sums[0] += tulle__levels_stored(s, k) ? (double)s->reduction[k].b : 0;
        sums[1] += tulle__levels_stored(s, k) ? (double)s->reduction[k].n : (double)x->rows[k];
        sums[2]++;
        for (int64_t i = x->first[k]; !tulle__levels_stored(s, k) && i < x->first[k] + x->rows[k]; i++)
            sums[0] += x->weight[i];
    }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_SUM, 3, sums);
    s->weight = sums[1] > 0 && sums[0] > 0 ? sums[0] / sums[1] : 1;
    s->subs = fmax(sums[2], 1);
    return status;
}

static tulle_status search(tulle__levels_state *s)
{
    TULLE_CALL(measure(s));
    TULLE_CALL(approach(s));
    TULLE_CALL(find_tolerance(s));
    if (s->x->kT > 0) TULLE_CALL(surround(s));
    TULLE_CALL(tulle__frontier_reach(s));
    add_neighbours(s);
    return TULLE_OK;
}

tulle_status tulle__level_search(tulle__spectrum *x, tulle__reduction *reduction, const tulle__anchor *at, double *mu,
    double states, tulle__pool *pool)
{
    tulle_status status;
    tulle__levels_state s = {
        .x = x, .reduction = reduction, .pool = pool, .states = states, .slack = 1e-11 * (1 + states), .anchor = *mu};
    TULLE_TRY(tulle__alloc((size_t)x->submatrices, sizeof *s.at, "traces of submatrices", &s.at));
    if (x->submatrices) memcpy(s.at, at, (size_t)x->submatrices * sizeof *s.at);
out:
    status = tulle_comm_agree(x->comm, status);
    if (status == TULLE_OK) status = search(&s);
    *mu = s.anchor;
    tulle__free(s.at);
    return tulle_comm_agree(x->comm, status);
}

tulle_status tulle__level_gap(
    tulle__spectrum *x, tulle__reduction *reduction, tulle__anchor *at, double mu, tulle__pool *pool)
{
    tulle__levels_state s = {.x = x, .reduction = reduction, .at = at, .pool = pool, .anchor = mu, .states = -1};
    x->bracketed = true;
    x->low = x->high = x->mu = mu;
    return tulle__frontier_reach(&s);
}

/* The middle between the level of that number, from 0, and the next lower one. */
static double middle_below(const tulle__reduction *r, int64_t level, double low, double high)
{
    for (int step = 0; step < 60; step++) {
        double middle = low + (high - low) / 2;
        int64_t below = tulle__reduction_below(r, middle);
        if (below == level) break;
        *(below < level ? &low : &high) = middle;
    }
    return low + (high - low) / 2;
}

tulle_status tulle__level_guess(const tulle__reduction *r, double states, double *mu)
{
    TULLE__SCOPED double *workspace = NULL;
    double low = INFINITY, high = -INFINITY, best = INFINITY, weight = (double)r->b / (double)r->n;
    TULLE_CALL(tulle__alloc((size_t)tulle__reduction_workspace(r), sizeof *workspace, "columns of a step", &workspace));
    for (int64_t i = 0; i < r->n; i++) {
        double radius = (i ? fabs(r->e[i - 1]) : 0) + (i + 1 < r->n ? fabs(r->e[i]) : 0);
        low = fmin(low, r->d[i] - radius);
        high = fmax(high, r->d[i] + radius);
    }
    /* first as if all levels had the same weight, as they nearly have in many columns; half of it is near enough */
    double next = middle_below(r, (int64_t)round(states / weight), low, high);
    tulle__gap around = tulle__gap_of(r->n, r->d, r->e, next);
    bool apart = around.above - around.below > 1e-9 * fmax(fabs(low), fabs(high));
    if (apart && 4 * r->b >= r->n) {
        *mu = next;
        return TULLE_OK;
    }
    for (int step = 0; step < 24 && low < high && best > weight / 2; step++) {
        double middle = step || !apart ? low + (high - low) / 2 : next, sums[2];
        tulle__gap gap = tulle__gap_of(r->n, r->d, r->e, middle);
        if (!tulle__reduction_sums(r, middle, workspace, sums)) break;
        if (fabs(sums[0] - states) < best) {
            best = fabs(sums[0] - states);
            *mu = isinf(gap.below) || isinf(gap.above) ? middle : gap.below + (gap.above - gap.below) / 2;
        }
        if (sums[0] < states)
            low = gap.above;
        else
            high = gap.below;
    }
    return TULLE_OK;
}
