/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of GrowLocal (leveled.h): supersteps in which a worker solves rows that require nothing of the others' rows
 * of the same superstep, as many as pay. All are found for a first worker's share of 20 rows, of 30, 45, ...; a larger
 * one is taken as long as
 *
 *   work of all workers / (the most work of one + WAIT)
 *
 * stays within a few per cent of the largest so far, since long supersteps have few waits, and too long ones leave
 * workers without rows. A worker takes rows that only it can solve in this superstep first, then what any may, in the
 * order of the triangle.
 */
#include <string.h>

#include "algo/trisolve/rows/leveled.h"
#include "base/attend.h"
#include "base/error.h"

/* Work of a wait in entries; rows of the smallest share; owners of a row's requirements in a superstep. */
enum { WAIT = 1000, LEAST = 20, NOBODY = -1, SEVERAL = -2 };
static const double larger = 1.5, as_good = .97;

/* Steps, the smallest first: a binary heap. */
struct heap {
    int32_t *step;
    int64_t count, capacity;
};

struct growing {
    const tulle__triangle *t;
    int workers;
    int64_t *first; /* [n + 1]: steps that require step s are after[first[s] .. first[s + 1] - 1] */
    int32_t *after;
    int32_t *missing; /* [n]: requirements that are in no superstep before this one, */
    int32_t *left;    /* and without this one's rows so far */
    int32_t *work;    /* [n] */
    int32_t *owner;   /* [n]: the worker of all rows of this superstep that a step requires */
    int32_t *touched; /* [n]: steps whose `left` and `owner` are not those of a new superstep */
    int64_t ntouched;
    struct heap ready, common, own; /* steps without missing requirements: of all, not taken yet, of one worker */
    int32_t *share;                 /* [n]: the rows of a superstep, worker by worker, and the best so far */
    int32_t *best;
    int64_t *end, *best_end; /* [workers + 1]: into these */
    /* supersteps: the rows of all, worker by worker in each */
    int32_t *sorted;
    int32_t *count; /* [supersteps * workers] */
    int64_t supersteps, capacity;
};

/* ---- heaps ---- */

static tulle_status push(struct heap *h, int32_t step)
{
    TULLE_CALL(tulle__grow(h->count, &h->capacity, 256, sizeof *h->step, "rows that may be solved", &h->step));
    int64_t at = h->count++;
    for (; at && h->step[(at - 1) / 2] > step; at = (at - 1) / 2) h->step[at] = h->step[(at - 1) / 2];
    h->step[at] = step;
    return TULLE_OK;
}

static int32_t pop(struct heap *h)
{
    const int32_t least = h->step[0], last = h->step[--h->count];
    int64_t at = 0;
    for (int64_t c; (c = 2 * at + 1) < h->count; at = c) {
        if (c + 1 < h->count && h->step[c + 1] < h->step[c]) c++;
        if (h->step[c] >= last) break;
        h->step[at] = h->step[c];
    }
    h->step[at] = last;
    return least;
}

static tulle_status copy(struct heap *to, const struct heap *from)
{
    if (from->count > to->capacity) {
        TULLE_CALL(tulle__realloc((size_t)from->capacity, sizeof *to->step, "rows that may be solved", &to->step));
        to->capacity = from->capacity;
    }
    if (from->count) memcpy(to->step, from->step, (size_t)from->count * sizeof *to->step);
    to->count = from->count;
    return TULLE_OK;
}

/* ---- requirements ---- */

static int64_t step_of(const tulle__triangle *t, int32_t row)
{
    return t->upper ? t->n - 1 - row : row;
}

