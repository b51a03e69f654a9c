/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/compressed.h"

#include <inttypes.h>
#include <string.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"

/* Rows from which row pointers matter: 64 MiB. */
static const tulle_gidx ROWS_LEAST = (tulle_gidx)1 << 23;

static tulle_gidx widest(const tulle_gidx *cut, int parts)
{
    tulle_gidx width = 0;
    for (int p = 0; p < parts; p++)
        if (cut[p + 1] - cut[p] > width) width = cut[p + 1] - cut[p];
    return width;
}

/* An entry has at most a row pointer of 8 bytes and, on each PE, two numbers of 8 with two indices of 4. */
bool tulle_mat_compresses(tulle_gidx rows, int64_t entries, int pes)
{
    return rows >= ROWS_LEAST && entries < rows / (6 * pes + 2);
}

bool tulle__compressed_pays(const tulle_layout *l, int64_t entries)
{
    if (l->row_blocks.cut) return false;
    if (widest(l->row_cut, l->mt) > INT32_MAX || widest(l->col_cut, l->nt) > INT32_MAX) return true;
    return tulle_mat_compresses(l->m, entries, l->owners);
}

bool tulle__compressed_may(const tulle_layout *l)
{
    return tulle__compressed_pays(l, 0);
}

static void map_cuts(const tulle_gidx *cut, int parts, const tulle__axis *axis, tulle_gidx *mapped)
{
    for (int p = 0; p <= parts; p++) mapped[p] = axis ? tulle__axis_find(axis, cut[p]) : cut[p];
}

tulle_status tulle__compressed_layout(
    const tulle_layout *l, const tulle__axis *rows, const tulle__axis *cols, tulle_layout **inner)
{
    TULLE__SCOPED tulle_gidx *cut = NULL;
    TULLE_CALL(tulle__alloc((size_t)l->mt + (size_t)l->nt + 2, sizeof *cut, "cuts", &cut));
    map_cuts(l->row_cut, l->mt, rows, cut);
    map_cuts(l->col_cut, l->nt, cols, cut + l->mt + 1);
    const tulle_layout_spec spec = {.m = cut[l->mt],
        .n = cut[l->mt + 1 + l->nt],
        .tile_rows = l->mt,
        .tile_cols = l->nt,
        .row_cut = cut,
        .col_cut = cut + l->mt + 1,
        .owner = l->owner};
    return tulle_layout_new(&spec, INT32_MAX, inner);
}

/* The parts of a matrix without entries. */
static tulle_status empty_parts(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle__compressed *parts)
{
    TULLE__SCOPED_LAYOUT tulle_layout *inner = NULL;
    TULLE_CALL(tulle__compressed_layout(layout, &parts->rows, &parts->cols, &inner));
    TULLE_CALL(tulle__mat_make_empty(comm, inner, TULLE_CSR, type, TULLE_ROW_MAJOR, &parts->inner));
    return tulle__mat_publish(parts->inner);
}

tulle_status tulle__compressed_wrap(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle__compressed *parts, tulle_mat **A)
{
    tulle__compressed none = {.inner = NULL};
    tulle_mat *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__mat_make_handle(comm, layout, TULLE_CSR, type, TULLE_ROW_MAJOR, &made));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made->compressed, "a hypersparse matrix", &made->compressed));
    if (!parts) {
        parts = &none;
        TULLE_TRY(empty_parts(comm, layout, type, parts));
    }
    tulle__compressed_set(made, parts);
    *A = made;
    return TULLE_OK;
out:
    tulle__compressed_drop(&none);
    tulle__mat_drop(made);
    return status;
}

tulle_status tulle__compressed_finish(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    tulle_status status, tulle__compressed *parts, tulle_mat **A)
{
    tulle_mat *made = NULL;
    if (status == TULLE_OK) status = tulle__compressed_wrap(comm, layout, type, parts, &made);
    return tulle__mat_or_drop(tulle_comm_agree(comm, status), made, A);
}

tulle_status tulle__compressed_axes_copy(const tulle__axis *rows, const tulle__axis *cols, tulle__compressed *parts)
{
    TULLE_CALL(tulle__axis_copy(rows, &parts->rows));
    return tulle__axis_copy(cols, &parts->cols);
}

void tulle__compressed_set(tulle_mat *A, tulle__compressed *parts)
{
    tulle__compressed_drop(A->compressed);
    *A->compressed = *parts;
    *parts = (tulle__compressed){.inner = NULL};
    tulle__pe_disown(&A->compressed->inner->owned); /* it goes with A */
    A->nnz = A->compressed->inner->nnz;
    A->structure++;
}

uint64_t tulle__structure_of(const tulle_mat *A)
{
    return A->compressed ? A->compressed->inner->structure : A->structure;
}

/* ---- tiles of either kind, with the numbers of their lines ---- */

