/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands and results that stay on devices (tulle_product_devices.resident). Any plan may have operands that
 * others have left there: what it cannot take from there comes to the host first.
 */
#include "algo/product/run/runner.h"
#include "algo/product/stage/stage.h"
#include "base/arg.h"
#include "base/error.h"
#include "mat/mat_resident.h"

static bool asked(const tulle_product *plan)
{
    (void)plan;
    return true;
}

static bool in_effect(const tulle_product *plan)
{
    return plan->options.devices->resident;
}

/* True if another PE multiplies with tile (i, j) of A, or of B, by stationary C. */
static bool others_read(const tulle_product *plan, bool of_a, int i, int j)
{
    const tulle_layout *c = plan->C->layout;
    for (int t = 0; t < (of_a ? c->nt : c->mt); t++)
        if (tulle__layout_owner(c, of_a ? i : t, of_a ? t : j) != plan->comm->rank) return true;
    return false;
}

/* Brings tiles to the host that this plan cannot take from devices, or that other PEs read. */
static tulle_status ready_operand(tulle_product *plan, const tulle_mat *A, bool of_a)
{
    tulle_status status = TULLE_OK;
    const tulle__mat_resident *resident = tulle__mat_resident_of(A);
    if (!resident) return TULLE_OK;
    bool takes = plan->runner->devices && plan->sparse && plan->ways.whole && !plan->ways.in_parts &&
                 (of_a ? plan->options.op_a : plan->options.op_b) == TULLE_OP_N && A->symmetry == TULLE_GENERAL &&
                 plan->policy->alg == TULLE_PRODUCT_STATIONARY_C;
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt && status == TULLE_OK; j++)
            if (tulle__tile_is_mine(A, i, j) && (!takes || others_read(plan, of_a, i, j)))
                status = resident->bring(resident->context, i, j);
    if (takes) plan->runner->resident_of[of_a ? 0 : 1] = resident;
    return tulle_comm_agree(plan->comm, status);
}

/* Before an execution: C's values on devices are downloaded first if beta != 0, then invalidated. */
static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    tulle_product *plan = stage->plan;
    const tulle__mat_resident *resident = tulle__mat_resident_of(plan->C);
    (void)x;
    plan->runner->resident_of[0] = plan->runner->resident_of[1] = NULL;
    tulle_status status = ready_operand(plan, plan->A, true);
    if (status == TULLE_OK) status = ready_operand(plan, plan->B, false);
    if (status == TULLE_OK && resident && (plan->scalars.beta != 0 || plan->options.keep_pattern))
        status = tulle_comm_agree(plan->comm, tulle__mat_resident_bring(plan->C));
    if (status == TULLE_OK) plan->C->resident = NULL;
    return status;
}

static tulle_status check(const tulle_product *plan)
{
    if (!plan->runner->devices)
        return tulle__fail(TULLE_ERR_ARG, "device-resident matrices are for products on devices");
    if ((!plan->sparse && plan->C->order != TULLE_ROW_MAJOR) || plan->options.devices->unpinned ||
        plan->policy->alg != TULLE_PRODUCT_STATIONARY_C)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "device-resident results are a sparse or row-major C by stationary-c, pinned");
    return TULLE_OK;
}

static tulle_status ready(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    tulle_product *plan = stage->plan;
    if (!in_effect(plan)) return TULLE_OK;
    plan->runner->resident = true;
    return tulle_comm_agree(plan->comm, check(plan));
}

static tulle_status complete(tulle__stage *stage, struct tulle__exec *x)
{
    tulle_product *plan = stage->plan;
    (void)x;
    if (plan->runner->resident && plan->sparse)
        plan->C->resident = plan->runner->ops->resident(plan->runner, plan->C->structure);
    return TULLE_OK;
}

static tulle_status close(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    if (stage->plan->runner->resident && stage->plan->sparse) stage->plan->C->resident = NULL;
    return TULLE_OK;
}

const tulle__stage_ops tulle__resident_stage = {.size = sizeof(tulle__stage),
    .asked = asked,
    .in_effect = in_effect,
    .at = {[TULLE__STAGE_READY] = ready,
        [TULLE__STAGE_RENEW] = renew,
        [TULLE__STAGE_COMPLETE] = complete,
        [TULLE__STAGE_CLOSE] = close}};

tulle_status tulle_product_sync(tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    TULLE__ENTER(plan->comm);
    tulle_status status = plan->runner->resident ? plan->runner->ops->sync(plan->runner) : TULLE_OK;
    status = tulle_comm_agree(plan->comm, status);
    if (status == TULLE_OK && plan->runner->resident) plan->C->resident = NULL;
    return status;
}
