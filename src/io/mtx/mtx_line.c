/* SPDX-License-Identifier: Apache-2.0 */
/* The careful parser of single lines: it says exactly what is wrong and where. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "io/mtx/mtx_file.h"
#include "io/number/number.h"

int tulle__mtx_blame(
    tulle__mtx_fault *fault, tulle_status status, const char *line, const char *p, const char *format, ...)
{
    va_list args;
    fault->status = status;
    fault->column = p - line;
    va_start(args, format);
    tulle__decimal_vformat(fault->cause, sizeof fault->cause, format, args);
    va_end(args);
    return 0;
}

/* Quotes a word of the file for a message: printable, shortened. */
static void quote(const char *p, const char *end, char word[28])
{
    int n = 0;
    while (p < end && n < 24 && *p != ' ' && *p != '\t') {
        word[n++] = *p >= 32 && *p < 127 ? *p : '?';
        p++;
    }
    if (p < end && *p != ' ' && *p != '\t') {
        memcpy(word + n, "...", 3);
        n += 3;
    }
    word[n] = '\0';
}

int tulle__mtx_blame_character(
    tulle__mtx_fault *fault, const char *line, const char *p, const char *end, const char *expected)
{
    char word[28];
    if (p >= end)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "the line ends where %s should be", expected);
    if (*p == ',' || *p == ';')
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p,
            "a %s where %s should be: blanks separate, and decimals have a point", *p == ',' ? "comma" : "semicolon",
            expected);
    if (*p == '%')
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "a comment begins where %s should be", expected);
    quote(p, end, word);
    return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "'%s' where %s should be", word, expected);
}

tulle_status tulle__mtx_fail(const tulle__mtx *mtx, int64_t offset, const tulle__mtx_fault *fault)
{
    long long line = tulle__text_line_number(&mtx->text, offset);
    return tulle__fail(fault->status, "%s:%lld:%lld: %s", mtx->path, line, (long long)fault->column + 1, fault->cause);
}

const char *tulle__mtx_skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t')) p++;
    return p;
}

int tulle__mtx_trim(const char *line, const char **end, tulle__mtx_fault *fault)
{
    const char *stop = *end;
    if (stop > line && stop[-1] == '\r') stop--;
    const char *nul = memchr(line, '\0', (size_t)(stop - line));
    if (nul) return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, nul, "a NUL byte: this is no text");
    const char *cr = memchr(line, '\r', (size_t)(stop - line));
    if (cr)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, cr,
            "a carriage return without a line feed (old Mac text): lines must end in a line feed");
    *end = stop;
    return 1;
}

static int blank_or_end(const char *p, const char *end)
{
    return p >= end || *p == ' ' || *p == '\t';
}

static int index_at(const tulle__mtx *mtx, const char *line, const char **p, const char *end, int64_t size,
    const char *what, int64_t *index, tulle__mtx_fault *fault)
{
    char expected[32];
    int64_t x = 0, low = !mtx->options.zero_based;
    const char *stop, *begin = *p;
    snprintf(expected, sizeof expected, "a %s index", what);
    tulle__number kind = tulle__number_i64(begin, end, &x, &stop);
    if (kind == TULLE__NUMBER_NONE) return tulle__mtx_blame_character(fault, line, begin, end, expected);
    if (!blank_or_end(stop, end)) {
        if (*stop == '.' || *stop == 'e' || *stop == 'E')
            return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, stop, "the %s index is not a whole number", what);
        return tulle__mtx_blame_character(fault, line, stop, end, "the end of an index");
    }
    if (kind == TULLE__NUMBER_OVERFLOW)
        return tulle__mtx_blame(fault, TULLE_ERR_OVERFLOW, line, begin, "the %s index does not fit 64 bits", what);
    if (x == 0 && low == 1)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, begin,
            "%s index 0: indices begin at 1 (if this file counts from 0, ask for zero-based)", what);
    if (x < low)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, begin, "%s index %lld is negative", what, (long long)x);
    if (x - low >= size)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, begin,
            "%s index %lld is beyond the %lld %ss of the size line", what, (long long)x, (long long)size, what);
    *index = x - low;
    *p = stop;
    return 1;
}

/* Says why a number cannot end where it does. */
static int blame_tail(tulle__mtx_fault *fault, const char *line, const char *begin, const char *p, const char *end)
{
    char word[28];
    quote(begin, end, word);
    if ((*p == 'x' || *p == 'X') && p > begin && p[-1] == '0')
        return tulle__mtx_blame(
            fault, TULLE_ERR_FORMAT, line, begin, "'%s' is hexadecimal; only decimal numbers are allowed", word);
    if (*p == ',')
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "a comma in '%s': decimals have a point", word);
    if ((*p == '+' || *p == '-') && p > begin)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "the exponent of '%s' lacks its letter E", word);
    return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "'%s' is not a number", word);
}

static int integer_value(tulle_type type, const char *line, const char *p, const char *end, double *value,
    const char **stop, tulle__mtx_stats *stats, tulle__mtx_fault *fault)
{
    int64_t x = 0;
    char word[28];
    quote(p, end, word);
    tulle__number kind = tulle__number_i64(p, end, &x, stop);
    if (kind == TULLE__NUMBER_NONE) return tulle__mtx_blame_character(fault, line, p, end, "an integer");
    if (!blank_or_end(*stop, end)) {
        double ignored;
        const char *real;
        if (tulle__number_f64(p, end, &ignored, &real) <= TULLE__NUMBER_UNDERFLOW && real > *stop)
            return tulle__mtx_blame(
                fault, TULLE_ERR_FORMAT, line, p, "'%s' is not an integer, as the banner promises", word);
        return blame_tail(fault, line, p, *stop, end);
    }
    if (kind == TULLE__NUMBER_OVERFLOW)
        return tulle__mtx_blame(fault, TULLE_ERR_OVERFLOW, line, p, "the integer %s does not fit 64 bits", word);
    *value = type == TULLE_F32 ? (double)(float)x : (double)x;
    /* 2^63 itself cannot be cast back */
    stats->values.rounded += *value >= 0x1p63 || (int64_t)*value != x;
    return 1;
}