/* A tile: row r has number row ? row[r] : first_row + r, a column likewise. */
struct part {
    tulle_tile tile;
    const tulle_gidx *row, *col;
    tulle_gidx first_row, first_col;
};

static struct part part_of(const tulle_mat *A, int i, int j)
{
    const tulle__compressed *c = A->compressed;
    const tulle_mat *X = c ? c->inner : A;
    struct part part = {.tile = tulle__tile_in_place(X, i, j)};
    if (c) {
        part.row = c->rows.number + X->layout->row_cut[i];
        part.col = c->cols.number + X->layout->col_cut[j];
    }
    part.first_row = A->layout->row_cut[i];
    part.first_col = A->layout->col_cut[j];
    return part;
}

static tulle_gidx row_number(const struct part *p, tulle_gidx r)
{
    return p->row ? p->row[r] : p->first_row + r;
}

static tulle_gidx col_number(const struct part *p, tulle_lidx c)
{
    return p->col ? p->col[c] : p->first_col + c;
}

static tulle_status numbers_of(const struct part *p, bool rows, tulle__numbers *numbers)
{
    const tulle_tile *t = &p->tile;
    for (tulle_gidx r = 0; t->nnz && r < t->m; r++) {
        if (rows && t->rowptr[r] < t->rowptr[r + 1]) TULLE_CALL(tulle__numbers_add(numbers, row_number(p, r)));
        for (int64_t e = t->rowptr[r]; !rows && e < t->rowptr[r + 1]; e++)
            TULLE_CALL(tulle__numbers_add(numbers, col_number(p, t->colind[e])));
    }
    return TULLE_OK;
}

/* Adds the numbers of the lines with entries of A's own tiles. */
static tulle_status add_numbers(const tulle_mat *A, bool rows, tulle__numbers *numbers)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            if (!tulle__tile_is_mine(A, i, j)) continue;
            const struct part part = part_of(A, i, j);
            TULLE_CALL(numbers_of(&part, rows, numbers));
        }
    return TULLE_OK;
}

tulle_status tulle__compressed_axis(
    const tulle_mat *X, bool rows_of_x, const tulle_mat *Y, bool rows_of_y, tulle__axis *axis)
{
    TULLE__SCOPED_BY(tulle__numbers_fini) tulle__numbers numbers = {.count = 0};
    tulle_status status = add_numbers(X, rows_of_x, &numbers);
    if (status == TULLE_OK && Y && Y->kind == TULLE_CSR) status = add_numbers(Y, rows_of_y, &numbers);
    TULLE_CALL(tulle_comm_agree(X->comm, status));
    return tulle__axis_join(X->comm, &numbers, axis);
}

/* The tile's structure on the axes. */
static void map_tile(const struct part *p, const tulle__axis *rows, const tulle__axis *cols, const struct part *onto,
    const tulle_own_tile *to)
{
    const tulle_tile *t = &p->tile;
    tulle_gidx next = 0; /* the first row of `to` whose pointer is not set */
    for (tulle_gidx r = 0; r < t->m; r++) {
        if (t->rowptr[r] == t->rowptr[r + 1]) continue;
        const tulle_gidx row = tulle__axis_find(rows, row_number(p, r)) - onto->first_row;
        while (next <= row) to->rowptr[next++] = t->rowptr[r];
        for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++)
            to->colind[e] = (tulle_lidx)(tulle__axis_find(cols, col_number(p, t->colind[e])) - onto->first_col);
    }
    while (next <= to->m) to->rowptr[next++] = t->nnz;
}

static tulle_status map_tiles(
    const tulle_mat *A, const tulle__axis *rows, const tulle__axis *cols, bool known, tulle_mat *made)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            tulle_own_tile to;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            const struct part from = part_of(A, i, j), onto = part_of(made, i, j);
            if (!from.tile.nnz) continue;
            if (known) {
                to = tulle__own_tile_in_place(made, i, j);
            } else {
                TULLE_CALL(tulle__mat_place(made, i, j, from.tile.nnz, &to));
                map_tile(&from, rows, cols, &onto, &to);
            }
            memcpy(to.val, from.tile.val, (size_t)to.nnz * tulle_type_size(A->type));
        }
    return TULLE_OK;
}

tulle_status tulle__compressed_map(
    const tulle_mat *A, const tulle__axis *rows, const tulle__axis *cols, bool known, tulle_mat **made)
{
    if (known) return map_tiles(A, rows, cols, true, *made);
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE__SCOPED_BY(tulle__mat_drop_scoped) tulle_mat *M = NULL;
    TULLE_CALL(tulle__compressed_layout(A->layout, rows, cols, &layout));
    TULLE_CALL(tulle__mat_make_empty(A->comm, layout, TULLE_CSR, A->type, TULLE_ROW_MAJOR, &M));
    TULLE_CALL(map_tiles(A, rows, cols, false, M));
    TULLE_CALL(tulle__mat_publish(M));
    *made = M;
    M = NULL;
    return TULLE_OK;
}

