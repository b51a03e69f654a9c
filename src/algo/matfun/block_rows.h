/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern of those block rows of a matrix that a PE needs: one-hop neighbours of its own. A
 * mapped row is read in place; of others, columns and offsets are fetched once, by one vector get a
 * tile. So no PE holds the pattern of the whole matrix.
 */
#ifndef TULLE_ALGO_MATFUN_BLOCK_ROWS_H
#define TULLE_ALGO_MATFUN_BLOCK_ROWS_H

#include "mat/mat.h"

/* Block row `row` of the matrix, which lies in tile (tile, 0): blocks `first` ... of that tile. */
typedef struct tulle__block_row {
    tulle_gidx row;
    int tile;
    int64_t first, count;
    const tulle_lidx *col; /* [count] */
    const int64_t *offset; /* [count + 1]: values of the tile before each block */
    const void *val;       /* the tile's values, if they are mapped; else NULL */
} tulle__block_row;

typedef struct tulle__block_rows {
    const tulle_mat *A; /* VBSR, of one tile column */
    tulle__block_row *row;
    int64_t count, capacity;
    int32_t *slot; /* [block rows of A]: index in row, -1: not known */
    void **pool;   /* arrays of fetched rows */
    int64_t pools, pool_capacity;
    int64_t bytes; /* fetched */
} tulle__block_rows;

/* Local. After a failure too, fini frees. */
tulle_status tulle__block_rows_init(tulle__block_rows *rows, const tulle_mat *A);
void tulle__block_rows_fini(tulle__block_rows *rows);

/* Adds block rows list[0 .. n - 1], in any order, repetitions allowed. Local, with gets. */
tulle_status tulle__block_rows_require(tulle__block_rows *rows, int64_t n, const int32_t *list);

/* A row that has been required. The pointer is valid until the next require. */
static inline const tulle__block_row *tulle__block_row_of(const tulle__block_rows *rows, tulle_gidx row)
{
    return &rows->row[rows->slot[row]];
}

/* The position of block column `col` in a row, -1: no such block. */
int64_t tulle__block_row_find(const tulle__block_row *row, tulle_gidx col);

/* The layout's block cuts: rows of A before block row r. */
static inline const tulle_gidx *tulle__block_rows_cut(const tulle__block_rows *rows)
{
    return rows->A->layout->row_blocks.cut;
}

/* Offset of values in the block of tile i of A. */
uint64_t tulle__block_rows_values_at(const tulle_mat *A, int i);

#endif
