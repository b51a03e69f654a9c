/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"

static tulle_status parse_part(char *text, tulle__spec_part *part)
{
    char *rest = strchr(text, ':');
    part->name = text;
    part->nkeys = 0;
    if (rest) *rest++ = '\0';
    if (!*text) return tulle__fail(TULLE_ERR_ARG, "a part of the spec has no name");
    for (char *item = rest; item && *item; item = rest) {
        rest = strchr(item, ',');
        if (rest) *rest++ = '\0';
        char *value = strchr(item, '=');
        if (value) *value++ = '\0';
        if (!*item) return tulle__fail(TULLE_ERR_ARG, "an empty key in the spec of '%s'", part->name);
        if (part->nkeys == TULLE__SPEC_KEYS)
            return tulle__fail(TULLE_ERR_ARG, "more than %d keys in the spec of '%s'", TULLE__SPEC_KEYS, part->name);
        for (int i = 0; i < part->nkeys; i++)
            if (strcmp(part->key[i], item) == 0)
                return tulle__fail(TULLE_ERR_ARG, "key '%s' given twice in the spec of '%s'", item, part->name);
        part->key[part->nkeys] = item;
        part->value[part->nkeys] = value;
        part->used[part->nkeys++] = 0;
    }
    return TULLE_OK;
}

tulle_status tulle__spec_parse(const char *text, tulle__spec *spec)
{
    size_t length = strlen(text);
    spec->nparts = 0;
    if (length >= sizeof spec->text)
        return tulle__fail(
            TULLE_ERR_ARG, "a spec of %zu characters is over the limit of %zu", length, sizeof spec->text);
    memcpy(spec->text, text, length + 1);
    for (char *item = spec->text, *next; item; item = next) {
        next = strchr(item, '+');
        /* the + of an exponent (1e+5) does not join parts */
        while (next && next > item && (next[-1] == 'e' || next[-1] == 'E') && next[1] >= '0' && next[1] <= '9')
            next = strchr(next + 1, '+');
        if (next) *next++ = '\0';
        if (spec->nparts == TULLE__SPEC_PARTS)
            return tulle__fail(TULLE_ERR_ARG, "more than %d parts in the spec '%s'", TULLE__SPEC_PARTS, text);
        TULLE_CALL(parse_part(item, &spec->part[spec->nparts++]));
    }
    return TULLE_OK;
}

static int find(tulle__spec_part *part, const char *key, const char **value)
{
    for (int i = 0; i < part->nkeys; i++)
        if (strcmp(part->key[i], key) == 0) {
            part->used[i] = 1;
            *value = part->value[i];
            return 1;
        }
    return 0;
}

static tulle_status find_value(tulle__spec_part *part, const char *key, const char **value)
{
    *value = NULL;
    if (find(part, key, value) && (!*value || !**value))
        return tulle__fail(TULLE_ERR_ARG, "key '%s' of '%s' needs a value", key, part->name);
    return TULLE_OK;
}

tulle_status tulle__parse_int(const char *text, const char *what, int64_t low, int64_t high, int64_t *value)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (end == text || *end || errno) return tulle__fail(TULLE_ERR_ARG, "%s: '%s' is not a whole number", what, text);
    if (x < low || x > high)
        return tulle__fail(TULLE_ERR_ARG, "%s: %lld is outside %" PRId64 " to %" PRId64, what, x, low, high);
    *value = x;
    return TULLE_OK;
}

tulle_status tulle__parse_real(const char *text, const char *what, double low, double high, double *value)
{
    char *end;
    double x = tulle__decimal_read(text, &end);
    if (end == text || *end || !isfinite(x)) return tulle__fail(TULLE_ERR_ARG, "%s: '%s' is not a number", what, text);
    if (x < low || x > high) return tulle__fail(TULLE_ERR_ARG, "%s: %g is outside %g to %g", what, x, low, high);
    *value = x;
    return TULLE_OK;
}

struct unit {
    const char *name;
    double factor;
};

static tulle_status parse_unit(
    const char *text, const char *what, const char *kind, const struct unit *units, size_t nunits, double *value)
{
    char *end;
    double x = tulle__decimal_read(text, &end);
    if (end == text || !isfinite(x) || x < 0)
        return tulle__fail(TULLE_ERR_ARG, "%s: '%s' is not a %s", what, text, kind);
    for (size_t i = 0; i < nunits; i++)
        if (strcmp(end, units[i].name) == 0) {
            *value = x * units[i].factor;
            return TULLE_OK;
        }
    return tulle__fail(TULLE_ERR_ARG, "%s: unknown unit '%s' in '%s'", what, end, text);
}

tulle_status tulle__parse_bytes(const char *text, const char *what, double *value)
{
    static const struct unit units[] = {{"", 1}, {"B", 1}, {"K", 1e3}, {"KB", 1e3}, {"k", 1e3}, {"M", 1e6}, {"MB", 1e6},
        {"G", 1e9}, {"GB", 1e9}, {"T", 1e12}, {"TB", 1e12}, {"Ki", 0x1p10}, {"KiB", 0x1p10}, {"Mi", 0x1p20},
        {"MiB", 0x1p20}, {"Gi", 0x1p30}, {"GiB", 0x1p30}, {"Ti", 0x1p40}, {"TiB", 0x1p40}};
    return parse_unit(text, what, "size", units, sizeof units / sizeof *units, value);
}

tulle_status tulle__parse_seconds(const char *text, const char *what, double *value)
{
    static const struct unit units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    return parse_unit(text, what, "time", units, sizeof units / sizeof *units, value);
}

