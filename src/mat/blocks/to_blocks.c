/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of sparse matrices in blocks, and of matrices in blocks in CSR. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/mat.h"
#include "tile/tile_blocks.h"

/* Room for one tile: the block column of each column; for each block column the last block row that named it. */
struct workspace {
    int32_t *block_of, *list;
    int64_t *named_by, *at; /* at: where the block of this row begins */
};

static void workspace_fini(struct workspace *workspace)
{
    tulle__free(workspace->block_of);
    tulle__free(workspace->list);
    tulle__free(workspace->named_by);
    tulle__free(workspace->at);
}

static tulle_status workspace_init(const tulle_mat *V, int j, struct workspace *workspace)
{
    int64_t n = tulle__tile_cols(V, j), count = tulle__tile_block_cols(V, j);
    const tulle_gidx *cut = V->layout->col_blocks.cut + V->layout->col_blocks.first[j];
    *workspace = (struct workspace){.block_of = NULL};
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *workspace->block_of, "blocks of columns", &workspace->block_of));
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *workspace->list, "blocks of columns", &workspace->list));
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *workspace->named_by, "blocks of columns", &workspace->named_by));
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *workspace->at, "blocks of columns", &workspace->at));
    for (int64_t c = 0; c < count; c++) {
        workspace->named_by[c] = -1;
        for (tulle_gidx col = cut[c] - cut[0]; col < cut[c + 1] - cut[0]; col++) workspace->block_of[col] = (int32_t)c;
    }
    return TULLE_OK;
}

static int compare_columns(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Lists the block columns of block row r of V in the tile `from`, ascending; returns their number. */
static int64_t list_blocks(const tulle_tile *from, const tulle_gidx *row_block, int64_t r, struct workspace *workspace)
{
    int64_t count = 0, mark = 2 * r; /* listed again when the row is filled */
    for (tulle_gidx row = row_block[r] - row_block[0]; row < row_block[r + 1] - row_block[0]; row++)
        for (int64_t e = from->rowptr[row]; e < from->rowptr[row + 1]; e++) {
            int32_t c = workspace->block_of[from->colind[e]];
            if (workspace->named_by[c] == mark) continue;
            workspace->named_by[c] = mark;
            workspace->list[count++] = c;
        }
    for (int64_t b = 0; b < count; b++) workspace->named_by[workspace->list[b]] = -1;
    qsort(workspace->list, (size_t)count, sizeof *workspace->list, compare_columns);
    return count;
}

/* The blocks of block row r, from value `at` on; returns where the next row's begin. */
static int64_t fill_row(
    const tulle_tile *from, const tulle_own_tile *to, int64_t r, int64_t at, struct workspace *workspace)
{
    int64_t first = to->rowptr[r], count = list_blocks(from, to->row_block, r, workspace), begin = at;
    int64_t height = to->row_block[r + 1] - to->row_block[r], size = (int64_t)tulle_type_size(from->type);
    for (int64_t b = 0; b < count; b++) {
        int32_t c = workspace->list[b];
        to->colind[first + b] = c;
        if (to->offset) to->offset[first + b] = at;
        workspace->at[c] = at;
        at += height * (to->col_block[c + 1] - to->col_block[c]);
    }
    memset((char *)to->val + begin * size, 0, (size_t)((at - begin) * size));
    for (tulle_gidx i = 0; i < height; i++) {
        tulle_gidx row = to->row_block[r] - to->row_block[0] + i;
        for (int64_t e = from->rowptr[row]; e < from->rowptr[row + 1]; e++) {
            int32_t c = workspace->block_of[from->colind[e]];
            int64_t width = to->col_block[c + 1] - to->col_block[c];
            int64_t place = workspace->at[c] + i * width + from->colind[e] - (to->col_block[c] - to->col_block[0]);
            memcpy((char *)to->val + place * size, (const char *)from->val + e * size, (size_t)size);
        }
    }
    to->rowptr[r + 1] = first + count;
    return at;
}

static tulle_status convert_tile(const tulle_mat *S, tulle_mat *V, int i, int j)
{
    tulle_status status;
    tulle_tile from;
    tulle_own_tile to;
    struct workspace workspace = {.block_of = NULL};
    const tulle_gidx *row_block = V->layout->row_blocks.cut + V->layout->row_blocks.first[i];
    const tulle_gidx *col_block = V->layout->col_blocks.cut + V->layout->col_blocks.first[j];
    int64_t blocks = 0, nnz = 0;
    TULLE_TRY(tulle_mat_tile(S, i, j, &from));
    if (!from.nnz) return TULLE_OK;
    TULLE_TRY(workspace_init(V, j, &workspace));
    for (int64_t r = 0; r < tulle__tile_block_rows(V, i); r++) {
        int64_t count = list_blocks(&from, row_block, r, &workspace), height = row_block[r + 1] - row_block[r];
        for (int64_t b = 0; b < count; b++)
            nnz += height * (col_block[workspace.list[b] + 1] - col_block[workspace.list[b]]);
        blocks += count;
    }
    TULLE_TRY(tulle__mat_place_blocks(V, i, j, blocks, nnz, &to));
    int64_t at = to.rowptr[0] = 0;
    for (int64_t r = 0; r < to.block_rows; r++) at = fill_row(&from, &to, r, at, &workspace);
    if (to.offset) to.offset[blocks] = at;
    tulle__blocks_renew_norms(&to);
out:
    workspace_fini(&workspace);
    return status;
}

/* Converts own tiles by a function and publishes. Collective, agreed. */
static tulle_status convert(const tulle_mat *from, const tulle_layout *layout, tulle_kind kind,
    tulle_status (*tile)(const tulle_mat *from, tulle_mat *to, int i, int j, bool flag), bool flag, tulle_mat **out)
{
    tulle_mat *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__mat_make(from->comm, layout, kind, from->type, TULLE_ROW_MAJOR, &made));
    for (int i = 0; i < layout->mt; i++)
        for (int j = 0; j < layout->nt; j++)
            if (tulle__tile_is_mine(made, i, j)) TULLE_TRY(tile(from, made, i, j, flag));
    TULLE_TRY(tulle__mat_publish(made));
out:
    return tulle__mat_or_drop(tulle_comm_agree(from->comm, status), made, out);
}

