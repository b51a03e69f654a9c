/* SPDX-License-Identifier: Apache-2.0 */
/* A plan is made, described and freed. */
#include "algo/product/plan/plan.h"

#include <stdio.h>

#include "algo/chain/block_order.h"
#include "algo/option_values.h"
#include "algo/product/plan/block_kernels.h"
#include "algo/product/plan/block_plan.h"
#include "algo/product/plan/checks.h"
#include "algo/product/plan/choose.h"
#include "algo/product/plan/compressed_product.h"
#include "algo/product/plan/sources.h"
#include "algo/product/plan/units.h"
#include "algo/product/run/runner.h"
#include "algo/product/stage/stage.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "comm/arena.h"
#include "mat/compressed.h"
#include "mat/context.h"
#include "mat/fetch.h"

enum { DEVICES_MOST = 64 };

/* A plan with what its options point to. */
struct plan_of_choice {
    tulle_product plan;
    tulle__product_choice choice;
    tulle_selection selection;
};

void tulle__plan_drop(tulle_product *plan)
{
    if (!plan) return;
    tulle__pe_disown(&plan->owned);
    tulle__compressed_product_free(plan);
    tulle__plan_forget(plan);
    if (plan->sources) tulle__plan_disconnect(plan);
    tulle__targets_free(&plan->targets);
    if (plan->order) tulle__block_order_fini(plan->order);
    tulle__free(plan->order);
    tulle__free(plan->known.sent);
    tulle__stages_free(plan);
    if (plan->runner) plan->runner->ops->free(plan->runner);
    tulle__free(plan->sources);
    tulle__free(plan);
}

static void free_owned(tulle__owned *object)
{
    tulle__plan_drop((tulle_product *)object);
}

void tulle_product_free(tulle_product *plan)
{
    if (!plan) return;
    /* others may still read a transposed tile of mine */
    if (plan->comm->size > 1) (void)tulle_comm_barrier(plan->comm);
    (void)tulle__stages_at(
        plan->stages.compressed ? tulle__compressed_product_inner(plan) : plan, TULLE__STAGE_CLOSE, NULL);
    tulle__plan_drop(plan);
}

/* True if every tile of A can be read in place from here. */
static int all_direct(const tulle_mat *A)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++)
            if (tulle__fetch_bytes(A, i, j)) return 0;
    return 1;
}

/*
 * True if the plan goes by the model: for the algorithm, for the length of its jobs, or to tell
 * what it predicts.
 */
static int to_be_predicted(const tulle_product *plan)
{
    const tulle_product_options *options = &plan->options;
    if (options->alg == TULLE_PRODUCT_AUTO || options->machine) return 1;
    /* stealing may be off, which only transfer costs will tell */
    tulle_product_alg keeping = tulle__policy_of(options->alg)->fallback;
    return tulle__policy_may_batch(tulle__policy_of(keeping), plan->direct, options->deterministic);
}

/* Makes the runner, which multiplies. */
static tulle_status make_runner(tulle_product *plan)
{
    const tulle_product_options *options = &plan->options;
    const tulle__tile_format *format = plan->operands.A->format;
    if (!options->device) return tulle__host_run_new(plan->context, format, &plan->runner);
    TULLE_CALL(tulle__device_run_new(plan->comm, plan->context, format, plan->sparse, options->device,
        options->devices->count ? options->devices->count : 1, &plan->runner));
    plan->operands.receiver = plan->runner->receiver;
    const bool is_spmm = format->kind == TULLE_CSR && !plan->sparse; /* others have one kernel each */
    if (options->deterministic && plan->runner->by_times && is_spmm)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "the device '%s' chooses kernels of SpMM by their times, which is not deterministic: kernels=library and "
            "kernels=own are",
            options->device);
    return TULLE_OK;
}

bool tulle__plan_may_block(const tulle_product *plan)
{
    const tulle_product_options *options = &plan->options;
    return plan->runner->devices && !options->devices->unpinned && !options->devices->resident &&
           plan->operands.A->kind == TULLE_DENSE;
}

