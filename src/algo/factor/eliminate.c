/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/factor/eliminate.h"

#include <math.h>
#include <sched.h>
#include <string.h>

#include "base/error.h"

enum { ROWS_AT_ONCE = 8, SPINS = 64 };

tulle_status tulle__elimination_init(tulle__elimination *e)
{
    TULLE_CALL(tulle__alloc_zero((size_t)e->threads, sizeof *e->eliminator, "workers", &e->eliminator));
    for (int t = 0; t < e->threads; t++) {
        tulle__eliminator *w = &e->eliminator[t];
        TULLE_CALL(tulle__alloc_zero((size_t)e->n, sizeof *w->place, "places in a row", &w->place));
        TULLE_CALL(tulle__alloc((size_t)e->longest, tulle_type_size(e->type), "a row", &w->row));
        TULLE_CALL(tulle__alloc((size_t)e->workers, sizeof *w->seen, "progress", &w->seen));
        if (!tulle__is_virtual(e->comm)) /* in virtual time a whole factorisation takes its time at once */
            TULLE_CALL(tulle__timeline_thread(e->comm->pe->timeline, t, &w->busy.row));
        w->busy.name = e->name;
    }
    return TULLE_OK;
}

void tulle__elimination_fini(tulle__elimination *e)
{
    for (int t = 0; t < e->threads && e->eliminator; t++) {
        tulle__free(e->eliminator[t].place);
        tulle__free(e->eliminator[t].row);
        tulle__free(e->eliminator[t].seen);
    }
    tulle__free(e->eliminator);
    e->eliminator = NULL;
}

void tulle__elimination_reset(tulle__elimination *e)
{
    for (int t = 0; t < e->threads; t++) {
        tulle__eliminator *w = &e->eliminator[t];
        memset(w->seen, 0, (size_t)e->workers * sizeof *w->seen);
        w->safe = 0;
        w->bad = w->first_lifted = INT64_MAX;
        w->lifted = 0;
        w->flops = 0;
        tulle__word_write(&e->own[t].rows, 0);
    }
    e->ended = 0;
}

static int ended(const tulle__elimination *e)
{
    return __atomic_load_n(&e->ended, __ATOMIC_RELAXED);
}

/*
 * One step of a waiting thread. Only the PE's own thread may check for failures of other PEs; it
 * notifies the rest.
 */
static void step(tulle__elimination *e, int mine, int *turns, tulle_status *status)
{
    if (mine) {
        *status = tulle__comm_failed(e->comm);
        if (*status != TULLE_OK) __atomic_store_n(&e->ended, 1, __ATOMIC_RELAXED);
        tulle__poll(e->comm, turns);
    } else if (++*turns >= SPINS) {
        sched_yield(); /* there may be more workers than cores */
    }
}

/* Waits until `other` has completed its rows below `rows` of the order; 0 if it never will. */
static int await_worker(tulle__elimination *e, tulle__eliminator *w, int mine, int other, uint64_t rows)
{
    tulle_status status = TULLE_OK;
    int64_t start = w->busy.row ? tulle__now(e->comm) : 0;
    for (int turns = 0; (w->seen[other] = tulle__word_read(&e->progress[other]->rows)) < rows;) {
        if (ended(e)) return 0;
        step(e, mine, &turns, &status);
    }
    if (w->busy.row) tulle__busy_waited(&w->busy, start, tulle__now(e->comm));
    return 1;
}

/* Waits until row k is readable; 0: it never will be, as a PE has failed. */
static int await_row(tulle__elimination *e, tulle__eliminator *w, int worker, int64_t k)
{
    if (!e->rank) return 1;
    uint64_t rank = (uint64_t)e->rank[k];
    if (rank < w->safe) return 1;
    int owner = (int)(rank / ROWS_AT_ONCE % (uint64_t)e->workers);
    if (owner == worker || rank < w->seen[owner]) return 1;
    if (!await_worker(e, w, worker == e->first, owner, rank + 1)) return 0;
    w->safe = UINT64_MAX;
    for (int other = 0; other < e->workers; other++)
        if (other != worker && w->seen[other] < w->safe) w->safe = w->seen[other];
    return 1;
}

