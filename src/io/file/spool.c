/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece consists of row pointers, as in CSR, and records of a column and a value. Each piece is
 * sorted by rows, so a merge of all pieces reads each of them once, from beginning to end.
 */
#include "io/file/spool.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/output.h"

enum {
    OUT = 1 << 18,      /* bytes of records written at a time */
    POINTERS = 1 << 12, /* pointers written at a time */
    IN = 1 << 20,       /* bytes of records, and of pointers, that all pieces read ahead */
    IN_LEAST = 1 << 12  /* that each of them does */
};

struct piece {
    int64_t pointers, records; /* where they begin */
    int64_t entries;
};

struct tulle__spool {
    tulle__output *file;
    int64_t rows, entries;
    size_t value, column; /* bytes of one */
    struct piece *piece;
    int npieces, capacity;
    int64_t end; /* of the file */
    /* what of the last piece is not written yet */
    char *out;
    size_t nout;
    int64_t pointer[POINTERS], row; /* pointers below that of `row` have been made, npointers of them not written */
    int npointers;
};

tulle_status tulle__spool_open(const char *path, int64_t rows, int64_t cols, tulle_type type, tulle__spool **spool)
{
    tulle_status status;
    tulle__spool *made;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "pieces of a matrix file", &made));
    made->rows = rows;
    made->value = tulle_type_size(type);
    made->column = cols > INT32_MAX ? sizeof(int64_t) : sizeof(int32_t);
    status = tulle__alloc(OUT, 1, "pieces of a file", &made->out);
    if (status == TULLE_OK) status = tulle__output_open(path, 0, &made->file);
    if (status == TULLE_OK && !tulle__output_can_overwrite(made->file))
        status = tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: is not a regular file", path);
    if (status == TULLE_OK)
        *spool = made;
    else
        tulle__spool_close(made);
out:
    return status;
}

void tulle__spool_close(tulle__spool *spool)
{
    if (!spool) return;
    tulle__output_abort(spool->file);
    tulle__free(spool->piece);
    tulle__free(spool->out);
    tulle__free(spool);
}

int64_t tulle__spool_entries(const tulle__spool *spool)
{
    return spool->entries;
}

tulle_status tulle__spool_begin(tulle__spool *spool)
{
    if (spool->npieces == spool->capacity) {
        int capacity = 2 * spool->capacity + 8;
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *spool->piece, "pieces of a file", &spool->piece));
        spool->capacity = capacity;
    }
    struct piece *piece = &spool->piece[spool->npieces++];
    *piece = (struct piece){.pointers = spool->end};
    piece->records = spool->end + (spool->rows + 1) * (int64_t)sizeof *spool->pointer;
    spool->end = piece->records;
    spool->row = 0;
    return TULLE_OK;
}

static tulle_status write_records(tulle__spool *spool)
{
    tulle_status status = tulle__output_overwrite(spool->file, spool->end, spool->out, spool->nout);
    spool->end += (int64_t)spool->nout;
    spool->nout = 0;
    return status;
}

static tulle_status write_pointers(tulle__spool *spool, const struct piece *piece)
{
    int64_t size = (int64_t)sizeof *spool->pointer, at = piece->pointers + (spool->row - spool->npointers) * size;
    tulle_status status =
        tulle__output_overwrite(spool->file, at, spool->pointer, (size_t)spool->npointers * sizeof *spool->pointer);
    spool->npointers = 0;
    return status;
}

/* Appends the pointers of all rows up to this one, to which the following records belong. */
static tulle_status enter_row(tulle__spool *spool, const struct piece *piece, int64_t row)
{
    while (spool->row <= row) {
        if (spool->npointers == POINTERS) TULLE_CALL(write_pointers(spool, piece));
        spool->pointer[spool->npointers++] = piece->entries;
        spool->row++;
    }
    return TULLE_OK;
}

tulle_status tulle__spool_take(
    tulle__spool *spool, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val)
{
    struct piece *piece = &spool->piece[spool->npieces - 1];
    const char *value = val;
    TULLE_CALL(enter_row(spool, piece, row));
    for (int64_t e = 0; e < n; e++) {
        int64_t wide = base + col[e];
        int32_t narrow = (int32_t)wide;
        if (OUT - spool->nout < spool->column + spool->value) TULLE_CALL(write_records(spool));
        char *to = spool->out + spool->nout;
        memcpy(to, spool->column == sizeof wide ? (void *)&wide : (void *)&narrow, spool->column);
        memcpy(to + spool->column, value + (size_t)e * spool->value, spool->value);
        spool->nout += spool->column + spool->value;
    }
    piece->entries += n;
    spool->entries += n;
    return TULLE_OK;
}

tulle_status tulle__spool_end(tulle__spool *spool)
{
    const struct piece *piece = &spool->piece[spool->npieces - 1];
    TULLE_CALL(enter_row(spool, piece, spool->rows));
    TULLE_CALL(write_pointers(spool, piece));
    return write_records(spool);
}

/* ---- merging ---- */

/* A list of numbers or records in the file, read ahead. */
struct list {
    int64_t at, count; /* where it begins, and how many there are */
    int64_t size;      /* of one */
    char *ahead;
    int64_t first, have; /* which of them are in `ahead` */
};

