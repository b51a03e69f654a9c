/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TULLE_HAVE_CJSON
#include <cjson/cJSON.h>

static const cJSON *find(const struct json_line *line, const char *path)
{
    const cJSON *at = line->object;
    char name[128];
    while (at && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof name) return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(name)) : cJSON_GetObjectItemCaseSensitive(at, name);
        path += n + (path[n] == '.');
    }
    return at;
}

int json_has(const struct json_line *line, const char *path)
{
    return find(line, path) != NULL;
}

int json_is_true(const struct json_line *line, const char *path)
{
    return cJSON_IsTrue(find(line, path));
}

static int is_number(const cJSON *item)
{
    return cJSON_IsNumber(item) && isfinite(item->valuedouble);
}

tulle_status json_need_number(const struct json_line *line, const char *path, double *number)
{
    const cJSON *item = find(line, path);
    if (!is_number(item)) return tulle_fail(TULLE_ERR_FORMAT, "%s:%d: no number '%s'", line->file, line->number, path);
    *number = item->valuedouble;
    return TULLE_OK;
}

tulle_status json_need_text(const struct json_line *line, const char *path, const char **text)
{
    const cJSON *item = find(line, path);
    if (!cJSON_IsString(item))
        return tulle_fail(TULLE_ERR_FORMAT, "%s:%d: no text '%s'", line->file, line->number, path);
    *text = item->valuestring;
    return TULLE_OK;
}

tulle_status json_need_numbers(const struct json_line *line, const char *path, int n, double *numbers)
{
    const cJSON *array = find(line, path), *item;
    int found = 0;
    if (cJSON_IsArray(array)) cJSON_ArrayForEach(item, array)
        {
            if (is_number(item) && found < n) numbers[found] = item->valuedouble;
            found += is_number(item);
        }
    if (found == n) return TULLE_OK;
    return tulle_fail(
        TULLE_ERR_FORMAT, "%s:%d: '%s' has %d numbers instead of %d", line->file, line->number, path, found, n);
}

static tulle_status read_line(struct json_line *line, const char *text, cJSON **object)
{
    const char *end = text;
    *object = cJSON_ParseWithOpts(text, &end, 0);
    if (*object) {
        if (*end == ',') end++; /* the lines of a timeline form one array */
        end += strspn(end, " \t\r\n");
        if (!*end && cJSON_IsObject(*object)) {
            line->object = *object;
            return TULLE_OK;
        }
    }
    int column = *object && !cJSON_IsObject(*object) ? 1 : (int)(end - text) + 1;
    return tulle_fail(
        TULLE_ERR_FORMAT, "%s:%d:%d: expected one JSON object and nothing else", line->file, line->number, column);
}

/* The first and the last line of a timeline, and the last of a history, are not objects. */
static int is_frame(const char *text)
{
    return strncmp(text, "{\"displayTimeUnit\"", 18) == 0 || strcmp(text, "]}") == 0;
}

/* The first line of a history is an object except for its steps, the following lines. */
static tulle_status close_head(char **text, size_t *workspace, size_t length)
{
    static const char end[] = "\"steps\":[", rest[] = "]}";
    if (length < sizeof end || strcmp(*text + length - strlen(end), end) != 0) return TULLE_OK;
    if (*workspace < length + sizeof rest) {
        char *more = realloc(*text, length + sizeof rest);
        if (!more) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a line");
        *text = more;
        *workspace = length + sizeof rest;
    }
    memcpy(*text + length, rest, sizeof rest);
    return TULLE_OK;
}

tulle_status json_each_line(const char *file, tulle_status (*use)(void *arg, const struct json_line *line), void *arg)
{
    tulle_status status = TULLE_OK;
    struct json_line line = {.file = file};
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
    if (!f) return tulle_fail(TULLE_ERR_IO, "%s: cannot be opened: %s", file, strerror(errno));
    while (status == TULLE_OK && (length = getline(&text, &capacity, f)) >= 0) {
        cJSON *object = NULL;
        line.number++;
        if (length && text[length - 1] == '\n') text[--length] = '\0';
        if (text[strspn(text, " \t\r\n")] == '\0' || is_frame(text)) continue;
        status = close_head(&text, &capacity, (size_t)length);
        if (status == TULLE_OK) status = read_line(&line, text, &object);
        if (status == TULLE_OK) status = use(arg, &line);
        cJSON_Delete(object);
    }
    if (status == TULLE_OK && ferror(f)) status = tulle_fail(TULLE_ERR_IO, "%s: reading failed", file);
    if (f != stdin) fclose(f);
    free(text);
    return status;
}

#else

static tulle_status lacks(void)
{
    return tulle_fail(TULLE_ERR_UNSUPPORTED, "this build cannot read JSON: it has no libcjson");
}

tulle_status json_each_line(const char *file, tulle_status (*use)(void *arg, const struct json_line *line), void *arg)
{
    (void)file, (void)use, (void)arg;
    return lacks();
}

int json_has(const struct json_line *line, const char *path)
{
    (void)line, (void)path;
    return 0;
}

int json_is_true(const struct json_line *line, const char *path)
{
    (void)line, (void)path;
    return 0;
}

tulle_status json_need_number(const struct json_line *line, const char *path, double *number)
{
    (void)line, (void)path, (void)number;
    return lacks();
}

tulle_status json_need_numbers(const struct json_line *line, const char *path, int n, double *numbers)
{
    (void)line, (void)path, (void)n, (void)numbers;
    return lacks();
}

tulle_status json_need_text(const struct json_line *line, const char *path, const char **text)
{
    (void)line, (void)path, (void)text;
    return lacks();
}

#endif
