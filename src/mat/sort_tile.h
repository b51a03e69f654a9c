/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of an assembly: sorts the rows of a tile and combines duplicates. */
#ifndef TULLE_MAT_SORT_TILE_H
#define TULLE_MAT_SORT_TILE_H

#include "kernel/pool.h"
#include "mat/mat.h"

typedef enum tulle__mirror { TULLE__MIRROR_NONE, TULLE__MIRROR_SYMMETRIC, TULLE__MIRROR_SKEW } tulle__mirror;

typedef struct tulle__assembly {
    tulle__mirror mirror; /* adds (j, i) for each (i, j), i != j, negated if skew */
    tulle_duplicates duplicates;
    int drop_zeros;
    bool compress; /* the matrix may be hypersparse, by the rule of compressed.h */
    /* out, for this PE's tiles: number of duplicates; the first one, if duplicates are refused */
    int64_t repeated;
    tulle_gidx row, col;
} tulle__assembly;

/*
 * Sorts the rows of an own tile of A, whose arrays are `tile`, in place. Duplicates are combined or
 * refused, and counted in `assembly`. A tile that loses entries is placed anew.
 */
tulle_status tulle__tile_sort(
    tulle_mat *A, int i, int j, const tulle_own_tile *tile, tulle__pool *pool, tulle__assembly *assembly);

/* Names the first duplicate. */
tulle_status tulle__fail_repeated(const tulle__assembly *assembly);

#endif
