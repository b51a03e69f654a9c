/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices with other values or fewer entries: scaled, a range, without small entries. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/algebra/elements.h"
#include "mat/blocks/filter_tile.h"
#include "mat/compressed.h"
#include "mat/reshape/reshape.h"
#include "tile/element.h"
#include "tile/tile_blocks.h"

/* A half stays one with equal factors of rows and of columns. */
static bool keeps_symmetry(const tulle_mat *A, const double *rows, const double *cols)
{
    if (A->symmetry == TULLE_GENERAL || (!rows && !cols)) return true;
    for (tulle_gidx r = 0; r < A->layout->m; r++)
        if ((rows ? rows[r] : 1) != (cols ? cols[r] : 1)) return false;
    return true;
}

static void scale_tile(tulle_mat *A, int i, int j, double alpha, const double *rows, const double *cols)
{
    const tulle_layout *l = A->layout;
    const tulle_own_tile own = tulle__own_tile_in_place(A, i, j);
    const tulle_tile t = tulle__tile_of(&own);
    for (tulle_gidx r = 0; r < t.m && t.nnz; r++) {
        const double of_row = alpha * (rows ? rows[l->row_cut[i] + r] : 1);
        for (tulle__entry_cursor at = tulle__entries_of_row(r); tulle__entry_next(A, &t, &at);) {
            const double factor = cols ? of_row * cols[l->col_cut[j] + at.column] : of_row;
            tulle__element_set(t.type, own.val, at.value, factor * tulle__element(t.type, t.val, at.value));
        }
    }
    if (t.nnz) tulle__blocks_renew_norms(&own);
}

static tulle_status check_scale(tulle_mat *A, const double *rows, const double *cols)
{
    TULLE_CALL(tulle_mat_expand(A));
    TULLE_CALL(tulle__wants_values(A->comm, "a scaled matrix"));
    if (!keeps_symmetry(A, rows, cols))
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "half of a matrix with other factors of rows than of columns: tulle_mat_to_full");
    return TULLE_OK;
}

tulle_status tulle_mat_scale(tulle_mat *A, double alpha, const double *rows, const double *cols)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (A->compressed && !rows && !cols) return tulle_mat_scale(A->compressed->inner, alpha, NULL, NULL);
    TULLE_CALL(tulle_comm_agree(A->comm, check_scale(A, rows, cols)));
    TULLE__EACH_OWN_TILE(A, i, j) scale_tile(A, i, j, alpha, rows, cols);
    return tulle_comm_agree(A->comm, TULLE_OK);
}

/* The cuts of a range of n from `from`, and the first part of them in the whole. Returns the number of parts. */
static int clip_cuts(const tulle_gidx *cut, int parts, tulle_gidx from, tulle_gidx n, tulle_gidx *clipped, int *first)
{
    int count = 0;
    *first = tulle__layout_find(cut, parts, from);
    clipped[0] = 0;
    for (int p = *first; p < parts && (count == 0 || cut[p] < from + n); p++)
        clipped[++count] = cut[p + 1] < from + n ? cut[p + 1] - from : n;
    clipped[count] = n;
    return count;
}

struct blocks {
    tulle_gidx first, count;
};

/* Position of a range in its whole. */
struct range {
    const tulle_mat *whole;
    tulle_gidx row, rows, col, cols;
    int first_row, first_col; /* tiles */
    bool in_blocks;           /* the range divides no block */
    struct blocks row_blocks, col_blocks;
};

/* Finds the blocks of n indices from `from` on; false: one is divided. */
static bool find_blocks(const tulle__block_cuts *blocks, tulle_gidx from, tulle_gidx n, struct blocks *range)
{
    tulle_gidx b = 0;
    if (!blocks->cut) return false;
    while (blocks->cut[b] < from) b++;
    *range = (struct blocks){.first = b};
    if (blocks->cut[b] != from) return false;
    while (blocks->cut[b] < from + n) b++;
    range->count = b - range->first;
    return blocks->cut[b] == from + n;
}