struct stream {
    struct list pointers, records;
    int64_t next, end; /* records of this row */
};

static tulle_status look(const tulle__spool *spool, struct list *list, int64_t capacity, int64_t i, const char **found)
{
    if (i < list->first || i >= list->first + list->have) {
        int64_t n = list->count - i < capacity / list->size ? list->count - i : capacity / list->size;
        list->first = i;
        list->have = 0;
        TULLE_CALL(tulle__output_read(spool->file, list->at + i * list->size, list->ahead, (size_t)(n * list->size)));
        list->have = n;
    }
    *found = list->ahead + (i - list->first) * list->size;
    return TULLE_OK;
}

struct merge {
    tulle__spool *spool;
    int64_t capacity; /* bytes that each list reads ahead */
    struct stream *stream;
    struct stream **active; /* that have something of the row left */
    int nactive;
};

static int64_t column_of(const tulle__spool *spool, const char *record)
{
    int64_t wide;
    int32_t narrow;
    memcpy(spool->column == sizeof wide ? (void *)&wide : (void *)&narrow, record, spool->column);
    return spool->column == sizeof wide ? wide : narrow;
}

static tulle_status start_merge(struct merge *m, tulle__spool *spool)
{
    int n = spool->npieces;
    *m = (struct merge){.spool = spool, .capacity = n && IN / n > IN_LEAST ? IN / n : IN_LEAST};
    TULLE_CALL(tulle__alloc_zero((size_t)n, sizeof *m->stream, "pieces of a file", &m->stream));
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *m->active, "pieces of a file", &m->active));
    for (int s = 0; s < n; s++) {
        const struct piece *piece = &spool->piece[s];
        struct stream *stream = &m->stream[s];
        stream->pointers =
            (struct list){.at = piece->pointers, .count = spool->rows + 1, .size = (int64_t)sizeof *spool->pointer};
        stream->records = (struct list){
            .at = piece->records, .count = piece->entries, .size = (int64_t)(spool->column + spool->value)};
        TULLE_CALL(tulle__alloc((size_t)m->capacity, 1, "pieces of a file", &stream->pointers.ahead));
        TULLE_CALL(tulle__alloc((size_t)m->capacity, 1, "pieces of a file", &stream->records.ahead));
    }
    return TULLE_OK;
}

static void end_merge(struct merge *m)
{
    for (int s = 0; m->stream && s < m->spool->npieces; s++) {
        tulle__free(m->stream[s].pointers.ahead);
        tulle__free(m->stream[s].records.ahead);
    }
    tulle__free(m->stream);
    tulle__free(m->active);
}

/* Finds the pieces that have records of a row; rows ascend. */
static tulle_status start_row(struct merge *m, int64_t row)
{
    const char *found;
    m->nactive = 0;
    for (int s = 0; s < m->spool->npieces; s++) {
        struct stream *stream = &m->stream[s];
        TULLE_CALL(look(m->spool, &stream->pointers, m->capacity, row + 1, &found));
        stream->next = stream->end;
        memcpy(&stream->end, found, sizeof stream->end);
        if (stream->next < stream->end) m->active[m->nactive++] = stream;
    }
    return TULLE_OK;
}

/* Finds the piece whose next column is the least, and up to which column it stays the least. */
static tulle_status choose(struct merge *m, int *least, int64_t *until)
{
    int64_t lowest = INT64_MAX;
    *until = INT64_MAX;
    for (int a = 0; a < m->nactive; a++) {
        const char *record;
        TULLE_CALL(look(m->spool, &m->active[a]->records, m->capacity, m->active[a]->next, &record));
        int64_t col = column_of(m->spool, record);
        if (col < lowest) {
            *until = lowest;
            lowest = col;
            *least = a;
        } else if (col < *until) {
            *until = col;
        }
    }
    return TULLE_OK;
}

tulle_status tulle__spool_give(tulle__spool *spool, tulle__progress_meter *meter,
    tulle_status (*put)(void *context, int64_t row, int64_t col, const void *val), void *context)
{
    struct merge m;
    int64_t done = 0;
    tulle__progress_meter_start(meter, "merging", "entries", spool->entries);
    tulle_status status;
    TULLE_TRY(start_merge(&m, spool));
    for (int64_t row = 0; row < spool->rows; row++) {
        TULLE_TRY(start_row(&m, row));
        while (m.nactive) {
            int least = 0;
            int64_t until;
            TULLE_TRY(choose(&m, &least, &until));
            struct stream *s = m.active[least];
            /* at least one record, also where another piece has an entry in the same place */
            for (int first = 1; s->next < s->end; first = 0, s->next++, done++) {
                const char *record;
                TULLE_TRY(look(spool, &s->records, m.capacity, s->next, &record));
                int64_t col = column_of(spool, record);
                if (!first && col >= until) break;
                TULLE_TRY(put(context, row, col, record + spool->column));
            }
            if (s->next == s->end) m.active[least] = m.active[--m.nactive];
        }
        tulle__progress_meter_set(meter, done, spool->entries);
    }
out:
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    end_merge(&m);
    return status;
}
