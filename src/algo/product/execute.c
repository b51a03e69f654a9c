/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor. Jobs come from a feed and their tiles from a source; the runner multiplies; results
 * go into a sink. The executor takes one job after the other and serves the PE's queue in between.
 * It ends when all units of own C tiles have been multiplied here or received in partial results.
 */
#include <limits.h>

#include "algo/product/feed.h"
#include "algo/product/jobs.h"
#include "algo/product/only_beta.h"
#include "algo/product/plan/block_filter.h"
#include "algo/product/plan/phase.h"
#include "algo/product/product_progress.h"
#include "algo/product/product_report.h"
#include "algo/product/sink/layer_sum.h"
#include "algo/product/sink/sink.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/planted.h"
#include "mat/algebra/mirror.h"

/* The product of a job, and where it goes. */
static tulle_status multiply_job(tulle__exec *x, const tulle__job *job)
{
    tulle_status status;
    tulle_product *plan = x->plan;
    int64_t before = x->multiplications;
    int index = plan->target_of[tulle__tile_index(plan->operands.C, job->i, job->j)];
    if (index < 0) {
        status = x->sink->away(x, job);
    } else {
        x->own_units += job->units;
        if (TULLE__PLANTED(lost_product) && x->own_units > job->units) return TULLE_OK;
        int64_t start = tulle__kernel_begin(plan->comm);
        status = x->sink->own(x, job, &plan->target[index]);
        tulle__computed(x, "multiply", start);
    }
    x->of.nk = 0;
    double unit = job->units ? (double)(x->multiplications - before) / job->units : 0;
    if (unit > x->largest) x->largest = unit;
    x->units += job->units;
    return status;
}

/* What others wait for. */
static tulle_status serve_source(tulle__exec *x, int *done)
{
    int64_t start = tulle__now(x->plan->comm);
    tulle_status status = tulle__sources_serve(x->plan->source, done);
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    return status;
}

static tulle_status run_jobs(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle__product_progress progress = tulle__product_progress_range(x->plan, x->feed->planned(x));
    int served;
    TULLE_TRY(tulle__jobs_start(x));
    TULLE_TRY(serve_source(x, &served));
    while (x->filled) {
        TULLE_TRY(tulle__comm_interrupted(x->plan->comm));
        const tulle__job *job = &x->ring[x->head];
        TULLE_TRY(tulle__jobs_await(x, job));
        /* so that the next fetches run while this job is multiplied */
        TULLE_TRY(tulle__jobs_start(x));
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        TULLE_TRY(multiply_job(x, job));
        int amount = job->amount;
        tulle__jobs_end(x);
        tulle__progress(x->plan->comm);
        tulle__product_progress_done(&progress, amount);
        TULLE_TRY(tulle__jobs_start(x));
        TULLE_TRY(serve_source(x, &served));
    }
    TULLE_TRY(tulle__sources_reach(x->plan->source, INT_MAX, &x->wait_ns));
    while (!served) TULLE_TRY(serve_source(x, &served));
out:
    tulle__product_progress_end(&progress, status);
    return status;
}

/*
 * Counted termination: waits until all units of own tiles are multiplied or received, and own
 * panels are free.
 */
static tulle_status receive_rest(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    int64_t start = tulle__now(x->plan->comm), busy = x->inbox.accumulate_ns;
    for (int turns = 0; x->own_units + x->inbox.received < plan->units;) {
        int64_t before = x->inbox.received;
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        if (x->inbox.received > before) {
            turns = 0;
            continue;
        }
        TULLE_TRY(tulle__comm_failed(plan->comm));
        tulle__pause(plan->comm, &turns);
    }
    if (plan->arena) TULLE_TRY(tulle__arena_drain(plan->arena, tulle__inbox_serve, &x->inbox));
out:
    x->wait_ns += tulle__now(x->plan->comm) - start - (x->inbox.accumulate_ns - busy);
    return status;
}

