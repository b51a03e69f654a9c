/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tile formats: a table of what the layers above ask of a tile, so that none of them has to know how it is stored. A
 * format is one file and one row of the table in tile_format.c.
 *
 * A tile lies in one block of memory, so that one get fetches it; each of its arrays begins at a multiple of 64 bytes.
 */
#ifndef TULLE_TILE_FORMAT_H
#define TULLE_TILE_FORMAT_H

#include <tulle/mat.h>

#include "kernel/kernel.h"

/* What a directory record and the layout say of a tile. */
typedef struct tulle__shape {
    tulle_type type;
    tulle_order order;
    tulle_gidx m, n;
    int64_t nnz; /* stored entries; 0: the tile has no block */
} tulle__shape;

/* Room for what a kernel's task holds of one summand. */
typedef union tulle__chain_room {
    tulle__spmm_pair spmm;
    tulle__gemm_pair gemm;
} tulle__chain_room;

/*
 * A chain into a dense C: rows row .. row + m - 1 of sum_p A_p B_p, C = alpha (sum) + beta C, all A_p of one format,
 * all B_p dense. Element (r, c) of these rows is C[r * c_row + c * c_col]; beta = 0 does not read C.
 */
typedef struct tulle__chain_task {
    tulle_type type;
    int64_t row, m, n;
    int npairs;              /* at least one */
    const tulle_tile *A, *B; /* [npairs] */
    tulle__chain_room *room; /* [npairs] */
    void *C;
    int64_t c_row, c_col;
    double alpha, beta;
} tulle__chain_task;

/* What a chain takes, for virtual time and for bounds: flops; bytes from and to memory; bytes of B through the cache.
 */
typedef struct tulle__chain_cost {
    double flops, memory, cache;
} tulle__chain_cost;

/* One entry of a row: its column in the tile, and where its value stands among the tile's values. */
typedef struct tulle__entry_at {
    tulle_gidx column;
    int64_t value;
} tulle__entry_at;

typedef struct tulle__tile_format {
    tulle_kind kind;
    const char *name;
    bool names_rows; /* a tile A may leave rows of B unnamed, so that fetching the named ones alone can pay */

    /* Bytes of the block of a tile with entries. */
    size_t (*bytes)(const tulle__shape *shape);
    /* Sets the pointers, and ld, of a tile whose m, n, nnz, type and order are set; block may be NULL. */
    void (*view)(void *block, tulle_own_tile *tile);
    /* Stored entries of rows 0 .. row - 1. */
    int64_t (*entries_before)(const tulle_tile *A, int64_t row);
    /* Entry e of a row, 0 <= e < entries_before(row + 1) - entries_before(row); columns ascend. */
    tulle__entry_at (*entry)(const tulle_tile *A, int64_t row, int64_t e);

    /* The chain, on this host. */
    tulle_status (*multiply)(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task);
    tulle__chain_cost (*cost)(const tulle__chain_task *task);
} tulle__tile_format;

const tulle__tile_format *tulle__tile_format_of(tulle_kind kind);

extern const tulle__tile_format tulle__tile_dense, tulle__tile_csr_format;

/* A chain by the entries of rows alone, one thread and one sum at a time: for formats without a kernel of their own. */
tulle_status tulle__chain_by_entries(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task);

/* Multiplications of a chain with dense B. */
int64_t tulle__chain_multiplications(const tulle__chain_task *task);

#endif
