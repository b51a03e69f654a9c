/* SPDX-License-Identifier: Apache-2.0 */
/* Redistribution of matrices in blocks, whose blocks stay whole. */
#include <string.h>

#include "base/error.h"
#include "mat/fetch.h"
#include "mat/reshape/reshape.h"
#include "tile/tile_blocks.h"

/* The intersection of a source tile and a target tile, in block rows and columns. */
struct piece {
    tulle__fetch fetch;
    tulle_tile tile;
    int64_t row, rows;       /* the first of the target's, and their number */
    int64_t above, left;     /* block rows and columns of the target minus those of the source */
    tulle_gidx first, until; /* block columns of the source */
};

/* Numbers of block rows and columns of B before those of A. */
struct shift {
    tulle_gidx rows, cols;
};

static tulle_gidx larger(tulle_gidx a, tulle_gidx b)
{
    return a > b ? a : b;
}

static tulle_gidx smaller(tulle_gidx a, tulle_gidx b)
{
    return a < b ? a : b;
}

/* Starts all fetches for target tile (i, j), and awaits them. */
static tulle_status start_pieces(
    const tulle_mat *A, const tulle_layout *to, const struct shift *shift, int i, int j, struct piece **out, int *count)
{
    const tulle_layout *from = A->layout;
    const tulle_gidx *rows = from->row_blocks.first, *cols = from->col_blocks.first;
    const tulle_gidx r0 = to->row_blocks.first[i] - shift->rows, r1 = to->row_blocks.first[i + 1] - shift->rows;
    const tulle_gidx c0 = to->col_blocks.first[j] - shift->cols, c1 = to->col_blocks.first[j + 1] - shift->cols;
    struct piece *piece = NULL;
    *out = NULL;
    *count = 0;
    /* of the source; the target may reach beyond it */
    const tulle_gidx low = larger(r0, 0), high = smaller(r1, rows[from->mt]);
    const tulle_gidx left = larger(c0, 0), right = smaller(c1, cols[from->nt]);
    if (low >= high || left >= right) return TULLE_OK;
    const int i0 = tulle__layout_find(rows, from->mt, low), i1 = tulle__layout_find(rows, from->mt, high - 1);
    const int j0 = tulle__layout_find(cols, from->nt, left), j1 = tulle__layout_find(cols, from->nt, right - 1);
    TULLE_CALL(tulle__alloc_zero((size_t)(i1 - i0 + 1) * (size_t)(j1 - j0 + 1), sizeof *piece, "overlaps", &piece));
    *out = piece;
    for (int a = i0; a <= i1; a++)
        for (int b = j0; b <= j1; b++) {
            struct piece *p = &piece[*count];
            const tulle_gidx row = larger(r0, rows[a]), end = smaller(r1, rows[a + 1]);
            p->row = row - r0;
            p->rows = end - row;
            p->above = rows[a] - r0;
            p->left = cols[b] - c0;
            p->first = larger(c0, cols[b]) - cols[b];
            p->until = smaller(c1, cols[b + 1]) - cols[b];
            if (p->rows <= 0 || p->until <= p->first || !A->directory[tulle__tile_index(A, a, b)].place.length)
                continue;
            TULLE_CALL(tulle__fetch_init(A, a, b, &p->fetch));
            ++*count;
        }
    for (int k = 0; k < *count; k++) TULLE_CALL(tulle__fetch_await(&piece[k].fetch, &piece[k].tile));
    return TULLE_OK;
}

