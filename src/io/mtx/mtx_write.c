/* SPDX-License-Identifier: Apache-2.0 */
#include "io/mtx/mtx_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/output.h"
#include "io/number/number.h"
#include "tile/element.h"

enum { LINE = 2 * 20 + TULLE__NUMBER_TEXT + 4 };

void tulle__mtx_text_fini(tulle__mtx_text *text)
{
    tulle__free(text->text);
    memset(text, 0, sizeof *text);
}

static tulle_status reserve(tulle__mtx_text *text, size_t bytes)
{
    if (text->capacity - text->bytes >= bytes) return TULLE_OK;
    size_t capacity = 2 * text->capacity > text->bytes + bytes ? 2 * text->capacity : text->bytes + bytes;
    TULLE_CALL(tulle__realloc(capacity, 1, "text of a Matrix Market file", &text->text));
    text->capacity = capacity;
    return TULLE_OK;
}

static char *put_value(const tulle__mtx_shape *shape, char *to, const void *val, int64_t e)
{
    if (shape->field == TULLE__MTX_INTEGER)
        return tulle__number_write_i64(to, (int64_t)tulle__element(shape->type, val, e));
    if (shape->type == TULLE_F32) return tulle__number_write_f32(to, ((const float *)val)[e]);
    return tulle__number_write_f64(to, ((const double *)val)[e]);
}

static tulle_status check_value(const tulle__mtx_shape *shape, const void *val, int64_t e)
{
    if (shape->field != TULLE__MTX_INTEGER) return TULLE_OK;
    double x = tulle__element(shape->type, val, e);
    if (x >= -0x1p63 && x < 0x1p63 && x == (double)(int64_t)x) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "the value %g cannot be written to a file of integers", x);
}

static tulle_status check_place(const tulle__mtx_shape *shape, int64_t row, int64_t col)
{
    if ((uint64_t)row >= (uint64_t)shape->rows || (uint64_t)col >= (uint64_t)shape->cols)
        return tulle__fail(TULLE_ERR_ARG,
            "entry (" TULLE__AT ", " TULLE__AT ") lies outside %" PRId64 " x %" PRId64 TULLE__COUNTED, row, col,
            shape->rows, shape->cols);
    if (shape->symmetry == TULLE__MTX_GENERAL || row > col || (row == col && shape->symmetry == TULLE__MTX_SYMMETRIC))
        return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "entry (" TULLE__AT ", " TULLE__AT ") of a %s file is not %s the diagonal" TULLE__COUNTED, row, col,
        tulle__mtx_symmetry_name(shape->symmetry), shape->symmetry == TULLE__MTX_SKEW ? "below" : "on or below");
}

tulle_status tulle__mtx_format_row(const tulle__mtx_shape *shape, int64_t row, int64_t n, int64_t base,
    const int32_t *col, const void *val, tulle__mtx_text *text)
{
    size_t before = text->bytes;
    tulle_status status = reserve(text, (size_t)n * LINE < 1 << 20 ? (size_t)n * LINE : 1 << 20);
    if (status != TULLE_OK) return status;
    for (int64_t e = 0; e < n; e++) {
        TULLE_TRY(check_place(shape, row, base + col[e]));
        if (text->capacity - text->bytes < LINE) TULLE_TRY(reserve(text, LINE));
        char *to = text->text + text->bytes;
        to = tulle__number_write_i64(to, row + 1);
        *to++ = ' ';
        to = tulle__number_write_i64(to, base + col[e] + 1);
        if (shape->field != TULLE__MTX_PATTERN) {
            *to++ = ' ';
            if (val) {
                TULLE_TRY(check_value(shape, val, e));
                to = put_value(shape, to, val, e);
            } else {
                *to++ = '1';
            }
        }
        *to++ = '\n';
        text->bytes = (size_t)(to - text->text);
    }
    text->entries += n;
    return TULLE_OK;
out:
    text->bytes = before;
    return status;
}

tulle_status tulle__mtx_format_array(const tulle__mtx_shape *shape, int64_t n, const void *val, tulle__mtx_text *text)
{
    size_t before = text->bytes;
    tulle_status status = TULLE_OK;
    for (int64_t e = 0; e < n; e++) {
        TULLE_TRY(check_value(shape, val, e));
        TULLE_TRY(reserve(text, LINE));
        char *to = put_value(shape, text->text + text->bytes, val, e);
        *to++ = '\n';
        text->bytes = (size_t)(to - text->text);
    }
    text->entries += n;
    return TULLE_OK;
out:
    text->bytes = before;
    return status;
}