/* The cuts of a range of blocks, from 0. */
static tulle_status cut_blocks(
    const tulle__block_cuts *blocks, const struct blocks *range, tulle_block_cuts *cuts, tulle_gidx **workspace)
{
    TULLE_CALL(tulle__alloc((size_t)range->count + 1, sizeof **workspace, "block cuts", workspace));
    for (tulle_gidx b = 0; b <= range->count; b++)
        (*workspace)[b] = blocks->cut[range->first + b] - blocks->cut[range->first];
    *cuts = (tulle_block_cuts){range->count, *workspace};
    return TULLE_OK;
}

static tulle_status layout_of_range(struct range *g, tulle_layout **layout)
{
    const tulle_layout *l = g->whole->layout;
    TULLE__SCOPED tulle_gidx *row_cut = NULL, *col_cut = NULL, *row_workspace = NULL, *col_workspace = NULL;
    TULLE__SCOPED int *owner = NULL;
    g->in_blocks = g->whole->format->in_blocks && find_blocks(&l->row_blocks, g->row, g->rows, &g->row_blocks) &&
                   find_blocks(&l->col_blocks, g->col, g->cols, &g->col_blocks);
    TULLE_CALL(tulle__alloc((size_t)l->mt + 2, sizeof *row_cut, "cuts", &row_cut));
    TULLE_CALL(tulle__alloc((size_t)l->nt + 2, sizeof *col_cut, "cuts", &col_cut));
    tulle_layout_spec spec = {.m = g->rows, .n = g->cols, .row_cut = row_cut, .col_cut = col_cut};
    spec.tile_rows = clip_cuts(l->row_cut, l->mt, g->row, g->rows, row_cut, &g->first_row);
    spec.tile_cols = clip_cuts(l->col_cut, l->nt, g->col, g->cols, col_cut, &g->first_col);
    TULLE_CALL(tulle__alloc((size_t)spec.tile_rows * (size_t)spec.tile_cols, sizeof *owner, "owners", &owner));
    for (int i = 0; i < spec.tile_rows; i++)
        for (int j = 0; j < spec.tile_cols; j++)
            owner[i * spec.tile_cols + j] = tulle__layout_owner(l, g->first_row + i, g->first_col + j);
    spec.owner = owner;
    if (g->in_blocks) {
        TULLE_CALL(cut_blocks(&l->row_blocks, &g->row_blocks, &spec.row_blocks, &row_workspace));
        TULLE_CALL(cut_blocks(&l->col_blocks, &g->col_blocks, &spec.col_blocks, &col_workspace));
    }
    return tulle_layout_new(&spec, g->whole->comm->size, layout);
}

/* The part of a sparse tile of A that becomes another. */
struct part {
    const tulle_mat *A;
    tulle_tile tile;
    tulle_gidx row, col, m, n; /* its rows and columns in the tile */
    double threshold;          /* without entries of at most this magnitude; negative: all */
};

/* Copies the entries of the part; rowptr NULL: only counts them. Returns their number. */
static int64_t copy_entries(const struct part *p, int64_t *rowptr, tulle_lidx *colind, void *val)
{
    int64_t count = 0;
    for (tulle_gidx r = 0; r < p->m; r++) {
        if (rowptr) rowptr[r] = count;
        for (tulle__entry_cursor at = tulle__entries_of_row(p->row + r); tulle__entry_next(p->A, &p->tile, &at);) {
            const double x = tulle__element(p->A->type, p->tile.val, at.value);
            if (at.column < p->col || at.column >= p->col + p->n || fabs(x) <= p->threshold) continue;
            if (rowptr) {
                colind[count] = (tulle_lidx)(at.column - p->col);
                tulle__element_set(p->A->type, val, count, x);
            }
            count++;
        }
    }
    if (rowptr) rowptr[p->m] = count;
    return count;
}