static tulle_status begin(tulle__exec *x, tulle_product *plan)
{
    tulle_status status;
    size_t group = (size_t)plan->group;
    int64_t copied = 0;
    const tulle__waiting waiting = {tulle__inbox_serve, &x->inbox, plan->lookahead};
    TULLE_TRY(tulle__jobs_init(x));
    TULLE_TRY(tulle__alloc(group, sizeof *x->a, "jobs", &x->a));
    TULLE_TRY(tulle__alloc(group, sizeof *x->b_tile, "jobs", &x->b_tile));
    TULLE_TRY(tulle__alloc(group, sizeof *x->b, "jobs", &x->b));
    TULLE_TRY(tulle__alloc(group, sizeof *x->room, "jobs", &x->room));
    TULLE_TRY(tulle__alloc_zero(group, sizeof *x->slice, "jobs", &x->slice));
    TULLE_TRY(tulle__alloc(group, sizeof *x->next_a, "jobs", &x->next_a));
    TULLE_TRY(tulle__alloc(group, sizeof *x->next_b, "jobs", &x->next_b));
    tulle__kernel_begin(plan->comm);
    TULLE_TRY(tulle__sources_begin(plan->source, &waiting, &copied));
    tulle__work_copy(&x->inbox.told, copied);
    TULLE_TRY(x->sink->begin(x));
    tulle__work_end(&x->inbox.told);
out:
    return status;
}

static void end(tulle__exec *x)
{
    tulle__jobs_fini(x);
    tulle__free(x->a);
    tulle__free(x->b_tile);
    tulle__free(x->b);
    tulle__free(x->slice);
    tulle__free(x->next_a);
    tulle__free(x->next_b);
    tulle__free(x->room);
    tulle__free(x->pair);
    tulle__band_cut_fini(&x->cut);
    tulle__inbox_fini(&x->inbox);
}

/* All contributions to own tiles of C are there. */
static tulle_status finish(tulle__exec *x)
{
    tulle_status status;
    tulle_product *plan = x->plan;
    int64_t start = tulle__kernel_begin(plan->comm);
    TULLE_TRY(plan->runner->ops->finish(plan->runner));
    TULLE_TRY(x->sink->finish(x));
    int64_t end = tulle__work_end(&x->inbox.told);
    x->inbox.accumulate_ns += end - start;
    if (end - start > 1000) tulle__timeline_span(plan->comm->pe->timeline, "merge", start, end, -1, -1);
out:
    return status;
}

/*
 * Chooses feed and sink. If structures are those of the execution before, only values are made
 * where that is possible.
 */
static void choose_ways(tulle__exec *x, tulle_product *plan)
{
    int known = plan->known_A && plan->known_A == plan->A->structure && plan->known_B == plan->B->structure &&
                plan->known_C == plan->C->structure;
    known |= TULLE__PLANTED(stale_structure) && plan->known_A;
    /* claims of whole rows leave no trace in a tile */
    int fixed = plan->policy->reach == TULLE__REACH_NONE || plan->policy->by_chain;
    int reuse = plan->sparse && known && fixed && plan->runner->keeps_structure && plan->phases.whole &&
                plan->beta == 0 && !plan->least && !plan->options.keep_pattern &&
                !(plan->options.symmetric_c && plan->C->symmetry == TULLE_GENERAL); /* mirrored, it has other blocks */
    x->plan = plan;
    x->feed = tulle__feed_of(plan);
    x->sink = plan->sparse ? tulle__sparse_sink(plan, reuse) : tulle__dense_sink(plan);
    x->reused = reuse || (known && !plan->sparse);
    x->inbox = (tulle__inbox){
        .plan = plan, .receive = x->sink->receive, .reuse = reuse, .told = {.comm = plan->comm, .type = plan->C->type}};
}

/* Everything between the first and the last meeting. */
static tulle_status execute(tulle__exec *x)
{
    tulle_status status;
    tulle_product *plan = x->plan;
    if (!x->inbox.reuse) tulle__plan_forget(plan);
    TULLE_TRY(begin(x, plan));
    TULLE_TRY(run_jobs(x));
    if (!TULLE__PLANTED(missed_drain)) TULLE_TRY(receive_rest(x));
    TULLE_TRY(finish(x));
    int64_t start = tulle__now(plan->comm);
    if (x->sink->publishes)
        TULLE_TRY(tulle__mat_publish(plan->operands.C));
    else if (plan->slices.layer_of) {
        tulle__layers_put_all(x);
        TULLE_TRY(tulle__layers_landed(x));
        TULLE_TRY(tulle_comm_barrier(plan->comm)); /* all layers' results are there */
    }
    if (plan->slices.layer_of)
        TULLE_TRY(tulle__layers_sum(x));
    else
        TULLE_TRY(tulle__slices_join(plan, x->inbox.reuse));
    if (!x->sink->publishes && plan->comm->size > 1) TULLE_TRY(tulle_comm_barrier(plan->comm));
    x->wait_ns += tulle__now(plan->comm) - start;
    x->feed->met(x);
out:
    return status;
}

