/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/stage/selected_tiles.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/fetch.h"

void tulle__selected_tile_drop(tulle__selected_tile *tile)
{
    tulle__free(tile->rowptr);
    tulle__free(tile->col);
    tulle__free(tile->val);
    *tile = (tulle__selected_tile){.nnz = 0};
}

/* Room for `more` entries behind those that are there. */
static tulle_status reserve(tulle__selected_tile *t, int64_t more, size_t size)
{
    const int64_t needed = t->nnz + more;
    if (needed <= t->capacity) return TULLE_OK;
    const int64_t capacity = needed + needed / 2;
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *t->col, "selected columns", &t->col));
    TULLE_CALL(tulle__realloc((size_t)capacity, size, "selected values", &t->val));
    t->capacity = capacity;
    return TULLE_OK;
}

static void append(tulle__selected_tile *t, int64_t count, const int32_t *col, const char *val, size_t size)
{
    if (!count) return;
    memcpy(t->col + t->nnz, col, (size_t)count * sizeof *col);
    memcpy(t->val + (size_t)t->nnz * size, val, (size_t)count * size);
    t->nnz += count;
}

static int64_t begin_of(const int64_t *rowptr, tulle_gidx r)
{
    return rowptr ? rowptr[r] : 0;
}

static int64_t length_of(const int64_t *rowptr, tulle_gidx r)
{
    return rowptr ? rowptr[r + 1] - rowptr[r] : 0;
}

tulle_status tulle__selected_tile_join(const tulle__row_selection *top, const tulle__row_selection *first,
    const tulle__selected_tile *held, const tulle_tile *tile, tulle__selected_tile *joined)
{
    tulle_status status;
    const size_t size = tulle_type_size(tile->type);
    *joined = (tulle__selected_tile){.nnz = 0};
    TULLE_TRY(tulle__alloc((size_t)tile->m + 1, sizeof *joined->rowptr, "selected rows", &joined->rowptr));
    joined->rowptr[0] = 0;
    for (tulle_gidx r = 0; r < tile->m; r++) {
        const int64_t e = begin_of(tile->rowptr, r), count = length_of(tile->rowptr, r),
                      before = begin_of(held->rowptr, r), old = length_of(held->rowptr, r), at = joined->nnz;
        TULLE_TRY(reserve(joined, old + count, size));
        if (old) append(joined, old, held->col + before, held->val + (size_t)before * size, size);
        if (count) append(joined, count, tile->colind + e, (const char *)tile->val + (size_t)e * size, size);
        if (first)
            joined->nnz = at + old +
                          tulle__select_entries(first, tile->type, r, count, joined->col + at + old,
                              joined->val + (size_t)(at + old) * size);
        joined->nnz = at + tulle__select_entries(
                               top, tile->type, r, joined->nnz - at, joined->col + at, joined->val + (size_t)at * size);
        joined->rowptr[r + 1] = joined->nnz;
    }
out:
    if (status != TULLE_OK) tulle__selected_tile_drop(joined);
    return status;
}

tulle_status tulle__selected_tile_place(tulle_mat *C, int i, int j, const tulle__selected_tile *held)
{
    const size_t rows = (size_t)tulle__tile_rows(C, i), nnz = (size_t)held->nnz;
    tulle__csr_result to = {.nnz = 0};
    TULLE_CALL(tulle__mat_place_result(C, i, j, held->nnz, &to));
    memcpy(to.rowptr, held->rowptr, (rows + 1) * sizeof *to.rowptr);
    if (!nnz) return TULLE_OK;
    memcpy(to.colind, held->col, nnz * sizeof *to.colind);
    memcpy(to.val, held->val, nnz * tulle_type_size(C->type));
    return TULLE_OK;
}

/* ---- whole rows ---- */

/* The tiles of a tile row, and room for a row of them. */
struct tile_row {
    tulle__fetch *fetch;
    tulle_tile *tile;
    int32_t *place; /* of an entry in the row, in the order of columns */
    char *val;
    int64_t capacity;
};

static tulle_status fetch_tiles(const tulle_mat *C, int i, struct tile_row *row)
{
    for (int j = 0; j < C->layout->nt; j++) TULLE_CALL(tulle__fetch_init(C, i, j, &row->fetch[j]));
    for (int j = 0; j < C->layout->nt; j++) TULLE_CALL(tulle__fetch_await(&row->fetch[j], &row->tile[j]));
    return TULLE_OK;
}

