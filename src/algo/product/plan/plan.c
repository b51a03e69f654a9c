/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/plan.h"
#include "algo/chain/band.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/option_values.h"
#include "algo/product/plan/block_kernels.h"
#include "algo/product/plan/block_plan.h"
#include "algo/product/plan/check_operands.h"
#include "algo/product/plan/check_options.h"
#include "algo/product/plan/choose.h"
#include "algo/product/plan/phase.h"
#include "base/error.h"
#include "base/options.h"
#include "base/planted.h"
#include "mat/half/expanded.h"

enum { QUEUE_CAPACITY = 256, DEVICES_MOST = 64 };

void tulle__target_drop_parts(tulle__target *target)
{
    for (int p = 0; p < target->nparts; p++) {
        tulle__free(target->part[p].block);
        tulle__free(target->part[p].spread);
    }
    target->nparts = 0;
}

void tulle__plan_forget(tulle_product *plan)
{
    for (int t = 0; t < plan->ntargets; t++) {
        tulle__target *target = &plan->target[t];
        tulle__target_drop_parts(target);
    }
    for (int64_t s = 0; s < plan->njobs; s++) tulle__free(plan->sent[s].block);
    plan->njobs = 0;
    plan->known_A = plan->known_B = plan->known_C = 0;
}

/* What follows from the structure of the factors: tulle__plan_connect makes it for a new one. */
static void drop_sources(tulle_product *plan)
{
    tulle__steal_free(plan->steal);
    tulle__panels_free(plan->panels);
    tulle__required_free(plan->required);
    tulle__operand_cache_free(plan->operand_cache);
    tulle__last_job_free(plan->last_job);
    tulle__norm_source_free(plan->norms);
    plan->steal = NULL;
    plan->panels = NULL;
    plan->required = NULL;
    plan->operand_cache = NULL;
    plan->last_job = NULL;
    plan->norms = NULL;
    plan->source = NULL;
}

void tulle__plan_disconnect(tulle_product *plan)
{
    tulle__arena_free(plan->arena);
    tulle__queue_free(plan->queue);
    tulle__free(plan->scratch);
    plan->arena = NULL;
    plan->queue = NULL;
    plan->scratch = NULL;
    drop_sources(plan);
    plan->counted_A = plan->counted_B = 0; /* units were also those of delegated rows */
}

static tulle_status connect_queue(tulle_product *plan)
{
    tulle__pe *pe = plan->comm->pe;
    tulle_status status = tulle__arena_new(plan->comm, pe->arena_bytes, pe->arena_panels, &plan->arena);
    if (status == TULLE_OK) status = tulle__alloc(tulle__arena_panel_bytes(plan->arena), 1, "a panel", &plan->scratch);
    status = tulle_comm_agree(plan->comm, status);
    return status == TULLE_OK ? tulle__queue_new(plan->comm, QUEUE_CAPACITY, &plan->queue) : status;
}

/*
 * Decides which rows of B are fetched and which rows of A are delegated. Delegated rows are further
 * units of own tiles of C.
 */
static tulle_status connect_needs(tulle_product *plan)
{
    tulle_status status = tulle__required_new(plan->comm, plan->policy, &plan->operands, plan->options.transfers,
        tulle__slices_any(&plan->slices) || tulle__is_shape_only(plan->comm), &plan->prices, &plan->required);
    status = tulle_comm_agree(plan->comm, status);
    tulle__required_end_exchange(plan->required);
    if (status != TULLE_OK) return status;
    for (int t = 0; t < plan->ntargets; t++)
        for (int k = 0; k < plan->operands.K; k++) {
            tulle__target *target = &plan->target[t];
            int given = tulle__required_cut(plan->required, target->i, k, target->j) != NULL;
            target->units += given;
            plan->units += given;
        }
    plan->travels |= tulle__required_delegates(plan->required);
    return TULLE_OK;
}

/* Tiles come step by step. */
static tulle_status connect_steps(tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    if (!plan->panels)
        TULLE_TRY(tulle_comm_agree(plan->comm, tulle__panels_new(plan->comm, &plan->operands, plan->policy->arrival,
                                                   plan->lookahead > 0, plan->direct, &plan->panels)));
    plan->source = tulle__panels_source(plan->panels);
out:
    return status;
}

