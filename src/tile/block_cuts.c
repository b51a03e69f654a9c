/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/block_cuts.h"

#include <inttypes.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

tulle_status tulle__block_cuts_check(const char *what, tulle_block_cuts blocks, tulle_gidx n)
{
    if (blocks.count < 0 || blocks.cut[0] != 0 || blocks.cut[blocks.count] != n)
        return tulle__fail(TULLE_ERR_ARG, "the %s cuts of blocks do not run from 0 to %" PRId64, what, n);
    for (tulle_gidx b = 0; b < blocks.count; b++)
        if (blocks.cut[b] >= blocks.cut[b + 1])
            return tulle__fail(TULLE_ERR_ARG,
                "%s block " TULLE__AT " runs from %" PRId64 " to %" PRId64
                ": a block is at least 1 wide" TULLE__COUNTED,
                what, b, blocks.cut[b], blocks.cut[b + 1]);
    return TULLE_OK;
}

/* The last block that starts at or before x; `count` for the end. */
static tulle_gidx block_of(tulle_block_cuts blocks, tulle_gidx x)
{
    tulle_gidx block = 0;
    TULLE__LAST_WHERE(block, blocks.count + 1, middle, blocks.cut[middle] <= x);
    return block;
}

void tulle__block_cuts_move(tulle_block_cuts blocks, tulle_gidx *cut, int tiles)
{
    for (int t = 0; t <= tiles; t++) {
        tulle_gidx b = block_of(blocks, cut[t]), before = cut[t] - blocks.cut[b];
        if (b < blocks.count && blocks.cut[b + 1] - cut[t] < before) b++;
        cut[t] = blocks.cut[b];
    }
}

tulle_status tulle__block_cuts_init(
    const char *what, tulle_block_cuts blocks, const tulle_gidx *tile_cut, int tiles, tulle__block_cuts *cuts)
{
    size_t bytes = ((size_t)blocks.count + 1) * sizeof *cuts->cut;
    *cuts = (tulle__block_cuts){.count = blocks.count};
    TULLE_CALL(tulle__alloc((size_t)blocks.count + 1, sizeof *cuts->cut, "block cuts", &cuts->cut));
    TULLE_CALL(tulle__alloc((size_t)tiles + 1, sizeof *cuts->first, "block cuts", &cuts->first));
    memcpy(cuts->cut, blocks.cut, bytes);
    for (int t = 0; t <= tiles; t++) {
        tulle_gidx b = cuts->first[t] = block_of(blocks, tile_cut[t]);
        if (blocks.cut[b] != tile_cut[t])
            return tulle__fail(TULLE_ERR_ARG,
                "%s cut %d of the tiles (%" PRId64 ") lies within block " TULLE__AT TULLE__COUNTED, what, t,
                tile_cut[t], b);
    }
    return TULLE_OK;
}

void tulle__block_cuts_fini(tulle__block_cuts *cuts)
{
    tulle__free(cuts->cut);
    tulle__free(cuts->first);
    *cuts = (tulle__block_cuts){.count = 0};
}

bool tulle__block_cuts_same(const tulle__block_cuts *a, const tulle__block_cuts *b)
{
    if (!a->cut || !b->cut) return a->cut == b->cut;
    return a->count == b->count && !memcmp(a->cut, b->cut, ((size_t)a->count + 1) * sizeof *a->cut);
}