struct tulle__mtx_writer {
    tulle__output *output;
    int64_t stored, written; /* stored < 0: filled in when the file is complete */
    int64_t count_at;        /* where the count of entries stands */
};

enum { COUNT = 19 }; /* digits of the largest count */

/* Writes the size line; an unknown count is COUNT blanks. */
static tulle_status write_sizes(tulle__mtx_writer *writer, const tulle__mtx_shape *shape)
{
    char line[160];
    int n = snprintf(line, sizeof line, "%" PRId64 " %" PRId64, shape->rows, shape->cols);
    writer->stored = shape->stored;
    writer->count_at = tulle__output_bytes(writer->output) + n + 1;
    if (!shape->array && shape->stored < 0) {
        n += snprintf(line + n, sizeof line - (size_t)n, " %*s\n", COUNT, "");
        return tulle__output_write_open(writer->output, line, (size_t)n);
    }
    if (!shape->array) n += snprintf(line + n, sizeof line - (size_t)n, " %" PRId64, shape->stored);
    n += snprintf(line + n, sizeof line - (size_t)n, "\n");
    return tulle__output_write(writer->output, line, (size_t)n);
}

static tulle_status fill_in_count(tulle__mtx_writer *writer)
{
    char text[COUNT + 1];
    snprintf(text, sizeof text, "%*" PRId64, COUNT, writer->written);
    return tulle__output_overwrite(writer->output, writer->count_at, text, COUNT);
}

/* The comment, each line behind a %. */
static tulle_status write_comment(tulle__output *output, const char *comment)
{
    while (comment && *comment) {
        size_t n = strcspn(comment, "\r\n");
        TULLE_CALL(tulle__output_write(output, "% ", 2));
        TULLE_CALL(tulle__output_write(output, comment, n));
        TULLE_CALL(tulle__output_write(output, "\n", 1));
        comment += n;
        if (*comment) comment++;
    }
    return TULLE_OK;
}

tulle_status tulle__mtx_writer_open(
    const char *path, const tulle__mtx_shape *shape, int packers, tulle__mtx_writer **writer)
{
    tulle__mtx_writer *made = NULL;
    char line[160];
    if (shape->array && shape->field == TULLE__MTX_PATTERN)
        return tulle__fail(TULLE_ERR_ARG, "%s: an array cannot be written as a pattern", path);
    if (shape->field == TULLE__MTX_PATTERN && shape->symmetry == TULLE__MTX_SKEW)
        return tulle__fail(TULLE_ERR_ARG, "%s: a pattern cannot be skew-symmetric", path);
    if (shape->symmetry != TULLE__MTX_GENERAL && shape->rows != shape->cols)
        return tulle__fail(TULLE_ERR_ARG, "%s: a symmetric matrix must be square", path);
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a writer", &made));
    TULLE_TRY(tulle__output_open(path, packers, &made->output));
    if (!shape->array && shape->stored < 0 && !tulle__output_can_overwrite(made->output))
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is not a regular file, but the number of entries must stand at the beginning and is only known at the "
            "end: "
            "write to a file",
            strcmp(path, "-") == 0 ? "standard output" : path));
    int n = snprintf(line, sizeof line, "%%%%MatrixMarket matrix %s %s %s\n", shape->array ? "array" : "coordinate",
        tulle__mtx_field_name(shape->field), tulle__mtx_symmetry_name(shape->symmetry));
    TULLE_TRY(tulle__output_write(made->output, line, (size_t)n));
    TULLE_TRY(write_comment(made->output, shape->comment));
    TULLE_TRY(write_sizes(made, shape));
    *writer = made;
    return TULLE_OK;
out:
    tulle__mtx_writer_abort(made);
    return status;
}

tulle_status tulle__mtx_writer_append(tulle__mtx_writer *writer, const tulle__mtx_text *text)
{
    writer->written += text->entries;
    return tulle__output_write(writer->output, text->text, text->bytes);
}

tulle_status tulle__mtx_writer_close(tulle__mtx_writer *writer, tulle_status status)
{
    TULLE_TRY(status);
    if (writer->stored < 0)
        TULLE_TRY(fill_in_count(writer));
    else if (writer->written != writer->stored)
        TULLE_TRY(
            tulle__fail(TULLE_ERR_STATE, "%" PRId64 " entries were written to a file whose header states %" PRId64,
                writer->written, writer->stored));
    status = tulle__output_close(writer->output);
    writer->output = NULL;
out:
    tulle__mtx_writer_abort(writer);
    return status;
}

void tulle__mtx_writer_abort(tulle__mtx_writer *writer)
{
    if (!writer) return;
    tulle__output_abort(writer->output);
    tulle__free(writer);
}
