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
#include "algo/product/plan/compressed_product.h"
#include "algo/product/plan/sources.h"
#include "algo/product/plan/units.h"
#include "algo/product/product_progress.h"
#include "algo/product/product_report.h"
#include "algo/product/run/runner.h"
#include "algo/product/sink/deposit.h"
#include "algo/product/sink/sink.h"
#include "algo/product/stage/phase.h"
#include "algo/product/stage/stage.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/planted.h"
#include "base/timeline.h"
#include "comm/arena.h"

/* Fills the outputs that the sink has for a job, one after the other. */
static tulle_status multiply_job(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    const int64_t before = x->multiplications;
    const int index = plan->targets.of[tulle__tile_index(plan->operands.C, job->i, job->j)];
    const bool mine = index >= 0;
    const tulle__outputs *outputs = mine ? x->sink->own : x->sink->away;
    tulle__tile_output output = {.i = job->i, .j = job->j, .target = mine ? &plan->targets.at[index] : NULL};
    x->own_units += mine ? job->units : 0;
    if (TULLE__PLANTED(lost_product) && mine && x->own_units > job->units) return TULLE_OK;
    const int64_t start = mine ? tulle__kernel_begin(plan->comm) : 0;
    do {
        output.more = false;
        status = outputs->next(x, job, &output);
        if (status != TULLE_OK || output.none) break;
        status = (plan->sparse ? tulle__multiply_sparse : tulle__multiply_dense)(x, job, &output);
        status = outputs->taken(x, job, &output, status);
    } while (status == TULLE_OK && output.more);
    if (mine) tulle__computed(x, "multiply", start);
    double unit = job->units ? (double)(x->multiplications - before) / job->units : 0;
    if (unit > x->largest) x->largest = unit;
    x->units += job->units;
    return status;
}

/* Serves those who wait for this PE. */
static tulle_status serve_source(tulle__exec *x, int *done)
{
    int64_t start = tulle__now(x->plan->comm);
    tulle_status status = tulle__sources_serve(x->plan->sources->top, done);
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
    TULLE_TRY(tulle__sources_reach(x->plan->sources->top, INT_MAX, &x->wait_ns));
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
    for (int turns = 0; x->own_units + x->inbox.received < plan->targets.units;) {
        int64_t before = x->inbox.received;
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        if (x->inbox.received > before) {
            turns = 0;
            continue;
        }
        TULLE_TRY(tulle__comm_failed(plan->comm));
        tulle__pause(plan->comm, &turns);
    }
    if (plan->exchange.arena) TULLE_TRY(tulle__arena_drain(plan->exchange.arena, tulle__inbox_serve, &x->inbox));
out:
    x->wait_ns += tulle__now(x->plan->comm) - start - (x->inbox.accumulate_ns - busy);
    return status;
}

static tulle_status begin(tulle__exec *x, tulle_product *plan)
{
    size_t group = (size_t)plan->group;
    int64_t copied = 0;
    const tulle__waiting waiting = {tulle__inbox_serve, &x->inbox, plan->lookahead};
    TULLE_CALL(tulle__jobs_init(x));
    TULLE_CALL(tulle__alloc(group, sizeof *x->a, "jobs", &x->a));
    TULLE_CALL(tulle__alloc(group, sizeof *x->b_tile, "jobs", &x->b_tile));
    TULLE_CALL(tulle__alloc(group, sizeof *x->b, "jobs", &x->b));
    TULLE_CALL(tulle__alloc(group, sizeof *x->workspace, "jobs", &x->workspace));
    TULLE_CALL(tulle__alloc_zero(group, sizeof *x->slice, "jobs", &x->slice));
    TULLE_CALL(tulle__alloc(group, sizeof *x->next_a, "jobs", &x->next_a));
    TULLE_CALL(tulle__alloc(group, sizeof *x->next_b, "jobs", &x->next_b));
    tulle__kernel_begin(plan->comm);
    TULLE_CALL(tulle__sources_begin(plan->sources->top, &waiting, &copied));
    tulle__work_copy(&x->inbox.work, copied);
    TULLE_CALL(x->sink->begin(x));
    tulle__work_end(&x->inbox.work);
    return TULLE_OK;
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
    tulle__free(x->workspace);
    tulle__free(x->pair);
    tulle__band_cut_fini(&x->cut);
    tulle__inbox_fini(&x->inbox);
}

