/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/levels/level_operations.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/comm.h"

typedef tulle_status (*operation)(tulle__levels_state *s, int64_t k, double *workspace);

struct run {
    tulle__levels_state *s;
    operation op;
    int64_t capacity;
};

static tulle_status work(void *arg, int thread, int nthreads)
{
    struct run *run = arg;
    tulle__levels_state *s = run->s;
    TULLE__SCOPED double *workspace = NULL;
    (void)thread, (void)nthreads;
    TULLE_CALL(tulle__alloc((size_t)run->capacity, sizeof *workspace, "columns of a step", &workspace));
    for (;;) {
        int64_t k = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
        if (k >= s->x->submatrices) break;
        if (tulle__levels_stored(s, k)) TULLE_CALL(run->op(s, k, workspace));
    }
    return TULLE_OK;
}

/* op on all kept submatrices. Local. */
static tulle_status run(tulle__levels_state *s, operation op, bool steps)
{
    struct run run = {.s = s, .op = op};
    for (int64_t k = 0; steps && k < s->x->submatrices; k++)
        if (tulle__levels_stored(s, k) && tulle__reduction_workspace(&s->reduction[k]) > run.capacity)
            run.capacity = tulle__reduction_workspace(&s->reduction[k]);
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

static void add_operations(tulle__levels_state *s, int64_t operations)
{
    (void)__atomic_add_fetch(&s->operations, operations, __ATOMIC_RELAXED);
}

static tulle_status count(tulle__levels_state *s, int64_t k, double *workspace)
{
    (void)workspace;
    int64_t levels =
        tulle__reduction_below(&s->reduction[k], s->to) - tulle__reduction_below(&s->reduction[k], s->from);
    (void)__atomic_add_fetch(&s->found, levels < 0 ? -levels : levels, __ATOMIC_RELAXED);
    add_operations(s, 2 * COUNT * s->reduction[k].n);
    return TULLE_OK;
}

/* Levels between `from` and `to` to the spectrum. */
static tulle_status extend(tulle__levels_state *s, int64_t k, double *workspace)
{
    (void)workspace;
    tulle__spectrum *x = s->x;
    tulle__reduction *r = &s->reduction[k];
    int64_t at = x->first[k] + x->rows[k], levels;
    double *vectors = NULL;
    tulle_status status = tulle__reduction_levels(r, fmin(s->from, s->to), fmax(s->from, s->to), r->n - x->rows[k],
        x->level + at, x->weight + at, &levels, x->kT > 0 && !s->bare ? &vectors : NULL);
    if (status == TULLE_OK) x->rows[k] += levels;
    if (vectors) tulle__reduction_keep_levels(r, x->level + at, levels, vectors);
    add_operations(s, (COUNT + LEVEL * levels) * r->n);
    return status;
}

/* Traces at the anchor from those at `from`, by the levels in between. */
static tulle_status move_by_levels(tulle__levels_state *s, int64_t k)
{
    const tulle__reduction *r = &s->reduction[k];
    TULLE__SCOPED double *level = NULL, *weight = NULL;
    double sign = s->to > s->from ? 1 : -1;
    int64_t levels;
    TULLE_CALL(tulle__alloc((size_t)r->n, sizeof *level, "levels", &level));
    TULLE_CALL(tulle__alloc((size_t)r->n, sizeof *weight, "levels", &weight));
    TULLE_CALL(
        tulle__reduction_levels(r, fmin(s->from, s->to), fmax(s->from, s->to), r->n, level, weight, &levels, NULL));
    for (int64_t i = 0; i < levels; i++) {
        s->at[k].sums[0] += sign * weight[i];
        s->at[k].sums[1] += sign * weight[i] * level[i];
    }
    return TULLE_OK;
}

/* The anchor from `from` to `to`. */
static tulle_status move(tulle__levels_state *s, int64_t k, double *workspace)
{
    tulle__anchor *at = &s->at[k];
    tulle__reduction *r = &s->reduction[k];
    bool same = s->to > s->from ? at->above > s->to : at->below < s->to;
    s->x->rows[k] = 0;
    tulle__reduction_drop_levels(r);
    if (same) return TULLE_OK;
    tulle__gap gap = tulle__gap_of(r->n, r->d, r->e, s->to);
    tulle_status status = tulle__reduction_sums(r, s->to, workspace, at->sums) ? TULLE_OK : move_by_levels(s, k);
    at->below = gap.below;
    at->above = gap.above;
    add_operations(s, STEP * r->n * r->b);
    return status;
}

/* ---- sums of all PEs ---- */

static tulle_status levels_between(tulle__levels_state *s, double a, double b, double *levels)
{
    const tulle__spectrum *x = s->x;
    s->from = a;
    s->to = b;
    tulle_status status = run(s, count, false);
    *levels = (double)s->found;
    for (int64_t k = 0; k < x->submatrices; k++)
        for (int64_t i = x->first[k]; !tulle__levels_stored(s, k) && i < x->first[k] + x->rows[k]; i++)
            *levels += x->level[i] > fmin(a, b) && x->level[i] <= fmax(a, b);
    TULLE_CALL(tulle_comm_agree(x->comm, status));
    return tulle_comm_reduce_real(x->comm, TULLE_SUM, 1, levels);
}

tulle_status tulle__levels_number(const tulle__levels_state *s, double mu, double *number)
{
    const tulle__spectrum *x = s->x;
    *number = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        bool stored = tulle__levels_stored(s, k);
        if (stored) *number += s->at[k].sums[0];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            if (stored)
                *number += s->up ? x->weight[i] : -x->weight[i];
            else if (x->level[i] <= mu)
                *number += x->weight[i];
        }
    }
    return tulle_comm_reduce_real(x->comm, TULLE_SUM, 1, number);
}

