/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/columns/rhs_by_column.h"

#include <math.h>
#include <string.h>

#include "tile/element.h"

static int suits(const tulle_mat *B, const tulle_layout *rows)
{
    const tulle_layout *l = B->layout;
    return l->nt == 1 && tulle__layout_same_cuts(l->row_cut, l->mt, rows->row_cut, rows->mt) &&
           memcmp(l->owner, rows->owner, (size_t)l->mt * sizeof *l->owner) == 0;
}

tulle_status tulle__columns_stage(const tulle_mat *B, const tulle_layout *rows, int copy, tulle_mat **staged)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = rows->m,
        .n = B->layout->n,
        .tile_rows = rows->mt,
        .tile_cols = 1,
        .row_cut = rows->row_cut,
        .owner = rows->owner};
    *staged = NULL;
    if (suits(B, rows)) return TULLE_OK;
    TULLE_CALL(tulle_comm_agree(B->comm, tulle_layout_new(&spec, B->comm->size, &layout)));
    return copy ? tulle_mat_redistribute(B, layout, staged)
                : tulle_mat_new_dense(B->comm, layout, B->type, TULLE_ROW_MAJOR, staged);
}

static void copy_tile(const tulle_tile *from, const tulle_own_tile *to)
{
    size_t size = tulle_type_size(to->type);
    for (tulle_gidx r = 0; r < to->m; r++)
        for (tulle_gidx c = 0; c < to->n; c++)
            memcpy((char *)to->val + (size_t)tulle__dense_place(to->order, to->ld, r, c) * size,
                (const char *)from->val + (size_t)tulle__dense_place(from->order, from->ld, r, c) * size, size);
}

tulle_status tulle__columns_return(tulle_mat *staged, tulle_mat *X)
{
    tulle_mat *parts = NULL;
    const tulle_layout *l = X->layout;
    TULLE_CALL(tulle_mat_redistribute(staged, l, &parts));
    TULLE__EACH_OWN_TILE(X, i, j) {
        tulle_tile from = tulle__tile_in_place(parts, i, j);
        tulle_own_tile to = tulle__own_tile_in_place(X, i, j);
        if (to.nnz) copy_tile(&from, &to);
    }
    tulle_status status = tulle_comm_agree(X->comm, TULLE_OK);
    tulle_mat_free(parts);
    return status;
}

/* The only own tile with rows; nnz 0: none. */
static tulle_tile read_tile(const tulle_mat *B)
{
    for (int i = 0; i < B->layout->mt; i++) {
        if (!tulle__tile_is_mine(B, i, 0)) continue;
        tulle_tile tile = tulle__tile_in_place(B, i, 0);
        if (tile.nnz) return tile;
    }
    return (tulle_tile){.nnz = 0};
}

static tulle_own_tile write_tile(tulle_mat *X)
{
    for (int i = 0; i < X->layout->mt; i++) {
        if (!tulle__tile_is_mine(X, i, 0)) continue;
        tulle_own_tile tile = tulle__own_tile_in_place(X, i, 0);
        if (tile.nnz) return tile;
    }
    return (tulle_own_tile){.nnz = 0};
}

/* Element e of one array = element f of another, whatever that is, times a factor. */
static inline void scale_value(tulle_type type, void *to, int64_t e, const void *from, int64_t f, double factor)
{
    tulle__element_set(type, to, e, factor == 0 ? 0 : tulle__element(type, from, f) * factor);
}

void tulle__columns_read_some(
    const tulle_mat *B, int count, const tulle_gidx *column, const double *factor, void *x, int64_t ld)
{
    tulle_tile t = read_tile(B);
    for (tulle_gidx r = 0; t.nnz && r < t.m; r++)
        for (int j = 0; j < count; j++)
            scale_value(t.type, x, r * ld + j, t.val, tulle__dense_place(t.order, t.ld, r, column[j]), factor[j]);
}

void tulle__columns_write_some(
    tulle_mat *X, int count, const tulle_gidx *column, const double *factor, const void *x, int64_t ld)
{
    tulle_own_tile t = write_tile(X);
    for (tulle_gidx r = 0; t.nnz && r < t.m; r++)
        for (int j = 0; j < count; j++)
            scale_value(t.type, t.val, tulle__dense_place(t.order, t.ld, r, column[j]), x, r * ld + j, factor[j]);
}

void tulle__columns_read(const tulle_mat *B, tulle_gidx c, double factor, void *x)
{
    tulle__columns_read_some(B, 1, &c, &factor, x, 1);
}

void tulle__columns_write(tulle_mat *X, tulle_gidx c, double factor, const void *x)
{
    tulle__columns_write_some(X, 1, &c, &factor, x, 1);
}

bool tulle__columns_write_back(tulle_mat *X, tulle_gidx c, double factor, const void *x, int64_t ld)
{
    const tulle_own_tile t = write_tile(X);
    bool lost = false;
    for (tulle_gidx r = 0; t.nnz && r < t.m; r++) {
        const int64_t at = tulle__dense_place(t.order, t.ld, r, c);
        scale_value(t.type, t.val, at, x, r * ld, factor);
        lost |= factor != 1 && tulle__element(t.type, t.val, at) / factor != tulle__element(t.type, x, r * ld);
    }
    return lost;
}

double tulle__columns_largest(const tulle_mat *B, tulle_gidx c)
{
    const tulle_tile t = read_tile(B);
    double most = 0;
    for (tulle_gidx r = 0; t.nnz && r < t.m; r++)
        most = fmax(most, fabs(tulle__element(t.type, t.val, tulle__dense_place(t.order, t.ld, r, c))));
    return most;
}
