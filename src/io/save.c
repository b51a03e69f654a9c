/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributed matrices into files: PE 0 reads the tiles of everyone, a tile row at a time, and writes. The others meet
 * it at the end, so that nobody changes a tile that is still to be written.
 */
#include <stdio.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "io/binsparse.h"
#include "io/load.h"
#include "io/mtx_write.h"
#include "io/npy.h"
#include "io/operand.h"
#include "io/save.h"
#include "mat/fetch.h"

enum { FLUSH = 1 << 20 };

/* The tiles of tile row i. */
struct band {
    tulle__fetch *fetch;
    tulle_tile *tile;
    int n;
};

static void band_fini(struct band *band)
{
    for (int j = 0; band->fetch && j < band->n; j++) tulle__fetch_fini(&band->fetch[j]);
    tulle__free(band->fetch);
    tulle__free(band->tile);
    *band = (struct band){.n = 0};
}

static tulle_status band_init(tulle_mat *A, int i, struct band *band)
{
    tulle_status status;
    *band = (struct band){.n = A->layout->nt};
    TULLE_TRY(tulle__alloc_zero((size_t)band->n, sizeof *band->fetch, "a tile row", &band->fetch));
    TULLE_TRY(tulle__alloc((size_t)band->n, sizeof *band->tile, "a tile row", &band->tile));
    for (int j = 0; j < band->n; j++) TULLE_TRY(tulle__fetch_init(A, i, j, &band->fetch[j]));
    for (int j = 0; j < band->n; j++) TULLE_TRY(tulle__fetch_await(&band->fetch[j], &band->tile[j]));
out:
    return status;
}

static const void *at(const tulle_tile *t, int64_t e)
{
    return (const char *)t->val + (size_t)e * tulle_type_size(t->type);
}

tulle_status tulle__save_rows(tulle_mat *A, const tulle__row_sink *sink)
{
    tulle_status status = TULLE_OK;
    struct band band = {.n = 0};
    const tulle_layout *l = A->layout;
    tulle__meter *meter = tulle__comm_meter(A->comm, 0);
    int64_t done = 0;
    tulle__meter_start(meter, "writing", "entries", A->nnz);
    for (int i = 0; i < l->mt; i++) {
        TULLE_TRY(band_init(A, i, &band));
        for (tulle_gidx r = 0; r < l->row_cut[i + 1] - l->row_cut[i]; r++) {
            for (int j = 0; j < l->nt; j++) {
                const tulle_tile *t = &band.tile[j];
                if (!t->rowptr || t->rowptr[r] == t->rowptr[r + 1]) continue;
                int64_t from = t->rowptr[r], n = t->rowptr[r + 1] - from;
                TULLE_TRY(
                    sink->take(sink->context, l->row_cut[i] + r, n, l->col_cut[j], t->colind + from, at(t, from)));
                done += n;
            }
            tulle__meter_set(meter, done, A->nnz);
        }
        band_fini(&band);
    }
out:
    tulle__meter_stop(meter, status == TULLE_OK);
    band_fini(&band);
    return status;
}

struct mtx_rows {
    const tulle__mtx_shape *shape;
    tulle__mtx_writer *writer;
    tulle__mtx_text text;
};

static tulle_status flush(struct mtx_rows *rows)
{
    tulle_status status = tulle__mtx_writer_append(rows->writer, &rows->text);
    rows->text.bytes = 0;
    rows->text.entries = 0;
    return status;
}

static tulle_status take_text(void *context, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val)
{
    struct mtx_rows *rows = context;
    tulle_status status = tulle__mtx_format_row(rows->shape, row, n, base, col, val, &rows->text);
    return status == TULLE_OK && rows->text.bytes > FLUSH ? flush(rows) : status;
}

tulle_status tulle__save_mtx_rows(tulle_mat *A, const tulle__mtx_shape *shape, tulle__mtx_writer *writer)
{
    struct mtx_rows rows = {.shape = shape, .writer = writer};
    tulle_status status = tulle__save_rows(A, &(tulle__row_sink){take_text, &rows});
    if (status == TULLE_OK && rows.text.entries) status = flush(&rows);
    tulle__mtx_text_fini(&rows.text);
    return status;
}

/* All of a dense matrix in one piece, in the given order. */
static tulle_status gather_dense(tulle_mat *A, tulle_order order, char **all)
{
    tulle_status status;
    const tulle_layout *l = A->layout;
    size_t size = tulle_type_size(A->type);
    struct band band = {.n = 0};
    *all = NULL;
    TULLE_TRY(tulle__alloc((size_t)l->m * (size_t)l->n, size, "the whole matrix", all));
    for (int i = 0; i < l->mt; i++) {
        TULLE_TRY(band_init(A, i, &band));
        for (int j = 0; j < l->nt; j++) {
            const tulle_tile *t = &band.tile[j];
            for (tulle_gidx r = 0; t->nnz && r < t->m; r++)
                for (tulle_gidx c = 0; c < t->n; c++) {
                    tulle_gidx row = l->row_cut[i] + r, col = l->col_cut[j] + c;
                    int64_t from = t->order == TULLE_ROW_MAJOR ? r * t->ld + c : c * t->ld + r;
                    int64_t to = order == TULLE_ROW_MAJOR ? row * l->n + col : col * l->m + row;
                    memcpy(*all + (size_t)to * size, at(t, from), size);
                }
        }
        band_fini(&band);
    }
out:
    band_fini(&band);
    return status;
}

