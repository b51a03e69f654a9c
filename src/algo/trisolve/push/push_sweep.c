/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solve by push. A PE works in rounds: it reads arrived values, solves ready rows, and sends the
 * results. While no row waits, rows are solved block by block in order. A row that must wait is
 * held in a window, with the entry up to which all its unknowns are known, and later rows overtake
 * it. Rows enter the window in the order of solving, so the first unsolved row of all is always in
 * its PE's window or the next to enter, and all that it requires has been sent: there is no
 * deadlock.
 */
#include "algo/trisolve/method.h"

#include <string.h>

#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/push/push.h"
#include "algo/trisolve/push/tasks.h"
#include "algo/trisolve/right_hand_sides.h"
#include "base/error.h"

/* Rows solved before results are sent; in virtual time all that are ready, simultaneously. */
enum { ROUND = 16, RELAYS = 32 };

struct sweep {
    tulle_trisolve *solver;
    tulle__push *push;
    const tulle__worker_schedule *schedule;
    tulle__solve_times *times;
    tulle__solve_task task; /* apart from its rows */
    size_t size;            /* of a value */
    int is_virtual, most;
    int64_t next, block, begun; /* the next line to enter the window, its block, tasks begun */
    int inhand;
    int64_t relayed, ndue; /* so many relays, from the first, have arrived; those to send now */
    int nsolved;
    int launched; /* a task began in this round */
    int64_t since;
    int turns;
    tulle__busy busy;
    /* since when, and at least until when, nothing has been ready; idle_from < 0: not idle */
    int64_t idle_from, idle_to;
};

/* True if a ghost's value is known; reads the inbox if it was not. */
static int check_arrival(struct sweep *p, int64_t slot)
{
    tulle__push *push = p->push;
    char *known = &push->known[push->nown + slot];
    if (*known) return 1;
    if (!tulle__push_has_arrived(push, slot)) return 0;
    *known = 1;
    if (push->relay_first && push->relay_first[slot] < push->relay_first[slot + 1])
        push->due[p->ndue++] = (int32_t)slot;
    return 1;
}

/* Sends arrived values that are to be relayed. */
static void send_relayed(struct sweep *p)
{
    for (int64_t i = 0; i < p->ndue; i++) tulle__push_relay(p->push, p->push->due[i]);
    p->ndue = 0;
}

/* Values that other PEs wait for are relayed before this PE needs them. */
static void relay(struct sweep *p)
{
    const tulle__push *push = p->push;
    while (p->relayed < push->nrelays && check_arrival(p, push->relay[p->relayed])) p->relayed++;
    for (int64_t i = p->relayed + 1; i < push->nrelays && i < p->relayed + RELAYS; i++)
        check_arrival(p, push->relay[i]);
    send_relayed(p);
}

static int is_ready(struct sweep *p, int64_t line, int64_t *reached)
{
    const tulle__push *push = p->push;
    for (; *reached < p->schedule->rowptr[line + 1]; ++*reached) {
        int64_t of = p->schedule->colind[*reached];
        if (push->known[of]) continue;
        if (of < push->nown || !check_arrival(p, of - push->nown)) return 0;
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
    /* known to the rest of the PE in the next round */
    if (!p->is_virtual) memset(push->known + line, 1, (size_t)count);
}

static void look_at_hand(struct sweep *p)
{
    tulle__push *push = p->push;
    int kept = 0;
    for (int i = 0; i < p->inhand; i++) {
        tulle__push_waiting window = push->window[i];
        if (p->nsolved < p->most && is_ready(p, window.line, &window.reached))
            solve_lines(p, window.line, 1);
        else
            push->window[kept++] = window;
    }
    p->inhand = kept;
}

/*
 * True if the block that begins at the next line has all that it requires, and no row before it
 * waits.
 */
static int is_block_ready(struct sweep *p)
{
    const tulle__worker_schedule *schedule = p->schedule;
    while (schedule->block[p->block].done <= p->next) p->block++;
    const tulle__row_block *block = &schedule->block[p->block];
    if (p->inhand || p->is_virtual || block->at != p->next) return 0;
    for (int64_t slot = p->block ? block[-1].last_wait : 0; slot < block->last_wait; slot++)
        if (!check_arrival(p, slot)) return 0;
    return 1;
}

static void take_in_hand(struct sweep *p)
{
    tulle__push *push = p->push;
    while (p->next < push->nown && p->inhand < TULLE__WINDOW && p->nsolved < p->most) {
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
        tulle__push_waiting window = {.line = (int32_t)p->next, .reached = p->schedule->rowptr[p->next]};
        p->next++;
        if (is_ready(p, window.line, &window.reached))
            solve_lines(p, window.line, 1);
        else
            push->window[p->inhand++] = window;
    }
}

/* The time of a round's rows, if time is virtual. */
static void account_work(struct sweep *p)
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
        return tulle__fail(TULLE_ERR_STATE,
            "a PE has waited %g s for the unknown of row " TULLE__AT ", which it relays", patience,
            (int64_t)push->ghost[push->relay[p->relayed]]);
    const tulle__push_waiting *window = &push->window[0];
    /* of the first waiting row: a ghost, as earlier rows are solved */
    int32_t of = p->schedule->colind[window->reached];
    return tulle__fail(TULLE_ERR_STATE, "row " TULLE__AT " has waited %g s for the unknown of row " TULLE__AT,
        (int64_t)push->row[window->line], patience, (int64_t)push->ghost[of - push->nown]);
}

/* Nothing was ready: whether to continue waiting. */
static tulle_status wait_once(struct sweep *p)
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
    p.most = p.is_virtual ? TULLE__WINDOW : ROUND;
    memset(push->known, 0, (size_t)(push->nown + push->nghosts));
    while (status == TULLE_OK && (p.inhand || p.next < push->nown || p.relayed < push->nrelays)) {
        int64_t relayed = p.relayed;
        p.nsolved = 0;
        relay(&p);
        if (p.is_virtual) tulle__kernel_begin(solver->comm);
        look_at_hand(&p);
        take_in_hand(&p);
        if (p.is_virtual && p.nsolved) account_work(&p);
        send_relayed(&p);
        for (int i = 0; i < p.nsolved; i++) tulle__push_send(push, push->solved[i]);
        if (p.nsolved || p.relayed > relayed) {
            p.since = tulle__now(solver->comm);
            p.turns = 0;
            if (p.idle_from >= 0) tulle__busy_waited(&p.busy, p.idle_from, p.idle_to);
            p.idle_from = -1;
        } else {
            status = wait_once(&p);
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
    tulle_status status = tulle__alloc_zero(1, sizeof *push, "ghosts", &push);
    a->state = push;
    TULLE_TRY(tulle_comm_agree(solver->comm, status));
    status = tulle__push_init(&solver->triangle, push, &a->worker[0]);
out:
    return status;
}

static tulle_status open_inbox(tulle_trisolve *solver, tulle_gidx cols)
{
    tulle__push *push = solver->now->state;
    TULLE_CALL(tulle__push_open(push, cols));
    tulle__push_arm(push);
    return TULLE_OK;
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

static const tulle__partition partition = {.choose = tulle__tasks_choose};

const tulle__method tulle__method_push = {.partition = &partition,
    .reproducible = true,
    .prepare = prepare,
    .renew = tulle__worker_schedules_renew,
    .forget = forget,
    .open = open_inbox,
    .sweep = sweep,
    .together = &tulle__method_push_together};