tulle_status tulle__spec_int(tulle__spec_part *part, const char *key, int64_t low, int64_t high, int64_t *value)
{
    const char *text;
    tulle_status status = find_value(part, key, &text);
    return status != TULLE_OK || !text ? status : tulle__parse_int(text, key, low, high, value);
}

tulle_status tulle__spec_real(tulle__spec_part *part, const char *key, double low, double high, double *value)
{
    const char *text;
    tulle_status status = find_value(part, key, &text);
    return status != TULLE_OK || !text ? status : tulle__parse_real(text, key, low, high, value);
}

tulle_status tulle__spec_bytes(tulle__spec_part *part, const char *key, double *value)
{
    const char *text;
    tulle_status status = find_value(part, key, &text);
    return status != TULLE_OK || !text ? status : tulle__parse_bytes(text, key, value);
}

tulle_status tulle__spec_seconds(tulle__spec_part *part, const char *key, double *value)
{
    const char *text;
    tulle_status status = find_value(part, key, &text);
    return status != TULLE_OK || !text ? status : tulle__parse_seconds(text, key, value);
}

tulle_status tulle__spec_flag(tulle__spec_part *part, const char *key, int *value)
{
    const char *text;
    if (!find(part, key, &text)) return TULLE_OK;
    if (!text || strcmp(text, "on") == 0 || strcmp(text, "1") == 0)
        *value = 1;
    else if (strcmp(text, "off") == 0 || strcmp(text, "0") == 0)
        *value = 0;
    else
        return tulle__fail(TULLE_ERR_ARG, "key '%s' of '%s' is on or off, not '%s'", key, part->name, text);
    return TULLE_OK;
}

tulle_status tulle__spec_word(tulle__spec_part *part, const char *key, const char **value)
{
    const char *text;
    TULLE_CALL(find_value(part, key, &text));
    if (text) *value = text;
    return TULLE_OK;
}

tulle_status tulle__spec_done(const tulle__spec_part *part, const char *const *known, int nknown)
{
    for (int i = 0; i < part->nkeys; i++)
        if (!part->used[i]) {
            const char *near = tulle__nearest(part->key[i], known, nknown);
            return tulle__fail(TULLE_ERR_ARG, "'%s' has no key '%s'%s%s%s", part->name, part->key[i],
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        }
    return TULLE_OK;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; /* in any locale */
}

int tulle__word_same(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) a++, b++;
    return lower(*a) == lower(*b);
}

/* Levenshtein distance of short words; a long one is far from all of them. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    int row[MOST + 1];
    int na = (int)strlen(a), nb = (int)strlen(b);
    if (na > MOST || nb > MOST) return INT_MAX;
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

const char *tulle__nearest(const char *text, const char *const *words, int nwords)
{
    const char *best = NULL;
    int nearest = (int)strlen(text) / 2 + 1; /* a word more than half wrong is no typing error */
    for (int i = 0; i < nwords; i++) {
        int d = distance(text, words[i]);
        if (d < nearest) {
            nearest = d;
            best = words[i];
        }
    }
    return best;
}

/* "a, b and c"; returns text. */
static const char *word_list(const char *const *words, int nwords, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < nwords && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
            i == 0            ? ""
            : i == nwords - 1 ? " and "
                              : ", ",
            words[i]);
    return text;
}

tulle_status tulle__name_unknown(tulle_status status, const char *name, const char *const *names, int count)
{
    char cause[TULLE_MESSAGE_MAX], list[TULLE_MESSAGE_MAX];
    const char *near = tulle__nearest(name, names, count);
    snprintf(cause, sizeof cause, "%s", tulle__error_marked());
    return tulle__fail(near ? TULLE_ERR_ARG : status, "%.300s; %s%s%s%s", cause, near ? "did you mean '" : "",
        near ? near : "", near ? "'? There are " : "there are ", word_list(names, count, list, sizeof list));
}

/* Names that PETSc, NumPy and BLAS have for some of our words. */
static const char *ours(const char *name)
{
    static const char *const words[][2] = {{"float32", "f32"}, {"float", "f32"}, {"single", "f32"}, {"float64", "f64"},
        {"double", "f64"}, {"icc", "ic0"}, {"ilu", "ilu0"}, {"bjacobi", "block-jacobi"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (tulle__word_same(words[w][0], name)) return words[w][1];
    return name;
}

static int find_name(const char *name, const char *const *names, int count)
{
    for (int n = 0; n < count; n++)
        if (tulle__word_same(names[n], name)) return n;
    return -1;
}

tulle_status tulle__name_parse(const char *what, const char *name, const char *const *names, int count, int *found)
{
    char cause[TULLE_MESSAGE_MAX];
    int n = find_name(name, names, count);
    if (n < 0) n = find_name(ours(name), names, count);
    if (n >= 0) {
        *found = n;
        return TULLE_OK;
    }
    const char *comma = strchr(name, ',');
    char word[64] = "";
    if (comma) snprintf(word, sizeof word, "%.*s", (int)(comma - name), name);
    if (comma && find_name(word, names, count) >= 0)
        return tulle__fail(
            TULLE_ERR_ARG, "unknown %s '%.60s': keys follow a colon, as in '%s:%.60s'", what, name, word, comma + 1);
    snprintf(cause, sizeof cause, "unknown %s '%.60s'", what, name);
    tulle__error_set(cause);
    return tulle__name_unknown(TULLE_ERR_ARG, name, names, count);
}
