/* SPDX-License-Identifier: Apache-2.0 */
/* Banner, comments and size line of a Matrix Market file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/warning.h"
#include "io/mtx/mtx_file.h"
#include "io/number/number.h"

static const char banner_word[] = "%%MatrixMarket";

/* The four words behind it: what each is called, and what it may be. */
enum { OBJECT, FORMAT, FIELD, SYMMETRY, SLOTS, WORDS = 6 };
static const struct slot {
    const char *name, *choices;
    const char *word[WORDS];
} slots[SLOTS] = {
    {"object", "matrix or vector", {"matrix", "vector"}},
    {"format", "coordinate or array", {"coordinate", "array"}},
    {"field", "real, integer or pattern", {"real", "double", "integer", "unsigned-integer", "pattern", "complex"}},
    {"symmetry", "general, symmetric, skew-symmetric or hermitian",
        {"general", "symmetric", "skew-symmetric", "hermitian"}},
};

const char *tulle__mtx_field_name(tulle__mtx_field field)
{
    return field == TULLE__MTX_REAL ? "real" : field == TULLE__MTX_INTEGER ? "integer" : "pattern";
}

const char *tulle__mtx_symmetry_name(tulle__mtx_symmetry symmetry)
{
    return symmetry == TULLE__MTX_GENERAL     ? "general"
           : symmetry == TULLE__MTX_SYMMETRIC ? "symmetric"
                                              : "skew-symmetric";
}

const tulle__mtx_header *tulle__mtx_head(const tulle__mtx *mtx)
{
    return &mtx->header;
}

const char *tulle__mtx_path(const tulle__mtx *mtx)
{
    return mtx->path;
}

/* Looks the word at p up in a slot's vocabulary: its number, or -1. */
static int vocabulary(int slot, const char *p, const char *stop)
{
    for (int w = 0; w < WORDS && slots[slot].word[w]; w++) {
        size_t n = strlen(slots[slot].word[w]);
        if ((size_t)(stop - p) == n && strncasecmp(p, slots[slot].word[w], n) == 0) return w;
    }
    return -1;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && *p != ' ' && *p != '\t') p++;
    return p;
}

/* Parses the words [p, end) after the banner's first, on `line`. */
static int banner_words(tulle__mtx *mtx, const char *line, const char *p, const char *end, tulle__mtx_fault *fault)
{
    tulle__mtx_header *head = &mtx->header;
    int found[SLOTS], words = 0;
    for (const char *q = tulle__mtx_skip_blanks(p, end); q < end; q = tulle__mtx_skip_blanks(word_end(q, end), end))
        words++;
    for (int s = 0; s < SLOTS; s++) {
        p = tulle__mtx_skip_blanks(p, end);
        const char *stop = word_end(p, end);
        found[s] = p < stop ? vocabulary(s, p, stop) : -1;
        if (found[s] < 0) {
            if (words < SLOTS)
                return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p,
                    "the banner lacks its %s (%s): it has %d of 5 words", slots[s].name, slots[s].choices, words + 1);
            return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "'%.*s' where the banner's %s (%s) should be",
                (int)(stop - p > 24 ? 24 : stop - p), p, slots[s].name, slots[s].choices);
        }
        p = stop;
    }
    p = tulle__mtx_skip_blanks(p, end);
    if (p < end) {
        if (!mtx->options.lenient)
            return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "the banner has more than five words");
        tulle__warn(head->warnings, sizeof head->warnings, "words behind the banner are ignored");
    }
    static const tulle__mtx_field field[] = {
        TULLE__MTX_REAL, TULLE__MTX_REAL, TULLE__MTX_INTEGER, TULLE__MTX_INTEGER, TULLE__MTX_PATTERN};
    if (found[FIELD] == 5)
        return tulle__mtx_blame(fault, TULLE_ERR_UNSUPPORTED, line, line, "the field complex is not supported");
    head->vector = found[OBJECT] == 1;
    head->array = found[FORMAT] == 1;
    head->field = field[found[FIELD]];
    int hermitian = found[SYMMETRY] == 3;
    head->symmetry = hermitian ? TULLE__MTX_SYMMETRIC : (tulle__mtx_symmetry)found[SYMMETRY];
    if (head->vector && head->symmetry != TULLE__MTX_GENERAL)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, line, "a vector can only be general");
    if (head->array && head->field == TULLE__MTX_PATTERN)
        return tulle__mtx_blame(
            fault, TULLE_ERR_FORMAT, line, line, "an array has values, so its field cannot be pattern");
    if (head->field == TULLE__MTX_PATTERN && (hermitian || head->symmetry == TULLE__MTX_SKEW))
        return tulle__mtx_blame(
            fault, TULLE_ERR_FORMAT, line, line, "a pattern cannot be %s", hermitian ? "hermitian" : "skew-symmetric");
    if (hermitian) {
        head->hermitian = 1;
        tulle__warn(head->warnings, sizeof head->warnings, "hermitian with the field %s is read as symmetric",
            tulle__mtx_field_name(head->field));
    }
    return 1;
}

