/* SPDX-License-Identifier: Apache-2.0 */
#include "io/petsc/petsc.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/regular.h"
#include "tile/element.h"

enum { MATRIX = 1211216, VECTOR = 1211214, PIECE = 1 << 14 };

struct tulle__petsc {
    tulle__petsc_header header;
    tulle__regular file;
    int64_t lengths, columns, data; /* offsets of the arrays */
    tulle__progress_meter *meter;
    int64_t wanted, done; /* values: expected by the progress meter, and read */
};

const tulle__petsc_header *tulle__petsc_head(const tulle__petsc *petsc)
{
    return &petsc->header;
}

/* ---- numbers ---- */

static uint64_t big(const unsigned char *from, int bytes)
{
    uint64_t x = 0;
    for (int b = 0; b < bytes; b++) x = x << 8 | from[b];
    return x;
}

static int64_t integer_of(const unsigned char *from, int bytes)
{
    return bytes == 4 ? (int32_t)(uint32_t)big(from, 4) : (int64_t)big(from, 8);
}

/* n <= PIECE integers from an offset on. */
static tulle_status read_integers(const tulle__petsc *p, int64_t offset, int64_t n, int64_t *to)
{
    unsigned char raw[PIECE * 8];
    int width = p->header.index;
    TULLE_CALL(tulle__regular_read(&p->file, raw, (size_t)(n * width), offset));
    for (int64_t i = 0; i < n; i++) to[i] = integer_of(raw + i * width, width);
    return TULLE_OK;
}

/* n <= PIECE values from an offset on. */
static tulle_status read_values(const tulle__petsc *p, tulle__gate *gate, int64_t offset, int64_t n, double *to)
{
    char raw[PIECE * 8];
    tulle__stored as = {'f', p->header.value, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};
    TULLE_CALL(tulle__regular_read(&p->file, raw, (size_t)(n * as.width), offset));
    tulle__gate_numbers(gate, as, raw, n, to);
    return TULLE_OK;
}

/* ---- the header ---- */

/* The kind of object that begins at an offset, MATRIX or VECTOR, in integers of a width; 0: none does. */
static int64_t object_at(const tulle__petsc *p, int64_t offset, int width)
{
    unsigned char raw[8];
    if (offset < 0 || width > p->file.bytes - offset ||
        tulle__regular_read(&p->file, raw, (size_t)width, offset) != TULLE_OK)
        return 0;
    int64_t kind = integer_of(raw, width);
    return kind == MATRIX || kind == VECTOR ? kind : 0;
}

/* Values of which width end where another object begins, or else where the file ends. */
static tulle_status find_value_width(tulle__petsc *p)
{
    static const int widths[] = {8, 4, 16};
    tulle__petsc_header *h = &p->header;
    int64_t capacity = p->file.bytes - p->data;
    for (h->more = 1; h->more >= 0; h->more--)
        for (int w = 0; w < 3; w++) {
            if (capacity < 0 || h->stored > capacity / widths[w]) continue;
            int64_t end = p->data + h->stored * widths[w];
            if (h->more ? !object_at(p, end, h->index) : end != p->file.bytes) continue;
            h->value = widths[w];
            if (h->value < 16) return TULLE_OK;
            return tulle__fail(TULLE_ERR_UNSUPPORTED,
                "%s: its values have 16 bytes each: complex numbers, or a PETSc of quadruple precision", p->file.path);
        }
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s: %" PRId64 " values from byte %" PRId64 " on end neither where the file does, at byte %" PRId64
        ", nor where another object begins",
        p->file.path, h->stored, p->data, p->file.bytes);
}

/* The lengths of rows are none below 0, and make up all entries. */
static tulle_status check_lengths(const tulle__petsc *p)
{
    const tulle__petsc_header *h = &p->header;
    tulle_status status = TULLE_OK;
    int64_t *length = NULL, sum = 0;
    TULLE_TRY(tulle__alloc(PIECE, sizeof *length, "lengths of rows", &length));
    for (int64_t row = 0; row < h->rows; row += PIECE) {
        int64_t n = h->rows - row < PIECE ? h->rows - row : PIECE;
        TULLE_TRY(read_integers(p, p->lengths + row * h->index, n, length));
        for (int64_t r = 0; r < n; r++) {
            if (length[r] < 0 || length[r] > h->stored - sum)
                TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT,
                    "%s: row " TULLE__AT " has %" PRId64 " entries, with %" PRId64 " before it and %" PRId64
                    " in all" TULLE__COUNTED,
                    p->file.path, row + r, length[r], sum, h->stored));
            sum += length[r];
        }
    }
    if (sum != h->stored)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: its rows have %" PRId64 " entries, but the file says %" PRId64,
            p->file.path, sum, h->stored);
