/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed matrices: a layout and a directory of tiles that any PE can read. A tulle_mat is one
 * PE's handle; it belongs to the team, lives from one run to the next, and is freed with the team
 * at the latest. Tiles are dense (row- or column-major); CSR with 64-bit row pointers and 32-bit
 * column indices local to the tile, ascending in each row; or CSR of dense blocks, whose rows and
 * columns the layout cuts (tulle/layout.h): BSR has blocks of one size, VBSR blocks of any
 * sizes and their norms; both multiply dense matrices and each other. Only its owner changes a sparse tile:
 * tulle_mat_replace, then all call tulle_mat_renew (paper rdma-spmm-spgemm 3.1, 5.3).
 */
#ifndef TULLE_MAT_H
#define TULLE_MAT_H

#include <stdbool.h>

#include <tulle/layout.h>
#include <tulle/team.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_mat tulle_mat;

typedef enum tulle_kind { TULLE_DENSE, TULLE_CSR, TULLE_BSR, TULLE_VBSR, TULLE_KIND_COUNT } tulle_kind;

/* "dense", "csr", "bsr", "vbsr". */
TULLE_API const char *tulle_kind_name(tulle_kind kind);

/* Symmetry of a square matrix, as known. */
typedef enum tulle_symmetry {
    TULLE_GENERAL,   /* nothing */
    TULLE_SYMMETRIC, /* A = A^T */
    TULLE_SKEW       /* A = -A^T: antisymmetric */
} tulle_symmetry;

/*
 * A read-only view of a tile. Its pointers live as long as the tile, or the fetch that produced
 * them.
 *
 * Blocks: rowptr and colind count block rows, block columns and blocks. Block row r has rows
 * row_block[r] - row_block[0] .. row_block[r + 1] - row_block[0] - 1 of the tile, block columns
 * likewise. Block e of row r and column c is row-major; its values begin at val + offset[e], or, where
 * all blocks have one size, at e times this size.
 */
typedef struct tulle_tile {
    tulle_kind kind;
    tulle_type type;
    tulle_order order;        /* dense */
    tulle_gidx m, n;          /* size of the tile */
    int64_t ld;               /* dense: elements from one row (row-major) or column to the next */
    int64_t nnz;              /* stored values; dense: m * n */
    const int64_t *rowptr;    /* CSR: m + 1; blocks: block_rows + 1 */
    const tulle_lidx *colind; /* CSR: nnz; blocks: blocks */
    const void *val;          /* nnz values */
    /* BSR and VBSR only */
    int64_t blocks, block_rows, block_cols;
    const tulle_gidx *row_block, *col_block; /* block_rows + 1, block_cols + 1 */
    const int64_t *offset;                   /* VBSR: blocks + 1 */
    const double *norm;                      /* VBSR: squared Frobenius norm of each block, as of the last renew */
} tulle_tile;

/*
 * The owner's view of a tile. Values may be written whenever no operation on the matrix is in
 * progress. The structure of a sparse tile is changed by tulle_mat_replace only.
 */
typedef struct tulle_own_tile {
    tulle_kind kind;
    tulle_type type;
    tulle_order order;
    tulle_gidx m, n;
    int64_t ld;
    int64_t nnz;
    int64_t *rowptr;
    tulle_lidx *colind;
    void *val;
    int64_t blocks, block_rows, block_cols;
    const tulle_gidx *row_block, *col_block;
    int64_t *offset;
    double *norm;
} tulle_own_tile;

/*
 * Collective. The layout is copied. new_dense: all zero; new_dense_undefined: values are undefined,
 * which saves a sweep through memory for a matrix that will be overwritten, such as C of a product
 * with beta = 0 (which does not read it); new_csr: no entries; new_vbsr: no blocks, in a layout
 * with block cuts.
 */
TULLE_API tulle_status tulle_mat_new_dense(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_order order, tulle_mat **A);
TULLE_API tulle_status tulle_mat_new_dense_undefined(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_order order, tulle_mat **A);
TULLE_API tulle_status tulle_mat_new_csr(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_mat **A);
TULLE_API tulle_status tulle_mat_new_vbsr(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_mat **A);

/* Collective; NULL is allowed (on all PEs). */
TULLE_API void tulle_mat_free(tulle_mat *A);

/* Rows that one PE contributes, in CSR: global rows first .. first + count - 1, columns global. */
typedef struct tulle_csr_rows {
    tulle_gidx first, count;
    const int64_t *rowptr; /* count + 1, from rowptr[0] */
    const void *colind;    /* int32_t or int64_t */
    int colind_bytes;      /* 4 or 8 */
    const void *val;       /* of the matrix's type; NULL: all are ones */
    /*
     * the arrays outlive the matrix and are not copied if no other PE reads them: on a team of one
     * PE, with sorted columns, of which those of 64 bits are narrowed in a copy. Otherwise all are
     * copied
     */
    bool borrow;
} tulle_csr_rows;

