/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from the caller's arrays. */
#include <inttypes.h>
#include <string.h>

#include "base/arg.h"
#include "base/bisect.h"
#include "base/error.h"
#include "mat/array/row_ascends.h"
#include "mat/assemble.h"
#include "mat/row_ranges.h"

struct arrays {
    int64_t count;
    const tulle_gidx *row, *col;
    const void *val;
};

static void whole(void *context, int64_t b, tulle__entry_block *block)
{
    const struct arrays *a = context;
    (void)b;
    *block = (tulle__entry_block){.count = a->count, .row = a->row, .col = a->col, .val = a->val, .wide = 1};
}

tulle_status tulle_mat_from_entries(tulle_comm *comm, const tulle_layout *layout, tulle_type type, int64_t count,
    const tulle_gidx *row, const tulle_gidx *col, const void *val, tulle_duplicates duplicates, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(layout) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) ||
        TULLE__NEGATIVE(count) || (count && TULLE__NULL(row)) || (count && TULLE__NULL(col)) ||
        TULLE__OUTSIDE(duplicates, TULLE_DUPLICATES_LAST) || TULLE__NULL(A))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    struct arrays arrays = {count, row, col, val};
    tulle__entry_source source = {.context = &arrays, .nblocks = count > 0, .block = whole};
    tulle__assembly assembly = {.duplicates = duplicates, .compress = true};
    return tulle__assemble(comm, layout, type, &source, &assembly, A);
}

/* Rows as a source of entries, ROW_PIECE entries a block. */
struct rows {
    const tulle_csr_rows *csr;
    size_t value_bytes;
    int64_t *row, *col; /* of one block, widened to 64 bits */
    int by_columns;     /* the arrays are compressed columns, not rows */
};

enum { ROW_PIECE = 4096 };

/* The row of entry e: rowptr[row] <= e < rowptr[row + 1]. */
static tulle_gidx row_of(const tulle_csr_rows *csr, int64_t e)
{
    tulle_gidx low = 0, high = csr->count;
    TULLE__LAST_WHERE(low, high, middle, csr->rowptr[middle] <= e);
    return low;
}

static int64_t column(const tulle_csr_rows *csr, int64_t e)
{
    return csr->colind_bytes == 8 ? ((const int64_t *)csr->colind)[e] : ((const int32_t *)csr->colind)[e];
}

/* Block b: ROW_PIECE entries from rowptr[0] + b * ROW_PIECE. */
static void row_block(void *context, int64_t b, tulle__entry_block *block)
{
    struct rows *rows = context;
    const tulle_csr_rows *csr = rows->csr;
    int64_t from = csr->rowptr[0] + b * ROW_PIECE, to = from + ROW_PIECE;
    if (to > csr->rowptr[csr->count]) to = csr->rowptr[csr->count];
    tulle_gidx low = row_of(csr, from);
    for (int64_t e = from; e < to; e++) {
        while (e >= csr->rowptr[low + 1]) low++;
        rows->row[e - from] = csr->first + low;
        rows->col[e - from] = column(csr, e);
    }
    *block = (tulle__entry_block){.count = to - from,
        .row = rows->by_columns ? rows->col : rows->row,
        .col = rows->by_columns ? rows->row : rows->col,
        .val = csr->val ? (const char *)csr->val + (size_t)from * rows->value_bytes : NULL,
        .wide = 1};
}

static tulle_status check_rows(tulle_comm *comm, tulle_gidx m, tulle_gidx n, const tulle_csr_rows *csr)
{
    if (m < 0 || n < 0 || csr->count < 0 || csr->first < 0 || csr->count > m - csr->first)
        return tulle__fail(TULLE_ERR_ARG,
            "PE %d passes rows %" PRId64 " to %" PRId64 " of a matrix of %" PRId64 " x %" PRId64, comm->rank,
            csr->first, csr->first + csr->count, m, n);
    if (csr->colind_bytes != 4 && csr->colind_bytes != 8)
        return tulle__fail(
            TULLE_ERR_ARG, "column indices have %d bytes: only 4 and 8 are supported", csr->colind_bytes);
    if (!csr->rowptr) return tulle__fail(TULLE_ERR_ARG, "PE %d passes no row pointers: rowptr is NULL", comm->rank);
    int descends = 0; /* looked for in all rows at once, then for where */
    for (tulle_gidx r = 0; r < csr->count; r++) descends |= csr->rowptr[r + 1] < csr->rowptr[r];
    for (tulle_gidx r = 0; descends && r < csr->count; r++)
        if (csr->rowptr[r + 1] < csr->rowptr[r])
            return tulle__fail(
                TULLE_ERR_ARG, "the row pointers descend at row " TULLE__AT TULLE__COUNTED, csr->first + r);
    if (csr->rowptr[0] < 0)
        return tulle__fail(TULLE_ERR_ARG, "PE %d: the first row pointer is %" PRId64, comm->rank, csr->rowptr[0]);
    if (!csr->colind && csr->rowptr[csr->count] > csr->rowptr[0])
        return tulle__fail(TULLE_ERR_ARG, "PE %d passes no column indices: colind is NULL", comm->rank);
    return TULLE_OK;
}