/* Candidates of row r in places 0, 1, ..., and the first place of each tile, of which `selected` is nt + 1 long. */
static tulle_status gather(const tulle_mat *C, tulle_gidx r, struct tile_row *row, int64_t *first)
{
    const size_t size = tulle_type_size(C->type);
    int64_t count = 0;
    for (int j = 0; j < C->layout->nt; j++) {
        first[j] = count;
        count += length_of(row->tile[j].rowptr, r);
    }
    first[C->layout->nt] = count;
    if (count > row->capacity) {
        TULLE_CALL(tulle__realloc((size_t)count, sizeof *row->place, "candidates of a row", &row->place));
        TULLE_CALL(tulle__realloc((size_t)count, size, "candidates of a row", &row->val));
        row->capacity = count;
    }
    for (int64_t e = 0; e < count; e++) row->place[e] = (int32_t)e;
    for (int j = 0; j < C->layout->nt; j++)
        if (first[j] < first[j + 1])
            memcpy(row->val + (size_t)first[j] * size,
                (const char *)row->tile[j].val + (size_t)row->tile[j].rowptr[r] * size,
                (size_t)(first[j + 1] - first[j]) * size);
    return TULLE_OK;
    return TULLE_OK;
}

/* Adds the selected entries of row r to those of the tiles that are mine. */
static tulle_status divide(const tulle_mat *C, int i, tulle_gidx r, const struct tile_row *row, const int64_t *first,
    int64_t count, tulle__selected_tile *own)
{
    const size_t size = tulle_type_size(C->type);
    int64_t e = 0;
    for (int j = 0; j < C->layout->nt; j++) {
        const bool mine = tulle__tile_is_mine(C, i, j);
        if (mine) TULLE_CALL(reserve(&own[j], first[j + 1] - first[j], size));
        for (; e < count && row->place[e] < first[j + 1]; e++)
            if (mine)
                append(&own[j], 1, row->tile[j].colind + row->tile[j].rowptr[r] + row->place[e] - first[j],
                    row->val + (size_t)e * size, size);
        if (mine) own[j].rowptr[r + 1] = own[j].nnz;
    }
    return TULLE_OK;
}

static tulle_status select_tile_row(tulle_mat *C, int i, const tulle__row_selection *top, struct tile_row *row,
    int64_t *first, tulle__selected_tile *own)
{
    tulle_status status;
    const tulle_gidx m = tulle__tile_rows(C, i);
    TULLE_TRY(fetch_tiles(C, i, row));
    for (int j = 0; j < C->layout->nt; j++)
        if (tulle__tile_is_mine(C, i, j))
            TULLE_TRY(tulle__alloc_zero((size_t)m + 1, sizeof *own[j].rowptr, "selected rows", &own[j].rowptr));
    for (tulle_gidx r = 0; r < m; r++) {
        TULLE_TRY(gather(C, r, row, first));
        const int64_t count = tulle__select_entries(top, C->type, r, first[C->layout->nt], row->place, row->val);
        TULLE_TRY(divide(C, i, r, row, first, count, own));
    }
    for (int j = 0; j < C->layout->nt; j++)
        if (tulle__tile_is_mine(C, i, j)) TULLE_TRY(tulle__selected_tile_place(C, i, j, &own[j]));
out:
    for (int j = 0; j < C->layout->nt; j++) {
        tulle__fetch_fini(&row->fetch[j]);
        row->fetch[j] = (tulle__fetch){.group = -1};
        tulle__selected_tile_drop(&own[j]);
    }
    return status;
}

static bool has_own_tile(const tulle_mat *C, int i)
{
    for (int j = 0; j < C->layout->nt; j++)
        if (tulle__tile_is_mine(C, i, j)) return true;
    return false;
}

tulle_status tulle__select_across(tulle_mat *C, const tulle__row_selection *top)
{
    tulle_status status;
    const size_t tiles = (size_t)C->layout->nt;
    struct tile_row row = {.capacity = 0};
    tulle__selected_tile *own = NULL;
    int64_t *first = NULL;
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *row.fetch, "tiles of a row", &row.fetch));
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *row.tile, "tiles of a row", &row.tile));
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *own, "tiles of a row", &own));
    TULLE_TRY(tulle__alloc_zero(tiles + 1, sizeof *first, "tiles of a row", &first));
    for (size_t j = 0; j < tiles; j++) row.fetch[j].group = -1;
    for (int i = 0; i < C->layout->mt; i++)
        if (has_own_tile(C, i)) TULLE_TRY(select_tile_row(C, i, top, &row, first, own));
out:
    tulle__free(row.fetch);
    tulle__free(row.tile);
    tulle__free(row.place);
    tulle__free(row.val);
    tulle__free(own);
    tulle__free(first);
    return status;
}