/*
 * 1: the line is a banner and was consumed. -1: it is none, and the caller assumes one. 0: an
 * error.
 */
static int banner(tulle__mtx *mtx, const char *line, const char *end, tulle__mtx_fault *fault)
{
    const char *p = line;
    size_t n = sizeof banner_word - 1;
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    const char *first = tulle__mtx_skip_blanks(p, end);
    const char *stop = word_end(first, end);
    size_t length = (size_t)(stop - first);
    int full = length == n && strncasecmp(first, banner_word, n) == 0;
    int short_one = length == n - 1 && strncasecmp(first, banner_word + 1, n - 1) == 0;
    if (full || short_one) {
        if (first > p && !mtx->options.lenient)
            return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "blanks before the banner");
        if (first > p)
            tulle__warn(mtx->header.warnings, sizeof mtx->header.warnings, "blanks before the banner are ignored");
        if (short_one)
            tulle__warn(
                mtx->header.warnings, sizeof mtx->header.warnings, "the banner begins with one %% instead of two");
        if (mtx->options.assume)
            tulle__warn(mtx->header.warnings, sizeof mtx->header.warnings,
                "the file has a banner, which is read instead of the assumed one");
        return banner_words(mtx, line, stop, end, fault);
    }
    if (!mtx->options.assume)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, first,
            "no Matrix Market banner (%%%%MatrixMarket matrix ...) on the first line; its words can be assumed (the "
            "option `assume`)");
    const char *words = mtx->options.assume;
    tulle__mtx_fault inner;
    if (!banner_words(mtx, words, words, words + strlen(words), &inner))
        return tulle__mtx_blame(fault, inner.status == TULLE_ERR_FORMAT ? TULLE_ERR_ARG : inner.status, line, p,
            "the banner to assume, '%.80s', is wrong: %.150s", words, inner.cause);
    return -1;
}

/* %%GraphBLAS [type] NAME on the second line: the values must fit that type. */
static int graphblas(tulle__mtx *mtx, const char *line, const char *end, tulle__mtx_fault *fault)
{
    static const struct {
        const char *name;
        int whole, complex;
        double low, high;
    } types[] = {{"bool", 1, 0, 0, 1}, {"int8", 1, 0, -0x1p7, 0x1p7 - 1}, {"int16", 1, 0, -0x1p15, 0x1p15 - 1},
        {"int32", 1, 0, -0x1p31, 0x1p31 - 1}, {"int64", 1, 0, -0x1p63, 0x1p63}, {"uint8", 1, 0, 0, 0x1p8 - 1},
        {"uint16", 1, 0, 0, 0x1p16 - 1}, {"uint32", 1, 0, 0, 0x1p32 - 1}, {"uint64", 1, 0, 0, 0x1p64},
        {"fp32", 0, 0, -0x1.fffffep127, 0x1.fffffep127}, {"fp64", 0, 0, -HUGE_VAL, HUGE_VAL}, {"fc32", 0, 1, 0, 0},
        {"fc64", 0, 1, 0, 0}};
    const char *p = tulle__mtx_skip_blanks(line + strlen("%%GraphBLAS"), end), *stop = word_end(p, end);
    if (stop - p == 4 && strncasecmp(p, "type", 4) == 0) {
        p = tulle__mtx_skip_blanks(stop, end);
        stop = word_end(p, end);
    }
    size_t n = (size_t)(stop - p);
    if (n > 4 && strncasecmp(p, "GrB_", 4) == 0) p += 4, n -= 4;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        if (strlen(types[t].name) != n || strncasecmp(p, types[t].name, n) != 0) continue;
        if (types[t].complex)
            return tulle__mtx_blame(
                fault, TULLE_ERR_UNSUPPORTED, line, p, "the complex type %s is not supported", types[t].name);
        /* without limits of its own, nothing is checked */
        int wider = strcmp(types[t].name, "fp64") == 0 ||
                    (strcmp(types[t].name, "int64") == 0 && mtx->header.field == TULLE__MTX_INTEGER);
        mtx->range = (tulle__mtx_range){
            !wider && mtx->header.field != TULLE__MTX_PATTERN, types[t].whole, types[t].low, types[t].high, ""};
        snprintf(mtx->range.name, sizeof mtx->range.name, "%s", types[t].name);
        return 1;
    }
    tulle__warn(mtx->header.warnings, sizeof mtx->header.warnings,
        "the line %%%%GraphBLAS is ignored: its type is none that is known");
    return 1;
}