tulle_status tulle__levels_ends(const tulle__levels_state *s, double ends[2])
{
    const tulle__spectrum *x = s->x;
    double most[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < x->submatrices; k++) {
        const tulle__reduction *r = &s->reduction[k];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            most[0] = fmax(most[0], -x->level[i]);
            most[1] = fmax(most[1], x->level[i]);
        }
        for (int64_t i = 0; tulle__levels_stored(s, k) && i < r->n; i++) {
            double radius = (i ? fabs(r->e[i - 1]) : 0) + (i + 1 < r->n ? fabs(r->e[i]) : 0);
            most[0] = fmax(most[0], radius - r->d[i]);
            most[1] = fmax(most[1], radius + r->d[i]);
        }
    }
    tulle_status status = tulle_comm_reduce_real(x->comm, TULLE_MAX, 2, most);
    if (isinf(most[0])) most[0] = most[1] = 0; /* there are no levels */
    double beyond = .01 * fmax(most[0] + most[1], 1e-4 * fmax(fabs(most[0]), fabs(most[1]))) + 1e-280;
    ends[0] = -most[0] - beyond;
    ends[1] = most[1] + beyond;
    return status;
}

/* The place where intervals are divided: no number that a level is exactly, as their middle often is. */
#define DIVIDE .48196601125

tulle_status tulle__levels_place(
    tulle__levels_state *s, double from, double end, double wanted, double *place, double *levels)
{
    double near = from, far = end, width = fabs(end - from);
    *place = end;
    tulle_status status = levels_between(s, from, end, levels);
    while (status == TULLE_OK && *levels > 4 * wanted && fabs(far - near) > 1e-7 * width) {
        double middle = near + (far - near) * DIVIDE, before;
        status = levels_between(s, from, middle, &before);
        if (before < wanted) {
            near = middle;
        } else {
            far = *place = middle;
            *levels = before;
        }
    }
    return status;
}

void tulle__levels_base(const tulle__levels_state *s)
{
    tulle__spectrum *x = s->x;
    x->base[0] = x->base[1] = 0;
    for (int64_t k = 0; k < x->submatrices; k++) {
        if (!tulle__levels_stored(s, k)) continue;
        for (int i = 0; i < 2; i++) x->base[i] += s->at[k].sums[i];
        for (int64_t i = x->first[k]; i < x->first[k] + x->rows[k]; i++) {
            if (x->level[i] > s->anchor) continue;
            x->base[0] -= x->weight[i];
            x->base[1] -= x->weight[i] * x->level[i];
        }
    }
}

/* op between two places. Agreed. */
static tulle_status run_between(tulle__levels_state *s, operation op, double from, double to, bool steps)
{
    s->from = from;
    s->to = to;
    return tulle_comm_agree(s->x->comm, run(s, op, steps));
}

tulle_status tulle__levels_extend(tulle__levels_state *s, double from, double to)
{
    return run_between(s, extend, from, to, false);
}

tulle_status tulle__levels_move(tulle__levels_state *s, double to)
{
    const tulle_status status = run_between(s, move, s->anchor, to, true);
    s->anchor = to;
    return status;
}

tulle_status tulle__levels_widen(tulle__levels_state *s, double low, double high)
{
    tulle__spectrum *x = s->x;
    const double from[2] = {x->low, x->high};
    x->low = fmin(x->low, low);
    x->high = fmax(x->high, high);
    if (low < from[0]) TULLE_CALL(tulle__levels_extend(s, low, from[0]));
    if (high > from[1]) TULLE_CALL(tulle__levels_extend(s, from[1], high));
    return TULLE_OK;
}
