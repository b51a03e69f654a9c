/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a matrix, for the layers that fill and multiply it. */
#ifndef TULLE_MAT_MAT_H
#define TULLE_MAT_MAT_H

#include <stddef.h>

#include <tulle/mat.h>

#include "comm/comm.h"
#include "mat/layout.h"
#include "tile/tile_csr.h"

/*
 * The directory record of a tile. The tile's arrays lie in one block of the owner's data segment,
 * so that one get fetches the tile. Each array is aligned to 64 bytes: the values of a dense tile;
 * row pointers, column indices and values of a CSR tile. An empty tile has no block.
 */
typedef struct tulle__tile_record {
    tulle__place place; /* length 0: no block */
    int64_t nnz;
    int64_t blocks; /* of formats in blocks, of which alone it travels */
} tulle__tile_record;

/* The caller's arrays, which this PE's only tile with elements borrows. */
typedef struct tulle__borrowed {
    int64_t *rowptr; /* CSR */
    tulle_lidx *colind;
    void *val;
    int64_t ld;           /* dense */
    int64_t *widened;     /* NULL, or rowptr, which the matrix owns: a copy of the caller's 32-bit row pointers */
    tulle_lidx *narrowed; /* NULL, or colind, which the matrix owns: a copy of the caller's 64-bit columns */
} tulle__borrowed;

