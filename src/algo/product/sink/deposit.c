/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/sink/deposit.h"

#include <string.h>

#include "algo/product/sink/sink.h"
#include "base/error.h"
#include "base/planted.h"

/* A result laid out as a tile in a private block, or in a panel. */
struct block_place {
    const tulle_product *plan;
    tulle__panel *panel; /* NULL: a block */
    char *block;
};

tulle_status tulle__block_new(const tulle_product *plan, int64_t rows, int64_t nnz, char **block)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(rows, nnz, plan->C->type);
    int shape_only = tulle__is_shape_only(plan->comm);
    tulle_status status = tulle__alloc(shape_only ? o.colind : o.length, 1, "a partial result", block);
    if (status != TULLE_OK || !shape_only) return status;
    int64_t *rowptr = (int64_t *)(void *)*block;
    double each = rows ? (double)nnz / (double)rows : 0;
    for (int64_t r = 0; r < rows; r++) rowptr[r] = (int64_t)((double)r * each);
    rowptr[rows] = nnz;
    return status;
}

static tulle_status place_block(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct block_place *place = context;
    const tulle_product *plan = place->plan;
    tulle__csr_offsets o = tulle__csr_offsets_of(m, nnz, plan->C->type);
    tulle_status status = TULLE_OK;
    if (!place->panel)
        status = tulle__block_new(plan, m, nnz, &place->block);
    else if (o.length > tulle__arena_panel_bytes(plan->arena))
        status = tulle__arena_grow(
            plan->arena, o.length, tulle__is_shape_only(plan->comm) ? o.colind : o.length, place->panel);
    if (status != TULLE_OK) return status;
    *C = tulle__block_result(plan, m, nnz, place->panel ? place->panel->local : place->block);
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
    return tulle__mat_place_csr(place->C, place->i, place->j, nnz, C);
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

tulle__csr_result tulle__block_result(const tulle_product *plan, int64_t rows, int64_t nnz, char *block)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(rows, nnz, plan->C->type);
    return (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(void *)block,
        .colind = (int32_t *)(void *)(block + o.colind),
        .val = block + o.val};
}

int tulle__add_old(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs)
{
    tulle_tile old;
    if (x->plan->job_beta == 0 || tulle_mat_tile(x->plan->operands.C, i, j, &old) != TULLE_OK || !old.nnz) return pairs;
    x->pair[pairs] = (tulle__spgemm_pair){.B = tulle__tile_csr(&old), .scale = x->plan->job_beta};
    if (TULLE__PLANTED(beta_squared)) x->pair[pairs].scale *= x->plan->job_beta;
    x->pair[pairs].B.rowptr += row;
    x->pair[pairs].A.m = x->pair[pairs].B.m = rows;
    return pairs + 1;
}

/*
 * Counts multiplications, which the kernel for values does not; without claims they are those of
 * the execution before.
 */
static tulle_status count_multiplications(tulle__exec *x, const tulle__spgemm_task *task)
{
    tulle_status status;
    int64_t *flops = NULL;
    if (x->sink->same_jobs) return TULLE_OK;
    TULLE_TRY(tulle__alloc((size_t)task->m, sizeof *flops, "multiplications of rows", &flops));
    TULLE_TRY(x->plan->context->kernels->spgemm_flops(x->plan->context->pool, task, flops));
    for (int64_t r = 0; r < task->m; r++) x->multiplications += flops[r];
out:
    tulle__free(flops);
    return status;
}

tulle_status tulle__into_rows(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs)
{
    tulle_product *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->operands.C->type,
        .m = rows,
        .n = tulle__tile_cols(plan->operands.C, j),
        .npairs = pairs,
        .pair = x->pair,
        .unsorted = plan->operands.C->unordered};
    tulle_own_tile C;
    tulle_status status = tulle_mat_own_tile(plan->operands.C, i, j, &C);
    if (status != TULLE_OK || !C.nnz) return status;
    tulle__csr_result result = {
        .nnz = C.rowptr[row + rows] - C.rowptr[row], .rowptr = C.rowptr + row, .colind = C.colind, .val = C.val};
    tulle__work_spgemm(&x->inbox.told, &task, result.nnz);
    status = count_multiplications(x, &task);
    return status == TULLE_OK ? plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &result) : status;
}

