/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve by push. A PE makes rounds: values that have come are looked at, rows that lack nothing are solved, and what
 * they give is sent. While no row waits, rows are solved block by block in their order; a row that must wait is kept in
 * hand, with the entry up to which all its unknowns are known, and rows behind it go ahead. They come into hand in the
 * order of solving, so the first row that is not solved is always in hand at its PE or next, and all that it needs has
 * been sent: nobody waits in a circle.
 */
#include "algo/trisolve/push/push_method.h"

#include <string.h>

#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/push/push.h"
#include "algo/trisolve/push/tasks.h"
#include "algo/trisolve/right_hand_sides.h"
#include "base/error.h"

/* Rows solved before what they give is sent; where time is virtual all that are ready at a time, side by side. */
enum { ROUND = 16, RELAYS = 32 };

struct sweep {
    tulle_trisolve *solver;
    tulle__push *push;
    const tulle__worker_schedule *schedule;
    tulle__solve_times *times;
    tulle__solve_task task; /* but for which rows */
    size_t size;            /* of a value */
    int is_virtual, most;
    int64_t next, block, begun; /* the line that comes into hand next, its block, tasks begun */
    int inhand;
    int64_t relayed, ndue; /* so many relays, from the first, have come; which are to go on now */
    int nsolved;
    int launched; /* a task began in this round */
    int64_t since;
    int turns;
    tulle__busy busy;
    int64_t idle_from, idle_to; /* since when nothing has been ready, at least until when; idle_from < 0: it is */
};

/* Whether a ghost's value is known: it is looked for if it was not. */
static int arrive(struct sweep *p, int64_t slot)
{
    tulle__push *push = p->push;
    char *known = &push->known[push->nown + slot];
    if (*known) return 1;
    if (!tulle__push_has_come(push, slot)) return 0;
    *known = 1;
    if (push->relay_first && push->relay_first[slot] < push->relay_first[slot + 1])
        push->due[p->ndue++] = (int32_t)slot;
    return 1;
}

/* What has come and is to be passed on goes. */
static void pass_on(struct sweep *p)
{
    for (int64_t i = 0; i < p->ndue; i++) tulle__push_relay(p->push, p->push->due[i]);
    p->ndue = 0;
}

/* What other PEs wait for goes on even if this one has no use for it yet. */
static void relay(struct sweep *p)
{
    const tulle__push *push = p->push;
    while (p->relayed < push->nrelays && arrive(p, push->relay[p->relayed])) p->relayed++;
    for (int64_t i = p->relayed + 1; i < push->nrelays && i < p->relayed + RELAYS; i++) arrive(p, push->relay[i]);
    pass_on(p);
}

static int is_ready(struct sweep *p, int64_t line, int64_t *reached)
{
    const tulle__push *push = p->push;
    for (; *reached < p->schedule->rowptr[line + 1]; ++*reached) {
        int64_t of = p->schedule->colind[*reached];
        if (push->known[of]) continue;
        if (of < push->nown || !arrive(p, of - push->nown)) return 0;
    }
    return 1;
}

static void solve_lines(struct sweep *p, int64_t line, int64_t count)
{
    const tulle__worker_schedule *schedule = p->schedule;
    tulle__push *push = p->push;
    p->task.count = count;
    p->task.rowptr = schedule->rowptr + line;
    p->task.inverse = schedule->inverse ? (const char *)schedule->inverse + (size_t)line * p->size : NULL;
    p->task.b = (const char *)push->b + (size_t)(line * push->cols) * p->size;
    p->task.at = line;
    p->solver->context->kernels->solve(&p->task);
    for (int64_t l = line; l < line + count; l++) push->solved[p->nsolved++] = (int32_t)l;
    if (!p->is_virtual) memset(push->known + line, 1, (size_t)count); /* there, in the next round */
}

static void look_at_hand(struct sweep *p)
{
    tulle__push *push = p->push;
    int kept = 0;
    for (int i = 0; i < p->inhand; i++) {
        tulle__push_hand hand = push->hand[i];
        if (p->nsolved < p->most && is_ready(p, hand.line, &hand.reached))
            solve_lines(p, hand.line, 1);
        else
            push->hand[kept++] = hand;
    }
    p->inhand = kept;
}

/* Whether the block that begins at the next line has all that it needs, if no row before it waits. */
static int is_block_ready(struct sweep *p)
{
    const tulle__worker_schedule *schedule = p->schedule;
    while (schedule->block[p->block].done <= p->next) p->block++;
    const tulle__row_block *block = &schedule->block[p->block];
    if (p->inhand || p->is_virtual || block->at != p->next) return 0;
    for (int64_t slot = p->block ? block[-1].last_wait : 0; slot < block->last_wait; slot++)
        if (!arrive(p, slot)) return 0;
    return 1;
}

static void take_in_hand(struct sweep *p)
{
    tulle__push *push = p->push;
    while (p->next < push->nown && p->inhand < TULLE__IN_HAND && p->nsolved < p->most) {
        if (p->begun < push->ntasks && push->task[p->begun] <= p->next) {
            p->begun++;
            p->launched = 1;
        }
        if (is_block_ready(p)) {
            int64_t count = p->schedule->block[p->block].count;
            solve_lines(p, p->next, count);
            p->next += count;
            continue;
        }
        tulle__push_hand hand = {.line = (int32_t)p->next, .reached = p->schedule->rowptr[p->next]};
        p->next++;
        if (is_ready(p, hand.line, &hand.reached))
            solve_lines(p, hand.line, 1);
        else
            push->hand[p->inhand++] = hand;
    }
}