/* Tiles are fetched one by one: builds the stack of source.h, without layers that are of no use. */
static tulle_status connect_sources(tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    const tulle__operands *o = &plan->operands;
    int claims = plan->policy->reach != TULLE__REACH_NONE;
    int by_rows = o->A->format->names_rows && plan->options.transfers != TULLE_TRANSFERS_WHOLE;
    int cached = (tulle__slices_any(&plan->slices) || plan->blocked) && !claims;
    int by_norms = plan->options.filter > 0 && by_rows && !tulle__is_shape_only(plan->comm);
    const tulle__norms_for jobs = claims   ? TULLE__NORMS_FOR_CLAIMS
                                  : cached ? TULLE__NORMS_FOR_CACHE
                                           : TULLE__NORMS_FOR_JOB;
    tulle__source *source = plan->source = tulle__single_tiles_init(&plan->single_tiles, o);
    if (plan->direct) return TULLE_OK;
    if (by_rows && !plan->required) TULLE_TRY(connect_needs(plan));
    if (by_rows) source = tulle__required_source_init(&plan->by_rows, source, plan->required, o);
    if (by_norms && !plan->norms)
        TULLE_TRY(
            tulle_comm_agree(plan->comm, tulle__norm_source_new(plan->comm, plan->policy, o, jobs,
                                             plan->options.transfers, &plan->prices, &plan->least, &plan->norms)));
    if (by_norms) source = tulle__norm_source_over(plan->norms, source);
    if (cached && !plan->operand_cache)
        TULLE_TRY(tulle_comm_agree(
            plan->comm, tulle__operand_cache_new(plan->comm, plan->policy, o, plan->required, &plan->operand_cache)));
    if (cached && plan->blocked)
        tulle__operand_cache_limit(plan->operand_cache, tulle__block_order_divides_host(&plan->blocks));
    if (cached) source = tulle__operand_cache_source(plan->operand_cache, source, by_norms);
    if (claims && !plan->last_job)
        TULLE_TRY(
            tulle_comm_agree(plan->comm, tulle__last_job_new(plan->required, plan->group, by_norms, &plan->last_job)));
    plan->source = claims ? tulle__last_job_source(plan->last_job, source) : source;
out:
    return status;
}

tulle_status tulle__plan_connect(tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    TULLE_TRY(plan->policy->arrival == TULLE__ARRIVAL_SINGLY ? connect_sources(plan) : connect_steps(plan));
    if (plan->travels && !plan->queue) TULLE_TRY(connect_queue(plan));
    if (plan->policy->reach != TULLE__REACH_NONE && !plan->steal)
        TULLE_TRY(tulle_comm_agree(plan->comm, tulle__steal_new(plan->comm, plan->policy, &plan->operands,
                                                   plan->direct ? NULL : &plan->prices, plan->group, &plan->steal)));
out:
    if (status != TULLE_OK) tulle__plan_disconnect(plan);
    return status;
}

static void drop_plan(tulle_product *plan)
{
    if (!plan) return;
    tulle__pe_disown(&plan->owned);
    tulle__plan_forget(plan);
    tulle__plan_disconnect(plan);
    for (int t = 0; t < plan->ntargets; t++) tulle__free(plan->target[t].part);
    tulle__free(plan->target);
    tulle__free(plan->target_of);
    tulle__free(plan->column);
    tulle__block_order_fini(&plan->blocks);
    tulle__free(plan->chain);
    tulle__free(plan->share);
    tulle__free(plan->sent);
    tulle__free(plan->least);
    tulle__phases_fini(&plan->phases);
    tulle__slices_drop(&plan->slices);
    tulle__transposed_drop(&plan->At);
    tulle__transposed_drop(&plan->Bt);
    if (plan->runner) plan->runner->ops->free(plan->runner);
    tulle__free(plan);
}

static void free_owned(tulle__owned *object)
{
    drop_plan((tulle_product *)object);
}

void tulle_product_free(tulle_product *plan)
{
    if (!plan) return;
    /* others may still read a transposed tile of mine */
    if (plan->comm->size > 1) (void)tulle_comm_barrier(plan->comm);
    if (plan->runner->home && plan->sparse) plan->C->home = NULL;
    drop_plan(plan);
}

/* Whether every tile of A can be read in place from here. */
static int all_direct(const tulle_mat *A)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++)
            if (tulle__fetch_bytes(A, i, j)) return 0;
    return 1;
}

