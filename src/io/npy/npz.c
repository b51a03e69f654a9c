/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy/npz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/npy/npy_array.h"

enum { PIECE = 1 << 14 }; /* values read at a time */

/* The arrays of which each part reads a section, in the order of tulle__npz_sums. */
enum { DATA, INNER, OUTER };

/* A member that holds a NumPy array. */
struct array {
    tulle__zip_member member;
    tulle__npy_array npy;
    int64_t count; /* values */
    int64_t begin; /* of the first in the member */
};

struct tulle__npz {
    tulle__npz_header header;
    tulle__zip *zip;
    struct array shared[TULLE__NPZ_SHARED]; /* OUTER: rows of coo; INNER: indices, or columns of coo */
    struct array pointers;                  /* of compressed formats */
    int nshared;                            /* arrays in shared that are members of their own */
    int coords;                             /* INNER and OUTER are two lines of one array, OUTER */
    char *path;
    tulle__progress_meter *meter;
    int64_t wanted; /* values: expected by the progress meter */
};

const tulle__npz_header *tulle__npz_head(const tulle__npz *npz)
{
    return &npz->header;
}

static const char *const format_names[] = {"csr", "csc", "bsr", "coo"};

const char *tulle__npz_format_name(tulle__npz_format format)
{
    return format_names[format];
}

void tulle__npz_watch(tulle__npz *npz, tulle__progress_meter *meter, int nparts)
{
    npz->meter = meter;
    npz->wanted = npz->header.stored / nparts + 1;
    tulle__progress_meter_start(meter, "reading", "values", npz->header.stored);
}

/* ---- headers ---- */

/* Requirements on an array. */
struct demands {
    int dimensions; /* exactly so many */
    int kinds;      /* NUMBERS, INTEGERS, TEXT */
};
enum { NUMBERS, INTEGERS, TEXT };

static tulle_status check_array(const struct array *a, const struct demands *wanted)
{
    const char *what = a->member.what;
    char kind = a->npy.kind;
    int text = kind == 'S' || kind == 'U';
    if (a->npy.dimensions != wanted->dimensions)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the array has %d dimensions instead of %d", what, a->npy.dimensions,
            wanted->dimensions);
    if ((wanted->kinds == TEXT) != text || (wanted->kinds == INTEGERS && kind != 'i' && kind != 'u'))
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the array does not hold %s", what,
            wanted->kinds == TEXT       ? "text"
            : wanted->kinds == INTEGERS ? "integers"
                                        : "numbers");
    if (a->npy.order == TULLE_COL_MAJOR && a->npy.dimensions > 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: the array lies in Fortran order, which is not read: save the matrix with its arrays in C order", what);
    return TULLE_OK;
}

/* Reads the header of a member and leaves its stream at the first value. */
static tulle_status read_array_header(tulle__zip_stream *stream, const struct demands *wanted, struct array *a)
{
    unsigned char start[TULLE__NPY_START] = {0};
    const char *what = a->member.what;
    char *text = NULL;
    size_t length = 0, before = 0, have = 10;
    int64_t bytes;
    tulle_status status;
    if (a->member.bytes < TULLE__NPY_START) /* too few for any array */
        return tulle__fail(TULLE_ERR_FORMAT, "%s: is no .npy file: it has %" PRId64 " bytes", what, a->member.bytes);
    TULLE_TRY(tulle__zip_read(stream, start, have));
    if (start[6] > 1) { /* version > 1: the length has two more bytes */
        TULLE_TRY(tulle__zip_read(stream, start + have, 2));
        have += 2;
    }
    TULLE_TRY(tulle__npy_start(what, start, a->member.bytes, &length, &before));
    TULLE_TRY(tulle__alloc(length, 1, "the header of an array", &text));
    TULLE_TRY(tulle__zip_read(stream, text, length));
    TULLE_TRY(tulle__npy_describe(what, text, length, TULLE__NPY_DIMENSIONS, wanted->kinds == TEXT, &a->npy));
    TULLE_TRY(check_array(a, wanted));
    TULLE_TRY(tulle__npy_bytes(what, &a->npy, &bytes));
    a->begin = (int64_t)(before + length);
    a->count = a->npy.width ? bytes / a->npy.width : 0;
    if (bytes != a->member.bytes - a->begin)
        status = tulle__fail(TULLE_ERR_FORMAT,
            "%s: %" PRId64 " values of %d bytes are %" PRId64 " bytes, but %" PRId64 " follow the header", what,
            a->count, a->npy.width, bytes, a->member.bytes - a->begin);
out:
    tulle__free(text);
    return status;
}