/* ---- to and from CSR ---- */

static tulle_status expand_tile(tulle_mat *A, int i, int j)
{
    const struct part from = part_of(A, i, j);
    const tulle_tile *t = &from.tile;
    tulle_own_tile to;
    int32_t narrow;
    TULLE_CALL(tulle__narrow(tulle__tile_rows(A, i), "the number of rows of a tile", &narrow));
    TULLE_CALL(tulle__narrow(tulle__tile_cols(A, j), "the number of columns of a tile", &narrow));
    if (!t->nnz) return TULLE_OK;
    TULLE_CALL(tulle__mat_place(A, i, j, t->nnz, &to));
    tulle_gidx next = 0;
    for (tulle_gidx r = 0; r < t->m; r++)
        while (next <= from.row[r] - from.first_row) to.rowptr[next++] = t->rowptr[r];
    while (next <= to.m) to.rowptr[next++] = t->nnz;
    for (int64_t e = 0; e < t->nnz; e++) to.colind[e] = (tulle_lidx)(from.col[t->colind[e]] - from.first_col);
    memcpy(to.val, t->val, (size_t)t->nnz * tulle_type_size(A->type));
    return TULLE_OK;
}

static tulle_status expand_tiles(tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++)
            if (tulle__tile_is_mine(A, i, j)) TULLE_TRY(expand_tile(A, i, j));
    return TULLE_OK;
out:
    return tulle__fail(status,
        "a hypersparse matrix, %" PRId64 " x %" PRId64 " with %" PRId64
        " entries, where all of its row pointers are needed, %.3g GB: %.200s",
        A->layout->m, A->layout->n, A->nnz, 8e-9 * (double)A->layout->m, tulle__error_marked());
}

static tulle_status expand_and_publish(tulle_mat *A)
{
    TULLE_CALL(expand_tiles(A));
    return tulle__mat_publish(A);
}

tulle_status tulle__compressed_expand(tulle_mat *A)
{
    TULLE_CALL(tulle__mat_order(A->compressed->inner));
    const tulle_status status = tulle_comm_agree(A->comm, expand_and_publish(A));
    if (status != TULLE_OK) {
        tulle__mat_unplace(A);
        return status;
    }
    tulle__compressed_drop(A->compressed);
    tulle__free(A->compressed);
    A->compressed = NULL;
    return status;
}

tulle_status tulle_mat_new_csr(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(layout) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(A))
        return tulle__refuse(comm);
    tulle_mat *made = NULL;
    if (tulle__compressed_pays(layout, INT64_MAX)) /* CSR cannot have it */
        return tulle__compressed_finish(comm, layout, type, TULLE_OK, NULL, A);
    tulle_status status = tulle__mat_make(comm, layout, TULLE_CSR, type, TULLE_ROW_MAJOR, &made);
    if (status == TULLE_OK) status = tulle__mat_publish(made);
    return tulle__mat_or_drop(tulle_comm_agree(comm, status), made, A);
}

tulle_status tulle_mat_expand(tulle_mat *A)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    return A->compressed ? tulle__compressed_expand(A) : TULLE_OK;
}

static tulle_status make_parts(const tulle_mat *A, tulle__compressed *parts)
{
    if (!A->compressed) TULLE_CALL(tulle__mat_order(A));
    TULLE_CALL(tulle__compressed_axis(A, true, NULL, false, &parts->rows));
    TULLE_CALL(tulle__compressed_axis(A, false, NULL, false, &parts->cols));
    return tulle__compressed_map(A, &parts->rows, &parts->cols, false, &parts->inner);
}

tulle_status tulle_mat_compress(const tulle_mat *A, tulle_mat **H)
{
    if (TULLE__NULL(A) || TULLE__NULL(H)) return tulle__refuse(A ? A->comm : NULL);
    TULLE__SCOPED_BY(tulle__compressed_drop) tulle__compressed parts = {.inner = NULL};
    tulle_status status = TULLE_OK;
    if (A->kind != TULLE_CSR)
        status = tulle__fail(TULLE_ERR_ARG, "a %s matrix has no rows to compress", tulle_kind_name(A->kind));
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    return tulle__compressed_finish(A->comm, A->layout, A->type, make_parts(A, &parts), &parts, H);
}

tulle_status tulle_mat_compressed(const tulle_mat *A, tulle_compressed *view)
{
    if (TULLE__NULL(A) || TULLE__NULL(view)) return TULLE_ERR_ARG;
    const tulle__compressed *c = A->compressed;
    *view = !c ? (tulle_compressed){.inner = NULL}
               : (tulle_compressed){.inner = c->inner,
                     .rows = c->rows.count,
                     .cols = c->cols.count,
                     .row = c->rows.number,
                     .col = c->cols.number};
    return TULLE_OK;
}
