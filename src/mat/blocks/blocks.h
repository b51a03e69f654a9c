/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion of CSR rows to slabs of blocks (tulle__bsr): statistics for the choice of a format,
 * slab sizes, and filling. All functions are local and read only the rows at hand; what must hold
 * for the whole matrix follows by joining the statistics of its parts (tulle__blocks_join).
 */
#ifndef TULLE_MAT_BLOCKS_H
#define TULLE_MAT_BLOCKS_H

#include "mat/mat.h"

/*
 * Blocks of size `block` over n rows or columns. The last one reaches beyond a matrix whose size is
 * no multiple; it is padded with zeros, and vectors beside it have as many lines more.
 */
static inline int64_t tulle__blocks_over(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

enum { TULLE__BLOCKS_MOST = 8 }; /* the largest block size that is searched; slabs may have any */

/*
 * Rows first .. first + m - 1 of a matrix with n columns, as tiles side by side that together hold
 * whole rows.
 */
typedef struct tulle__tile_row {
    tulle_type type;
    tulle_gidx first, m, n;
    int ntiles;
    const tulle__csr *tile; /* a tile without entries may have m = 0 and rowptr NULL */
    const tulle_gidx *col;  /* the first column of each */
} tulle__tile_row;

/* All rows of tile (i, 0) of A, which has one tile column; `tile` holds its entries. */
tulle__tile_row tulle__blocks_rows(const tulle_mat *A, int i, const tulle__csr *tile);

/*
 * Rows from .. until - 1, counted from their first; receives the views of the ntiles tiles in
 * `tile`.
 */
void tulle__blocks_part(
    const tulle__tile_row *rows, int64_t from, int64_t until, tulle__csr *tile, tulle__tile_row *part);

enum { TULLE__BLOCKS_NONE = -1 };

/* Statistics of some rows; {0} for none. */
typedef struct tulle__blocks_facts {
    int64_t nnz;
    /*
     * an estimate, by a sample, of the number of blocks of each size b among `seen` entries;
     * TULLE__BLOCKS_NONE if b does not divide n. The caller must check that b divides the rows of
     * the whole matrix.
     */
    int64_t blocks[TULLE__BLOCKS_MOST + 1], seen[TULLE__BLOCKS_MOST + 1];
    /*
     * order-independent hashes of (i, j, value) above the diagonal and of (j, i, value) below it:
     * equal iff the matrix is symmetric, up to a 2^-64 collision
     */
    uint64_t right, left;
} tulle__blocks_facts;

void tulle__blocks_inspect(const tulle__tile_row *rows, tulle__blocks_facts *facts);
void tulle__blocks_join(tulle__blocks_facts *facts, const tulle__blocks_facts *other);

/* The estimated number of blocks of size b; TULLE__BLOCKS_NONE. */
int64_t tulle__blocks_estimate(const tulle__blocks_facts *facts, int b);
/*
 * The block size with the fewest bytes, 1 for CSR; whether the inspected matrix (m = n) is
 * symmetric.
 */
int tulle__blocks_size(const tulle__blocks_facts *facts, tulle_type type);
int tulle__blocks_symmetric(const tulle__blocks_facts *facts);

/* The structure of all block rows; rowptr is allocated. */
typedef struct tulle__blocks_plan {
    int block, symmetric;
    int64_t first, m, n; /* in blocks */
    int64_t *rowptr;     /* m + 1, from 0 */
    int64_t span;        /* symmetric: the largest distance of a block from the diagonal, in block columns */
    int64_t row_extent;  /* the most columns from a row's first block to its last; 16-bit indices hold up to 65535 */
} tulle__blocks_plan;

/*
 * Counts blocks of size `block`, which divides first (else TULLE_ERR_ARG); the last row and the last
 * column may be padded. symmetric: only blocks on and above the diagonal. TULLE_ERR_OVERFLOW above INT32_MAX block
 * columns.
 */
tulle_status tulle__blocks_count(const tulle__tile_row *rows, int block, int symmetric, tulle__blocks_plan *plan);
void tulle__blocks_fini(tulle__blocks_plan *plan);

/* The least bytes of a column index that suffice for every row: 2 or 4. */
int tulle__blocks_index_bytes(const tulle__blocks_plan *plan);

/*
 * The arrays of a slab: val for blocks * block^2 values, colind for the blocks, base for m rows,
 * rowptr for m + 1.
 */
typedef struct tulle__blocks_arrays {
    tulle_type type; /* of val; f64 rows may be rounded to f32 */
    int index_bytes;
    int64_t *rowptr; /* receives the slab's own row pointers, from 0 */
    void *colind;
    int32_t *base; /* index_bytes = 2 */
    void *val;
} tulle__blocks_arrays;

/*
 * Fills the arrays with block rows begin .. end - 1 of the plan, zeros where a block has no entry,
 * and returns the slab. rows are those of the plan. Several threads may fill parts.
 */
tulle_status tulle__blocks_fill(const tulle__tile_row *rows, const tulle__blocks_plan *plan, int64_t begin, int64_t end,
    const tulle__blocks_arrays *arrays, tulle__bsr *slab);

#endif