static tulle_status find(const tulle__npz *npz, const char *name, int *found, struct array *a)
{
    char file[40];
    snprintf(file, sizeof file, "%s.npy", name);
    return tulle__zip_find(npz->zip, file, found, &a->member);
}

static tulle_status find_all(const tulle__npz *npz, const char *name, struct array *a)
{
    int found;
    TULLE_CALL(find(npz, name, &found, a));
    if (found) return TULLE_OK;
    return tulle__fail(
        TULLE_ERR_FORMAT, "%s: has no member %s.npy, as files of scipy.sparse.save_npz have", npz->path, name);
}

static tulle_status open_array(const tulle__npz *npz, const char *name, struct demands wanted, struct array *a)
{
    tulle__zip_stream *stream = NULL;
    tulle_status status = find_all(npz, name, a);
    if (status == TULLE_OK) status = tulle__zip_stream_open(npz->zip, &a->member, &stream);
    if (status == TULLE_OK) status = read_array_header(stream, &wanted, a);
    tulle__zip_stream_close(stream);
    return status;
}

/* Reads a small array completely; `capacity` bytes suffice for every valid one. */
static tulle_status read_small(
    const tulle__npz *npz, const char *name, struct demands wanted, size_t capacity, char *to, struct array *a)
{
    tulle__zip_stream *stream = NULL;
    tulle_status status = TULLE_OK;
    TULLE_CALL(find_all(npz, name, a));
    TULLE_TRY(tulle__zip_stream_open(npz->zip, &a->member, &stream));
    TULLE_TRY(read_array_header(stream, &wanted, a));
    size_t bytes = (size_t)(a->member.bytes - a->begin);
    if (bytes > capacity)
        TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT, "%s: %zu bytes are too many for it", a->member.what, bytes));
    TULLE_TRY(tulle__zip_read(stream, to, bytes));
    TULLE_TRY(tulle__zip_end(stream));
out:
    tulle__zip_stream_close(stream);
    return status;
}

static tulle_status read_format(tulle__npz *npz)
{
    enum { MOST = 8, FORMATS = sizeof format_names / sizeof *format_names };
    char raw[MOST * 4] = {0}, name[MOST + 1] = {0};
    struct array a;
    TULLE_CALL(read_small(npz, "format", (struct demands){0, TEXT}, sizeof raw, raw, &a));
    int wide = a.npy.kind == 'U' ? 4 : 1;
    for (int i = 0; i < MOST && i < a.npy.width / wide; i++) {
        char c = raw[i * wide + (a.npy.swapped ? 3 : 0)];
        name[i] = c == '\0' || (c >= 'a' && c <= 'z') ? c : '?';
    }
    for (int f = 0; f < FORMATS; f++) {
        npz->header.format = (tulle__npz_format)f;
        if (strcmp(name, format_names[f]) == 0) return TULLE_OK;
    }
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "%s: the format '%s' is not read; those that are read are csr, csc, bsr and coo: convert it by A.tocsr()",
        npz->path, name);
}

static tulle_status read_shape(tulle__npz *npz)
{
    char raw[2 * sizeof(int64_t)];
    int64_t size[2] = {0, 0};
    struct array a;
    TULLE_CALL(read_small(npz, "shape", (struct demands){1, INTEGERS}, sizeof raw, raw, &a));
    if (a.count != 2)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: has %" PRId64 " sizes, a matrix has 2", a.member.what, a.count);
    tulle__npy_integers(&a.npy, raw, 2, size);
    if (size[0] < 0 || size[1] < 0)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: a size is negative or does not fit 64 bits", a.member.what);
    npz->header.rows = size[0];
    npz->header.cols = size[1];
    return TULLE_OK;
}

