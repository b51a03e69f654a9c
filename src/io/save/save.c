/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes distributed matrices to files: PE 0 reads the tiles of all PEs, a tile row at a time, and
 * writes. The other PEs wait for it at the end, so that no tile changes before it is written.
 */
#include <stdio.h>
#include <string.h>

#include "base/arg.h"
#include "base/attend.h"
#include "base/error.h"
#include "base/host/cores.h"
#include "io/binsparse/binsparse.h"
#include "io/load.h"
#include "io/mtx/half.h"
#include "io/mtx/mtx_write.h"
#include "io/npy/npy.h"
#include "io/npy/npz.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"
#include "io/save/save.h"
#include "mat/compressed.h"
#include "mat/fetch.h"
#include "tile/element.h"

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

static tulle_status band_init(const tulle_mat *A, int i, struct band *band)
{
    *band = (struct band){.n = A->layout->nt};
    TULLE_CALL(tulle__alloc_zero((size_t)band->n, sizeof *band->fetch, "a tile row", &band->fetch));
    TULLE_CALL(tulle__alloc((size_t)band->n, sizeof *band->tile, "a tile row", &band->tile));
    for (int j = 0; j < band->n; j++) TULLE_CALL(tulle__fetch_init(A, i, j, &band->fetch[j]));
    for (int j = 0; j < band->n; j++) TULLE_CALL(tulle__fetch_await(&band->fetch[j], &band->tile[j]));
    return TULLE_OK;
}

static const void *at(const tulle_tile *t, int64_t e)
{
    return (const char *)t->val + (size_t)e * tulle_type_size(t->type);
}

/* Passes entries one by one, as their columns lie apart. */
static tulle_status save_compressed(const tulle_mat *A, const tulle__row_sink *sink)
{
    static const int32_t none = 0;
    const tulle_layout *l = A->compressed->inner->layout;
    const tulle_gidx *row = A->compressed->rows.number, *col = A->compressed->cols.number;
    TULLE__SCOPED_BY(band_fini) struct band band = {.n = 0};
    int64_t passed = 0;
    for (int i = 0; i < l->mt; i++) {
        TULLE_CALL(band_init(A->compressed->inner, i, &band));
        for (tulle_gidx r = 0; r < l->row_cut[i + 1] - l->row_cut[i]; r++) {
            TULLE_CALL(tulle__attend_each(64, &passed));
            for (int j = 0; j < l->nt; j++) {
                const tulle_tile *t = &band.tile[j];
                for (int64_t e = t->nnz ? t->rowptr[r] : 0; t->nnz && e < t->rowptr[r + 1]; e++)
                    TULLE_CALL(sink->take(
                        sink->context, row[l->row_cut[i] + r], 1, col[l->col_cut[j] + t->colind[e]], &none, at(t, e)));
            }
        }
        band_fini(&band);
    }
    return TULLE_OK;
}

tulle_status tulle__save_rows(const tulle_mat *A, const tulle__row_sink *sink)
{
    if (A->compressed) return save_compressed(A, sink);
    tulle_status status = TULLE_OK;
    struct band band = {.n = 0};
    const tulle_layout *l = A->layout;
    tulle__progress_meter *meter = tulle__comm_progress_meter(A->comm, 0);
    int64_t done = 0, passed = 0;
    tulle__progress_meter_start(meter, "writing", "entries", A->nnz);
    for (int i = 0; i < l->mt; i++) {
        TULLE_TRY(band_init(A, i, &band));
        for (tulle_gidx r = 0; r < l->row_cut[i + 1] - l->row_cut[i]; r++) {
            TULLE_TRY(tulle__attend_each(64, &passed));
            for (int j = 0; j < l->nt; j++) {
                const tulle_tile *t = &band.tile[j];
                if (!t->rowptr || t->rowptr[r] == t->rowptr[r + 1]) continue;
                int64_t from = t->rowptr[r], n = t->rowptr[r + 1] - from;
                TULLE_TRY(
                    sink->take(sink->context, l->row_cut[i] + r, n, l->col_cut[j], t->colind + from, at(t, from)));
                done += n;
            }
            tulle__progress_meter_set(meter, done, A->nnz);
        }
        band_fini(&band);
    }
out:
    tulle__progress_meter_stop(meter, status == TULLE_OK);
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
    n = tulle__half_of_row(rows->shape->symmetry, row, n, base, col);
    TULLE_CALL(tulle__mtx_format_row(rows->shape, row, n, base, col, val, &rows->text));
    return rows->text.bytes > FLUSH ? flush(rows) : TULLE_OK;
}

