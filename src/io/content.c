/* SPDX-License-Identifier: Apache-2.0 */
#include "io/content.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "io/binsparse/binsparse.h"
#include "io/mtx/lines.h"
#include "io/mtx/mtx.h"

/* ---- magic bytes ---- */

static int has(const unsigned char *head, size_t n, size_t at, const char *magic, size_t length)
{
    return n >= at + length && memcmp(head + at, magic, length) == 0;
}

#define MAGIC(function, at, magic)                                                                                     \
    static int function(const unsigned char *head, size_t n)                                                           \
    {                                                                                                                  \
        return has(head, n, at, magic, sizeof magic - 1);                                                              \
    }
MAGIC(is_npy, 0, "\x93NUMPY")
MAGIC(is_hdf5, 0, "\x89HDF\r\n\x1a\n")
MAGIC(is_mat73, 0, "MATLAB 7.3 MAT-file")
MAGIC(is_mat5, 0, "MATLAB 5.0 MAT-file")
MAGIC(is_lz4, 0, "\x04\x22\x4d\x18")
MAGIC(is_compress, 0, "\x1f\x9d")
MAGIC(is_lzip, 0, "LZIP")
MAGIC(is_7z, 0, "7z\xbc\xaf\x27\x1c")
MAGIC(is_rar, 0, "Rar!\x1a\x07")
MAGIC(is_lfs, 0, "version https://git-lfs.github.com/spec/")

/* PETSc's class numbers of a matrix and a vector, big-endian, in integers of 4 or 8 bytes. */
static int is_petsc(const unsigned char *head, size_t n)
{
    const size_t at = has(head, n, 0, "\0\0\0\0", 4) ? 4 : 0;
    return has(head, n, at, "\0\x12\x7b\x50", 4) || has(head, n, at, "\0\x12\x7b\x4e", 4);
}

static int is_zip(const unsigned char *head, size_t n)
{
    return has(head, n, 0, "PK\3\4", 4) || has(head, n, 0, "PK\5\6", 4);
}

/* A zip file whose first member is an array. */
static int is_npz(const unsigned char *head, size_t n)
{
    if (!has(head, n, 0, "PK\3\4", 4) || n < 30) return 0;
    const size_t length = head[26] | (size_t)head[27] << 8;
    return length > 4 && has(head, n, 30 + length - 4, ".npy", 4);
}

/* ---- text ---- */

