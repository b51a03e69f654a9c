/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes rows of CSR to a Binsparse file of blocks, or of one half (io/binsparse.h), in order and a
 * batch at a time. All rows are passed twice, to be counted and to be written, because the file's
 * sizes are fixed at its start. The threads of a pool share each batch. Private to one thread.
 */
#ifndef TULLE_IO_BLOCK_WRITER_H
#define TULLE_IO_BLOCK_WRITER_H

#include "mat/blocks/block_format.h"

/* Parses a user's file format; TULLE_ERR_ARG for formats that no file has. */
tulle_status tulle__file_format(const char *path, const char *format, tulle_type type, tulle__block_wanted *wanted);

typedef struct tulle__block_writer tulle__block_writer;

/*
 * Shape of an m x n matrix with nnz entries and the type of the values in the file. The pool is the
 * caller's.
 */
typedef struct tulle__block_shape {
    tulle_gidx m, n;
    int64_t nnz;
    int block, half;
    tulle_type values;
} tulle__block_shape;

tulle_status tulle__block_writer_new(tulle__pool *pool, const tulle__block_shape *shape, tulle__block_writer **writer);
/* Counts the next rows: whole blocks, one tile. */
tulle_status tulle__block_writer_count(tulle__block_writer *writer, const tulle__tile_row *rows);
/* All rows are counted. */
tulle_status tulle__block_writer_open(tulle__block_writer *writer, const char *path);
/* Writes the same rows again, in the same order. */
tulle_status tulle__block_writer_put(tulle__block_writer *writer, const tulle__tile_row *rows);
/* Completes the file under its name and frees the writer in any case. free: NULL is allowed. */
tulle_status tulle__block_writer_close(tulle__block_writer *writer);
void tulle__block_writer_free(tulle__block_writer *writer);

#endif
