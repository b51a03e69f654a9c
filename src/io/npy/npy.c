/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/output.h"
#include "io/file/regular.h"

enum { BUFFER = 1 << 18, PIECE = 2048 };

struct tulle__npy {
    tulle__npy_header header;
    tulle__regular file;
    tulle__progress_meter *meter;
    int64_t wanted, done; /* values: expected by the progress meter, and read */
};

const tulle__npy_header *tulle__npy_head(const tulle__npy *npy)
{
    return &npy->header;
}

static tulle_status read_header(tulle__npy *npy)
{
    unsigned char start[12] = {0};
    char *text = NULL;
    tulle__npy_header *head = &npy->header;
    size_t length, before;
    int64_t bytes;
    tulle_status status;
    TULLE_TRY(tulle__regular_read(&npy->file, start, npy->file.bytes < 12 ? (size_t)npy->file.bytes : 12, 0));
    TULLE_TRY(tulle__npy_start(npy->file.path, start, npy->file.bytes, &length, &before));
    TULLE_TRY(tulle__alloc(length, 1, "the header of a .npy file", &text));
    TULLE_TRY(tulle__regular_read(&npy->file, text, length, (int64_t)before));
    TULLE_TRY(tulle__npy_describe(npy->file.path, text, length, 2, 0, &head->array));
    TULLE_TRY(tulle__npy_bytes(npy->file.path, &head->array, &bytes));
    head->rows = head->array.size[0];
    head->cols = head->array.size[1];
    head->data = (int64_t)(before + length);
    if (bytes != npy->file.bytes - head->data)
        status = tulle__fail(TULLE_ERR_FORMAT,
            "%s: %" PRId64 " x %" PRId64 " values of %d bytes are %" PRId64 " bytes, but %" PRId64 " follow the header",
            npy->file.path, head->rows, head->cols, head->array.width, bytes, npy->file.bytes - head->data);
out:
    tulle__free(text);
    return status;
}

tulle_status tulle__npy_open(const char *path, tulle__npy **npy)
{
    tulle__npy *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a .npy file", &made));
    made->file.fd = -1;
    TULLE_TRY(tulle__regular_open(path, &made->file));
    TULLE_TRY(read_header(made));
    *npy = made;
    return TULLE_OK;
out:
    tulle__npy_close(made);
    return status;
}

void tulle__npy_close(tulle__npy *npy)
{
    if (!npy) return;
    tulle__regular_close(&npy->file);
    tulle__free(npy);
}

void tulle__npy_watch(tulle__npy *npy, tulle__progress_meter *meter, int64_t values)
{
    npy->meter = meter;
    npy->wanted = values;
    npy->done = 0;
    tulle__progress_meter_start(meter, "reading", "B", npy->file.bytes);
}

