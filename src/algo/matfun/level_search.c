/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/level_search.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum {
    FEW = 8,     /* levels a submatrix that are found one by one: three of them take as long as a step */
    WINDOWS = 64 /* and moves, at most: each halves what is left, or more */
};

struct search {
    tulle__spectrum *x;
    tulle__reduction *reduction;
    tulle__anchor *at; /* [submatrices]: at the anchor */
    tulle__pool *pool;
    double states, slack, weight; /* weight: the mean one of a level */
    double subs;                  /* of all PEs */
    bool up;                      /* from the anchor */
    double from, to;              /* of an operation */
    double anchor;
    int64_t next, found, operations; /* atomic */
};

static bool is_kept(const struct search *s, int64_t k)
{
    return s->reduction[k].d != NULL;
}

typedef tulle_status (*operation)(struct search *s, int64_t k, double *room);

struct run {
    struct search *s;
    operation op;
    int64_t room;
};

static tulle_status work(void *arg, int thread, int nthreads)
{
    tulle_status status = TULLE_OK;
    struct run *run = arg;
    struct search *s = run->s;
    double *room = NULL;
    (void)thread, (void)nthreads;
    TULLE_TRY(tulle__alloc((size_t)run->room, sizeof *room, "columns of a step", &room));
    for (;;) {
        int64_t k = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
        if (k >= s->x->submatrices) break;
        if (is_kept(s, k)) TULLE_TRY(run->op(s, k, room));
    }
out:
    tulle__free(room);
    return status;
}

/* op on all kept submatrices. Local. */
static tulle_status run(struct search *s, operation op, bool steps)
{
    struct run run = {.s = s, .op = op};
    for (int64_t k = 0; steps && k < s->x->submatrices; k++)
        if (is_kept(s, k) && tulle__reduction_room(&s->reduction[k]) > run.room)
            run.room = tulle__reduction_room(&s->reduction[k]);
    s->next = s->found = s->operations = 0;
    tulle__kernel_begin(s->x->comm);
    tulle_status status = tulle__pool_run(s->pool, work, &run);
    tulle__work done = {.flops[TULLE_F64] = (double)s->operations};
    tulle__kernel_end(s->x->comm, &done);
    return status;
}

/* ---- operations ---- */

/* A count of levels, a level, and a step, a row and a column: for virtual time. */
enum { COUNT = 4, LEVEL = 300, STEP = 500 };

static void add_operations(struct search *s, int64_t operations)
{
    (void)__atomic_add_fetch(&s->operations, operations, __ATOMIC_RELAXED);
}

static tulle_status count(struct search *s, int64_t k, double *room)
{
    (void)room;
    int64_t levels =
        tulle__reduction_below(&s->reduction[k], s->to) - tulle__reduction_below(&s->reduction[k], s->from);
    (void)__atomic_add_fetch(&s->found, levels < 0 ? -levels : levels, __ATOMIC_RELAXED);
    add_operations(s, 2 * COUNT * s->reduction[k].n);
    return TULLE_OK;
}

/* Levels between `from` and `to` to the spectrum. */
static tulle_status extend(struct search *s, int64_t k, double *room)
{
    (void)room;
    tulle__spectrum *x = s->x;
    tulle__reduction *r = &s->reduction[k];
    int64_t at = x->first[k] + x->rows[k], levels;
    double *vectors = NULL;
    tulle_status status = tulle__reduction_levels(r, fmin(s->from, s->to), fmax(s->from, s->to), r->n - x->rows[k],
        x->level + at, x->weight + at, &levels, x->kT > 0 ? &vectors : NULL);
    if (status == TULLE_OK) x->rows[k] += levels;
    if (vectors) tulle__reduction_keep_levels(r, x->level + at, levels, vectors);
    add_operations(s, (COUNT + LEVEL * levels) * r->n);
    return status;
}

/* Traces at the anchor from those at `from`, by the levels in between. */
static tulle_status move_by_levels(struct search *s, int64_t k)
{
    tulle_status status;
    const tulle__reduction *r = &s->reduction[k];
    double *level = NULL, *weight = NULL, sign = s->to > s->from ? 1 : -1;
    int64_t levels;
    TULLE_TRY(tulle__alloc((size_t)r->n, sizeof *level, "levels", &level));
    TULLE_TRY(tulle__alloc((size_t)r->n, sizeof *weight, "levels", &weight));
    TULLE_TRY(
        tulle__reduction_levels(r, fmin(s->from, s->to), fmax(s->from, s->to), r->n, level, weight, &levels, NULL));
    for (int64_t i = 0; i < levels; i++) {
        s->at[k].sums[0] += sign * weight[i];
        s->at[k].sums[1] += sign * weight[i] * level[i];
    }
out:
    tulle__free(level);
    tulle__free(weight);
    return status;
}

