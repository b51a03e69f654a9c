/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of tiles of blocks, BSR and VBSR: rows of blocks in CSR, row-major blocks. In memory: row
 * pointers, block columns, then (VBSR) blocks + 1 offsets and the squared norms, then the blocks.
 */
#ifndef TULLE_TILE_BLOCKS_H
#define TULLE_TILE_BLOCKS_H

#include "tile/tile_csr.h"

tulle__blocks_offsets tulle__vbsr_offsets_of(int64_t block_rows, int64_t blocks, int64_t nnz, tulle_type type);

/* The block row of a row. */
int64_t tulle__blocks_row_of(const tulle_tile *A, int64_t row);

/* The operations of tile_format.h that both formats have. */
int64_t tulle__blocks_entries_before(const tulle_tile *A, int64_t row);
bool tulle__blocks_next(const tulle_tile *A, tulle__entry_run *run);
void tulle__blocks_names(const tulle_tile *A, uint64_t *bits);
tulle_status tulle__blocks_multiply(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task);
tulle__chain_cost tulle__blocks_cost(const tulle__chain_task *task);
tulle_status tulle__blocks_product(const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task,
    tulle__csr_place place, void *context, tulle__csr_result *C);

/* Values of block e, which has so many. */
static inline int64_t tulle__block_at(const tulle_tile *A, int64_t e, int64_t size)
{
    return A->offset ? A->offset[e] : e * size;
}

/*
 * Blocks of `to`, whose rows and columns of blocks are known: block e is the transpose of block order[e] of `from`.
 * The indices have 4 or 8 bytes.
 */
void tulle__blocks_transpose(const tulle_tile *from, const void *order, size_t index_bytes, const tulle_own_tile *to);

/* The squared norms of all blocks, if the tile has them. */
void tulle__blocks_renew_norms(const tulle_own_tile *tile);

#endif
