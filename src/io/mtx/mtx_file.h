/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the Matrix Market reader. */
#ifndef TULLE_IO_MTX_FILE_H
#define TULLE_IO_MTX_FILE_H

#include "io/mtx/lines.h"
#include "io/mtx/mtx.h"

/* Range of the type that a %%GraphBLAS line names. */
typedef struct tulle__mtx_range {
    int checked, whole; /* whole: integers only */
    double low, high;
    char name[16];
} tulle__mtx_range;

struct tulle__mtx {
    tulle__text text;
    tulle__mtx_header header;
    tulle__mtx_options options;
    tulle__mtx_range range;
    char *path;
};

/* An error in a line and its position: column from 0. */
typedef struct tulle__mtx_fault {
    tulle_status status;
    int64_t column;
    char cause[256];
} tulle__mtx_fault;

/* A single line, parsed by itself. */
typedef enum tulle__mtx_kind { TULLE__MTX_ENTRY, TULLE__MTX_BLANK, TULLE__MTX_COMMENT } tulle__mtx_kind;

typedef struct tulle__mtx_item {
    tulle__mtx_kind kind;
    int64_t row, col; /* zero-based */
    double value;     /* rounded to the type that was asked for; 1 in a pattern file */
} tulle__mtx_item;

/* Parses the line [line, end), end at its newline. Counts into stats. 0: see *fault. */
int tulle__mtx_line(const tulle__mtx *mtx, tulle_type type, const char *line, const char *end, tulle__mtx_item *item,
    tulle__mtx_stats *stats, tulle__mtx_fault *fault);

/* The value at p, a whole word: *stop is behind it. Counts into stats. 0: see *fault. */
int tulle__mtx_value(const tulle__mtx *mtx, tulle_type type, const char *line, const char *p, const char *end,
    double *value, const char **stop, tulle__mtx_stats *stats, tulle__mtx_fault *fault);

/* Records an error at p of the line; returns 0. */
int tulle__mtx_blame(tulle__mtx_fault *fault, tulle_status status, const char *line, const char *p, const char *format,
    ...) __attribute__((format(printf, 5, 6)));

/* Records why the character at p is invalid (a comma, a NUL, ...); returns 0. */
int tulle__mtx_blame_character(
    tulle__mtx_fault *fault, const char *line, const char *p, const char *end, const char *expected);

/* Fails with path:line:column: cause, for an error in the line that begins at `offset`. */
tulle_status tulle__mtx_fail(const tulle__mtx *mtx, int64_t offset, const tulle__mtx_fault *fault);

/*
 * A line ends at its newline or at a carriage return just before it; 0 and a fault if it holds
 * other ones or a NUL.
 */
int tulle__mtx_trim(const char *line, const char **end, tulle__mtx_fault *fault);

const char *tulle__mtx_skip_blanks(const char *p, const char *end);

#endif
