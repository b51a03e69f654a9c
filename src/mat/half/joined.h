/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a half, as a matrix whose tiles are joined when they are fetched: tile (i, j) has the stored blocks of
 * tile (i, j) of the half, and the transposes of those of its tile (j, i), negated if it is antisymmetric. It has
 * a directory like any matrix, by which algorithms plan, and takes no other memory; a fetch gets the two stored
 * tiles and makes the one. Tiles have equal cuts of rows and columns, so the two are enough.
 *
 * All reading is by tulle__fetch. No tile lies in place, so nothing may ask for that.
 */
#ifndef TULLE_MAT_JOINED_H
#define TULLE_MAT_JOINED_H

#include "mat/fetch.h"

/*
 * *X: op(H) as such a matrix, renewed if the structure of H has changed since *of, NULL at first. The caller owns
 * it even when a team frees its matrices. Collective, agreed; no PE may still read it.
 */
tulle_status tulle__joined_renew(const tulle_mat *H, tulle_op op, tulle_mat **X, uint64_t *of);

/*
 * *A: the same with its tiles stored, for what reads tiles in place; the caller owns it alike. A new matrix if the
 * structure has changed, else all tiles are copied anew. *copied grows by the bytes of this PE's values. Collective,
 * agreed; no PE may still read it. After a failure its values are undefined.
 */
tulle_status tulle__stored_renew(const tulle_mat *H, tulle_op op, tulle_mat **A, uint64_t *of, int64_t *copied);

static inline bool tulle__is_joined(const tulle_mat *X)
{
    return X->joining != NULL;
}

/* The stored tile with the blocks themselves, and that with their transposes: of a diagonal tile the same. */
typedef struct tulle__joined_parts {
    tulle_tile direct, mirrored;
    bool diagonal;
} tulle__joined_parts;

/*
 * The index and the norms of a tile from those of its parts, whose values are not read. source[e]: where
 * block e begins among the values of the direct part, or ~ that of the mirrored one.
 */
tulle_status tulle__joined_index(const tulle__joined_parts *parts, const tulle_own_tile *to, int64_t *source);

#define TULLE__JOINED_NONE INT64_MIN

/*
 * The parts of a fetch (fetch.h) begin with this. Where the index has been made, so has the block, and some of the
 * values come; source as above, TULLE__JOINED_NONE of a block that does not come.
 */
typedef struct tulle__joined_values {
    const void *direct, *mirrored;
    const int64_t *source; /* NULL: the index is made of `parts` as well */
    tulle__joined_parts parts;
} tulle__joined_values;

/* Rounds up to where an array may begin. */
static inline size_t tulle__joined_padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

#endif
