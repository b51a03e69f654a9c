/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products of tiles in host memory. */
#include "base/error.h"
#include "device/host/host.h"
#include "tile/tile_csr.h"

tulle_tile tulle__host_tile(const tulle__device_tile *tile)
{
    int in_blocks = tile->row_block.buffer != NULL;
    return (tulle_tile){.kind = tile->kind,
        .type = tile->type,
        .order = tile->order,
        .m = tile->m,
        .n = tile->n,
        .ld = tile->ld,
        .nnz = in_blocks ? tile->values : tile->nnz,
        .rowptr = (const int64_t *)(const void *)tulle__host_at(&tile->rowptr),
        .colind = (const tulle_lidx *)(const void *)tulle__host_at(&tile->colind),
        .val = tulle__host_at(&tile->val),
        .blocks = in_blocks ? tile->nnz : 0,
        .block_rows = in_blocks ? tile->m : 0,
        .block_cols = in_blocks ? tile->n : 0,
        .row_block = (const tulle_gidx *)(const void *)tulle__host_at(&tile->row_block),
        .col_block = (const tulle_gidx *)(const void *)tulle__host_at(&tile->col_block),
        .offset = (const int64_t *)(const void *)tulle__host_at(&tile->offset),
        .norm = (const double *)(const void *)tulle__host_at(&tile->norm)};
}

struct result_place {
    tulle__device_result place;
    void *context;
    int in_blocks;
};

static tulle_status place_result(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    const struct result_place *asked = context;
    tulle__device_tile tile = {.kind = asked->in_blocks ? TULLE_VBSR : TULLE_CSR, .values = C->values};
    TULLE_CALL(asked->place(asked->context, m, nnz, &tile));
    C->nnz = nnz;
    C->rowptr = (int64_t *)(void *)tulle__host_at(&tile.rowptr);
    C->colind = (int32_t *)(void *)tulle__host_at(&tile.colind);
    C->val = tulle__host_at(&tile.val);
    C->offset = (int64_t *)(void *)tulle__host_at(&tile.offset);
    C->norm = (double *)(void *)tulle__host_at(&tile.norm);
    return TULLE_OK;
}

/* The product as kernels take it, with its pairs of tiles in pair. */
static tulle__spgemm_task work_of(const tulle__device_product *task, tulle__spgemm_pair *pair)
{
    for (int p = 0; p < task->npairs; p++) {
        tulle_tile A = tulle__host_tile(&task->A[p]), B = tulle__host_tile(&task->B[p]);
        pair[p] = (tulle__spgemm_pair){tulle__tile_csr(&A), tulle__tile_csr(&B), task->scale[p]};
        if (!A.rowptr) pair[p].A.m = task->m; /* the identity */
    }
    return (tulle__spgemm_task){.type = task->type,
        .m = task->m,
        .n = task->n,
        .npairs = task->npairs,
        .pair = pair,
        .unsorted = task->unsorted,
        .least = (const double *)(const void *)tulle__host_at(&task->least),
        .half = task->half,
        .half_shift = task->half_shift,
        .first_row = task->first_row,
        .first_col = task->first_col};
}

tulle_status tulle__host_product(const tulle__kernels *kernels, tulle__pool *pool, const tulle__device_product *task,
    tulle__device_result place, void *context, tulle__device_product_counts *counts)
{
    tulle__spgemm_pair pair[TULLE__DEVICE_SPARSE_PAIRS];
    struct result_place asked = {place, context, task->in_blocks};
    tulle__csr_result C = {.nnz = 0};
    const tulle__csr pattern = {.m = task->m,
        .n = task->n,
        .rowptr = (const int64_t *)(const void *)tulle__host_at(&task->pattern_rowptr),
        .colind = (const int32_t *)(const void *)tulle__host_at(&task->pattern_colind)};
    tulle__spgemm_task work = work_of(task, pair);
    work.pattern = pattern.rowptr ? &pattern : NULL;
    TULLE_CALL(task->in_blocks ? kernels->spgemm_blocks(pool, &work, place_result, &asked, &C)
                               : kernels->spgemm(pool, &work, place_result, &asked, &C));
    *counts = (tulle__device_product_counts){.multiplications = C.multiplications, .skipped = C.skipped};
    return TULLE_OK;
}

tulle_status tulle__host_values(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__device_product *task, const tulle__device_tile *C)
{
    tulle__spgemm_pair pair[TULLE__DEVICE_SPARSE_PAIRS];
    tulle__csr_result result = {.nnz = C->nnz,
        .values = C->values,
        .rowptr = (int64_t *)(void *)tulle__host_at(&C->rowptr),
        .colind = (int32_t *)(void *)tulle__host_at(&C->colind),
        .val = tulle__host_at(&C->val),
        .offset = (int64_t *)(void *)tulle__host_at(&C->offset),
        .norm = (double *)(void *)tulle__host_at(&C->norm)};
    const tulle__spgemm_task work = work_of(task, pair);
    return task->in_blocks ? kernels->spgemm_blocks_numeric(pool, &work, &result)
                           : kernels->spgemm_numeric(pool, &work, &result);
}