static int can_borrow(tulle_comm *comm, tulle_gidx m, tulle_gidx n, const tulle_csr_rows *csr)
{
    if (!csr->borrow || !csr->val || comm->size > 1 || csr->count != m || csr->rowptr[0] != 0 || n > INT32_MAX)
        return 0;
    if (csr->colind_bytes == 4) return tulle__rows_ascend(csr->colind, csr->rowptr, m, n);
    for (tulle_gidx r = 0; r < m; r++)
        for (int64_t e = csr->rowptr[r], before = -1; e < csr->rowptr[r + 1]; e++) {
            const int64_t c = column(csr, e);
            if (c >= n || c <= before) return 0;
            before = c;
        }
    return 1;
}

/* One tile a PE, with cuts where the rows of consecutive PEs meet. */
static tulle_status layout_of_rows(
    tulle_comm *comm, const char *lines, tulle_gidx m, tulle_gidx n, const tulle_csr_rows *csr, tulle_layout **layout)
{
    TULLE_CALL(check_rows(comm, m, n, csr));
    return tulle__layout_of_ranges(comm, lines, m, n, csr->first, csr->count, layout);
}

static tulle_status borrow(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, const tulle_csr_rows *csr, tulle_mat **A)
{
    const int64_t nnz = csr->rowptr[csr->count];
    TULLE__SCOPED tulle_lidx *narrowed = NULL;
    if (csr->colind_bytes == 8) {
        TULLE_CALL(tulle__alloc((size_t)nnz, sizeof *narrowed, "columns of 32 bits", &narrowed));
        for (int64_t e = 0; e < nnz; e++) narrowed[e] = (tulle_lidx)column(csr, e);
    }
    const tulle_tile tile = {.kind = TULLE_CSR,
        .type = type,
        .nnz = nnz,
        .rowptr = csr->rowptr,
        .colind = narrowed ? narrowed : csr->colind,
        .val = csr->val};
    TULLE_CALL(tulle__mat_borrow(comm, layout, &tile, A));
    (*A)->arrays.narrowed = narrowed;
    narrowed = NULL;
    return TULLE_OK;
}

/* Builds the matrix of the layout from compressed rows or columns. */
static tulle_status assemble_rows(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    const tulle_csr_rows *csr, int by_columns, tulle_mat **A)
{
    struct rows rows = {.csr = csr, .value_bytes = tulle_type_size(type), .by_columns = by_columns};
    tulle_status status = tulle__alloc(ROW_PIECE, sizeof *rows.row, "a block of entries", &rows.row);
    if (status == TULLE_OK) status = tulle__alloc(ROW_PIECE, sizeof *rows.col, "a block of entries", &rows.col);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        int64_t nnz = csr->rowptr[csr->count] - csr->rowptr[0];
        tulle__entry_source source = {&rows, (nnz + ROW_PIECE - 1) / ROW_PIECE, row_block, NULL};
        tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_SUM};
        status = tulle__assemble(comm, layout, type, &source, &assembly, A);
    }
    tulle__free(rows.row);
    tulle__free(rows.col);
    return status;
}

tulle_status tulle_mat_from_csr(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_csr_rows *csr, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL_AS(csr, "rows") || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) ||
        TULLE__NULL(A))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE_CALL(tulle_comm_agree(comm, layout_of_rows(comm, "rows", m, n, csr, &layout)));
    return can_borrow(comm, m, n, csr) ? borrow(comm, layout, type, csr, A)
                                       : assemble_rows(comm, layout, type, csr, 0, A);
}

tulle_status tulle_mat_from_csc(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_csr_rows *columns, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(columns) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(A))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    TULLE__SCOPED_LAYOUT tulle_layout *given = NULL, *layout = NULL;
    tulle_layout_spec spec = {.m = m, .n = n, .grid_rows = comm->size, .grid_cols = 1};
    tulle_status status = layout_of_rows(comm, "columns", n, m, columns, &given); /* checks the arguments */
    if (status == TULLE_OK) status = tulle_layout_new(&spec, comm->size, &layout);
    TULLE_CALL(tulle_comm_agree(comm, status));
    return assemble_rows(comm, layout, type, columns, 1, A);
}

/* Blocks as a source of entries, a batch of blocks at a time. */
struct block_batch {
    const tulle_bsr_rows *bsr;
    const tulle_csr_rows *csr;         /* the structure of blocks, as a CSR matrix */
    int64_t block_values, blocks_each; /* values of a block; blocks of a batch */
    int64_t block_cols;                /* number of block columns */
    size_t value_bytes;
    int64_t *row, *col; /* indices of the batch's entries */
};