static tulle_status write_array(
    const tulle__mtx_shape *shape, const char *all, tulle__meter *meter, tulle__mtx_writer *writer)
{
    enum { VALUES = 1 << 16 };
    tulle_status status = TULLE_OK;
    tulle__mtx_text text = {0};
    tulle__meter_start(meter, "writing", "values", shape->stored);
    for (int64_t v = 0; v < shape->stored; v += VALUES) {
        int64_t n = shape->stored - v < VALUES ? shape->stored - v : VALUES;
        text.bytes = 0;
        text.entries = 0;
        TULLE_TRY(tulle__mtx_format_array(shape, n, all + (size_t)v * tulle_type_size(shape->type), &text));
        TULLE_TRY(tulle__mtx_writer_append(writer, &text));
        tulle__meter_set(meter, v + n, shape->stored);
    }
out:
    tulle__meter_stop(meter, status == TULLE_OK);
    tulle__mtx_text_fini(&text);
    return status;
}

int tulle__save_level(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0 ? 6 : 0;
}

static tulle_status save_mtx(tulle_mat *A, const char *path)
{
    tulle__mtx_shape shape = {.rows = A->layout->m,
        .cols = A->layout->n,
        .stored = A->nnz,
        .type = A->type,
        .field = TULLE__MTX_REAL,
        .symmetry = TULLE__MTX_GENERAL,
        .array = A->kind == TULLE_DENSE};
    tulle__mtx_writer *writer;
    if (shape.array) shape.stored = shape.rows * shape.cols;
    tulle_status status = tulle__mtx_writer_open(path, &shape, tulle__save_level(path), &writer);
    if (status != TULLE_OK) return status;
    if (!shape.array) {
        status = tulle__save_mtx_rows(A, &shape, writer);
    } else {
        char *all;
        status = gather_dense(A, TULLE_COL_MAJOR, &all);
        if (status == TULLE_OK) status = write_array(&shape, all, tulle__comm_meter(A->comm, 0), writer);
        tulle__free(all);
    }
    if (status == TULLE_OK) return tulle__mtx_writer_close(writer, 0);
    tulle__mtx_writer_abort(writer);
    return status;
}

static tulle_status save_npy(tulle_mat *A, const char *path)
{
    char *all = NULL;
    tulle__npy_writer *writer;
    if (A->kind != TULLE_DENSE)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s: a sparse matrix does not go into a .npy file; use .bsp.h5 or .mtx", path);
    tulle_status status = tulle__npy_writer_open(path, A->layout->m, A->layout->n, A->type, TULLE_ROW_MAJOR, &writer);
    if (status != TULLE_OK) return status;
    status = gather_dense(A, TULLE_ROW_MAJOR, &all);
    if (status == TULLE_OK) status = tulle__npy_writer_append(writer, all, A->layout->m * A->layout->n);
    tulle__free(all);
    if (status == TULLE_OK) return tulle__npy_writer_close(writer, 0);
    tulle__npy_writer_abort(writer);
    return status;
}

struct binsparse_rows {
    tulle__binsparse_writer *writer;
    size_t size; /* of a value */
};

static tulle_status take_entries(
    void *context, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val)
{
    const struct binsparse_rows *rows = context;
    const char *value = val;
    tulle_status status = TULLE_OK;
    for (int64_t e = 0; e < n && status == TULLE_OK; e++)
        status = tulle__binsparse_put(rows->writer, row, base + col[e], value + (size_t)e * rows->size);
    return status;
}

static tulle_status write_binsparse(tulle_mat *A, tulle__binsparse_writer *writer)
{
    struct binsparse_rows rows = {writer, tulle_type_size(A->type)};
    tulle_status status = tulle__save_rows(A, &(tulle__row_sink){take_entries, &rows});
    return status == TULLE_OK ? tulle__binsparse_put_end(writer) : status;
}

static tulle_status write_dense_binsparse(tulle_mat *A, tulle__binsparse_writer *writer)
{
    char *all = NULL;
    tulle_status status = gather_dense(A, A->order, &all);
    if (status == TULLE_OK) status = tulle__binsparse_write_values(writer, 0, A->layout->m * A->layout->n, all);
    tulle__free(all);
    return status;
}

static tulle_status save_binsparse(tulle_mat *A, const char *path)
{
    tulle__binsparse_writer *writer;
    tulle_gidx m = A->layout->m, n = A->layout->n;
    int dense = A->kind == TULLE_DENSE;
    tulle__binsparse_sparse sparse = {.rows = m, .cols = n, .count = A->nnz, .type = A->type, .wide = n > INT32_MAX};
    tulle_status status = dense ? tulle__binsparse_writer_open_dense(path, m, n, A->type, A->order, &writer)
                                : tulle__binsparse_writer_open(path, &sparse, &writer);
    if (status != TULLE_OK) return status;
    status = dense ? write_dense_binsparse(A, writer) : write_binsparse(A, writer);
    if (status == TULLE_OK) return tulle__binsparse_writer_close(writer, 0);
    tulle__binsparse_writer_abort(writer);
    return status;
}

tulle_status tulle_mat_save(tulle_mat *A, const char *path)
{
    if (TULLE__NULL(A) || TULLE__NULL(path)) return tulle__refuse(A ? A->comm : NULL);
    tulle_status status = tulle__wants_values(A->comm, "writing a matrix");
    if (A->comm->rank == 0 && status == TULLE_OK) {
        switch (tulle__operand_format(path)) {
        case TULLE__FORMAT_NPY:
            status = save_npy(A, path);
            break;
        case TULLE__FORMAT_BINSPARSE:
            status = save_binsparse(A, path);
            break;
        case TULLE__FORMAT_MTX:
            status = save_mtx(A, path);
            break;
        case TULLE__FORMAT_GENERATOR:
            status = tulle__fail(TULLE_ERR_ARG, "'%s' is no name of a file: it reads as a generator's spec", path);
            break;
        }
    }
    return tulle_comm_agree(A->comm, status);
}
