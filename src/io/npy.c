/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/output.h"

enum { HEADER_MOST = 1 << 16, BUFFER = 1 << 18, PIECE = 2048 };

struct tulle__npy {
    tulle__npy_header header;
    int fd;
    int64_t bytes;
    char *path;
    tulle__meter *meter;
    int64_t wanted, done; /* values: of the meter's reader */
};

const tulle__npy_header *tulle__npy_head(const tulle__npy *npy)
{
    return &npy->header;
}

static tulle_status read_at(const tulle__npy *npy, void *to, size_t bytes, int64_t offset)
{
    char *p = to;
    while (bytes) {
        ssize_t n = pread(npy->fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", npy->path, strerror(errno));
        if (n == 0) return tulle__fail(TULLE_ERR_IO, "%s: ends early, at byte %" PRId64, npy->path, offset);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

/* The header's dictionary, parsed as far as it is needed. */
struct scan {
    const char *path, *begin, *p, *end;
};

static tulle_status complain(const struct scan *s, const char *expected)
{
    if (s->p >= s->end)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the header ends where %s should be", s->path, expected);
    return tulle__fail(TULLE_ERR_FORMAT, "%s: '%c' where %s should be, at character %d of the header", s->path,
        *s->p >= 32 && *s->p < 127 ? *s->p : '?', expected, (int)(s->p - s->begin) + 1);
}

static void skip(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r')) s->p++;
}

static int next_is(struct scan *s, char c)
{
    skip(s);
    if (s->p == s->end || *s->p != c) return 0;
    s->p++;
    return 1;
}

/* A string in single or double quotes, without escapes. */
static tulle_status string(struct scan *s, const char *expected, char word[32])
{
    skip(s);
    if (s->p == s->end || (*s->p != '\'' && *s->p != '"')) return complain(s, expected);
    char quote = *s->p++;
    size_t n = 0;
    while (s->p < s->end && *s->p != quote) {
        if (n + 1 == 32 || *s->p < 32 || *s->p == '\\') return complain(s, expected);
        word[n++] = *s->p++;
    }
    if (s->p == s->end) return complain(s, "a closing quote");
    s->p++;
    word[n] = '\0';
    return TULLE_OK;
}

static int word(struct scan *s, const char *text)
{
    size_t n = strlen(text);
    skip(s);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n) != 0) return 0;
    s->p += n;
    return 1;
}

static tulle_status descriptor(struct scan *s, tulle__npy_header *head)
{
    char text[32];
    skip(s);
    if (s->p < s->end && *s->p == '[')
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: structured types are not supported", s->path);
    tulle_status status = string(s, "a type such as '<f8'", text);
    if (status != TULLE_OK) return status;
    static const char known[] = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 ";
    char order = text[0];
    const char *type = text + 1;
    int has_order = order && strchr("<>|=", order) != NULL;
    if (!has_order || strlen(type) < 2)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the type '%s' is not of the form '<f8'", s->path, text);
    char key[4] = {type[0], type[1], ' ', 0};
    if (strlen(type) != 2 || !strstr(known, key))
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: values of type '%s' are not supported (floats of 4 or 8 bytes, integers and booleans are)", s->path,
            text);
    head->kind = type[0];
    head->size = type[1] - '0';
    if (order == '|' && head->size > 1)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the type '%s' needs a byte order", s->path, text);
    int little = order == '<' || (order != '>' && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    head->swapped = head->size > 1 && little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return TULLE_OK;
}

static tulle_status shape(struct scan *s, tulle__npy_header *head)
{
    int64_t size[2] = {1, 1};
    int dimensions = 0;
    if (!next_is(s, '(')) return complain(s, "a shape in parentheses");
    while (!next_is(s, ')')) {
        int64_t n = 0;
        skip(s);
        if (s->p == s->end || *s->p < '0' || *s->p > '9') return complain(s, "a size, 0 or more,");
        while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s->p++ - '0', &n))
                return tulle__fail(TULLE_ERR_OVERFLOW, "%s: a size of the shape does not fit 64 bits", s->path);
        if (s->p < s->end && *s->p == 'L') s->p++; /* as Python 2 wrote them */
        if (dimensions < 2) size[dimensions] = n;
        dimensions++;
        skip(s);
        if (!next_is(s, ',') && (s->p == s->end || *s->p != ')')) return complain(s, "a comma or the shape's end");
    }
    if (dimensions > 2)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: has %d dimensions, a matrix has 2", s->path, dimensions);
    head->rows = size[0];
    head->cols = size[1];
    return TULLE_OK;
}

