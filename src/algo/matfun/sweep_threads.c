/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submatrices that all threads of a PE compute together. The largest ones come first. Computing w of them
 * by all of T threads takes the time of their sum over a speed-up s < T; the others, one a thread, are then
 * simulated as the queue deals them. The w with the least time is taken: 0 where there are many of one
 * size, all that are much larger than the rest. This is the level of OpenMP in section IV-E of the paper,
 * which has it for the whole PE.
 */
#include <math.h>
#include <stdlib.h>

#include "algo/matfun/sweep_state.h"
#include "base/error.h"
#include "base/host/blas.h"

/* Half of a tridiagonalisation reads the matrix from memory, a line at a time. */
#define TOGETHER .5 /* of ideal, for each thread after the first */

enum {
    WIDE_LEAST = 512, /* rows: smaller ones gain nothing from several threads */
    CANDIDATES = 4    /* so many times the number of threads */
};

static double work_of(const struct tulle__sweep_state *w, int64_t k)
{
    return tulle__submatrix_work((double)w->s->sub[k].n);
}

/* Time of order[wide ..], one a thread, and of those before it, by all threads. */
static double time_of(const struct tulle__sweep_state *w, int64_t wide, int threads, double *busy)
{
    double together = 0, last = 0;
    for (int64_t k = 0; k < wide; k++) together += work_of(w, w->order[k]);
    for (int t = 0; t < threads; t++) busy[t] = 0;
    for (int64_t k = wide; k < w->count; k++) {
        int first = 0;
        for (int t = 1; t < threads; t++)
            if (busy[t] < busy[first]) first = t;
        busy[first] += work_of(w, w->order[k]);
        last = fmax(last, busy[first]);
    }
    return together / (1 + TOGETHER * (threads - 1)) + last;
}

tulle_status tulle__sweep_choose_wide(struct tulle__sweep_state *w, int threads)
{
    TULLE__SCOPED double *busy = NULL;
    double least = INFINITY;
    int64_t begin = 0;
    w->wide = 0;
    while (begin < w->count && w->s->sub[w->order[begin]].n > w->narrow) begin++;
    w->wide = begin;
    if (threads < 2 || !w->can_be_wide) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)threads, sizeof *busy, "times of threads", &busy));
    for (int64_t wide = begin; wide <= w->count && wide <= begin + (int64_t)CANDIDATES * threads; wide++) {
        if (wide > begin && w->s->sub[w->order[wide - 1]].n < WIDE_LEAST) break;
        double time = time_of(w, wide, threads, busy);
        if (time >= least * (1 - 1e-9)) continue;
        least = time;
        w->wide = wide;
    }
    return TULLE_OK;
}

static int by_size(const void *left, const void *right)
{
    const int64_t *x = left, *y = right;
    return x[1] != y[1] ? (x[1] < y[1] ? 1 : -1) : (x[0] > y[0]) - (x[0] < y[0]);
}

tulle_status tulle__sweep_order(struct tulle__sweep_state *w, int threads)
{
    tulle_status status;
    int64_t most = w->end - w->begin, (*key)[2] = NULL;
    w->count = w->wide = 0;
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *key, "an order of submatrices", &key));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *w->order, "an order of submatrices", &w->order));
    for (int64_t k = w->begin; k < w->end; k++) {
        if (tulle__sweep_skips(w, k)) continue;
        key[w->count][0] = k;
        key[w->count++][1] = w->s->sub[k].n;
    }
    qsort(key, (size_t)w->count, sizeof *key, by_size);
    for (int64_t k = 0; k < w->count; k++) w->order[k] = key[k][0];
    if (w->threads) TULLE_TRY(tulle__sweep_choose_wide(w, threads));
out:
    tulle__free(key);
    return status;
}

/* ---- workspaces ---- */

/* Rows, columns and block rows of the largest submatrices of up to `most` rows. */
struct extent {
    int64_t n, b, rows;
};

static struct extent extent_of(const struct tulle__sweep_state *w, int64_t most)
{
    struct extent x = {0, 0, 0};
    for (int64_t k = 0; k < w->s->count; k++) {
        const tulle__submatrix *sub = &w->s->sub[k];
        if (tulle__sweep_skips(w, k) || sub->n > most) continue;
        x.n = sub->n > x.n ? sub->n : x.n;
        x.b = sub->b > x.b ? sub->b : x.b;
        x.rows = sub->nrows > x.rows ? sub->nrows : x.rows;
    }
    return x;
}

static size_t bytes_of(const struct tulle__sweep_state *w, struct extent x)
{
    return tulle__eigen_bytes(tulle__dense_type(w->plan), w->plan->S != NULL, x.n, x.b);
}

/* The extent of what one thread computes, so that memory holds the workspace of `threads` threads. */
static struct extent narrow_extent(const struct tulle__sweep_state *w, struct extent all, int threads, size_t left)
{
    struct extent x = all;
    size_t others = (size_t)threads - 1;
    while (x.n > 0 && (bytes_of(w, all) > left || others > (left - bytes_of(w, all)) / bytes_of(w, x)))
        x = extent_of(w, x.n - 1);
    return x;
}

static tulle_status make_thread(struct tulle__sweep_state *w, struct tulle__sweep_thread *x, struct extent extent)
{
    x->least = INFINITY;
    x->most = -INFINITY;
    TULLE_CALL(tulle__eigen_init(&x->eigen, tulle__dense_type(w->plan), w->plan->S != NULL, extent.n, extent.b));
    TULLE_CALL(tulle__alloc((size_t)extent.rows, sizeof *x->start, "rows of a submatrix", &x->start));
    return tulle__alloc((size_t)extent.b, sizeof *x->column, "columns of a submatrix", &x->column);
}

tulle_status tulle__sweep_make_threads(struct tulle__sweep_state *w, int most)
{
    struct extent all = extent_of(w, INT64_MAX), narrow = all;
    size_t each = bytes_of(w, all), left = tulle__memory_left() / 4 * 3;
    int64_t fit = each ? (int64_t)(left / each) : most;
    w->can_be_wide = most > 1 && tulle__blas_threads() > 0 && tulle__comm_alone(w->comm);
    w->threads = (int)(fit < 1 ? 1 : fit < most ? fit : most);
    if (w->threads < most && w->can_be_wide && each <= left) {
        struct extent x = narrow_extent(w, all, most, left);
        if (x.n > 0) { /* else all are as large */
            narrow = x;
            w->threads = most;
        }
    }
    if (w->threads > w->s->count) w->threads = (int)w->s->count;
    w->narrow = narrow.n;
    TULLE_CALL(tulle__alloc_zero((size_t)w->threads, sizeof *w->thread, "threads", &w->thread));
    for (int t = 0; t < w->threads; t++) TULLE_CALL(make_thread(w, &w->thread[t], t ? narrow : all));
    return TULLE_OK;
}

void tulle__sweep_drop_threads(struct tulle__sweep_state *w)
{
    for (int t = 0; w->thread && t < w->threads; t++) {
        struct tulle__sweep_thread *x = &w->thread[t];
        w->report->dense += x->dense;
        w->report->least = fmin(w->report->least, x->least);
        w->report->most = fmax(w->report->most, x->most);
        w->report->rounding = fmax(w->report->rounding, x->eigen.rounding);
        tulle__eigen_fini(&x->eigen);
        tulle__free(x->start);
        tulle__free(x->column);
    }
    tulle__free(w->thread);
    w->thread = NULL;
    w->threads = 0;
}
