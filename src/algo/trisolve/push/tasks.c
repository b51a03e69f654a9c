/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/push/tasks.h"

#include <string.h>

#include "algo/trisolve/push/lists.h"
#include "algo/trisolve/push/push.h"
#include "base/error.h"

enum { TASKS_MOST = 64, ROWS_MOST = 1 << 16, ENTRIES_MOST = 1 << 21, TOLD_MOST = 1 << 24, TRIES = 5, STORES = 8 };

/* In seconds. */
struct rates {
    double latency, send; /* until a value has reached another PE; of the sender, for each */
    double launch, hop;   /* of a task's kernel; from a row to one that requires it */
    double entry, row;
};

/* The examined rows, by steps, from the first one on. */
struct window {
    int64_t first, rows;
    int pes;
    int64_t *from;      /* [rows + 1] of need */
    int32_t *need;      /* rows of the window that a row requires */
    int32_t *task;      /* [rows] */
    double *end, *busy; /* [rows], [pes] seconds */
    char *was_sent;     /* [rows * pes]: whether a row was sent to a PE */
    double *window;     /* [pes * TULLE__IN_HAND]: when the last so many rows of a PE were solved */
    int64_t *taken;     /* [pes]: number of rows */
};

/*
 * Benchmarks: the least time of reading a word of the next PE, and of writing words there; and
 * kernels with no or much work.
 */
static tulle_status measure(tulle_comm *comm, const tulle__place *place, struct rates *rates)
{
    uint64_t word;
    int group = tulle__comm_group(comm);
    const tulle__place *next = &place[(comm->rank + 1) % comm->size];
    for (int i = 0; i < TRIES; i++) {
        int64_t start = tulle__now(comm);
        tulle__get(comm, group, next, 0, &word, sizeof word);
        tulle_status status = tulle__wait(comm, group);
        double half = (double)(tulle__now(comm) - start) * 0.5e-9;
        if (status != TULLE_OK) return status;
        if (i == 0 || half < rates->latency) rates->latency = half;
    }
    int64_t began = tulle__now(comm);
    for (int i = 1; i <= STORES; i++) tulle__store(comm, next, 0, (uint64_t)i);
    rates->send = (double)(tulle__now(comm) - began) * 1e-9 / STORES;
    rates->entry = 0.7e-9; /* of a processor's core */
    rates->row = 3e-9;
    if (!tulle__is_virtual(comm)) return TULLE_OK;
    static const double bytes_of_an_entry = 12, bytes_of_a_row = 32, entries = 1e8;
    double taken[3];
    for (int i = 0; i < 3; i++) {
        tulle__work work = {.memory = i < 2 ? 1 : entries * bytes_of_an_entry, .resident = i > 0, .hops = i > 0};
        int64_t start = tulle__kernel_begin(comm);
        taken[i] = (double)(tulle__kernel_end(comm, &work) - start) * 1e-9;
    }
    rates->launch = taken[0];
    rates->hop = taken[1];
    rates->entry = (taken[2] - taken[1]) / entries;
    rates->row = rates->entry * bytes_of_a_row / bytes_of_an_entry;
    return TULLE_OK;
}

/* The rates of the slowest PE. Collective. */
static tulle_status find_rates(tulle_comm *comm, struct rates *rates)
{
    tulle__place word = {.length = 0}, *place = NULL;
    tulle_status status = tulle__alloc((size_t)comm->size, sizeof *place, "places", &place);
    if (status == TULLE_OK) status = tulle__heap_take(comm->pe->control, sizeof(uint64_t), "a word", &word);
    if (status == TULLE_OK) tulle__word_write(tulle__mapped(comm, &word), 0);
    TULLE_TRY(tulle_comm_agree(comm, status));
    status = tulle_comm_allgather(comm, &word, sizeof word, place);
    if (status == TULLE_OK) status = measure(comm, place, rates);
    /* all have arrived */
    if (status == TULLE_OK) status = tulle__wait_word(comm, tulle__mapped(comm, &word), STORES);
    TULLE_TRY(tulle_comm_agree(comm, status));
    double slowest[2] = {rates->latency, rates->send};
    TULLE_TRY(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 2, slowest)));
    rates->latency = slowest[0];
    rates->send = slowest[1];
