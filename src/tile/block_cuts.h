/* SPDX-License-Identifier: Apache-2.0 */
/* Block cuts of a layout, and where tiles begin in them. */
#ifndef TULLE_TILE_BLOCK_CUTS_H
#define TULLE_TILE_BLOCK_CUTS_H

#include <tulle/layout.h>

typedef struct tulle__block_cuts {
    tulle_gidx count;
    tulle_gidx *cut;   /* [count + 1]; NULL: no blocks */
    tulle_gidx *first; /* [tiles + 1]: the first block of each tile */
} tulle__block_cuts;

/* TULLE_ERR_ARG, with the cause, for cuts of something else than [0, n). `what`: "row", "column". */
tulle_status tulle__block_cuts_check(const char *what, tulle_block_cuts blocks, tulle_gidx n);

/* Moves each tile cut to the nearest block cut. */
void tulle__block_cuts_move(tulle_block_cuts blocks, tulle_gidx *cut, int tiles);

/* Copies of block cuts that have been checked; TULLE_ERR_ARG if a tile cut is no block cut. */
tulle_status tulle__block_cuts_init(
    const char *what, tulle_block_cuts blocks, const tulle_gidx *tile_cut, int tiles, tulle__block_cuts *cuts);
void tulle__block_cuts_fini(tulle__block_cuts *cuts);

/* The same cuts, or none in both. */
bool tulle__block_cuts_same(const tulle__block_cuts *a, const tulle__block_cuts *b);

static inline tulle_block_cuts tulle__block_cuts_view(const tulle__block_cuts *cuts)
{
    return (tulle_block_cuts){cuts->count, cuts->cut};
}

#endif