static tulle_status same_count(const struct array *a, int64_t count, const char *of)
{
    if (a->count == count) return TULLE_OK;
    return tulle__fail(TULLE_ERR_FORMAT, "%s: has %" PRId64 " numbers, but there are %" PRId64 " %s", a->member.what,
        a->count, count, of);
}

static tulle_status open_coordinates(tulle__npz *npz)
{
    int found;
    struct array *inner = &npz->shared[INNER], *outer = &npz->shared[OUTER];
    TULLE_CALL(find(npz, "coords", &found, outer));
    npz->coords = found;
    npz->nshared = found ? 1 : 3;
    if (found) {
        TULLE_CALL(open_array(npz, "coords", (struct demands){2, INTEGERS}, outer));
        if (outer->npy.size[0] != 2)
            return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: has %" PRId64 " dimensions, a matrix has 2",
                outer->member.what, outer->npy.size[0]);
        outer->count = outer->npy.size[1];
        *inner = *outer;
        inner->begin += inner->count * inner->npy.width;
    } else {
        TULLE_CALL(open_array(npz, "row", (struct demands){1, INTEGERS}, outer));
        TULLE_CALL(open_array(npz, "col", (struct demands){1, INTEGERS}, inner));
    }
    TULLE_CALL(same_count(outer, npz->header.stored, "values"));
    return same_count(inner, npz->header.stored, "values");
}

/* Number of lines (rows or columns) of a compressed format, and the limit of its inner indices. */
static int64_t lines_of(const tulle__npz_header *h)
{
    return h->format == TULLE__NPZ_CSC ? h->cols : h->rows / h->block_rows;
}

static int64_t inner_limit(const tulle__npz_header *h)
{
    return h->format == TULLE__NPZ_CSC ? h->rows : h->cols / h->block_cols;
}

static tulle_status open_compressed(tulle__npz *npz)
{
    const tulle__npz_header *h = &npz->header;
    tulle_status status;
    npz->nshared = 2;
    TULLE_TRY(open_array(npz, "indices", (struct demands){1, INTEGERS}, &npz->shared[INNER]));
    TULLE_TRY(open_array(npz, "indptr", (struct demands){1, INTEGERS}, &npz->pointers));
    TULLE_TRY(same_count(&npz->shared[INNER], h->stored / (h->block_rows * h->block_cols),
        h->format == TULLE__NPZ_BSR ? "blocks" : "values"));
    if (npz->pointers.count - 1 != lines_of(h))
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: has %" PRId64 " numbers instead of %" PRId64,
            npz->pointers.member.what, npz->pointers.count, lines_of(h) + 1);
out:
    return status;
}

static tulle_status open_data(tulle__npz *npz)
{
    struct array *data = &npz->shared[DATA];
    tulle__npz_header *h = &npz->header;
    int blocks = h->format == TULLE__NPZ_BSR;
    TULLE_CALL(open_array(npz, "data", (struct demands){blocks ? 3 : 1, NUMBERS}, data));
    h->stored = data->count;
    h->block_rows = blocks ? data->npy.size[1] : 1;
    h->block_cols = blocks ? data->npy.size[2] : 1;
    if (h->block_rows < 1 || h->block_cols < 1 || h->block_rows > INT32_MAX || h->block_cols > INT32_MAX ||
        h->rows % h->block_rows || h->cols % h->block_cols)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: blocks of %" PRId64 " x %" PRId64 " do not make up a matrix of %" PRId64 " x %" PRId64,
            data->member.what, h->block_rows, h->block_cols, h->rows, h->cols);
    return TULLE_OK;
}

