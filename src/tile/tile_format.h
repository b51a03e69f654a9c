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

/* Facts of a directory record and the layout about a tile. */
typedef struct tulle__shape {
    tulle_type type;
    tulle_order order;
    tulle_gidx m, n;
    int64_t nnz; /* stored entries; 0: the tile has no entries */
    int64_t blocks, block_rows;
} tulle__shape;

/* Room for what a kernel's task holds of one summand. */
typedef union tulle__chain_workspace {
    tulle__spmm_pair spmm;
    tulle__gemm_pair gemm;
} tulle__chain_workspace;

/*
 * A chain into a dense C: rows row .. row + m - 1 of sum_p A_p B_p, C = alpha (sum) + beta C, all A_p of one format,
 * all B_p dense. Element (r, c) of these rows is C[r * c_row + c * c_col]; beta = 0 does not read C.
 */
typedef struct tulle__chain_task {
    tulle_type type;
    int64_t row, m, n;
    int npairs;                        /* at least one */
    const tulle_tile *A, *B;           /* [npairs] */
    tulle__chain_workspace *workspace; /* [npairs] */
    void *C;
    int64_t c_row, c_col;
    double alpha, beta;
} tulle__chain_task;

/* Cost of a chain, for virtual time and for bounds: flops; bytes from and to memory; bytes of B through the cache.
 */
typedef struct tulle__chain_cost {
    double flops, memory, cache;
} tulle__chain_cost;

/*
 * A cursor over the entries of a row, in runs: columns column .. column + count - 1 of the tile, whose
 * values stand at value, value + step, ... among the tile's values. It starts zeroed but for the row.
 */
typedef struct tulle__entry_run {
    int64_t row, at; /* at: the format's position in the row */
    tulle_gidx column;
    int64_t count, value, step;
} tulle__entry_run;

/*
 * Offsets of the arrays of a sparse tile, or of rows of one, and the length of all; row pointers at 0. offset and
 * norm are 0 where there are none. What may change with values begins at norm, or at val.
 */
typedef struct tulle__blocks_offsets {
    uint64_t colind, offset, norm, val, length;
} tulle__blocks_offsets;

typedef struct tulle__tile_format {
    tulle_kind kind;
    const char *name;
    bool names_rows; /* a tile A may leave rows of B unnamed, so that fetching the named ones alone can pay */
    bool in_blocks;  /* the layout has block cuts, the directory counts blocks */
    bool by_blocks;  /* rows can be cut between block rows only: C may have this format */

    /* Bytes of the block of a tile with entries. */
    size_t (*bytes)(const tulle__shape *shape);
    /* Sets the pointers, and ld, of a tile whose other fields are set; block may be NULL. */
    void (*view)(void *block, tulle_own_tile *tile);
    /* Stored entries of rows 0 .. row - 1. */
    int64_t (*entries_before)(const tulle_tile *A, int64_t row);
    /* The next run of a row; false: there is none. Columns ascend. */
    bool (*next)(const tulle_tile *A, tulle__entry_run *run);
    /* Sets bit c for each column c with an entry; NULL where names_rows is false. */
    void (*names)(const tulle_tile *A, uint64_t *bits);

    /* The chain, on this host. */
    tulle_status (*multiply)(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task);
    tulle__chain_cost (*cost)(const tulle__chain_task *task);

    /* The following are NULL where no sparse product has the format. Rows and entries are those of blocks. */
    /* A sparse product of factors of the format, on this host, where `place` says. */
    tulle_status (*product)(const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task,
        tulle__csr_place place, void *context, tulle__csr_result *C);
    /* Values alone of a sparse product, into a C whose structure is known. */
    tulle_status (*values)(
        const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C);
    /* Adds its multiplications; NULL: `values` tells them in C. */
    tulle_status (*count)(
        const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, int64_t *multiplications);
    /* The arrays of rows of a result with so many entries, and values. */
    tulle__blocks_offsets (*result)(tulle_type type, int64_t rows, int64_t nnz, int64_t values);
} tulle__tile_format;

const tulle__tile_format *tulle__tile_format_of(tulle_kind kind);

extern const tulle__tile_format tulle__tile_dense, tulle__tile_csr_format, tulle__tile_bsr_format,
    tulle__tile_vbsr_format;

/* A chain by the entries of rows alone, one thread and one sum at a time: for formats without a kernel of their own. */
tulle_status tulle__chain_by_entries(const tulle__kernels *kernels, tulle__pool *pool, const tulle__chain_task *task);

/* Multiplications of a chain with dense B. */
int64_t tulle__chain_multiplications(const tulle__chain_task *task);

#endif
