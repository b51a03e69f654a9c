/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of blocks in tests: from entries, as dense ones, and where their elements are. */
#ifndef TULLE_TEST_BLOCKS_H
#define TULLE_TEST_BLOCKS_H

#include <string.h>

#include <tulle/mat.h>

#include "body.h"

/* Collective: n x n, of `blocks` blocks cut alike both ways, in a tile row a PE; from this PE's entries. */
__attribute__((unused)) static tulle_status blocks_of_entries(tulle_comm *comm, tulle_gidx n, tulle_gidx blocks,
    const tulle_gidx *cut, int64_t count, const tulle_gidx *row, const tulle_gidx *col, const double *val,
    tulle_mat **V)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *entries = NULL;
    const tulle_layout_spec spec = {.m = n,
        .n = n,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1,
        .row_blocks = {blocks, cut},
        .col_blocks = {blocks, cut}};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, &entries));
    TULLE_TRY(tulle_mat_to_vbsr(entries, layout, V));
out:
    tulle_mat_free(entries);
    tulle_layout_free(layout);
    return status;
}

/* Collective: dense[n n], on every PE, of F in f64, which has a tile row a PE; zeros where it has no block. */
__attribute__((unused)) static tulle_status blocks_to_dense(const tulle_mat *F, double *dense)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(F);
    const tulle_gidx n = tulle_layout_cols(l);
    tulle_fetch *fetch = NULL;
    memset(dense, 0, (size_t)(n * n) * sizeof *dense);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++) {
        tulle_tile t;
        TULLE_TRY(tulle_mat_get_tile(F, i, 0, &fetch));
        TULLE_TRY(tulle_fetch_wait(fetch, &t));
        for (int64_t r = 0; t.rowptr && r < t.block_rows; r++)
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                tulle_gidx at = t.col_block[t.colind[e]], width = t.col_block[t.colind[e] + 1] - at;
                for (int64_t k = 0; k < t.offset[e + 1] - t.offset[e]; k++)
                    dense[(t.row_block[r] + k / width) * n + at + k % width] = ((const double *)t.val)[t.offset[e] + k];
            }
        tulle_fetch_free(fetch);
        fetch = NULL;
    }
out:
    tulle_fetch_free(fetch);
    return tulle_comm_agree(tulle_mat_comm(F), status);
}

/* has, of n columns: every element of a block that has one. */
__attribute__((unused)) static void fill_blocks(char *has, int64_t n, tulle_block_cuts rows, tulle_block_cuts cols)
{
    for (tulle_gidx i = 0; i < rows.count; i++)
        for (tulle_gidx j = 0; j < cols.count; j++) {
            char any = 0;
            for (tulle_gidx r = rows.cut[i]; r < rows.cut[i + 1]; r++)
                for (tulle_gidx c = cols.cut[j]; c < cols.cut[j + 1]; c++) any |= has[r * n + c];
            for (tulle_gidx r = rows.cut[i]; r < rows.cut[i + 1]; r++)
                for (tulle_gidx c = cols.cut[j]; c < cols.cut[j + 1]; c++) has[r * n + c] = any;
        }
}

#endif