tulle_status tulle__save_mtx_rows(const tulle_mat *A, const tulle__mtx_shape *shape, tulle__mtx_writer *writer)
{
    tulle_status status;
    struct mtx_rows rows = {.shape = shape, .writer = writer};
    TULLE_TRY(tulle__save_rows(A, &(tulle__row_sink){take_text, &rows}));
    if (rows.text.entries) TULLE_TRY(flush(&rows));
out:
    tulle__mtx_text_fini(&rows.text);
    return status;
}

/* Gathers a dense matrix contiguously, in the given order. *all is the caller's also after a failure. */
static tulle_status gather_dense(const tulle_mat *A, tulle_order order, char **all)
{
    int64_t passed = 0;
    const tulle_layout *l = A->layout;
    size_t size = tulle_type_size(A->type);
    TULLE__SCOPED_BY(band_fini) struct band band = {.n = 0};
    *all = NULL;
    TULLE_CALL(tulle__alloc((size_t)l->m * (size_t)l->n, size, "the whole matrix", all));
    for (int i = 0; i < l->mt; i++) {
        TULLE_CALL(band_init(A, i, &band));
        for (int j = 0; j < l->nt; j++) {
            const tulle_tile *t = &band.tile[j];
            for (tulle_gidx r = 0; t->nnz && r < t->m; r++) {
                TULLE_CALL(tulle__attend_each(64, &passed));
                for (tulle_gidx c = 0; c < t->n; c++) {
                    tulle_gidx row = l->row_cut[i] + r, col = l->col_cut[j] + c;
                    int64_t from = tulle__dense_place(t->order, t->ld, r, c);
                    int64_t to = order == TULLE_ROW_MAJOR ? row * l->n + col : col * l->m + row;
                    memcpy(*all + (size_t)to * size, at(t, from), size);
                }
            }
        }
        band_fini(&band);
    }
    return TULLE_OK;
}

/* Writes columns in order, those of a symmetric matrix from the diagonal (skew: below it) down. */
static tulle_status write_array(
    const tulle__mtx_shape *shape, const char *all, tulle__progress_meter *meter, tulle__mtx_writer *writer)
{
    tulle_status status = TULLE_OK;
    tulle__mtx_text text = {0};
    tulle__progress_meter_start(meter, "writing", "values", shape->stored);
    for (int64_t c = 0, done = 0; c < shape->cols; c++) {
        int64_t first = shape->symmetry == TULLE__MTX_GENERAL ? 0 : c + (shape->symmetry == TULLE__MTX_SKEW);
        int64_t n = shape->rows - first;
        size_t before = (size_t)(c * shape->rows + first) * tulle_type_size(shape->type);
        TULLE_TRY(tulle__mtx_format_array(shape, n, all + before, &text));
        done += n;
        if (text.bytes > FLUSH || done == shape->stored) {
            TULLE_TRY(tulle__mtx_writer_append(writer, &text));
            text.bytes = 0;
            text.entries = 0;
        }
        tulle__progress_meter_set(meter, done, shape->stored);
    }
out:
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    tulle__mtx_text_fini(&text);
    return status;
}

int tulle__save_threads(const tulle_comm *comm)
{
    int64_t cores = tulle__cores_allowed(), threads = (int64_t)comm->size * comm->pe->threads;
    if (threads > cores) threads = cores;
    return threads < comm->pe->threads ? comm->pe->threads : (int)threads;
}

int tulle__save_packers(const tulle_comm *comm, const char *path)
{
    return tulle__output_packed(path) ? tulle__save_threads(comm) : 0;
}

static tulle_status write_dense_mtx(const tulle_mat *A, const tulle__mtx_shape *shape, tulle__mtx_writer *writer)
{
    TULLE__SCOPED char *all = NULL;
    TULLE_CALL(gather_dense(A, TULLE_COL_MAJOR, &all));
    return write_array(shape, all, tulle__comm_progress_meter(A->comm, 0), writer);
}

