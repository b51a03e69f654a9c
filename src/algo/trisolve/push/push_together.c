/* SPDX-License-Identifier: Apache-2.0 */
/* push on devices: owners store unknowns at all PEs that require them, as on hosts, without relays. */
#include "algo/trisolve/device/starts.h"
#include "algo/trisolve/device/together.h"
#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/push/push.h"
#include "base/error.h"

/* Lines that threads of a warp take together. */
static tulle_status send_groups(tulle__together *t, const tulle__worker_schedule *schedule)
{
    tulle__device_together *task = &t->task;
    TULLE__SCOPED int32_t *entries = NULL, *group = NULL;
    TULLE_CALL(tulle__alloc((size_t)task->nown, sizeof *entries, "entries of lines", &entries));
    TULLE_CALL(tulle__alloc((size_t)task->nown + 1, sizeof *group, "groups of lines", &group));
    for (int64_t l = 0; l < task->nown; l++) entries[l] = (int32_t)(schedule->rowptr[l + 1] - schedule->rowptr[l]);
    task->ngroups = tulle__starts_cut(entries, 0, task->nown, group) - group;
    group[task->ngroups] = (int32_t)task->nown;
    return tulle__together_send(t, group, ((size_t)task->ngroups + 1) * sizeof *group, "groups of lines", &task->group);
}

static tulle_status send_rows(tulle__together *t, const tulle__worker_schedule *schedule)
{
    tulle__device_together *task = &t->task;
    const tulle__push *push = t->analysis;
    task->nown = push->nown;
    task->nghosts = push->nghosts;
    task->entries = schedule->nnz;
    t->words = push->first[push->nown];
    TULLE_CALL(tulle__together_send_offsets(t, schedule->rowptr, push->nown + 1, "rows of a triangle", &task->rowptr));
    TULLE_CALL(send_groups(t, schedule));
    TULLE_CALL(tulle__together_send(
        t, schedule->colind, (size_t)schedule->nnz * sizeof *schedule->colind, "columns of a triangle", &task->colind));
    TULLE_CALL(tulle__together_send_values(t, schedule->val, schedule->inverse));
    TULLE_CALL(tulle__together_send_offsets(t, push->first, push->nown + 1, "receivers", &task->first));
    return tulle__together_send(t, push->target, (size_t)t->words * sizeof *push->target, "receivers", &task->target);
}

static tulle_status analyse(tulle_trisolve *solver, tulle__together *t, tulle__worker_schedule *schedule)
{
    solver->options.fanout = solver->comm->size; /* owners store everywhere: no relays */
    TULLE_CALL(tulle__push_init(&solver->triangle, t->analysis, schedule));
    return send_rows(t, schedule);
}

static tulle_status renew(tulle_trisolve *solver, tulle__together *t, tulle__method_schedule *a)
{
    TULLE_CALL(tulle__worker_schedules_renew(solver, a));
    return tulle__together_send_values(t, a->worker[0].val, a->worker[0].inverse);
}

static void forget(void *analysis)
{
    tulle__push_fini(analysis);
}

/* Ghosts lie behind the own unknowns. */
static tulle_status open_sides(tulle__together *t, size_t line, tulle__device_place shared[2])
{
    tulle__device_together *task = &t->task;
    size_t own = (size_t)task->nown * line;
    TULLE_CALL(tulle__together_hold_sized(t, own + (size_t)task->nghosts * line, "solutions", &task->X));
    shared[0] = (tulle__device_place){task->X.buffer, own};
    return TULLE_OK;
}

static const struct tulle__together_rows rows = {.kind = TULLE__TOGETHER_PUSH,
    .bytes = sizeof(tulle__push),
    .analyse = analyse,
    .renew = renew,
    .forget = forget,
    .open = open_sides};

const tulle__method tulle__method_push_together = TULLE__TOGETHER(true, rows);
