/* SPDX-License-Identifier: Apache-2.0 */
/* Redistribution: the same matrix in another layout. */
#include <string.h>

#include "mat/reshape/reshape.h"

#include "base/arg.h"
#include "base/bisect.h"
#include "base/error.h"
#include "mat/compressed.h"
#include "mat/subset.h"

/* The intersection of a source tile and a target tile. */
struct overlap {
    tulle__fetch fetch;
    tulle_tile tile;
    tulle_gidx row, col;       /* first global row and column of the source tile */
    tulle_gidx r0, r1, c0, c1; /* the intersection, in global indices */
};

/*
 * Starts fetching rows first .. first + count - 1 of a tile. Fetches the whole tile if it has no
 * other rows.
 */
static tulle_status fetch_rows(const tulle_mat *A, int i, int j, int64_t first, int64_t count, tulle__fetch *fetch)
{
    struct tulle__row_interval range = {first, count};
    tulle__row_set rows = {.range = &range, .nranges = 1};
    tulle__subset *subset = NULL;
    int64_t *rowptr = NULL;
    tulle_status status = TULLE_OK;
    if (count == tulle__tile_rows(A, i) || !tulle__subset_possible(A, i, j)) return tulle__fetch_init(A, i, j, fetch);
    if (A->kind == TULLE_CSR) TULLE_TRY(tulle__rowptr_read(A, i, j, &rowptr));
    TULLE_TRY(tulle__subset_new(A, i, j, &rows, rowptr, &subset));
    TULLE_TRY(tulle__subset_fetch(A, i, j, subset, NULL, fetch));
out:
    tulle__free(rowptr);
    tulle__subset_free(subset);
    return status;
}

/*
 * Starts all fetches for the overlaps of target tile (i, j) with the tiles of A, in column order
 * within each range of rows, and awaits them. Rows of A lie `above` rows further up.
 */
static tulle_status start_overlaps(
    const tulle_mat *A, const tulle_layout *to, tulle_gidx above, int i, int j, struct overlap **out, int *count)
{
    const tulle_layout *from = A->layout;
    tulle_gidx r0 = to->row_cut[i] - above, r1 = to->row_cut[i + 1] - above, c0 = to->col_cut[j],
               c1 = to->col_cut[j + 1];
    struct overlap *overlap = NULL;
    int n = 0;
    *out = NULL;
    *count = 0;
    if (r0 == r1 || c0 == c1) return TULLE_OK;
    int i0 = tulle__layout_find(from->row_cut, from->mt, r0), i1 = tulle__layout_find(from->row_cut, from->mt, r1 - 1);
    int j0 = tulle__layout_find(from->col_cut, from->nt, c0), j1 = tulle__layout_find(from->col_cut, from->nt, c1 - 1);
    TULLE_CALL(tulle__alloc_zero((size_t)(i1 - i0 + 1) * (size_t)(j1 - j0 + 1), sizeof *overlap, "overlaps", &overlap));
    *out = overlap;
    for (int a = i0; a <= i1; a++)
        for (int b = j0; b <= j1; b++) {
            struct overlap *o = &overlap[n];
            o->row = from->row_cut[a];
            o->col = from->col_cut[b];
            o->r0 = r0 > from->row_cut[a] ? r0 : from->row_cut[a];
            o->r1 = r1 < from->row_cut[a + 1] ? r1 : from->row_cut[a + 1];
            o->c0 = c0 > from->col_cut[b] ? c0 : from->col_cut[b];
            o->c1 = c1 < from->col_cut[b + 1] ? c1 : from->col_cut[b + 1];
            if (o->r0 >= o->r1 || o->c0 >= o->c1) continue;
            TULLE_CALL(fetch_rows(A, a, b, o->r0 - o->row, o->r1 - o->r0, &o->fetch));
            *count = ++n;
        }
    for (int k = 0; k < n; k++) TULLE_CALL(tulle__fetch_await(&overlap[k].fetch, &overlap[k].tile));
    return TULLE_OK;
}

static void end_overlaps(struct overlap *overlap, int count)
{
    for (int k = 0; k < count; k++) tulle__fetch_fini(&overlap[k].fetch);
    tulle__free(overlap);
}

/* The first entry of the row whose column is at least c. */
static int64_t lower_bound(const tulle_tile *tile, int64_t row, tulle_gidx c)
{
    int64_t low = tile->rowptr[row], high = tile->rowptr[row + 1];
    if (c <= 0) return low;
    if (c >= tile->n) return high;
    TULLE__PARTITION_POINT(low, high, middle, tile->colind[middle] < c);
    return low;
}

