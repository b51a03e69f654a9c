/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command's output: JSON objects, one a line. */
#ifndef TULLE_TOOL_JSON_H
#define TULLE_TOOL_JSON_H

#include <tulle/tulle.h>

/* A line and its position. */
struct json_line {
    const char *file;
    int number;
    const struct cJSON *object;
};

/*
 * Calls use(arg, line) for each object of the file, until use fails; "-" is standard input. Blank
 * lines are skipped; anything else is TULLE_ERR_FORMAT with file, line and column.
 */
tulle_status json_each_line(const char *file, tulle_status (*use)(void *arg, const struct json_line *line), void *arg);

/*
 * True if there is a value. Paths are names and indices joined by dots: "phases.compute.max",
 * "grid.0".
 */
int json_has(const struct json_line *line, const char *path);
/* True if the value is `true`. */
int json_is_true(const struct json_line *line, const char *path);
/* A number or text that is required; TULLE_ERR_FORMAT with file and line if it is missing. */
tulle_status json_need_number(const struct json_line *line, const char *path, double *number);
/* The n numbers of an array. */
tulle_status json_need_numbers(const struct json_line *line, const char *path, int n, double *numbers);
tulle_status json_need_text(const struct json_line *line, const char *path, const char **text);

#endif
