/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/block_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "tile/tile_blocks.h"

tulle_status tulle__block_rows_init(tulle__block_rows *rows, const tulle_mat *A)
{
    tulle_gidx count = A->layout->row_blocks.count;
    *rows = (tulle__block_rows){.A = A};
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *rows->slot, "block rows", &rows->slot));
    memset(rows->slot, 0xff, (size_t)count * sizeof *rows->slot);
    return TULLE_OK;
}

void tulle__block_rows_fini(tulle__block_rows *rows)
{
    for (int64_t p = 0; p < rows->pools; p++) tulle__free(rows->pool[p]);
    tulle__free(rows->pool);
    tulle__free(rows->slot);
    tulle__free(rows->row);
    *rows = (tulle__block_rows){.A = NULL};
}

int64_t tulle__block_row_find(const tulle__block_row *row, tulle_gidx col)
{
    int64_t low = 0, high = row->count;
    TULLE__PARTITION_POINT(low, high, middle, row->col[middle] < col);
    return low < row->count && row->col[low] == col ? low : -1;
}

static tulle__blocks_offsets offsets_of(const tulle_mat *A, int i)
{
    const tulle__tile_record *record = &A->directory[tulle__tile_index(A, i, 0)];
    return tulle__vbsr_offsets_of(tulle__tile_block_rows(A, i), record->blocks, record->nnz, A->type);
}

uint64_t tulle__block_rows_values_at(const tulle_mat *A, int i)
{
    return offsets_of(A, i).val;
}

/* Memory that lives as long as the rows. */
static tulle_status keep(tulle__block_rows *rows, size_t count, size_t size, void *array)
{
    TULLE_CALL(tulle__grow(rows->pools, &rows->pool_capacity, 16, sizeof *rows->pool, "block rows", &rows->pool));
    TULLE_CALL(tulle__alloc(count, size, "patterns of block rows", &rows->pool[rows->pools]));
    memcpy(array, &rows->pool[rows->pools], sizeof(void *));
    rows->pools++;
    return TULLE_OK;
}

/* Rows of a mapped tile. */
static void read_in_place(tulle__block_rows *rows, int64_t begin, int64_t end)
{
    const tulle_mat *A = rows->A;
    int i = rows->row[begin].tile;
    tulle_tile tile = tulle__tile_in_place(A, i, 0);
    for (int64_t k = begin; k < end; k++) {
        tulle__block_row *row = &rows->row[k];
        int64_t local = row->row - A->layout->row_blocks.first[i];
        row->first = tile.rowptr[local];
        row->count = tile.rowptr[local + 1] - row->first;
        row->col = tile.colind + row->first;
        row->offset = tile.offset + row->first;
        row->val = tile.val;
    }
}

/* Fetches row pointers, then columns and offsets. */
static tulle_status fetch(tulle__block_rows *rows, int64_t begin, int64_t end)
{
    const tulle_mat *A = rows->A;
    int i = rows->row[begin].tile, n = (int)(end - begin), group = tulle__comm_group(A->comm);
    const tulle__place *place = &A->directory[tulle__tile_index(A, i, 0)].place;
    tulle__blocks_offsets at = offsets_of(A, i);
    TULLE__SCOPED tulle__range *range = NULL;
    TULLE__SCOPED int64_t *pointer = NULL;
    int64_t *offset, blocks = 0;
    tulle_lidx *col;
    TULLE_CALL(tulle__alloc(2 * (size_t)n, sizeof *range, "ranges of block rows", &range));
    TULLE_CALL(tulle__alloc(2 * (size_t)n, sizeof *pointer, "row pointers", &pointer));
    for (int k = 0; k < n; k++) {
        int64_t local = rows->row[begin + k].row - A->layout->row_blocks.first[i];
        range[k] = (tulle__range){(uint64_t)local * sizeof *pointer, pointer + 2 * k, 2 * sizeof *pointer};
    }
    (void)tulle__getv(A->comm, group, place, n, range);
    TULLE_CALL(tulle__wait(A->comm, group));
    for (int k = 0; k < n; k++) blocks += pointer[2 * k + 1] - pointer[2 * k];
    TULLE_CALL(keep(rows, (size_t)blocks, sizeof *col, &col));
    TULLE_CALL(keep(rows, (size_t)(blocks + n), sizeof *offset, &offset));
    for (int k = 0; k < n; k++) {
        tulle__block_row *row = &rows->row[begin + k];
        row->first = pointer[2 * k];
        row->count = pointer[2 * k + 1] - row->first;
        row->col = col;
        row->offset = offset;
        range[2 * k] =
            (tulle__range){at.colind + (uint64_t)row->first * sizeof *col, col, (size_t)row->count * sizeof *col};
        range[2 * k + 1] = (tulle__range){
            at.offset + (uint64_t)row->first * sizeof *offset, offset, (size_t)(row->count + 1) * sizeof *offset};
        col += row->count;
        offset += row->count + 1;
    }
    (void)tulle__getv(A->comm, group, place, 2 * n, range);
    TULLE_CALL(tulle__wait(A->comm, group));
    rows->bytes += (int64_t)((size_t)blocks * (sizeof *col + sizeof *offset) + (size_t)n * 3 * sizeof *offset);
    return TULLE_OK;
}

static int compare(const void *left, const void *right)
{
    const tulle__block_row *x = left, *y = right;
    return (x->row > y->row) - (x->row < y->row);
}

tulle_status tulle__block_rows_require(tulle__block_rows *rows, int64_t n, const int32_t *list)
{
    enum { PENDING = -2 };
    tulle_status status = TULLE_OK;
    const tulle_mat *A = rows->A;
    int64_t fresh = 0, first = rows->count;
    for (int64_t k = 0; k < n; k++) {
        if (rows->slot[list[k]] != -1) continue;
        rows->slot[list[k]] = PENDING;
        fresh++;
    }
    if (!fresh) return TULLE_OK;
    if (first + fresh > rows->capacity) {
        int64_t capacity =
            rows->capacity + rows->capacity / 2 > first + fresh ? rows->capacity + rows->capacity / 2 : first + fresh;
        status = tulle__realloc((size_t)capacity, sizeof *rows->row, "block rows", &rows->row);
        if (status == TULLE_OK) rows->capacity = capacity;
    }
    for (int64_t k = 0; k < n; k++) {
        if (rows->slot[list[k]] != PENDING) continue;
        rows->slot[list[k]] = -1;
        if (status != TULLE_OK) continue;
        rows->row[rows->count++] = (tulle__block_row){
            .row = list[k], .tile = tulle__layout_find(A->layout->row_blocks.first, A->layout->mt, list[k])};
    }
    if (status != TULLE_OK) return status;
    qsort(rows->row + first, (size_t)fresh, sizeof *rows->row, compare);
    for (int64_t begin = first, end; begin < rows->count; begin = end) {
        int tile = rows->row[begin].tile;
        for (end = begin + 1; end < rows->count && rows->row[end].tile == tile; end++) {
        }
        if (!A->directory[tulle__tile_index(A, tile, 0)].place.length) continue; /* no blocks */
        if (tulle__tile_mapped(A, tile, 0))
            read_in_place(rows, begin, end);
        else
            TULLE_TRY(fetch(rows, begin, end));
    }
    for (int64_t k = first; k < rows->count; k++) rows->slot[rows->row[k].row] = (int32_t)k;
out:
    if (status != TULLE_OK) rows->count = first;
    return status;
}
