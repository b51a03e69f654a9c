/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/whole/block_sum.h"

#include "base/error.h"
#include "tile/tile_blocks.h"

static double get(const tulle_tile *tile, int64_t at)
{
    return tile->type == TULLE_F32 ? (double)((const float *)tile->val)[at] : ((const double *)tile->val)[at];
}

static void put(const tulle_own_tile *tile, int64_t at, double x)
{
    if (tile->type == TULLE_F32)
        ((float *)tile->val)[at] = (float)x;
    else
        ((double *)tile->val)[at] = x;
}

/* Block (r, c) of the sum from block e of A and f of B, -1: there is none. */
static void add_block(const tulle__terms *t, const tulle_tile *a, int64_t e, const tulle_tile *b, int64_t f,
    bool diagonal, int64_t height, int64_t width, const tulle_own_tile *to, int64_t at)
{
    for (int64_t k = 0; k < height * width; k++) {
        double x = e < 0 ? 0 : t->alpha * get(a, a->offset[e] + k);
        if (f >= 0) x += t->beta * get(b, b->offset[f] + k);
        if (diagonal && k % width == k / width) x += t->gamma;
        put(to, at + k, x);
    }
}

/* A tile of the sum, or (to NULL) its numbers of blocks and of values. Row and column 0 are global ones. */
static void add_tile(const tulle__terms *t, const tulle_tile *a, const tulle_tile *b, tulle_gidx row, tulle_gidx col,
    const tulle_gidx *cut, int64_t rows, int64_t cols, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    int64_t at = 0, count = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t e = a->rowptr ? a->rowptr[r] : 0, e1 = a->rowptr ? a->rowptr[r + 1] : 0;
        int64_t f = b->rowptr ? b->rowptr[r] : 0, f1 = b->rowptr ? b->rowptr[r + 1] : 0;
        int64_t own = row + r - col; /* of the diagonal block; outside [0, cols) it is another tile's */
        bool open = own >= 0 && own < cols;
        if (to) to->rowptr[r] = count;
        while (e < e1 || f < f1 || open) {
            int64_t c = open ? own : cols;
            if (e < e1 && a->colind[e] < c) c = a->colind[e];
            if (f < f1 && b->colind[f] < c) c = b->colind[f];
            bool in_a = e < e1 && a->colind[e] == c, in_b = f < f1 && b->colind[f] == c, diagonal = open && c == own;
            int64_t height = cut[row + r + 1] - cut[row + r], width = cut[col + c + 1] - cut[col + c];
            if (to) {
                to->colind[count] = (tulle_lidx)c;
                to->offset[count] = at;
                add_block(t, a, in_a ? e : -1, b, in_b ? f : -1, diagonal, height, width, to, at);
            }
            e += in_a;
            f += in_b;
            open = open && !diagonal;
            count++;
            at += height * width;
        }
    }
    if (to) {
        to->rowptr[rows] = count;
        to->offset[count] = at;
        tulle__blocks_renew_norms(to);
    }
    *blocks = count;
    *nnz = at;
}

static tulle_tile tile_of(const tulle_mat *A, int i, int j)
{
    tulle_tile tile = tulle__tile_in_place(A, i, j);
    if (!A->directory[tulle__tile_index(A, i, j)].place.length) tile.rowptr = NULL;
    return tile;
}

tulle_status tulle__block_sum(const tulle__terms *t, const tulle_mat *A, const tulle_mat *B, tulle_mat **C)
{
    const tulle_layout *l = A->layout;
    tulle_mat *made = NULL;
    tulle_status status = tulle__mat_make(A->comm, l, TULLE_VBSR, A->type, TULLE_ROW_MAJOR, &made);
    for (int i = 0; i < l->mt && status == TULLE_OK; i++)
        for (int j = 0; j < l->nt && status == TULLE_OK; j++) {
            tulle_own_tile to;
            int64_t blocks, nnz, rows = tulle__tile_block_rows(A, i), cols = tulle__tile_block_cols(A, j);
            tulle_gidx row = l->row_blocks.first[i], col = l->col_blocks.first[j];
            if (!tulle__tile_is_mine(A, i, j)) continue;
            tulle_tile a = tile_of(A, i, j), b = tile_of(B, i, j);
            add_tile(t, &a, &b, row, col, l->row_blocks.cut, rows, cols, NULL, &blocks, &nnz);
            if (!blocks) continue;
            status = tulle__mat_place_blocks(made, i, j, blocks, nnz, &to);
            if (status == TULLE_OK) add_tile(t, &a, &b, row, col, l->row_blocks.cut, rows, cols, &to, &blocks, &nnz);
        }
    if (status == TULLE_OK) status = tulle__mat_publish(made);
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK)
        *C = made;
    else
        tulle__mat_drop(made);
    return status;
}
