/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a matrix, for the layers that fill and multiply it. */
#ifndef TULLE_MAT_MAT_H
#define TULLE_MAT_MAT_H

#include <tulle/mat.h>

#include "comm/comm.h"
#include "mat/layout.h"
#include "tile/tile_csr.h"

/*
 * Directory record of a tile. Its arrays lie in one block of the owner's data segment, each 64-byte aligned: dense the
 * values; CSR row pointers, column indices, values. One block, so that one get fetches a tile. An empty tile has none.
 */
typedef struct tulle__tile_record {
    tulle__place place; /* length 0: no block */
    int64_t nnz;
} tulle__tile_record;

struct tulle_mat {
    tulle__owned owned;
    tulle_comm *comm;
    tulle_layout *layout;
    tulle_kind kind;
    const tulle__tile_format *format; /* of that kind */
    tulle_type type;
    tulle_order order;
    int64_t nnz;
    tulle__tile_record *directory;  /* [mt * nt], as of the last renew */
    tulle__tile_record *replaced;   /* [mt * nt], own tiles waiting for renew; generation 0: none */
    const tulle_csr_rows *borrowed; /* NULL, or the caller's arrays behind the only tile */
    tulle_csr_rows borrowed_rows;
    bool unordered;         /* rows may be in no order, on any PE: the same on all (row_order.c) */
    uint64_t structure;     /* counts renewals of sparse structure: a plan compares it */
    const tulle_mat *whole; /* NULL, or the dense matrix in whose blocks the tiles of this one lie (view.h) */
};

static inline int64_t tulle__tile_index(const tulle_mat *A, int i, int j)
{
    return (int64_t)i * A->layout->nt + j;
}

static inline tulle_gidx tulle__tile_rows(const tulle_mat *A, int i)
{
    return A->layout->row_cut[i + 1] - A->layout->row_cut[i];
}

static inline tulle_gidx tulle__tile_cols(const tulle_mat *A, int j)
{
    return A->layout->col_cut[j + 1] - A->layout->col_cut[j];
}

static inline int tulle__tile_is_mine(const tulle_mat *A, int i, int j)
{
    return tulle__layout_owner(A->layout, i, j) == A->comm->rank;
}

static inline tulle__shape tulle__tile_shape(const tulle_mat *A, int i, int j, int64_t nnz)
{
    return (tulle__shape){
        .type = A->type, .order = A->order, .m = tulle__tile_rows(A, i), .n = tulle__tile_cols(A, j), .nnz = nnz};
}

/* The view of tile (i, j) whose block begins at `block` here. */
tulle_tile tulle__tile_view(const tulle_mat *A, int i, int j, const tulle__tile_record *record, void *block);
tulle_own_tile tulle__own_tile_view(const tulle_mat *A, int i, int j, const tulle__tile_record *record, void *block);
/* For reading. */
tulle_tile tulle__tile_of(const tulle_own_tile *own);

/* A pointer to the tile's block if loads reach it (own tile or direct), else NULL; NULL for a tile without block too.
 */
void *tulle__tile_mapped(const tulle_mat *A, int i, int j);

/* As a reader in place sees it, here. */
tulle_tile tulle__tile_in_place(const tulle_mat *A, int i, int j);
tulle_own_tile tulle__own_tile_in_place(tulle_mat *A, int i, int j);

/* A new block for own tile (i, j): to be filled, then renewed. Filled by the caller through the view. */
tulle_status tulle__mat_place(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile);
/* The same for a sparse tile that a kernel writes. */
tulle_status tulle__mat_place_csr(tulle_mat *A, int i, int j, int64_t nnz, tulle__csr_result *result);
/*
 * A sparse tile that was placed with room for more has nnz entries, and gives back the room of the others. Its row
 * pointers are to be filled after this; columns and values, which begin at the view's of before, are moved together.
 */
tulle_status tulle__mat_settle(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile);

/* The same for a sparse tile whose values come last: they are not charged, nor to be touched, until committed. */
tulle_status tulle__mat_reserve(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile);
tulle_status tulle__mat_commit(tulle_mat *A, int i, int j);

/* The part of renew that is local and collective, without the final agreement: for operations that agree later. */
tulle_status tulle__mat_publish(tulle_mat *A);
/* Before rows are read that must ascend. Collective, agreed: rows are put in order unless all are. */
tulle_status tulle__mat_order(const tulle_mat *A);
/* Drops tiles placed since the last renew. */
void tulle__mat_unplace(const tulle_mat *A);

/* Makes the handle; make: with blocks of own dense tiles; make_empty: without. No agreement. */
tulle_status tulle__mat_make(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **A);
tulle_status tulle__mat_make_empty(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **A);
/* A block for own dense tile (i, j): to be filled, then published. */
tulle_status tulle__mat_place_dense(tulle_mat *A, int i, int j);
/* Local part of free; the same for what a PE owns. */
void tulle__mat_free_owned(tulle__owned *object);
void tulle__mat_drop(tulle_mat *A);

/* Where a tile of a view lies: elements from the beginning of a block, and from one row (row-major) or column on. */
typedef struct tulle__spot {
    tulle__place place;
    int64_t first, ld;
} tulle__spot;
tulle__spot tulle__view_spot(const tulle_mat *view, int i, int j);

#endif
