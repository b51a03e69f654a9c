/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in blocks is added to a range of another. */
#include <inttypes.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/algebra/elements.h"
#include "mat/reshape/reshape.h"
#include "tile/tile_blocks.h"

/* Blocks. */
struct range {
    double alpha, beta;
    tulle_gidx row, rows, col, cols;
};

/* Finds the block that begins at index `from`, and whether those that follow are the blocks of `part`. */
static bool find_blocks(const tulle__block_cuts *whole, const tulle__block_cuts *part, tulle_gidx from, tulle_gidx *at)
{
    tulle_gidx b = 0;
    while (b < whole->count && whole->cut[b] < from) b++;
    *at = b;
    if (whole->cut[b] != from || part->count > whole->count - b) return false;
    for (tulle_gidx p = 0; p <= part->count; p++)
        if (whole->cut[b + p] - from != part->cut[p]) return false;
    return true;
}

static tulle_status check(const tulle_mat *P, const tulle_mat *C, tulle_gidx row, tulle_gidx col, struct range *g)
{
    TULLE_CALL(tulle__wants_values(C->comm, "a sum in a range of a matrix"));
    TULLE_CALL(tulle__wants_full(P));
    TULLE_CALL(tulle__wants_full(C));
    if (P->comm != C->comm || P->type != C->type)
        return tulle__fail(TULLE_ERR_ARG, "the matrices are of two comms or types");
    if (!P->format->in_blocks || C->kind != TULLE_VBSR)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a %s matrix added to a range of a %s one: P is in blocks, C vbsr",
            tulle_kind_name(P->kind), tulle_kind_name(C->kind));
    if (P == C) return tulle__fail(TULLE_ERR_ARG, "P must not be C");
    if (P->layout->m > C->layout->m - row || P->layout->n > C->layout->n - col)
        return tulle__fail(TULLE_ERR_ARG,
            "%" PRId64 " x %" PRId64 " with row = %" PRId64 ", col = %" PRId64 " of a matrix of %" PRId64 " x %" PRId64,
            P->layout->m, P->layout->n, row, col, C->layout->m, C->layout->n);
    g->rows = P->layout->row_blocks.count;
    g->cols = P->layout->col_blocks.count;
    if (!find_blocks(&C->layout->row_blocks, &P->layout->row_blocks, row, &g->row) ||
        !find_blocks(&C->layout->col_blocks, &P->layout->col_blocks, col, &g->col))
        return tulle__fail(
            TULLE_ERR_ARG, "the blocks of P are not those of C with row = %" PRId64 ", col = %" PRId64, row, col);
    return TULLE_OK;
}

/* Tile (i, j) of C, and of what is added to it. */
struct tiles {
    tulle_tile old, added;
    int64_t r0, r1, c0, c1; /* of its block rows and columns, those in the range */
    const tulle_gidx *row_cut, *col_cut;
};

static void write_block(const struct tiles *t, double alpha, int64_t e, double beta, int64_t f, int64_t size,
    const tulle_own_tile *to, int64_t at)
{
    const int64_t in_old = e < 0 ? 0 : tulle__block_at(&t->old, e, size),
                  in_added = f < 0 ? 0 : tulle__block_at(&t->added, f, size);
    for (int64_t k = 0; k < size; k++) {
        double x = e < 0 ? 0 : beta * tulle__element(t->old.type, t->old.val, in_old + k);
        if (f >= 0) x += alpha * tulle__element(t->added.type, t->added.val, in_added + k);
        tulle__element_set(to->type, to->val, at + k, x);
    }
}

