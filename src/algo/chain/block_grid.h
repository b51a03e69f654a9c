/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of a PE's tiles of C in their order: a serpentine over the blocks of the host and, in
 * each of these, one over those of the devices. The next block of the host is beside or below the
 * last one, and the next block of the devices beside or below its last one, where they meet.
 */
#ifndef TULLE_CHAIN_BLOCK_GRID_H
#define TULLE_CHAIN_BLOCK_GRID_H

#include <tulle/gemm_blocks.h>

typedef struct tulle__grid_block {
    int row, rows, col, cols; /* its tiles, by their numbers among the own ones */
    int host_row, host_rows, host_col, host_cols;
    int first_in_host;              /* it begins a block of the host */
    int last_of_rows, last_of_cols; /* of the host's block: none that follows in it has the same rows (columns) */
    int keeps_rows, keeps_cols;     /* the next block of the host has this one's rows (columns) */
} tulle__grid_block;

/* The n-th block of rows x cols tiles; 0: there is none. */
int tulle__block_at(const tulle_gemm_blocks *shape, int rows, int cols, int64_t n, tulle__grid_block *block);

/* n / part, rounded up. */
static inline int tulle__parts_of(int n, int part)
{
    return n / part + (n % part != 0);
}

#endif
