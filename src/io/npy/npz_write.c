/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes .npz files as CSR, or as coordinates, in stored members, so that the position of each member is known in
 * advance and rows, columns and values can be written as they arrive. Checksums, which precede the
 * contents, are filled in at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/output.h"
#include "io/npy/npz.h"

/*
 * HEADER: bytes of a NumPy header; PIECE: numbers written at a time. For zip: lengths of records
 * without names; a date in 1980.
 */
enum { HEADER = 128, PIECE = 1 << 15, LOCAL = 30, EXTRA = 20, ENTRY = 46, ENTRY_EXTRA = 28, END = 22, DAY = 0x21 };

/* In the order in which NumPy writes them. Coordinates have the rows of entries as POINTERS. */
enum { INDICES, POINTERS, FORMAT, SHAPE, DATA, MEMBERS };
static const char *const csr_names[MEMBERS] = {"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"};
static const char *const coo_names[MEMBERS] = {"col.npy", "row.npy", "format.npy", "shape.npy", "data.npy"};

struct member {
    char header[HEADER];
    int64_t begin; /* of its record in the file */
    int64_t bytes; /* with its header */
    int64_t written;
    uint32_t crc;
};

struct tulle__npz_writer {
    tulle__output *output;
    int64_t rows, count;
    size_t value; /* bytes of one */
    int wide;     /* indices have 64 bits */
    bool coo;
    const char *const *names;
    struct member member[MEMBERS];
    int64_t lines, entries;  /* pointers made, entries put */
    int nentries, npointers; /* of them not written */
    int64_t index[PIECE], pointer[PIECE];
    char values[PIECE * sizeof(double)];
    char narrow[PIECE * sizeof(int64_t)];
};

void tulle__npz_writer_abort(tulle__npz_writer *writer)
{
    if (!writer) return;
    tulle__output_abort(writer->output);
    tulle__free(writer);
}

/* shape: as Python writes a tuple. */
static void describe(struct member *m, const char *type, const char *shape, int64_t data)
{
    enum { BEFORE = 10 };
    memset(m->header, ' ', HEADER);
    memcpy(m->header, "\x93NUMPY\x01\x00", 8);
    m->header[8] = HEADER - BEFORE;
    m->header[9] = 0;
    int n = snprintf(
        m->header + BEFORE, HEADER - BEFORE, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
    m->header[BEFORE + n] = ' ';
    m->header[HEADER - 1] = '\n';
    m->crc = tulle__zip_crc(0, m->header, HEADER);
    m->bytes = HEADER + data;
    m->written = HEADER;
}

static char order(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
}

static void describe_list(struct member *m, char kind, size_t width, int64_t count)
{
    char type[8], shape[40];
    snprintf(type, sizeof type, "%c%c%d", order(), kind, (int)width);
    snprintf(shape, sizeof shape, "(%" PRId64 ",)", count);
    describe(m, type, shape, count * (int64_t)width);
}

/* Appends bytes to a member. */
static tulle_status put_bytes(tulle__npz_writer *w, int which, const void *data, size_t bytes)
{
    struct member *m = &w->member[which];
    int64_t at = m->begin + LOCAL + (int64_t)strlen(w->names[which]) + EXTRA + m->written;
    m->crc = tulle__zip_crc(m->crc, data, bytes);
    m->written += (int64_t)bytes;
    return tulle__output_overwrite(w->output, at, data, bytes);
}

/* Appends n numbers of the width of indices. */
static tulle_status put_numbers(tulle__npz_writer *w, int which, int n, const int64_t *number)
{
    if (w->wide) return put_bytes(w, which, number, (size_t)n * sizeof *number);
    for (int i = 0; i < n; i++) {
        int32_t narrow = (int32_t)number[i];
        memcpy(w->narrow + (size_t)i * sizeof narrow, &narrow, sizeof narrow);
    }
    return put_bytes(w, which, w->narrow, (size_t)n * sizeof(int32_t));
}

tulle_status tulle__npz_writer_open(const char *path, const tulle__npz_sparse *sparse, tulle__npz_writer **writer)
{
    const int64_t rows = sparse->rows, cols = sparse->cols, count = sparse->count;
    tulle__npz_writer *w = NULL;
    int64_t shape[2] = {rows, cols}, begin = 0;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__zip_present(path));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *w, "a writer", &w));
    w->rows = rows;
    w->count = count;
    w->value = tulle_type_size(sparse->type);
    w->coo = sparse->coo;
    w->names = w->coo ? coo_names : csr_names;
    w->wide = cols > INT32_MAX || rows > INT32_MAX || count > INT32_MAX;
    size_t index = w->wide ? sizeof(int64_t) : sizeof(int32_t);
    describe_list(&w->member[INDICES], 'i', index, count);
    describe_list(&w->member[POINTERS], 'i', index, w->coo ? count : rows + 1);
    describe(&w->member[FORMAT], "|S3", "()", 3);
    describe_list(&w->member[SHAPE], 'i', sizeof *shape, 2);
    describe_list(&w->member[DATA], 'f', w->value, count);
    for (int m = 0; m < MEMBERS; m++) {
        w->member[m].begin = begin;
        begin += LOCAL + (int64_t)strlen(w->names[m]) + EXTRA + w->member[m].bytes;
    }
    TULLE_TRY(tulle__output_open(path, 0, &w->output));
    if (!tulle__output_can_overwrite(w->output))
        TULLE_TRY(tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is not a regular file, but a .npz file is not written from its start to its end", path));
    TULLE_TRY(put_bytes(w, FORMAT, w->coo ? "coo" : "csr", 3));
    TULLE_TRY(put_bytes(w, SHAPE, shape, sizeof shape));
    *writer = w;
    return TULLE_OK;
out:
    tulle__npz_writer_abort(w);
    return status;
}

