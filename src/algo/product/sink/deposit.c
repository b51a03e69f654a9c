/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/sink/deposit.h"

#include <string.h>

#include "algo/product/run/runner.h"
#include "algo/product/sink/sink.h"
#include "algo/product/stage/selection_stage.h"
#include "base/error.h"
#include "base/planted.h"
#include "comm/arena.h"
#include "tile/tile_blocks.h"

/* A result laid out as a tile in a private block, or in a panel. */
struct block_place {
    const tulle_product *plan;
    tulle__panel *panel; /* NULL: a block */
    char *block;
};

/* Bytes that are used of it: where values are not held, row pointers alone. */
static size_t bytes_used(const tulle_product *plan, const tulle__result_size *size)
{
    return tulle__is_shape_only(plan->comm) ? tulle__csr_offsets_of(size->rows, size->nnz, plan->C->type).colind
                                            : tulle__result_bytes(plan->C, size);
}

tulle_status tulle__block_new(const tulle_product *plan, const tulle__result_size *size, char **block)
{
    tulle_status status = tulle__alloc(bytes_used(plan, size), 1, "a partial result", block);
    if (status != TULLE_OK || !tulle__is_shape_only(plan->comm)) return status;
    int64_t *rowptr = (int64_t *)(void *)*block;
    double each = size->rows ? (double)size->nnz / (double)size->rows : 0;
    for (int64_t r = 0; r < size->rows; r++) rowptr[r] = (int64_t)((double)r * each);
    rowptr[size->rows] = size->nnz;
    return status;
}

static tulle_status place_block(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct block_place *place = context;
    const tulle_product *plan = place->plan;
    const tulle__result_size size = {.rows = m, .nnz = nnz, .values = C->values};
    size_t length = tulle__result_bytes(plan->C, &size);
    tulle_status status = TULLE_OK;
    if (!place->panel)
        status = tulle__block_new(plan, &size, &place->block);
    else if (length > tulle__arena_panel_bytes(plan->exchange.arena))
        status = tulle__arena_grow(plan->exchange.arena, length, bytes_used(plan, &size), place->panel);
    if (status != TULLE_OK) return status;
    *C = tulle__block_result(plan, &size, place->panel ? place->panel->local : place->block);
    return TULLE_OK;
}

struct tile_place {
    tulle_mat *C;
    int i, j;
};

static tulle_status place_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)m;
    const struct tile_place *place = context;
    return tulle__mat_place_result(place->C, place->i, place->j, nnz, C);
}

static tulle_status trim_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)m;
    const struct tile_place *place = context;
    tulle_own_tile tile;
    tulle_status status = tulle__mat_trim(place->C, place->i, place->j, nnz, &tile);
    if (status == TULLE_OK) *C = tulle__tile_csr_result(&tile, nnz);
    return status;
}

tulle_status tulle__room_for_pairs(tulle__exec *x, int pairs)
{
    if (pairs <= x->pair_room) return TULLE_OK;
    tulle_status status = tulle__realloc((size_t)pairs, sizeof *x->pair, "summands", &x->pair);
    if (status == TULLE_OK) x->pair_room = pairs;
    return status;
}

tulle__csr_result tulle__block_result(const tulle_product *plan, const tulle__result_size *size, char *block)
{
    return tulle__result_view(plan->C, size, block);
}

tulle__csr tulle__result_csr(
    const tulle_product *plan, const tulle__csr_result *result, int64_t first, const tulle__rows_of_tile *rows)
{
    const tulle_mat *C = plan->operands.C;
    tulle__csr csr = {.m = rows->rows,
        .n = tulle__tile_csr_cols(C, rows->j),
        .rowptr = result->rowptr + (rows->row - first),
        .colind = result->colind,
        .val = result->val,
        .offset = result->offset,
        .norm = result->norm};
    if (C->format->in_blocks) {
        csr.row_block = C->layout->row_blocks.cut + C->layout->row_blocks.first[rows->i] + rows->row;
        csr.col_block = C->layout->col_blocks.cut + C->layout->col_blocks.first[rows->j];
    }
    return csr;
}

