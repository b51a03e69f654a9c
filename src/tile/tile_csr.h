/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles in compressed sparse rows: row pointers of 64 bits from 0, 32-bit columns local to the tile, values. */
#ifndef TULLE_TILE_CSR_H
#define TULLE_TILE_CSR_H

#include "tile/tile_format.h"

/* Offsets of the arrays of a CSR tile of m rows and nnz entries in its block, and the block's length. */
typedef struct tulle__csr_offsets {
    uint64_t colind, val, length; /* row pointers at 0 */
} tulle__csr_offsets;
tulle__csr_offsets tulle__csr_offsets_of(int64_t m, int64_t nnz, tulle_type type);

/*
 * As sparse kernels want it, in blocks if the tile is; a tile without entries has no row pointers and is taken as one
 * without rows.
 */
tulle__csr tulle__tile_csr(const tulle_tile *tile);

/* The other way round. */
tulle_tile tulle__csr_tile(const tulle__csr *csr, tulle_type type);

/* The arrays of an own tile with so many entries, or blocks, to be written. */
tulle__csr_result tulle__tile_csr_result(const tulle_own_tile *tile, int64_t nnz);

/*
 * A chain as a task of SpMM, its pairs in the task's room with whole tiles of A: the caller sets
 * which rows of these are meant.
 */
tulle__spmm_task tulle__tile_spmm(const tulle__chain_task *task);

#endif
