/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve by columns. A PE makes rounds: rows come into hand, the counters of those whose own columns are done are
 * read, those that lack nothing are solved and their columns added to the sums of other rows.
 */
#include <inttypes.h>

#include "algo/trisolve/solver.h"
#include "base/error.h"

struct pass {
    tulle_trisolve *solver;
    tulle__scatter *s;
    tulle__solve_times *times;
    int64_t next, end; /* lines of the task that are not in hand yet */
    int inhand, nwaiting, nready;
    int is_virtual, resident; /* resident: the task's kernel runs */
    int64_t since;            /* when a row was last solved */
    int turns;
    tulle__busy busy;
    int64_t idle_from, idle_to; /* since when nothing has been ready, at least until when; idle_from < 0: it is */
};

static void wait_for_others(struct pass *p, int64_t line)
{
    tulle__scatter *s = p->s;
    for (int rank = 0; rank < s->comm->size; rank++) s->met[p->nwaiting * s->comm->size + rank] = 0;
    s->waiting[p->nwaiting++] = (int32_t)line;
}

static void take_in_hand(struct pass *p)
{
    for (; p->next < p->end && p->inhand < TULLE__RESIDENT; p->next++, p->inhand++)
        if (p->s->left[p->next] == 0) wait_for_others(p, p->next);
}

/* x = (b - sum) / pivot; and what that and the additions take, where time is virtual. */
static void solve_ready(struct pass *p)
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

/* The columns of rows that were solved. */
static tulle_status scatter_ready(struct pass *p)
{
    tulle_status status = TULLE_OK;
    tulle__scatter *s = p->s;
    size_t size = tulle_type_size(s->type), step = (size_t)s->cols * size;
    for (int i = 0; i < p->nready; i++) {
        int64_t line = s->ready[i];
        const char *x = (const char *)s->lines + (size_t)line * step;
        for (int64_t e = s->colptr[line]; e < s->colptr[line + 1]; e++) {
            int64_t k = s->line[s->rowind[e]];
            if (k < 0) {
                TULLE_TRY(tulle__left_sum_add(s, s->rowind[e], e, x));
                continue;
            }
            tulle__scatter_axpy(
                s->type, s->cols, (const char *)s->val + (size_t)e * size, x, (char *)s->sum + (size_t)k * step);
            if (--s->left[k] == 0 && k < p->next) wait_for_others(p, k);
        }
    }
    p->inhand -= p->nready;
    status = tulle__left_sum_flush(s);
out:
    return status;
}

/* Nothing was ready: whether to go on waiting. A task that is not done has rows that wait for others. */
static tulle_status look_around(struct pass *p)
{
    tulle_trisolve *solver = p->solver;
    tulle__scatter *s = p->s;
    double patience = solver->options.patience > 0 ? solver->options.patience : 60;
    int64_t start = tulle__now(s->comm);
    tulle__poll(s->comm, &p->turns);
    tulle_status status = tulle__comm_failed(s->comm);
    int64_t now = tulle__now(s->comm);
    p->times->wait_ns += now - start;
    if (p->idle_from < 0) p->idle_from = start;
    p->idle_to = now;
    if (status != TULLE_OK || (double)(now - p->since) * 1e-9 < patience) return status;
    int32_t line = s->waiting[0];
    return tulle__fail(TULLE_ERR_STATE,
        "row %" PRId32 " has waited %g s for other PEs, who have %" PRId32 " of the unknowns that it needs",
        s->row[line] + 1, patience, s->far[line]);
}

static tulle_status solve_task(struct pass *p)
{
    tulle_status status = TULLE_OK;
    p->resident = 0;
    while (status == TULLE_OK && (p->inhand || p->next < p->end)) {
        take_in_hand(p);
        TULLE_TRY(tulle__left_sum_look(p->s, &p->nwaiting, &p->nready));
        if (!p->nready) {
            status = look_around(p);
            continue;
        }
        if (p->idle_from >= 0) tulle__busy_waited(&p->busy, p->idle_from, p->idle_to);
        p->idle_from = -1;
        TULLE_TRY(tulle__left_sum_take(p->s, p->nready));
        solve_ready(p);
        TULLE_TRY(scatter_ready(p));
        p->since = tulle__now(p->s->comm);
        p->turns = 0;
    }
out:
    return status;
}

tulle_status tulle__solver_scatter(tulle_trisolve *solver, tulle__solve_times *times)
{
    tulle__scatter *s = &solver->scatter;
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(s->comm), waited = times->wait_ns;
    struct pass p = {.solver = solver,
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
