/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Binsparse: HDF5 allocates the data sets, then the numbers are written directly at their
 * offsets.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse_file.h"
#include "io/binsparse/hdf5_file.h"
#include "io/file/output.h"
#include "mat/blocks/blocks.h"

enum { PIECE = 1 << 15 };

/* Buffered entries and pointers of put. */
struct gathered {
    int64_t pointer[PIECE], index[PIECE];
    char value[PIECE * 8];
    int64_t pointers, npointers; /* pointers produced in total, and buffered */
    int64_t entries, nentries;
};

struct tulle__binsparse_writer {
    tulle__output *output;
    tulle__binsparse_header header;
    int64_t left[TULLE__BINSPARSE_ARRAYS]; /* numbers still to be written */
    uint32_t *narrow;
    struct gathered *gathered; /* NULL: put was not called */
    int fd;
};

void tulle__binsparse_writer_abort(tulle__binsparse_writer *writer)
{
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    tulle__output_abort(writer->output);
    tulle__free(writer->narrow);
    tulle__free(writer->gathered);
    tulle__free(writer);
}

/*
 * HDF5 1.10 crashes at program exit if the disk is full when it completes a file. This function
 * therefore first tries to write the file's length and MARGIN bytes, more than HDF5 will write, and
 * then restarts the file.
 */
static tulle_status try_room(const tulle__binsparse_writer *writer)
{
    enum { MARGIN = 1 << 16 };
    int64_t bytes = 0;
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        bytes += writer->header.array[w].count * writer->header.array[w].size;
    memset(writer->narrow, 0, MARGIN);
    TULLE_CALL(tulle__output_overwrite(writer->output, 0, writer->narrow, MARGIN));
    return tulle__output_overwrite(writer->output, bytes + MARGIN, "", 1);
}

/* Opens a file as `head` describes it, with its arrays. */
static tulle_status open_writer(
    const char *path, const tulle__binsparse_header *described, tulle__binsparse_writer **writer)
{
    tulle__binsparse_writer *made;
    char *json = NULL;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a writer", &made));
    made->fd = -1;
    tulle__binsparse_header *head = &made->header;
    *head = *described;
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++) made->left[w] = head->array[w].count;
    TULLE_TRY(tulle__alloc(PIECE, sizeof *made->narrow, "a piece of a Binsparse file", &made->narrow));
    TULLE_TRY(tulle__output_open(path, 0, &made->output));
    TULLE_TRY(tulle__binsparse_text(head, &json));
    TULLE_TRY(try_room(made));
    TULLE_TRY(tulle__hdf5_create(tulle__output_temporary(made->output), json, head->array));
    made->fd = open(tulle__output_temporary(made->output), O_WRONLY | O_CLOEXEC);
    if (made->fd < 0) TULLE_TRY(tulle__fail(TULLE_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno)));
    tulle__free(json);
    *writer = made;
    return TULLE_OK;
out:
    tulle__free(json);
    tulle__binsparse_writer_abort(made);
    return status;
}