static tulle_status copy_part(const struct range *g, int i, int j, tulle_mat *part)
{
    const tulle_layout *l = g->whole->layout;
    const struct part p = {.A = g->whole,
        .tile = tulle__tile_in_place(g->whole, g->first_row + i, g->first_col + j),
        .row = g->row + part->layout->row_cut[i] - l->row_cut[g->first_row + i],
        .col = g->col + part->layout->col_cut[j] - l->col_cut[g->first_col + j],
        .m = tulle__tile_rows(part, i),
        .n = tulle__tile_cols(part, j),
        .threshold = -1};
    tulle_own_tile to;
    if (part->kind == TULLE_DENSE) {
        to = tulle__own_tile_in_place(part, i, j);
        for (tulle_gidx r = 0; r < p.m; r++)
            for (tulle_gidx c = 0; c < p.n; c++)
                tulle__element_set(to.type, to.val, tulle__dense_place(to.order, to.ld, r, c),
                    tulle__element(
                        part->type, p.tile.val, tulle__dense_place(p.tile.order, p.tile.ld, p.row + r, p.col + c)));
        return TULLE_OK;
    }
    const int64_t nnz = copy_entries(&p, NULL, NULL, NULL);
    if (nnz) TULLE_CALL(tulle__mat_place(part, i, j, nnz, &to));
    if (nnz) copy_entries(&p, to.rowptr, to.colind, to.val);
    return TULLE_OK;
}

/* Local. */
static tulle_status make_range_of_blocks(const struct range *g, const tulle_layout *layout, tulle_mat **made)
{
    const tulle_mat *A = g->whole;
    TULLE_CALL(tulle__mat_make(A->comm, layout, A->kind, A->type, A->order, made));
    return tulle__fill_range(A, *made, g->row_blocks.first, g->col_blocks.first);
}

/* Collective, agreed. */
static tulle_status range_of_blocks(const struct range *g, const tulle_layout *layout, tulle_mat **part)
{
    tulle_mat *made = NULL;
    tulle_status status = tulle_comm_agree(g->whole->comm, make_range_of_blocks(g, layout, &made));
    if (status == TULLE_OK) status = tulle_mat_renew(made);
    return tulle__mat_or_drop(status, made, part);
}

static tulle_status check_range(const struct range *g)
{
    const tulle_mat *A = g->whole;
    TULLE_CALL(tulle__mat_has_tiles(A));
    TULLE_CALL(tulle__wants_values(A->comm, "a range of a matrix"));
    TULLE_CALL(tulle__wants_full(A));
    if (g->rows <= A->layout->m - g->row && g->cols <= A->layout->n - g->col) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "rows %" PRId64 " to %" PRId64 " and columns %" PRId64 " to %" PRId64 " of a matrix of %" PRId64 " x %" PRId64,
        g->row, g->row + g->rows, g->col, g->col + g->cols, A->layout->m, A->layout->n);
}

static tulle_status check_and_lay_out(struct range *g, tulle_layout **layout)
{
    TULLE_CALL(check_range(g));
    return layout_of_range(g, layout);
}

static tulle_status copy_parts(const struct range *g, tulle_mat *part)
{
    TULLE__EACH_OWN_TILE(part, i, j) TULLE_CALL(copy_part(g, i, j, part));
    return TULLE_OK;
}

/* *made is the caller's also after a failure. Collective, agreed. */
static tulle_status range_of_entries(const struct range *g, const tulle_layout *layout, tulle_mat **made)
{
    const tulle_mat *A = g->whole;
    TULLE_CALL(A->kind == TULLE_DENSE ? tulle_mat_new_dense_undefined(A->comm, layout, A->type, A->order, made)
                                      : tulle_mat_new_csr(A->comm, layout, A->type, made));
    TULLE_CALL(tulle_comm_agree(A->comm, copy_parts(g, *made)));
    if ((*made)->kind == TULLE_CSR) TULLE_CALL(tulle_mat_renew(*made));
    if (A->unordered) (*made)->unordered = true;
    return TULLE_OK;
}

