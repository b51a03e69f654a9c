/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of blocks of any sizes, with offsets and norms: factors and results of products of blocks. */
#include "tile/tile_blocks.h"

static size_t bytes(const tulle__shape *shape)
{
    return tulle__vbsr_offsets_of(shape->block_rows, shape->blocks, shape->nnz, shape->type).length;
}

static void view(void *block, tulle_own_tile *tile)
{
    if (!block) return;
    tulle__blocks_offsets o = tulle__vbsr_offsets_of(tile->block_rows, tile->blocks, tile->nnz, tile->type);
    char *base = block;
    tile->rowptr = block;
    tile->colind = (tulle_lidx *)(void *)(base + o.colind);
    tile->offset = (int64_t *)(void *)(base + o.offset);
    tile->norm = (double *)(void *)(base + o.norm);
    tile->val = base + o.val;
}

static tulle_status values(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C)
{
    return kernels->spgemm_blocks_numeric(pool, task, C);
}

static tulle__blocks_offsets result(tulle_type type, int64_t rows, int64_t nnz, int64_t of_blocks)
{
    return tulle__vbsr_offsets_of(rows, nnz, of_blocks, type);
}

const tulle__tile_format tulle__tile_vbsr_format = {.kind = TULLE_VBSR,
    .name = "vbsr",
    .names_rows = true,
    .in_blocks = true,
    .by_blocks = true,
    .bytes = bytes,
    .view = view,
    .entries_before = tulle__blocks_entries_before,
    .next = tulle__blocks_next,
    .names = tulle__blocks_names,
    .multiply = tulle__blocks_multiply,
    .cost = tulle__blocks_cost,
    .product = tulle__blocks_product,
    .values = values,
    .result = result};