static int sizes(tulle__mtx *mtx, const char *line, const char *p, const char *end, tulle__mtx_fault *fault)
{
    static const char *const names[] = {"rows", "columns", "entries"};
    tulle__mtx_header *head = &mtx->header;
    int64_t number[3] = {0, 1, 0};
    int wanted[3] = {1, !head->vector, !head->array};
    const char *expected = head->vector
                               ? (head->array ? "1 number (rows)" : "2 numbers (rows, entries)")
                               : (head->array ? "2 numbers (rows, columns)" : "3 numbers (rows, columns, entries)");
    int count = 0;
    for (const char *q = p; q < end && *q != '%'; q = tulle__mtx_skip_blanks(word_end(q, end), end)) count++;
    for (int k = 0, seen = 0; k < 3; k++) {
        if (!wanted[k]) continue;
        if (p == end || *p == '%')
            return tulle__mtx_blame(
                fault, TULLE_ERR_FORMAT, line, p, "the size line must have %s, but has %d", expected, seen);
        const char *stop;
        char what[40];
        tulle__number kind = tulle__number_i64(p, end, &number[k], &stop);
        snprintf(what, sizeof what, "the number of %s", names[k]);
        if (kind == TULLE__NUMBER_NONE) return tulle__mtx_blame_character(fault, line, p, end, what);
        if (stop < end && *stop != ' ' && *stop != '\t') {
            if (*stop == '.' || (*stop | 32) == 'e')
                return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, stop, "%s is not a whole number", what);
            return tulle__mtx_blame_character(fault, line, stop, end, "the end of a number");
        }
        if (kind == TULLE__NUMBER_OVERFLOW)
            return tulle__mtx_blame(fault, TULLE_ERR_OVERFLOW, line, p, "%s does not fit 64 bits", what);
        if (number[k] < 0) return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "%s is negative", what);
        p = tulle__mtx_skip_blanks(stop, end);
        seen++;
    }
    if (p < end && *p != '%')
        return tulle__mtx_blame(
            fault, TULLE_ERR_FORMAT, line, p, "the size line must have %s, but has %d", expected, count);
    head->rows = number[0];
    head->cols = number[1];
    head->stored = number[2];
    head->wide = head->rows > INT32_MAX || head->cols > INT32_MAX;
    if (head->symmetry != TULLE__MTX_GENERAL && head->rows != head->cols)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, line,
            "a %s matrix must be square, but this is %" PRId64 " x %" PRId64, tulle__mtx_symmetry_name(head->symmetry),
            head->rows, head->cols);
    if (head->array) {
        __int128 n = head->rows, all = n * head->cols;
        if (head->symmetry == TULLE__MTX_SYMMETRIC) all = n % 2 ? (n + 1) / 2 * n : n / 2 * (n + 1);
        if (head->symmetry == TULLE__MTX_SKEW) all = n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1);
        if (all > INT64_MAX)
            return tulle__mtx_blame(fault, TULLE_ERR_OVERFLOW, line, line,
                "an array of %" PRId64 " x %" PRId64 " has more numbers than fit 64 bits", head->rows, head->cols);
        head->stored = (int64_t)all;
    }
    return 1;
}

