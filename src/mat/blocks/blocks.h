/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CSR into slabs of blocks (tulle__bsr): what formats suit a matrix, how large slabs become, and filling them
 * in. All functions are local and need only the rows at hand; what must hold for a whole matrix follows by adding up
 * or comparing what they tell of its parts (tulle__blocks_join).
 */
#ifndef TULLE_MAT_BLOCKS_H
#define TULLE_MAT_BLOCKS_H

#include "mat/mat.h"

enum { TULLE__BLOCKS_MOST = 8 }; /* the largest size that is looked for; slabs may have any */

/* Rows first .. first + m - 1 of a matrix of n columns, in tiles side by side that make up whole rows. */
typedef struct tulle__tile_row {
    tulle_type type;
    tulle_gidx first, m, n;
    int ntiles;
    const tulle__csr *tile; /* a tile without entries may have m = 0 and rowptr NULL */
    const tulle_gidx *col;  /* where each begins */
} tulle__tile_row;

/* All rows of tile (i, 0) of A, which has one tile column; `tile` is where its entries are. */
tulle__tile_row tulle__blocks_rows(const tulle_mat *A, int i, const tulle__csr *tile);

/* Rows from .. until - 1 of them (counted from their first), with `tile` for their ntiles tiles. */
void tulle__blocks_part(
    const tulle__tile_row *rows, int64_t from, int64_t until, tulle__csr *tile, tulle__tile_row *part);

enum { TULLE__BLOCKS_NONE = -1 };

/* What is known of some rows; of none: {0}. */
typedef struct tulle__blocks_facts {
    int64_t nnz;
    /* about how many blocks of each size b those with `seen` entries make, by a sample; TULLE__BLOCKS_NONE where b does
       not divide n. (Rows may be cut anywhere; that b divides those of the whole matrix is for the caller to see.) */
    int64_t blocks[TULLE__BLOCKS_MOST + 1], seen[TULLE__BLOCKS_MOST + 1];
    /* sums over the entries right and left of the diagonal, of numbers that are made from the place, turned over on the
       left, and the value's bits: equal if the matrix is symmetric, else different but for one case in 2^64 */
    uint64_t right, left;
} tulle__blocks_facts;

void tulle__blocks_look(const tulle__tile_row *rows, tulle__blocks_facts *facts);
void tulle__blocks_join(tulle__blocks_facts *facts, const tulle__blocks_facts *other);

/* About how many blocks of size b there are; TULLE__BLOCKS_NONE. */
int64_t tulle__blocks_estimate(const tulle__blocks_facts *facts, int b);
/* The size of blocks that takes least memory, 1 for CSR; whether the matrix, m = n, is symmetric, as far as all of it
 * has been looked at. */
int tulle__blocks_size(const tulle__blocks_facts *facts, tulle_type type);
int tulle__blocks_symmetric(const tulle__blocks_facts *facts);

/* The structure of all block rows, counted; rowptr is allocated. */
typedef struct tulle__blocks_plan {
    int block, symmetric;
    int64_t first, m, n; /* in blocks */
    int64_t *rowptr;     /* m + 1, from 0 */
    int64_t span;        /* symmetric: no block is more columns right of the diagonal */
    int64_t spread;      /* the most columns from a row's first block to its last: 16-bit indices will do up to 65535 */
} tulle__blocks_plan;

/*
 * Blocks of size `block`, which divides first, m and n (else TULLE_ERR_ARG); symmetric: those right of the diagonal and
 * on it. TULLE_ERR_OVERFLOW over INT32_MAX block columns.
 */
tulle_status tulle__blocks_count(const tulle__tile_row *rows, int block, int symmetric, tulle__blocks_plan *plan);
void tulle__blocks_fini(tulle__blocks_plan *plan);

/* Bytes of an entry of colind that any row can do with: 2 or 4. */
int tulle__blocks_index_bytes(const tulle__blocks_plan *plan);

/* Arrays of a slab: val for blocks * block^2 values, colind and base for `blocks` and m, rowptr for m + 1. */
typedef struct tulle__blocks_arrays {
    tulle_type type; /* of val: f64 rows may become f32 */
    int index_bytes;
    int64_t *rowptr; /* becomes that of the slab alone, from 0 */
    void *colind;
    int32_t *base; /* index_bytes = 2 */
    void *val;
} tulle__blocks_arrays;

/*
 * Block rows begin .. end - 1 of the plan, which rows are those of, into arrays, and the slab that they are: zeros
 * where there is no entry. Parts may be filled in by several threads.
 */
tulle_status tulle__blocks_fill(const tulle__tile_row *rows, const tulle__blocks_plan *plan, int64_t begin, int64_t end,
    const tulle__blocks_arrays *arrays, tulle__bsr *slab);

#endif