static void batch_of_blocks(void *context, int64_t b, tulle__entry_block *block)
{
    struct block_batch *x = context;
    const tulle_csr_rows *csr = x->csr;
    const tulle_bsr_rows *bsr = x->bsr;
    int64_t from = csr->rowptr[0] + b * x->blocks_each, to = from + x->blocks_each, count = 0;
    int by_rows = bsr->order == TULLE_ROW_MAJOR, line = by_rows ? bsr->cols : bsr->rows;
    if (to > csr->rowptr[csr->count]) to = csr->rowptr[csr->count];
    tulle_gidx row = row_of(csr, from);
    for (int64_t e = from; e < to; e++) {
        while (e >= csr->rowptr[row + 1]) row++;
        const int64_t col = column(csr, e);
        /* a column outside becomes an entry outside, which the assembly refuses */
        const int inside = col >= 0 && col < x->block_cols;
        for (int v = 0; v < (int)x->block_values; v++, count++) {
            x->row[count] = (csr->first + row) * bsr->rows + (by_rows ? v / line : v % line);
            x->col[count] = inside ? col * bsr->cols + (by_rows ? v % line : v / line) : -1;
        }
    }
    *block = (tulle__entry_block){.count = count,
        .row = x->row,
        .col = x->col,
        .val = bsr->val ? (const char *)bsr->val + (size_t)(from * x->block_values) * x->value_bytes : NULL,
        .wide = 1};
}

/* The layout in blocks, and the layout of the matrix. */
static tulle_status layouts_of_blocks(tulle_comm *comm, tulle_gidx m, tulle_gidx n, const tulle_bsr_rows *bsr,
    const tulle_csr_rows *csr, tulle_layout **given, tulle_layout **layout)
{
    if (bsr->rows < 1 || bsr->cols < 1 || bsr->rows > ROW_PIECE / bsr->cols || m % bsr->rows || n % bsr->cols)
        return tulle__fail(TULLE_ERR_ARG,
            "blocks of %d x %d in a matrix of %" PRId64 " x %" PRId64
            ": blocks must divide it and hold at most %d values",
            bsr->rows, bsr->cols, m, n, ROW_PIECE);
    if (bsr->order != TULLE_ROW_MAJOR && bsr->order != TULLE_COL_MAJOR)
        return tulle__fail(TULLE_ERR_ARG, "unknown order %d of the values of a block", (int)bsr->order);
    TULLE_CALL(layout_of_rows(comm, "block rows", m / bsr->rows, n / bsr->cols, csr, given));
    for (int r = 0; r <= comm->size; r++) (*given)->row_cut[r] *= bsr->rows; /* scaled for the copy made below */
    tulle_layout_spec spec = {.m = m, .n = n, .grid_rows = comm->size, .grid_cols = 1, .row_cut = (*given)->row_cut};
    return tulle_layout_new(&spec, comm->size, layout);
}

tulle_status tulle_mat_from_bsr(
    tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_bsr_rows *bsr, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL_AS(bsr, "rows") || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) ||
        TULLE__NULL(A))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    tulle_status status;
    tulle_layout *given = NULL, *layout = NULL;
    tulle_csr_rows csr = {.first = bsr->first,
        .count = bsr->count,
        .rowptr = bsr->rowptr,
        .colind = bsr->colind,
        .colind_bytes = bsr->colind_bytes};
    struct block_batch x = {.bsr = bsr, .csr = &csr, .value_bytes = tulle_type_size(type)};
    TULLE_TRY(layouts_of_blocks(comm, m, n, bsr, &csr, &given, &layout));
    x.block_values = (int64_t)bsr->rows * bsr->cols;
    x.blocks_each = ROW_PIECE / x.block_values;
    x.block_cols = n / bsr->cols;
    TULLE_TRY(tulle__alloc(ROW_PIECE, sizeof *x.row, "a block of entries", &x.row));
    TULLE_TRY(tulle__alloc(ROW_PIECE, sizeof *x.col, "a block of entries", &x.col));
out:
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        int64_t blocks = csr.rowptr[csr.count] - csr.rowptr[0];
        tulle__entry_source source = {&x, (blocks + x.blocks_each - 1) / x.blocks_each, batch_of_blocks, NULL};
        tulle__assembly assembly = {.duplicates = TULLE_DUPLICATES_SUM, .drop_zeros = bsr->drop_zeros};
        status = tulle__assemble(comm, layout, type, &source, &assembly, A);
    }
    tulle__free(x.row);
    tulle__free(x.col);
    tulle_layout_free(given);
    tulle_layout_free(layout);
    return status;
}