/* Jobs come in blocks of C, if they keep to devices. After the policy is known. */
static tulle_status make_blocks(tulle_product *plan)
{
    if (!tulle__plan_may_block(plan) || plan->policy->alg != TULLE_PRODUCT_STATIONARY_C) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *plan->order, "the order of blocks", &plan->order));
    /* also without tiles of C, as on all PEs */
    TULLE_CALL(tulle__block_plan(&plan->operands, &plan->options, plan->comm->rank, plan->runner, plan->order));
    if (plan->order->rows) plan->group = plan->order->shape.chunk;
    return TULLE_OK;
}

/* Tasks of runners. */
static void tell_runner(tulle_product *plan)
{
    plan->runner->column = plan->targets.column;
    plan->runner->unpinned = plan->options.devices->unpinned;
}

static tulle_status prepare(tulle_product *plan)
{
    if (tulle__compressed_takes(plan->A, plan->B, plan->C)) return tulle__compressed_product_new(plan);
    tulle__operands *o = &plan->operands;
    /* collective steps first, each agreed: a failure here is the same on all PEs */
    TULLE_CALL(tulle__stages_open(plan));
    o->offset = !plan->options.no_offset;
    int64_t direct = all_direct(o->A) && all_direct(o->B);
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle__context_get(plan->comm, &plan->context)));
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MIN, 1, &direct)));
    plan->direct = direct != 0;
    TULLE_CALL(tulle_comm_agree(plan->comm, make_runner(plan)));
    /* a thread of the pool is one of the BLAS */
    if (o->A->kind == TULLE_DENSE || o->B->format->in_blocks) plan->context->kernels->alone();
    TULLE_CALL(tulle__block_kernels_choose(plan->comm, plan->options.machine, o, &plan->like.kernels));
    TULLE_CALL(tulle__stages_at(plan, TULLE__STAGE_ARRANGE, NULL));
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle__targets_find(plan)));
    tell_runner(plan);
    tulle_product_alg alg = plan->options.alg;
    int predicted = to_be_predicted(plan);
    if (predicted || !plan->direct) TULLE_CALL(tulle__choose(plan, predicted, &alg));
    plan->asked = tulle__policy_of(alg);
    if (alg == TULLE_PRODUCT_CANNON) TULLE_CALL(tulle__cannon_fits(o, plan->comm->size));
    tulle__plan_count(plan);
    TULLE_CALL(tulle_comm_agree(plan->comm, tulle__stages_go_together(plan, false)));
    TULLE_CALL(tulle_comm_agree(plan->comm, make_blocks(plan)));
    TULLE_CALL(tulle__plan_connect(plan));
    return tulle__stages_at(plan, TULLE__STAGE_READY, NULL);
}

static void describe(tulle_product *plan)
{
    const tulle__operands *o = &plan->operands;
    tulle__description text = {.parts = ""};
    tulle__stages_describe(plan, &text);
    snprintf(plan->figures.text, sizeof plan->figures.text,
        "%s, %d x %d x %d tiles (rows, inner, columns)%s, lookahead %d%s%s%s%s%s",
        tulle_product_alg_name(plan->asked->alg), o->M, o->K, o->N, text.parts, plan->lookahead,
        o->offset ? "" : ", no offset", text.a, text.b, plan->options.deterministic ? ", deterministic" : "",
        text.kept);
}

/* Collective, agreed. */
static tulle_status order_operands(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C)
{
    const bool compressed = tulle__compressed_takes(A, B, C);
    TULLE_CALL(tulle__order_operand(compressed && A->compressed ? A->compressed->inner : A));
    return tulle__order_operand(compressed && B->compressed ? B->compressed->inner : B);
}

/* Checks what a PE can check by itself, and completes the options. */
static tulle_status check(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, tulle__product_choice *choice,
    tulle_selection *selection)
{
    tulle_product_options *chosen = &choice->options;
    TULLE_CALL(tulle__check_product_options(chosen));
    /* what goes to a device is a tile */
    if (chosen->device) chosen->transfers = TULLE_TRANSFERS_WHOLE;
    if (choice->devices.resident && chosen->alg == TULLE_PRODUCT_AUTO) chosen->alg = TULLE_PRODUCT_STATIONARY_C;
    TULLE_CALL(tulle__check_operands(A, B, C, chosen));
    if (choice->devices.count < 0 || choice->devices.count > DEVICES_MOST)
        return tulle__fail(
            TULLE_ERR_ARG, "%d devices of a PE; 0 means 1, %d are possible", choice->devices.count, DEVICES_MOST);
    if (chosen->lookahead < 0 && chosen->lookahead != TULLE_NONE)
        return tulle__fail(
            TULLE_ERR_ARG, "a lookahead of %d jobs; 0 is the default, TULLE_NONE none", chosen->lookahead);
    TULLE_CALL(tulle__check_replication(chosen, C->comm->size));
    return tulle__check_selection(A, B, C, chosen, selection);
}