/* All contributions to own tiles of C are there. */
static tulle_status finish(tulle__exec *x)
{
    tulle_product *plan = x->plan;
    int64_t start = tulle__kernel_begin(plan->comm);
    TULLE_CALL(plan->runner->ops->finish(plan->runner));
    TULLE_CALL(x->sink->finish(x));
    int64_t end = tulle__work_end(&x->inbox.work);
    x->inbox.accumulate_ns += end - start;
    if (end - start > 1000) tulle__timeline_span(plan->comm->pe->timeline, "merge", start, end, -1, -1);
    return TULLE_OK;
}

/*
 * Chooses feed and sink. If structures are those of the execution before, only values are made
 * where that is possible.
 */
static void choose_ways(tulle__exec *x, tulle_product *plan)
{
    int known = plan->known.of_A && plan->known.of_A == plan->A->structure && plan->known.of_B == plan->B->structure &&
                plan->known.of_C == plan->C->structure;
    known |= TULLE__PLANTED(stale_structure) && plan->known.of_A;
    /* claims of whole rows leave no trace in a tile */
    int fixed = plan->policy->reach == TULLE__REACH_NONE || plan->policy->by_chain;
    int reuse = plan->sparse && known && fixed && plan->runner->keeps_structure && plan->ways.whole &&
                plan->scalars.beta == 0 && !plan->like.task.least && !plan->options.keep_pattern &&
                !plan->ways.reshaped;
    x->plan = plan;
    x->feed = tulle__feed_of(plan);
    x->sink = plan->sparse ? tulle__sparse_sink(plan, reuse) : tulle__dense_sink(plan);
    x->publishes = x->sink->publishes;
    x->reused = reuse || (known && !plan->sparse);
    x->inbox = (tulle__inbox){
        .plan = plan, .receive = x->sink->receive, .reuse = reuse, .work = {.comm = plan->comm, .type = plan->C->type}};
}

/* Everything between the first and the last meeting. */
static tulle_status execute(tulle__exec *x)
{
    tulle_product *plan = x->plan;
    if (!x->inbox.reuse) tulle__plan_forget(plan);
    TULLE_CALL(begin(x, plan));
    TULLE_CALL(run_jobs(x));
    if (!TULLE__PLANTED(missed_drain)) TULLE_CALL(receive_rest(x));
    TULLE_CALL(finish(x));
    int64_t start = tulle__now(plan->comm);
    if (x->publishes) TULLE_CALL(tulle__mat_publish(plan->operands.C));
    TULLE_CALL(tulle__stages_at(plan, TULLE__STAGE_JOIN, x));
    if (!x->publishes && plan->comm->size > 1) TULLE_CALL(tulle_comm_barrier(plan->comm));
    x->wait_ns += tulle__now(plan->comm) - start;
    x->feed->met(x);
    return TULLE_OK;
}

/* Operands' rows must ascend, those of C where they are added to. Agreed. */
static tulle_status order_operands(const tulle_product *plan)
{
    TULLE_CALL(tulle__order_operand(plan->A));
    TULLE_CALL(tulle__order_operand(plan->B));
    if (plan->scalars.beta != 0) TULLE_CALL(tulle__order_operand(plan->C));
    return TULLE_OK;
}