static tulle_status write_entries(tulle__npz_writer *w)
{
    tulle_status status = put_numbers(w, INDICES, w->nentries, w->index);
    if (status == TULLE_OK) status = put_bytes(w, DATA, w->values, (size_t)w->nentries * w->value);
    w->nentries = 0;
    return status;
}

static tulle_status write_pointers(tulle__npz_writer *w)
{
    tulle_status status = put_numbers(w, POINTERS, w->npointers, w->pointer);
    w->npointers = 0;
    return status;
}

/* Appends the pointers of all rows up to this one, to which the following entries belong; or the row of one entry. */
static tulle_status enter_row(tulle__npz_writer *w, int64_t row)
{
    if (w->coo) {
        if (w->npointers == PIECE) TULLE_CALL(write_pointers(w));
        w->pointer[w->npointers++] = row;
        return TULLE_OK;
    }
    for (; w->lines <= row; w->lines++) {
        if (w->npointers == PIECE) TULLE_CALL(write_pointers(w));
        w->pointer[w->npointers++] = w->entries;
    }
    return TULLE_OK;
}

tulle_status tulle__npz_put(tulle__npz_writer *w, int64_t row, int64_t col, const void *val)
{
    TULLE_CALL(enter_row(w, row));
    if (w->nentries == PIECE) TULLE_CALL(write_entries(w));
    memcpy(w->values + (size_t)w->nentries * w->value, val, w->value);
    w->index[w->nentries++] = col;
    w->entries++;
    return TULLE_OK;
}

/* ---- the zip file's records ---- */

static unsigned char *put_little(unsigned char *to, uint64_t x, int bytes)
{
    for (int b = 0; b < bytes; b++) *to++ = (unsigned char)(x >> 8 * b);
    return to;
}

/* The fields that a member's own header and its directory entry share, from the version on. */
static unsigned char *put_description(unsigned char *p, const struct member *m, size_t name)
{
    p = put_little(p, 45, 2); /* the version with zip64 */
    p = put_little(p, 0, 2);
    p = put_little(p, 0, 2); /* stored */
    p = put_little(p, 0, 2);
    p = put_little(p, DAY, 2);
    p = put_little(p, m->crc, 4);
    p = put_little(p, UINT32_MAX, 4); /* sizes are in the extra field */
    p = put_little(p, UINT32_MAX, 4);
    return put_little(p, name, 2);
}

static unsigned char *put_sizes(unsigned char *p, const struct member *m, int more)
{
    p = put_little(p, 1, 2); /* zip64's */
    p = put_little(p, (uint64_t)(16 + more), 2);
    p = put_little(p, (uint64_t)m->bytes, 8);
    return put_little(p, (uint64_t)m->bytes, 8);
}

