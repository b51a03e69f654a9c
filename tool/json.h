/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what the command writes: JSON objects, one a line. */
#ifndef TULLE_TOOL_JSON_H
#define TULLE_TOOL_JSON_H

#include <tulle/tulle.h>

/* One line, and where it stands. */
struct json_line {
    const char *file;
    int number;
    const struct cJSON *object;
};

/* Calls use(arg, line) for each object of the file, "-" is standard input; a failure of use ends it. Blank lines are
 * passed over; anything else is TULLE_ERR_FORMAT with file, line and column. */
tulle_status json_each_line(const char *file, tulle_status (*use)(void *arg, const struct json_line *line), void *arg);

/* Paths are names and numbers of elements joined by dots: "phases.compute.max", "grid.0". Whether there is a value. */
int json_has(const struct json_line *line, const char *path);
/* Whether the value is `true`. */
int json_is_true(const struct json_line *line, const char *path);
/* A number or a text that must be there; TULLE_ERR_FORMAT with file and line if not. */
tulle_status json_need_number(const struct json_line *line, const char *path, double *number);
/* The n numbers of an array. */
tulle_status json_need_numbers(const struct json_line *line, const char *path, int n, double *numbers);
tulle_status json_need_text(const struct json_line *line, const char *path, const char **text);

#endif