static void fill(struct plan_of_choice *made, const tulle__product_choice *choice, const tulle_selection *selection,
    const tulle_mat *A, const tulle_mat *B, tulle_mat *C)
{
    tulle_product *plan = &made->plan;
    plan->comm = C->comm;
    made->choice = *choice;
    tulle__product_choice_join(&made->choice);
    plan->options = made->choice.options;
    if (plan->options.selection) {
        made->selection = *selection;
        plan->options.selection = &made->selection;
    }
    plan->A = A;
    plan->B = B;
    plan->C = C;
    plan->sparse = C->kind != TULLE_DENSE;
    plan->ways = (tulle__ways){.whole = true, .layers = 1};
    plan->like.task.kernels = &plan->like.kernels;
    plan->like.task.type = C->type;
    tulle__plan_sees(plan, A, B, C);
    plan->targets.of_A = UINT64_MAX; /* none yet */
}

/* *out is the caller's also after a failure. Local. */
static tulle_status begin(
    const tulle_mat *A, const tulle_mat *B, tulle_mat *C, tulle__product_choice *choice, struct plan_of_choice **out)
{
    tulle_selection selection; /* until its stage has it */
    TULLE_CALL(check(A, B, C, choice, &selection));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **out, "plan", out));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *(*out)->plan.sources, "plan", &(*out)->plan.sources));
    fill(*out, choice, &selection, A, B, C);
    return TULLE_OK;
}

tulle_status tulle_product_new(
    const tulle_mat *A, const tulle_mat *B, tulle_mat *C, const tulle_product_options *options, tulle_product **out)
{
    tulle__product_choice choice;
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(C) || TULLE__NULL_AS(out, "product") ||
        TULLE__PRODUCT_OPTIONS(options, &choice) || TULLE__PRODUCT_WRONG(options))
        return tulle__refuse(C ? C->comm : A ? A->comm : B ? B->comm : NULL);
    TULLE__ENTER(A->comm);
    struct plan_of_choice *made = NULL;
    TULLE_CALL(order_operands(A, B, C));
    tulle_status status = tulle_comm_agree(C->comm, begin(A, B, C, &choice, &made));
    if (status == TULLE_OK) status = prepare(&made->plan);
    tulle_product *plan = made ? &made->plan : NULL;
    if (status != TULLE_OK) {
        tulle__plan_drop(plan);
        return status;
    }
    if (!plan->stages.compressed) describe(plan);
    tulle__pe_own(plan->comm->pe, &plan->owned, free_owned);
    *out = plan;
    return TULLE_OK;
}

int tulle_product_replication(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return 0;
    if (plan->stages.compressed) return tulle_product_replication(tulle__compressed_product_inner(plan));
    return plan->ways.layers;
}

tulle_product_alg tulle_product_alg_of(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_PRODUCT_AUTO;
    if (plan->stages.compressed) return tulle_product_alg_of(tulle__compressed_product_inner(plan));
    return plan->asked->alg;
}

const char *tulle_product_describe(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return "";
    if (plan->stages.compressed) return tulle_product_describe(tulle__compressed_product_inner(plan));
    return plan->figures.text;
}

size_t tulle_product_bytes(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return 0;
    if (plan->stages.compressed) return tulle_product_bytes(tulle__compressed_product_inner(plan));
    size_t bytes = sizeof(struct plan_of_choice);
    for (int t = 0; t < plan->targets.count; t++)
        for (int p = 0; p < plan->targets.at[t].nparts; p++)
            bytes += tulle__result_bytes(plan->C, &plan->targets.at[t].part[p].size);
    for (int64_t s = 0; s < plan->known.jobs; s++)
        if (plan->known.sent[s].block) bytes += tulle__result_bytes(plan->C, &plan->known.sent[s].size);
    if (plan->exchange.arena) bytes += plan->comm->pe->arena_bytes + tulle__arena_panel_bytes(plan->exchange.arena);
    bytes += tulle__sources_bytes(plan) + tulle__stages_bytes(plan);
    return bytes;
}