static tulle_status multiply_pairs(
    tulle__exec *x, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *result)
{
    const tulle__context *host = x->plan->context;
    if (!x->of.nk) return host->kernels->spgemm(host->pool, task, place, context, result);
    return x->plan->runner->ops->product(x->plan->runner, &x->of, task, place, context, result);
}

tulle_status tulle__into_tile(tulle__exec *x, int i, int j, int pairs, int64_t *multiplications)
{
    tulle_product *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->operands.C->type,
        .m = tulle__tile_rows(plan->operands.C, i),
        .n = tulle__tile_cols(plan->operands.C, j),
        .npairs = pairs,
        .pair = x->pair,
        .unsorted = tulle__plan_unordered(plan),
        .trim = trim_tile};
    tulle__csr_result result = {.nnz = 0};
    if (x->inbox.reuse) return tulle__into_rows(x, i, j, 0, task.m, pairs);
    struct tile_place place = {plan->operands.C, i, j};
    if (!pairs || !task.m || !task.n) {
        tulle_status status = tulle__mat_place_csr(plan->operands.C, i, j, 0, &result);
        if (status == TULLE_OK) memset(result.rowptr, 0, ((size_t)task.m + 1) * sizeof *result.rowptr);
        return status;
    }
    tulle_status status = multiply_pairs(x, &task, place_tile, &place, &result);
    if (status != TULLE_OK) return status;
    *multiplications += result.multiplications;
    tulle__work_spgemm(&x->inbox.told, &task, result.nnz);
    return TULLE_OK;
}

static tulle__spgemm_task block_task(const tulle__exec *x, int64_t rows, int j, int pairs)
{
    const tulle_mat *C = x->plan->operands.C;
    return (tulle__spgemm_task){
        .type = C->type, .m = rows, .n = tulle__tile_cols(C, j), .npairs = pairs, .pair = x->pair};
}

static tulle_status make_block(tulle__exec *x, int64_t rows, int j, int pairs, struct block_place *place, int64_t *nnz)
{
    tulle__spgemm_task task = block_task(x, rows, j, pairs);
    tulle__csr_result result;
    tulle_status status = multiply_pairs(x, &task, place_block, place, &result);
    if (status != TULLE_OK) return status;
    *nnz = result.nnz;
    x->multiplications += result.multiplications;
    tulle__work_spgemm(&x->inbox.told, &task, result.nnz);
    return TULLE_OK;
}

tulle_status tulle__into_panel(tulle__exec *x, int64_t rows, int j, int pairs, tulle__panel *panel, int64_t *nnz)
{
    struct block_place place = {.plan = x->plan, .panel = panel};
    return make_block(x, rows, j, pairs, &place, nnz);
}

tulle_status tulle__into_block(tulle__exec *x, int64_t rows, int j, int pairs, int64_t *nnz, char **block)
{
    tulle_product *plan = x->plan;
    if (x->inbox.reuse && *block) {
        tulle__spgemm_task task = block_task(x, rows, j, pairs);
        tulle__csr_result known = tulle__block_result(plan, rows, *nnz, *block);
        tulle__work_spgemm(&x->inbox.told, &task, *nnz);
        return plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &known);
    }
    struct block_place place = {.plan = plan};
    tulle_status status = make_block(x, rows, j, pairs, &place, nnz);
    if (status != TULLE_OK) {
        tulle__free(place.block);
        return status;
    }
    tulle__free(*block);
    *block = place.block;
    return TULLE_OK;
}