tulle_status tulle__npy_read(tulle__npy *npy, tulle__gate *gate, int64_t row, int64_t rows, int64_t col, int64_t cols,
    tulle_order order, int64_t ld, void *to)
{
    const tulle__npy_header *head = &npy->header;
    if (row < 0 || rows < 0 || col < 0 || cols < 0 || rows > head->rows - row || cols > head->cols - col)
        return tulle__fail(TULLE_ERR_ARG,
            "%s: rows %" PRId64 " + %" PRId64 ", columns %" PRId64 " + %" PRId64 " are outside its %" PRId64
            " x %" PRId64,
            npy->file.path, row, rows, col, cols, head->rows, head->cols);
    if (rows == 0 || cols == 0) return TULLE_OK;
    /* the file consists of `outer` lines of `inner` values */
    int by_rows = head->array.order == TULLE_ROW_MAJOR;
    int64_t inner = by_rows ? head->cols : head->rows;
    int64_t outer0 = by_rows ? row : col, outers = by_rows ? rows : cols;
    int64_t inner0 = by_rows ? col : row, inners = by_rows ? cols : rows;
    int64_t outer_step = order == head->array.order ? ld : 1, inner_step = order == head->array.order ? 1 : ld;
    int as_is = head->array.kind == 'f' && !head->array.swapped &&
                (size_t)head->array.width == tulle_type_size(gate->type) && inner_step == 1;
    double piece[PIECE];
    TULLE__SCOPED char *buffer = NULL;
    if (!as_is) TULLE_CALL(tulle__alloc(BUFFER, 1, "a buffer for a .npy file", &buffer));
    int64_t most = BUFFER / head->array.width; /* values of one read, several whole lines if possible */
    int64_t lines = !as_is && inners == inner && inners < most ? most / inners : 1;
    for (int64_t o = 0; o < outers; o += lines) {
        int64_t now = lines < outers - o ? lines : outers - o;
        npy->done += now * inners;
        tulle__progress_meter_set(npy->meter, npy->done, npy->wanted);
        int64_t offset = head->data + ((outer0 + o) * inner + inner0) * head->array.width;
        if (as_is) {
            char *at = (char *)to + o * outer_step * head->array.width;
            TULLE_CALL(tulle__regular_read(&npy->file, at, (size_t)(inners * head->array.width), offset));
            TULLE_CALL(tulle__gate_block(gate, by_rows ? row + o : row, by_rows ? col : col + o, !by_rows, at, inners));
            continue;
        }
        int64_t values = now * inners;
        for (int64_t done = 0; done < values; done += most) {
            int64_t some = most < values - done ? most : values - done;
            TULLE_CALL(tulle__regular_read(
                &npy->file, buffer, (size_t)(some * head->array.width), offset + done * head->array.width));
            for (int64_t v = 0; v < some;) { /* up to the end of a line */
                int64_t line = (done + v) / inners, place = (done + v) % inners;
                int64_t n = inners - place < some - v ? inners - place : some - v;
                if (n > PIECE) n = PIECE;
                tulle__gate_numbers(gate, tulle__npy_stored(&head->array), buffer + v * head->array.width, n, piece);
                int64_t r = row + (by_rows ? o + line : place), c = col + (by_rows ? place : o + line);
                TULLE_CALL(tulle__gate_store(
                    gate, r, c, !by_rows, piece, n, to, (o + line) * outer_step + place * inner_step, inner_step));
                v += n;
            }
        }
    }
    return TULLE_OK;
}

struct tulle__npy_writer {
    tulle__output *output;
    size_t size;
    int64_t left; /* values */
};

tulle_status tulle__npy_writer_open(
    const char *path, int64_t rows, int64_t cols, tulle_type type, tulle_order order, tulle__npy_writer **writer)
{
    enum { LENGTH = 192 - 10 }; /* so that the values begin at a multiple of 64 */
    char header[192];
    tulle__npy_writer *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a writer", &made));
    TULLE_TRY(tulle__output_open(path, 0, &made->output));
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(unsigned char)LENGTH;
    header[9] = 0;
    int n =
        snprintf(header + 10, LENGTH, "{'descr': '%cf%d', 'fortran_order': %s, 'shape': (%" PRId64 ", %" PRId64 "), }",
            __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>', (int)tulle_type_size(type),
            order == TULLE_COL_MAJOR ? "True" : "False", rows, cols);
    header[10 + n] = ' ';
    header[sizeof header - 1] = '\n';
    TULLE_TRY(tulle__output_write(made->output, header, sizeof header));
    made->size = tulle_type_size(type);
    made->left = rows * cols;
    *writer = made;
    return TULLE_OK;
out:
    tulle__npy_writer_abort(made);
    return status;
}

tulle_status tulle__npy_writer_append(tulle__npy_writer *writer, const void *values, int64_t n)
{
    if (n > writer->left)
        return tulle__fail(TULLE_ERR_STATE, "%" PRId64 " values too many for the .npy file", n - writer->left);
    writer->left -= n;
    return tulle__output_write(writer->output, values, (size_t)n * writer->size);
}

tulle_status tulle__npy_writer_close(tulle__npy_writer *writer, tulle_status status)
{
    TULLE_TRY(status);
    if (writer->left)
        TULLE_TRY(
            tulle__fail(TULLE_ERR_STATE, "%" PRId64 " values are missing at the end of the .npy file", writer->left));
    status = tulle__output_close(writer->output);
    writer->output = NULL;
out:
    tulle__npy_writer_abort(writer);
    return status;
}

void tulle__npy_writer_abort(tulle__npy_writer *writer)
{
    if (!writer) return;
    tulle__output_abort(writer->output);
    tulle__free(writer);
}