/*
 * Collective. The rows of PE 0 come first, then those of PE 1, ...: together all rows of an m x n
 * matrix, one tile a PE. Columns need not be sorted; duplicates are added.
 */
TULLE_API tulle_status tulle_mat_from_csr(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_csr_rows *rows, tulle_mat **A);

/*
 * Collective. The same from columns: those of PE 0 come first, and `colind` holds rows. The matrix
 * has one tile a PE, with even numbers of rows; nothing is borrowed. (A triangle in columns can
 * also be passed as the rows of its transpose, and solved with TULLE_OP_T.)
 */
TULLE_API tulle_status tulle_mat_from_csc(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_csr_rows *columns, tulle_mat **A);

/*
 * Block rows that one PE contributes, in BSR: of blocks of `rows` x `cols` values, each in row- or
 * column-major order.
 */
typedef struct tulle_bsr_rows {
    int rows, cols;
    tulle_order order;
    tulle_gidx first, count; /* block rows */
    const int64_t *rowptr;   /* blocks: count + 1, from rowptr[0] */
    const void *colind;      /* block columns: int32_t or int64_t */
    int colind_bytes;        /* 4 or 8 */
    const void *val;         /* rows * cols values of the matrix's type for each block, those of block 0 first; NULL:
                                all are ones */
    /* zeros within blocks are not entries: for triangles, whose diagonal blocks are half empty */
    bool drop_zeros;
} tulle_bsr_rows;

/*
 * Collective. The same from blocks of at most 4096 values: the block rows of PE 0 come first; m and
 * n are multiples of the block size; duplicates are added. The result is CSR with one tile a PE,
 * cut between block rows; products and solves detect the blocks. TULLE_ERR_ARG on all PEs, with the
 * first cause, if the rows do not make up the matrix.
 */
TULLE_API tulle_status tulle_mat_from_bsr(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_bsr_rows *rows, tulle_mat **A);

typedef enum tulle_duplicates { TULLE_DUPLICATES_SUM, TULLE_DUPLICATES_ERROR, TULLE_DUPLICATES_LAST } tulle_duplicates;

/*
 * Collective. Entries (row[e], col[e], val[e]), e < count, with global indices, from any PE to any
 * tile; val NULL: all ones. Duplicates are added in the order of PEs and, within a PE, of entries;
 * or refused; or the last one is taken.
 */
TULLE_API tulle_status tulle_mat_from_entries(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    int64_t count, const tulle_gidx *row, const tulle_gidx *col, const void *val, tulle_duplicates duplicates,
    tulle_mat **A);

/* Not collective. */
TULLE_API tulle_gidx tulle_mat_rows(const tulle_mat *A);
TULLE_API tulle_gidx tulle_mat_cols(const tulle_mat *A);
TULLE_API int64_t tulle_mat_nnz(const tulle_mat *A); /* of the whole matrix, as of the last renew */
TULLE_API tulle_type tulle_mat_type(const tulle_mat *A);
TULLE_API tulle_kind tulle_mat_kind(const tulle_mat *A);
TULLE_API const tulle_layout *tulle_mat_layout(const tulle_mat *A);
TULLE_API tulle_comm *tulle_mat_comm(const tulle_mat *A);
TULLE_API size_t tulle_mat_bytes(const tulle_mat *A); /* of all tiles of the whole matrix */

/*
 * Not collective: the caller's own tile (i, j), in place, for reading or writing; TULLE_ERR_ARG if
 * another PE owns it.
 */
TULLE_API tulle_status tulle_mat_tile(const tulle_mat *A, int i, int j, tulle_tile *tile);
TULLE_API tulle_status tulle_mat_own_tile(tulle_mat *A, int i, int j, tulle_own_tile *tile);

/*
 * get_tile starts reading tile (i, j) of any PE and returns at once; the tile may be read after
 * tulle_fetch_wait. A mapped tile is not copied. Free the fetch after use; the tile must not be
 * replaced and renewed meanwhile. Not collective.
 */
typedef struct tulle_fetch tulle_fetch;
TULLE_API tulle_status tulle_mat_get_tile(const tulle_mat *A, int i, int j, tulle_fetch **fetch);
TULLE_API tulle_status tulle_fetch_wait(tulle_fetch *fetch, tulle_tile *tile);
TULLE_API void tulle_fetch_free(tulle_fetch *fetch);

/*
 * Replaces the contents of an own tile (i, j), by copies. Columns are local to the tile and ascend;
 * val NULL: all ones. Other PEs see the change after renew.
 */
TULLE_API tulle_status tulle_mat_replace(
    tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind, const void *val);
/*
 * The same for an own tile in blocks, BSR or VBSR: rowptr counts blocks of block rows, colind holds
 * block columns, local to the tile and ascending, and val the blocks one after the other, each
 * row-major; NULL: all ones. tulle_mat_renew computes the norms.
 */
TULLE_API tulle_status tulle_mat_replace_blocks(
    tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind, const void *val);
/* Collective: publishes replaced tiles and frees their predecessors. */
TULLE_API tulle_status tulle_mat_renew(tulle_mat *A);