tulle_status tulle__binsparse_writer_open(
    const char *path, const tulle__binsparse_sparse *sparse, tulle__binsparse_writer **writer)
{
    int block = sparse->block ? sparse->block : 1;
    int64_t stored = sparse->count * block * block;
    const int64_t lines = tulle__blocks_over(sparse->rows, block), columns = tulle__blocks_over(sparse->cols, block);
    if (!sparse->wide && !sparse->coo && columns > INT32_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%s: %" PRId64 " columns need indices of 64 bits", path, columns);
    tulle__binsparse_header head = {.rows = sparse->rows,
        .cols = sparse->cols,
        .stored = stored,
        .count = sparse->count,
        .block = block,
        .nnz = sparse->nnz,
        .span = sparse->span,
        .format = sparse->block ? TULLE__BINSPARSE_BSR : TULLE__BINSPARSE_CSR,
        .structure = sparse->structure,
        .array = {[TULLE__BINSPARSE_POINTERS] = {1, 'u', 8, 0, lines + 1, -1},
            [TULLE__BINSPARSE_INDICES1] = {1, 'u', sparse->wide ? 8 : 4, 0, sparse->count, -1},
            [TULLE__BINSPARSE_VALUES] = {1, 'f', (int)tulle_type_size(sparse->type), 0, stored, -1}}};
    if (sparse->coo) {
        head.format = TULLE__BINSPARSE_COOR;
        head.array[TULLE__BINSPARSE_POINTERS] = (tulle__binsparse_array){.count = 0};
        head.array[TULLE__BINSPARSE_INDICES1].size = 8;
        head.array[TULLE__BINSPARSE_INDICES0] = head.array[TULLE__BINSPARSE_INDICES1];
    }
    return open_writer(path, &head, writer);
}

tulle_status tulle__binsparse_writer_open_dense(
    const char *path, int64_t rows, int64_t cols, tulle_type type, tulle_order order, tulle__binsparse_writer **writer)
{
    int64_t stored = rows * cols;
    tulle__binsparse_header head = {.rows = rows,
        .cols = cols,
        .stored = stored,
        .block = 1,
        .nnz = -1,
        .format = order == TULLE_ROW_MAJOR ? TULLE__BINSPARSE_DMATR : TULLE__BINSPARSE_DMATC,
        .array = {[TULLE__BINSPARSE_VALUES] = {1, 'f', (int)tulle_type_size(type), 0, stored, -1}}};
    return open_writer(path, &head, writer);
}

static tulle_status write_numbers(
    tulle__binsparse_writer *writer, int which, int64_t first, int64_t count, const void *data)
{
    const tulle__binsparse_array *array = &writer->header.array[which];
    if (first < 0 || count < 0 || count > array->count - first)
        return tulle__fail(TULLE_ERR_ARG, "numbers %" PRId64 " + %" PRId64 " are outside the data set '%s'", first,
            count, tulle__binsparse_name(which));
    const char *p = data;
    size_t bytes = (size_t)(count * array->size);
    int64_t offset = array->offset + first * array->size;
    while (bytes) {
        ssize_t n = pwrite(writer->fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__output_fail(writer->output, "writing");
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    writer->left[which] -= count;
    return TULLE_OK;
}

tulle_status tulle__binsparse_write_pointers(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const int64_t *pointers)
{
    return write_numbers(writer, TULLE__BINSPARSE_POINTERS, first, count, pointers);
}

tulle_status tulle__binsparse_write_indices(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const int64_t *indices)
{
    if (writer->header.array[TULLE__BINSPARSE_INDICES1].size == 8)
        return write_numbers(writer, TULLE__BINSPARSE_INDICES1, first, count, indices);
    for (int64_t i = 0, n; i < count; i += n) {
        n = count - i < PIECE ? count - i : PIECE;
        for (int64_t k = 0; k < n; k++) writer->narrow[k] = (uint32_t)indices[i + k];
        TULLE_CALL(write_numbers(writer, TULLE__BINSPARSE_INDICES1, first + i, n, writer->narrow));
    }
    return TULLE_OK;
}

tulle_status tulle__binsparse_write_columns(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const int32_t *columns)
{
    return write_numbers(writer, TULLE__BINSPARSE_INDICES1, first, count, columns);
}

tulle_status tulle__binsparse_write_values(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const void *values)
{
    return write_numbers(writer, TULLE__BINSPARSE_VALUES, first, count, values);
}

static bool is_coo(const tulle__binsparse_writer *writer)
{
    return writer->header.format == TULLE__BINSPARSE_COOR;
}

static tulle_status write_entries(tulle__binsparse_writer *writer)
{
    struct gathered *g = writer->gathered;
    int64_t first = g->entries - g->nentries;
    tulle_status status = tulle__binsparse_write_indices(writer, first, g->nentries, g->index);
    if (status == TULLE_OK) status = tulle__binsparse_write_values(writer, first, g->nentries, g->value);
    g->nentries = 0;
    return status;
}

static tulle_status write_pointers(tulle__binsparse_writer *writer)
{
    struct gathered *g = writer->gathered;
    int64_t first = g->pointers - g->npointers, n = g->npointers;
    g->npointers = 0;
    if (is_coo(writer)) return write_numbers(writer, TULLE__BINSPARSE_INDICES0, first, n, g->pointer);
    return tulle__binsparse_write_pointers(writer, first, n, g->pointer);
}

/* Appends the pointers of all rows up to this one; of coordinates the row of one entry. */
static tulle_status enter_row(tulle__binsparse_writer *writer, int64_t row)
{
    if (!writer->gathered)
        TULLE_CALL(tulle__alloc_zero(1, sizeof *writer->gathered, "a piece of a Binsparse file", &writer->gathered));
    struct gathered *g = writer->gathered;
    const bool coo = is_coo(writer);
    for (int64_t last = coo ? g->pointers : row; g->pointers <= last; g->pointers++) {
        if (g->npointers == PIECE) TULLE_CALL(write_pointers(writer));
        g->pointer[g->npointers++] = coo ? row : g->entries;
    }
    return TULLE_OK;
}

tulle_status tulle__binsparse_put(tulle__binsparse_writer *writer, int64_t row, int64_t col, const void *val)
{
    size_t size = (size_t)writer->header.array[TULLE__BINSPARSE_VALUES].size;
    TULLE_CALL(enter_row(writer, row));
    struct gathered *g = writer->gathered;
    if (g->nentries == PIECE) TULLE_CALL(write_entries(writer));
    memcpy(g->value + (size_t)g->nentries * size, val, size);
    g->index[g->nentries++] = col;
    g->entries++;
    return TULLE_OK;
}

tulle_status tulle__binsparse_put_end(tulle__binsparse_writer *writer)
{
    if (!is_coo(writer)) TULLE_CALL(enter_row(writer, writer->header.rows));
    if (writer->gathered) { /* coordinates may have no entry */
        TULLE_CALL(write_pointers(writer));
        TULLE_CALL(write_entries(writer));
    }
    return TULLE_OK;
}

tulle_status tulle__binsparse_can_write(const char *path)
{
    return tulle__hdf5_present(path);
}

tulle_status tulle__binsparse_writer_close(tulle__binsparse_writer *writer, tulle_status status)
{
    TULLE_TRY(status);
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        if (writer->left[w] > 0)
            TULLE_TRY(tulle__fail(TULLE_ERR_STATE, "%" PRId64 " numbers of the data set '%s' were not written",
                writer->left[w], tulle__binsparse_name(w)));
    int code = close(writer->fd);
    writer->fd = -1;
    if (code != 0) TULLE_TRY(tulle__output_fail(writer->output, "closing"));
    status = tulle__output_close(writer->output);
    writer->output = NULL;
out:
    tulle__binsparse_writer_abort(writer);
    return status;
}