/* Numbers tile columns of C: those that this PE has tiles of count; others have the number of the next. */
static void number_columns(const tulle_product *plan)
{
    const tulle_layout *l = plan->operands.C->layout;
    int number = 0;
    for (int j = 0; j < l->nt; j++) {
        bool mine = false;
        for (int i = 0; i < l->mt; i++) mine |= plan->target_of[(int64_t)i * l->nt + j] >= 0;
        plan->column[j] = number;
        number += mine;
    }
    plan->runner->column = plan->column;
    plan->runner->unpinned = plan->options.unpinned;
}

/* Own C tiles. */
static tulle_status find_targets(tulle_product *plan)
{
    tulle_status status;
    const tulle_layout *l = plan->operands.C->layout;
    int64_t tiles = (int64_t)l->mt * l->nt;
    int count = 0;
    for (int64_t t = 0; t < tiles; t++) count += l->owner[t] == plan->comm->rank;
    TULLE_TRY(tulle__alloc((size_t)tiles, sizeof *plan->target_of, "plan", &plan->target_of));
    TULLE_TRY(tulle__alloc_zero((size_t)count, sizeof *plan->target, "plan", &plan->target));
    TULLE_TRY(tulle__alloc((size_t)l->nt, sizeof *plan->column, "plan", &plan->column));
    TULLE_TRY(tulle__alloc((size_t)plan->operands.K, sizeof *plan->chain, "plan", &plan->chain));
    TULLE_TRY(tulle__alloc((size_t)plan->comm->size, sizeof *plan->share, "plan", &plan->share));
    for (int64_t t = 0; t < tiles; t++) {
        plan->target_of[t] = -1;
        if (l->owner[t] != plan->comm->rank) continue;
        plan->target[plan->ntargets] = (tulle__target){.i = (int)(t / l->nt), .j = (int)(t % l->nt)};
        plan->target_of[t] = plan->ntargets++;
    }
    number_columns(plan);
out:
    return status;
}

/*
 * Units of C tile (i, j); sets *away if a PE that is not the tile's owner multiplies some, or may.
 */
static int count_tile(const tulle_product *plan, int i, int j, int *away)
{
    const tulle__operands *o = &plan->operands;
    int owner = tulle__layout_owner(o->C->layout, i, j), units = 0;
    if (plan->policy->by_chain) {
        int nk = tulle__policy_chain(plan->policy, o, owner, i, j, plan->chain);
        *away |= nk > 0;
        return nk ? tulle__chain_bands(o, i, j, nk, plan->chain) : 0;
    }
    for (int k = 0; k < o->K; k++) {
        if (!tulle__operands_meet(o, i, k, j)) continue;
        *away |= plan->policy->reach != TULLE__REACH_NONE || plan->policy->worker(o, i, k, j) != owner;
        units += tulle__operands_bands(o, i, k, j);
    }
    return units;
}

static const tulle__policy *in_effect(const tulle_product *plan)
{
    const tulle__transfer_costs *prices = plan->direct || !plan->prices.node_pes ? NULL : &plan->prices;
    return tulle__policy_in_effect(plan->asked, &plan->operands, plan->comm->size, prices, plan->share);
}

/*
 * The policy in effect depends on how even the shares of work are. If it changes, the predicted
 * length of jobs is dropped.
 */
static void negotiate_policy(tulle_product *plan)
{
    tulle__operands *o = &plan->operands;
    const tulle__policy *policy = in_effect(plan);
    o->grain = 0;
    if (policy->reach != TULLE__REACH_NONE) tulle__operands_set_grain(o, plan->comm->size);
    if (!plan->group || (plan->policy && policy != plan->policy))
        plan->group = tulle__policy_batch(policy, o->K, plan->direct, plan->options.deterministic);
    if (plan->runner->most && plan->group > plan->runner->most && !policy->by_chain) plan->group = plan->runner->most;
    plan->lookahead = plan->options.lookahead == 0            ? tulle__policy_lookahead(policy, plan->sparse)
                      : plan->options.lookahead == TULLE_NONE ? 0
                                                              : plan->options.lookahead;
    plan->policy = policy;
}

