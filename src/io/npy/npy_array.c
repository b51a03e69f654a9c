/* SPDX-License-Identifier: Apache-2.0 */
#include "io/npy/npy_array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The header's dictionary, parsed as far as it is needed. */
struct scan {
    const char *path, *begin, *p, *end;
    int dimensions, texts; /* what is allowed: so many at most; text */
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

/* Characters of 1 byte (S) or 4 (U), a few of them. */
static tulle_status text_width(const struct scan *s, const char *type, const char *text, tulle__npy_array *array)
{
    size_t n = strspn(type + 1, "0123456789");
    if (type[1 + n] || n > 2)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: values of type '%s' are not supported", s->path, text);
    array->kind = type[0];
    array->width = (type[0] == 'U' ? 4 : 1) * (int)strtol(type + 1, NULL, 10);
    array->swapped = type[0] == 'U' && (text[0] == '>') != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return TULLE_OK;
}

static tulle_status descriptor(struct scan *s, tulle__npy_array *array)
{
    char text[32];
    skip(s);
    if (s->p < s->end && *s->p == '[')
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: structured types are not supported", s->path);
    TULLE_CALL(string(s, "a type such as '<f8'", text));
    static const char known[] = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 ";
    char order = text[0];
    const char *type = text + 1;
    int has_order = order && strchr("<>|=", order) != NULL;
    if (!has_order || strlen(type) < 2)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the type '%s' is not of the form '<f8'", s->path, text);
    if (s->texts && (type[0] == 'S' || type[0] == 'U')) return text_width(s, type, text, array);
    char key[4] = {type[0], type[1], ' ', 0};
    if (strlen(type) != 2 || !strstr(known, key))
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: values of type '%s' are not supported (floats of 4 or 8 bytes, integers and booleans are)", s->path,
            text);
    array->kind = type[0];
    array->width = type[1] - '0';
    if (order == '|' && array->width > 1)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the type '%s' needs a byte order", s->path, text);
    int little = order == '<' || (order != '>' && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    array->swapped = array->width > 1 && little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return TULLE_OK;
}

static tulle_status shape(struct scan *s, tulle__npy_array *array)
{
    int dimensions = 0;
    for (int d = 0; d < TULLE__NPY_DIMENSIONS; d++) array->size[d] = 1;
    if (!next_is(s, '(')) return complain(s, "a shape in parentheses");
    while (!next_is(s, ')')) {
        int64_t n = 0;
        skip(s);
        if (s->p == s->end || *s->p < '0' || *s->p > '9') return complain(s, "a size, 0 or more,");
        while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s->p++ - '0', &n))
                return tulle__fail(TULLE_ERR_OVERFLOW, "%s: a size of the shape does not fit 64 bits", s->path);
        if (s->p < s->end && *s->p == 'L') s->p++; /* as Python 2 wrote them */
        if (dimensions < TULLE__NPY_DIMENSIONS) array->size[dimensions] = n;
        dimensions++;
        skip(s);
        if (!next_is(s, ',') && (s->p == s->end || *s->p != ')')) return complain(s, "a comma or the shape's end");
    }
    if (dimensions > s->dimensions)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s: has %d dimensions; at most %d are read", s->path, dimensions, s->dimensions);
    array->dimensions = dimensions;
    return TULLE_OK;
}

static tulle_status dictionary(struct scan *s, tulle__npy_array *array)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    int seen[3] = {0};
    char key[32];
    if (!next_is(s, '{')) return complain(s, "a dictionary");
    while (!next_is(s, '}')) {
        TULLE_CALL(string(s, "a key in quotes", key));
        int k = 0;
        while (k < 3 && strcmp(key, keys[k]) != 0) k++;
        if (k == 3) return tulle__fail(TULLE_ERR_FORMAT, "%s: the header has an unknown key '%s'", s->path, key);
        if (seen[k]++) return tulle__fail(TULLE_ERR_FORMAT, "%s: the header has the key '%s' twice", s->path, key);
        if (!next_is(s, ':')) return complain(s, "a colon");
        if (k == 0)
            TULLE_CALL(descriptor(s, array));
        else if (k == 2)
            TULLE_CALL(shape(s, array));
        else if (word(s, "True"))
            array->order = TULLE_COL_MAJOR;
        else if (word(s, "False"))
            array->order = TULLE_ROW_MAJOR;
        else
            return complain(s, "True or False");
        skip(s);
        if (!next_is(s, ',') && (s->p == s->end || *s->p != '}')) return complain(s, "a comma or a closing brace");
    }
    for (int k = 0; k < 3; k++)
        if (!seen[k]) return tulle__fail(TULLE_ERR_FORMAT, "%s: the header lacks the key '%s'", s->path, keys[k]);
    skip(s);
    if (s->p < s->end) return complain(s, "the header's end");
    return TULLE_OK;
}

tulle__stored tulle__npy_stored(const tulle__npy_array *array)
{
    return (tulle__stored){array->kind, array->width, array->swapped};
}

void tulle__npy_integers(const tulle__npy_array *array, const char *from, int64_t n, int64_t *to)
{
    for (int64_t i = 0; i < n; i++, from += array->width) to[i] = tulle__stored_integer(tulle__npy_stored(array), from);
}

tulle_status tulle__npy_start(
    const char *what, const unsigned char *start, int64_t bytes, size_t *length, size_t *before)
{
    if (bytes < 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: is no .npy file: its first bytes are not \\x93NUMPY", what);
    int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "%s: version %d.%d of the .npy format is not known", what, major, minor);
    uint64_t n = start[8] | (uint64_t)start[9] << 8;
    *before = 10;
    if (major > 1) {
        n |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
        *before = 12;
    }
    if ((int64_t)*before + (int64_t)n > bytes)
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: a header of %" PRIu64 " bytes cannot be in a file of %" PRId64, what, n, bytes);
    if (n > TULLE__NPY_HEADER_MOST)
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: the header is longer than %d bytes", what, (int)TULLE__NPY_HEADER_MOST);
    *length = (size_t)n;
    return TULLE_OK;
}

tulle_status tulle__npy_describe(
    const char *what, const char *text, size_t length, int dimensions, int texts, tulle__npy_array *array)
{
    struct scan s = {what, text, text, text + length, dimensions, texts};
    return dictionary(&s, array);
}

tulle_status tulle__npy_bytes(const char *what, const tulle__npy_array *array, int64_t *bytes)
{
    const int64_t *size = array->size;
    if (!__builtin_mul_overflow(size[0], size[1], bytes) && !__builtin_mul_overflow(*bytes, size[2], bytes) &&
        !__builtin_mul_overflow(*bytes, array->width, bytes))
        return TULLE_OK;
    return tulle__fail(
        TULLE_ERR_OVERFLOW, "%s: %" PRId64 " x %" PRId64 " values do not fit 64 bits", what, size[0], size[1]);
}
