/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a sparse matrix piece by piece: PE 0 writes, and the other PEs wait for it at the end of
 * each piece.
 */
#include <inttypes.h>
#include <string.h>

#include <tulle/io.h>

#include "base/arg.h"
#include "base/error.h"
#include "io/binsparse/binsparse.h"
#include "io/file/spool.h"
#include "io/npy/npz.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"
#include "io/save/save.h"
#include "mat/compressed.h"

/* Writer of pieces in one format. Called on PE 0; close and abort free what open has made. */
typedef struct way {
    tulle_status (*open)(tulle_writer *writer);
    tulle_status (*append)(tulle_writer *writer, const tulle_mat *A);
    tulle_status (*close)(tulle_writer *writer);
    void (*abort)(tulle_writer *writer);
} way;

struct tulle_writer {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__mtx_shape shape;
    const way *way;
    int broken; /* a piece is missing */
    /* of PE 0 */
    char *path;
    tulle__mtx_writer *text;
    tulle__spool *spool;
};

/* ---- Matrix Market: entries in any order; their number is filled in at the end ---- */

static tulle_status open_mtx(tulle_writer *writer)
{
    return tulle__mtx_writer_open(
        writer->path, &writer->shape, tulle__save_packers(writer->comm, writer->path), &writer->text);
}

static tulle_status append_mtx(tulle_writer *writer, const tulle_mat *A)
{
    return tulle__save_mtx_rows(A, &writer->shape, writer->text);
}

static tulle_status close_mtx(tulle_writer *writer)
{
    tulle_status status = tulle__mtx_writer_close(writer->text, TULLE_OK);
    writer->text = NULL;
    return status;
}

static void abort_mtx(tulle_writer *writer)
{
    tulle__mtx_writer_abort(writer->text);
}

/* ---- Binsparse and NumPy: CSR, merged by rows from all pieces at the end ---- */

static tulle_status open_spool(tulle_writer *writer)
{
    const tulle__mtx_shape *shape = &writer->shape;
    return tulle__spool_open(writer->path, shape->rows, shape->cols, shape->type, &writer->spool);
}

static tulle_status take(void *context, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val)
{
    return tulle__spool_take(context, row, n, base, col, val);
}

static tulle_status append_spool(tulle_writer *writer, const tulle_mat *A)
{
    TULLE_CALL(tulle__spool_begin(writer->spool));
    TULLE_CALL(tulle__save_rows(A, &(tulle__row_sink){take, writer->spool}));
    return tulle__spool_end(writer->spool);
}

static tulle_status give(tulle_writer *writer, tulle__entry_put put, void *file)
{
    return tulle__spool_give(writer->spool, tulle__comm_progress_meter(writer->comm, 0), put, file);
}

static tulle_status close_binsparse(tulle_writer *writer)
{
    const tulle__mtx_shape *shape = &writer->shape;
    tulle__binsparse_writer *file;
    tulle__binsparse_sparse sparse = {.rows = shape->rows,
        .cols = shape->cols,
        .count = tulle__spool_entries(writer->spool),
        .type = shape->type,
        .wide = shape->cols > INT32_MAX};
    TULLE_CALL(tulle__binsparse_writer_open(writer->path, &sparse, &file));
    tulle_status status;
    TULLE_TRY(give(writer, tulle__put_binsparse, file));
    TULLE_TRY(tulle__binsparse_put_end(file));
out:
    return tulle__binsparse_writer_close(file, status);
}

static tulle_status close_npz(tulle_writer *writer)
{
    const tulle__mtx_shape *shape = &writer->shape;
    tulle__npz_writer *file;
    const tulle__npz_sparse sparse = {
        .rows = shape->rows, .cols = shape->cols, .count = tulle__spool_entries(writer->spool), .type = shape->type};
    TULLE_CALL(tulle__npz_writer_open(writer->path, &sparse, &file));
    return tulle__npz_writer_close(file, give(writer, tulle__put_npz, file));
}

static tulle_status close_petsc(tulle_writer *writer)
{
    const tulle__mtx_shape *shape = &writer->shape;
    tulle__petsc_writer *file;
    TULLE_CALL(tulle__petsc_writer_open(
        writer->path, shape->rows, shape->cols, tulle__spool_entries(writer->spool), shape->type, &file));
    return tulle__petsc_writer_close(file, give(writer, tulle__put_petsc, file));
}

static void abort_spool(tulle_writer *writer)
{
    tulle__spool_close(writer->spool);
}

/* ---- */

