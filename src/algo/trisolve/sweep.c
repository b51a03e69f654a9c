/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass: every worker goes through its share. It waits only for words that others write when they have solved rows,
 * and publishes its own after each group, so that nobody meets anybody. A wait that does not end is ended.
 */
#include <inttypes.h>

#include "algo/trisolve/solver.h"
#include "algo/trisolve/supernodal/panels.h"
#include "base/error.h"
#include "base/spin.h"

enum { TURNS_BETWEEN_LOOKS = 64 };

struct pass {
    tulle_trisolve *solver;
    const tulle__pass *lines;
    uint64_t epoch;
    tulle__solve_times *times;
};

/* Whether the rows of another have been solved. */
static int has_come(const struct pass *p, const tulle__share *share, int32_t wait)
{
    const tulle__solve_wait *w = &share->wait[wait];
    uint64_t want = p->epoch << 32 | (uint32_t)w->rows;
    if (share->seen[w->worker] >= want) return 1; /* without asking for a line that its worker writes */
    share->seen[w->worker] = tulle__word_read(p->solver->word[w->worker]);
    return share->seen[w->worker] >= want;
}

static tulle_status lose_patience(
    const struct pass *p, const tulle__share *share, const tulle__group *group, int32_t wait, double patience)
{
    const tulle_trisolve *solver = p->solver;
    int64_t row = (int64_t)tulle__share_row(share, &solver->triangle, group, 0) + 1;
    const tulle__solve_wait *w = &share->wait[wait];
    return tulle__fail(TULLE_ERR_STATE,
        "row %" PRId64 " has waited %g s for worker %d, which has solved %" PRIu64 " of the %d rows that it needs", row,
        patience, w->worker, tulle__word_read(solver->word[w->worker]) & UINT32_MAX, (int)w->rows);
}

/* Whether to go on waiting, for the row that the group begins with. */
static tulle_status look_around(
    const struct pass *p, int thread, const tulle__group *group, int32_t wait, int64_t since)
{
    tulle_trisolve *solver = p->solver;
    double patience = solver->options.patience > 0 ? solver->options.patience : 60;
    if (__atomic_load_n(&solver->stop, __ATOMIC_ACQUIRE)) return TULLE_ERR_PEER;
    tulle_status status = thread == 0 ? tulle__comm_failed(solver->comm) : TULLE_OK;
    if (status != TULLE_OK || (double)(tulle__now(solver->comm) - since) * 1e-9 < patience) return status;
    return lose_patience(p, &solver->now->share[thread], group, wait, patience);
}

static tulle_status await(const struct pass *p, int thread, const tulle__group *group, int32_t wait, tulle__busy *busy)
{
    const tulle__share *share = &p->solver->now->share[thread];
    if (has_come(p, share, wait)) return TULLE_OK;
    tulle_comm *comm = p->solver->comm;
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(comm);
    int turns = 0, is_virtual = tulle__is_virtual(comm);
    do {
        if (thread == 0)
            tulle__pause(comm, &turns);
        else
            tulle__spin(turns++); /* it may not use the comm */
        p->times[thread].polls++;
        if (is_virtual || turns % TURNS_BETWEEN_LOOKS == 0) status = look_around(p, thread, group, wait, start);
    } while (status == TULLE_OK && !has_come(p, share, wait));
    int64_t end = tulle__now(comm);
    p->times[thread].wait_ns += end - start;
    tulle__busy_waited(busy, start, end);
    return status;
}

/* The group is solved. */
static void publish(const struct pass *p, const tulle__share *share, const tulle__group *group)
{
    tulle__word_write(p->solver->word[share->worker], p->epoch << 32 | (uint32_t)group->done);
}

/* What rows do, for an engine whose time is virtual: entries once from memory, and a line of x for each. */
static tulle__work work_of(const struct pass *p, int64_t rows, int64_t entries)
{
    tulle_type type = p->solver->triangle.T->type;
    double size = (double)tulle_type_size(type), cols = (double)p->lines->cols;
    tulle__work work = {.memory = (double)entries * (size + 4) + (double)rows * (8 + size + 2 * cols * size),
        .cache = (double)entries * cols * size};
    work.flops[type] = cols * (2 * (double)entries + (double)rows);
    return work;
}

static int64_t entries_of(const tulle__group *group, const tulle__solve_task *task)
{
    int64_t last = (int64_t)(group->count - 1) * task->step; /* the row */
    int64_t all = task->step > 0 ? group->rowptr[last + 1] - group->rowptr[0] : group->rowptr[1] - group->rowptr[last];
    return all - (int64_t)(task->head + task->tail) * group->count;
}