out:
    tulle__free(length);
    return status;
}

static tulle_status read_header(tulle__petsc *p)
{
    tulle__petsc_header *h = &p->header;
    int64_t kind = 0, figure[4] = {0, 0, 1, -1}; /* kind, rows, columns, entries */
    for (h->index = 4; h->index <= 8 && !kind; h->index += kind ? 0 : 4) kind = object_at(p, 0, h->index);
    if (!kind)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: is no binary file of PETSc: it begins neither with %d, a matrix, nor with %d, a vector", p->file.path,
            (int)MATRIX, (int)VECTOR);
    h->vector = kind == VECTOR;
    int figures = h->vector ? 2 : 4;
    TULLE_CALL(read_integers(p, 0, figures, figure));
    h->rows = figure[1];
    h->cols = figure[2];
    h->dense = figure[3] == -1;
    if (h->rows < 0 || h->cols < 0 || figure[3] < -1 || (h->cols && h->rows > INT64_MAX / 16 / h->cols && h->dense))
        return tulle__fail(TULLE_ERR_FORMAT, "%s: %" PRId64 " x %" PRId64 " with %" PRId64 " entries is no matrix",
            p->file.path, h->rows, h->cols, figure[3]);
    h->stored = h->dense ? h->rows * h->cols : figure[3];
    p->lengths = p->columns = p->data = (int64_t)figures * h->index;
    if (h->dense) return find_value_width(p);
    int64_t capacity = (p->file.bytes - p->lengths) / h->index;
    if (h->rows > capacity || h->stored > capacity - h->rows)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: has %" PRId64 " bytes, too few for %" PRId64 " rows with %" PRId64 " entries", p->file.path,
            p->file.bytes, h->rows, h->stored);
    p->columns = p->lengths + h->rows * h->index;
    p->data = p->columns + h->stored * h->index;
    TULLE_CALL(find_value_width(p));
    return check_lengths(p);
}

tulle_status tulle__petsc_open(const char *path, tulle__petsc **petsc)
{
    tulle__petsc *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a file of PETSc", &made));
    made->file.fd = -1;
    TULLE_TRY(tulle__regular_open(path, &made->file));
    TULLE_TRY(read_header(made));
    *petsc = made;
    return TULLE_OK;
out:
    tulle__petsc_close(made);
    return status;
}

void tulle__petsc_close(tulle__petsc *petsc)
{
    if (!petsc) return;
    tulle__regular_close(&petsc->file);
    tulle__free(petsc);
}

/* ---- entries ---- */

void tulle__petsc_watch(tulle__petsc *petsc, tulle__progress_meter *meter, int64_t values)
{
    petsc->meter = meter;
    petsc->wanted = values;
    petsc->done = 0;
    tulle__progress_meter_start(meter, "reading", "values", values);
}

static void advance(tulle__petsc *p, int64_t values)
{
    p->done += values;
    tulle__progress_meter_set(p->meter, p->done, p->wanted);
}

/* Walks over the rows of the entries that are read. */
struct rows {
    int64_t row, left;        /* the row of the next entry, and how many it still has */
    int64_t next, count, got; /* of length: the next one, how many there are; rows read so far */
    int64_t length[PIECE];
};

static tulle_status next_row(const tulle__petsc *p, struct rows *r)
{
    const tulle__petsc_header *h = &p->header;
    if (r->next == r->count) {
        r->count = h->rows - r->got < PIECE ? h->rows - r->got : PIECE;
        r->next = 0;
        TULLE_CALL(read_integers(p, p->lengths + r->got * h->index, r->count, r->length));
        r->got += r->count;
    }
    r->row++;
    r->left = r->length[r->next++];
    return TULLE_OK;
}

