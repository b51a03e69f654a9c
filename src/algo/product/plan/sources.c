/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/sources.h"

#include "algo/chain/block_order.h"
#include "algo/product/source/last_job.h"
#include "algo/product/source/norm_source.h"
#include "algo/product/source/operand_cache.h"
#include "algo/product/source/panel.h"
#include "algo/steal/steal.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/arena.h"
#include "comm/queue.h"

enum { QUEUE_CAPACITY = 256 };

/*
 * Decides which rows of B are fetched and which rows of A are delegated. Delegated rows are further
 * units of own tiles of C.
 */
static tulle_status connect_needs(tulle_product *plan)
{
    tulle__sources *s = plan->sources;
    tulle_status status = tulle__required_new(plan->comm, plan->policy, &plan->operands, plan->options.transfers,
        plan->ways.in_parts || tulle__is_shape_only(plan->comm), &s->prices, &s->required);
    status = tulle_comm_agree(plan->comm, status);
    tulle__required_end_exchange(s->required);
    if (status != TULLE_OK) return status;
    for (int t = 0; t < plan->targets.count; t++)
        for (int k = 0; k < plan->operands.K; k++) {
            tulle__target *target = &plan->targets.at[t];
            int given = tulle__required_cut(s->required, target->i, k, target->j) != NULL;
            target->units += given;
            plan->targets.units += given;
        }
    plan->exchange.travels |= tulle__required_delegates(s->required);
    return TULLE_OK;
}

/* Tiles come step by step. */
static tulle_status connect_steps(tulle_product *plan)
{
    tulle__sources *s = plan->sources;
    if (!s->panels)
        TULLE_CALL(tulle_comm_agree(plan->comm, tulle__panels_new(plan->comm, &plan->operands, plan->policy->arrival,
                                                    plan->lookahead > 0, plan->direct, &s->panels)));
    s->top = tulle__panels_source(s->panels);
    return TULLE_OK;
}

/* Tiles are fetched one by one: builds the stack of source.h, without layers that are of no use. */
static tulle_status connect_single(tulle_product *plan)
{
    tulle__sources *s = plan->sources;
    const tulle__operands *o = &plan->operands;
    int claims = plan->policy->reach != TULLE__REACH_NONE;
    int by_rows = o->A->format->names_rows && plan->options.transfers != TULLE_TRANSFERS_WHOLE;
    int cached = (plan->ways.in_parts || plan->order) && !claims;
    int by_norms = plan->options.filter > 0 && by_rows && !tulle__is_shape_only(plan->comm);
    const tulle__norms_for jobs = claims   ? TULLE__NORMS_FOR_CLAIMS
                                  : cached ? TULLE__NORMS_FOR_CACHE
                                           : TULLE__NORMS_FOR_JOB;
    tulle__source *source = s->top = tulle__single_tiles_init(&s->single_tiles, o);
    if (plan->direct) return TULLE_OK;
    if (by_rows && !s->required) TULLE_CALL(connect_needs(plan));
    if (by_rows) source = tulle__required_source_init(&s->by_rows, source, s->required, o);
    if (by_norms && !s->norms)
        TULLE_CALL(
            tulle_comm_agree(plan->comm, tulle__norm_source_new(plan->comm, plan->policy, o, jobs,
                                             plan->options.transfers, &s->prices, &plan->like.task.least, &s->norms)));
    if (by_norms) source = tulle__norm_source_over(s->norms, source);
    if (cached && !s->cache)
        TULLE_CALL(tulle_comm_agree(
            plan->comm, tulle__operand_cache_new(plan->comm, plan->policy, o, s->required, &s->cache)));
    if (cached && plan->order) tulle__operand_cache_limit(s->cache, tulle__block_order_divides_host(plan->order));
    if (cached) source = tulle__operand_cache_source(s->cache, source, by_norms);
    if (claims && !s->last_job)
        TULLE_CALL(tulle_comm_agree(plan->comm, tulle__last_job_new(s->required, plan->group, by_norms, &s->last_job)));
    s->top = claims ? tulle__last_job_source(s->last_job, source) : source;
    return TULLE_OK;
}

static tulle_status connect(tulle_product *plan)
{
    tulle__sources *s = plan->sources;
    TULLE_CALL(plan->policy->arrival == TULLE__ARRIVAL_SINGLY ? connect_single(plan) : connect_steps(plan));
    if (plan->policy->reach != TULLE__REACH_NONE && !s->steal)
        TULLE_CALL(tulle_comm_agree(plan->comm, tulle__steal_new(plan->comm, plan->policy, &plan->operands,
                                                    plan->direct ? NULL : &s->prices, plan->group, &s->steal)));
    return TULLE_OK;
}

void tulle__sources_drop(tulle_product *plan)
{
    tulle__sources *s = plan->sources;
    tulle__steal_free(s->steal);
    tulle__panels_free(s->panels);
    tulle__required_free(s->required);
    tulle__operand_cache_free(s->cache);
    tulle__last_job_free(s->last_job);
    tulle__norm_source_free(s->norms);
    s->steal = NULL;
    s->panels = NULL;
    s->required = NULL;
    s->cache = NULL;
    s->last_job = NULL;
    s->norms = NULL;
    s->top = NULL;
}

size_t tulle__sources_bytes(const tulle_product *plan)
{
    const tulle__sources *s = plan->sources;
    return tulle__required_held(s->required) + tulle__norm_source_held(s->norms) +
           tulle__operand_cache_bytes(s->cache) + (s->steal ? tulle__steal_bytes(s->steal) : 0) +
           (s->panels ? tulle__panels_bytes(s->panels) : 0);
}

void tulle__plan_disconnect(tulle_product *plan)
{
    tulle__arena_free(plan->exchange.arena);
    tulle__queue_free(plan->exchange.queue);
    tulle__free(plan->exchange.scratch);
    plan->exchange.arena = NULL;
    plan->exchange.queue = NULL;
    plan->exchange.scratch = NULL;
    tulle__sources_drop(plan);
    plan->targets.of_A = plan->targets.of_B = 0; /* units were also those of delegated rows */
}

static tulle_status connect_queue(tulle_product *plan)
{
    tulle__pe *pe = plan->comm->pe;
    tulle_status status = tulle__arena_new(plan->comm, pe->arena_bytes, pe->arena_panels, &plan->exchange.arena);
    if (status == TULLE_OK)
        status = tulle__alloc(tulle__arena_panel_bytes(plan->exchange.arena), 1, "a panel", &plan->exchange.scratch);
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    return tulle__queue_new(plan->comm, QUEUE_CAPACITY, &plan->exchange.queue);
}

tulle_status tulle__plan_connect(tulle_product *plan)
{
    tulle_status status = connect(plan);
    if (status == TULLE_OK && plan->exchange.travels && !plan->exchange.queue) status = connect_queue(plan);
    if (status != TULLE_OK) tulle__plan_disconnect(plan);
    return status;
}
