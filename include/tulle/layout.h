/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partition of an m x n matrix into tiles, and the PE that owns each. Tile (i, j) holds rows
 * row_cut[i] .. row_cut[i+1] - 1 and columns col_cut[j] .. col_cut[j+1] - 1; it may be empty. A PE
 * may own any number of tiles, including none. Layouts are immutable values of the program that
 * makes them; matrices hold copies.
 */
#ifndef TULLE_LAYOUT_H
#define TULLE_LAYOUT_H

#include <stdbool.h>

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_layout tulle_layout;

typedef enum tulle_map {
    TULLE_BLOCK, /* tile row i belongs to grid row i * grid_rows / tile_rows */
    TULLE_CYCLIC /* tile row i belongs to grid row i mod grid_rows */
} tulle_map;

/*
 * Block cuts: block row r has rows cut[r] .. cut[r + 1] - 1, at least one. Matrices of blocks need a
 * layout that has them; tile cuts then fall on block cuts.
 */
typedef struct tulle_block_cuts {
    tulle_gidx count;
    const tulle_gidx *cut; /* count + 1 ascending, from 0 to m or n; NULL: there are no blocks */
} tulle_block_cuts;

typedef struct tulle_layout_spec {
    tulle_gidx m, n;
    int grid_rows, grid_cols; /* the PE grid, in row order; 0: as square as the number of PEs allows */
    int tile_rows, tile_cols; /* tiles in each direction; 0: one a grid row or column */
    tulle_map map;
    const tulle_gidx *row_cut;               /* tile_rows + 1 ascending, from 0 to m; NULL: even */
    const tulle_gidx *col_cut;               /* tile_cols + 1 ascending, from 0 to n; NULL: even */
    const int *owner;                        /* tile_rows * tile_cols ranks, row order; NULL: by grid and map */
    tulle_block_cuts row_blocks, col_blocks; /* both or none; even tile cuts are moved to them */
} tulle_layout_spec;

/* Not collective; every PE makes the same layout. npes is the size of the comm to use it with. */
TULLE_API tulle_status tulle_layout_new(const tulle_layout_spec *spec, int npes, tulle_layout **layout);
TULLE_API tulle_status tulle_layout_copy(const tulle_layout *layout, tulle_layout **copy);
/* The layout of the transpose: tile (j, i) is owned by the owner of (i, j). */
TULLE_API tulle_status tulle_layout_transpose(const tulle_layout *layout, tulle_layout **transpose);
/* A layout with these block cuts; its tile cuts are the nearest block cuts, owners stay. */
TULLE_API tulle_status tulle_layout_in_blocks(
    const tulle_layout *layout, const tulle_block_cuts *rows, const tulle_block_cuts *cols, tulle_layout **in_blocks);
/*
 * Makes a square layout: rows and columns are both cut at the tile cuts of either, and a part belongs to the owner
 * of the tile that it lies in.
 */
TULLE_API tulle_status tulle_layout_square(const tulle_layout *layout, tulle_layout **square);
TULLE_API void tulle_layout_free(tulle_layout *layout);

TULLE_API tulle_gidx tulle_layout_rows(const tulle_layout *layout);
TULLE_API tulle_gidx tulle_layout_cols(const tulle_layout *layout);
TULLE_API int tulle_layout_tile_rows(const tulle_layout *layout);
TULLE_API int tulle_layout_tile_cols(const tulle_layout *layout);
TULLE_API const tulle_gidx *tulle_layout_row_cut(const tulle_layout *layout);
TULLE_API const tulle_gidx *tulle_layout_col_cut(const tulle_layout *layout);
TULLE_API int tulle_layout_owner(const tulle_layout *layout, int i, int j); /* -1: no such tile */

/* A layout without blocks has cut NULL. The cuts live as long as the layout. */
TULLE_API tulle_block_cuts tulle_layout_row_blocks(const tulle_layout *layout);
TULLE_API tulle_block_cuts tulle_layout_col_blocks(const tulle_layout *layout);

/*
 * cut[0 .. parts]: parts of [0, n) of equal size, or of equal weight (weight[i] >= 0 of item i).
 * Not collective.
 */
TULLE_API void tulle_cuts_even(tulle_gidx n, int parts, tulle_gidx *cut);
TULLE_API void tulle_cuts_weighted(tulle_gidx n, const int64_t *weight, int parts, tulle_gidx *cut);

/* The most square grid of npes PEs, rows <= cols, or rows >= cols if tall. */
TULLE_API void tulle_grid_square(int npes, bool tall, int *rows, int *cols);

#ifdef __cplusplus
}
#endif
#endif