tulle_status tulle__npz_open(const char *path, tulle__npz **npz)
{
    tulle__npz *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a .npz file", &made));
    TULLE_TRY(tulle__alloc(strlen(path) + 1, 1, "a path", &made->path));
    memcpy(made->path, path, strlen(path) + 1);
    TULLE_TRY(tulle__zip_open(path, &made->zip));
    TULLE_TRY(read_format(made));
    TULLE_TRY(read_shape(made));
    TULLE_TRY(open_data(made));
    TULLE_TRY(made->header.format == TULLE__NPZ_COO ? open_coordinates(made) : open_compressed(made));
    *npz = made;
    return TULLE_OK;
out:
    tulle__npz_close(made);
    return status;
}

void tulle__npz_close(tulle__npz *npz)
{
    if (!npz) return;
    tulle__zip_close(npz->zip);
    tulle__free(npz->path);
    tulle__free(npz);
}

/* ---- entries ---- */

/* A sequential reader of values first .. end - 1 of an array. */
struct cursor {
    const struct array *array;
    tulle__zip_stream *stream;
    char *raw; /* [PIECE] values */
};

static void close_cursor(struct cursor *c)
{
    tulle__zip_stream_close(c->stream);
    tulle__free(c->raw);
}

/* whole: reads the header again, for the checksum; else skips it. */
static tulle_status open_cursor(
    const tulle__npz *npz, const struct array *array, int64_t first, int whole, struct cursor *c)
{
    tulle_status status;
    c->array = array;
    TULLE_TRY(tulle__alloc(PIECE, 8, "values of an array", &c->raw));
    TULLE_TRY(tulle__zip_stream_open(npz->zip, &array->member, &c->stream));
    for (int64_t left = whole ? array->begin : 0, n; left; left -= n) {
        n = left < 8 * PIECE ? left : 8 * PIECE;
        TULLE_TRY(tulle__zip_read(c->stream, c->raw, (size_t)n));
    }
    if (!whole) status = tulle__zip_skip(c->stream, array->begin + first * array->npy.width);
out:
    return status;
}

static tulle_status next_integers(struct cursor *c, int64_t n, int64_t *to)
{
    TULLE_CALL(tulle__zip_read(c->stream, c->raw, (size_t)(n * c->array->npy.width)));
    tulle__npy_integers(&c->array->npy, c->raw, n, to);
    return TULLE_OK;
}

static tulle_status next_reals(struct cursor *c, tulle__gate *gate, int64_t n, double *to)
{
    TULLE_CALL(tulle__zip_read(c->stream, c->raw, (size_t)(n * c->array->npy.width)));
    tulle__gate_numbers(gate, tulle__npy_stored(&c->array->npy), c->raw, n, to);
    return TULLE_OK;
}

/* Reads n indices, checked against the limit; the first is number `first`. */
static tulle_status next_indices(struct cursor *c, int64_t first, int64_t n, int64_t limit, int64_t *to)
{
    TULLE_CALL(next_integers(c, n, to));
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)to[i] >= (uint64_t)limit)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: index %" PRId64 " of number %" PRId64 " is outside 0 to %" PRId64,
                c->array->member.what, to[i], first + i, limit - 1);
    return TULLE_OK;
}

/* A sweep over the pointers: the line of block e. Every part reads and checks all of them. */
struct walk {
    struct cursor cursor;
    int64_t line, end;  /* the current line and its end */
    int64_t next, have; /* pointers in `piece` not yet used */
    int64_t left, most; /* pointers that have not been read; what none may exceed */
    int64_t *piece;     /* [PIECE] */
};

static tulle_status next_pointer(struct walk *w, int64_t *pointer)
{
    if (w->next == w->have) {
        w->have = w->left < PIECE ? w->left : PIECE;
        w->next = 0;
        w->left -= w->have;
        TULLE_CALL(next_integers(&w->cursor, w->have, w->piece));
    }
    *pointer = w->piece[w->next++];
    return TULLE_OK;
}

static tulle_status next_line(struct walk *w)
{
    int64_t pointer;
    TULLE_CALL(next_pointer(w, &pointer));
    w->line++;
    if (pointer < w->end || pointer > w->most)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: number %" PRId64 " is %" PRId64 ", which is not between the one before, %" PRId64
            ", and the number of indices, %" PRId64,
            w->cursor.array->member.what, w->line + 1, pointer, w->end, w->most);
    w->end = pointer;
    return TULLE_OK;
}

