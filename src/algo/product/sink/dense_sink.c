/* SPDX-License-Identifier: Apache-2.0 */
/* Results into a dense C. */
#include <stdlib.h>

#include "algo/product/plan/sources.h"
#include "algo/product/run/runner.h"
#include "algo/product/sink/sink.h"
#include "algo/product/source/required_rows.h"
#include "base/error.h"
#include "base/planted.h"
#include "comm/arena.h"
#include "mat/context.h"

static int64_t row_step(const tulle_own_tile *C)
{
    return C->order == TULLE_ROW_MAJOR ? C->ld : 1;
}

static int64_t col_step(const tulle_own_tile *C)
{
    return C->order == TULLE_ROW_MAJOR ? 1 : C->ld;
}

/* ---- beta C ---- */

static tulle_status scale_target(tulle__exec *x, tulle__target *target)
{
    tulle_product *plan = x->plan;
    tulle_own_tile tile;
    target->scaled = 1;
    TULLE_CALL(tulle_mat_own_tile(plan->operands.C, target->i, target->j, &tile));
    tulle__work_scale(&x->inbox.work, &tile, plan->scalars.job_beta);
    return tulle__scale_tile(plan, &tile, plan->scalars.job_beta);
}

/*
 * Others add into a tile as soon as they come: beta first, unless each row is written once anyhow.
 */
static tulle_status begin(tulle__exec *x)
{
    const tulle_product *plan = x->plan;
    int once = plan->policy->by_chain ||
               (plan->policy->alg == TULLE_PRODUCT_STATIONARY_C && !tulle__required_delegates(plan->sources->required));
    for (int t = 0; t < plan->targets.count; t++) {
        plan->targets.at[t].scaled = plan->targets.at[t].made = 0;
        plan->targets.at[t].put = 0;
        if (!once || !plan->targets.at[t].units) TULLE_CALL(scale_target(x, &plan->targets.at[t]));
    }
    return TULLE_OK;
}

/* ---- products ---- */

static tulle_status take(tulle__exec *x, const tulle__job *job, int n)
{
    (void)x, (void)job, (void)n;
    return TULLE_OK;
}

static void drop(tulle__exec *x, const tulle__job *job)
{
    (void)x, (void)job;
}

enum { BANDS = 8, BAND_ROWS = 64 };

/* True if rows of a tile are complete, in memory, once its last job has multiplied them. */
static int complete_by_rows(const tulle_product *plan)
{
    return plan->ways.put && plan->policy->alg == TULLE_PRODUCT_STATIONARY_C && !plan->runner->devices &&
           !tulle__required_delegates(plan->sources->required);
}

/*
 * The last product of a tile of a layer comes in bands of rows: each is put to the owner of C while
 * the next is multiplied.
 */
static void cut_into_bands(const tulle_own_tile *C, tulle__tile_output *output)
{
    if (!output->bands) output->bands = C->m < BANDS * BAND_ROWS ? (int)(C->m / BAND_ROWS) + 1 : BANDS;
    output->first = C->m * output->band / output->bands;
    output->rows = C->m * (output->band + 1) / output->bands - output->first;
}

static tulle_status own_sums(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    tulle_own_tile C;
    tulle__target *target = output->target;
    tulle_status status = tulle_mat_own_tile(x->plan->operands.C, job->i, job->j, &C);
    output->none = status == TULLE_OK && (!C.nnz || !job->nk);
    if (status != TULLE_OK || !C.nnz) return status;
    if (!job->nk) return target->scaled ? TULLE_OK : scale_target(x, target);
    if (!output->band) {
        output->beta = target->scaled && !TULLE__PLANTED(beta_twice) ? 1 : x->plan->scalars.job_beta;
        target->scaled = 1;
        TULLE_TRY(tulle__job_rows(x, job, &output->first, &output->rows));
        target->made += job->units;
        output->last = job->of || target->made >= target->units;
    }
    if (target->made == target->units && !job->of && complete_by_rows(x->plan)) cut_into_bands(&C, output);
    output->c_row = row_step(&C);
    output->c_col = col_step(&C);
    output->to = (char *)C.val + (size_t)(output->first * output->c_row) * tulle_type_size(C.type);
out:
    return status;
}

static tulle_status sums_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    (void)job;
    if (made != TULLE_OK || !output->bands) return made;
    tulle__work_end(&x->inbox.work);
    x->plan->ways.put(x, output->target, output->first + output->rows);
    tulle__kernel_begin(x->plan->comm);
    output->more = ++output->band < output->bands;
    return made;
}

/* Each job is the first, and only one, of its rows. */
static tulle_status rows_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    output->target->scaled = 0;
    return sums_taken(x, job, output, made);
}

/*
 * Own units are deferred like others', and added in the order of k, since which units are own depends
 * on timing.
 */