struct tulle_mat {
    tulle__owned owned;
    tulle_comm *comm;
    tulle_layout *layout;
    tulle_kind kind;
    const tulle__tile_format *format; /* of that kind */
    tulle_type type;
    tulle_order order;
    int64_t nnz;
    tulle__tile_record *directory;   /* [mt * nt], as of the last renew */
    tulle__tile_record *replaced;    /* [mt * nt], own tiles placed since the last renew; generation 0: none */
    const tulle__borrowed *borrowed; /* NULL, or &arrays */
    tulle__borrowed arrays;
    bool unordered;                       /* rows of some PE may be unordered; the same on all PEs (row_order.c) */
    uint64_t structure;                   /* number of renewals of the sparse structure; plans compare it */
    const tulle_mat *whole;               /* NULL, or the dense matrix that this one is a view of (view.h) */
    struct tulle__compressed *compressed; /* NULL, or the rows and columns that are stored (axis.h) */
    const struct tulle__mat_resident *resident; /* NULL, or which values lie on devices (mat_resident.h) */
    tulle_symmetry symmetry; /* TULLE_GENERAL: all is stored; else half of the blocks, by tulle_half_stores */
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

/* The head of a loop over the tiles of this PE, by rows; `continue` goes to the next one. */
#define TULLE__EACH_OWN_TILE(A, i, j)                                                                                  \
    for (int i = 0; i < (A)->layout->mt; i++)                                                                          \
        for (int j = 0; j < (A)->layout->nt; j++)                                                                      \
            if (!tulle__tile_is_mine(A, i, j))                                                                         \
                continue;                                                                                              \
            else

/* Bytes of a record that travel. */
static inline size_t tulle__record_bytes(const tulle_mat *A)
{
    return A->format->in_blocks ? sizeof(tulle__tile_record) : offsetof(tulle__tile_record, blocks);
}

/* For a format in blocks: block rows of tile row i, block columns of tile column j. */
static inline tulle_gidx tulle__tile_block_rows(const tulle_mat *A, int i)
{
    return A->layout->row_blocks.first[i + 1] - A->layout->row_blocks.first[i];
}

static inline tulle_gidx tulle__tile_block_cols(const tulle_mat *A, int j)
{
    return A->layout->col_blocks.first[j + 1] - A->layout->col_blocks.first[j];
}

/* True if row and column are in a block on the diagonal; A has the same blocks of rows and of columns. */
static inline bool tulle__in_diagonal_block(const tulle_mat *A, tulle_gidx row, tulle_gidx col)
{
    const tulle__block_cuts *b = &A->layout->row_blocks;
    const int block = tulle__layout_find(b->cut, (int)b->count, row);
    return col >= b->cut[block] && col < b->cut[block + 1];
}

/* Rows of a tulle__csr of tile row i, columns of one of tile column j. */
static inline tulle_gidx tulle__tile_csr_rows(const tulle_mat *A, int i)
{
    return A->format->in_blocks ? tulle__tile_block_rows(A, i) : tulle__tile_rows(A, i);
}

static inline tulle_gidx tulle__tile_csr_cols(const tulle_mat *A, int j)
{
    return A->format->in_blocks ? tulle__tile_block_cols(A, j) : tulle__tile_cols(A, j);
}

/* Mean rows of a block row; 1 without blocks. */
static inline double tulle__mat_block_height(const tulle_mat *A)
{
    const tulle__block_cuts *b = &A->layout->row_blocks;
    return A->format->in_blocks && b->count ? (double)A->layout->m / (double)b->count : 1;
}

static inline tulle__shape tulle__tile_shape(const tulle_mat *A, int i, int j, int64_t nnz, int64_t blocks)
{
    return (tulle__shape){.type = A->type,
        .order = A->order,
        .m = tulle__tile_rows(A, i),
        .n = tulle__tile_cols(A, j),
        .nnz = nnz,
        .blocks = blocks,
        .block_rows = A->format->in_blocks ? tulle__tile_block_rows(A, i) : 0};
}

/* The view of tile (i, j) with its block at `block`. */
tulle_tile tulle__tile_view(const tulle_mat *A, int i, int j, const tulle__tile_record *record, void *block);
tulle_own_tile tulle__own_tile_view(const tulle_mat *A, int i, int j, const tulle__tile_record *record, void *block);
/* The read-only view of an own tile. */
tulle_tile tulle__tile_of(const tulle_own_tile *own);

/*
 * A pointer to the tile's block if it is mapped (own or remote); NULL if it is not, or the tile has
 * no block.
 */
void *tulle__tile_mapped(const tulle_mat *A, int i, int j);

/* The view of a mapped tile in its place. */
tulle_tile tulle__tile_in_place(const tulle_mat *A, int i, int j);
tulle_own_tile tulle__own_tile_in_place(tulle_mat *A, int i, int j);

/*
 * Allocates a new block for own tile (i, j), which the caller fills through the view. It takes
 * effect with the next renew.
 */
tulle_status tulle__mat_place(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile);
/* The same for a tile of blocks with nnz values in all. */
tulle_status tulle__mat_place_blocks(tulle_mat *A, int i, int j, int64_t blocks, int64_t nnz, tulle_own_tile *tile);
/* The same for a sparse tile that a kernel writes; of nnz blocks with result->values values. */
tulle_status tulle__mat_place_result(tulle_mat *A, int i, int j, int64_t nnz, tulle__csr_result *result);

/*
 * Trims a sparse tile that was placed with spare room to nnz entries, and frees the rest. Moves
 * columns and values, which begin where the previous view has them; row pointers must be filled
 * afterwards.
 */
tulle_status tulle__mat_trim(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile);

/*
 * The same for a sparse tile whose values are written last: they are neither charged nor accessible
 * before the commit.
 */
tulle_status tulle__mat_reserve(tulle_mat *A, int i, int j, int64_t nnz, tulle_own_tile *tile);
tulle_status tulle__mat_commit(tulle_mat *A, int i, int j);

/* TULLE_ERR_UNSUPPORTED of a hypersparse matrix, for what needs one of its tiles. Local. */
tulle_status tulle__wants_tiles(const tulle_mat *A);

/* TULLE_ERR_UNSUPPORTED of half storage, for what needs all of A. Local, the same on all PEs. */
tulle_status tulle__wants_full(const tulle_mat *A);

/* Renew without the final agreement, for operations that agree later. Collective. */
tulle_status tulle__mat_publish(tulle_mat *A);
/*
 * Sorts the rows of an unordered matrix, and expands a hypersparse one, before rows are read. Collective, agreed.
 * Refuses a half, as tulle__wants_full: what reads halves does not call it for them.
 */
tulle_status tulle__mat_order(const tulle_mat *A);
/* Bytes of this PE's tiles. */
size_t tulle__mat_own_bytes(const tulle_mat *A);
/* Frees the tiles, or the stored rows and columns, of A, which no PE reads any more. Local, on all PEs. */
void tulle__mat_clear(tulle_mat *A);
/* Drops the tiles placed since the last renew. */
void tulle__mat_unplace(const tulle_mat *A);

/*
 * Creates the handle; make: with the blocks of own dense tiles, make_empty: without, make_handle: also with tiles
 * that no format has. No agreement.
 */
tulle_status tulle__mat_make_handle(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **A);
tulle_status tulle__mat_make(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **A);
tulle_status tulle__mat_make_empty(
    tulle_comm *comm, const tulle_layout *layout, tulle_kind kind, tulle_type type, tulle_order order, tulle_mat **A);
/*
 * The same over the caller's arrays, which outlive the matrix: the tile of a comm of one PE, or the
 * one dense tile with elements that each PE has at most. `tile` is this PE's; its val is NULL if
 * the PE has none. Local: the directory follows from the layout and the tile. Records have lengths,
 * but no places: other PEs cannot read the tile. Row pointers must be valid.
 */
tulle_status tulle__mat_borrow(tulle_comm *comm, const tulle_layout *layout, const tulle_tile *tile, tulle_mat **A);
/* Allocates a block for own dense tile (i, j), to be filled and published. */
tulle_status tulle__mat_place_dense(tulle_mat *A, int i, int j);
/* The local part of free; the first for objects that a PE owns. */
void tulle__mat_free_owned(tulle__owned *object);
void tulle__mat_drop(tulle_mat *A);

/*
 * Declares local matrices, NULL or freed by all PEs (tulle_mat_free) where they go out of scope: see TULLE__SCOPED. The
 * function frees one earlier, which is NULL then.
 */
#define TULLE__SCOPED_MAT __attribute__((cleanup(tulle__mat_free_scoped)))
void tulle__mat_free_scoped(tulle_mat **A);
/* The local part alone, for TULLE__SCOPED_BY. */
void tulle__mat_drop_scoped(tulle_mat **A);

/* Puts what was made into *out, or drops it (locally), or frees it, if that has failed; returns status. */
tulle_status tulle__mat_or_drop(tulle_status status, tulle_mat *made, tulle_mat **out);
tulle_status tulle__mat_or_free(tulle_status status, tulle_mat *made, tulle_mat **out);

/* The same for a matrix whose own tiles were filled with this status, and are published now. Collective, agreed. */
tulle_status tulle__mat_finish(tulle_comm *comm, tulle_status status, tulle_mat *made, tulle_mat **out);

/* Sums vectors of n elements over all PEs, in place. Collective. */
tulle_status tulle__sum_vector(tulle_comm *comm, int64_t n, int64_t *vector);

/*
 * The location of a view's tile within a block: its first element, and the distance of two rows
 * (row-major) or columns, in elements.
 */
typedef struct tulle__spot {
    tulle__place place;
    int64_t first, ld;
} tulle__spot;
tulle__spot tulle__view_spot(const tulle_mat *view, int i, int j);

#endif