static tulle_status dictionary(struct scan *s, tulle__npy_header *head)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    int seen[3] = {0};
    char key[32];
    tulle_status status = TULLE_OK;
    if (!next_is(s, '{')) return complain(s, "a dictionary");
    while (!next_is(s, '}')) {
        TULLE_TRY(string(s, "a key in quotes", key));
        int k = 0;
        while (k < 3 && strcmp(key, keys[k]) != 0) k++;
        if (k == 3) return tulle__fail(TULLE_ERR_FORMAT, "%s: the header has an unknown key '%s'", s->path, key);
        if (seen[k]++) return tulle__fail(TULLE_ERR_FORMAT, "%s: the header has the key '%s' twice", s->path, key);
        if (!next_is(s, ':')) return complain(s, "a colon");
        if (k == 0)
            TULLE_TRY(descriptor(s, head));
        else if (k == 2)
            TULLE_TRY(shape(s, head));
        else if (word(s, "True"))
            head->order = TULLE_COL_MAJOR;
        else if (word(s, "False"))
            head->order = TULLE_ROW_MAJOR;
        else
            return complain(s, "True or False");
        skip(s);
        if (!next_is(s, ',') && (s->p == s->end || *s->p != '}')) return complain(s, "a comma or a closing brace");
    }
    for (int k = 0; k < 3; k++)
        if (!seen[k]) return tulle__fail(TULLE_ERR_FORMAT, "%s: the header lacks the key '%s'", s->path, keys[k]);
    skip(s);
    if (s->p < s->end) return complain(s, "the header's end");
out:
    return status;
}

static tulle_status read_header(tulle__npy *npy)
{
    unsigned char start[12] = {0};
    char *text = NULL;
    tulle__npy_header *head = &npy->header;
    size_t have = npy->bytes < 12 ? (size_t)npy->bytes : 12;
    tulle_status status;
    TULLE_TRY(read_at(npy, start, have, 0));
    if (have < 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: is no .npy file: its first bytes are not \\x93NUMPY", npy->path);
    int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s: version %d.%d of the .npy format is not known", npy->path, major, minor);
    uint64_t length = start[8] | (uint64_t)start[9] << 8;
    int64_t before = 10;
    if (major > 1) {
        length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
        before = 12;
    }
    if (before + (int64_t)length > npy->bytes)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: a header of %" PRIu64 " bytes cannot be in a file of %" PRId64,
            npy->path, length, npy->bytes);
    if (length > HEADER_MOST)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the header is longer than %d bytes", npy->path, (int)HEADER_MOST);
    TULLE_TRY(tulle__alloc(length, 1, "the header of a .npy file", &text));
    TULLE_TRY(read_at(npy, text, length, before));
    struct scan s = {npy->path, text, text, text + length};
    TULLE_TRY(dictionary(&s, head));
    head->data = before + (int64_t)length;
    int64_t values, bytes = 0;
    if (__builtin_mul_overflow(head->rows, head->cols, &values) || __builtin_mul_overflow(values, head->size, &bytes)) {
        status = tulle__fail(TULLE_ERR_OVERFLOW, "%s: %" PRId64 " x %" PRId64 " values do not fit 64 bits", npy->path,
            head->rows, head->cols);
        goto out;
    }
    if (bytes != npy->bytes - head->data)
        status = tulle__fail(TULLE_ERR_FORMAT,
            "%s: %" PRId64 " x %" PRId64 " values of %d bytes are %" PRId64 " bytes, but %" PRId64 " follow the header",
            npy->path, head->rows, head->cols, head->size, bytes, npy->bytes - head->data);
out:
    tulle__free(text);
    return status;
}

tulle_status tulle__npy_open(const char *path, tulle__npy **npy)
{
    tulle__npy *made;
    struct stat info;
    tulle_status status = tulle__alloc_zero(1, sizeof *made, "a .npy file", &made);
    if (status != TULLE_OK) return status;
    made->fd = -1;
    TULLE_TRY(tulle__alloc(strlen(path) + 1, 1, "a path", &made->path));
    memcpy(made->path, path, strlen(path) + 1);
    made->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (made->fd < 0) TULLE_TRY(tulle__fail(TULLE_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno)));
    if (fstat(made->fd, &info) != 0 || !S_ISREG(info.st_mode))
        TULLE_TRY(tulle__fail(TULLE_ERR_IO, "%s: is not a regular file", path));
    made->bytes = (int64_t)info.st_size;
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
    if (npy->fd >= 0) close(npy->fd);
    tulle__free(npy->path);
    tulle__free(npy);
}

void tulle__npy_watch(tulle__npy *npy, tulle__meter *meter, int64_t values)
{
    npy->meter = meter;
    npy->wanted = values;
    npy->done = 0;
    tulle__meter_start(meter, "reading", "B", npy->bytes);
}

