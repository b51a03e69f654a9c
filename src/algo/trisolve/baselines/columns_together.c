/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's methods on devices. */
#include "algo/trisolve/baselines/baselines.h"
#include "algo/trisolve/baselines/scatter.h"
#include "algo/trisolve/device/together.h"
#include "base/error.h"

static tulle_status send_columns(tulle__together *t, tulle__worker_schedule *worker)
{
    tulle__device_together *task = &t->task;
    const tulle__scatter *s = t->analysis;
    size_t own = (size_t)s->nown * sizeof *s->row, all = (size_t)s->n * sizeof *s->line;
    int one = task->kind == TULLE__TOGETHER_ONE_SUM;
    task->nown = s->nown;
    task->entries = s->nnz;
    worker->nrows = s->nown;
    worker->nnz = s->nnz;
    for (int64_t l = 0; l < s->nown; l++) {
        worker->nwaits += s->far[l] > 0;
        t->words += 2 * (one ? t->comm->size > 1 : (int64_t)(t->comm->size - 1)); /* counters and sums that are read */
    }
    for (int64_t e = 0; one && e < s->nnz; e++) t->words += 2 * (s->line[s->rowind[e]] < 0);
    TULLE_CALL(tulle__together_send_offsets(t, s->colptr, s->nown + 1, "columns of a triangle", &task->rowptr));
    TULLE_CALL(
        tulle__together_send(t, s->rowind, (size_t)s->nnz * sizeof *s->rowind, "rows of a triangle", &task->colind));
    TULLE_CALL(tulle__together_send_values(t, s->val, s->inverse));
    TULLE_CALL(tulle__together_send(t, s->row, own, "rows", &task->row));
    TULLE_CALL(tulle__together_send(t, s->line, all, "own rows", &task->line));
    TULLE_CALL(tulle__together_send(t, s->near, own, "in-degrees", &task->near));
    TULLE_CALL(tulle__together_send(t, s->far, own, "in-degrees", &task->far));
    TULLE_CALL(tulle__together_hold(t, own, "in-degrees", &task->left));
    if (!one) TULLE_CALL(tulle__together_send(t, s->owed, all, "in-degrees", &task->owed));
    return TULLE_OK;
}

static tulle_status analyse(tulle_trisolve *solver, tulle__together *t, tulle__worker_schedule *schedule)
{
    TULLE_CALL(tulle__scatter_init(&solver->triangle, t->task.kind == TULLE__TOGETHER_ONE_SUM, t->analysis));
    return send_columns(t, schedule);
}

static tulle_status renew(tulle_trisolve *solver, tulle__together *t, tulle__method_schedule *a)
{
    tulle__scatter *s = t->analysis;
    (void)a;
    TULLE_CALL(tulle__scatter_update(&solver->triangle, s));
    return tulle__together_send_values(t, s->val, s->inverse);
}

static void forget(void *analysis)
{
    tulle__scatter_fini(analysis);
}

/* Makes the partial sums and counters for other PEs, or of all, which are PE 0's. */
static tulle_status open_sides(tulle__together *t, size_t line, tulle__device_place shared[2])
{
    tulle__device_together *task = &t->task;
    const int one = task->kind == TULLE__TOGETHER_ONE_SUM;
    const size_t own = (size_t)task->nown * line,
                 bytes[2] = {(size_t)task->n * line, (size_t)task->n * sizeof(int32_t)};
    TULLE_CALL(tulle__together_hold_sized(t, own, "solutions", &task->X));
    TULLE_CALL(tulle__together_hold_sized(t, own, "partial sums", &task->sum));
    for (int what = 0; what < 2; what++)
        if (!one)
            TULLE_CALL(tulle__together_hold_sized(t, bytes[what], "partial sums for others", &shared[what]));
        else if (!task->rank)
            TULLE_CALL(tulle__together_hold_managed(t, bytes[what], "partial sums of all", &shared[what]));
    return TULLE_OK;
}

#define SUMS(held)                                                                                                     \
    {                                                                                                                  \
        .kind = (held), .bytes = sizeof(tulle__scatter), .analyse = analyse, .renew = renew, .forget = forget,         \
        .open = open_sides                                                                                             \
    }
static const struct tulle__together_rows one_sum = SUMS(TULLE__TOGETHER_ONE_SUM),
                                         own_sums = SUMS(TULLE__TOGETHER_OWN_SUMS);
#undef SUMS

const tulle__method tulle__method_one_sum_together = TULLE__TOGETHER(false, one_sum);
const tulle__method tulle__method_own_sums_together = TULLE__TOGETHER(false, own_sums);