int tulle__add_old(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs)
{
    tulle_tile old;
    const tulle_product *plan = x->plan;
    if (plan->scalars.job_beta == 0 && !plan->options.keep_pattern) return pairs;
    if (tulle_mat_tile(plan->operands.C, i, j, &old) != TULLE_OK || !old.nnz) return pairs;
    tulle__csr csr = tulle__tile_csr(&old);
    x->pair[pairs] = (tulle__spgemm_pair){.B = tulle__csr_rows(&csr, row, rows), .scale = plan->scalars.job_beta};
    if (TULLE__PLANTED(beta_squared)) x->pair[pairs].scale *= plan->scalars.job_beta;
    x->pair[pairs].A.m = rows;
    return pairs + 1;
}

/* A task over the pairs of x; `pattern` has room for the blocks that C keeps, if it keeps them. */
static tulle__spgemm_task task_of(const tulle__exec *x, const tulle__rows_of_tile *rows, int pairs, tulle__csr *pattern)
{
    const tulle_product *plan = x->plan;
    const tulle_mat *C = plan->operands.C;
    tulle_tile old;
    tulle__spgemm_task task = plan->like.task;
    task.m = rows->rows;
    task.n = tulle__tile_csr_cols(C, rows->j);
    task.npairs = pairs;
    task.pair = x->pair;
    if (task.half) {
        task.first_row = C->layout->row_blocks.first[rows->i] + rows->row;
        task.first_col = C->layout->col_blocks.first[rows->j];
    }
    if (task.least) task.least += C->layout->row_blocks.first[rows->i] + rows->row;
    if (plan->options.keep_pattern && tulle__tile_is_mine(C, rows->i, rows->j) &&
        tulle_mat_tile(C, rows->i, rows->j, &old) == TULLE_OK) {
        *pattern = tulle__tile_csr(&old);
        *pattern = tulle__csr_rows(pattern, rows->row, rows->rows);
        task.pattern = pattern;
    }
    return task;
}

static void add_kernels(tulle__exec *x, const tulle__csr_result *C)
{
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) x->by_kernel[q] += C->by[q];
}

/*
 * Values of a known structure. Multiplications of the same jobs are those of the execution before; those of others are
 * counted, if need be by the host's kernel.
 */
static tulle_status values_only(tulle__exec *x, const tulle__spgemm_task *task, tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    const tulle__context *host = x->plan->context;
    const tulle__tile_format *format = x->plan->C->format;
    tulle__runner *runner = x->plan->runner;
    const bool counts = !x->sink->same_jobs;
    tulle__work_spgemm(&x->inbox.told, task, C->nnz);
    if (counts && format->count) TULLE_TRY(format->count(host->kernels, host->pool, task, &x->multiplications));
    if (x->of.nk && runner->ops->values && (!counts || format->count))
        return runner->ops->values(runner, &x->of, task, C);
    status = format->values(host->kernels, host->pool, task, C);
    if (counts && !format->count) x->multiplications += C->multiplications;
    add_kernels(x, C);
out:
    return status;
}

tulle_status tulle__into_rows(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs)
{
    tulle_product *plan = x->plan;
    const tulle__rows_of_tile of = {i, j, row, rows};
    tulle__csr pattern;
    tulle__spgemm_task task = task_of(x, &of, pairs, &pattern);
    task.unsorted = plan->operands.C->unordered;
    tulle_own_tile C;
    tulle_status status = tulle_mat_own_tile(plan->operands.C, i, j, &C);
    if (status != TULLE_OK || !C.nnz) return status;
    tulle__csr_result result = tulle__tile_csr_result(&C, C.rowptr[row + rows] - C.rowptr[row]);
    result.rowptr += row;
    return values_only(x, &task, &result);
}

