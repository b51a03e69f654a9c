/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve by columns. A PE works in rounds: rows enter the window, the counters of those whose own
 * columns are done are read, ready rows are solved, and their columns are added to the sums of
 * other rows.
 */
#include <inttypes.h>

#include "algo/trisolve/baselines/baselines.h"
#include "algo/trisolve/baselines/scatter.h"
#include "algo/trisolve/right_hand_sides.h"
#include "base/error.h"

struct sweep {
    tulle_trisolve *solver;
    tulle__scatter *s;
    tulle__solve_times *times;
    int64_t next, end; /* lines of the task that have not entered the window */
    int inhand, nwaiting, nready;
    int is_virtual, resident; /* resident: the task's kernel runs */
    int64_t since;            /* time of the last solved row */
    int turns;
    tulle__busy busy;
    /* since when, and at least until when, nothing has been ready; idle_from < 0: not idle */
    int64_t idle_from, idle_to;
};

static void wait_for_others(struct sweep *p, int64_t line)
{
    tulle__scatter *s = p->s;
    for (int rank = 0; rank < s->comm->size; rank++) s->met[p->nwaiting * s->comm->size + rank] = 0;
    s->waiting[p->nwaiting++] = (int32_t)line;
}

static void take_in_hand(struct sweep *p)
{
    for (; p->next < p->end && p->inhand < TULLE__SCATTER_WINDOW; p->next++, p->inhand++)
        if (p->s->left[p->next] == 0) wait_for_others(p, p->next);
}

/* x = (b - sum) / pivot; and the time of this and of the additions, if time is virtual. */
static void solve_ready(struct sweep *p)
{
    tulle__scatter *s = p->s;
    int64_t cols = s->cols, entries = 0;
    if (p->is_virtual) tulle__kernel_begin(s->comm);
    for (int i = 0; i < p->nready; i++) {
        int64_t line = s->ready[i], at = line * cols;
        entries += s->colptr[line + 1] - s->colptr[line];
        for (int64_t c = 0; c < cols; c++)
            if (s->type == TULLE_F32)
                ((float *)s->lines)[at + c] = (((float *)s->lines)[at + c] - ((float *)s->sum)[at + c]) *
                                              (s->inverse ? ((float *)s->inverse)[line] : 1);
            else
                ((double *)s->lines)[at + c] = (((double *)s->lines)[at + c] - ((double *)s->sum)[at + c]) *
                                               (s->inverse ? ((double *)s->inverse)[line] : 1);
    }
    if (!p->is_virtual) return;
    double size = (double)tulle_type_size(s->type), rows = p->nready, moved = (double)(entries * cols) * size;
    tulle__work work = {.memory = (double)entries * (size + 4) + rows * (8 + size + 2 * (double)cols * size),
        .cache = 2 * moved,
        .resident = p->resident,
        .hops = p->resident};
    work.flops[s->type] = (double)cols * (2 * (double)entries + rows);
    tulle__kernel_end(s->comm, &work);
    p->resident = 1;
}

/* Adds the columns of solved rows. */
static tulle_status scatter_ready(struct sweep *p)
{
    tulle__scatter *s = p->s;
    size_t size = tulle_type_size(s->type), step = (size_t)s->cols * size;
    for (int i = 0; i < p->nready; i++) {
        int64_t line = s->ready[i];
        const char *x = (const char *)s->lines + (size_t)line * step;
        for (int64_t e = s->colptr[line]; e < s->colptr[line + 1]; e++) {
            int64_t k = s->line[s->rowind[e]];
            if (k < 0) {
                TULLE_CALL(tulle__remote_sums_add(s, s->rowind[e], e, x));
                continue;
            }
            tulle__scatter_axpy(
                s->type, s->cols, (const char *)s->val + (size_t)e * size, x, (char *)s->sum + (size_t)k * step);
            if (--s->left[k] == 0 && k < p->next) wait_for_others(p, k);
        }
    }
    p->inhand -= p->nready;
    return tulle__remote_sums_flush(s);
}

static tulle_status lose_patience(const void *context, double patience)
{
    const tulle__scatter *s = ((const struct sweep *)context)->s;
    int32_t line = s->waiting[0];
    return tulle__fail(TULLE_ERR_STATE,
        "row " TULLE__AT " has waited %g s for other PEs, which have %" PRId32 " of the unknowns that it requires",
        (int64_t)s->row[line], patience, s->far[line]);
}

/*
 * Nothing was ready: whether to continue waiting. An unfinished task has rows that wait for other
 * PEs.
 */