static tulle_status start_walk(const tulle__npz *npz, struct walk *w)
{
    int64_t first = 0;
    tulle_status status;
    w->line = -1;
    w->left = npz->pointers.count;
    w->most = npz->shared[INNER].count;
    TULLE_TRY(tulle__alloc(PIECE, sizeof *w->piece, "pointers of an array", &w->piece));
    TULLE_TRY(open_cursor(npz, &npz->pointers, 0, 1, &w->cursor));
    TULLE_TRY(next_pointer(w, &first));
    if (first)
        status =
            tulle__fail(TULLE_ERR_FORMAT, "%s: begins with %" PRId64 " instead of 0", npz->pointers.member.what, first);
out:
    return status;
}

/*
 * The line of block e; -1 if it is behind the last one: SciPy's arrays may be longer than their
 * contents.
 */
static tulle_status line_of(struct walk *w, int64_t e, int64_t *line)
{
    while (w->end <= e && w->line + 2 < w->cursor.array->count) {
        TULLE_CALL(next_line(w));
    }
    *line = e < w->end ? w->line : -1;
    return TULLE_OK;
}

static tulle_status end_walk(struct walk *w)
{
    while (w->line + 2 < w->cursor.array->count) TULLE_CALL(next_line(w));
    return tulle__zip_end(w->cursor.stream);
}

/* State of a part's reader. */
struct parser {
    tulle__npz *npz;
    tulle__gate *gate;
    tulle__entries *entries;
    struct cursor cursor[TULLE__NPZ_SHARED];
    struct walk walk;
    int64_t *inner, *outer; /* [PIECE], of blocks */
    double *value;          /* [PIECE] */
};

/* Adds the values of n blocks, from block `first` on, whose indices have been read. */
static tulle_status take_blocks(struct parser *p, int64_t first, int64_t n)
{
    const tulle__npz_header *h = &p->npz->header;
    int64_t area = h->block_rows * h->block_cols, left = n * area, have = 0, v = 0;
    for (int64_t b = 0; b < n; b++) {
        int64_t line = p->outer[b];
        if (h->format != TULLE__NPZ_COO) TULLE_CALL(line_of(&p->walk, first + b, &line));
        int64_t row = (h->format == TULLE__NPZ_CSC ? p->inner[b] : line) * h->block_rows;
        int64_t col = (h->format == TULLE__NPZ_CSC ? line : p->inner[b]) * h->block_cols;
        for (int64_t r = 0; r < h->block_rows; r++)
            for (int64_t c = 0; c < h->block_cols; c++) {
                if (v == have) {
                    have = left < PIECE ? left : PIECE;
                    left -= have;
                    v = 0;
                    TULLE_CALL(next_reals(&p->cursor[DATA], p->gate, have, p->value));
                }
                if (line >= 0) TULLE_CALL(tulle__gate_add(p->gate, p->entries, row + r, col + c, p->value[v]));
                v++;
            }
    }
    return TULLE_OK;
}

static tulle_status parse_blocks(struct parser *p, int64_t first, int64_t end)
{
    const tulle__npz *npz = p->npz;
    const tulle__npz_header *h = &npz->header;
    int64_t area = h->block_rows * h->block_cols, piece = area < PIECE ? PIECE / area : 1;
    int coo = h->format == TULLE__NPZ_COO;
    for (int64_t b = first, n; b < end; b += n) {
        n = end - b < piece ? end - b : piece;
        TULLE_CALL(next_indices(&p->cursor[INNER], b, n, coo ? h->cols : inner_limit(h), p->inner));
        if (coo) TULLE_CALL(next_indices(&p->cursor[OUTER], b, n, h->rows, p->outer));
        TULLE_CALL(take_blocks(p, b, n));
        tulle__progress_meter_set(npz->meter, (b + n - first) * area, npz->wanted);
    }
    return TULLE_OK;
}

