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

typedef struct tulle__excerpt tulle__excerpt;

/* The whole tile is better than more than that part of it. */
#define TULLE__EXCERPT_MOST 0.75

/* The columns in which A has entries. */
tulle_status tulle__rows_named_by(const tulle__csr *A, tulle__rows *rows);
void tulle__rows_fini(tulle__rows *rows);

/*
 * What is to be fetched for those rows of tile (i, j), as long as B keeps its structure. A sparse tile's row pointers
 * are read now. *excerpt = NULL: the whole tile is better, since it is read in place, or most of it is needed.
 */
tulle_status tulle__excerpt_new(tulle_mat *B, int i, int j, const tulle__rows *rows, tulle__excerpt **excerpt);
void tulle__excerpt_free(tulle__excerpt *excerpt);

/* Bytes that a fetch moves; bytes that the excerpt itself holds. */
size_t tulle__excerpt_bytes(const tulle__excerpt *excerpt);
size_t tulle__excerpt_held(const tulle__excerpt *excerpt);

/* As tulle__fetch_init. */
tulle_status tulle__excerpt_fetch(tulle_mat *B, int i, int j, const tulle__excerpt *excerpt, tulle__fetch *fetch);

#endif
