/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Matrix Market files. The format functions produce text; many threads or PEs may call them
 * at once, each with a text of its own. One writer then appends the texts in order. Values have the
 * fewest digits that read back as the same bits. The file appears under its name when complete (see
 * output.h).
 */
#ifndef TULLE_IO_MTX_WRITE_H
#define TULLE_IO_MTX_WRITE_H

#include "io/mtx/mtx.h"

typedef struct tulle__mtx_shape {
    int64_t rows, cols;
    int64_t stored; /* < 0: known when the file is closed; it must then be a regular file */
    int array;
    tulle__mtx_field field;
    tulle__mtx_symmetry symmetry; /* not general: only entries on and below the diagonal (skew: below) are written */
    tulle_type type;              /* of the values given */
    const char *comment;          /* lines, NULL: none */
} tulle__mtx_shape;

/* A growing text; zero it first. */
typedef struct tulle__mtx_text {
    char *text;
    size_t bytes, capacity;
    int64_t entries; /* in it */
} tulle__mtx_text;

void tulle__mtx_text_fini(tulle__mtx_text *text);

/*
 * Appends n entries of one row, column = base + col[e], and leaves the text as it was if it fails. Indices are
 * zero-based here. val may be NULL for a pattern.
 */
tulle_status tulle__mtx_format_row(const tulle__mtx_shape *shape, int64_t row, int64_t n, int64_t base,
    const int32_t *col, const void *val, tulle__mtx_text *text);

/* The same of n numbers of an array, one a line. */
tulle_status tulle__mtx_format_array(const tulle__mtx_shape *shape, int64_t n, const void *val, tulle__mtx_text *text);

typedef struct tulle__mtx_writer tulle__mtx_writer;

/* Writes the header. packers: see tulle__output_open. */
tulle_status tulle__mtx_writer_open(
    const char *path, const tulle__mtx_shape *shape, int packers, tulle__mtx_writer **writer);
tulle_status tulle__mtx_writer_append(tulle__mtx_writer *writer, const tulle__mtx_text *text);

/*
 * TULLE_ERR_STATE, and no file, if the entries appended are not as many as the header states. Frees
 * the writer.
 */
tulle_status tulle__mtx_writer_close(tulle__mtx_writer *writer, tulle_status status);
void tulle__mtx_writer_abort(tulle__mtx_writer *writer);

#endif