/* The blocks of the target tile, whose cuts are given, or (to NULL) their numbers of blocks and of values. */
static void join_pieces(const struct piece *piece, int count, int64_t rows, const tulle_gidx *row_cut,
    const tulle_gidx *col_cut, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    *blocks = *nnz = 0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t height = row_cut[r + 1] - row_cut[r];
        if (to) to->rowptr[r] = *blocks;
        for (int k = 0; k < count; k++) {
            const struct piece *p = &piece[k];
            if (r < p->row || r >= p->row + p->rows) continue;
            const tulle_tile *from = &p->tile;
            for (int64_t e = from->rowptr[r - p->above]; e < from->rowptr[r - p->above + 1]; e++) {
                if (from->colind[e] < p->first || from->colind[e] >= p->until) continue;
                const int64_t c = from->colind[e] + p->left, size = height * (col_cut[c + 1] - col_cut[c]);
                if (to) {
                    const size_t bytes = tulle_type_size(to->type);
                    to->colind[*blocks] = (tulle_lidx)c;
                    if (to->offset) to->offset[*blocks] = *nnz;
                    if (to->norm && from->norm) to->norm[*blocks] = from->norm[e];
                    memcpy((char *)to->val + (size_t)*nnz * bytes,
                        (const char *)from->val + (size_t)tulle__block_at(from, e, size) * bytes, (size_t)size * bytes);
                }
                ++*blocks;
                *nnz += size;
            }
        }
    }
    if (to) to->rowptr[rows] = *blocks;
    if (to && to->offset) to->offset[*blocks] = *nnz;
}

/* Places the blocks of target tile (i, j); `known`: into the tile that is there. */
static tulle_status place_tile(
    tulle_mat *B, int i, int j, int64_t blocks, int64_t nnz, bool known, bool *any, tulle_own_tile *to)
{
    *any = blocks > 0;
    if (known) return blocks ? tulle_mat_own_tile(B, i, j, to) : TULLE_OK;
    /* an empty tile is placed only to replace one with blocks */
    *any |= B->directory[tulle__tile_index(B, i, j)].place.length > 0;
    return *any ? tulle__mat_place_blocks(B, i, j, blocks, nnz, to) : TULLE_OK;
}

static tulle_status fill_tile(const tulle_mat *A, tulle_mat *B, const struct shift *shift, int i, int j, bool known)
{
    struct piece *piece = NULL;
    int count = 0;
    int64_t blocks = 0, nnz = 0;
    bool any = false;
    tulle_own_tile to;
    const tulle_layout *l = B->layout;
    const tulle_gidx *row_cut = l->row_blocks.cut + l->row_blocks.first[i];
    const tulle_gidx *col_cut = l->col_blocks.cut + l->col_blocks.first[j];
    const int64_t rows = tulle__tile_block_rows(B, i);
    tulle_status status = start_pieces(A, l, shift, i, j, &piece, &count);
    if (status == TULLE_OK) {
        join_pieces(piece, count, rows, row_cut, col_cut, NULL, &blocks, &nnz);
        status = place_tile(B, i, j, blocks, nnz, known, &any, &to);
    }
    if (status == TULLE_OK && any) {
        join_pieces(piece, count, rows, row_cut, col_cut, &to, &blocks, &nnz);
        if (A->kind == TULLE_BSR) tulle__blocks_renew_norms(&to);
    }
    for (int k = 0; piece && k < count; k++) tulle__fetch_fini(&piece[k].fetch);
    tulle__free(piece);
    return status;
}

tulle_status tulle__fill_blocks(const tulle_mat *A, tulle_mat *B, const tulle__stack *stack, bool known)
{
    const tulle_layout *l = B->layout;
    const int rows = stack ? l->mt / stack->copies : l->mt;
    TULLE__EACH_OWN_TILE(B, i, j) {
        if (!tulle__stack_has(stack, i / rows, j)) continue;
        const struct shift shift = {.rows = i / rows * A->layout->row_blocks.count};
        TULLE_CALL(fill_tile(A, B, &shift, i, j, known));
    }
    return TULLE_OK;
}

tulle_status tulle__fill_range(const tulle_mat *A, tulle_mat *B, tulle_gidx row, tulle_gidx col)
{
    const struct shift shift = {.rows = -row, .cols = -col};
    for (int i = 0; i < B->layout->mt; i++)
        for (int j = 0; j < B->layout->nt; j++) {
            TULLE_CALL(tulle__tile_is_mine(B, i, j) ? fill_tile(A, B, &shift, i, j, false) : TULLE_OK);
        }
    return TULLE_OK;
}

tulle_status tulle__redistribute_blocks(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy)
{
    TULLE_CALL(tulle__mat_make(A->comm, layout, A->kind, A->type, A->order, copy));
    TULLE_CALL(tulle__fill_blocks(A, *copy, NULL, false));
    return tulle__mat_publish(*copy);
}