/* The tile of row k, at or after tile s (-1: unknown): columns of a row ascend. */
static int tile_from(const tulle__elimination *e, int s, int64_t k)
{
    if (s < 0) return tulle__layout_find(e->cut, e->mt, k);
    while (k >= e->cut[s + 1]) s++;
    return s;
}

static void note_pivot(tulle__eliminator *w, int64_t row, double pivot, tulle__bad_pivot why)
{
    if (!isfinite(pivot)) why = TULLE__PIVOT_WILD;
    if (why == TULLE__PIVOT_FINE) return;
    int64_t code = tulle__bad_pivot_code(row, why);
    if (code < w->bad) w->bad = code;
}

#define TEMPLATE "algo/factor/eliminate_rows.h"
#include "kernel/both_types.h"

typedef void (*row_body)(tulle__elimination *e, tulle__eliminator *w, int worker, int t, int64_t i);

static const row_body row_bodies[2][TULLE_TYPE_COUNT] = {
    [TULLE__ILU0] = {[TULLE_F32] = ilu_row_f32, [TULLE_F64] = ilu_row_f64},
    [TULLE__IC0] = {[TULLE_F32] = ic_row_f32, [TULLE_F64] = ic_row_f64},
};

/*
 * A bad pivot does not stop the elimination: it spoils its row and those that depend on it, but no
 * earlier row, so the first bad one is known.
 */
static tulle_status work(void *arg, int thread, int nthreads)
{
    tulle__elimination *e = arg;
    tulle_status status = TULLE_OK;
    (void)nthreads; /* the pool may be larger */
    if (thread >= e->threads) return TULLE_OK;
    tulle__eliminator *w = &e->eliminator[thread];
    int worker = e->first + thread, t = 0;
    if (w->busy.row) w->busy.since = tulle__now(e->comm);
    row_body body = row_bodies[e->kind][e->type];
    int64_t stride = (int64_t)e->workers * ROWS_AT_ONCE;
    for (int64_t run = (int64_t)worker * ROWS_AT_ONCE; run < e->n && !ended(e); run += stride) {
        int64_t end = run + ROWS_AT_ONCE < e->n ? run + ROWS_AT_ONCE : e->n;
        for (int64_t k = run; k < end && !ended(e); k++) {
            int64_t i = e->order ? e->order[k] : k;
            if (i < e->cut[t] || i >= e->cut[t + 1]) t = tulle__layout_find(e->cut, e->mt, i);
            body(e, w, worker, t, i);
            if (!ended(e)) tulle__word_write(&e->own[thread].rows, (uint64_t)k + 1);
        }
    }
    if (!ended(e)) tulle__word_write(&e->own[thread].rows, UINT64_MAX);
    if (w->busy.row) tulle__busy_end(&w->busy, tulle__now(e->comm));
    /*
     * the PE's own thread stays until the others are done, to detect that PEs they wait for are
     * lost
     */
    for (int other = 0, turns = 0; thread == 0 && other < e->threads && status == TULLE_OK;)
        if (tulle__word_read(&e->own[other].rows) == UINT64_MAX)
            other++;
        else
            step(e, 1, &turns, &status);
    return status == TULLE_OK && thread == 0 && ended(e) ? tulle__comm_failed(e->comm) : status;
}

tulle_status tulle__elimination_run(tulle__elimination *e)
{
    tulle__work done = {.memory = 0};
    int64_t start = tulle__now(e->comm), ns = 0;
    (void)tulle__kernel_begin(e->comm);
    tulle_status status = tulle__pool_run(e->pool, work, e);
    for (int t = 0; t < e->threads; t++) done.flops[e->type] += e->eliminator[t].flops;
    size_t entry = tulle_type_size(e->type) + sizeof(int32_t);
    for (int t = 0; t < e->mt; t++) done.memory += 2. * (double)e->A[t].nnz * (double)entry; /* A and its factors */
    done.cache = done.flops[e->type] / 2 * (double)entry;
    (void)tulle__kernel_end(e->comm, &done);
    if (tulle__is_virtual(e->comm)) tulle__part_end(e->comm, e->name, start, &ns);
    return status;
}
