/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diagonal blocks of a matrix in external storage. Each PE sweeps over the rows of an even
 * share; in a half matrix these start at the share's first diagonal block. Rows and entries may be
 * blocks (mat/rows.h).
 */
#include <string.h>

#include <tulle/stream.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/mat.h"
#include "mat/sweep/rows_sweep.h"

/* The blocks found, in the order of the file, for rows first .. first + rows - 1 of the result. */
struct found {
    tulle_type values, type; /* of the file, of the result */
    int64_t *row;
    int32_t *colind;
    char *val;
    int64_t nnz, capacity;
    tulle_gidx first, rows, n;
};

static tulle_status grow(struct found *f)
{
    int64_t capacity = f->capacity + f->capacity / 2 + f->rows + 1;
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *f->row, "diagonal blocks", &f->row));
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *f->colind, "diagonal blocks", &f->colind));
    TULLE_CALL(tulle__realloc((size_t)capacity, tulle_type_size(f->type), "diagonal blocks", &f->val));
    f->capacity = capacity;
    return TULLE_OK;
}

static tulle_status keep(struct found *f, tulle_gidx row, tulle_gidx column, const char *value)
{
    if (row < f->first || row >= f->first + f->rows) return TULLE_OK;
    if (f->nnz == f->capacity) {
        TULLE_CALL(grow(f));
    }
    f->row[f->nnz] = row;
    f->colind[f->nnz] = (int32_t)column;
    if (f->type == f->values)
        memcpy(f->val + (size_t)f->nnz * tulle_type_size(f->type), value, tulle_type_size(f->type));
    else /* the result has the wider type */
        ((double *)(void *)f->val)[f->nnz] = (double)*(const float *)(const void *)value;
    f->nnz++;
    return TULLE_OK;
}

/*
 * Stores an entry of the file, b x b values from (row, column) on; mirrors it if it is above the
 * diagonal.
 */
static tulle_status keep_block(
    struct found *f, int b, tulle_gidx row, tulle_gidx column, const char *value, int block, int mirrored)
{
    size_t size = tulle_type_size(f->values);
    for (int i = 0; i < b; i++)
        for (int j = 0; j < b; j++, value += size) {
            if ((row + i) / block != (column + j) / block || row + i >= f->n || column + j >= f->n) continue;
            tulle_status status = keep(f, row + i, column + j, value);
            if (status == TULLE_OK && mirrored) status = keep(f, column + j, row + i, value);
            if (status != TULLE_OK) return status;
        }
    return TULLE_OK;
}

/* The functions that a sweep calls with its pieces. */
struct search {
    int block;
    struct found *found;
};

static tulle_status look_through(void *context, const tulle_rows *rows, const tulle__rows_piece *piece)
{
    const struct search *search = context;
    const int block = search->block, b = rows->block;
    size_t size = (size_t)(b * b) * tulle_type_size(rows->values);
    for (tulle_gidx r = 0; r < piece->rows; r++) {
        tulle_gidx line = piece->row + r;
        tulle_gidx begin = line * b / block * block, end = ((line + 1) * b - 1) / block * block + block;
        for (int64_t e = piece->pointers[r]; e < piece->pointers[r + 1]; e++) {
            tulle_gidx at = (tulle_gidx)piece->colind[e] * b;
            if (at + b <= begin || at >= end) continue;
            int mirrored = rows->half && piece->colind[e] > line;
            TULLE_CALL(keep_block(search->found, b, line * b, at, piece->val + (size_t)e * size, block, mirrored));
        }
    }
    return TULLE_OK;
}

/* Finds the blocks of this PE's rows. Local. */
static tulle_status find(tulle_rows *rows, int block, struct found *f)
{
    struct search search = {block, f};
    tulle_gidx first = rows->half ? f->first / block * block : f->first, b = rows->block;
    tulle_gidx begin = first / b, end = f->rows ? (f->first + f->rows + b - 1) / b : begin;
    TULLE_CALL(grow(f));
    return tulle__rows_sweep(rows, begin, end, "reading the diagonal", look_through, &search);
}