static const char *skip_mark(const unsigned char *head, size_t *n)
{
    const char *p = (const char *)head;
    if (*n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3, *n -= 3;
    while (*n && isspace((unsigned char)*p)) p++, (*n)--;
    return p;
}

static int begins_with(const char *p, size_t n, const char *word)
{
    return n >= strlen(word) && strncasecmp(p, word, strlen(word)) == 0;
}

static int is_mtx(const unsigned char *head, size_t n)
{
    const char *p = skip_mark(head, &n);
    return begins_with(p, n, "%%MatrixMarket") || begins_with(p, n, "%MatrixMarket");
}

static int is_html(const unsigned char *head, size_t n)
{
    const char *p = skip_mark(head, &n);
    return begins_with(p, n, "<!doctype html") || begins_with(p, n, "<html") || begins_with(p, n, "<head") ||
           begins_with(p, n, "<?xml");
}

/* A line of the head, without its end. 0: there is no whole one, unless the head is short, and so the file. */
static int line_of(const char **p, const char *end, int whole, const char **line, const char **stop)
{
    if (*p >= end) return 0;
    const char *newline = memchr(*p, '\n', (size_t)(end - *p));
    if (!newline && !whole) return 0;
    *line = *p;
    *stop = newline ? newline : end;
    *p = newline ? newline + 1 : end;
    if (*stop > *line && (*stop)[-1] == '\r') (*stop)--;
    return 1;
}

/* The words of a line that are all numbers, separated by blanks; 0: one is none, or there is none. */
static int numbers_in(const char *p, const char *stop)
{
    int words = 0;
    while (p < stop) {
        while (p < stop && (*p == ' ' || *p == '\t')) p++;
        if (p == stop) break;
        int digits = 0;
        for (; p < stop && *p != ' ' && *p != '\t'; p++) {
            if (!isdigit((unsigned char)*p) && !strchr("+-.eE", *p)) return 0;
            digits += isdigit((unsigned char)*p) != 0;
        }
        if (!digits) return 0;
        words++;
    }
    return words;
}

/* Harwell-Boeing, Rutherford-Boeing: lines of counts, then `RUA  rows cols entries ...`. */
static int is_boeing(const unsigned char *head, size_t n)
{
    const char *p = (const char *)head, *end = p + n, *line, *stop;
    for (int l = 0; l < 3; l++) {
        if (!line_of(&p, end, 0, &line, &stop)) return 0;
        if (l == 1 && numbers_in(line, stop) < 4) return 0;
    }
    return stop - line > 14 && strchr("RCPIQ", toupper((unsigned char)line[0])) &&
           strchr("SUHZR", toupper((unsigned char)line[1])) && strchr("AE", toupper((unsigned char)line[2])) &&
           line[3] == ' ' && numbers_in(line + 3, stop) >= 3;
}

/* Two or three numbers a line, as many in each of the first two lines, behind comments. */
static int is_edges(const unsigned char *head, size_t n)
{
    const char *p = (const char *)head, *end = p + n, *line, *stop;
    int words = 0, lines = 0;
    while (lines < 2 && line_of(&p, end, n < TULLE__CONTENT_HEAD, &line, &stop)) {
        if (stop == line || *line == '#' || *line == '%') continue;
        const int here = numbers_in(line, stop);
        if (here < 2 || here > 3 || (words && here != words)) return 0;
        words = here;
        lines++;
    }
    return lines == 2 || (lines == 1 && p == end);
}

/* As many commas, or semicolons, in each of the first two lines, and text or digits between them. */
static int is_csv(const unsigned char *head, size_t n)
{
    const char *p = (const char *)head, *end = p + n, *line, *stop;
    int marks = 0, lines = 0;
    while (lines < 2 && line_of(&p, end, n < TULLE__CONTENT_HEAD, &line, &stop)) {
        int here = 0;
        if (stop == line || *line == '#' || *line == '%') continue;
        for (; line < stop; line++) {
            here += *line == ',' || *line == ';';
            if (!isprint((unsigned char)*line) && *line != '\t') return 0;
        }
        if (!here || (marks && here != marks)) return 0;
        marks = here;
        lines++;
    }
    return lines > 0;
}

/* ---- the table: the first row that fits counts ---- */

#define UNPACK "unpack it first"
static const tulle__content contents[] = {
    {"a Matrix Market file", is_mtx, NULL, TULLE__FORMAT_MTX, 0},
    {"a NumPy array", is_npy, NULL, TULLE__FORMAT_NPY, 0},
    {"a MATLAB 7.3 file", is_mat73,
        "write the matrix with MATLAB's mmwrite, or with save -v7 and, in Python, scipy.io.loadmat and "
        "scipy.io.mmwrite",
        TULLE__FORMAT_GENERATOR, 0},
    {"a MATLAB file", is_mat5, "in Python, scipy.io.loadmat reads it and scipy.io.mmwrite writes the matrix",
        TULLE__FORMAT_GENERATOR, 0},
    {"an HDF5 file", is_hdf5, NULL, TULLE__FORMAT_BINSPARSE, 0},
    {"a SciPy sparse matrix", is_npz, NULL, TULLE__FORMAT_NPZ, 0},
    {"a zip archive", is_zip, UNPACK, TULLE__FORMAT_NPZ, 0},
    {"a PETSc binary file", is_petsc, NULL, TULLE__FORMAT_PETSC, 0},
    {"packed with lz4", is_lz4, UNPACK, TULLE__FORMAT_GENERATOR, 0},
    {"packed with compress", is_compress, UNPACK, TULLE__FORMAT_GENERATOR, 0},
    {"packed with lzip", is_lzip, UNPACK, TULLE__FORMAT_GENERATOR, 0},
    {"a 7z archive", is_7z, UNPACK, TULLE__FORMAT_GENERATOR, 0},
    {"a RAR archive", is_rar, UNPACK, TULLE__FORMAT_GENERATOR, 0},
    {"a web page (HTML)", is_html, "a download's error, or a login: look into it, and download the matrix again",
        TULLE__FORMAT_GENERATOR, 0},
    {"a pointer of git-lfs", is_lfs, "fetch the file itself with git lfs pull", TULLE__FORMAT_GENERATOR, 0},
    {"a Harwell-Boeing or Rutherford-Boeing file", is_boeing,
        "in Python, scipy.io.hb_read reads it and scipy.io.mmwrite writes Matrix Market", TULLE__FORMAT_GENERATOR, 1},
    {"a list of edges or entries without a header", is_edges,
        "call it NAME.csr (a link will do) and assume the banner 'matrix coordinate pattern general' ('real' if each "
        "line has a value), with indices from 0 if they begin there; of a Matrix Market file without its first line, "
        "assume that line's words",
        TULLE__FORMAT_GENERATOR, 1},
    {"a table of comma-separated values", is_csv,
        "in Python, numpy.loadtxt(NAME, delimiter=',') reads a table of numbers and numpy.save writes it",
        TULLE__FORMAT_GENERATOR, 1},
};
enum { CONTENTS = sizeof contents / sizeof *contents };

const tulle__content *tulle__content_at(int i)
{
    return i < CONTENTS ? &contents[i] : NULL;
}

const tulle__content *tulle__content_of(const unsigned char *head, size_t n)
{
    for (int i = 0; i < CONTENTS; i++)
        if (contents[i].begins(head, n)) return &contents[i];
    return NULL;
}

/* Looks at the beginning of a file. A packed one that is damaged is left to the reader, which says where. */
static tulle_status look(const char *operand, const char *assume, tulle__text *text, tulle__format *format)
{
    unsigned char head[TULLE__CONTENT_HEAD];
    size_t got;
    tulle_status status = tulle__text_head(text, head, sizeof head, &got);
    if (status == TULLE_ERR_FORMAT) return TULLE_OK;
    if (status != TULLE_OK) return status;
    const tulle__content *content = tulle__content_of(head, got);
    if (!content || (content->assumable && (assume || *format != TULLE__FORMAT_MTX || tulle__mtx_is_bare(operand))))
        return TULLE_OK;
    if (content->advice && content->format == *format) return TULLE_OK;
    if (content->advice)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: is %s: %s", text->path, content->name, content->advice);
    if (text->packed && content->format != TULLE__FORMAT_MTX)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: is %s within %s: " UNPACK, text->path, content->name,
            text->archive ? "an archive" : "a packed file");
    *format = content->format;
    return TULLE_OK;
}

tulle_status tulle__input_format(const char *operand, const char *assume, tulle__format *format)
{
    tulle__text text;
    *format = tulle__operand_format(operand);
    if (*format == TULLE__FORMAT_GENERATOR || tulle__binsparse_path(operand)) return TULLE_OK;
    TULLE_CALL(tulle__text_open(operand, &text));
    tulle_status status = look(operand, assume, &text, format);
    tulle__text_close(&text);
    return status;
}