/* Operands' rows must ascend, those of C where they are added to. Agreed. */
static tulle_status order_operands(const tulle_product *plan)
{
    tulle_status status = tulle__order_operand(plan->A);
    if (status == TULLE_OK) status = tulle__order_operand(plan->B);
    if (status == TULLE_OK && plan->beta != 0) status = tulle__order_operand(plan->C);
    return status;
}

/* The blocks of C that were not made from those that were. Agreed. */
static tulle_status mirror(tulle__exec *x)
{
    int64_t start = tulle__kernel_begin(x->plan->comm);
    tulle_status status = tulle__mat_mirror(x->plan->C, tulle__plan_half_shift(x->plan));
    x->inbox.accumulate_ns += tulle__now(x->plan->comm) - start;
    return status;
}

/* Whether another PE multiplies with tile (i, j) of A, or of B, by stationary C. */
static bool others_read(const tulle_product *plan, bool of_a, int i, int j)
{
    const tulle_layout *c = plan->C->layout;
    for (int t = 0; t < (of_a ? c->nt : c->mt); t++)
        if (tulle__layout_owner(c, of_a ? i : t, of_a ? t : j) != plan->comm->rank) return true;
    return false;
}

/*
 * An operand whose values lie on devices: what this plan cannot take from there, or other PEs read, comes to the host.
 * Collective, agreed.
 */
static tulle_status settle_operand(tulle_product *plan, const tulle_mat *A, bool of_a)
{
    tulle_status status = TULLE_OK;
    const tulle__mat_home *home = tulle__mat_home_of(A);
    const tulle__operands *o = &plan->operands;
    if (!home) return TULLE_OK;
    bool takes = plan->runner->devices && plan->sparse && plan->phases.whole && (of_a ? o->A : o->B) == A &&
                 o->C == plan->C && plan->policy->alg == TULLE_PRODUCT_STATIONARY_C;
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt && status == TULLE_OK; j++)
            if (tulle__tile_is_mine(A, i, j) && (!takes || others_read(plan, of_a, i, j)))
                status = home->bring(home->context, i, j);
    if (takes) plan->runner->homes[of_a ? 0 : 1] = home;
    return tulle_comm_agree(plan->comm, status);
}

/* Before an execution: C is nobody's home any more, but what it adds to is on the host. Collective, agreed. */
static tulle_status settle_homes(tulle_product *plan)
{
    const tulle__mat_home *home = tulle__mat_home_of(plan->C);
    plan->runner->homes[0] = plan->runner->homes[1] = NULL;
    tulle_status status = settle_operand(plan, plan->A, true);
    if (status == TULLE_OK) status = settle_operand(plan, plan->B, false);
    if (status == TULLE_OK && home && (plan->beta != 0 || plan->options.keep_pattern))
        status = tulle_comm_agree(plan->comm, tulle__mat_home_bring(plan->C));
    if (status == TULLE_OK) plan->C->home = NULL;
    return status;
}

