/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a half, stored: tile (i, j) has the stored blocks of tile (i, j) of the half, and the transposes of those of
 * its tile (j, i), negated if it is antisymmetric. Tiles have equal cuts of rows and columns, so that the two are
 * enough.
 */
#ifndef TULLE_MAT_EXPANDED_H
#define TULLE_MAT_EXPANDED_H

#include "mat/fetch.h"

/* *A: all of op(H), a new matrix. *copied as below. Collective, agreed. */
tulle_status tulle__expand(const tulle_mat *H, tulle_op op, tulle_mat **A, int64_t *copied);

/*
 * *A: the same, kept from one time to the next; the caller owns it even when a team frees its matrices. A new matrix if
 * the structure of H has changed since *of, NULL at first; else all tiles are copied anew. *copied grows by the bytes
 * of this PE's values. Collective, agreed; no PE may still read it. After a failure its values are undefined.
 */
tulle_status tulle__expanded_renew(const tulle_mat *H, tulle_op op, tulle_mat **A, uint64_t *of, int64_t *copied);

/*
 * Tile (i, j) of all of a half, made of two stored tiles of any PE. Begun by tulle__expansion_init, which counts blocks
 * and values; fini also after a failure.
 */
typedef struct tulle__expansion {
    tulle__fetch fetch[2];
    tulle_tile direct, mirrored; /* the stored tiles: with the blocks themselves, with their transposes */
    bool diagonal;               /* the same tile */
    int64_t blocks, nnz;
} tulle__expansion;

tulle_status tulle__expansion_init(const tulle_mat *H, int i, int j, tulle__expansion *x);
/* Index, norms and values into a tile of so many blocks and values. */
tulle_status tulle__expansion_write(
    const tulle__expansion *x, tulle_symmetry symmetry, tulle_op op, const tulle_own_tile *to);
void tulle__expansion_fini(tulle__expansion *x);

#endif