void tulle__plan_count(tulle_product *plan)
{
    tulle__operands *o = &plan->operands;
    int away = 0;
    if (plan->counted_A == plan->A->structure && plan->counted_B == plan->B->structure) return;
    plan->units = 0;
    negotiate_policy(plan);
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++) {
            int target = plan->target_of[(int64_t)i * o->N + j], units = count_tile(plan, i, j, &away);
            if (target < 0) continue;
            plan->target[target].units = units;
            plan->units += units;
        }
    plan->travels |= away && plan->comm->size > 1;
    plan->counted_A = plan->A->structure;
    plan->counted_B = plan->B->structure;
    plan->runner->stale = true;
    if (!TULLE__PLANTED(stale_subset)) drop_sources(plan);
}

/* op(X), where it is not X: a transposed copy, or all of a half. Collective, agreed. */
static tulle_status renew_operand(const tulle_mat *X, tulle_op op, tulle__transposed *made, int64_t *copied)
{
    if (X->symmetry == TULLE_GENERAL) return op == TULLE_OP_T ? tulle__transposed_renew(X, made, copied) : TULLE_OK;
    return tulle__expanded_renew(X, op, &made->mat, &made->of, copied);
}

tulle_status tulle__plan_transpose(tulle_product *plan, int64_t *copied)
{
    tulle_status status = TULLE_OK;
    *copied = 0;
    TULLE_TRY(renew_operand(plan->A, plan->options.op_a, &plan->At, copied));
    TULLE_TRY(renew_operand(plan->B, plan->options.op_b, &plan->Bt, copied));
out:
    return status;
}

/* Chooses the number of layers from the parts; with layers, parts are made again. */
static tulle_status choose_layers(tulle_product *plan)
{
    int layers;
    if (tulle__is_bulk(plan->options.alg)) return TULLE_OK;
    tulle_status status = tulle__layers_choose(plan, &layers);
    if (status != TULLE_OK || layers == 1) return status;
    tulle__slices_drop(&plan->slices);
    return tulle__slices_make(plan, layers);
}

/*
 * Whether the plan goes by the model: for the algorithm, for the length of its jobs, or to tell
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

/* Who multiplies. */
static tulle_status make_runner(tulle_product *plan)
{
    const tulle_product_options *options = &plan->options;
    const tulle__tile_format *format = plan->operands.A->format;
    if (!options->device) return tulle__host_run_new(plan->context, format, &plan->runner);
    tulle_status status = tulle__device_run_new(plan->comm, plan->context, format, plan->sparse, options->device,
        options->devices ? options->devices : 1, &plan->runner);
    if (status == TULLE_OK) plan->operands.landing = plan->runner->landing;
    const bool is_spmm = format->kind == TULLE_CSR && !plan->sparse; /* others have one kernel each */
    if (status == TULLE_OK && options->deterministic && plan->runner->by_times && is_spmm)
        status = tulle__fail(TULLE_ERR_UNSUPPORTED,
            "the device '%s' chooses kernels of SpMM by their times, which is not deterministic: kernels=library and "
            "kernels=own are",
            options->device);
    return status;
}

/* Jobs come in blocks of C, if they keep to devices. After the policy is known. */
static tulle_status make_blocks(tulle_product *plan)
{
    const tulle_product_options *options = &plan->options;
    if (!plan->runner->devices &&
        (options->block_rows || options->block_cols || options->chunk || options->host_rows || options->host_cols))
        return tulle__fail(TULLE_ERR_ARG, "blocks of C and chunks are for products on devices");
    if (!plan->runner->devices || options->unpinned || options->home_on_device ||
        plan->operands.A->kind != TULLE_DENSE || plan->policy->alg != TULLE_PRODUCT_STATIONARY_C)
        return TULLE_OK;
    tulle_status status = tulle__block_plan(&plan->operands, options, plan->comm->rank, plan->runner, &plan->blocks);
    plan->blocked = status == TULLE_OK; /* also without tiles of C, as on all PEs */
    if (plan->blocks.rows) plan->group = plan->blocks.shape.chunk;
    return status;
}

/* Whether operands and results may stay on devices; after the policy is known. */
static tulle_status settle_home(tulle_product *plan)
{
    const tulle_product_options *options = &plan->options;
    if (!options->home_on_device) return TULLE_OK;
    if (!plan->runner->devices) return tulle__fail(TULLE_ERR_ARG, "a home on devices is for products on devices");
    if ((!plan->sparse && plan->C->order != TULLE_ROW_MAJOR) || options->unpinned || options->filter > 0 ||
        tulle__slices_any(&plan->slices) || plan->slices.layer_of || plan->policy->alg != TULLE_PRODUCT_STATIONARY_C)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a home on devices is for a sparse or row-major C by stationary-c, pinned, without filter and layers, in "
            "layouts that match");
    plan->runner->home = true;
    return TULLE_OK;
}

