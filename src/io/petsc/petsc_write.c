/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes are known in advance, so lengths of rows, columns and values are each written where they belong as entries
 * come.
 */
#include "io/petsc/petsc.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/output.h"

enum { MATRIX = 1211216, VECTOR = 1211214, PIECE = 1 << 14 };

/* One of the arrays of a file: what is not written yet. */
struct array {
    int64_t at; /* in the file */
    int used;   /* bytes */
    unsigned char raw[PIECE * 8];
};

struct tulle__petsc_writer {
    tulle__output *output;
    int64_t rows, count, lines, entries, length; /* lines: rows that are complete; length: of the one at hand */
    tulle_type type;
    int index; /* bytes of an integer */
    struct array lengths, columns, values;
};

static void put_big(unsigned char *to, uint64_t x, int bytes)
{
    for (int b = 0; b < bytes; b++) to[b] = (unsigned char)(x >> 8 * (bytes - 1 - b));
}

static tulle_status write_out(tulle__petsc_writer *w, struct array *a)
{
    tulle_status status = tulle__output_overwrite(w->output, a->at, a->raw, (size_t)a->used);
    a->at += a->used;
    a->used = 0;
    return status;
}

static tulle_status append(tulle__petsc_writer *w, struct array *a, uint64_t x, int bytes)
{
    tulle_status status = (size_t)a->used + 8 > sizeof a->raw ? write_out(w, a) : TULLE_OK;
    put_big(a->raw + a->used, x, bytes);
    a->used += bytes;
    return status;
}

static uint64_t bits_of(tulle_type type, const void *val)
{
    double value = type == TULLE_F32 ? (double)*(const float *)val : *(const double *)val;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void tulle__petsc_writer_abort(tulle__petsc_writer *writer)
{
    if (!writer) return;
    tulle__output_abort(writer->output);
    tulle__free(writer);
}

tulle_status tulle__petsc_writer_open(
    const char *path, int64_t rows, int64_t cols, int64_t count, tulle_type type, tulle__petsc_writer **writer)
{
    const int64_t figure[4] = {MATRIX, rows, cols, count};
    unsigned char head[4 * 8];
    tulle__petsc_writer *w = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *w, "a writer", &w));
    w->rows = rows;
    w->count = count;
    w->type = type;
    w->index = rows > INT32_MAX || cols > INT32_MAX || count > INT32_MAX ? 8 : 4;
    w->lengths.at = 4 * w->index;
    w->columns.at = w->lengths.at + rows * w->index;
    w->values.at = w->columns.at + count * w->index;
    TULLE_TRY(tulle__output_open(path, 0, &w->output));
    if (!tulle__output_can_overwrite(w->output))
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is not a regular file, but a file of PETSc is not written from its start to its end", path));
    for (int f = 0; f < 4; f++) put_big(head + f * w->index, (uint64_t)figure[f], w->index);
    TULLE_TRY(tulle__output_overwrite(w->output, 0, head, (size_t)(4 * w->index)));
    *writer = w;
    return TULLE_OK;
out:
    tulle__petsc_writer_abort(w);
    return status;
}

/* Rows before this one are complete. */
static tulle_status end_rows(tulle__petsc_writer *w, int64_t row)
{
    for (; w->lines < row; w->lines++) {
        TULLE_CALL(append(w, &w->lengths, (uint64_t)w->length, w->index));
        w->length = 0;
    }
    return TULLE_OK;
}

tulle_status tulle__petsc_put(tulle__petsc_writer *w, int64_t row, int64_t col, const void *val)
{
    TULLE_CALL(end_rows(w, row));
    TULLE_CALL(append(w, &w->columns, (uint64_t)col, w->index));
    TULLE_CALL(append(w, &w->values, bits_of(w->type, val), 8));
    w->length++;
    w->entries++;
    return TULLE_OK;
}

tulle_status tulle__petsc_writer_close(tulle__petsc_writer *w, tulle_status status)
{
    TULLE_TRY(status);
    if (w->entries != w->count)
        TULLE_TRY(tulle__fail(
            TULLE_ERR_STATE, "%" PRId64 " entries were written to a file of %" PRId64, w->entries, w->count));
    TULLE_TRY(end_rows(w, w->rows));
    TULLE_TRY(write_out(w, &w->lengths));
    TULLE_TRY(write_out(w, &w->columns));
    TULLE_TRY(write_out(w, &w->values));
    status = tulle__output_close(w->output);
    w->output = NULL;
out:
    tulle__petsc_writer_abort(w);
    return status;
}

tulle_status tulle__petsc_write_dense(const char *path, int64_t rows, int64_t cols, tulle_type type, const void *val)
{
    const int64_t figure[4] = {cols == 1 ? VECTOR : MATRIX, rows, cols, -1};
    int figures = cols == 1 ? 2 : 4, index = rows > INT32_MAX || cols > INT32_MAX ? 8 : 4;
    const char *from = val;
    tulle__petsc_writer *w = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *w, "a writer", &w));
    TULLE_TRY(tulle__output_open(path, 0, &w->output));
    for (int f = 0; f < figures; f++) put_big(w->values.raw + f * index, (uint64_t)figure[f], index);
    w->values.used = figures * index;
    for (int64_t v = 0; v <= rows * cols; v++) {
        if (v == rows * cols || (size_t)w->values.used + 8 > sizeof w->values.raw) {
            TULLE_TRY(tulle__output_write(w->output, w->values.raw, (size_t)w->values.used));
            w->values.used = 0;
        }
        if (v == rows * cols) break;
        put_big(w->values.raw + w->values.used, bits_of(type, from + (size_t)v * tulle_type_size(type)), 8);
        w->values.used += 8;
    }
    status = tulle__output_close(w->output);
    w->output = NULL;
out:
    tulle__petsc_writer_abort(w);
    return status;
}