out:
    if (word.length) tulle__heap_give(comm->pe->control, &word);
    tulle__free(place);
    return status;
}

/* Requirements of own rows of the window, item by item; list NULL: counts only. */
static int64_t write_needs(const tulle_mat *A, int upper, const struct window *w, tulle__list_item *list)
{
    const tulle_layout *l = A->layout;
    int64_t count = 0;
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile t = tulle__tile_in_place(A, i, j);
        for (int64_t r = 0; r < t.m && t.nnz; r++) {
            int64_t row = l->row_cut[i] + r, step = (upper ? l->m - 1 - row : row) - w->first;
            if (step < 0 || step >= w->rows) continue;
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                int64_t col = l->col_cut[j] + t.colind[e], of = (upper ? l->m - 1 - col : col) - w->first;
                if (of < 0 || of >= step) continue;
                if (list) list[count] = (tulle__list_item){.about = (int32_t)step, .slot = (int32_t)of};
                count++;
            }
        }
    }
    return count;
}

/* On PE 0. */
static tulle_status assemble(const tulle__list_item *list, int64_t count, struct window *w)
{
    size_t rows = (size_t)w->rows, pes = (size_t)w->pes;
    TULLE_CALL(tulle__alloc(rows, sizeof *w->end, "rows", &w->end));
    TULLE_CALL(tulle__alloc(rows, sizeof *w->task, "rows", &w->task));
    TULLE_CALL(tulle__alloc(rows * pes, sizeof *w->was_sent, "rows", &w->was_sent));
    TULLE_CALL(tulle__alloc(pes, sizeof *w->busy, "PEs", &w->busy));
    TULLE_CALL(tulle__alloc(pes, sizeof *w->taken, "PEs", &w->taken));
    TULLE_CALL(tulle__alloc(pes * TULLE__WINDOW, sizeof *w->window, "rows that wait", &w->window));
    TULLE_CALL(tulle__alloc_zero(rows + 1, sizeof *w->from, "what rows need", &w->from));
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *w->need, "what rows need", &w->need));
    for (int64_t i = 0; i < count; i++) w->from[list[i].about + 1]++;
    for (size_t r = 0; r < rows; r++) w->from[r + 1] += w->from[r];
    for (int64_t i = 0; i < count; i++) w->need[w->from[list[i].about]++] = list[i].slot;
    for (size_t r = rows; r > 0; r--) w->from[r] = w->from[r - 1];
    w->from[0] = 0;
    return TULLE_OK;
}

/* The tasks of the window's rows, numbered in the order of solving. */
static void find_tasks(struct window *w, tulle_gidx m, int upper, int parts, const tulle_gidx *cut)
{
    int part = upper ? parts - 1 : 0;
    for (int64_t s = 0; s < w->first + w->rows; s++) {
        tulle_gidx row = upper ? m - 1 - s : s;
        while (row >= cut[part + 1]) part++;
        while (row < cut[part]) part--;
        if (s >= w->first) w->task[s - w->first] = upper ? parts - 1 - part : part;
    }
}

/* Seconds of a solve. */
static double simulate(struct window *w, const struct rates *rates, const int64_t *work, tulle_gidx m, int upper)
{
    double last = 0;
    for (int p = 0; p < w->pes; p++) w->busy[p] = 0, w->taken[p] = 0;
    memset(w->was_sent, 0, (size_t)w->rows * (size_t)w->pes);
    for (int64_t r = 0; r < w->rows; r++) {
        int64_t step = w->first + r, own = w->task[r] % w->pes;
        double ready = 0, takes = rates->row + rates->entry * (double)work[upper ? m - 1 - step : step];
        if (r == 0 || w->task[r] != w->task[r - 1]) w->busy[own] += rates->launch;
        for (int64_t i = w->from[r]; i < w->from[r + 1]; i++) {
            int32_t need = w->need[i];
            int64_t other = w->task[need] % w->pes;
            double seen = w->end[need] + (other == own ? rates->hop : rates->latency);
            if (seen > ready) ready = seen;
            if (other == own || w->was_sent[need * w->pes + own]) continue;
            w->was_sent[need * w->pes + own] = 1;
            w->busy[other] += rates->send;
        }
        if (w->busy[own] > ready) ready = w->busy[own];
        double *place = &w->window[own * TULLE__WINDOW + w->taken[own] % TULLE__WINDOW];
        if (w->taken[own]++ >= TULLE__WINDOW && *place > ready) ready = *place; /* when its place becomes free */
        w->busy[own] += takes;
        w->end[r] = *place = ready + takes;
        if (w->end[r] > last) last = w->end[r];
    }
    for (int p = 0; p < w->pes; p++)
        if (w->busy[p] > last) last = w->busy[p];
    return last;
}

