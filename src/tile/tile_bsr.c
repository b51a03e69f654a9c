/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of blocks of one size, which nothing but the layout tells: factors A of products with a dense B. */
#include "tile/tile_blocks.h"

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t columns_at(int64_t block_rows)
{
    return padded(((size_t)block_rows + 1) * sizeof(int64_t));
}

static size_t values_at(int64_t block_rows, int64_t blocks)
{
    return columns_at(block_rows) + padded((size_t)blocks * sizeof(tulle_lidx));
}

static size_t bytes(const tulle__shape *shape)
{
    return values_at(shape->block_rows, shape->blocks) + (size_t)shape->nnz * tulle_type_size(shape->type);
}

static void view(void *block, tulle_own_tile *tile)
{
    if (!block) return;
    char *base = block;
    tile->rowptr = block;
    tile->colind = (tulle_lidx *)(void *)(base + columns_at(tile->block_rows));
    tile->val = base + values_at(tile->block_rows, tile->blocks);
}

const tulle__tile_format tulle__tile_bsr_format = {.kind = TULLE_BSR,
    .name = "bsr",
    .names_rows = true,
    .in_blocks = true,
    .bytes = bytes,
    .view = view,
    .entries_before = tulle__blocks_entries_before,
    .next = tulle__blocks_next,
    .names = tulle__blocks_names,
    .multiply = tulle__blocks_multiply,
    .cost = tulle__blocks_cost,
    .product = tulle__blocks_product};