static tulle_status into_blocks(const tulle_mat *from, tulle_mat *to, int i, int j, bool flag)
{
    (void)flag;
    return convert_tile(from, to, i, j);
}

static tulle_status check(const tulle_mat *A, const tulle_layout *layout)
{
    if (A->kind != TULLE_CSR)
        return tulle__fail(
            TULLE_ERR_ARG, "blocks are made of a sparse matrix in CSR, not of a %s one", tulle_kind_name(A->kind));
    if (!layout->row_blocks.cut) return tulle__fail(TULLE_ERR_ARG, "the layout has no block cuts");
    if (A->layout->m != layout->m || A->layout->n != layout->n)
        return tulle__fail(TULLE_ERR_ARG, "the layout is %" PRId64 " x %" PRId64 ", the matrix %" PRId64 " x %" PRId64,
            layout->m, layout->n, A->layout->m, A->layout->n);
    return tulle__wants_values(A->comm, "a matrix of blocks");
}

static tulle_status to_blocks(const tulle_mat *A, const tulle_layout *layout, tulle_kind kind, tulle_mat **out)
{
    TULLE__SCOPED_MAT tulle_mat *moved = NULL;
    TULLE_CALL(tulle__mat_order(A));
    TULLE_CALL(tulle_comm_agree(A->comm, check(A, layout)));
    if (!tulle__layout_equal(A->layout, layout)) TULLE_CALL(tulle_mat_redistribute(A, layout, &moved));
    return convert(moved ? moved : A, layout, kind, into_blocks, false, out);
}

