/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/algebra/block_sum.h"

#include "base/error.h"
#include "mat/algebra/elements.h"
#include "tile/tile_blocks.h"

/* A tile of a sum: its terms, and where it lies among all blocks. */
struct tile_sum {
    const tulle__terms *t;
    tulle_tile a, b;
    tulle_gidx row, col; /* the first block row and column */
    const tulle_gidx *row_cut, *col_cut;
    int64_t rows, cols;
};

/* A block of the sum from block e of A and f of B, -1: there is none. */
static void add_block(const struct tile_sum *s, int64_t e, int64_t f, bool diagonal, int64_t height, int64_t width,
    const tulle_own_tile *to, int64_t at)
{
    const int64_t size = height * width, in_a = e < 0 ? 0 : tulle__block_at(&s->a, e, size),
                  in_b = f < 0 ? 0 : tulle__block_at(&s->b, f, size);
    for (int64_t k = 0; k < size; k++) {
        double x = e < 0 ? 0 : s->t->alpha * tulle__element(s->a.type, s->a.val, in_a + k);
        if (f >= 0) x += s->t->beta * tulle__element(s->b.type, s->b.val, in_b + k);
        if (diagonal && k % width == k / width) x += s->t->gamma;
        tulle__element_set(to->type, to->val, at + k, x);
    }
}

/* The tile, or (to NULL) its numbers of blocks and of values. */
static void add_tile(const struct tile_sum *s, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    const tulle_tile *a = &s->a, *b = &s->b;
    int64_t at = 0, count = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        int64_t e = a->rowptr ? a->rowptr[r] : 0, e1 = a->rowptr ? a->rowptr[r + 1] : 0;
        int64_t f = b->rowptr ? b->rowptr[r] : 0, f1 = b->rowptr ? b->rowptr[r + 1] : 0;
        const int64_t own = s->row + r - s->col; /* of the diagonal block; outside [0, cols) it is another tile's */
        bool open = s->t->gamma != 0 && own >= 0 && own < s->cols;
        const int64_t height = s->row_cut[r + 1] - s->row_cut[r];
        if (to) to->rowptr[r] = count;
        while (e < e1 || f < f1 || open) {
            int64_t c = open ? own : s->cols;
            if (e < e1 && a->colind[e] < c) c = a->colind[e];
            if (f < f1 && b->colind[f] < c) c = b->colind[f];
            const bool in_a = e < e1 && a->colind[e] == c, in_b = f < f1 && b->colind[f] == c,
                       diagonal = open && c == own;
            const int64_t width = s->col_cut[c + 1] - s->col_cut[c];
            if (to) {
                to->colind[count] = (tulle_lidx)c;
                if (to->offset) to->offset[count] = at;
                add_block(s, in_a ? e : -1, in_b ? f : -1, diagonal, height, width, to, at);
            }
            e += in_a;
            f += in_b;
            open = open && !diagonal;
            count++;
            at += height * width;
        }
    }
    if (to) {
        to->rowptr[s->rows] = count;
        if (to->offset) to->offset[count] = at;
        tulle__blocks_renew_norms(to);
    }
    *blocks = count;
    *nnz = at;
}

static tulle_status sum_tiles(const tulle__terms *t, const tulle_mat *A, const tulle_mat *B, tulle_mat *C)
{
    const tulle_layout *l = A->layout;
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_own_tile to;
        int64_t blocks, nnz;
        const struct tile_sum s = {.t = t,
            .a = tulle__block_tile(A, i, j),
            .b = tulle__block_tile(B, i, j),
            .row = l->row_blocks.first[i],
            .col = l->col_blocks.first[j],
            .row_cut = l->row_blocks.cut + l->row_blocks.first[i],
            .col_cut = l->col_blocks.cut + l->col_blocks.first[j],
            .rows = tulle__tile_block_rows(A, i),
            .cols = tulle__tile_block_cols(A, j)};
        add_tile(&s, NULL, &blocks, &nnz);
        if (!blocks) continue;
        TULLE_CALL(tulle__mat_place_blocks(C, i, j, blocks, nnz, &to));
        add_tile(&s, &to, &blocks, &nnz);
    }
    return TULLE_OK;
}

tulle_status tulle__block_sum(const tulle__terms *t, const tulle_mat *A, const tulle_mat *B, tulle_mat **C)
{
    tulle_mat *made = NULL;
    const tulle_kind kind = A->kind == TULLE_BSR && B->kind == TULLE_BSR ? TULLE_BSR : TULLE_VBSR;
    tulle_status status = tulle__mat_make(A->comm, A->layout, kind, A->type, TULLE_ROW_MAJOR, &made);
    if (made) made->symmetry = A->symmetry;
    if (status == TULLE_OK) status = sum_tiles(t, A, B, made);
    if (status == TULLE_OK) status = tulle__mat_publish(made);
    return tulle__mat_or_drop(tulle_comm_agree(A->comm, status), made, C);
}