/* The current range of columns; `start` is when the call for it began. Agreed. */
static tulle_status execute_range(tulle_product *plan, int64_t start, tulle_product_report *report)
{
    tulle__exec x = {.plan = NULL};
    tulle_comm *comm = plan->comm;
    tulle__counters before = comm->pe->counters;
    x.devices_before = plan->runner->ops->work(plan->runner);
    int64_t copied;
    tulle_status status = settle_homes(plan);
    if (status == TULLE_OK) status = order_operands(plan);
    if (status != TULLE_OK) return status;
    status = tulle__plan_transpose(plan, &copied);
    if (status == TULLE_OK) status = tulle__slices_renew(plan);
    if (status == TULLE_OK) status = tulle__filter_renew(plan);
    if (status == TULLE_OK) {
        tulle__plan_count(plan);
        status = tulle__plan_connect(plan);
    }
    if (status != TULLE_OK) return status;
    choose_ways(&x, plan);
    const bool part = plan->sparse && !plan->phases.whole; /* tiles of B are ranges of their columns */
    plan->runner->stale |= part;
    plan->runner->anew = plan->sparse && !x.inbox.reuse;
    plan->runner->peek = tulle__jobs_peek;
    plan->runner->peeked = &x;
    tulle__work_copy(&x.inbox.told, copied);
    status = execute(&x);
    /* what is on its way must have landed before its memory is freed, and before others are told */
    plan->runner->ops->end(plan->runner); /* it may still read tiles of jobs */
    plan->runner->stale |= part;
    plan->runner->peek = NULL;
    (void)tulle__layers_landed(&x);
    tulle__jobs_drop(&x);
    tulle__sources_end(plan->source);
    status = TULLE__PLANTED(untold_failure) && status != TULLE_OK ? (tulle_comm_agree(comm, TULLE_OK), status)
                                                                  : tulle_comm_agree(comm, status);
    if (status == TULLE_OK && plan->options.symmetric_c && plan->C->symmetry == TULLE_GENERAL) status = mirror(&x);
    int64_t elapsed = tulle__now(comm) - start;
    if (status == TULLE_OK) {
        if (!x.inbox.reuse || !x.sink->same_jobs) {
            plan->multiplications = x.multiplications;
            plan->largest = x.largest;
        }
        if (plan->sparse && plan->beta != 0) {
            plan->known_A = 0; /* C has the structure of the old C, too */
        } else if (!x.inbox.reuse) {
            plan->known_A = plan->A->structure;
            plan->known_B = plan->B->structure;
            plan->known_C = plan->C->structure;
            plan->C->unordered = tulle__plan_unordered(plan);
        }
        if (plan->runner->home && plan->sparse)
            plan->C->home = plan->runner->ops->home(plan->runner, plan->C->structure);
        tulle__counters moved = comm->pe->counters;
        moved.gets -= before.gets;
        moved.puts -= before.puts;
        moved.bytes -= before.bytes;
        if (report) status = tulle_comm_agree(comm, tulle__product_report_make(plan, &x, elapsed, &moved, report));
    } else {
        tulle__slices_unplace(&plan->slices);
        tulle__mat_unplace(plan->C);
        tulle__plan_forget(plan);
        tulle__plan_disconnect(plan); /* records of this run may still lie in it */
    }
    end(&x);
    return status;
}

static void set_scalars(tulle_product *plan, double alpha, double beta)
{
    plan->alpha = alpha;
    plan->beta = beta;
    plan->job_beta = plan->slices.layer_of ? 0 : beta;
}

tulle_status tulle_product_next(tulle_product *plan, double alpha, tulle_columns *columns, tulle_product_report *report)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    TULLE__ENTER(plan->comm);
    set_scalars(plan, alpha, 0);
    if (alpha == 0 && columns) *columns = (tulle_columns){.last = true, .to = 1, .of = 1};
    if (alpha == 0) return tulle__product_only_beta(plan, 0, report);
    tulle__phases *p = &plan->phases;
    const bool whole = plan->options.symmetric_c; /* its triangles need each other */
    if (whole && p->expected > 1)
        return tulle__fail(TULLE_ERR_LIMIT,
            "a symmetric C does not fit in memory at once: its ranges of columns need symmetric_c to be off");
    int64_t start = tulle__now(plan->comm);
    tulle_status status;
    tulle__phases_begin(plan);
    do {
        status = execute_range(plan, start, report);
    } while (status == TULLE_ERR_LIMIT && !whole && tulle__phases_halve(plan));
    if (status == TULLE_OK) status = tulle__phases_end(plan);
    if (status != TULLE_OK) {
        tulle__phases_rewind(plan);
        return status;
    }
    if (columns)
        *columns = (tulle_columns){
            .number = p->number, .last = tulle__phases_last(p), .from = p->lo, .to = p->hi, .of = p->of};
    return TULLE_OK;
}

tulle_status tulle_product_execute(tulle_product *plan, double alpha, double beta, tulle_product_report *report)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    TULLE__ENTER(plan->comm);
    set_scalars(plan, alpha, beta);
    if (alpha == 0) return tulle__product_only_beta(plan, beta, report);
    tulle__phases *p = &plan->phases;
    if (p->expected > 1 || p->known)
        return tulle__fail(TULLE_ERR_LIMIT,
            "the result does not fit in memory at once: it takes about %d ranges of columns, each made by "
            "tulle_product_next",
            p->expected > p->known ? p->expected : p->known);
    tulle__phases_rewind(plan);
    tulle__phases_begin(plan);
    tulle_status status = execute_range(plan, tulle__now(plan->comm), report);
    tulle__phases_rewind(plan);
    return status;
}
