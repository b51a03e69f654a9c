/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what the command writes: JSON objects, one a line. */
#ifndef TULLE_TOOL_JSON_H
#define TULLE_TOOL_JSON_H

#include <tulle/tulle.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT };

/* A leaf by its path: "phases.compute.max", "grid.0". */
struct json_leaf {
    const char *path, *text; /* text: of a string */
    double number;           /* of a number, or 0 or 1 */
    enum json_kind kind;
};

/* One line, and where it stands. */
struct json_line {
    const char *file;
    int number;
    int count;
    struct json_leaf *leaf; /* in the order of the line */
    char *room;             /* paths and texts */
};

/* Calls use(arg, line) for each object of the file, "-" is standard input; a failure of use ends it. Blank lines are
 * passed over; anything else is TULLE_ERR_FORMAT with file, line and column. */
tulle_status json_each_line(const char *file, tulle_status (*use)(void *arg, const struct json_line *line), void *arg);

/* The leaf at a path, NULL if there is none. */
const struct json_leaf *json_find(const struct json_line *line, const char *path);
/* A number or a text that must be there; TULLE_ERR_FORMAT with file and line if not. */
tulle_status json_need_number(const struct json_line *line, const char *path, double *number);
/* The n numbers of an array. */
tulle_status json_need_numbers(const struct json_line *line, const char *path, int n, double *numbers);
tulle_status json_need_text(const struct json_line *line, const char *path, const char **text);

#endif
