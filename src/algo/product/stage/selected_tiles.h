/* SPDX-License-Identifier: Apache-2.0 */
/* Selections of a C that lies in several tile columns, or is made in ranges of columns. */
#ifndef TULLE_PRODUCT_SELECTED_TILES_H
#define TULLE_PRODUCT_SELECTED_TILES_H

#include "kernel/row_selection.h"
#include "mat/mat.h"

/* Selected entries of an own tile of C, outside of it. */
typedef struct tulle__selected_tile {
    int64_t *rowptr; /* rows + 1; NULL: there are none */
    int32_t *col;
    char *val;
    int64_t nnz, capacity;
} tulle__selected_tile;

void tulle__selected_tile_drop(tulle__selected_tile *tile);

/*
 * The selection `top` from what is held, which may be nothing, and a tile whose columns come after it, or what
 * `first` selects of that (NULL: all). row, col: of the tile's first element, which norms begin with. Local.
 */
tulle_status tulle__selected_tile_join(const tulle__row_selection *top, const tulle__row_selection *first,
    const tulle__selected_tile *held, const tulle_tile *tile, tulle__selected_tile *joined);

/* The held candidates become own tile (i, j) of C, to be published. Local. */
tulle_status tulle__selected_tile_place(tulle_mat *C, int i, int j, const tulle__selected_tile *held);

/*
 * Entries of own tiles that `top` selects from whole rows of C, which hold candidates in each tile column: to be
 * published, when all PEs have read them. Not collective, but all PEs are here.
 */
tulle_status tulle__select_across(tulle_mat *C, const tulle__row_selection *top);

#endif
