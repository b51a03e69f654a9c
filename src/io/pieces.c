/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse matrix into a file piece by piece: PE 0 writes, the others meet it at the end of each piece. */
#include <inttypes.h>
#include <string.h>

#include <tulle/io.h>

#include "base/error.h"
#include "io/operand.h"
#include "io/save.h"
#include "mat/mat.h"

struct tulle_writer {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__mtx_shape shape;
    tulle__mtx_writer *file; /* of PE 0 */
};

static void drop(tulle_writer *writer)
{
    if (!writer) return;
    tulle__pe_disown(&writer->owned);
    tulle__mtx_writer_abort(writer->file);
    tulle__free(writer);
}

static void free_owned(tulle__owned *object)
{
    drop((tulle_writer *)object);
}

static tulle_status check_name(const char *path)
{
    size_t length = strlen(path);
    if (tulle__operand_format(path) != TULLE__FORMAT_MTX)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: a result that is made in phases can only be written as Matrix Market: name a .mtx file", path);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: a result that is made in phases cannot be packed while it is written, as its number of entries stands "
            "at the beginning and is known at the end: write a plain .mtx file and pack that",
            path);
    return TULLE_OK;
}

tulle_status tulle_writer_open(
    tulle_comm *comm, const char *path, tulle_gidx m, tulle_gidx n, tulle_type type, tulle_writer **out)
{
    tulle_writer *writer = NULL;
    tulle_status status = tulle__wants_values(comm, "writing a matrix");
    if (status == TULLE_OK) status = check_name(path);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *writer, "a writer", &writer);
    if (status == TULLE_OK) {
        writer->comm = comm;
        writer->shape = (tulle__mtx_shape){
            .rows = m, .cols = n, .stored = -1, .type = type, .field = TULLE__MTX_REAL, .symmetry = TULLE__MTX_GENERAL};
        if (comm->rank == 0) status = tulle__mtx_writer_open(path, &writer->shape, 0, &writer->file);
    }
    status = tulle_comm_agree(comm, status);
    if (status != TULLE_OK) {
        drop(writer);
        return status;
    }
    tulle__pe_own(comm->pe, &writer->owned, free_owned);
    *out = writer;
    return TULLE_OK;
}

static tulle_status append(const tulle_writer *writer, tulle_mat *A)
{
    const tulle__mtx_shape *shape = &writer->shape;
    if (A->kind != TULLE_CSR || A->type != shape->type || A->layout->m != shape->rows || A->layout->n != shape->cols)
        return tulle__fail(TULLE_ERR_ARG, "a piece of a sparse %" PRId64 " x %" PRId64 " matrix of %s is none of it",
            shape->rows, shape->cols, tulle_type_name(shape->type));
    return writer->comm->rank == 0 ? tulle__save_rows(A, shape, writer->file) : TULLE_OK;
}

tulle_status tulle_writer_append(tulle_writer *writer, tulle_mat *A)
{
    return tulle_comm_agree(writer->comm, append(writer, A));
}

tulle_status tulle_writer_close(tulle_writer *writer)
{
    tulle_comm *comm = writer->comm;
    tulle_status status = writer->file ? tulle__mtx_writer_close(writer->file, 0) : TULLE_OK;
    writer->file = NULL;
    drop(writer);
    return tulle_comm_agree(comm, status);
}