/* The anchor from `from` to `to`. */
static tulle_status move(struct search *s, int64_t k, double *room)
{
    tulle__anchor *at = &s->at[k];
    tulle__reduction *r = &s->reduction[k];
    bool same = s->to > s->from ? at->above > s->to : at->below < s->to;
    s->x->rows[k] = 0;
    tulle__reduction_drop_levels(r);
    if (same) return TULLE_OK;
    tulle__gap gap = tulle__gap_of(r->n, r->d, r->e, s->to);
    tulle_status status = tulle__reduction_sums(r, s->to, room, at->sums) ? TULLE_OK : move_by_levels(s, k);
    at->below = gap.below;
    at->above = gap.above;
    add_operations(s, STEP * r->n * r->b);
    return status;
}

/* ---- sums of all PEs ---- */

/* Number of levels between a and b. Collective, agreed. */
static tulle_status count_between(struct search *s, double a, double b, double *levels)
{
    const tulle__spectrum *x = s->x;
    s->from = a;
    s->to = b;
    tulle_status status = run(s, count, false);
    *levels = (double)s->found;
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; !is_kept(s, k) && i < x->first[k] + x->rows[k]; i++)
            *levels += x->level[i] > fmin(a, b) && x->level[i] <= fmax(a, b);
    status = tulle_comm_agree(x->comm, status);
    return status == TULLE_OK ? tulle_comm_reduce_real(x->comm, TULLE_SUM, 1, levels) : status;
}

/* N at mu, which is the anchor or the end of the levels beyond it. Collective. */
static tulle_status number_at(const struct search *s, double mu, double *number)
{
    const tulle__spectrum *x = s->x;
    *number = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        bool kept = is_kept(s, k);
        if (kept) *number += s->at[k].sums[0];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            if (kept)
                *number += s->up ? x->weight[i] : -x->weight[i];
            else if (x->level[i] <= mu)
                *number += x->weight[i];
        }
    }
    return tulle_comm_reduce_real(x->comm, TULLE_SUM, 1, number);
}

/* Bounds of all levels. Collective. */
static tulle_status find_ends(const struct search *s, double ends[2])
{
    const tulle__spectrum *x = s->x;
    double most[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < x->submatrices; k++) {
        const tulle__reduction *r = &s->reduction[k];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            most[0] = fmax(most[0], -x->level[i]);
            most[1] = fmax(most[1], x->level[i]);
        }
        for (int64_t i = 0; is_kept(s, k) && i < r->n; i++) {
            double radius = (i ? fabs(r->e[i - 1]) : 0) + (i + 1 < r->n ? fabs(r->e[i]) : 0);
            most[0] = fmax(most[0], radius - r->d[i]);
            most[1] = fmax(most[1], radius + r->d[i]);
        }
    }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 2, most);
    double beyond = .01 * fmax(most[0] + most[1], 1e-4 * fmax(fabs(most[0]), fabs(most[1]))) + 1e-300;
    ends[0] = -most[0] - beyond;
    ends[1] = most[1] + beyond;
    return status;
}

/* Where intervals are divided: no number that a level is exactly, as their middle often is. */
#define DIVIDE .48196601125

/*
 * A place between `from` and `end` with `wanted` to 4 times as many levels before it; `end` if there are fewer.
 * Collective, agreed.
 */
static tulle_status find_place(struct search *s, double from, double end, double wanted, double *place, double *levels)
{
    double near = from, far = end, width = fabs(end - from);
    *place = end;
    tulle_status status = count_between(s, from, end, levels);
    while (status == TULLE_OK && *levels > 4 * wanted && fabs(far - near) > 1e-7 * width) {
        double middle = near + (far - near) * DIVIDE, before;
        status = count_between(s, from, middle, &before);
        if (before < wanted) {
            near = middle;
        } else {
            far = *place = middle;
            *levels = before;
        }
    }
    return status;
}

/* ---- the search ---- */

static bool is_beyond(const struct search *s, double number)
{
    return s->up ? number >= s->states - s->slack : number <= s->states + s->slack;
}

/* The search begins at the anchor again, where N is `number`. */
static void turn(struct search *s, double number)
{
    s->up = number < s->states;
}

