/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 16, PATH_MOST = 256 };

struct reader {
    struct json_line line;
    const char *start, *at;
    char path[PATH_MOST];
    int room_leaves;
    size_t used, room_bytes;
};

static tulle_status wrong(const struct reader *r, const char *what)
{
    return tulle_fail(
        TULLE_ERR_FORMAT, "%s:%d:%d: %s", r->line.file, r->line.number, (int)(r->at - r->start) + 1, what);
}

static tulle_status no_memory(void)
{
    return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a line of JSON");
}

static void skip(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n') r->at++;
}

/* Text into the line's room, whose size is known beforehand to suffice: it never moves. */
static const char *keep(struct reader *r, const char *text, size_t length)
{
    char *to = r->line.room + r->used;
    if (r->used + length + 1 > r->room_bytes) return NULL;
    memcpy(to, text, length);
    to[length] = '\0';
    r->used += length + 1;
    return to;
}

static tulle_status add_leaf(struct reader *r, struct json_leaf leaf)
{
    if (r->line.count == r->room_leaves) {
        int room = r->room_leaves ? 2 * r->room_leaves : 64;
        struct json_leaf *more = realloc(r->line.leaf, (size_t)room * sizeof *more);
        if (!more) return no_memory();
        r->line.leaf = more;
        r->room_leaves = room;
    }
    leaf.path = keep(r, r->path, strlen(r->path));
    if (!leaf.path) return wrong(r, "names that are too long for this line");
    r->line.leaf[r->line.count++] = leaf;
    return TULLE_OK;
}

/* A string, its escapes undone but for those of characters that nobody here writes. */
static tulle_status read_text(struct reader *r, char *to, size_t room)
{
    size_t n = 0;
    if (*r->at != '"') return wrong(r, "a string is expected");
    for (r->at++; *r->at != '"'; r->at++) {
        if ((unsigned char)*r->at < ' ') return wrong(r, "a string without its end");
        char c = *r->at;
        if (c == '\\') {
            static const char escaped[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
            const char *which = *++r->at ? strchr(escaped, *r->at) : NULL;
            int plain = *r->at == 'u' && isxdigit((unsigned char)r->at[1]) && isxdigit((unsigned char)r->at[2]) &&
                        isxdigit((unsigned char)r->at[3]) && isxdigit((unsigned char)r->at[4]);
            if (!which && !plain) return wrong(r, "an escape that JSON does not know");
            c = which ? meant[which - escaped] : '?';
            if (plain) r->at += 4;
        }
        if (n + 1 >= room) return wrong(r, "a string that is too long");
        to[n++] = c;
    }
    r->at++;
    to[n] = '\0';
    return TULLE_OK;
}

static tulle_status read_number(struct reader *r)
{
    char *end;
    if (*r->at != '-' && !isdigit((unsigned char)*r->at)) return wrong(r, "a value is expected");
    double x = strtod(r->at, &end);
    if (end == r->at || !isfinite(x) || isalpha((unsigned char)*end)) return wrong(r, "a number is expected");
    r->at = end;
    return add_leaf(r, (struct json_leaf){.kind = JSON_NUMBER, .number = x});
}

static tulle_status read_value(struct reader *r, int depth);

/* Appends to the path; the caller cuts it off again. */
static tulle_status enter(struct reader *r, const char *name)
{
    size_t n = strlen(r->path);
    int m = snprintf(r->path + n, sizeof r->path - n, "%s%s", n ? "." : "", name);
    return m < 0 || (size_t)m >= sizeof r->path - n ? wrong(r, "names that are too long") : TULLE_OK;
}

/* Members of an object or an array, behind its opening bracket. */
static tulle_status read_members(struct reader *r, int object, int depth)
{
    size_t length = strlen(r->path);
    char close = object ? '}' : ']', name[PATH_MOST];
    skip(r);
    for (int n = 0; n > 0 || *r->at != close; n++) {
        skip(r);
        snprintf(name, sizeof name, "%d", n);
        tulle_status status = object ? read_text(r, name, sizeof name) : TULLE_OK;
        skip(r);
        if (status == TULLE_OK && object && *r->at++ != ':') return r->at--, wrong(r, "':' is expected");
        if (status == TULLE_OK) status = enter(r, name);
        if (status == TULLE_OK) status = read_value(r, depth + 1);
        if (status != TULLE_OK) return status;
        r->path[length] = '\0';
        skip(r);
        if (*r->at == close) break;
        if (*r->at != ',') return wrong(r, object ? "',' or '}' is expected" : "',' or ']' is expected");
        r->at++;
    }
    r->at++;
    return TULLE_OK;
}

static tulle_status read_value(struct reader *r, int depth)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        double number;
    } words[] = {{"null", JSON_NULL, 0}, {"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}};
    char text[4096];
    skip(r);
    if (depth > DEPTH_MOST) return wrong(r, "objects are nested too deeply");
    if (*r->at == '{' || *r->at == '[') {
        int object = *r->at++ == '{';
        return read_members(r, object, depth);
    }
    if (*r->at == '"') {
        tulle_status status = read_text(r, text, sizeof text);
        if (status != TULLE_OK) return status;
        const char *kept = keep(r, text, strlen(text));
        return kept ? add_leaf(r, (struct json_leaf){.kind = JSON_TEXT, .text = kept}) : wrong(r, "too long");
    }
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strncmp(r->at, words[w].word, strlen(words[w].word)) == 0) {
            r->at += strlen(words[w].word);
            return add_leaf(r, (struct json_leaf){.kind = words[w].kind, .number = words[w].number});
        }
    return read_number(r);
}

