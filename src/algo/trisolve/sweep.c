/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: every worker executes its schedule. It waits only for the words in which other workers
 * publish their number of solved rows, and publishes its own after each block; there are no
 * barriers. A wait has a time limit.
 */
#include <inttypes.h>

#include "algo/trisolve/method.h"
#include "base/attend.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/spin.h"

enum { TURNS_BETWEEN_LOOKS = 64, BLOCKS_BETWEEN_LOOKS = 64 };
static const double work_between_looks = 1 << 23; /* products of entries by right-hand sides */

struct sweep {
    tulle_trisolve *solver;
    const tulle__sweep_lines *lines;
    uint64_t epoch;
    tulle__solve_times *times;
};

/* True if the required rows of another worker are solved. */
static int has_arrived(const struct sweep *p, const tulle__worker_schedule *schedule, int32_t wait)
{
    const tulle__solve_wait *w = &schedule->wait[wait];
    uint64_t want = p->epoch << 32 | (uint32_t)w->rows;
    if (schedule->seen[w->worker] >= want) return 1; /* without reading a cache line that its worker writes */
    schedule->seen[w->worker] = tulle__word_read(p->solver->word[w->worker]);
    return schedule->seen[w->worker] >= want;
}

tulle_status tulle__solver_waits(
    tulle_trisolve *solver, int watches, int64_t since, tulle__solve_complaint complain, const void *context)
{
    double patience = solver->options.patience > 0 ? solver->options.patience : 60;
    if (__atomic_load_n(&solver->stop, __ATOMIC_ACQUIRE)) return TULLE_ERR_PEER;
    if (watches) TULLE_CALL(tulle__comm_failed(solver->comm));
    if ((double)(tulle__now(solver->comm) - since) * 1e-9 < patience) return TULLE_OK;
    return complain(context, patience);
}

/* A block that waits. */
struct waiting {
    const struct sweep *p;
    const tulle__worker_schedule *schedule;
    const tulle__row_block *block;
    int32_t wait;
};

static tulle_status lose_patience(const void *context, double patience)
{
    const struct waiting *waiting = context;
    const tulle_trisolve *solver = waiting->p->solver;
    int64_t row = (int64_t)tulle__worker_schedule_row(waiting->schedule, &solver->triangle, waiting->block, 0);
    const tulle__solve_wait *w = &waiting->schedule->wait[waiting->wait];
    return tulle__fail(TULLE_ERR_STATE,
        "row " TULLE__AT " has waited %g s for worker %d, which has solved %" PRIu64 " of the %d rows that it requires",
        row, patience, w->worker, tulle__word_read(solver->word[w->worker]) & UINT32_MAX, (int)w->rows);
}

/* Looks at signals and interruptions: the caller's thread may run any worker's share. */
static tulle_status look(const struct sweep *p, int thread)
{
    return thread == 0 ? tulle__comm_interrupted(p->solver->comm) : tulle__attend();
}

static tulle_status await(
    const struct sweep *p, int thread, const tulle__row_block *block, int32_t wait, tulle__busy *busy)
{
    const tulle__worker_schedule *schedule = &p->solver->now->worker[thread];
    if (has_arrived(p, schedule, wait)) return TULLE_OK;
    tulle_comm *comm = p->solver->comm;
    tulle_status status = TULLE_OK;
    const struct waiting waiting = {p, schedule, block, wait};
    int64_t start = tulle__now(comm);
    int turns = 0, is_virtual = tulle__is_virtual(comm);
    do {
        if (thread == 0)
            tulle__pause(comm, &turns);
        else
            tulle__spin(turns++); /* it may not use the comm */
        p->times[thread].polls++;
        if (is_virtual || turns % TURNS_BETWEEN_LOOKS == 0)
            status = tulle__solver_waits(p->solver, thread == 0, start, lose_patience, &waiting);
        if (status == TULLE_OK && thread && turns % TURNS_BETWEEN_LOOKS == 0) status = tulle__attend();
    } while (status == TULLE_OK && !has_arrived(p, schedule, wait));
    int64_t end = tulle__now(comm);
    p->times[thread].wait_ns += end - start;
    tulle__busy_waited(busy, start, end);
    return status;
}

