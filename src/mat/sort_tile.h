/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of an assembly: rows of a tile in order, and at most one entry at a place. */
#ifndef TULLE_MAT_SORT_TILE_H
#define TULLE_MAT_SORT_TILE_H

#include "device/pool.h"
#include "mat/assemble.h"

/*
 * Sorts the rows of an own tile of A, `tile` where it lies, in place; what falls on one place is joined or refused, and
 * told in `assembly`. A tile that loses entries is placed anew.
 */
tulle_status tulle__tile_sort(
    tulle_mat *A, int i, int j, const tulle_tile *tile, tulle__pool *pool, tulle__assembly *assembly);

#endif