/* Operands become what stages leave of them now; after a failure they are as before. Agreed. */
static tulle_status renew_operands(tulle__exec *x, tulle_product *plan)
{
    const tulle__operands before = plan->operands;
    TULLE_CALL(order_operands(plan));
    tulle__plan_sees(plan, plan->A, plan->B, plan->C);
    plan->ways.copied = 0;
    tulle_status status = tulle__stages_at(plan, TULLE__STAGE_RENEW, x);
    if (status != TULLE_OK) plan->operands = before;
    return status;
}

/* The current range of columns; `start` is when the call for it began. Agreed. */
static tulle_status execute_range(tulle_product *plan, int64_t start, tulle_product_report *report)
{
    tulle__exec x = {.plan = NULL};
    tulle_comm *comm = plan->comm;
    tulle__counters before = comm->pe->counters;
    x.devices_before = plan->runner->ops->work(plan->runner);
    tulle_status status = renew_operands(&x, plan);
    if (status == TULLE_OK) {
        tulle__plan_count(plan);
        status = tulle__plan_connect(plan);
    }
    if (status != TULLE_OK) return status;
    choose_ways(&x, plan);
    const bool part = plan->sparse && !plan->ways.whole; /* tiles of B are ranges of their columns */
    plan->runner->stale |= part;
    plan->runner->new_structure = plan->sparse && !x.inbox.reuse;
    plan->runner->peek = tulle__jobs_peek;
    plan->runner->peeked = &x;
    tulle__work_copy(&x.inbox.work, plan->ways.copied);
    status = execute(&x);
    /* what is on its way must have landed before its memory is freed, and before others hear of it */
    plan->runner->ops->end(plan->runner); /* it may still read tiles of jobs */
    plan->runner->stale |= part;
    plan->runner->peek = NULL;
    (void)tulle__stages_at(plan, TULLE__STAGE_END, &x);
    tulle__jobs_drop(&x);
    tulle__sources_end(plan->sources->top);
    status = TULLE__PLANTED(untold_failure) && status != TULLE_OK ? (tulle_comm_agree(comm, TULLE_OK), status)
                                                                  : tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle__stages_at(plan, TULLE__STAGE_COMPLETE, &x);
    int64_t elapsed = tulle__now(comm) - start;
    if (status == TULLE_OK) {
        if (!x.inbox.reuse || !x.sink->same_jobs) {
            plan->figures.multiplications = x.multiplications;
            plan->figures.largest = x.largest;
        }
        if (plan->sparse && plan->scalars.beta != 0) {
            plan->known.of_A = 0; /* C has the structure of the old C, too */
        } else if (!x.inbox.reuse) {
            plan->known.of_A = plan->A->structure;
            plan->known.of_B = plan->B->structure;
            plan->known.of_C = plan->C->structure;
            plan->C->unordered = tulle__plan_unordered(plan);
        }
        tulle__counters moved = comm->pe->counters;
        moved.gets -= before.gets;
        moved.puts -= before.puts;
        moved.bytes -= before.bytes;
        if (report) status = tulle_comm_agree(comm, tulle__product_report_make(plan, &x, elapsed, &moved, report));
    } else {
        (void)tulle__stages_at(plan, TULLE__STAGE_UNDO, &x);
        tulle__mat_unplace(plan->C);
        tulle__plan_forget(plan);
        tulle__plan_disconnect(plan); /* records of this run may still lie in it */
    }
    end(&x);
    return status;
}

static void set_scalars(tulle_product *plan, double alpha, double beta)
{
    plan->scalars = (tulle__scalars){.alpha = alpha, .beta = beta, .job_beta = plan->ways.layers > 1 ? 0 : beta};
}

/* The next range of columns, as wide as fits; `start` is when the call for it began. Agreed. */
static tulle_status execute_next(tulle_product *plan, int64_t start, tulle_product_report *report)
{
    const bool whole = plan->options.symmetric_c; /* its triangles need each other */
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__stages_go_together(plan, true));
    tulle__phases_begin(plan);
    do {
        status = execute_range(plan, start, report);
    } while (status == TULLE_ERR_LIMIT && !whole && tulle__phases_halve(plan));
    if (status == TULLE_OK) status = tulle__phases_end(plan);
    if (status != TULLE_OK) tulle__phases_rewind(plan);
    return status;
}