tulle_status tulle_product_sync(tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    TULLE__ENTER(plan->comm);
    tulle_status status = plan->runner->home ? plan->runner->ops->sync(plan->runner) : TULLE_OK;
    status = tulle_comm_agree(plan->comm, status);
    if (status == TULLE_OK && plan->runner->home) plan->C->home = NULL;
    return status;
}

static tulle_status prepare(tulle_product *plan)
{
    tulle_status status;
    tulle__operands *o = &plan->operands;
    /* collective steps first, each agreed: a failure here is the same on all PEs */
    TULLE_TRY(tulle__plan_transpose(plan, &(int64_t){0}));
    TULLE_TRY(tulle__slices_make(plan, plan->options.replication > 1 ? plan->options.replication : 1));
    o->offset = !plan->options.no_offset;
    int64_t direct = all_direct(o->A) && all_direct(o->B);
    TULLE_TRY(tulle_comm_agree(plan->comm, tulle__context_get(plan->comm, &plan->context)));
    TULLE_TRY(tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_MIN, 1, &direct)));
    plan->direct = direct != 0;
    TULLE_TRY(tulle_comm_agree(plan->comm, make_runner(plan)));
    /* a thread of the pool is one of the BLAS */
    if (o->A->kind == TULLE_DENSE || o->B->format->in_blocks) plan->context->kernels->alone();
    TULLE_TRY(tulle__block_kernels_choose(plan->comm, plan->options.machine, o, &plan->block_kernels));
    if (plan->options.replication == TULLE_AUTO && !plan->options.symmetric_c) TULLE_TRY(choose_layers(plan));
    TULLE_TRY(tulle__slices_receive(plan));
    TULLE_TRY(tulle_comm_agree(plan->comm, find_targets(plan)));
    tulle_product_alg alg = plan->options.alg;
    int predicted = to_be_predicted(plan);
    if (predicted || !plan->direct) TULLE_TRY(tulle__choose(plan, predicted, &alg));
    plan->asked = tulle__policy_of(alg);
    if (alg == TULLE_PRODUCT_CANNON) TULLE_TRY(tulle__cannon_fits(o, plan->comm->size));
    tulle__plan_count(plan);
    TULLE_TRY(tulle_comm_agree(plan->comm, settle_home(plan)));
    TULLE_TRY(tulle_comm_agree(plan->comm, make_blocks(plan)));
    TULLE_TRY(tulle__plan_connect(plan));
    TULLE_TRY(tulle__phases_check(plan));
    TULLE_TRY(tulle__phases_choose(plan));
out:
    return status;
}

/* Describes what differs from the caller's matrices. */
static void describe_parts(const tulle_product *plan, char *text, size_t room)
{
    const tulle__slices *s = &plan->slices;
    if (s->layer_of)
        snprintf(text, room, " in %d layers of %d x %d PEs", s->layers.layers, s->layers.rows, s->layers.cols);
    else if (tulle__slices_any(s))
        snprintf(text, room, ", parts of%s%s%s", s->A ? " A" : "", s->B ? " B" : "", s->C ? " C" : "");
}

static const char *describe_operand(
    const tulle_mat *X, const tulle_mat *made, const char *name, char *text, size_t room)
{
    snprintf(text, room, ", %s %s", name, X->symmetry == TULLE_GENERAL ? "transposed" : "a half");
    return made ? text : "";
}

static void describe(tulle_product *plan)
{
    const tulle__operands *o = &plan->operands;
    char parts[64] = "", text[2][24];
    describe_parts(plan, parts, sizeof parts);
    snprintf(plan->text, sizeof plan->text, "%s, %d x %d x %d tiles (rows, inner, columns)%s, lookahead %d%s%s%s%s",
        tulle_product_alg_name(plan->asked->alg), o->M, o->K, o->N, parts, plan->lookahead,
        o->offset ? "" : ", no offset", describe_operand(plan->A, plan->At.mat, "A", text[0], sizeof text[0]),
        describe_operand(plan->B, plan->Bt.mat, "B", text[1], sizeof text[1]),
        plan->options.deterministic ? ", deterministic" : "");
}

