/* SPDX-License-Identifier: Apache-2.0 */
/* symmetric_c: of symmetric results one triangle is made, in squares of blocks; the other one is its mirror image. */
#include "algo/product/execution/execution.h"
#include "algo/product/stage/stage.h"
#include "mat/algebra/mirror.h"

static bool asked(const tulle_product *plan)
{
    return plan->options.symmetric_c;
}

/* A half stays as it is made. */
static bool mirrors(const tulle_product *plan)
{
    return plan->C->symmetry == TULLE_GENERAL;
}

/*
 * The squares of blocks of a half. On one PE there is one square, so that its lower triangle is made: runs of blocks
 * are longest then.
 */
static tulle_status open(tulle__stage *stage)
{
    enum { ONE = 62 };
    tulle_product *plan = stage->plan;
    plan->like.task.half = true;
    plan->like.task.half_shift =
        plan->comm->size == 1 && mirrors(plan) ? ONE : tulle__half_shift(plan->C->layout->row_blocks.count);
    plan->ways.reshaped = mirrors(plan);
    return TULLE_OK;
}

/* The blocks of C that were not made from those that were. */
static tulle_status complete(tulle__stage *stage, tulle__exec *x)
{
    const tulle_product *plan = stage->plan;
    if (!mirrors(plan)) return TULLE_OK;
    const int64_t start = tulle__kernel_begin(plan->comm);
    const tulle_status status = tulle__mat_mirror(plan->C, plan->like.task.half_shift);
    x->inbox.accumulate_ns += tulle__now(plan->comm) - start;
    return status;
}

const tulle__stage_ops tulle__symmetric_stage = {.size = sizeof(tulle__stage),
    .asked = asked,
    .in_effect = asked,
    .open = open,
    .at = {[TULLE__STAGE_COMPLETE] = complete}};
