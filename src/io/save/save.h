/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by saving a matrix whole and in pieces. */
#ifndef TULLE_IO_SAVE_H
#define TULLE_IO_SAVE_H

#include <tulle/mat.h>

#include "io/mtx/mtx_write.h"

/*
 * A consumer of a matrix's entries, row by row and within a row tile by tile: columns are base +
 * col[e].
 */
typedef struct tulle__row_sink {
    tulle_status (*take)(void *context, int64_t row, int64_t n, int64_t base, const int32_t *col, const void *val);
    void *context;
} tulle__row_sink;

/*
 * Called by one PE while no PE changes A. save_entries passes them one by one to a writer of a
 * file.
 */
tulle_status tulle__save_rows(const tulle_mat *A, const tulle__row_sink *sink);
typedef tulle_status (*tulle__entry_put)(void *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__put_binsparse(void *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__put_petsc(void *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__put_npz(void *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__save_mtx_rows(const tulle_mat *A, const tulle__mtx_shape *shape, tulle__mtx_writer *writer);

/* tulle_mat_save to a Matrix Market file with this symmetry, which A must have. Collective. */
tulle_status tulle__save_symmetric(const tulle_mat *A, const char *path, tulle__mtx_symmetry symmetry);

/* tulle_mat_save_as of a half; format NULL: in the symmetry that it has. Collective. */
tulle_status tulle__save_half(const tulle_mat *H, const char *path, const char *format);

/*
 * The threads that PE 0 may use while the others wait: those of all PEs, if there are enough cores.
 */
int tulle__save_threads(const tulle_comm *comm);

/* The argument of tulle__mtx_writer_open, by the file's name. */
int tulle__save_packers(const tulle_comm *comm, const char *path);

#endif
