/* SPDX-License-Identifier: Apache-2.0 */
/* New contents of own sparse tiles: entries, or blocks. */
#include <inttypes.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/mat.h"

/* In a matrix in blocks, rows and columns of blocks. */
static tulle_status check_replacement(const tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind)
{
    const tulle_gidx m = tulle__tile_csr_rows(A, i), n = tulle__tile_csr_cols(A, j);
    const char *what = A->format->in_blocks ? "block " : "";
    if (!colind && rowptr[m] > 0) return tulle__fail(TULLE_ERR_ARG, "tulle_mat_replace: colind is NULL");
    if (rowptr[0] != 0)
        return tulle__fail(TULLE_ERR_ARG, "the first %srow pointer must be 0, not %" PRId64, what, rowptr[0]);
    for (tulle_gidx r = 0; r < m; r++) {
        if (rowptr[r + 1] < rowptr[r])
            return tulle__fail(TULLE_ERR_ARG, "%srow pointer %" PRId64 " is below the one before", what, r + 1);
        for (int64_t e = rowptr[r]; e < rowptr[r + 1]; e++)
            if (colind[e] < 0 || colind[e] >= n || (e > rowptr[r] && colind[e] <= colind[e - 1]))
                return tulle__fail(TULLE_ERR_ARG, "%srow %" PRId64 " of tile (%d, %d): %scolumn %" PRId32 " is %s",
                    what, r, i, j, what, colind[e],
                    colind[e] < 0 || colind[e] >= n ? "outside the tile" : "out of order");
    }
    return TULLE_OK;
}

/* A half takes the blocks that it stores. */
static tulle_status check_stored(const tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind)
{
    const tulle_gidx row = A->layout->row_blocks.first[i], col = A->layout->col_blocks.first[j];
    for (tulle_gidx r = 0; r < tulle__tile_block_rows(A, i); r++)
        for (int64_t e = rowptr[r]; e < rowptr[r + 1]; e++)
            if (!tulle_half_stores(A->layout->row_blocks.count, row + r, col + colind[e]))
                return tulle__fail(TULLE_ERR_ARG,
                    "block (" TULLE__AT ", " TULLE__AT ") of a half, which stores (" TULLE__AT ", " TULLE__AT
                    ")" TULLE__COUNTED,
                    row + r, col + colind[e], col + colind[e], row + r);
    return TULLE_OK;
}

/* Values: copies, or ones. */
static void fill(const tulle_own_tile *tile, const void *val)
{
    if (val)
        memcpy(tile->val, val, (size_t)tile->nnz * tulle_type_size(tile->type));
    else
        for (int64_t e = 0; e < tile->nnz; e++)
            if (tile->type == TULLE_F32)
                ((float *)tile->val)[e] = 1;
            else
                ((double *)tile->val)[e] = 1;
}

static tulle_status check(const tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind)
{
    if (A->borrowed)
        return tulle__fail(TULLE_ERR_STATE, "the matrix borrows the caller's arrays: change them in place");
    return check_replacement(A, i, j, rowptr, colind);
}

tulle_status tulle_mat_replace(
    tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind, const void *val)
{
    if (TULLE__NULL(A) || TULLE__NULL(rowptr)) return TULLE_ERR_ARG;
    tulle_own_tile tile;
    TULLE_CALL(tulle_mat_own_tile(A, i, j, &tile));
    if (A->kind != TULLE_CSR)
        return tulle__fail(TULLE_ERR_ARG, "only tiles in CSR have entries to replace: a dense tile is written in "
                                          "place, blocks by tulle_mat_replace_blocks");
    TULLE_CALL(check(A, i, j, rowptr, colind));
    TULLE_CALL(tulle__mat_place(A, i, j, rowptr[tile.m], &tile));
    memcpy(tile.rowptr, rowptr, ((size_t)tile.m + 1) * sizeof *rowptr);
    if (tile.nnz) memcpy(tile.colind, colind, (size_t)tile.nnz * sizeof *colind);
    fill(&tile, val);
    return TULLE_OK;
}

/* Values of the blocks of a tile whose structure is checked. */
static int64_t count_values(const tulle_own_tile *tile, const int64_t *rowptr, const tulle_lidx *colind)
{
    int64_t values = 0;
    for (int64_t r = 0; r < tile->block_rows; r++)
        for (int64_t e = rowptr[r]; e < rowptr[r + 1]; e++)
            values += (tile->row_block[r + 1] - tile->row_block[r]) *
                      (tile->col_block[colind[e] + 1] - tile->col_block[colind[e]]);
    return values;
}

tulle_status tulle_mat_replace_blocks(
    tulle_mat *A, int i, int j, const int64_t *rowptr, const tulle_lidx *colind, const void *val)
{
    if (TULLE__NULL(A) || TULLE__NULL(rowptr)) return TULLE_ERR_ARG;
    tulle_own_tile tile;
    TULLE_CALL(tulle_mat_own_tile(A, i, j, &tile));
    if (!A->format->in_blocks)
        return tulle__fail(TULLE_ERR_ARG, "a %s matrix has no blocks to replace", tulle_kind_name(A->kind));
    TULLE_CALL(check(A, i, j, rowptr, colind));
    if (A->symmetry != TULLE_GENERAL) TULLE_CALL(check_stored(A, i, j, rowptr, colind));
    const int64_t blocks = rowptr[tile.block_rows];
    TULLE_CALL(tulle__mat_place_blocks(A, i, j, blocks, count_values(&tile, rowptr, colind), &tile));
    memcpy(tile.rowptr, rowptr, ((size_t)tile.block_rows + 1) * sizeof *rowptr);
    if (blocks) memcpy(tile.colind, colind, (size_t)blocks * sizeof *colind);
    fill(&tile, val);
    if (!tile.offset) return TULLE_OK;
    int64_t at = 0;
    for (int64_t r = 0; r < tile.block_rows; r++)
        for (int64_t e = rowptr[r]; e < rowptr[r + 1]; e++) {
            tile.offset[e] = at;
            at += (tile.row_block[r + 1] - tile.row_block[r]) *
                  (tile.col_block[colind[e] + 1] - tile.col_block[colind[e]]);
        }
    tile.offset[blocks] = at;
    return TULLE_OK;
}
