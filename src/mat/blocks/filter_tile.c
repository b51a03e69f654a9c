/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/blocks/filter_tile.h"

#include <string.h>

#include "base/error.h"
#include "tile/tile_blocks.h"

/* Tile that has been placed, and is not published. */
static tulle_status placed_tile(const tulle_mat *A, int i, int j, tulle_own_tile *tile)
{
    const tulle__tile_record *record = &A->replaced[tulle__tile_index(A, i, j)];
    if (!record->place.generation) return tulle__fail(TULLE_ERR_STATE, "tile (%d, %d) has not been placed", i, j);
    *tile = tulle__own_tile_view(A, i, j, record, tulle__mapped(A->comm, &record->place));
    return TULLE_OK;
}

/* The first `blocks` blocks with nnz values, at the front of their arrays, are all that stays. */
static tulle_status trim(tulle_mat *A, int i, int j, int64_t blocks, int64_t nnz)
{
    tulle__tile_record *record = &A->replaced[tulle__tile_index(A, i, j)];
    tulle_gidx rows = tulle__tile_block_rows(A, i);
    tulle__blocks_offsets had = tulle__vbsr_offsets_of(rows, record->blocks, record->nnz, A->type),
                          has = tulle__vbsr_offsets_of(rows, blocks, nnz, A->type);
    char *base = tulle__mapped(A->comm, &record->place);
    memmove(base + has.offset, base + had.offset, ((size_t)blocks + 1) * sizeof(int64_t));
    memmove(base + has.norm, base + had.norm, (size_t)blocks * sizeof(double));
    memmove(base + has.val, base + had.val, (size_t)nnz * tulle_type_size(A->type));
    TULLE_CALL(tulle__heap_trim(A->comm->pe->data, &record->place, 0, has.length));
    record->nnz = nnz;
    record->blocks = blocks;
    return TULLE_OK;
}

tulle_status tulle__filter_tile(tulle_mat *C, int i, int j, double least, int64_t *removed)
{
    tulle_own_tile tile = {.blocks = 0};
    tulle_status status = placed_tile(C, i, j, &tile);
    int64_t blocks = 0, values = 0, before;
    size_t size = tulle_type_size(C->type);
    if (status != TULLE_OK || !tile.blocks) return status;
    before = tile.blocks;
    /* blocks move to the front of their arrays, and the arrays then to each other: all to lower addresses */
    for (int64_t r = 0, from = 0; r < tile.block_rows; r++) {
        int64_t end = tile.rowptr[r + 1];
        for (; from < end; from++) {
            int64_t n = tile.offset[from + 1] - tile.offset[from];
            if (tile.norm[from] < least) continue;
            memmove((char *)tile.val + (size_t)values * size, (char *)tile.val + (size_t)tile.offset[from] * size,
                (size_t)n * size);
            tile.colind[blocks] = tile.colind[from];
            tile.norm[blocks] = tile.norm[from];
            tile.offset[blocks++] = values;
            values += n;
        }
        tile.rowptr[r + 1] = blocks;
    }
    tile.offset[blocks] = values;
    *removed += before - blocks;
    return blocks == before ? TULLE_OK : trim(C, i, j, blocks, values);
}