/* known: the tile's structure is in place; only its values are renewed. */
static tulle_status build_csr(
    tulle_mat *B, tulle_gidx above, int i, int j, const struct overlap *overlap, int count, int known)
{
    tulle_gidx m = tulle__tile_rows(B, i), row0 = B->layout->row_cut[i] - above, col0 = B->layout->col_cut[j];
    size_t size = tulle_type_size(B->type);
    TULLE__SCOPED int64_t *start = NULL;
    tulle_own_tile tile = {.nnz = 0};
    if (known) TULLE_CALL(tulle_mat_own_tile(B, i, j, &tile));
    if (known && !tile.nnz) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero((size_t)m + 1, sizeof *start, "row pointers", &start));
    if (known) memcpy(start, tile.rowptr, (size_t)m * sizeof *start);
    for (int pass = known; pass < 2; pass++) {
        if (pass == 1 && !known) {
            int64_t sum = 0;
            for (tulle_gidx r = 0; r <= m; r++) {
                int64_t n = start[r];
                start[r] = sum;
                sum += n;
            }
            /* an empty tile is placed only to replace one with entries */
            if (!sum && !B->directory[tulle__tile_index(B, i, j)].place.length) break;
            TULLE_CALL(tulle__mat_place(B, i, j, sum, &tile));
            memcpy(tile.rowptr, start, ((size_t)m + 1) * sizeof *start);
        }
        for (int k = 0; k < count; k++) {
            const struct overlap *o = &overlap[k];
            if (!o->tile.rowptr) continue;
            for (tulle_gidx r = o->r0; r < o->r1; r++) {
                int64_t from = lower_bound(&o->tile, r - o->row, o->c0 - o->col);
                int64_t to = lower_bound(&o->tile, r - o->row, o->c1 - o->col);
                if (pass == 1) {
                    int64_t at = start[r - row0];
                    for (int64_t e = from; e < to && !known; e++)
                        tile.colind[at + e - from] = (tulle_lidx)(o->tile.colind[e] + o->col - col0);
                    if (!tulle__is_shape_only(B->comm))
                        memcpy((char *)tile.val + (size_t)at * size, (const char *)o->tile.val + (size_t)from * size,
                            (size_t)(to - from) * size);
                }
                start[r - row0] += to - from;
            }
        }
    }
    return TULLE_OK;
}

static void copy_dense(
    const tulle_mat *B, tulle_gidx above, int i, int j, const tulle_own_tile *to, const struct overlap *o)
{
    tulle_gidx row0 = B->layout->row_cut[i] - above, col0 = B->layout->col_cut[j];
    size_t size = tulle_type_size(B->type);
    int by_row = to->order == TULLE_ROW_MAJOR;
    tulle_gidx outer0 = by_row ? o->r0 : o->c0, outer1 = by_row ? o->r1 : o->c1;
    tulle_gidx inner0 = by_row ? o->c0 : o->r0, inner = (by_row ? o->c1 : o->r1) - inner0;
    tulle_gidx to_outer = by_row ? row0 : col0, to_inner = by_row ? col0 : row0;
    tulle_gidx from_outer = by_row ? o->row : o->col, from_inner = by_row ? o->col : o->row;
    for (tulle_gidx x = outer0; x < outer1; x++)
        memcpy((char *)to->val + (size_t)((x - to_outer) * to->ld + inner0 - to_inner) * size,
            (const char *)o->tile.val + (size_t)((x - from_outer) * o->tile.ld + inner0 - from_inner) * size,
            (size_t)inner * size);
}

static tulle_status fill_tile(const tulle_mat *A, tulle_mat *B, tulle_gidx above, int i, int j, int known)
{
    struct overlap *overlap;
    int count;
    tulle_status status = start_overlaps(A, B->layout, above, i, j, &overlap, &count);
    if (status == TULLE_OK && A->kind == TULLE_CSR) status = build_csr(B, above, i, j, overlap, count, known);
    if (status == TULLE_OK && A->kind == TULLE_DENSE) {
        int64_t t = tulle__tile_index(B, i, j);
        const tulle__tile_record *record = known ? &B->directory[t] : &B->replaced[t];
        if (record->place.length && !tulle__is_shape_only(B->comm)) {
            tulle_own_tile to = tulle__own_tile_view(B, i, j, record, tulle__mapped(B->comm, &record->place));
            for (int k = 0; k < count; k++) copy_dense(B, above, i, j, &to, &overlap[k]);
        }
    }
    end_overlaps(overlap, count);
    return status;
}

static tulle_status fill(const tulle_mat *A, tulle_mat *B, const tulle__stack *stack, int known)
{
    const tulle_layout *l = B->layout;
    int rows = stack ? l->mt / stack->copies : l->mt;
    if (A->format->in_blocks) return tulle__fill_blocks(A, B, stack, known);
    TULLE__EACH_OWN_TILE(B, i, j) {
        if (!tulle__stack_has(stack, i / rows, j)) continue;
        TULLE_CALL(fill_tile(A, B, i / rows * A->layout->m, i, j, known));
    }
    return TULLE_OK;
}