/* The longest chain of rows of a group that need each other. */
static int chain_of(const tulle__group *group, const tulle__solve_task *task)
{
    int chain[TULLE__GROUP_ROWS], longest = 0;
    for (int64_t k = 0; k < group->count; k++) {
        const int64_t *row = group->rowptr + k * task->step;
        chain[k] = 1;
        for (int64_t e = row[0] + task->head; e < row[1] - task->tail; e++) {
            int64_t other = (group->colind[e] - group->at) * task->step;
            if (other >= 0 && other < k && chain[other] >= chain[k]) chain[k] = chain[other] + 1;
        }
        if (chain[k] > longest) longest = chain[k];
    }
    return longest;
}

static void solve_group(
    const struct pass *p, const tulle__share *share, const tulle__group *group, tulle__solve_task *task)
{
    const tulle__pass *lines = p->lines;
    size_t size = tulle_type_size(task->type);
    int64_t first = group->done - group->count;
    task->count = group->count;
    task->rowptr = group->rowptr;
    task->colind = group->colind;
    task->val = group->val;
    task->at = group->at;
    if (share->inverse) task->inverse = (const char *)share->inverse + (size_t)first * size;
    if (share->row)
        task->row = share->row + first;
    else
        task->b = lines->b + (size_t)(group->at * lines->ldb) * size;
    p->solver->context->kernels->solve(task);
}

static void solve_strip(const struct pass *p, const tulle__share *share, int64_t g)
{
    const tulle__strip_lines lines = {
        .cols = p->lines->cols, .b = p->lines->b, .x = p->lines->x, .ldb = p->lines->ldb, .ldx = p->lines->ldx};
    tulle__strips_solve(share->strips, p->solver->context->kernels, g, &lines);
}

static tulle_status work(void *arg, int thread, int nthreads)
{
    const struct pass *p = arg;
    tulle_trisolve *solver = p->solver;
    const tulle__share *share = &solver->now->share[thread];
    const tulle__triangle *t = &solver->triangle;
    int is_virtual = tulle__is_virtual(solver->comm), copied = share->row != NULL;
    tulle__solve_task task = {.type = t->T->type,
        .step = !copied && t->upper ? -1 : 1,
        .head = copied ? 0 : t->head,
        .tail = copied ? 0 : t->tail,
        .divides = !copied && !t->unit,
        .cols = p->lines->cols,
        .b = p->lines->b,
        .ldb = p->lines->ldb,
        .x = p->lines->x,
        .ldx = p->lines->ldx,
        .out = p->lines->out,
        .ldo = p->lines->ldo};
    int64_t start = tulle__now(solver->comm), waited = p->times[thread].wait_ns;
    tulle__busy busy = {
        solver->row && share->ngroups ? solver->row[thread] : NULL, tulle__solver_kernel(solver), start};
    int32_t w = 0;
    int cursor = 0;
    tulle_status status = TULLE_OK;
    (void)nthreads;
    for (int64_t g = 0; g < share->ngroups; g++) {
        const tulle__group *group = &share->group[g];
        for (; w < group->last_wait && status == TULLE_OK; w++) status = await(p, thread, group, w, &busy);
        if (status == TULLE_OK && solver->uninspected)
            status = tulle__triangle_peek_rows(t, group->at, group->count, &cursor);
        if (status != TULLE_OK) {
            __atomic_store_n(&solver->stop, 1, __ATOMIC_RELEASE);
            return status;
        }
        if (is_virtual) tulle__kernel_begin(solver->comm);
        if (share->strips)
            solve_strip(p, share, g);
        else
            solve_group(p, share, group, &task);
        if (is_virtual) {
            int64_t entries = share->strips ? tulle__strips_values(share->strips, g) : entries_of(group, &task);
            tulle__work done = work_of(p, group->count, entries);
            done.resident = g > 0;
            done.hops = share->strips ? group->count : chain_of(group, &task);
            tulle__kernel_end(solver->comm, &done);
        }
        if (solver->uninspected) { /* when rows are near: looking at them first would keep memory waiting */
            status = tulle__triangle_inspect_rows(t, group->at, group->count, &cursor);
            if (status != TULLE_OK) return status; /* a serial solve: nobody waits */
        }
        publish(p, share, group);
    }
    int64_t end = tulle__now(solver->comm);
    p->times[thread].compute_ns += end - start - (p->times[thread].wait_ns - waited);
    tulle__busy_end(&busy, end);
    return TULLE_OK;
}

tulle_status tulle__solver_pass(tulle_trisolve *solver, const tulle__pass *pass, tulle__solve_times *times)
{
    struct pass p = {.solver = solver, .lines = pass, .epoch = ++solver->epoch, .times = times};
    __atomic_store_n(&solver->stop, 0, __ATOMIC_RELEASE);
    if (solver->mine == 0) return TULLE_OK;
    if (solver->mine == 1) return work(&p, 0, 1);
    return tulle__pool_run(solver->context->pool, work, &p);
}