static tulle_status find_requirements(struct growing *g)
{
    const tulle__triangle *t = g->t;
    const size_t n = (size_t)t->n;
    int cursor = 0;
    int64_t passed = 0;
    TULLE_CALL(tulle__alloc_zero(n + 2, sizeof *g->first, "an order of rows", &g->first));
    TULLE_CALL(tulle__alloc(n, sizeof *g->missing, "an order of rows", &g->missing));
    TULLE_CALL(tulle__alloc(n, sizeof *g->work, "an order of rows", &g->work));
    for (int64_t s = 0; s < t->n; s++) {
        const tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, s), &cursor);
        g->missing[s] = (int32_t)(span.to - span.from);
        g->work[s] = g->missing[s] + 3;
        for (int64_t e = span.from; e < span.to; e++) g->first[step_of(t, span.tile->colind[e]) + 2]++;
        (void)tulle__attend_each(1024, &passed); /* an interruption is met by the operation */
    }
    for (int64_t s = 0; s < t->n; s++) g->first[s + 2] += g->first[s + 1];
    TULLE_CALL(tulle__alloc((size_t)g->first[t->n + 1], sizeof *g->after, "an order of rows", &g->after));
    for (int64_t s = 0; s < t->n; s++) {
        const tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, s), &cursor);
        for (int64_t e = span.from; e < span.to; e++)
            g->after[g->first[step_of(t, span.tile->colind[e]) + 1]++] = (int32_t)s;
    }
    return TULLE_OK;
}

static tulle_status begin(struct growing *g)
{
    const size_t n = (size_t)g->t->n, ends = (size_t)g->workers + 1;
    TULLE_CALL(find_requirements(g));
    TULLE_CALL(tulle__alloc(n, sizeof *g->left, "an order of rows", &g->left));
    TULLE_CALL(tulle__alloc(n, sizeof *g->owner, "an order of rows", &g->owner));
    TULLE_CALL(tulle__alloc(n, sizeof *g->touched, "an order of rows", &g->touched));
    TULLE_CALL(tulle__alloc(n, sizeof *g->share, "an order of rows", &g->share));
    TULLE_CALL(tulle__alloc(n, sizeof *g->best, "an order of rows", &g->best));
    TULLE_CALL(tulle__alloc(n, sizeof *g->sorted, "an order of rows", &g->sorted));
    TULLE_CALL(tulle__alloc(ends, sizeof *g->end, "an order of rows", &g->end));
    TULLE_CALL(tulle__alloc(ends, sizeof *g->best_end, "an order of rows", &g->best_end));
    for (int32_t s = 0; s < (int32_t)n; s++) {
        g->left[s] = g->missing[s];
        g->owner[s] = NOBODY;
        if (!g->missing[s]) TULLE_CALL(push(&g->ready, s));
    }
    return TULLE_OK;
}

static void end(struct growing *g)
{
    void *const memory[] = {g->first, g->after, g->missing, g->left, g->work, g->owner, g->touched, g->ready.step,
        g->common.step, g->own.step, g->share, g->best, g->end, g->best_end, g->sorted, g->count};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) tulle__free(memory[i]);
}

/* ---- a superstep ---- */

/* A worker has solved a step: others that it alone can solve now become its own. */
static tulle_status pass_on(struct growing *g, int worker, int32_t step)
{
    for (int64_t e = g->first[step]; e < g->first[step + 1]; e++) {
        const int32_t s = g->after[e];
        if (g->owner[s] == NOBODY) g->touched[g->ntouched++] = s;
        g->owner[s] = g->owner[s] == NOBODY || g->owner[s] == worker ? worker : SEVERAL;
        if (--g->left[s] == 0 && g->owner[s] == worker) TULLE_CALL(push(&g->own, s));
    }
    return TULLE_OK;
}

