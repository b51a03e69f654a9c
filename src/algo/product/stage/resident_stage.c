/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands and results that stay on devices (tulle_product_devices.resident). Any plan may have operands that
 * others have left there: what it cannot take from there comes to the host first.
 *
 * PEs that are threads of one process, with devices that copy from each other, take each other's tiles there: values
 * go from device to device. A directory has each PE's tiles for an execution, during which no PE changes them.
 */
#include <inttypes.h>
#include <unistd.h>

#include "algo/product/run/runner.h"
#include "algo/product/stage/stage.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/mat_resident.h"

/* Tiles that a PE has on its devices. */
struct lender {
    int64_t process;
    const void *code; /* of two processes it is hardly at the same address */
    const tulle__mat_resident *resident;
};

/* Directory of an operand's tiles on the devices of all PEs. */
struct directory {
    tulle__mat_resident all;
    const tulle_mat *A;
    struct lender *pe; /* [size] */
};

struct resident {
    tulle__stage stage;
    struct directory operand[2];
};

static bool find_any(void *context, int i, int j, tulle__device **device, tulle__device_tile *tile)
{
    const struct directory *d = context;
    const tulle__mat_resident *resident = d->pe[tulle__layout_owner(d->A->layout, i, j)].resident;
    return resident->find(resident->context, i, j, device, tile);
}

static tulle_status bring_own(void *context, int i, int j)
{
    const struct directory *d = context;
    const tulle__mat_resident *resident = d->pe[d->A->comm->rank].resident;
    if (tulle__tile_is_mine(d->A, i, j)) return resident->bring(resident->context, i, j);
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "parts of tile (" TULLE__AT ", " TULLE__AT ") of another PE's device",
        (int64_t)i, (int64_t)j);
}

/* *all: the devices of each PE copy from those of each other. Collective. */
static tulle_status meet(
    const tulle_product *plan, const tulle__mat_resident *resident, bool takes, struct directory *d, bool *all)
{
    tulle_comm *comm = plan->comm;
    const struct lender mine = {.process = getpid(), .code = &tulle__resident_stage, .resident = resident};
    tulle_status status = TULLE_OK;
    int64_t apart = !takes;
    if (!d->pe) status = tulle__alloc_zero((size_t)comm->size, sizeof *d->pe, "tiles on devices", &d->pe);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_agree(comm, tulle_comm_allgather(comm, &mine, sizeof mine, d->pe)));
    for (int r = 0; r < comm->size && !apart; r++)
        apart = d->pe[r].process != mine.process || d->pe[r].code != mine.code ||
                !plan->runner->ops->reaches(plan->runner, d->pe[r].resident);
    status = tulle_comm_reduce_int(comm, TULLE_SUM, 1, &apart);
    *all = status == TULLE_OK && !apart;
out:
    return status;
}

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

/* Brings tiles to the host that this plan cannot take from devices, or that PEs read which cannot. */
static tulle_status ready_operand(tulle_product *plan, const tulle_mat *A, bool of_a, struct directory *d)
{
    tulle_status status = TULLE_OK;
    bool all = false;
    const tulle__mat_resident *resident = tulle__mat_resident_of(A);
    if (!resident) return TULLE_OK;
    const bool takes = plan->runner->devices && plan->sparse && plan->ways.whole && !plan->ways.in_parts &&
                       (of_a ? plan->options.op_a : plan->options.op_b) == TULLE_OP_N && A->symmetry == TULLE_GENERAL &&
                       plan->policy->alg == TULLE_PRODUCT_STATIONARY_C;
    if (plan->comm->size > 1) status = meet(plan, resident, takes, d, &all);
    for (int i = 0; i < A->layout->mt && !all; i++)
        for (int j = 0; j < A->layout->nt && status == TULLE_OK; j++)
            if (tulle__tile_is_mine(A, i, j) && (!takes || others_read(plan, of_a, i, j)))
                status = resident->bring(resident->context, i, j);
    d->A = A;
    d->all =
        (tulle__mat_resident){.structure = resident->structure, .context = d, .find = find_any, .bring = bring_own};
    if (takes) plan->runner->resident_of[of_a ? 0 : 1] = all ? &d->all : resident;
    return tulle_comm_agree(plan->comm, status);
}

/* Before an execution: C's values on devices are downloaded first if beta != 0, then invalidated. */
static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    tulle_product *plan = stage->plan;
    struct resident *s = (struct resident *)stage;
    const tulle__mat_resident *resident = tulle__mat_resident_of(plan->C);
    (void)x;
    plan->runner->resident_of[0] = plan->runner->resident_of[1] = NULL;
    TULLE_CALL(ready_operand(plan, plan->A, true, &s->operand[0]));
    TULLE_CALL(ready_operand(plan, plan->B, false, &s->operand[1]));
    if (resident && (plan->scalars.beta != 0 || plan->options.keep_pattern))
        TULLE_CALL(tulle_comm_agree(plan->comm, tulle__mat_resident_bring(plan->C)));
    plan->C->resident = NULL;
    return TULLE_OK;
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

static tulle_status close_plan(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    if (stage->plan->runner->resident && stage->plan->sparse) stage->plan->C->resident = NULL;
    return TULLE_OK;
}

static void free_directories(tulle__stage *stage)
{
    struct resident *s = (struct resident *)stage;
    for (int o = 0; o < 2; o++) tulle__free(s->operand[o].pe);
}

const tulle__stage_ops tulle__resident_stage = {.size = sizeof(struct resident),
    .asked = asked,
    .in_effect = in_effect,
    .free = free_directories,
    .at = {[TULLE__STAGE_READY] = ready,
        [TULLE__STAGE_RENEW] = renew,
        [TULLE__STAGE_COMPLETE] = complete,
        [TULLE__STAGE_CLOSE] = close_plan}};

tulle_status tulle_product_sync(tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    if (plan->stages.compressed) return TULLE_OK; /* its C is not resident */
    TULLE__ENTER(plan->comm);
    tulle_status status = plan->runner->resident ? plan->runner->ops->sync(plan->runner) : TULLE_OK;
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    if (plan->runner->resident) plan->C->resident = NULL;
    return TULLE_OK;
}