tulle_status tulle_mat_to_vbsr(const tulle_mat *A, const tulle_layout *layout, tulle_mat **V)
{
    if (TULLE__NULL(A) || TULLE__NULL(layout) || TULLE__NULL(V)) return tulle__refuse(A ? A->comm : NULL);
    return to_blocks(A, layout, TULLE_VBSR, V);
}

static tulle_status even_cuts(const char *what, tulle_gidx n, int size, tulle_block_cuts *cuts, tulle_gidx **workspace)
{
    if (size < 1 || n % size)
        return tulle__fail(
            TULLE_ERR_ARG, "%" PRId64 " %s are not a multiple of blocks of %d; tulle_mat_to_vbsr", n, what, size);
    TULLE_CALL(tulle__alloc((size_t)(n / size) + 1, sizeof **workspace, "block cuts", workspace));
    for (tulle_gidx b = 0; b <= n / size; b++) (*workspace)[b] = b * size;
    *cuts = (tulle_block_cuts){n / size, *workspace};
    return TULLE_OK;
}

tulle_status tulle_mat_to_bsr(const tulle_mat *A, int rows, int cols, tulle_mat **S)
{
    if (TULLE__NULL(A) || TULLE__NULL(S)) return tulle__refuse(A ? A->comm : NULL);
    tulle_block_cuts row = {0, NULL}, col = {0, NULL};
    TULLE__SCOPED tulle_gidx *row_workspace = NULL, *col_workspace = NULL;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_status status = even_cuts("rows", A->layout->m, rows, &row, &row_workspace);
    if (status == TULLE_OK) status = even_cuts("columns", A->layout->n, cols, &col, &col_workspace);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(A->layout, &row, &col, &layout);
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    return to_blocks(A, layout, TULLE_BSR, S);
}

/* ---- back ---- */

static bool is_zero(const tulle_tile *tile, int64_t at)
{
    return tile->type == TULLE_F32 ? ((const float *)tile->val)[at] == 0 : ((const double *)tile->val)[at] == 0;
}

static tulle_status into_csr(const tulle_mat *A, tulle_mat *S, int i, int j, bool drop_zeros)
{
    tulle_tile from;
    tulle_own_tile to;
    int64_t nnz = 0;
    size_t size = tulle_type_size(A->type);
    TULLE_CALL(tulle_mat_tile(A, i, j, &from));
    for (int64_t e = 0; e < from.nnz; e++) nnz += !drop_zeros || !is_zero(&from, e);
    if (!nnz) return TULLE_OK;
    TULLE_CALL(tulle__mat_place(S, i, j, nnz, &to));
    int64_t at = to.rowptr[0] = 0;
    for (tulle_gidx r = 0; r < from.m; r++) {
        for (tulle__entry_run run = {.row = r}; A->format->next(&from, &run);)
            for (int64_t e = 0; e < run.count; e++) {
                int64_t value = run.value + e * run.step;
                if (drop_zeros && is_zero(&from, value)) continue;
                to.colind[at] = (tulle_lidx)(run.column + e);
                memcpy((char *)to.val + (size_t)at++ * size, (const char *)from.val + (size_t)value * size, size);
            }
        to.rowptr[r + 1] = at;
    }
    return TULLE_OK;
}

tulle_status tulle_mat_to_csr(const tulle_mat *A, bool drop_zeros, tulle_mat **S)
{
    if (TULLE__NULL(A) || TULLE__NULL(S)) return tulle__refuse(A ? A->comm : NULL);
    TULLE_CALL(tulle__mat_order(A));
    if (A->kind == TULLE_DENSE)
        return tulle__fail(TULLE_ERR_ARG, "a dense matrix has no blocks that could become entries");
    TULLE_CALL(tulle__wants_values(A->comm, "a copy of a matrix in another format"));
    return convert(A, A->layout, TULLE_CSR, into_csr, drop_zeros, S);
}