static tulle_status find_way(const char *path, const way **found)
{
    static const way mtx = {open_mtx, append_mtx, close_mtx, abort_mtx},
                     binsparse = {open_spool, append_spool, close_binsparse, abort_spool},
                     npz = {open_spool, append_spool, close_npz, abort_spool},
                     petsc = {open_spool, append_spool, close_petsc, abort_spool};
    tulle__format format;
    TULLE_CALL(tulle__output_format(path, TULLE_CSR, &format));
    *found = format == TULLE__FORMAT_BINSPARSE ? &binsparse
             : format == TULLE__FORMAT_NPZ     ? &npz
             : format == TULLE__FORMAT_PETSC   ? &petsc
                                               : &mtx;
    return TULLE_OK;
}

static void drop(tulle_writer *writer)
{
    if (!writer) return;
    tulle__pe_disown(&writer->owned);
    if (writer->way) writer->way->abort(writer);
    tulle__free(writer->path);
    tulle__free(writer);
}

static void free_owned(tulle__owned *object)
{
    drop((tulle_writer *)object);
}

static tulle_status open_file(tulle_writer *writer, const char *path)
{
    TULLE_CALL(tulle__alloc(strlen(path) + 1, 1, "a path", &writer->path));
    memcpy(writer->path, path, strlen(path) + 1);
    return writer->way->open(writer);
}

/* *out is the caller's also after a failure. */
static tulle_status open_writer(
    tulle_comm *comm, const char *path, tulle_gidx m, tulle_gidx n, tulle_type type, tulle_writer **out)
{
    TULLE_CALL(tulle__wants_values(comm, "writing a matrix"));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **out, "a writer", out));
    tulle_writer *writer = *out;
    writer->comm = comm;
    writer->shape = (tulle__mtx_shape){
        .rows = m, .cols = n, .stored = -1, .type = type, .field = TULLE__MTX_REAL, .symmetry = TULLE__MTX_GENERAL};
    TULLE_CALL(find_way(path, &writer->way));
    return comm->rank == 0 ? open_file(writer, path) : TULLE_OK;
}

tulle_status tulle_writer_open(
    tulle_comm *comm, const char *path, tulle_gidx m, tulle_gidx n, tulle_type type, tulle_writer **out)
{
    if (TULLE__NULL(comm) || TULLE__NULL(path) || TULLE__NEGATIVE(m) || TULLE__NEGATIVE(n) ||
        TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL_AS(out, "writer"))
        return tulle__refuse(comm);
    tulle_writer *writer = NULL;
    const tulle_status status = tulle_comm_agree(comm, open_writer(comm, path, m, n, type, &writer));
    if (status != TULLE_OK) {
        drop(writer);
        return status;
    }
    tulle__pe_own(comm->pe, &writer->owned, free_owned);
    *out = writer;
    return TULLE_OK;
}

static tulle_status append(tulle_writer *writer, const tulle_mat *A)
{
    const tulle__mtx_shape *shape = &writer->shape;
    if (A->kind == TULLE_DENSE || A->type != shape->type || A->layout->m != shape->rows || A->layout->n != shape->cols)
        return tulle__fail(TULLE_ERR_ARG,
            "a piece does not lie within the sparse %" PRId64 " x %" PRId64 " matrix of %s", shape->rows, shape->cols,
            tulle_type_name(shape->type));
    return writer->comm->rank == 0 ? writer->way->append(writer, A) : TULLE_OK;
}

/* Collective, agreed. */
static tulle_status append_any(tulle_writer *writer, const tulle_mat *A)
{
    TULLE__SCOPED_MAT tulle_mat *full = NULL, *entries = NULL;
    if (A->symmetry != TULLE_GENERAL) TULLE_CALL(tulle_mat_to_full(A, &full));
    if (full) A = full;
    /* the entries of blocks are their elements but for zeros, as in a whole file */
    if (A->format->in_blocks) TULLE_CALL(tulle_mat_to_csr(A, true, &entries));
    if (entries) A = entries;
    /* a spool has a pointer of each row */
    TULLE_CALL(tulle__mat_order(A->compressed && writer->way->append == append_mtx ? A->compressed->inner : A));
    return tulle_comm_agree(writer->comm, append(writer, A));
}

tulle_status tulle_writer_append(tulle_writer *writer, const tulle_mat *A)
{
    if (TULLE__NULL(writer) || TULLE__NULL(A)) return tulle__refuse(writer ? writer->comm : NULL);
    const tulle_status status = append_any(writer, A);
    writer->broken |= status != TULLE_OK;
    return status;
}

tulle_status tulle_writer_close(tulle_writer *writer)
{
    if (TULLE__NULL(writer)) return TULLE_ERR_ARG;
    tulle_comm *comm = writer->comm;
    tulle_status status = TULLE_OK;
    if (writer->broken)
        status = tulle__fail(TULLE_ERR_STATE, "the file is incomplete, as one of its pieces could not be written");
    else if (comm->rank == 0)
        status = writer->way->close(writer);
    drop(writer);
    return tulle_comm_agree(comm, status);
}