static tulle_status multiply_pairs(
    tulle__exec *x, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *result)
{
    const tulle__context *host = x->plan->context;
    tulle_status status;
    if (x->of.nk)
        status = x->plan->runner->ops->product(x->plan->runner, &x->of, task, place, context, result);
    else
        status = x->plan->C->format->product(host->kernels, host->pool, task, place, context, result);
    if (status != TULLE_OK) return status;
    x->skipped += result->skipped;
    add_kernels(x, result);
    /* devices take time by themselves */
    if (!x->of.nk || !x->plan->runner->devices) tulle__work_spgemm(&x->inbox.told, task, result->nnz);
    return TULLE_OK;
}

tulle_status tulle__into_tile(tulle__exec *x, int i, int j, int pairs, int64_t *multiplications)
{
    tulle_product *plan = x->plan;
    const tulle__rows_of_tile of = {i, j, 0, tulle__tile_csr_rows(plan->operands.C, i)};
    tulle__csr pattern;
    tulle__spgemm_task task = task_of(x, &of, pairs, &pattern);
    tulle__csr_result result = {.nnz = 0};
    task.unsorted = tulle__plan_unordered(plan);
    task.trim = trim_tile;
    task.select = tulle__selection_of_rows(plan, i, j, 0);
    if (x->inbox.reuse) return tulle__into_rows(x, i, j, 0, task.m, pairs);
    struct tile_place place = {plan->operands.C, i, j};
    if (!pairs || !task.m || !task.n) {
        tulle_status status = place_tile(&place, task.m, 0, &result);
        if (status == TULLE_OK) memset(result.rowptr, 0, ((size_t)task.m + 1) * sizeof *result.rowptr);
        if (status == TULLE_OK && result.offset) result.offset[0] = 0;
        return status;
    }
    tulle_status status = multiply_pairs(x, &task, place_tile, &place, &result);
    if (status != TULLE_OK) return status;
    *multiplications += result.multiplications;
    return TULLE_OK;
}

static tulle_status make_block(
    tulle__exec *x, const tulle__rows_of_tile *rows, int pairs, struct block_place *place, tulle__result_size *size)
{
    tulle__csr pattern;
    tulle__spgemm_task task = task_of(x, rows, pairs, &pattern);
    tulle__csr_result result = {.nnz = 0};
    if (!x->of.nk || TULLE__PLANTED(early_selection))
        task.select = tulle__selection_of_rows(x->plan, rows->i, rows->j, rows->row); /* merged parts */
    tulle_status status = multiply_pairs(x, &task, place_block, place, &result);
    if (status != TULLE_OK) return status;
    *size = (tulle__result_size){.rows = rows->rows, .nnz = result.nnz, .values = result.values};
    x->multiplications += result.multiplications;
    return TULLE_OK;
}

tulle_status tulle__into_panel(
    tulle__exec *x, const tulle__rows_of_tile *rows, int pairs, tulle__panel *panel, tulle__result_size *size)
{
    struct block_place place = {.plan = x->plan, .panel = panel};
    return make_block(x, rows, pairs, &place, size);
}

tulle_status tulle__into_block(
    tulle__exec *x, const tulle__rows_of_tile *rows, int pairs, tulle__result_size *size, char **block)
{
    tulle_product *plan = x->plan;
    if (x->inbox.reuse && *block) {
        tulle__csr pattern;
        tulle__spgemm_task task = task_of(x, rows, pairs, &pattern);
        tulle__csr_result known = tulle__block_result(plan, size, *block);
        return values_only(x, &task, &known);
    }
    struct block_place place = {.plan = plan};
    tulle_status status = make_block(x, rows, pairs, &place, size);
    if (status != TULLE_OK) {
        tulle__free(place.block);
        return status;
    }
    tulle__free(*block);
    *block = place.block;
    return TULLE_OK;
}