static int real_value(const tulle__mtx *mtx, tulle_type type, const char *line, const char *p, const char *end,
    double *value, const char **stop, tulle__mtx_stats *stats, tulle__mtx_fault *fault)
{
    tulle__number kind;
    char word[28];
    quote(p, end, word);
    if (type == TULLE_F32) {
        float single = 0;
        kind = tulle__number_f32(p, end, &single, stop);
        *value = (double)single;
    } else {
        kind = tulle__number_f64(p, end, value, stop);
    }
    if (kind == TULLE__NUMBER_NONE) return tulle__mtx_blame_character(fault, line, p, end, "a value");
    if (kind == TULLE__NUMBER_EXPONENT)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, *stop, "the exponent of '%s' has no digits", word);
    if (!blank_or_end(*stop, end)) return blame_tail(fault, line, p, *stop, end);
    if (mtx->options.finite_only) {
        if (kind == TULLE__NUMBER_NAN || kind == TULLE__NUMBER_INF)
            return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "the value '%s' is not finite", word);
        if (kind == TULLE__NUMBER_OVERFLOW)
            return tulle__mtx_blame(fault, TULLE_ERR_OVERFLOW, line, p, "the value '%s' is out of the range of %s",
                word, tulle_type_name(type));
    }
    stats->values.nans += kind == TULLE__NUMBER_NAN;
    stats->values.infs += kind == TULLE__NUMBER_INF;
    stats->values.overflows += kind == TULLE__NUMBER_OVERFLOW;
    stats->values.underflows += kind == TULLE__NUMBER_UNDERFLOW;
    return 1;
}

int tulle__mtx_value(const tulle__mtx *mtx, tulle_type type, const char *line, const char *p, const char *end,
    double *value, const char **stop, tulle__mtx_stats *stats, tulle__mtx_fault *fault)
{
    const tulle__mtx_range *range = &mtx->range;
    int fine = mtx->header.field == TULLE__MTX_INTEGER ? integer_value(type, line, p, end, value, stop, stats, fault)
                                                       : real_value(mtx, type, line, p, end, value, stop, stats, fault);
    if (fine && range->checked &&
        !(*value >= range->low && *value <= range->high && (!range->whole || *value == floor(*value)))) {
        char word[28];
        if (isnan(*value) && !range->whole) return 1;
        quote(p, end, word);
        return tulle__mtx_blame(fault, TULLE_ERR_OVERFLOW, line, p,
            "the value '%s' is out of the range of %s, the type that line 2 names", word, range->name);
    }
    return fine;
}

int tulle__mtx_line(const tulle__mtx *mtx, tulle_type type, const char *line, const char *end, tulle__mtx_item *item,
    tulle__mtx_stats *stats, tulle__mtx_fault *fault)
{
    const tulle__mtx_header *head = &mtx->header;
    const char *value_at, *stop;
    if (!tulle__mtx_trim(line, &end, fault)) return 0;
    const char *p = tulle__mtx_skip_blanks(line, end);
    if (p == end || *p == '%' || (*p == '#' && head->bare)) {
        item->kind = p == end ? TULLE__MTX_BLANK : TULLE__MTX_COMMENT;
        stats->blanks += p == end;
        stats->comments += p < end;
        return 1;
    }
    item->kind = TULLE__MTX_ENTRY;
    item->col = 0;
    if (!index_at(mtx, line, &p, end, head->rows, "row", &item->row, fault)) return 0;
    if (!head->vector) {
        p = tulle__mtx_skip_blanks(p, end);
        if (!index_at(mtx, line, &p, end, head->cols, "column", &item->col, fault)) return 0;
    }
    p = tulle__mtx_skip_blanks(p, end);
    value_at = p;
    item->value = 1;
    if (head->field == TULLE__MTX_PATTERN) {
        if (p < end && *p != '%') {
            tulle__mtx_stats ignored = {0};
            if (!real_value(mtx, type, line, p, end, &item->value, &stop, &ignored, fault)) return 0;
            item->value = 1;
            stats->pattern_values++;
            p = tulle__mtx_skip_blanks(stop, end);
        }
    } else {
        if (p == end)
            return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "the entry has no value, but the field is %s",
                tulle__mtx_field_name(head->field));
        if (!tulle__mtx_value(mtx, type, line, p, end, &item->value, &stop, stats, fault)) return 0;
        p = tulle__mtx_skip_blanks(stop, end);
    }
    if (p < end && *p != '%') {
        char word[28];
        quote(p, end, word);
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, p, "'%s' follows a complete entry", word);
    }
    if (head->symmetry == TULLE__MTX_SKEW && item->row == item->col && item->value != 0)
        return tulle__mtx_blame(fault, TULLE_ERR_FORMAT, line, value_at,
            "the diagonal of a skew-symmetric matrix is zero, but entry (%lld, %lld) is %g",
            (long long)item->row + !mtx->options.zero_based, (long long)item->col + !mtx->options.zero_based,
            item->value);
    stats->stored++;
    stats->upper += item->row < item->col;
    stats->lower += item->row > item->col;
    stats->diagonal += item->row == item->col;
    stats->zeros += item->value == 0;
    return 1;
}