static tulle_status read_line(struct reader *r, const char *text, size_t length)
{
    /* every leaf takes at least two bytes of the line, and its path at most PATH_MOST */
    size_t bytes = length * 2 + 1;
    for (const char *c = text; *c; c++) bytes += *c == ',' || *c == ':' ? PATH_MOST : 0;
    free(r->line.room);
    r->line.room = malloc(bytes + PATH_MOST);
    if (!r->line.room) return no_memory();
    r->room_bytes = bytes + PATH_MOST;
    r->used = 0;
    r->line.count = 0;
    r->start = r->at = text;
    r->path[0] = '\0';
    if (*r->at != '{') return wrong(r, "an object of JSON is expected");
    tulle_status status = read_value(r, 0);
    if (status != TULLE_OK) return status;
    if (*r->at == ',') r->at++; /* the lines of a timeline are one array */
    skip(r);
    return *r->at ? wrong(r, "more than one value in a line") : TULLE_OK;
}

/* The first and the last line of a timeline hold no value by themselves. */
static int is_frame(const char *text)
{
    return strncmp(text, "{\"displayTimeUnit\"", 18) == 0 || strcmp(text, "]}") == 0;
}

tulle_status json_each_line(const char *file, tulle_status (*use)(void *arg, const struct json_line *line), void *arg)
{
    tulle_status status = TULLE_OK;
    struct reader r = {.line = {.file = file}};
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
    if (!f) return tulle_fail(TULLE_ERR_IO, "%s: cannot be opened: %s", file, strerror(errno));
    while (status == TULLE_OK && (length = getline(&text, &room, f)) >= 0) {
        r.line.number++;
        if (length && text[length - 1] == '\n') text[--length] = '\0';
        if (text[strspn(text, " \t\r\n")] == '\0' || is_frame(text)) continue;
        status = read_line(&r, text, (size_t)length);
        if (status == TULLE_OK) status = use(arg, &r.line);
    }
    if (status == TULLE_OK && ferror(f)) status = tulle_fail(TULLE_ERR_IO, "%s: reading failed", file);
    if (f != stdin) fclose(f);
    free(text);
    free(r.line.room);
    free(r.line.leaf);
    return status;
}

const struct json_leaf *json_find(const struct json_line *line, const char *path)
{
    for (int i = 0; i < line->count; i++)
        if (strcmp(line->leaf[i].path, path) == 0) return &line->leaf[i];
    return NULL;
}

tulle_status json_need_number(const struct json_line *line, const char *path, double *number)
{
    const struct json_leaf *leaf = json_find(line, path);
    if (!leaf || leaf->kind != JSON_NUMBER)
        return tulle_fail(TULLE_ERR_FORMAT, "%s:%d: no number '%s'", line->file, line->number, path);
    *number = leaf->number;
    return TULLE_OK;
}

tulle_status json_need_text(const struct json_line *line, const char *path, const char **text)
{
    const struct json_leaf *leaf = json_find(line, path);
    if (!leaf || leaf->kind != JSON_TEXT)
        return tulle_fail(TULLE_ERR_FORMAT, "%s:%d: no text '%s'", line->file, line->number, path);
    *text = leaf->text;
    return TULLE_OK;
}

tulle_status json_need_numbers(const struct json_line *line, const char *path, int n, double *numbers)
{
    size_t length = strlen(path);
    int found = 0;
    for (int i = 0; i < line->count; i++) {
        const struct json_leaf *leaf = &line->leaf[i];
        if (strncmp(leaf->path, path, length) != 0 || leaf->path[length] != '.' || leaf->kind != JSON_NUMBER) continue;
        if (found < n) numbers[found] = leaf->number;
        found++;
    }
    if (found == n) return TULLE_OK;
    return tulle_fail(
        TULLE_ERR_FORMAT, "%s:%d: '%s' has %d numbers instead of %d", line->file, line->number, path, found, n);
}