/* Shares of all workers for `rows` of the first one's; *score as above, *whole: there were so many. */
static tulle_status try_share(struct growing *g, int64_t rows, double *score, bool *whole)
{
    int64_t count = 0, total = 0, first = 0, most = 0;
    TULLE_CALL(copy(&g->common, &g->ready));
    g->end[0] = 0;
    for (int w = 0; w < g->workers; w++) {
        int64_t work = 0;
        g->own.count = 0;
        while (w ? work < first : count < rows) {
            if (!g->own.count && !g->common.count) break;
            const int32_t step = pop(g->own.count ? &g->own : &g->common);
            g->share[count++] = step;
            work += g->work[step];
            TULLE_CALL(pass_on(g, w, step));
        }
        if (!w) first = work;
        if (work > most) most = work;
        total += work;
        g->end[w + 1] = count;
    }
    for (; g->ntouched; g->ntouched--) {
        const int32_t s = g->touched[g->ntouched - 1];
        g->left[s] = g->missing[s];
        g->owner[s] = NOBODY;
    }
    *score = (double)total / (double)(most + WAIT);
    *whole = g->end[1] == rows;
    return TULLE_OK;
}

/* The best shares, from `rows` of the first worker on; *rows: of the best. */
static tulle_status grow(struct growing *g, int64_t left, int64_t *rows)
{
    double best = 0;
    bool whole = true;
    for (int64_t tried = *rows; whole; tried = (int64_t)((double)tried * larger)) {
        double score;
        TULLE_CALL(try_share(g, tried, &score, &whole));
        if (score < as_good * best) break;
        if (score > best) best = score;
        int32_t *shares = g->best;
        int64_t *ends = g->best_end;
        g->best = g->share, g->share = shares;
        g->best_end = g->end, g->end = ends;
        *rows = tried;
        whole &= g->best_end[g->workers] < left;
    }
    return TULLE_OK;
}

/* The best shares become a superstep, whose rows are `done` and after of the sorted ones. */
static tulle_status take(struct growing *g, int64_t done)
{
    const int64_t count = g->best_end[g->workers];
    const size_t size = (size_t)g->workers * sizeof *g->count;
    TULLE_CALL(tulle__grow(g->supersteps, &g->capacity, 64, size, "supersteps", &g->count));
    for (int w = 0; w < g->workers; w++)
        g->count[g->supersteps * g->workers + w] = (int32_t)(g->best_end[w + 1] - g->best_end[w]);
    g->supersteps++;
    for (int64_t i = 0; i < count; i++) {
        const int32_t step = g->best[i];
        g->sorted[done + i] = (int32_t)tulle__triangle_row(g->t, step);
        g->missing[step] = -1;
    }
    /* those that are ready still, and those that have become so */
    const int64_t former = g->ready.count;
    g->ready.count = 0;
    TULLE_CALL(copy(&g->common, &(struct heap){g->ready.step, former, g->ready.capacity}));
    for (int64_t i = 0; i < former; i++)
        if (g->missing[g->common.step[i]] == 0) TULLE_CALL(push(&g->ready, g->common.step[i]));
    for (int64_t i = 0; i < count; i++)
        for (int64_t e = g->first[g->best[i]]; e < g->first[g->best[i] + 1]; e++) {
            const int32_t s = g->after[e];
            if (g->missing[s] < 0) continue;
            g->left[s] = --g->missing[s];
            if (!g->missing[s]) TULLE_CALL(push(&g->ready, s));
        }
    return TULLE_OK;
}

static tulle_status grow_all(struct growing *g)
{
    int64_t rows = LEAST, passed = 0;
    for (int64_t done = 0; done < g->t->n; done += g->best_end[g->workers]) {
        TULLE_CALL(grow(g, g->t->n - done, &rows));
        TULLE_CALL(take(g, done));
        rows = rows / 2 > LEAST ? rows / 2 : LEAST;
        (void)tulle__attend_each(1, &passed);
    }
    return TULLE_OK;
}

tulle_status tulle__growlocal_sort(
    const tulle__triangle *t, int workers, int32_t **sorted, int32_t **count, int64_t *supersteps)
{
    struct growing g = {.t = t, .workers = workers};
    tulle_status status = begin(&g);
    if (status == TULLE_OK) status = grow_all(&g);
    if (status == TULLE_OK) {
        *sorted = g.sorted;
        *count = g.count;
        *supersteps = g.supersteps;
        g.sorted = g.count = NULL;
    }
    end(&g);
    return status;
}