static tulle_status own_deferred(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    const tulle_mat *C = x->plan->operands.C;
    tulle_gidx n = tulle__tile_cols(C, job->j);
    tulle_status status = tulle__job_rows(x, job, &output->first, &output->rows);
    output->none = status == TULLE_OK && (!output->rows || !n);
    if (status != TULLE_OK || output->none) return status;
    output->c_row = n;
    output->c_col = 1;
    output->last = output->complete = true;
    status = tulle__alloc((size_t)(output->rows * n), tulle_type_size(C->type), "a deferred panel", &output->block);
    output->to = output->block;
    return status;
}

static tulle_status deferred_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    const int64_t row = output->c_row * (int64_t)tulle_type_size(x->plan->operands.C->type);
    const tulle__deferred deferred = {.tile = (int)tulle__tile_index(x->plan->operands.C, job->i, job->j),
        .key = job->k[0],
        .offset = output->first * row,
        .length = output->rows * row,
        .data = output->block};
    if (made == TULLE_OK) return tulle__inbox_defer(&x->inbox, deferred);
    tulle__free(output->block);
    return made;
}

/* As many rows at a time as fill a panel. */
static tulle_status panel_output(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    tulle_product *plan = x->plan;
    tulle_gidx first, rows, n = tulle__tile_cols(plan->operands.C, job->j);
    const size_t row = tulle_type_size(plan->operands.C->type) * (size_t)(n > 0 ? n : 1);
    const tulle_gidx most = (tulle_gidx)(tulle__arena_panel_bytes(plan->exchange.arena) / row);
    if (!most)
        return tulle__fail(TULLE_ERR_LIMIT,
            "a row of %.3f MB of C does not fit a panel of %.3f MB; the arena is too small", (double)row / 1e6,
            (double)tulle__arena_panel_bytes(plan->exchange.arena) / 1e6);
    TULLE_CALL(tulle__job_rows(x, job, &first, &rows));
    output->first = output->band++ ? output->first + output->rows : first;
    const tulle_gidx rest = first + rows - output->first;
    output->none = rest <= 0;
    if (output->none) return TULLE_OK;
    output->rows = rest < most ? rest : most;
    output->more = rest > most;
    int64_t start = tulle__now(plan->comm);
    TULLE_CALL(tulle__arena_take(plan->exchange.arena, tulle__inbox_serve, &x->inbox, &output->panel));
    x->communicate_ns += tulle__now(plan->comm) - start;
    output->start = tulle__kernel_begin(plan->comm);
    output->to = output->panel.local;
    output->c_row = n;
    output->c_col = 1;
    output->last = output->complete = true;
    return TULLE_OK;
}

static tulle_status panel_taken(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made)
{
    const int64_t row = output->c_row * (int64_t)tulle_type_size(x->plan->operands.C->type);
    const tulle__partial partial = {
        .tile = (int)tulle__tile_index(x->plan->operands.C, job->i, job->j), .key = job->k[0], .units = job->units};
    tulle__computed(x, "multiply", output->start);
    if (made != TULLE_OK) {
        tulle__arena_return(x->plan->exchange.arena, &output->panel);
        return made;
    }
    const int64_t start = tulle__now(x->plan->comm);
    TULLE_CALL(tulle__partial_push(
        &x->inbox, &partial, &output->panel, output->first * row, output->rows * row, !output->more));
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    return TULLE_OK;
}

/* ---- what comes in ---- */

/* The rows that so many bytes of a row-major tile like C are, from offset on. */
static int64_t rows_at(const tulle_own_tile *C, int64_t offset, int64_t length, int64_t *first)
{
    int64_t row = C->n * (int64_t)tulle_type_size(C->type);
    *first = row ? offset / row : 0;
    return row ? length / row : 0;
}

/*
 * Adds rows of a panel. These are consecutive rows of the tile, or delegated rows one below the
 * other, row-major; C may have either order. If the key is the k of an own, divided tile of A, they
 * are delegated rows.
 */
static tulle_status add(tulle_product *plan, int tile, int key, int64_t offset, int64_t length, const char *data)
{
    tulle_own_tile C;
    const tulle__kernels *kernels = plan->context->kernels;
    const tulle__target *target = &plan->targets.at[plan->targets.of[tile]];
    const tulle__cut *cut = tulle__required_cut(plan->sources->required, target->i, key, target->j);
    TULLE_CALL(tulle_mat_own_tile(plan->operands.C, target->i, target->j, &C));
    int64_t size = (int64_t)tulle_type_size(C.type), row = C.n * size, step = row_step(&C);
    int64_t first, count = rows_at(&C, offset, length, &first);
    for (int64_t n = 0, rows = cut ? 1 : count; n < count; n += rows)
        kernels->add(C.type, rows, C.n, data + n * row,
            (char *)C.val + (size_t)((cut ? cut->row[first + n] : first) * step * size), step, col_step(&C));
    return TULLE_OK;
}

