/* SPDX-License-Identifier: Apache-2.0 */
/* A generator's square matrix in blocks of one size, for tests. */
#ifndef TULLE_TEST_GENERATED_BLOCKS_H
#define TULLE_TEST_GENERATED_BLOCKS_H

#include <tulle/io.h>

#include "base/memory.h"

/* Makes blocks of n rows, which `block` divides, with the tiles of the layout. Collective. */
static tulle_status generated_blocks(
    tulle_comm *comm, const char *spec, const tulle_layout *layout, tulle_gidx n, int block, tulle_mat **X)
{
    tulle_status status;
    tulle_layout *blocks = NULL;
    tulle_mat *S = NULL;
    tulle_gidx *cut = NULL;
    const int count = (int)(n / block);
    TULLE_TRY(tulle__alloc((size_t)count + 1, sizeof *cut, "cuts", &cut));
    for (int b = 0; b <= count; b++) cut[b] = (tulle_gidx)b * block;
    const tulle_block_cuts cuts = {count, cut};
    TULLE_TRY(tulle_layout_in_blocks(layout, &cuts, &cuts, &blocks));
    TULLE_TRY(tulle_mat_load(comm, spec, blocks, TULLE_CSR, NULL, NULL, &S));
    TULLE_TRY(tulle_mat_to_vbsr(S, blocks, X));
out:
    tulle_mat_free(S);
    tulle_layout_free(blocks);
    tulle__free(cut);
    return status;
}

#endif