/* Publishes that the block is solved. */
static void publish(const struct sweep *p, const tulle__worker_schedule *schedule, const tulle__row_block *block)
{
    tulle__word_write(p->solver->word[schedule->worker], p->epoch << 32 | (uint32_t)block->done);
}

/*
 * The work of rows, for an engine with virtual time: entries once from memory, and a line of x for
 * each.
 */
static tulle__work work_of(const struct sweep *p, int64_t rows, int64_t entries)
{
    tulle_type type = p->solver->triangle.T->type;
    double size = (double)tulle_type_size(type), cols = (double)p->lines->cols;
    tulle__work work = {.memory = (double)entries * (size + 4) + (double)rows * (8 + size + 2 * cols * size),
        .cache = (double)entries * cols * size};
    work.flops[type] = cols * (2 * (double)entries + (double)rows);
    return work;
}

static int64_t entries_of(const tulle__row_block *block, const tulle__solve_task *task)
{
    int64_t last = (int64_t)(block->count - 1) * task->step; /* the row */
    int64_t all = task->step > 0 ? block->rowptr[last + 1] - block->rowptr[0] : block->rowptr[1] - block->rowptr[last];
    return all - (int64_t)(task->head + task->tail) * block->count;
}

static int64_t entries_at(const tulle__worker_schedule *schedule, int64_t g, const tulle__solve_task *task)
{
    return schedule->dense ? schedule->dense->values(schedule->panels, g) : entries_of(&schedule->block[g], task);
}

/* The longest chain of dependent rows of a block. */
static int chain_of(const tulle__row_block *block, const tulle__solve_task *task)
{
    int chain[TULLE__BLOCK_ROWS], longest = 0;
    for (int64_t k = 0; k < block->count; k++) {
        const int64_t *row = block->rowptr + k * task->step;
        chain[k] = 1;
        for (int64_t e = row[0] + task->head; e < row[1] - task->tail; e++) {
            int64_t other = (block->colind[e] - block->at) * task->step;
            if (other >= 0 && other < k && chain[other] >= chain[k]) chain[k] = chain[other] + 1;
        }
        if (chain[k] > longest) longest = chain[k];
    }
    return longest;
}

static void solve_block(const struct sweep *p, const tulle__worker_schedule *schedule, const tulle__row_block *block,
    tulle__solve_task *task)
{
    const tulle__sweep_lines *lines = p->lines;
    size_t size = tulle_type_size(task->type);
    int64_t first = block->done - block->count;
    task->count = block->count;
    task->rowptr = block->rowptr;
    task->colind = block->colind;
    task->val = block->val;
    task->at = block->at;
    if (schedule->inverse) task->inverse = (const char *)schedule->inverse + (size_t)first * size;
    if (schedule->row)
        task->row = schedule->row + first;
    else
        task->b = lines->b + (size_t)(block->at * lines->ldb) * size;
    p->solver->context->kernels->solve(task);
}

/* The next rows of a block, from row k on: at least one, and about as much work as between two looks. */
static tulle__row_block part_of(const tulle__row_block *block, int64_t k, const tulle__solve_task *task)
{
    const double entries = work_between_looks / (double)task->cols;
    int64_t count = 1;
    tulle__row_block part = *block;
    part.rowptr += k * task->step;
    part.at += (tulle_gidx)k * task->step;
    const int64_t *end = part.rowptr + (task->step < 0); /* of no rows; step further, of one */
    TULLE__LAST_WHERE(
        count, block->count - k + 1, most, (double)((end[(most - 1) * task->step] - end[0]) * task->step) < entries);
    part.count = (int32_t)count;
    part.done = block->done - block->count + k + part.count;
    return part;
}

/* A block of rows that lie one after the other may have any length. */
static tulle_status solve_parts(const struct sweep *p, int thread, const tulle__worker_schedule *schedule,
    const tulle__row_block *block, tulle__solve_task *task)
{
    for (int64_t k = 0; k < block->count; k += task->count) {
        const tulle__row_block part = part_of(block, k, task);
        TULLE_CALL(k ? look(p, thread) : TULLE_OK);
        solve_block(p, schedule, &part, task);
    }
    return TULLE_OK;
}