/*
 * True if the columns of every row ascend. They always do, except in the result of a product with
 * options.unordered. Readers that need the order (products, checks, files, transposes, factors,
 * solvers, streams) first sort the rows in place. Local.
 */
TULLE_API bool tulle_mat_ordered(const tulle_mat *A);
/*
 * Collective: sorts the rows in place now. No fetch of one of its tiles may exist.
 * TULLE_ERR_MEMORY: rows may still be unordered, but are complete.
 */
TULLE_API tulle_status tulle_mat_order(tulle_mat *A);

/*
 * Collective: a copy of A in another layout of the same shape. Of a matrix in blocks the layout has
 * block cuts; other cuts than A's make other blocks (BSR keeps its own: TULLE_ERR_ARG), in which
 * elements that A lacks are 0.
 */
TULLE_API tulle_status tulle_mat_redistribute(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy);
/*
 * Collective: copies of A in another format. A block is stored if it has an entry of A; elements
 * without an entry are 0.
 *
 * to_vbsr: A is CSR; `layout` has A's shape and block cuts, and any tiles and owners.
 * to_bsr: A is CSR, whose rows and columns are multiples of rows and cols; the layout is A's with
 * its cuts moved to blocks (tulle_layout_in_blocks).
 * to_csr: A is CSR, BSR or VBSR; the layout is A's. drop_zeros: zeros in blocks are no entries.
 */
TULLE_API tulle_status tulle_mat_to_vbsr(const tulle_mat *A, const tulle_layout *layout, tulle_mat **V);
TULLE_API tulle_status tulle_mat_to_bsr(const tulle_mat *A, int rows, int cols, tulle_mat **S);
TULLE_API tulle_status tulle_mat_to_csr(const tulle_mat *A, bool drop_zeros, tulle_mat **S);

/*
 * Half storage of a VBSR matrix that is symmetric or antisymmetric (DBCSR's types S and A): of the blocks
 * (r, c) and (c, r) one is stored, and those on the diagonal whole. A checkerboard of squares of blocks
 * decides which (tulle_half_stores), so that each tile holds half of its blocks, whatever the layout.
 * Layouts have the same cuts of rows and of columns, in blocks and in tiles (tulle_layout_square).
 * tulle_mat_nnz, tulle_mat_bytes and views of tiles are of what is stored.
 *
 * Products take halves as A and B, of which the plan keeps all, and as C with options.symmetric_c.
 * tulle/algebra.h says what else takes halves.
 * tulle_mat_redistribute, tulle_mat_transpose and tulle_mat_save take them too. Everything else refuses them
 * by TULLE_ERR_UNSUPPORTED, and takes what tulle_mat_to_full makes.
 */
/* Local: whether a half of so many block rows has the block of this block row and column. */
TULLE_API bool tulle_half_stores(tulle_gidx blocks, tulle_gidx row, tulle_gidx col);
/* Not collective: TULLE_GENERAL if all of A is stored. */
TULLE_API tulle_symmetry tulle_mat_symmetry(const tulle_mat *A);
/* Collective: a half without blocks, for tulle_mat_replace_blocks. symmetry: not TULLE_GENERAL. */
TULLE_API tulle_status tulle_mat_new_half(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_symmetry symmetry, tulle_mat **H);
/*
 * Collective: half of A, in tulle_layout_square of its layout. TULLE_ERR_ARG if A is not VBSR with the same
 * blocks of rows and of columns, or has not the symmetry bit by bit: tulle_mat_symmetrise first.
 */
TULLE_API tulle_status tulle_mat_to_half(const tulle_mat *A, tulle_symmetry symmetry, tulle_mat **H);
/* Collective: all blocks of a half, in its layout; of another matrix a copy. */
TULLE_API tulle_status tulle_mat_to_full(const tulle_mat *H, tulle_mat **A);

/* Collective: A^T in the transposed layout. */
TULLE_API tulle_status tulle_mat_transpose(const tulle_mat *A, tulle_mat **T);

/*
 * Collective: the lower or upper triangle of a sparse square A, in its layout; without the diagonal
 * if diag is UNIT.
 */
TULLE_API tulle_status tulle_mat_triangle(const tulle_mat *A, tulle_uplo uplo, tulle_diag diag, tulle_mat **T);

/*
 * Collective, dense: element (r, c) = uniform in [-1, 1) by (seed, r, c), the same whatever the
 * layout.
 */
TULLE_API tulle_status tulle_mat_fill_random(tulle_mat *A, uint64_t seed);

/*
 * Collective: work[r] for all rows r of A, on every PE (weights for tulle_cuts_weighted):
 * non-zeros, or the multiplications of row r of op(A) op(B).
 */
TULLE_API tulle_status tulle_mat_row_nnz(const tulle_mat *A, int64_t *work);
TULLE_API tulle_status tulle_mat_row_flops(const tulle_mat *A, const tulle_mat *B, int64_t *work);

#ifdef __cplusplus
}
#endif
#endif