tulle_status tulle_mat_range(
    const tulle_mat *A, tulle_gidx row, tulle_gidx rows, tulle_gidx col, tulle_gidx cols, tulle_mat **part)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__NEGATIVE(row) || TULLE__NEGATIVE(rows) || TULLE__NEGATIVE(col) || TULLE__NEGATIVE(cols) ||
        TULLE__NULL(part))
        return tulle__refuse(A->comm);
    struct range g = {.whole = A, .row = row, .rows = rows, .col = col, .cols = cols};
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_mat *made = NULL;
    TULLE_CALL(tulle_comm_agree(A->comm, check_and_lay_out(&g, &layout)));
    if (g.in_blocks) return range_of_blocks(&g, layout, part);
    const tulle_status status = range_of_entries(&g, layout, &made);
    return tulle__mat_or_free(status, made, part);
}

/* An own tile of blocks, without those whose norms are at most the threshold, as its successor. */
static tulle_status drop_blocks(tulle_mat *A, int i, int j, double threshold)
{
    tulle_own_tile to;
    int64_t removed = 0;
    const tulle_tile tile = tulle__tile_in_place(A, i, j);
    if (!tile.blocks) return TULLE_OK;
    TULLE_CALL(tulle__mat_place_blocks(A, i, j, tile.blocks, tile.nnz, &to));
    memcpy(to.rowptr, tile.rowptr, ((size_t)tile.block_rows + 1) * sizeof *to.rowptr);
    memcpy(to.colind, tile.colind, (size_t)tile.blocks * sizeof *to.colind);
    memcpy(to.offset, tile.offset, ((size_t)tile.blocks + 1) * sizeof *to.offset);
    memcpy(to.val, tile.val, (size_t)tile.nnz * tulle_type_size(tile.type));
    tulle__blocks_renew_norms(&to);
    return tulle__filter_tile(A, i, j, nextafter(threshold * threshold, INFINITY), &removed);
}

static tulle_status drop_entries(tulle_mat *A, int i, int j, double threshold)
{
    tulle_own_tile to;
    const tulle_tile tile = tulle__tile_in_place(A, i, j);
    const struct part p = {.A = A, .tile = tile, .m = tile.m, .n = tile.n, .threshold = threshold};
    const int64_t nnz = copy_entries(&p, NULL, NULL, NULL);
    if (nnz == tile.nnz) return TULLE_OK;
    TULLE_CALL(tulle__mat_place(A, i, j, nnz, &to));
    copy_entries(&p, to.rowptr, to.colind, to.val);
    return TULLE_OK;
}

static tulle_status drop_small(tulle_mat *A, double threshold)
{
    if (A->kind != TULLE_CSR && A->kind != TULLE_VBSR)
        return tulle__fail(TULLE_ERR_ARG, "only entries of CSR and blocks of VBSR can be removed");
    TULLE_CALL(tulle__wants_values(A->comm, "a matrix without small entries"));
    if (A->borrowed)
        return tulle__fail(TULLE_ERR_STATE, "the matrix borrows the caller's arrays: none of them can be removed");
    TULLE__EACH_OWN_TILE(A, i, j) {
        if (A->kind == TULLE_CSR)
            TULLE_CALL(drop_entries(A, i, j, threshold));
        else if (!(threshold < 0))
            TULLE_CALL(drop_blocks(A, i, j, threshold));
    }
    return TULLE_OK;
}

tulle_status tulle_mat_drop(tulle_mat *A, double threshold)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (A->compressed) {
        const tulle_status dropped = tulle_mat_drop(A->compressed->inner, threshold);
        A->nnz = A->compressed->inner->nnz;
        return dropped;
    }
    const tulle_status status = tulle_comm_agree(A->comm, drop_small(A, threshold));
    if (status == TULLE_OK) return tulle_mat_renew(A);
    tulle__mat_unplace(A);
    return status;
}
