/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in even tiles that are dealt to the PEs by rows, for tests. */
#ifndef TULLE_TEST_DEALT_MATRIX_H
#define TULLE_TEST_DEALT_MATRIX_H

#include <tulle/io.h>

#include "base/error.h"
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

/* A generator's, in blocks of this size if it is not 0; without a generator dense, drawn. Collective. */
static tulle_status dealt_matrix(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, int rows, int cols, const char *generator, int block, tulle_mat **X)
{
    tulle_status status;
    tulle_layout *l = NULL;
    const tulle_layout_spec spec = {.m = m,
        .n = n,
        .tile_rows = rows,
        .tile_cols = cols,
        .map = TULLE_CYCLIC,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &l));
    TULLE_TRY(generator && block ? generated_blocks(comm, generator, l, m, block, X)
              : generator        ? tulle_mat_load(comm, generator, l, TULLE_CSR, NULL, NULL, X)
                                 : tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, X));
    if (!generator) TULLE_TRY(tulle_mat_fill_random(*X, (uint64_t)(m + n)));
out:
    tulle_layout_free(l);
    return status;
}

#endif
