/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CSR, in order and some at a time, into a Binsparse file of blocks, or of one half (io/binsparse.h). Each row
 * comes twice, as the file's sizes are known at its start: all are counted, then all are written. The threads of a pool
 * share the rows that come at a time. One thread's object.
 */
#ifndef TULLE_IO_BLOCK_WRITER_H
#define TULLE_IO_BLOCK_WRITER_H

#include "mat/blocks/block_format.h"

/* What a user wants the file to be; TULLE_ERR_ARG for what no file is. */
tulle_status tulle__file_format(const char *path, const char *format, tulle_type type, tulle__block_wanted *wanted);

typedef struct tulle__block_writer tulle__block_writer;

/* Of an m x n matrix of nnz entries; values are written as that type. The pool is the caller's. */
typedef struct tulle__block_shape {
    tulle_gidx m, n;
    int64_t nnz;
    int block, half;
    tulle_type values;
} tulle__block_shape;

tulle_status tulle__block_writer_new(tulle__pool *pool, const tulle__block_shape *shape, tulle__block_writer **writer);
/* The next rows: whole blocks, one tile. */
tulle_status tulle__block_writer_count(tulle__block_writer *writer, const tulle__tile_row *rows);
/* All are counted. */
tulle_status tulle__block_writer_open(tulle__block_writer *writer, const char *path);
/* Again the first rows, and then the next. */
tulle_status tulle__block_writer_put(tulle__block_writer *writer, const tulle__tile_row *rows);
/* Gives the complete file its name, and frees the writer in any case; free: NULL is allowed. */
tulle_status tulle__block_writer_close(tulle__block_writer *writer);
void tulle__block_writer_free(tulle__block_writer *writer);

#endif