/* Compares the stated count with the file's size: the shortest entry is `1 1` and a newline. */
static int plausible(const tulle__mtx *mtx, const char *line, tulle__mtx_fault *fault)
{
    const tulle__mtx_header *head = &mtx->header;
    int least = head->array ? 2 : (head->vector ? 2 : 4) + (head->field == TULLE__MTX_PATTERN ? 0 : 2);
    __int128 need = (__int128)head->stored * least - 1; /* the last newline may be missing */
    __int128 have = mtx->text.bytes - head->data;
    if (mtx->text.archive)
        have = mtx->text.member.bytes - head->data;
    else if (head->packed)
        have = (__int128)mtx->text.bytes * mtx->text.packing->ratio;
    if (need <= have || (head->packed && !mtx->text.archive && !mtx->text.packing->ratio)) return 1;
    return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, line,
        "%" PRId64 " %s cannot be in a file of %" PRId64 " bytes%s", head->stored,
        head->array ? tulle__plural(head->stored, "number", "numbers")
                    : tulle__plural(head->stored, "entry", "entries"),
        mtx->text.archive ? mtx->text.member.bytes : mtx->text.bytes,
        head->packed && !mtx->text.archive ? " (packed)" : "");
}

/* Reads the header line by line. */
static tulle_status read_header(tulle__mtx *mtx)
{
    tulle__text text = mtx->text;
    tulle__mtx_header *head = &mtx->header;
    text.threads = 0;
    if (!text.block) text.block = 1 << 15;
    tulle__lines *lines = NULL;
    tulle_status status;
    int64_t number = 0;
    int have_banner = 0;
    TULLE_TRY(tulle__lines_open(&text, 0, 0, 1, &lines));
    for (;;) {
        char *begin, *run_end;
        int64_t offset;
        TULLE_TRY(tulle__lines_next(lines, &begin, &run_end, &offset));
        if (begin == run_end) break;
        for (char *line = begin, *next; line < run_end; line = next) {
            tulle__mtx_fault fault;
            char *newline = memchr(line, '\n', (size_t)(run_end - line));
            const char *end = newline;
            next = newline + 1;
            number++;
            int fine = tulle__mtx_trim(line, &end, &fault);
            if (fine && !have_banner) {
                fine = banner(mtx, line, end, &fault);
                have_banner = 1;
                if (fine > 0) continue;
            }
            const char *p = tulle__mtx_skip_blanks(line, end);
            static const char gb[] = "%%GraphBLAS";
            if (fine && number == 2 && (size_t)(end - line) >= sizeof gb - 1 && memcmp(line, gb, sizeof gb - 1) == 0)
                fine = graphblas(mtx, line, end, &fault);
            if (fine && (p == end || *p == '%')) continue;
            if (fine) {
                head->size_line = number;
                head->data = offset + (next - begin);
                if (!head->packed && head->data > text.bytes) head->data = text.bytes; /* no newline behind it */
                fine = sizes(mtx, line, p, end, &fault) && plausible(mtx, line, &fault);
            }
            status = fine ? TULLE_OK : tulle__mtx_fail(mtx, offset + (line - begin), &fault);
            goto out;
        }
    }
    if (number == 0)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the file is empty", mtx->path);
    else
        status = tulle__fail(TULLE_ERR_FORMAT, "%s:%" PRId64 ": the file ends before the size line", mtx->path, number);
out:
    tulle__lines_close(lines);
    return status;
}

/* ---- files of entries alone ---- */

int tulle__mtx_is_bare(const char *path)
{
    static const char ending[] = ".csr";
    const size_t n = strlen(path), e = sizeof ending - 1;
    return n >= e && strcasecmp(path + n - e, ending) == 0;
}

/* The larger index of the entry in a line, counted from 1; a wrong one counts as 0: the parser says what is wrong. */
static int64_t larger_index(const tulle__mtx *mtx, const char *p, const char *end)
{
    int64_t row = 0, col = 0;
    const char *stop = p;
    if (tulle__number_i64(p, end, &row, &stop) != TULLE__NUMBER_OK) return 0;
    p = tulle__mtx_skip_blanks(stop, end);
    if (tulle__number_i64(p, end, &col, &stop) != TULLE__NUMBER_OK) return 0;
    const int64_t index = row > col ? row : col;
    return index < INT64_MAX - 1 ? index + (mtx->options.zero_based ? 1 : 0) : 0;
}

