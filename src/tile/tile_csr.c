/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_csr.h"

#include "base/error.h"
#include "base/memory.h"

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

tulle__csr_offsets tulle__csr_offsets_of(int64_t m, int64_t nnz, tulle_type type)
{
    tulle__csr_offsets o;
    o.colind = padded(((uint64_t)m + 1) * sizeof(int64_t));
    o.val = o.colind + padded((uint64_t)nnz * sizeof(tulle_lidx));
    o.length = o.val + (uint64_t)nnz * tulle_type_size(type);
    return o;
}

tulle__csr tulle__tile_csr(const tulle_tile *tile)
{
    bool blocks = tile->row_block != NULL;
    return (tulle__csr){.m = !tile->rowptr ? 0
                             : blocks      ? tile->block_rows
                                           : tile->m,
        .n = blocks ? tile->block_cols : tile->n,
        .rowptr = tile->rowptr,
        .colind = tile->colind,
        .val = tile->val,
        .offset = tile->offset,
        .norm = tile->norm,
        .row_block = tile->row_block,
        .col_block = tile->col_block};
}

tulle_tile tulle__csr_tile(const tulle__csr *csr, tulle_type type)
{
    return (tulle_tile){.kind = TULLE_CSR,
        .type = type,
        .m = csr->m,
        .n = csr->n,
        .nnz = csr->rowptr ? csr->rowptr[csr->m] - csr->rowptr[0] : 0,
        .rowptr = csr->rowptr,
        .colind = csr->colind,
        .val = csr->val};
}

tulle__csr_result tulle__tile_csr_result(const tulle_own_tile *tile, int64_t nnz)
{
    return (tulle__csr_result){.nnz = nnz,
        .rowptr = tile->rowptr,
        .colind = tile->colind,
        .val = tile->val,
        .values = tile->nnz,
        .offset = tile->offset,
        .norm = tile->norm};
}

static size_t bytes(const tulle__shape *shape)
{
    return tulle__csr_offsets_of(shape->m, shape->nnz, shape->type).length;
}

static void view(void *block, tulle_own_tile *tile)
{
    if (!block) return;
    tulle__csr_offsets o = tulle__csr_offsets_of(tile->m, tile->nnz, tile->type);
    tile->rowptr = block;
    tile->colind = (tulle_lidx *)(void *)((char *)block + o.colind);
    tile->val = (char *)block + o.val;
}

static int64_t entries_before(const tulle_tile *A, int64_t row)
{
    return A->rowptr ? A->rowptr[row] - A->rowptr[0] : 0;
}

static bool next(const tulle_tile *A, tulle__entry_run *run)
{
    int64_t e = A->rowptr ? A->rowptr[run->row] + run->at++ : 0;
    if (!A->rowptr || e >= A->rowptr[run->row + 1]) return false;
    run->column = A->colind[e];
    run->value = e;
    run->count = run->step = 1;
    return true;
}

static void names(const tulle_tile *A, uint64_t *bits)
{
    for (int64_t e = A->rowptr ? A->rowptr[0] : 0; A->rowptr && e < A->rowptr[A->m]; e++)
        bits[A->colind[e] >> 6] |= (uint64_t)1 << (A->colind[e] & 63);
}

tulle__spmm_task tulle__tile_spmm(const tulle__chain_task *task)
{
    tulle__spmm_pair *pair = &task->workspace[0].spmm;
    _Static_assert(sizeof(tulle__spmm_pair) <= sizeof(tulle__chain_workspace), "pairs are packed from the front");
    for (int p = 0; p < task->npairs; p++) {
        const tulle_tile *B = &task->B[p];
        int by_row = B->order == TULLE_ROW_MAJOR;
        pair[p] = (tulle__spmm_pair){
            .A = tulle__tile_csr(&task->A[p]), .B = B->val, .b_row = by_row ? B->ld : 1, .b_col = by_row ? 1 : B->ld};
    }
    return (tulle__spmm_task){.type = task->type,
        .m = task->m,
        .n = task->n,
        .npairs = task->npairs,
        .pair = pair,
        .C = task->C,
        .c_row = task->c_row,
        .c_col = task->c_col,
        .alpha = task->alpha,
        .beta = task->beta};
}

static tulle_status multiply(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task)
{
    const tulle__spmm_task spmm = tulle__tile_spmm(task);
    tulle__spmm_pair *pair = &task->workspace[0].spmm;
    for (int p = 0; p < task->npairs; p++) {
        pair[p].A.rowptr += task->row;
        pair[p].A.m = task->m;
    }
    return kernels->spmm(pool, &spmm);
}

/* Memory: entries of A, the rows of B that they can touch, C. Cache: a row of B for each entry of A. */
static tulle__chain_cost cost(const tulle__chain_task *task)
{
    tulle__chain_cost cost = {.flops = 0};
    double size = (double)tulle_type_size(task->type), row = (double)task->n * size;
    for (int p = 0; p < task->npairs; p++) {
        const tulle_tile *A = &task->A[p];
        int64_t nnz = task->m ? A->rowptr[task->row + task->m] - A->rowptr[task->row] : 0;
        cost.flops += 2 * (double)nnz * (double)task->n;
        cost.memory += (double)nnz * (size + sizeof(tulle_lidx)) + (double)(task->m + 1) * sizeof(int64_t) +
                       (double)(nnz < A->n ? nnz : A->n) * row;
        cost.cache += (double)nnz * row;
    }
    cost.memory += (task->beta == 0 ? 1 : 2) * (double)task->m * row;
    return cost;
}

static tulle_status product(const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task,
    tulle__csr_place place, void *context, tulle__csr_result *C)
{
    return kernels->spgemm(pool, task, place, context, C);
}

static tulle_status values(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C)
{
    return kernels->spgemm_numeric(pool, task, C);
}

static tulle_status count(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, int64_t *multiplications)
{
    TULLE__SCOPED int64_t *flops = NULL;
    TULLE_CALL(tulle__alloc((size_t)task->m, sizeof *flops, "multiplications of rows", &flops));
    TULLE_CALL(kernels->spgemm_flops(pool, task, flops));
    for (int64_t r = 0; r < task->m; r++) *multiplications += flops[r];
    return TULLE_OK;
}

static tulle__blocks_offsets result(tulle_type type, int64_t rows, int64_t nnz, int64_t of_blocks)
{
    const tulle__csr_offsets o = tulle__csr_offsets_of(rows, nnz, type);
    (void)of_blocks;
    return (tulle__blocks_offsets){.colind = o.colind, .val = o.val, .length = o.length};
}

const tulle__tile_format tulle__tile_csr_format = {.kind = TULLE_CSR,
    .name = "sparse",
    .names_rows = true,
    .bytes = bytes,
    .view = view,
    .entries_before = entries_before,
    .next = next,
    .names = names,
    .multiply = multiply,
    .cost = cost,
    .product = product,
    .values = values,
    .count = count,
    .result = result};
