/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/reshape/dense_lines.h"

#include <string.h>

#include "base/error.h"
#include "mat/context.h"
#include "mat/mat_resident.h"

/* A line of `count` elements; at: NULL, or where in the whole matrix's line each lies, from 0. */
static void copy_line(
    char *part, char *whole, tulle_gidx count, size_t size, const tulle_gidx *at, tulle_gidx first, bool to_whole)
{
    if (!at) {
        memcpy(to_whole ? whole : part, to_whole ? part : whole, (size_t)count * size);
        return;
    }
    for (tulle_gidx e = 0; e < count; e++) {
        char *element = whole + (size_t)(at[e] - first) * size;
        memcpy(to_whole ? element : part + (size_t)e * size, to_whole ? part + (size_t)e * size : element, size);
    }
}

/* Copies between a tile of the part, on the axes, and that of the whole. */
static void copy_tile(const tulle_mat *part, const tulle__axis *rows, const tulle__axis *cols, tulle_mat *whole, int i,
    int j, bool to_whole)
{
    const tulle_own_tile to = tulle__own_tile_in_place(whole, i, j);
    const tulle_tile from = tulle__tile_in_place(part, i, j);
    const bool by_rows = to.order == TULLE_ROW_MAJOR;
    const size_t size = tulle_type_size(to.type);
    const tulle_gidx *row = rows ? rows->number + part->layout->row_cut[i] : NULL,
                     *col = cols ? cols->number + part->layout->col_cut[j] : NULL,
                     first_row = whole->layout->row_cut[i], first_col = whole->layout->col_cut[j],
                     *line = by_rows ? row : col, first_line = by_rows ? first_row : first_col;
    for (tulle_gidx l = 0; from.nnz && l < (by_rows ? from.m : from.n); l++)
        copy_line((char *)(uintptr_t)from.val + (size_t)(l * from.ld) * size,
            (char *)to.val + (size_t)((line ? line[l] - first_line : l) * to.ld) * size, by_rows ? from.n : from.m,
            size, by_rows ? col : row, by_rows ? first_col : first_row, to_whole);
}

static void copy_tiles(
    const tulle_mat *part, const tulle__axis *rows, const tulle__axis *cols, tulle_mat *whole, bool to_whole)
{
    if (tulle__is_shape_only(whole->comm)) return;
    for (int i = 0; i < whole->layout->mt; i++)
        for (int j = 0; j < whole->layout->nt; j++)
            if (tulle__tile_is_mine(whole, i, j)) copy_tile(part, rows, cols, whole, i, j, to_whole);
}

tulle_status tulle__dense_lines_new(
    const tulle_mat *X, const tulle__axis *rows, const tulle__axis *cols, tulle_mat **made)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE__SCOPED_BY(tulle__mat_drop_scoped) tulle_mat *M = NULL;
    TULLE_CALL(tulle__compressed_layout(X->layout, rows, cols, &layout));
    TULLE_CALL(tulle__mat_make(X->comm, layout, TULLE_DENSE, X->type, X->order, &M));
    TULLE_CALL(tulle__mat_publish(M));
    *made = M;
    M = NULL;
    return TULLE_OK;
}

tulle_status tulle__dense_lines_gather(
    const tulle_mat *X, const tulle__axis *rows, const tulle__axis *cols, tulle_mat *part)
{
    TULLE_CALL(tulle__mat_resident_bring(X));
    copy_tiles(part, rows, cols, (tulle_mat *)(uintptr_t)X, false); /* X is only read */
    return TULLE_OK;
}

/* All elements times beta, before those of the part overwrite theirs. */
static tulle_status scale(tulle_mat *X, double beta)
{
    tulle__context *context;
    TULLE_CALL(tulle__context_get(X->comm, &context));
    for (int i = 0; i < X->layout->mt; i++)
        for (int j = 0; j < X->layout->nt; j++) {
            if (!tulle__tile_is_mine(X, i, j) || tulle__is_shape_only(X->comm)) continue;
            const tulle_own_tile t = tulle__own_tile_in_place(X, i, j);
            const int64_t lines = t.order == TULLE_ROW_MAJOR ? t.m : t.n;
            if (t.nnz && beta != 1)
                TULLE_CALL(context->kernels->scale(context->pool, t.type, lines, t.nnz / lines, t.ld, beta, t.val));
        }
    return TULLE_OK;
}

tulle_status tulle__dense_lines_scatter(
    const tulle_mat *part, const tulle__axis *rows, const tulle__axis *cols, double beta, tulle_mat *X)
{
    TULLE_CALL(scale(X, beta));
    copy_tiles(part, rows, cols, X, true);
    return TULLE_OK;
}
