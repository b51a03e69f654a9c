/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices and vectors in PETSc's binary files (MatView, MatLoad, VecView, VecLoad with a binary viewer; PETSc's manual
 * page of MatLoad describes them). Everything is in big-endian order; integers have 4 bytes, or 8 in files of a PETSc
 * with 64-bit indices.
 *
 *   sparse   1211216, rows, columns, entries; entries of each row; column of each entry; its value
 *   dense    1211216, rows, columns, -1; values by rows
 *   vector   1211214, rows; values: one column
 *
 * A file does not say how wide its values are: f64, f32 and complex ones are told apart by its length, or by what
 * follows. Complex ones are refused. Of several objects in a file the first is read. Values are written as f64, which
 * PETSc reads unless it was built for others; integers of 4 bytes where they suffice.
 *
 * Nothing here is collective: each PE opens the file, and reads its part.
 */
#ifndef TULLE_IO_PETSC_H
#define TULLE_IO_PETSC_H

#include "base/progress_meter.h"
#include "io/file/entries.h"
#include "io/file/gate.h"

typedef struct tulle__petsc_header {
    int64_t rows, cols;
    int64_t stored; /* values in the file */
    int dense;      /* 1: a dense matrix or a vector */
    int vector;     /* 1: of one column */
    int index;      /* bytes of an integer: 4 or 8 */
    int value;      /* of a value: 4 or 8 */
    int more;       /* 1: another object follows, which is not read */
} tulle__petsc_header;

typedef struct tulle__petsc tulle__petsc;

/* Checks sizes, the entries of each row, and the length of the file; columns and values when they are read. */
tulle_status tulle__petsc_open(const char *path, tulle__petsc **petsc);
void tulle__petsc_close(tulle__petsc *petsc); /* NULL is allowed */
const tulle__petsc_header *tulle__petsc_head(const tulle__petsc *petsc);

/* Starts the progress meter (NULL: none) for a reader of `values` values. */
void tulle__petsc_watch(tulle__petsc *petsc, tulle__progress_meter *meter, int64_t values);

/*
 * Reads part `part` of `nparts` of the entries of a sparse matrix, in the order of the file. Initialises *entries,
 * which the caller finishes even after a failure.
 */
tulle_status tulle__petsc_parse(tulle__petsc *petsc, int part, int nparts, tulle__gate *gate, tulle__entries *entries);

/* Reads of a dense one rows row .. row + rows - 1 of columns col .. col + cols - 1 into `to`, with leading dimension
 * ld. */
tulle_status tulle__petsc_read(tulle__petsc *petsc, tulle__gate *gate, int64_t row, int64_t rows, int64_t col,
    int64_t cols, tulle_order order, int64_t ld, void *to);

/* Writes exactly `count` entries, by rows and by columns within a row. output.h describes close and abort. */
typedef struct tulle__petsc_writer tulle__petsc_writer;
tulle_status tulle__petsc_writer_open(
    const char *path, int64_t rows, int64_t cols, int64_t count, tulle_type type, tulle__petsc_writer **writer);
tulle_status tulle__petsc_put(tulle__petsc_writer *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__petsc_writer_close(tulle__petsc_writer *writer, tulle_status status);
void tulle__petsc_writer_abort(tulle__petsc_writer *writer);

/* Writes a whole dense matrix by rows; one column is a vector. */
tulle_status tulle__petsc_write_dense(const char *path, int64_t rows, int64_t cols, tulle_type type, const void *val);

#endif