/*
 * Windows from the anchor until N is beyond the number, or moves of the anchor: to both sides, between ends
 * that come nearer. Sets the bounds of the spectrum. Collective, agreed.
 */
static tulle_status approach(struct search *s)
{
    double ends[2], number, levels, explored = 0, reached = s->anchor;
    tulle_status status = find_ends(s, ends);
    if (status == TULLE_OK) status = number_at(s, s->anchor, &number);
    if (status == TULLE_OK) turn(s, number);
    double width = ends[1] - ends[0];
    for (int step = 0; status == TULLE_OK && fabs(number - s->states) > s->slack; step++) {
        double end = ends[s->up], place, few = FEW * s->subs, missing = fabs(number - s->states) / s->weight;
        double more = fmax(fmax(4, explored), 1.5 * missing);
        bool last = step >= WINDOWS || fabs(end - reached) < 1e-7 * width, moves = !last && explored + more > few;
        if (explored > 0 && is_beyond(s, number)) break;
        status = find_place(s, reached, end, moves ? fmax(missing, few) : more, &place, &levels);
        if (status != TULLE_OK) break;
        moves = moves && levels > few;
        s->from = moves ? s->anchor : reached;
        s->to = last ? end : place;
        status = tulle_comm_agree(s->x->comm, run(s, moves ? move : extend, moves));
        reached = s->to;
        explored += levels + 1;
        if (moves) {
            s->anchor = reached;
            explored = 0;
        }
        if (status == TULLE_OK) status = number_at(s, reached, &number);
        if (moves) {
            ends[!s->up] = s->from; /* the search turns if N is beyond */
            turn(s, number);
        }
        if (last) break;
    }
    s->x->bracketed = true;
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

/* What the spectrum has below its lower bound: traces at the anchor without the levels from there on. */
static void find_base(const struct search *s)
{
    tulle__spectrum *x = s->x;
    x->base[0] = x->base[1] = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!is_kept(s, k)) continue;
        for (int i = 0; i < 2; i++) x->base[i] += s->at[k].sums[i];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            if (x->level[i] > s->anchor) continue;
            x->base[0] -= x->weight[i];
            x->base[1] -= x->weight[i] * x->level[i];
        }
    }
}

/* That, and the levels next to its bounds. */
static void conclude(const struct search *s)
{
    tulle__spectrum *x = s->x;
    double last = -INFINITY;
    find_base(s);
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!is_kept(s, k)) continue;
        if (s->up || x->low >= s->anchor) {
            last = fmax(last, s->at[k].below);
            add_neighbour(x, k, s->at[k].below);
        } else {
            last = tulle__reduction_last_below(&s->reduction[k], x->low, last);
            add_neighbour(x, k, last);
        }
        add_neighbour(x, k, s->at[k].above);
    }
}

/* ---- temperature ---- */

/* Levels down to `low` and up to `high`. Collective, agreed. */
static tulle_status widen(struct search *s, double low, double high)
{
    tulle__spectrum *x = s->x;
    tulle_status status = TULLE_OK;
    if (low < x->low) {
        s->from = low;
        s->to = x->low;
        x->low = low;
        status = run(s, extend, false);
    }
    if (status == TULLE_OK && high > x->high) {
        s->from = x->high;
        s->to = high;
        x->high = high;
        status = run(s, extend, false);
    }
    return tulle_comm_agree(x->comm, status);
}

/*
 * Levels as far around mu as occupations are between 0 and 1, and those next to it; further ones in every step, if mu
 * moves. Collective, agreed.
 */
static tulle_status surround(struct search *s)
{
    tulle__spectrum *x = s->x;
    double ends[2], beyond = TULLE__BEYOND * x->kT, more = 0, below = -INFINITY, above = INFINITY;
    double low = x->low - beyond, high = x->high + beyond;
    tulle__occupation at;
    tulle_status status = find_ends(s, ends);
    ends[0] -= 2 * beyond;
    ends[1] += 2 * beyond;
    for (int step = 0;; step++) {
        bool down = fmax(low, ends[0])<x->low, up = fmin(high, ends[1])> x->high;
        if (status != TULLE_OK || (step && !down && !up)) break;
        status = widen(s, down ? fmax(low - more, ends[0]) : x->low, up ? fmin(high + more, ends[1]) : x->high);
        if (status != TULLE_OK) break;
        find_base(s);
        status = tulle__spectrum_find(x, s->states, &at);
        low = at.mu - beyond;
        high = at.mu + beyond;
        more = 2 * more + beyond;
    }
    if (status != TULLE_OK) return status;
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!is_kept(s, k)) continue;
        below = tulle__reduction_last_below(&s->reduction[k], at.mu, below);
        above = tulle__reduction_first_above(&s->reduction[k], at.mu, above);
        add_neighbour(x, k, below);
        add_neighbour(x, k, above);
    }
    return status;
}