static int compare_deferred(const void *x, const void *y)
{
    const tulle__deferred *a = x, *b = y;
    if (a->tile != b->tile) return a->tile < b->tile ? -1 : 1;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Adds deferred panels in a fixed order. */
static tulle_status finish(tulle__exec *x)
{
    tulle__inbox *inbox = &x->inbox;
    if (inbox->ndeferred) qsort(inbox->deferred, (size_t)inbox->ndeferred, sizeof *inbox->deferred, compare_deferred);
    for (int64_t k = 0; k < inbox->ndeferred; k++) {
        const tulle__deferred *deferred = &inbox->deferred[k];
        TULLE_CALL(add(x->plan, deferred->tile, deferred->key, deferred->offset, deferred->length, deferred->data));
        tulle__work_add(&inbox->work, deferred->length);
    }
    return TULLE_OK;
}

/* The data of a record: in place, or in the plan's scratch. */
static tulle_status fetch(tulle__inbox *inbox, const tulle__partial_record *record, const char **data)
{
    tulle_product *plan = inbox->plan;
    const char *mapped = tulle__mapped(plan->comm, &record->panel);
    if (mapped) {
        *data = mapped + record->at;
        return TULLE_OK;
    }
    *data = plan->exchange.scratch;
    return tulle__partial_take(inbox, record, plan->exchange.scratch);
}

static tulle_status receive_added(tulle__inbox *inbox, const tulle__partial_record *record)
{
    const char *data;
    tulle_status status = TULLE_OK;
    TULLE_CALL(fetch(inbox, record, &data));
    tulle__kernel_begin(inbox->plan->comm);
    for (int n = 0; n <= TULLE__PLANTED(delivered_twice) && status == TULLE_OK; n++)
        status = add(inbox->plan, record->tile, record->key, record->offset, record->length, data);
    tulle__work_add(&inbox->work, record->length);
    tulle__work_end(&inbox->work);
    return status;
}

static tulle_status receive_deferred(tulle__inbox *inbox, const tulle__partial_record *record)
{
    const char *data;
    char *copy;
    tulle_status status = TULLE_OK;
    TULLE_CALL(fetch(inbox, record, &data));
    TULLE_CALL(tulle__alloc((size_t)record->length, 1, "a deferred panel", &copy));
    tulle__kernel_begin(inbox->plan->comm);
    inbox->plan->context->kernels->copy(copy, data, (size_t)record->length);
    status =
        tulle__inbox_defer(inbox, (tulle__deferred){record->tile, record->key, record->offset, record->length, copy});
    tulle__work_copy(&inbox->work, record->length);
    tulle__work_end(&inbox->work);
    return status;
}

/* Whole rows come once; beta has not been applied to them. */
static tulle_status receive_rows(tulle__inbox *inbox, const tulle__partial_record *record)
{
    tulle_own_tile C;
    tulle_product *plan = inbox->plan;
    const tulle__target *target = &plan->targets.at[plan->targets.of[record->tile]];
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle_mat_own_tile(plan->operands.C, target->i, target->j, &C));
    int by_row = C.order == TULLE_ROW_MAJOR;
    if (plan->scalars.job_beta == 0 && by_row && C.ld == C.n) /* they lie in the tile as in the panel */
        return tulle__partial_take(inbox, record, (char *)C.val + record->offset);
    int64_t first, count = rows_at(&C, record->offset, record->length, &first);
    if (plan->scalars.job_beta != 1)
        status = plan->context->kernels->scale(plan->context->pool, C.type, by_row ? count : C.n, by_row ? C.n : count,
            C.ld, plan->scalars.job_beta, (char *)C.val + (size_t)(first * row_step(&C)) * tulle_type_size(C.type));
    return status == TULLE_OK ? receive_added(inbox, record) : status;
}

static const tulle__outputs into_sums = {own_sums, sums_taken};
static const tulle__outputs into_rows = {own_sums, rows_taken};
static const tulle__outputs into_deferred = {own_deferred, deferred_taken};
static const tulle__outputs panels = {panel_output, panel_taken};

#define SINK(own_jobs, received)                                                                                       \
    {                                                                                                                  \
        .begin = begin, .take = take, .drop = drop, .own = own_jobs, .away = &panels, .receive = received,             \
        .finish = finish                                                                                               \
    }
static const tulle__sink sums = SINK(&into_sums, receive_added);
static const tulle__sink ordered = SINK(&into_sums, receive_deferred);
static const tulle__sink claimed_ordered = SINK(&into_deferred, receive_deferred);
static const tulle__sink by_rows = SINK(&into_rows, receive_rows);
#undef SINK

const tulle__sink *tulle__dense_sink(const tulle_product *plan)
{
    if (plan->policy->by_chain) return &by_rows;
    if (!plan->options.deterministic) return &sums;
    return plan->policy->reach == TULLE__REACH_NONE ? &ordered : &claimed_ordered;
}