static tulle_status wait_once(struct sweep *p)
{
    int64_t start = tulle__now(p->s->comm);
    tulle__poll(p->s->comm, &p->turns);
    tulle_status status = tulle__solver_waits(p->solver, 1, p->since, lose_patience, p);
    int64_t now = tulle__now(p->s->comm);
    p->times->wait_ns += now - start;
    if (p->idle_from < 0) p->idle_from = start;
    p->idle_to = now;
    return status;
}

static tulle_status solve_task(struct sweep *p)
{
    tulle_status status = TULLE_OK;
    p->resident = 0;
    while (status == TULLE_OK && (p->inhand || p->next < p->end)) {
        take_in_hand(p);
        TULLE_TRY(tulle__remote_sums_look(p->s, &p->nwaiting, &p->nready));
        if (!p->nready) {
            status = wait_once(p);
            continue;
        }
        if (p->idle_from >= 0) tulle__busy_waited(&p->busy, p->idle_from, p->idle_to);
        p->idle_from = -1;
        TULLE_TRY(tulle__remote_sums_take(p->s, p->nready));
        solve_ready(p);
        TULLE_TRY(scatter_ready(p));
        p->since = tulle__now(p->s->comm);
        p->turns = 0;
    }
out:
    return status;
}

/* The lines hold B and become X. */
static tulle_status sweep_lines(tulle_trisolve *solver, tulle__solve_times *times)
{
    tulle__scatter *s = solver->now->state;
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(s->comm), waited = times->wait_ns;
    struct sweep p = {.solver = solver,
        .s = s,
        .times = times,
        .is_virtual = tulle__is_virtual(s->comm),
        .since = start,
        .busy = {s->comm->pe->timeline, tulle__solver_kernel(solver), start},
        .idle_from = -1};
    for (int task = 0; task < s->ntasks && status == TULLE_OK; task++) {
        p.next = s->task[task];
        p.end = s->task[task + 1];
        status = solve_task(&p);
    }
    times->polls += s->polls;
    int64_t end = tulle__now(s->comm);
    times->compute_ns += end - start - (times->wait_ns - waited);
    tulle__busy_end(&p.busy, end);
    return status;
}

/* Columns replace schedules; a PE's only worker reports their sizes. */
static tulle_status prepare(tulle_trisolve *solver, tulle__method_schedule *a, int shared)
{
    tulle__scatter *s = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *s, "columns", &s);
    a->state = s;
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    TULLE_CALL(tulle__scatter_init(&solver->triangle, shared, s));
    a->worker[0].nrows = s->nown;
    a->worker[0].nnz = s->nnz;
    for (int64_t l = 0; l < s->nown; l++) a->worker[0].nwaits += s->far[l] > 0;
    a->bytes = (int64_t)tulle__scatter_bytes(s);
    return TULLE_OK;
}

static tulle_status prepare_one_array(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return prepare(solver, a, 1);
}

static tulle_status prepare_own_arrays(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return prepare(solver, a, 0);
}

static tulle_status renew(tulle_trisolve *solver, tulle__method_schedule *a)
{
    return tulle__scatter_update(&solver->triangle, a->state);
}

static void forget(tulle__method_schedule *a)
{
    tulle__scatter_fini(a->state);
    tulle__free(a->state);
}

static tulle_status open_sums(tulle_trisolve *solver, tulle_gidx cols)
{
    TULLE_CALL(tulle__remote_sums_open(solver->now->state, cols));
    tulle__remote_sums_arm(solver->now->state);
    return TULLE_OK;
}

static tulle_status sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    tulle__scatter *s = solver->now->state;
    tulle__rhs_lines(solver, B, s->lines, 0);
    tulle_status status = sweep_lines(solver, times);
    if (status == TULLE_OK) tulle__rhs_lines(solver, X, s->lines, 1);
    times->messages += s->messages;
    return status;
}

/* As in the paper: rows in equal parts, one or several a PE. */
static const tulle__partition parts = {.even = true, .tasks = 1, .fixed = true}, tasks = {.even = true, .tasks = 8};

#define BASELINE(distributed, prepared, devices)                                                                       \
    {                                                                                                                  \
        .partition = &(distributed), .prepare = (prepared), .renew = renew, .forget = forget, .open = open_sums,       \
        .sweep = sweep, .together = &(devices)                                                                         \
    }
const tulle__method tulle__method_unified = BASELINE(parts, prepare_one_array, tulle__method_one_sum_together);
const tulle__method tulle__method_unified_tasks = BASELINE(tasks, prepare_one_array, tulle__method_one_sum_together);
const tulle__method tulle__method_shmem = BASELINE(parts, prepare_own_arrays, tulle__method_own_sums_together);
const tulle__method tulle__method_zerocopy = BASELINE(tasks, prepare_own_arrays, tulle__method_own_sums_together);
#undef BASELINE