/*
 * How exactly levels near mu are known: by the magnitude of the submatrices that have some, not of all.
 * Collective, agreed.
 */
static tulle_status find_tolerance(const struct search *s)
{
    tulle__spectrum *x = s->x;
    double most = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        double magnitude = 0;
        bool near = is_kept(s, k) && x->rows[k];
        const tulle__reduction *r = &s->reduction[k];
        for (int64_t i = 0; is_kept(s, k) && i < r->n; i++)
            magnitude =
                fmax(magnitude, fabs(r->d[i]) + (i ? fabs(r->e[i - 1]) : 0) + (i + 1 < r->n ? fabs(r->e[i]) : 0));
        for (int64_t i = x->first[k]; !is_kept(s, k) && i < x->first[k] + x->rows[k]; i++) {
            magnitude = fmax(magnitude, fabs(x->level[i]));
            near = near || (x->level[i] > x->low && x->level[i] <= x->high);
        }
        if (near) most = fmax(most, magnitude);
    }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 1, &most);
    x->tolerance = x->rounding * most;
    return status;
}

/* ---- all ---- */

/* The mean weight, and the number of submatrices. Collective. */
static tulle_status measure(struct search *s)
{
    double sums[3] = {0, 0, 0};
    const tulle__spectrum *x = s->x;
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!is_kept(s, k) && !x->rows[k]) continue;
        sums[0] += is_kept(s, k) ? (double)s->reduction[k].b : 0;
        sums[1] += is_kept(s, k) ? (double)s->reduction[k].n : (double)x->rows[k];
        sums[2]++;
        for (int64_t i = x->first[k]; !is_kept(s, k) && i < x->first[k] + x->rows[k]; i++) sums[0] += x->weight[i];
    }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_SUM, 3, sums);
    s->weight = sums[1] > 0 && sums[0] > 0 ? sums[0] / sums[1] : 1;
    s->subs = fmax(sums[2], 1);
    return status;
}

tulle_status tulle__level_search(tulle__spectrum *x, tulle__reduction *reduction, const tulle__anchor *at, double *mu,
    double states, tulle__pool *pool)
{
    tulle_status status;
    struct search s = {
        .x = x, .reduction = reduction, .pool = pool, .states = states, .slack = 1e-11 * (1 + states), .anchor = *mu};
    TULLE_TRY(tulle__alloc((size_t)x->submatrices, sizeof *s.at, "traces of submatrices", &s.at));
    if (x->submatrices) memcpy(s.at, at, (size_t)x->submatrices * sizeof *s.at);
out:
    status = tulle_comm_agree(x->comm, status);
    if (status == TULLE_OK) status = measure(&s);
    if (status == TULLE_OK) status = approach(&s);
    if (status == TULLE_OK) status = find_tolerance(&s);
    if (status == TULLE_OK && x->kT > 0)
        status = surround(&s);
    else if (status == TULLE_OK)
        conclude(&s);
    *mu = s.anchor;
    tulle__free(s.at);
    return tulle_comm_agree(x->comm, status);
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
    tulle_status status;
    double *room = NULL, low = INFINITY, high = -INFINITY, best = INFINITY, weight = (double)r->b / (double)r->n;
    TULLE_TRY(tulle__alloc((size_t)tulle__reduction_room(r), sizeof *room, "columns of a step", &room));
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
        goto out;
    }
    for (int step = 0; step < 24 && low < high && best > weight / 2; step++) {
        double middle = step || !apart ? low + (high - low) / 2 : next, sums[2];
        tulle__gap gap = tulle__gap_of(r->n, r->d, r->e, middle);
        if (!tulle__reduction_sums(r, middle, room, sums)) break;
        if (fabs(sums[0] - states) < best) {
            best = fabs(sums[0] - states);
            *mu = isinf(gap.below) || isinf(gap.above) ? middle : gap.below + (gap.above - gap.below) / 2;
        }
        if (sums[0] < states)
            low = gap.above;
        else
            high = gap.below;
    }
out:
    tulle__free(room);
    return status;
}