/* To the row of entry `first`. */
static tulle_status find_row(const tulle__petsc *p, int64_t first, struct rows *r)
{
    int64_t before = 0;
    do {
        before += r->left;
        TULLE_CALL(next_row(p, r));
    } while (before + r->left <= first);
    r->left -= first - before;
    return TULLE_OK;
}

static tulle_status add_entry(
    const tulle__petsc *p, tulle__gate *gate, int64_t row, int64_t col, double value, tulle__entries *entries)
{
    if (col < 0 || col >= p->header.cols)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: row " TULLE__AT " has an entry in column " TULLE__AT " of %" PRId64 TULLE__COUNTED, p->file.path, row,
            col, p->header.cols);
    return tulle__gate_add(gate, entries, row, col, value);
}

tulle_status tulle__petsc_parse(tulle__petsc *petsc, int part, int nparts, tulle__gate *gate, tulle__entries *entries)
{
    const tulle__petsc_header *h = &petsc->header;
    int64_t each = h->stored / nparts, rest = h->stored % nparts;
    int64_t first = each * part + (part < rest ? part : rest), end = first + each + (part < rest);
    TULLE__SCOPED struct rows *rows = NULL;
    TULLE__SCOPED int64_t *col = NULL;
    TULLE__SCOPED double *val = NULL;
    tulle__entries_init(entries, h->rows > INT32_MAX || h->cols > INT32_MAX, 0, gate->type);
    if (first == end) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *rows, "lengths of rows", &rows));
    TULLE_CALL(tulle__alloc(PIECE, sizeof *col, "columns", &col));
    TULLE_CALL(tulle__alloc(PIECE, sizeof *val, "values", &val));
    rows->row = -1;
    TULLE_CALL(find_row(petsc, first, rows));
    for (int64_t at = first; at < end;) {
        int64_t n = end - at < PIECE ? end - at : PIECE;
        TULLE_CALL(read_integers(petsc, petsc->columns + at * h->index, n, col));
        TULLE_CALL(read_values(petsc, gate, petsc->data + at * h->value, n, val));
        for (int64_t e = 0; e < n; e++, rows->left--) {
            while (!rows->left) TULLE_CALL(next_row(petsc, rows));
            TULLE_CALL(add_entry(petsc, gate, rows->row, col[e], val[e], entries));
        }
        at += n;
        advance(petsc, n);
    }
    return TULLE_OK;
}

tulle_status tulle__petsc_read(tulle__petsc *petsc, tulle__gate *gate, int64_t row, int64_t rows, int64_t col,
    int64_t cols, tulle_order order, int64_t ld, void *to)
{
    const tulle__petsc_header *h = &petsc->header;
    double val[PIECE];
    if (row < 0 || rows < 0 || col < 0 || cols < 0 || rows > h->rows - row || cols > h->cols - col)
        return tulle__fail(TULLE_ERR_ARG,
            "%s: rows %" PRId64 " + %" PRId64 ", columns %" PRId64 " + %" PRId64 " are outside its %" PRId64
            " x %" PRId64,
            petsc->file.path, row, rows, col, cols, h->rows, h->cols);
    int whole = cols == h->cols; /* lines follow each other */
    int64_t lines = whole ? 1 : rows, values = whole ? rows * cols : cols;
    for (int64_t line = 0; line < lines; line++)
        for (int64_t done = 0; done < values;) {
            int64_t n = values - done < PIECE ? values - done : PIECE;
            int64_t offset = petsc->data + ((row + line) * h->cols + col + done) * h->value;
            tulle_status status = read_values(petsc, gate, offset, n, val);
            for (int64_t v = 0, some; v < n && status == TULLE_OK; v += some) { /* up to the end of a line */
                int64_t r = line + (done + v) / cols, c = (done + v) % cols;
                some = cols - c < n - v ? cols - c : n - v;
                status = tulle__gate_store(gate, row + r, col + c, false, val + v, some, to,
                    tulle__dense_place(order, ld, r, c), order == TULLE_ROW_MAJOR ? 1 : ld);
            }
            if (status != TULLE_OK) return status;
            done += n;
            advance(petsc, n);
        }
    return TULLE_OK;
}
