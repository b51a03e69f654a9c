/* SPDX-License-Identifier: Apache-2.0 */
/* Removes small blocks from a tile. */
#ifndef TULLE_MAT_FILTER_TILE_H
#define TULLE_MAT_FILTER_TILE_H

#include "mat/mat.h"

/*
 * Removes blocks whose squared norm is below `least` from own tile (i, j), which has been placed and not
 * published; adds their number to *removed. NaN stays.
 */
tulle_status tulle__filter_tile(tulle_mat *C, int i, int j, double least, int64_t *removed);

#endif