/* On PE 0. */
static tulle_status try_all(
    struct window *w, const struct rates *rates, const int64_t *work, tulle_gidx m, int upper, int64_t *best)
{
    double least = 0;
    tulle_gidx *cut = NULL;
    TULLE_CALL(tulle__alloc((size_t)TASKS_MOST * (size_t)w->pes + 1, sizeof *cut, "row cuts", &cut));
    for (int tasks = 1; tasks <= TASKS_MOST && (int64_t)tasks * w->pes <= m; tasks *= 2) {
        int parts = tasks * w->pes;
        tulle_cuts_weighted(m, work, parts, cut);
        find_tasks(w, m, upper, parts, cut);
        double time = simulate(w, rates, work, m, upper);
        if (tasks > 1 && time >= least) continue;
        least = time;
        *best = tasks;
    }
    tulle__free(cut);
    return TULLE_OK;
}

static void fini(struct window *w)
{
    tulle__free(w->from);
    tulle__free(w->need);
    tulle__free(w->task);
    tulle__free(w->end);
    tulle__free(w->busy);
    tulle__free(w->was_sent);
    tulle__free(w->window);
    tulle__free(w->taken);
}

/* As many rows in the middle as can be examined in the time. */
static void open_window(const tulle_mat *A, struct window *w)
{
    int64_t m = A->layout->m, most = ROWS_MOST;
    if (A->nnz && most > ENTRIES_MOST / (A->nnz / m + 1)) most = ENTRIES_MOST / (A->nnz / m + 1);
    if (most > TOLD_MOST / w->pes) most = TOLD_MOST / w->pes;
    w->rows = m < most ? m : most;
    w->first = (m - w->rows) / 2;
}

tulle_status tulle__tasks_choose(const tulle_mat *A, int upper, const int64_t *work, int *tasks)
{
    tulle_comm *comm = A->comm;
    struct rates rates = {.latency = 0};
    struct window w = {.pes = comm->size};
    tulle__list_item *mine = NULL, *all = NULL;
    int64_t *first = NULL, *from = NULL, best = 1, count = 0;
    if (A->layout->m) open_window(A, &w);
    tulle_status status = tulle__alloc((size_t)comm->size + 1, sizeof *first, "what rows need", &first);
    if (status == TULLE_OK) status = tulle__alloc((size_t)comm->size + 1, sizeof *from, "what rows need", &from);
    if (status == TULLE_OK) count = write_needs(A, upper, &w, NULL);
    if (status == TULLE_OK) status = tulle__alloc((size_t)count, sizeof *mine, "what rows need", &mine);
    TULLE_TRY(tulle_comm_agree(comm, status));
    write_needs(A, upper, &w, mine);
    TULLE_TRY(find_rates(comm, &rates));
    first[0] = 0;
    for (int r = 0; r < comm->size; r++) first[r + 1] = count; /* all to PE 0 */
    TULLE_TRY(tulle__lists_exchange(comm, mine, first, &all, from));
    if (comm->rank == 0) status = assemble(all, from[comm->size], &w);
    if (comm->rank == 0 && status == TULLE_OK) status = try_all(&w, &rates, work, A->layout->m, upper, &best);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_agree(comm, tulle_comm_broadcast(comm, 0, &best, sizeof best)));
    *tasks = (int)best;
out:
    fini(&w);
    tulle__free(mine);
    tulle__free(all);
    tulle__free(first);
    tulle__free(from);
    return status;
}
