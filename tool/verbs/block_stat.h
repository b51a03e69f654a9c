/* SPDX-License-Identifier: Apache-2.0 */
/* tulle stat --blocks: a matrix as one of dense blocks. */
#ifndef TULLE_TOOL_BLOCK_STAT_H
#define TULLE_TOOL_BLOCK_STAT_H

#include "verb.h"

enum { BLOCK_SIZES_MOST = 16, BLOCK_DECADES = 40, BLOCK_DISTANCES = 64 };

/* Sizes of block rows or columns, ascending; what is beyond the room counts as the last. */
struct block_side {
    int count;
    tulle_gidx size[BLOCK_SIZES_MOST];
};

struct block_stat {
    tulle_gidx rows, cols; /* in blocks */
    int64_t blocks, values, bytes, zero;
    struct block_side row, col;
    int64_t shape[BLOCK_SIZES_MOST * BLOCK_SIZES_MOST]; /* blocks of size row.size[i] x col.size[j] */
    /* blocks whose Frobenius norm is in [10^(d - 20), 10^(d - 19)), those beyond in the first and the last */
    int64_t decade[BLOCK_DECADES];
    /* blocks at a distance of 0, 1, 2 to 3, 4 to 7, ... block columns from the diagonal */
    int64_t at_distance[BLOCK_DISTANCES];
    double squares[BLOCK_DISTANCES], largest[BLOCK_DISTANCES]; /* sums of their squared norms, the largest */
};

/*
 * Collective: of A in blocks of these cuts, all PEs' sums. A stays the caller's.
 */
tulle_status block_stat_of(
    const tulle_mat *A, const tulle_block_cuts *rows, const tulle_block_cuts *cols, struct block_stat *stat);

/* nnz: entries of the matrix, of which the blocks are full to some share. */
void block_stat_text(const struct block_stat *s, int64_t nnz, FILE *file);
/* A member "blocks" of an object. */
void block_stat_json(const struct block_stat *s, int64_t nnz, FILE *file);

#endif