static tulle_status open_parser(struct parser *p, int64_t first, int part)
{
    tulle__npz *npz = p->npz;
    const tulle__npz_header *h = &npz->header;
    int64_t area = h->block_rows * h->block_cols;
    TULLE_CALL(tulle__alloc(PIECE, sizeof *p->inner, "indices of an array", &p->inner));
    TULLE_CALL(tulle__alloc(PIECE, sizeof *p->outer, "indices of an array", &p->outer));
    TULLE_CALL(tulle__alloc(PIECE, sizeof *p->value, "values of an array", &p->value));
    TULLE_CALL(open_cursor(npz, &npz->shared[DATA], first * area, part == 0, &p->cursor[DATA]));
    TULLE_CALL(open_cursor(npz, &npz->shared[INNER], first, part == 0 && !npz->coords, &p->cursor[INNER]));
    if (h->format == TULLE__NPZ_COO)
        TULLE_CALL(open_cursor(npz, &npz->shared[OUTER], first, part == 0, &p->cursor[OUTER]));
    else
        TULLE_CALL(start_walk(npz, &p->walk));
    return TULLE_OK;
}

/* The last part checks the ends of the shared arrays. */
static tulle_status end_parser(struct parser *p, int last, tulle__npz_sums *sums)
{
    if (p->npz->header.format != TULLE__NPZ_COO) TULLE_CALL(end_walk(&p->walk));
    for (int a = 0; a < TULLE__NPZ_SHARED; a++) {
        if (!p->cursor[a].stream) continue;
        int ends = last && !(a == OUTER && p->npz->coords); /* the columns follow the rows */
        if (ends) TULLE_CALL(tulle__zip_end(p->cursor[a].stream));
        sums->array[a] = tulle__zip_sum_of(p->cursor[a].stream);
    }
    return TULLE_OK;
}

static void close_parser(struct parser *p)
{
    for (int a = 0; a < TULLE__NPZ_SHARED; a++) close_cursor(&p->cursor[a]);
    close_cursor(&p->walk.cursor);
    tulle__free(p->walk.piece);
    tulle__free(p->inner);
    tulle__free(p->outer);
    tulle__free(p->value);
}

tulle_status tulle__npz_parse(
    tulle__npz *npz, int part, int nparts, tulle__gate *gate, tulle__entries *entries, tulle__npz_sums *sums)
{
    const tulle__npz_header *h = &npz->header;
    int64_t blocks = h->stored / (h->block_rows * h->block_cols);
    int64_t first = (int64_t)((__int128)blocks * part / nparts),
            end = (int64_t)((__int128)blocks * (part + 1) / nparts);
    struct parser p = {.npz = npz, .gate = gate, .entries = entries};
    tulle__entries_init(entries, h->rows > INT32_MAX || h->cols > INT32_MAX, 0, gate->type);
    memset(sums, 0, sizeof *sums);
    tulle_status status = open_parser(&p, first, part);
    if (status == TULLE_OK) status = parse_blocks(&p, first, end);
    if (status == TULLE_OK) status = end_parser(&p, part == nparts - 1, sums);
    close_parser(&p);
    return status;
}

tulle_status tulle__npz_check(const tulle__npz *npz, int nparts, const tulle__npz_sums *sums)
{
    TULLE__SCOPED tulle__zip_sum *sum = NULL;
    TULLE_CALL(tulle__alloc((size_t)nparts * 2, sizeof *sum, "checksums", &sum));
    for (int a = 0; a < npz->nshared; a++) {
        for (int p = 0; p < nparts; p++) sum[p] = sums[p].array[a];
        TULLE_CALL(tulle__zip_check(&npz->shared[a].member, nparts, sum));
    }
    if (npz->coords) {
        for (int p = 0; p < nparts; p++) sum[p] = sums[p].array[OUTER];
        for (int p = 0; p < nparts; p++) sum[nparts + p] = sums[p].array[INNER];
        TULLE_CALL(tulle__zip_check(&npz->shared[OUTER].member, 2 * nparts, sum));
    }
    return TULLE_OK;
}
