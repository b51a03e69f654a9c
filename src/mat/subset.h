/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row subsets: fetches only the required rows of a remote tile, in one vector get. The result looks
 * like the tile to a kernel that reads no other row. In a dense subset rows lie where the tile has
 * them, and other rows are undefined. In a sparse one other rows are empty, so that a sweep over
 * all rows is valid.
 */
#ifndef TULLE_MAT_SUBSET_H
#define TULLE_MAT_SUBSET_H

#include "mat/fetch.h"

/* A set of rows of a tile: ascending ranges that do not touch. */
typedef struct tulle__row_set {
    struct tulle__row_interval {
        int64_t first, count;
    } * range;
    int64_t nranges;
} tulle__row_set;

typedef struct tulle__subset tulle__subset;

/*
 * The set of columns in which A has entries, which is not in blocks, or a tile of any format; and the
 * row set of such bits, in columns / 64 + 1 words.
 */
tulle_status tulle__row_set_named_by(const tulle__csr *A, tulle__row_set *rows);
tulle_status tulle__row_set_named_by_tile(const tulle_tile *A, tulle__row_set *rows);
void tulle__bits_named_by(const tulle__csr *A, uint64_t *bits);
tulle_status tulle__row_set_of_bits(const uint64_t *bits, int64_t words, tulle__row_set *rows);
void tulle__row_set_fini(tulle__row_set *rows);

/* Reads the row pointers of sparse tile (i, j) of any PE. The caller frees them. */
tulle_status tulle__rowptr_read(const tulle_mat *B, int i, int j, int64_t **rowptr);

/* True if rows of the tile can be fetched separately: it is remote, and each row is contiguous. */
int tulle__subset_possible(const tulle_mat *B, int i, int j);

/*
 * Plans the fetch of these rows of tile (i, j), valid while B keeps its structure. rowptr: the
 * tile's, if it is sparse.
 */
tulle_status tulle__subset_new(
    const tulle_mat *B, int i, int j, const tulle__row_set *rows, const int64_t *rowptr, tulle__subset **subset);
void tulle__subset_free(tulle__subset *subset);

/* Bytes that a fetch moves; ranges of its vector get; bytes of memory of the subset itself. */
size_t tulle__subset_bytes(const tulle__subset *subset);
int64_t tulle__subset_ranges(const tulle__subset *subset);
size_t tulle__subset_held(const tulle__subset *subset);

/* Bytes of the block that receives the subset; entries in it. */
size_t tulle__subset_workspace(const tulle_mat *B, int i, int j, const tulle__subset *subset);
int64_t tulle__subset_entries(const tulle__subset *subset);
/* Starts the fetch into such a block; group < 0: nothing to await. */
tulle_status tulle__subset_start(
    const tulle_mat *B, int i, int j, const tulle__subset *subset, void *block, tulle__transfer *transfer);

/* Like tulle__fetch_into. */
tulle_status tulle__subset_fetch(
    const tulle_mat *B, int i, int j, const tulle__subset *subset, tulle__receiver *receiver, tulle__fetch *fetch);

#endif
