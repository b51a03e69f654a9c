/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching only those rows of a remote tile that are needed, in one vector get. What comes looks like the tile to a
 * kernel that names no other row: a dense excerpt holds rows where the tile does, and others are undefined; in a sparse
 * one other rows are empty, so that whoever looks at all rows may.
 */
#ifndef TULLE_MAT_EXCERPT_H
#define TULLE_MAT_EXCERPT_H

#include "mat/fetch.h"

/* Rows of a tile, in ascending ranges that do not touch. */
typedef struct tulle__rows {
    struct tulle__row_range {
        int64_t first, count;
    } * range;
    int64_t nranges;
} tulle__rows;

typedef struct tulle__subset tulle__subset;

/* The columns in which A has entries; one bit each, columns / 64 + 1 words, set beside those that are; the rows of
 * bits. */
tulle_status tulle__rows_named_by(const tulle__csr *A, tulle__rows *rows);
void tulle__bits_named_by(const tulle__csr *A, uint64_t *bits);
tulle_status tulle__rows_of_bits(const uint64_t *bits, int64_t words, tulle__rows *rows);
void tulle__rows_fini(tulle__rows *rows);

/* The row pointers of sparse tile (i, j) of any PE, read now; to be freed. */
tulle_status tulle__rowptr_read(const tulle_mat *B, int i, int j, int64_t **rowptr);

/* Whether rows of the tile can be fetched by themselves: it is remote, and its rows lie together. */
int tulle__subset_possible(const tulle_mat *B, int i, int j);

/*
 * What is to be fetched for those rows of such a tile (i, j), as long as B keeps its structure. rowptr: the tile's, if
 * it is sparse.
 */
tulle_status tulle__subset_new(
    const tulle_mat *B, int i, int j, const tulle__rows *rows, const int64_t *rowptr, tulle__subset **excerpt);
void tulle__subset_free(tulle__subset *excerpt);

/* Bytes that a fetch moves, in so many ranges; bytes that the excerpt itself holds. */
size_t tulle__subset_bytes(const tulle__subset *excerpt);
int64_t tulle__subset_ranges(const tulle__subset *excerpt);
size_t tulle__subset_held(const tulle__subset *excerpt);

/* Room that what comes takes, as a block of a tile; its entries. */
size_t tulle__subset_room(const tulle_mat *B, int i, int j, const tulle__subset *excerpt);
int64_t tulle__subset_entries(const tulle__subset *excerpt);
/* Starts fetching it into such a block; *group < 0: nothing to wait for. */
tulle_status tulle__subset_start(
    const tulle_mat *B, int i, int j, const tulle__subset *excerpt, void *block, int *group);

/* As tulle__fetch_init. */
tulle_status tulle__subset_fetch(const tulle_mat *B, int i, int j, const tulle__subset *excerpt, tulle__fetch *fetch);

#endif