/* Writes the headers before a member's contents. */
static tulle_status write_header(tulle__npz_writer *w, int which)
{
    unsigned char record[LOCAL + 32 + EXTRA + HEADER], *p = record;
    const struct member *m = &w->member[which];
    size_t name = strlen(w->names[which]);
    p = put_little(p, 0x04034b50, 4);
    p = put_description(p, m, name);
    p = put_little(p, EXTRA, 2);
    memcpy(p, w->names[which], name);
    p = put_sizes(p + name, m, 0);
    memcpy(p, m->header, HEADER);
    return tulle__output_overwrite(w->output, m->begin, record, (size_t)(p - record) + HEADER);
}

static unsigned char *put_entry(unsigned char *p, const struct member *m, const char *text)
{
    size_t name = strlen(text);
    p = put_little(p, 0x02014b50, 4);
    p = put_little(p, 45, 2);
    p = put_description(p, m, name);
    p = put_little(p, ENTRY_EXTRA, 2);
    p = put_little(p, 0, 2 + 2 + 2);  /* comment, disk, attributes */
    p = put_little(p, 0, 4);          /* attributes of the system's */
    p = put_little(p, UINT32_MAX, 4); /* the place is in the extra field */
    memcpy(p, text, name);
    p = put_sizes(p + name, m, 8);
    return put_little(p, (uint64_t)m->begin, 8);
}

/* The zip64 end record with its locator, and the plain end record. */
static unsigned char *put_end(unsigned char *p, int64_t directory, size_t length)
{
    p = put_little(p, 0x06064b50, 4);
    p = put_little(p, 44, 8); /* of what follows */
    p = put_little(p, 45, 2);
    p = put_little(p, 45, 2);
    p = put_little(p, 0, 4 + 4); /* disks */
    p = put_little(p, MEMBERS, 8);
    p = put_little(p, MEMBERS, 8);
    p = put_little(p, length, 8);
    p = put_little(p, (uint64_t)directory, 8);
    p = put_little(p, 0x07064b50, 4);
    p = put_little(p, 0, 4);
    p = put_little(p, (uint64_t)directory + length, 8);
    p = put_little(p, 1, 4); /* disks */
    p = put_little(p, 0x06054b50, 4);
    p = put_little(p, 0, 2 + 2);
    p = put_little(p, MEMBERS, 2);
    p = put_little(p, MEMBERS, 2);
    p = put_little(p, length, 4);
    p = put_little(p, directory < UINT32_MAX ? (uint64_t)directory : UINT32_MAX, 4);
    return put_little(p, 0, 2); /* a comment */
}

static tulle_status write_directory(tulle__npz_writer *w)
{
    unsigned char all[MEMBERS * (ENTRY + 32 + ENTRY_EXTRA) + 128], *p = all;
    const struct member *last = &w->member[MEMBERS - 1];
    int64_t directory = last->begin + LOCAL + (int64_t)strlen(w->names[MEMBERS - 1]) + EXTRA + last->bytes;
    for (int m = 0; m < MEMBERS; m++) p = put_entry(p, &w->member[m], w->names[m]);
    p = put_end(p, directory, (size_t)(p - all));
    return tulle__output_overwrite(w->output, directory, all, (size_t)(p - all));
}

tulle_status tulle__npz_writer_close(tulle__npz_writer *w, tulle_status status)
{
    TULLE_TRY(status);
    if (w->entries != w->count)
        TULLE_TRY(tulle__fail(
            TULLE_ERR_STATE, "%" PRId64 " entries were written to a file of %" PRId64, w->entries, w->count));
    if (!w->coo) TULLE_TRY(enter_row(w, w->rows));
    TULLE_TRY(write_pointers(w));
    TULLE_TRY(write_entries(w));
    for (int m = 0; m < MEMBERS; m++) TULLE_TRY(write_header(w, m));
    TULLE_TRY(write_directory(w));
    status = tulle__output_close(w->output);
    w->output = NULL;
out:
    tulle__npz_writer_abort(w);
    return status;
}