tulle_status tulle_product_new(
    const tulle_mat *A, const tulle_mat *B, tulle_mat *C, const tulle_product_options *options, tulle_product **out)
{
    tulle_product_options chosen;
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(C) || TULLE__NULL_AS(out, "product") ||
        TULLE__OPTIONS(options, &chosen, home_on_device) || TULLE__PRODUCT_WRONG(options))
        return tulle__refuse(C ? C->comm : A ? A->comm : B ? B->comm : NULL);
    TULLE__ENTER(A->comm);
    tulle_product *plan = NULL;
    tulle_comm *comm = C->comm;
    tulle_status status = tulle__order_operand(A);
    if (status == TULLE_OK) status = tulle__order_operand(B);
    if (status != TULLE_OK) return status;
    status = tulle__check_product_options(&chosen);
    /* what goes to a device is a tile */
    if (chosen.device) chosen.transfers = TULLE_TRANSFERS_WHOLE;
    if (chosen.home_on_device && chosen.alg == TULLE_PRODUCT_AUTO) chosen.alg = TULLE_PRODUCT_STATIONARY_C;
    if (status == TULLE_OK) status = tulle__check_operands(A, B, C, &chosen);
    if (status == TULLE_OK && (chosen.devices < 0 || chosen.devices > DEVICES_MOST))
        status =
            tulle__fail(TULLE_ERR_ARG, "%d devices of a PE; 0 means 1, %d are possible", chosen.devices, DEVICES_MOST);
    if (status == TULLE_OK && chosen.lookahead < 0 && chosen.lookahead != TULLE_NONE)
        status =
            tulle__fail(TULLE_ERR_ARG, "a lookahead of %d jobs; 0 is the default, TULLE_NONE none", chosen.lookahead);
    if (status == TULLE_OK) status = tulle__check_replication(&chosen, comm->size);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *plan, "plan", &plan);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        plan->comm = comm;
        plan->options = chosen;
        plan->A = A;
        plan->B = B;
        plan->C = C;
        plan->sparse = C->kind != TULLE_DENSE;
        plan->phases = (tulle__phases){.whole = 1, .of = 1, .hi = 1, .number = -1};
        plan->counted_A = UINT64_MAX; /* none yet */
        status = prepare(plan);
    }
    if (status != TULLE_OK) {
        drop_plan(plan);
        return status;
    }
    describe(plan);
    tulle__pe_own(comm->pe, &plan->owned, free_owned);
    *out = plan;
    return TULLE_OK;
}

int tulle_product_phases(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return 0;
    return plan->phases.expected;
}

int tulle_product_replication(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return 0;
    return plan->slices.layer_of ? plan->slices.layers.layers : 1;
}

tulle_product_alg tulle_product_alg_of(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_PRODUCT_AUTO;
    return plan->asked->alg;
}

const char *tulle_product_describe(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return "";
    return plan->text;
}

size_t tulle_product_bytes(const tulle_product *plan)
{
    if (TULLE__NULL_AS(plan, "product")) return 0;
    size_t bytes = sizeof *plan;
    for (int t = 0; t < plan->ntargets; t++)
        for (int p = 0; p < plan->target[t].nparts; p++)
            bytes += tulle__result_bytes(plan->C, &plan->target[t].part[p].size);
    for (int64_t s = 0; s < plan->njobs; s++)
        if (plan->sent[s].block) bytes += tulle__result_bytes(plan->C, &plan->sent[s].size);
    if (plan->arena) bytes += plan->comm->pe->arena_bytes + tulle__arena_panel_bytes(plan->arena);
    if (plan->steal) bytes += tulle__steal_bytes(plan->steal);
    bytes += tulle__required_held(plan->required) + tulle__norm_source_held(plan->norms) +
             tulle__operand_cache_bytes(plan->operand_cache) + tulle__slices_bytes(&plan->slices);
    if (plan->panels) bytes += tulle__panels_bytes(plan->panels);
    bytes += tulle__transposed_bytes(&plan->At) + tulle__transposed_bytes(&plan->Bt);
    return bytes;
}

tulle_status tulle__scale_tile(tulle_product *plan, const tulle_own_tile *tile, double beta)
{
    int64_t lines = tile->order == TULLE_ROW_MAJOR ? tile->m : tile->n;
    if (beta == 1 || !tile->nnz) return TULLE_OK;
    return plan->context->kernels->scale(
        plan->context->pool, tile->type, lines, tile->nnz / lines, tile->ld, beta, tile->val);
}
