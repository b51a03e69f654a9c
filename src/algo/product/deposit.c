/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/deposit.h"

#include <string.h>

#include "algo/product/charge.h"
#include "base/error.h"

/* A result placed in a private block, laid out as a tile. */
struct block_place {
    const tulle_plan *plan;
    char *block;
};

static tulle_status place_block(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct block_place *place = context;
    tulle__csr_offsets o = tulle__csr_offsets_of(m, nnz, place->plan->C->type);
    tulle_status status = tulle__partial_block(place->plan, m, nnz, &place->block);
    if (status != TULLE_OK) return status;
    *C = (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(void *)place->block,
        .colind = (int32_t *)(void *)(place->block + o.colind),
        .val = place->block + o.val};
    return TULLE_OK;
}

tulle_status tulle__place_tile(tulle_mat *C, int i, int j, int64_t nnz, tulle__csr_result *result)
{
    tulle_tile tile;
    tulle_status status = tulle__mat_place(C, i, j, nnz, &tile);
    if (status != TULLE_OK) return status;
    *result = (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(uintptr_t)tile.rowptr,
        .colind = (int32_t *)(uintptr_t)tile.colind,
        .val = tile.val};
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
    return tulle__place_tile(place->C, place->i, place->j, nnz, C);
}

tulle_status tulle__room_for_pairs(tulle__exec *x, int pairs)
{
    if (pairs <= x->pair_room) return TULLE_OK;
    tulle_status status = tulle__realloc((size_t)pairs, sizeof *x->pair, "summands", &x->pair);
    if (status == TULLE_OK) x->pair_room = pairs;
    return status;
}

tulle__csr_result tulle__block_result(const tulle__exec *x, int64_t rows, int64_t nnz, char *block)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(rows, nnz, x->plan->operands.C->type);
    return (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(void *)block,
        .colind = (int32_t *)(void *)(block + o.colind),
        .val = block + o.val};
}

int tulle__add_old(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs)
{
    tulle_tile old;
    if (x->plan->beta == 0 || tulle_mat_tile(x->plan->operands.C, i, j, &old) != TULLE_OK || !old.nnz) return pairs;
    x->pair[pairs] = (tulle__spgemm_pair){.B = tulle__tile_csr(&old), .scale = x->plan->beta};
    x->pair[pairs].B.rowptr += row;
    x->pair[pairs].A.m = x->pair[pairs].B.m = rows;
    return pairs + 1;
}

tulle_status tulle__into_tile(tulle__exec *x, int i, int j, int pairs, int64_t *multiplications)
{
    tulle_plan *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->operands.C->type,
        .m = tulle__tile_rows(plan->operands.C, i),
        .n = tulle__tile_cols(plan->operands.C, j),
        .npairs = pairs,
        .pair = x->pair};
    tulle__csr_result result = {.nnz = 0};
    if (x->inbox.reuse) {
        tulle_tile C;
        tulle_status status = tulle_mat_tile(plan->operands.C, i, j, &C);
        if (status != TULLE_OK || !C.nnz) return status;
        result = (tulle__csr_result){.nnz = C.nnz,
            .rowptr = (int64_t *)(uintptr_t)C.rowptr,
            .colind = (int32_t *)(uintptr_t)C.colind,
            .val = C.val};
        tulle__charge_spgemm(&x->inbox, &task, C.nnz);
        return plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &result);
    }
    struct tile_place place = {plan->operands.C, i, j};
    if (!pairs || !task.m || !task.n) {
        tulle_status status = tulle__place_tile(plan->operands.C, i, j, 0, &result);
        if (status == TULLE_OK) memset(result.rowptr, 0, ((size_t)task.m + 1) * sizeof *result.rowptr);
        return status;
    }
    tulle_status status = plan->context->kernels->spgemm(plan->context->pool, &task, place_tile, &place, &result);
    if (status != TULLE_OK) return status;
    *multiplications += result.multiplications;
    tulle__charge_spgemm(&x->inbox, &task, result.nnz);
    return TULLE_OK;
}

tulle_status tulle__into_block(tulle__exec *x, int64_t rows, int j, int pairs, int64_t *nnz, char **block)
{
    tulle_plan *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->operands.C->type,
        .m = rows,
        .n = tulle__tile_cols(plan->operands.C, j),
        .npairs = pairs,
        .pair = x->pair};
    if (x->inbox.reuse && *block) {
        tulle__csr_result known = tulle__block_result(x, rows, *nnz, *block);
        tulle__charge_spgemm(&x->inbox, &task, *nnz);
        return plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &known);
    }
    struct block_place place = {.plan = plan};
    tulle__csr_result result;
    tulle_status status = plan->context->kernels->spgemm(plan->context->pool, &task, place_block, &place, &result);
    if (status != TULLE_OK) {
        tulle__free(place.block);
        return status;
    }
    tulle__free(*block);
    *block = place.block;
    *nnz = result.nnz;
    x->multiplications += result.multiplications;
    tulle__charge_spgemm(&x->inbox, &task, result.nnz);
    return TULLE_OK;
}