/* All ranges, of which a selection leaves one C. Agreed. */
static tulle_status execute_selection(tulle_product *plan, tulle_product_report *report)
{
    tulle_product_report sum = {.phases = 0}, one;
    tulle_status status = TULLE_OK;
    if (plan->scalars.alpha == 0 || plan->scalars.beta != 0)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a selection of alpha op(A) op(B) + beta C with alpha = %g and beta = %g: alpha is not 0, and beta is",
            plan->scalars.alpha, plan->scalars.beta);
    tulle__phases_rewind(plan);
    do {
        status = execute_next(plan, tulle__now(plan->comm), report ? &one : NULL);
        if (status == TULLE_OK && report) tulle_product_report_add(&sum, &one);
    } while (status == TULLE_OK && !tulle__phases_figures(plan).columns.last);
    tulle__phases_rewind(plan);
    sum.nnz_c = plan->C->nnz;
    if (status == TULLE_OK && report) *report = sum;
    return status;
}

/* Hypersparse factors: all of C, or where columns is not NULL, a range. Agreed. */
static tulle_status execute_compressed(
    tulle_product *plan, double alpha, double beta, tulle_columns *columns, tulle_product_report *report)
{
    tulle_product *inner;
    const int64_t start = tulle__now(plan->comm);
    TULLE_CALL(tulle__compressed_product_renew(plan, beta, &inner));
    TULLE_CALL(columns ? tulle_product_next(inner, alpha, columns, report)
                       : tulle_product_execute(inner, alpha, beta, report));
    TULLE_CALL(tulle__compressed_product_taken(plan, beta));
    if (!report) return TULLE_OK;
    /* lines that are gathered and scattered take time, too */
    report->seconds = 1e-9 * (double)(tulle__now(plan->comm) - start);
    return tulle_comm_agree(plan->comm, tulle_comm_reduce_real(plan->comm, TULLE_MAX, 1, &report->seconds));
}

tulle_status tulle_product_next(tulle_product *plan, double alpha, tulle_columns *columns, tulle_product_report *report)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    TULLE__ENTER(plan->comm);
    set_scalars(plan, alpha, 0);
    if (plan->stages.compressed) {
        tulle_columns unread;
        return execute_compressed(plan, alpha, 0, columns ? columns : &unread, report);
    }
    const bool at_once = alpha == 0 || plan->options.selection;
    if (at_once && columns) *columns = (tulle_columns){.last = true, .to = 1, .of = 1};
    if (plan->options.selection) return execute_selection(plan, report);
    if (alpha == 0) return tulle__product_only_beta(plan, 0, report);
    TULLE_CALL(execute_next(plan, tulle__now(plan->comm), report));
    if (columns) *columns = tulle__phases_figures(plan).columns;
    return TULLE_OK;
}

tulle_status tulle_product_execute(tulle_product *plan, double alpha, double beta, tulle_product_report *report)
{
    if (TULLE__NULL_AS(plan, "product")) return TULLE_ERR_ARG;
    TULLE__ENTER(plan->comm);
    set_scalars(plan, alpha, beta);
    if (plan->stages.compressed) return execute_compressed(plan, alpha, beta, NULL, report);
    if (plan->options.selection) return execute_selection(plan, report);
    if (alpha == 0) return tulle__product_only_beta(plan, beta, report);
    const int ranges = tulle__phases_several(plan);
    if (ranges)
        return tulle__fail(TULLE_ERR_LIMIT,
            "the result does not fit in memory at once: it takes about %d ranges of columns, each made by "
            "tulle_product_next",
            ranges);
    tulle__phases_rewind(plan);
    tulle__phases_begin(plan);
    tulle_status status = execute_range(plan, tulle__now(plan->comm), report);
    tulle__phases_rewind(plan);
    return status;
}