/* A tile of the result. */
struct sorted {
    int64_t *rowptr;
    int32_t *colind;
    char *val;
};

/* Sorts a short row by columns. */
static void sort_row(int64_t n, size_t size, int32_t *colind, char *val)
{
    char held[sizeof(double)];
    for (int64_t i = 1; i < n; i++) {
        int32_t column = colind[i];
        int64_t place = i;
        while (place > 0 && colind[place - 1] > column) place--;
        memcpy(held, val + (size_t)i * size, size);
        memmove(colind + place + 1, colind + place, (size_t)(i - place) * sizeof *colind);
        memmove(val + (size_t)(place + 1) * size, val + (size_t)place * size, (size_t)(i - place) * size);
        colind[place] = column;
        memcpy(val + (size_t)place * size, held, size);
    }
}

/* Counting sort by rows, then each row by columns. */
static tulle_status sort(const struct found *f, struct sorted *to)
{
    size_t size = tulle_type_size(f->type), most = (size_t)f->nnz + 1;
    TULLE_CALL(tulle__alloc_zero((size_t)f->rows + 2, sizeof *to->rowptr, "row pointers", &to->rowptr));
    TULLE_CALL(tulle__alloc(most, sizeof *to->colind, "diagonal blocks", &to->colind));
    TULLE_CALL(tulle__alloc(most, size, "diagonal blocks", &to->val));
    int64_t *at = to->rowptr + 1; /* starts of rows, which advance to their ends */
    for (int64_t e = 0; e < f->nnz; e++) at[f->row[e] - f->first + 1]++;
    for (tulle_gidx r = 0; r < f->rows; r++) at[r + 1] += at[r];
    for (int64_t e = 0; e < f->nnz; e++) {
        int64_t place = at[f->row[e] - f->first]++;
        to->colind[place] = f->colind[e];
        memcpy(to->val + (size_t)place * size, f->val + (size_t)e * size, size);
    }
    for (tulle_gidx r = 0; r < f->rows; r++)
        sort_row(to->rowptr[r + 1] - to->rowptr[r], size, to->colind + to->rowptr[r],
            to->val + (size_t)to->rowptr[r] * size);
    return TULLE_OK;
}

tulle_status tulle_rows_diagonal(tulle_rows *rows, int block, tulle_mat **D)
{
    if (TULLE__NULL(rows) || TULLE__NULL(D)) return tulle__refuse(rows ? rows->comm : NULL);
    tulle_comm *comm = rows->comm;
    struct found f = {.values = rows->values, .type = rows->type, .n = rows->n};
    struct sorted sorted = {.rowptr = NULL};
    tulle_layout *layout = NULL;
    tulle_mat *made = NULL;
    tulle_status status = TULLE_OK;
    tulle_layout_spec spec = {.m = rows->m, .n = rows->n, .grid_rows = comm->size, .grid_cols = 1};
    if (block < 1) status = tulle__fail(TULLE_ERR_ARG, "no diagonal blocks of %d rows", block);
    if (status == TULLE_OK && rows->m != rows->n)
        status = tulle__fail(
            TULLE_ERR_ARG, "diagonal blocks of a matrix of %lld x %lld", (long long)rows->m, (long long)rows->n);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, comm->size, &layout);
    TULLE_TRY(tulle_comm_agree(comm, status));
    f.first = layout->row_cut[comm->rank];
    f.rows = layout->row_cut[comm->rank + 1] - f.first;
    status = find(rows, block, &f);
    if (status == TULLE_OK) status = sort(&f, &sorted);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_mat_new_csr(comm, layout, rows->type, &made));
    status = tulle_mat_replace(made, comm->rank, 0, sorted.rowptr, sorted.colind, sorted.val);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_mat_renew(made));
    *D = made;
    made = NULL;
out:
    tulle_mat_free(made);
    tulle_layout_free(layout);
    tulle__free(f.row);
    tulle__free(f.colind);
    tulle__free(f.val);
    tulle__free(sorted.rowptr);
    tulle__free(sorted.colind);
    tulle__free(sorted.val);
    return status;
}
