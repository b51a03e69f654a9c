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
    .cost = tulle__blocks_cost};