/*
 * CP2K's text: a line `row col value` an entry, without a header, both triangles and zeros in blocks included. The
 * matrix is square, of the largest index. Lists of edges, with comments behind #, are read alike. One sweep, of every
 * PE.
 */
static tulle_status read_bare(tulle__mtx *mtx)
{
    tulle__text text = mtx->text;
    tulle__mtx_header *head = &mtx->header;
    tulle__mtx_fault fault;
    tulle__lines *lines = NULL;
    tulle_status status;
    text.threads = 0;
    if (mtx->options.assume && !banner(mtx, "", "", &fault)) return tulle__mtx_fail(mtx, 0, &fault);
    if (head->array || head->vector)
        return tulle__fail(TULLE_ERR_ARG, "%s: its lines are entries of a matrix, not an array", mtx->path);
    TULLE_TRY(tulle__lines_open(&text, 0, 0, 1, &lines));
    for (;;) {
        char *begin, *run_end;
        int64_t offset;
        TULLE_TRY(tulle__lines_next(lines, &begin, &run_end, &offset));
        if (begin == run_end) break;
        for (const char *line = begin, *end; line < run_end; line = end + 1) {
            end = memchr(line, '\n', (size_t)(run_end - line));
            const char *p = tulle__mtx_skip_blanks(line, end);
            if (p == end || *p == '%' || *p == '#' || *p == '\r') continue;
            const int64_t index = larger_index(mtx, p, end);
            if (index > head->rows) head->rows = index;
            head->stored++;
        }
    }
    if (!head->stored) status = tulle__fail(TULLE_ERR_FORMAT, "%s: the file has no entries", mtx->path);
    head->bare = 1;
    head->cols = head->rows;
    head->wide = head->rows > INT32_MAX;
out:
    tulle__lines_close(lines);
    return status;
}

const char *tulle__mtx_base(const tulle__mtx *mtx)
{
    const char *slash = strrchr(mtx->text.member.name, '/');
    return slash ? slash + 1 : mtx->text.member.name;
}

/* The name for messages: of an archive's matrix, the archive's and its own. */
static tulle_status name_of(tulle__mtx *mtx, const char *path)
{
    const char *base = tulle__mtx_base(mtx);
    const size_t n = strlen(path), m = strlen(base);
    const int named = !*base || (n > m && path[n - m - 1] == '/' && strcmp(path + n - m, base) == 0);
    TULLE_CALL(tulle__alloc(n + m + 2, 1, "a path", &mtx->path));
    snprintf(mtx->path, n + m + 2, "%s%s%s", path, named ? "" : "/", named ? "" : base);
    return TULLE_OK;
}

tulle_status tulle__mtx_open(const char *path, const tulle__mtx_options *options, tulle__mtx **mtx)
{
    tulle__mtx *made = NULL;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a Matrix Market file", &made));
    made->text.fd = -1;
    if (options) made->options = *options;
    const char *name = tulle__text_name(path);
    TULLE_TRY(tulle__text_open(path, &made->text));
    TULLE_TRY(name_of(made, name));
    made->text.path = made->path;
    made->text.engine = made->options.engine;
    made->text.block = (size_t)made->options.block;
    made->text.threads = !made->options.no_thread;
    made->header.packed = made->text.packed;
    made->header.packing = made->text.packed ? made->text.packing->name : "";
    made->header.archive = made->text.archive;
    TULLE_TRY(tulle__mtx_is_bare(name) ? read_bare(made) : read_header(made));
    *mtx = made;
    return TULLE_OK;
out:
    tulle__mtx_close(made);
    return status;
}

tulle_status tulle__mtx_others(const tulle__mtx *mtx, char list[TULLE__TAR_LIST])
{
    tulle__packed_file file = tulle__text_packed(&mtx->text);
    list[0] = '\0';
    file.member = 0;
    return mtx->text.archive ? tulle__tar_others(&file, list) : TULLE_OK;
}

void tulle__mtx_watch(tulle__mtx *mtx, tulle__progress_meter *meter)
{
    mtx->text.meter = meter;
    tulle__progress_meter_start(meter, "reading", "B", mtx->text.bytes);
}

void tulle__mtx_close(tulle__mtx *mtx)
{
    if (!mtx) return;
    tulle__text_close(&mtx->text);
    tulle__free(mtx->path);
    tulle__free(mtx);
}