/* n <= PIECE stored values -> doubles. */
static void load(const tulle__npy_header *head, const char *from, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++, from += head->size) {
        uint64_t x = 0;
        uint16_t two;
        uint32_t four;
        switch (head->size) {
        case 1:
            x = (unsigned char)*from;
            break;
        case 2:
            memcpy(&two, from, 2);
            x = head->swapped ? __builtin_bswap16(two) : two;
            break;
        case 4:
            memcpy(&four, from, 4);
            x = head->swapped ? __builtin_bswap32(four) : four;
            break;
        default:
            memcpy(&x, from, 8);
            if (head->swapped) x = __builtin_bswap64(x);
        }
        if (head->kind == 'f' && head->size == 4) {
            float f;
            four = (uint32_t)x;
            memcpy(&f, &four, 4);
            to[i] = (double)f;
        } else if (head->kind == 'f') {
            memcpy(&to[i], &x, 8);
        } else if (head->kind == 'i') {
            int unused = 64 - 8 * head->size;
            to[i] = (double)((int64_t)(x << unused) >> unused);
        } else {
            to[i] = head->kind == 'b' ? (double)(x != 0) : (double)x;
        }
    }
}

static void store(const double *from, int64_t n, tulle_type type, void *to, int64_t at, int64_t stride)
{
    for (int64_t i = 0; i < n; i++)
        if (type == TULLE_F32)
            ((float *)to)[at + i * stride] = (float)from[i];
        else
            ((double *)to)[at + i * stride] = from[i];
}

tulle_status tulle__npy_read(tulle__npy *npy, int64_t row, int64_t rows, int64_t col, int64_t cols, tulle_type type,
    tulle_order order, int64_t ld, void *to)
{
    const tulle__npy_header *head = &npy->header;
    if (row < 0 || rows < 0 || col < 0 || cols < 0 || rows > head->rows - row || cols > head->cols - col)
        return tulle__fail(TULLE_ERR_ARG,
            "%s: rows %" PRId64 " + %" PRId64 ", columns %" PRId64 " + %" PRId64 " are outside its %" PRId64
            " x %" PRId64,
            npy->path, row, rows, col, cols, head->rows, head->cols);
    if (rows == 0 || cols == 0) return TULLE_OK;
    /* the file is `outer` lines of `inner` values each */
    int by_rows = head->order == TULLE_ROW_MAJOR;
    int64_t inner = by_rows ? head->cols : head->rows;
    int64_t outer0 = by_rows ? row : col, outers = by_rows ? rows : cols;
    int64_t inner0 = by_rows ? col : row, inners = by_rows ? cols : rows;
    int64_t outer_step = order == head->order ? ld : 1, inner_step = order == head->order ? 1 : ld;
    int as_is = head->kind == 'f' && !head->swapped && (size_t)head->size == tulle_type_size(type) && inner_step == 1;
    double piece[PIECE];
    char *buffer = NULL;
    tulle_status status = TULLE_OK;
    if (!as_is) TULLE_TRY(tulle__alloc(BUFFER, 1, "a buffer for a .npy file", &buffer));
    int64_t most = BUFFER / head->size; /* values a read; whole lines are read several at a time */
    int64_t lines = !as_is && inners == inner && inners < most ? most / inners : 1;
    for (int64_t o = 0; o < outers; o += lines) {
        int64_t now = lines < outers - o ? lines : outers - o;
        npy->done += now * inners;
        tulle__meter_set(npy->meter, npy->done, npy->wanted);
        int64_t offset = head->data + ((outer0 + o) * inner + inner0) * head->size;
        if (as_is) {
            char *at = (char *)to + o * outer_step * head->size;
            TULLE_TRY(read_at(npy, at, (size_t)(inners * head->size), offset));
            continue;
        }
        int64_t values = now * inners;
        for (int64_t done = 0; done < values; done += most) {
            int64_t some = most < values - done ? most : values - done;
            TULLE_TRY(read_at(npy, buffer, (size_t)(some * head->size), offset + done * head->size));
            for (int64_t v = 0; v < some;) { /* up to the end of a line */
                int64_t line = (done + v) / inners, place = (done + v) % inners;
                int64_t n = inners - place < some - v ? inners - place : some - v;
                if (n > PIECE) n = PIECE;
                load(head, buffer + v * head->size, n, piece);
                store(piece, n, type, to, (o + line) * outer_step + place * inner_step, inner_step);
                v += n;
            }
        }
    }
out:
    tulle__free(buffer);
    return status;
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

tulle_status tulle__npy_writer_close(tulle__npy_writer *writer, int sync)
{
    tulle_status status;
    if (writer->left) {
        status =
            tulle__fail(TULLE_ERR_STATE, "%" PRId64 " values are missing at the end of the .npy file", writer->left);
        tulle__npy_writer_abort(writer);
        return status;
    }
    status = tulle__output_close(writer->output, sync);
    tulle__free(writer);
    return status;
}

void tulle__npy_writer_abort(tulle__npy_writer *writer)
{
    if (!writer) return;
    tulle__output_abort(writer->output);
    tulle__free(writer);
}
