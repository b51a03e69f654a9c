/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_MAT_LAYOUT_H
#define TULLE_MAT_LAYOUT_H

#include <tulle/layout.h>

#include "tile/block_cuts.h"

/* The tile rows and columns between which a PE's tiles lie: what looks for these need look nowhere else. */
typedef struct tulle__tile_span {
    int row, row_end, col, col_end;
} tulle__tile_span;

struct tulle_layout {
    tulle_gidx m, n;
    int mt, nt;             /* tile rows, tile columns */
    tulle_gidx *row_cut;    /* [mt + 1] */
    tulle_gidx *col_cut;    /* [nt + 1] */
    int *owner;             /* [mt * nt] */
    int owners;             /* the last owner's rank + 1 */
    tulle__tile_span *span; /* [owners] */
    tulle__block_cuts row_blocks, col_blocks;
};

static inline int tulle__layout_owner(const tulle_layout *layout, int i, int j)
{
    return layout->owner[(int64_t)i * layout->nt + j];
}

/* Empty where the PE has no tile. */
static inline tulle__tile_span tulle__layout_span(const tulle_layout *layout, int pe)
{
    return pe < layout->owners ? layout->span[pe] : (tulle__tile_span){0, 0, 0, 0};
}

/* The part of the cut that contains x: the last one that starts at or before x. */
int tulle__layout_find(const tulle_gidx *cut, int parts, tulle_gidx x);

/*
 * The union of two sets of cuts into cut (room for na + nb + 1); returns the number of parts, at
 * least 1. Equal cuts are copied.
 */
int tulle__layout_join_cuts(const tulle_gidx *a, int na, const tulle_gidx *b, int nb, tulle_gidx *cut);

/* Declares local layouts, NULL or freed where they go out of scope: see TULLE__SCOPED. */
#define TULLE__SCOPED_LAYOUT __attribute__((cleanup(tulle__layout_free_scoped)))
void tulle__layout_free_scoped(tulle_layout **layout);

/* TULLE_ERR_ARG if a half (tulle/mat.h) cannot have this layout. */
tulle_status tulle__layout_check_half(const tulle_layout *layout);

int tulle__layout_same_cuts(const tulle_gidx *a, int na, const tulle_gidx *b, int nb);
/* The same block cuts, or none in both. */
int tulle__layout_same_blocks(const tulle_layout *a, const tulle_layout *b);
/* The same cuts and owners. */
int tulle__layout_equal(const tulle_layout *a, const tulle_layout *b);

#endif