static tulle_status work(void *arg, int thread, int nthreads)
{
    const struct sweep *p = arg;
    tulle_trisolve *solver = p->solver;
    const tulle__worker_schedule *schedule = &solver->now->worker[thread];
    const tulle__triangle *t = &solver->triangle;
    int is_virtual = tulle__is_virtual(solver->comm), copied = schedule->row != NULL;
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
        solver->row && schedule->nblocks ? solver->row[thread] : NULL, tulle__solver_kernel(solver), start};
    int32_t w = 0;
    int cursor = 0;
    double unlooked = work_between_looks; /* work since this thread last looked at signals */
    tulle_status status = TULLE_OK;
    (void)nthreads;
    for (int64_t g = 0; g < schedule->nblocks; g++) {
        const tulle__row_block *block = &schedule->block[g];
        for (; w < block->last_wait && status == TULLE_OK; w++) status = await(p, thread, block, w, &busy);
        if (status == TULLE_OK && unlooked >= work_between_looks) {
            status = look(p, thread);
            unlooked = 0;
        }
        if (status == TULLE_OK && solver->unvalidated)
            status = tulle__triangle_check_rows(t, block->at, block->count, &cursor);
        if (status == TULLE_OK && is_virtual) tulle__kernel_begin(solver->comm);
        if (status == TULLE_OK && schedule->dense)
            schedule->dense->solve(schedule->panels, solver->context->kernels, g, p->lines);
        else if (status == TULLE_OK && block->count > TULLE__BLOCK_ROWS)
            status = solve_parts(p, thread, schedule, block, &task);
        else if (status == TULLE_OK)
            solve_block(p, schedule, block, &task);
        if (status != TULLE_OK) {
            __atomic_store_n(&solver->stop, 1, __ATOMIC_RELEASE);
            return status;
        }
        if (is_virtual) {
            const int64_t entries = entries_at(schedule, g, &task);
            tulle__work done = work_of(p, block->count, entries);
            done.resident = g > 0;
            done.hops = schedule->dense ? block->count : chain_of(block, &task);
            tulle__kernel_end(solver->comm, &done);
        }
        if (solver->unvalidated) { /* while the rows are in cache: validating them earlier would stall on memory */
            status = tulle__triangle_validate_rows(t, block->at, block->count, &cursor);
            if (status != TULLE_OK) return status; /* a serial solve: no worker waits */
        }
        publish(p, schedule, block);
        unlooked +=
            (double)entries_at(schedule, g, &task) * (double)task.cols + work_between_looks / BLOCKS_BETWEEN_LOOKS;
    }
    int64_t end = tulle__now(solver->comm);
    p->times[thread].compute_ns += end - start - (p->times[thread].wait_ns - waited);
    tulle__busy_end(&busy, end);
    return TULLE_OK;
}

tulle_status tulle__solver_sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    int permuted = tulle__method_of(solver->now->method)->permutes;
    tulle_tile b = tulle__tile_in_place(B, 0, 0);
    tulle_own_tile x = tulle__own_tile_in_place(X, 0, 0);
    tulle_own_tile own = permuted ? tulle__own_tile_in_place(solver->lines, 0, 0) : x;
    const tulle__sweep_lines lines = {.cols = X->layout->n,
        .b = b.val,
        .ldb = b.order == TULLE_ROW_MAJOR ? b.ld : 1,
        .x = own.val,
        .ldx = own.order == TULLE_ROW_MAJOR ? own.ld : 1,
        .out = permuted ? x.val : NULL,
        .ldo = x.order == TULLE_ROW_MAJOR ? x.ld : 1};
    struct sweep p = {.solver = solver, .lines = &lines, .epoch = ++solver->epoch, .times = times};
    __atomic_store_n(&solver->stop, 0, __ATOMIC_RELEASE);
    if (solver->mine == 1) return work(&p, 0, 1);
    return tulle__pool_run(solver->context->pool, work, &p);
}