static tulle_status save_mtx(const tulle_mat *A, tulle__mtx_symmetry symmetry, int64_t stored, const char *path)
{
    tulle__mtx_shape shape = {.rows = A->layout->m,
        .cols = A->layout->n,
        .stored = stored,
        .type = A->type,
        .field = TULLE__MTX_REAL,
        .symmetry = symmetry,
        .array = A->kind == TULLE_DENSE};
    tulle__mtx_writer *writer;
    TULLE_CALL(tulle__mtx_writer_open(path, &shape, tulle__save_packers(A->comm, path), &writer));
    return tulle__mtx_writer_close(
        writer, shape.array ? write_dense_mtx(A, &shape, writer) : tulle__save_mtx_rows(A, &shape, writer));
}

static tulle_status write_npy(const tulle_mat *A, tulle__npy_writer *writer)
{
    TULLE__SCOPED char *all = NULL;
    TULLE_CALL(gather_dense(A, TULLE_ROW_MAJOR, &all));
    return tulle__npy_writer_append(writer, all, A->layout->m * A->layout->n);
}

static tulle_status save_npy(const tulle_mat *A, const char *path)
{
    tulle__npy_writer *writer;
    TULLE_CALL(tulle__npy_writer_open(path, A->layout->m, A->layout->n, A->type, TULLE_ROW_MAJOR, &writer));
    return tulle__npy_writer_close(writer, write_npy(A, writer));
}

struct entry_rows {
    tulle__entry_put put;
    void *writer;
    size_t size; /* of a value */
};

static tulle_status take_entries(
    void *context, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val)
{
    const struct entry_rows *rows = context;
    const char *value = val;
    for (int64_t e = 0; e < n; e++)
        TULLE_CALL(rows->put(rows->writer, row, base + col[e], value + (size_t)e * rows->size));
    return TULLE_OK;
}

static tulle_status put_entries(const tulle_mat *A, tulle__entry_put put, void *writer)
{
    struct entry_rows rows = {put, writer, tulle_type_size(A->type)};
    return tulle__save_rows(A, &(tulle__row_sink){take_entries, &rows});
}

tulle_status tulle__put_binsparse(void *writer, int64_t row, int64_t col, const void *val)
{
    return tulle__binsparse_put(writer, row, col, val);
}

tulle_status tulle__put_npz(void *writer, int64_t row, int64_t col, const void *val)
{
    return tulle__npz_put(writer, row, col, val);
}

tulle_status tulle__put_petsc(void *writer, int64_t row, int64_t col, const void *val)
{
    return tulle__petsc_put(writer, row, col, val);
}

static tulle_status write_binsparse(const tulle_mat *A, tulle__binsparse_writer *writer)
{
    TULLE_CALL(put_entries(A, tulle__put_binsparse, writer));
    return tulle__binsparse_put_end(writer);
}

static tulle_status save_npz(const tulle_mat *A, const char *path)
{
    tulle__npz_writer *writer;
    const tulle__npz_sparse sparse = {
        .rows = A->layout->m, .cols = A->layout->n, .count = A->nnz, .type = A->type, .coo = A->compressed != NULL};
    TULLE_CALL(tulle__npz_writer_open(path, &sparse, &writer));
    return tulle__npz_writer_close(writer, put_entries(A, tulle__put_npz, writer));
}

static tulle_status save_petsc(const tulle_mat *A, const char *path)
{
    tulle_gidx m = A->layout->m, n = A->layout->n;
    tulle__petsc_writer *writer;
    TULLE__SCOPED char *all = NULL;
    if (A->kind == TULLE_DENSE) {
        TULLE_CALL(gather_dense(A, TULLE_ROW_MAJOR, &all));
        return tulle__petsc_write_dense(path, m, n, A->type, all);
    }
    TULLE_CALL(tulle__petsc_writer_open(path, m, n, A->nnz, A->type, &writer));
    return tulle__petsc_writer_close(writer, put_entries(A, tulle__put_petsc, writer));
}