/* What a round's rows take, where time is virtual. */
static void charge(struct sweep *p)
{
    const tulle__push *push = p->push;
    double size = (double)p->size, rows = p->nsolved, cols = (double)push->cols, entries = 0;
    for (int i = 0; i < p->nsolved; i++) {
        int64_t line = push->solved[i];
        entries += (double)(p->schedule->rowptr[line + 1] - p->schedule->rowptr[line]);
        push->known[line] = 1;
    }
    tulle__work work = {.memory = entries * (size + 4) + rows * (8 + size + 2 * cols * size),
        .cache = entries * cols * size,
        .resident = !p->launched,
        .hops = !p->launched};
    work.flops[push->type] = cols * (2 * entries + rows);
    tulle__kernel_end(p->solver->comm, &work);
    p->launched = 0;
}

static tulle_status lose_patience(const void *context, double patience)
{
    const struct sweep *p = context;
    const tulle__push *push = p->push;
    if (!p->inhand)
        return tulle__fail(TULLE_ERR_STATE, "a PE has waited %g s for the unknown of row %d, to pass it on", patience,
            push->ghost[push->relay[p->relayed]] + 1);
    const tulle__push_hand *hand = &push->hand[0];
    int32_t of = p->schedule->colind[hand->reached]; /* of the first row that waits: a ghost: rows before are solved */
    return tulle__fail(TULLE_ERR_STATE, "row %d has waited %g s for the unknown of row %d", push->row[hand->line] + 1,
        patience, push->ghost[of - push->nown] + 1);
}

/* Nothing was ready: whether to go on waiting. */
static tulle_status wait_a_turn(struct sweep *p)
{
    tulle_trisolve *solver = p->solver;
    int64_t start = tulle__now(solver->comm);
    tulle__pause(solver->comm, &p->turns);
    tulle_status status = tulle__solver_waits(solver, 1, p->since, lose_patience, p);
    int64_t now = tulle__now(solver->comm);
    p->times->polls++;
    p->times->wait_ns += now - start;
    if (p->idle_from < 0) p->idle_from = start;
    p->idle_to = now;
    return status;
}

/* From the right-hand sides beside the lines into the lines. */
static tulle_status sweep_lines(tulle_trisolve *solver, tulle__solve_times *times)
{
    tulle__push *push = solver->now->state;
    const tulle__worker_schedule *schedule = &solver->now->worker[0];
    int64_t cols = push->cols, start = tulle__now(solver->comm), waited = times->wait_ns;
    tulle_status status = TULLE_OK;
    struct sweep p = {.solver = solver,
        .push = push,
        .schedule = schedule,
        .times = times,
        .task = {.type = push->type,
            .step = 1,
            .cols = cols,
            .colind = schedule->colind,
            .val = schedule->val,
            .ldb = cols,
            .x = push->lines,
            .ldx = cols},
        .size = tulle_type_size(push->type),
        .is_virtual = tulle__is_virtual(solver->comm),
        .since = start,
        .busy = {solver->comm->pe->timeline, tulle__solver_kernel(solver), start},
        .idle_from = -1};
    p.most = p.is_virtual ? TULLE__IN_HAND : ROUND;
    memset(push->known, 0, (size_t)(push->nown + push->nghosts));
    while (status == TULLE_OK && (p.inhand || p.next < push->nown || p.relayed < push->nrelays)) {
        int64_t relayed = p.relayed;
        p.nsolved = 0;
        relay(&p);
        if (p.is_virtual) tulle__kernel_begin(solver->comm);
        look_at_hand(&p);
        take_in_hand(&p);
        if (p.is_virtual && p.nsolved) charge(&p);
        pass_on(&p);
        for (int i = 0; i < p.nsolved; i++) tulle__push_send(push, push->solved[i]);
        if (p.nsolved || p.relayed > relayed) {
            p.since = tulle__now(solver->comm);
            p.turns = 0;
            if (p.idle_from >= 0) tulle__busy_waited(&p.busy, p.idle_from, p.idle_to);
            p.idle_from = -1;
        } else {
            status = wait_a_turn(&p);
        }
    }
    int64_t end = tulle__now(solver->comm);
    times->compute_ns += end - start - (times->wait_ns - waited);
    tulle__busy_end(&p.busy, end);
    return status;
}

static tulle_status prepare(tulle_trisolve *solver, tulle__method_schedule *a)
{
    tulle__push *push = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *push, "unknowns of others", &push);
    a->state = push;
    TULLE_TRY(tulle_comm_agree(solver->comm, status));
    status = tulle__push_init(&solver->triangle, push, &a->worker[0]);
out:
    return status;
}

static tulle_status open_inbox(tulle_trisolve *solver, tulle_gidx cols)
{
    tulle__push *push = solver->now->state;
    tulle_status status = tulle__push_open(push, cols);
    if (status == TULLE_OK) tulle__push_arm(push);
    return status;
}

static tulle_status sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times)
{
    tulle__push *push = solver->now->state;
    tulle__rhs_lines(solver, B, push->b, 0);
    tulle_status status = sweep_lines(solver, times);
    if (status == TULLE_OK) tulle__rhs_lines(solver, X, push->lines, 1);
    times->messages += push->sent;
    return status;
}

static void forget(tulle__method_schedule *a)
{
    tulle__push_fini(a->state);
    tulle__free(a->state);
}

static const tulle__partition dealing = {.choose = tulle__tasks_choose};

const tulle__method tulle__method_push = {.dealing = &dealing,
    .reproducible = true,
    .prepare = prepare,
    .renew = tulle__worker_schedules_renew,
    .forget = forget,
    .open = open_inbox,
    .sweep = sweep};