tulle_status tulle__mat_refill(tulle_mat *B, const tulle_mat *A, const tulle__stack *stack, int known)
{
    TULLE_CALL(fill(A, B, stack, known));
    return known ? TULLE_OK : tulle__mat_publish(B);
}

static tulle_status redistribute(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy)
{
    tulle_status status;
    if (layout->m != A->layout->m || layout->n != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "the new layout has another shape than the matrix");
    if (A->format->in_blocks) {
        status = tulle__wants_values(A->comm, "a matrix of blocks in another layout");
        return status == TULLE_OK ? tulle__redistribute_blocks(A, layout, copy) : status;
    }
    TULLE_CALL(tulle__mat_make(A->comm, layout, A->kind, A->type, A->order, copy));
    TULLE_CALL(fill(A, *copy, NULL, 0));
    return tulle__mat_publish(*copy);
}

/* Blocks of other sizes are made of A's entries. Collective, agreed. */
static tulle_status other_blocks(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy)
{
    TULLE__SCOPED_MAT tulle_mat *entries = NULL;
    tulle_status status = TULLE_OK;
    if (!layout->row_blocks.cut)
        status = tulle__fail(TULLE_ERR_ARG, "a matrix of blocks needs a layout with block cuts");
    else if (A->kind != TULLE_VBSR)
        status = tulle__fail(TULLE_ERR_ARG, "a BSR matrix keeps its block cuts in another layout");
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    TULLE_CALL(tulle_mat_to_csr(A, false, &entries));
    return tulle_mat_to_vbsr(entries, layout, copy);
}

/* The layout of the inner matrix. */
static tulle_status inner_layout(const tulle_mat *A, const tulle_layout *layout, tulle_layout **inner)
{
    if (layout->m != A->layout->m || layout->n != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "the new layout has another shape than the matrix");
    return tulle__compressed_layout(layout, &A->compressed->rows, &A->compressed->cols, inner);
}

/* The inner matrix in the layout that follows, with the same axes. Collective, agreed. */
static tulle_status redistribute_compressed(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy)
{
    const tulle__compressed *c = A->compressed;
    TULLE__SCOPED_BY(tulle__compressed_drop) tulle__compressed parts = {.inner = NULL};
    TULLE__SCOPED_LAYOUT tulle_layout *inner = NULL;
    TULLE_CALL(tulle_comm_agree(A->comm, inner_layout(A, layout, &inner)));
    TULLE_CALL(tulle_mat_redistribute(c->inner, inner, &parts.inner));
    return tulle__compressed_finish(
        A->comm, layout, A->type, tulle__compressed_axes_copy(&c->rows, &c->cols, &parts), &parts, copy);
}

/* Redistributes any but these. Collective, agreed. */
static tulle_status redistribute_any(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy)
{
    tulle_mat *made = NULL;
    if (A->symmetry == TULLE_GENERAL) TULLE_CALL(tulle__mat_order(A));
    const tulle_status status = redistribute(A, layout, &made);
    if (made) made->symmetry = A->symmetry;
    return tulle__mat_or_drop(tulle_comm_agree(A->comm, status), made, copy);
}

tulle_status tulle_mat_redistribute(const tulle_mat *A, const tulle_layout *layout, tulle_mat **copy)
{
    if (TULLE__NULL(A) || TULLE__NULL(layout) || TULLE__NULL(copy)) return tulle__refuse(A ? A->comm : NULL);
    if (A->compressed && !layout->row_blocks.cut) return redistribute_compressed(A, layout, copy);
    if (A->symmetry != TULLE_GENERAL) TULLE_CALL(tulle_comm_agree(A->comm, tulle__layout_check_half(layout)));
    if (A->format->in_blocks && !tulle__layout_same_blocks(A->layout, layout)) return other_blocks(A, layout, copy);
    tulle__set_up_begin(A->comm);
    const tulle_status status = redistribute_any(A, layout, copy);
    tulle__set_up_end(A->comm);
    return status;
}

static void scatter(const tulle_tile *from, const tulle_own_tile *to)
{
    const size_t value = tulle_type_size(to->type);
    for (tulle_gidx r = 0; from->nnz && r < from->m; r++)
        for (int64_t e = from->rowptr[r]; e < from->rowptr[r + 1]; e++) {
            const int64_t at =
                to->order == TULLE_ROW_MAJOR ? r * to->ld + from->colind[e] : from->colind[e] * to->ld + r;
            memcpy((char *)to->val + (size_t)at * value, (const char *)from->val + (size_t)e * value, value);
        }
}

tulle_status tulle__mat_scatter(const tulle_mat *S, tulle_mat *D)
{
    TULLE__EACH_OWN_TILE(S, i, j) {
        tulle_own_tile to;
        const tulle_tile from = tulle__tile_in_place(S, i, j);
        TULLE_CALL(tulle_mat_own_tile(D, i, j, &to));
        scatter(&from, &to);
    }
    return TULLE_OK;
}