static tulle_status write_dense_binsparse(const tulle_mat *A, tulle__binsparse_writer *writer)
{
    TULLE__SCOPED char *all = NULL;
    TULLE_CALL(gather_dense(A, A->order, &all));
    return tulle__binsparse_write_values(writer, 0, A->layout->m * A->layout->n, all);
}

static tulle_status save_binsparse(const tulle_mat *A, const char *path)
{
    tulle__binsparse_writer *writer;
    tulle_gidx m = A->layout->m, n = A->layout->n;
    int dense = A->kind == TULLE_DENSE;
    tulle__binsparse_sparse sparse = {
        .rows = m, .cols = n, .count = A->nnz, .type = A->type, .wide = n > INT32_MAX, .coo = A->compressed != NULL};
    TULLE_CALL(dense ? tulle__binsparse_writer_open_dense(path, m, n, A->type, A->order, &writer)
                     : tulle__binsparse_writer_open(path, &sparse, &writer));
    return tulle__binsparse_writer_close(writer, dense ? write_dense_binsparse(A, writer) : write_binsparse(A, writer));
}

/* PE 0's part. */
static tulle_status save_file(
    const tulle_mat *A, tulle__format format, const char *path, tulle__mtx_symmetry symmetry, int64_t stored)
{
    switch (format) {
    case TULLE__FORMAT_NPY:
        return save_npy(A, path);
    case TULLE__FORMAT_NPZ:
        return save_npz(A, path);
    case TULLE__FORMAT_BINSPARSE:
        return save_binsparse(A, path);
    case TULLE__FORMAT_PETSC:
        return save_petsc(A, path);
    case TULLE__FORMAT_MTX:
        return save_mtx(A, symmetry, stored, path);
    case TULLE__FORMAT_GENERATOR: /* no file */
    case TULLE__FORMAT_COUNT:
        break;
    }
    return TULLE_OK;
}

static tulle_status order_and_save(const tulle_mat *A, const char *path, tulle__mtx_symmetry symmetry)
{
    int64_t stored = 0;
    tulle__format format = TULLE__FORMAT_MTX;
    TULLE_CALL(tulle__output_format(path, A->kind, &format));
    TULLE_CALL(tulle__wants_values(A->comm, "writing a matrix"));
    /* PETSc's files have a length of each row */
    TULLE_CALL(tulle__mat_order(A->compressed && format != TULLE__FORMAT_PETSC ? A->compressed->inner : A));
    if (format == TULLE__FORMAT_MTX) TULLE_CALL(tulle__half_count(A, symmetry, path, &stored));
    return A->comm->rank == 0 ? save_file(A, format, path, symmetry, stored) : TULLE_OK;
}

/* Collective, agreed. */
static tulle_status save_entries(const tulle_mat *A, const char *path, tulle__mtx_symmetry symmetry)
{
    return tulle_comm_agree(A->comm, order_and_save(A, path, symmetry));
}

tulle_status tulle__save_half(const tulle_mat *H, const char *path, const char *format)
{
    TULLE__SCOPED_MAT tulle_mat *A = NULL;
    TULLE_CALL(tulle_mat_to_full(H, &A));
    if (!format) format = tulle__mtx_symmetry_name(H->symmetry == TULLE_SKEW ? TULLE__MTX_SKEW : TULLE__MTX_SYMMETRIC);
    return tulle_mat_save_as(A, path, format);
}

/* The entries of a matrix in blocks are its elements but for zeros. */
tulle_status tulle__save_symmetric(const tulle_mat *A, const char *path, tulle__mtx_symmetry symmetry)
{
    TULLE__SCOPED_MAT tulle_mat *entries = NULL;
    if (A->symmetry != TULLE_GENERAL) return tulle__save_half(A, path, NULL);
    if (!A->format->in_blocks) return save_entries(A, path, symmetry);
    TULLE_CALL(tulle_mat_to_csr(A, true, &entries));
    return save_entries(entries, path, symmetry);
}

tulle_status tulle_mat_save(const tulle_mat *A, const char *path)
{
    if (TULLE__NULL(A) || TULLE__NULL(path)) return tulle__refuse(A ? A->comm : NULL);
    return tulle__save_symmetric(A, path, TULLE__MTX_GENERAL);
}