/* The new tile, or (to NULL) its numbers of blocks and of values. */
static void join(const struct tiles *t, const struct range *g, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    const tulle_tile *old = &t->old, *added = &t->added;
    const int64_t none = INT64_MAX;
    *blocks = *nnz = 0;
    for (int64_t r = 0; r < old->block_rows; r++) {
        int64_t e = old->rowptr ? old->rowptr[r] : 0, e1 = old->rowptr ? old->rowptr[r + 1] : 0;
        int64_t f = added->rowptr ? added->rowptr[r] : 0, f1 = added->rowptr ? added->rowptr[r + 1] : 0;
        const bool in_rows = r >= t->r0 && r < t->r1;
        if (to) to->rowptr[r] = *blocks;
        while (e < e1 || f < f1) {
            const int64_t a = e < e1 ? old->colind[e] : none, b = f < f1 ? added->colind[f] : none, c = a < b ? a : b;
            const bool inside = in_rows && c >= t->c0 && c < t->c1;
            const double beta = inside ? g->beta : 1;
            const int64_t size = (t->row_cut[r + 1] - t->row_cut[r]) * (t->col_cut[c + 1] - t->col_cut[c]);
            const bool keeps = a == c && beta != 0;
            if (keeps || b == c) {
                if (to) {
                    to->colind[*blocks] = (tulle_lidx)c;
                    to->offset[*blocks] = *nnz;
                    write_block(t, g->alpha, keeps ? e : -1, beta, b == c ? f : -1, size, to, *nnz);
                }
                ++*blocks;
                *nnz += size;
            }
            e += a == c;
            f += b == c;
        }
    }
    if (!to) return;
    to->rowptr[old->block_rows] = *blocks;
    to->offset[*blocks] = *nnz;
    tulle__blocks_renew_norms(to);
}

static int64_t clipped(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

/* Places the own tiles that reach into the range. */
static tulle_status place_tiles(const struct range *g, const tulle_mat *added, tulle_mat *C)
{
    const tulle_layout *l = C->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            const int64_t row = l->row_blocks.first[i], col = l->col_blocks.first[j];
            const int64_t rows = tulle__tile_block_rows(C, i), cols = tulle__tile_block_cols(C, j);
            int64_t blocks, nnz;
            tulle_own_tile to;
            if (!tulle__tile_is_mine(C, i, j)) continue;
            const struct tiles t = {.old = tulle__block_tile(C, i, j),
                .added = tulle__block_tile(added, i, j),
                .r0 = clipped(g->row - row, rows),
                .r1 = clipped(g->row + g->rows - row, rows),
                .c0 = clipped(g->col - col, cols),
                .c1 = clipped(g->col + g->cols - col, cols),
                .row_cut = l->row_blocks.cut + row,
                .col_cut = l->col_blocks.cut + col};
            if (t.r0 == t.r1 || t.c0 == t.c1) continue;
            join(&t, g, NULL, &blocks, &nnz);
            TULLE_CALL(tulle__mat_place_blocks(C, i, j, blocks, nnz, &to));
            join(&t, g, &to, &blocks, &nnz);
        }
    return TULLE_OK;
}

static tulle_status make_added(const struct range *g, const tulle_mat *P, const tulle_mat *C, tulle_mat **added)
{
    TULLE_CALL(tulle__mat_make(C->comm, C->layout, TULLE_VBSR, C->type, C->order, added));
    return tulle__fill_range(P, *added, -g->row, -g->col);
}

tulle_status tulle_mat_range_add(
    double alpha, const tulle_mat *P, double beta, tulle_mat *C, tulle_gidx row, tulle_gidx col)
{
    if (TULLE__NULL(C)) return TULLE__NULL(P) ? TULLE_ERR_ARG : tulle__refuse(P->comm);
    if (TULLE__NULL(P) || TULLE__NEGATIVE(row) || TULLE__NEGATIVE(col)) return tulle__refuse(C->comm);
    struct range g = {.alpha = alpha, .beta = beta};
    TULLE__SCOPED_BY(tulle__mat_drop_scoped) tulle_mat *added = NULL;
    TULLE_CALL(tulle_comm_agree(C->comm, check(P, C, row, col, &g)));
    TULLE_CALL(tulle_comm_agree(C->comm, make_added(&g, P, C, &added)));
    TULLE_CALL(tulle_mat_renew(added));
    const tulle_status status = tulle_comm_agree(C->comm, place_tiles(&g, added, C));
    if (status == TULLE_OK) return tulle_mat_renew(C);
    tulle__mat_unplace(C);
    return status;
}
