/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse matrix that is read row by row, pass after pass: in memory, whose rows are one piece, or in a file, of which
 * a piece is read while another one is worked on. Each PE has rows of its own.
 */
#ifndef TULLE_SPECTRUM_ROW_PASSES_H
#define TULLE_SPECTRUM_ROW_PASSES_H

#include "mat/mat.h"
#include "mat/rows.h"

/* Rows first .. first + rows - 1, entries ptr[r] - ptr[0] .. of col and val. */
typedef struct tulle__row_piece {
    tulle_gidx first;
    int64_t rows;
    const int64_t *ptr;
    const tulle_lidx *col;
    const void *val;
} tulle__row_piece;

enum { TULLE__ROW_WORKSPACES = 2 };

typedef struct tulle__row_passes {
    tulle_comm *comm;
    tulle_gidx m, n;
    int64_t nnz;
    tulle_type values, type; /* of the matrix, and of vectors */
    tulle_layout *layout;    /* m x 1, the rows of each PE */
    tulle_gidx first;        /* own rows, and their entries */
    int64_t count, entries;
    const tulle_mat *A; /* NULL: a file */
    tulle_mat *copy;
    tulle_rows *rows;
    int64_t *ptr; /* of own rows in a file, from 0 */
    int64_t begin;
    int64_t *cut; /* [pieces + 1], of own rows */
    int pieces;
    void *memory[TULLE__ROW_WORKSPACES];
    tulle__rows_read read[TULLE__ROW_WORKSPACES];
} tulle__row_passes;

/*
 * Collective, agreed; freed by fini after a failure, too. A is used in place if each PE has one tile row in one tile
 * column, else a copy with about equal numbers of entries.
 */
tulle_status tulle__row_passes_of_mat(const tulle_mat *A, tulle__row_passes *p);
tulle_status tulle__row_passes_of_rows(tulle_rows *rows, tulle__row_passes *p);
void tulle__row_passes_fini(tulle__row_passes *p); /* collective */
void tulle__row_passes_drop(tulle__row_passes *p); /* local: what no other PE knows of */

/* body(arg, piece) for own pieces in order, until one fails. Local. */
typedef tulle_status (*tulle__row_body)(void *arg, const tulle__row_piece *piece);
tulle_status tulle__row_passes_run(tulle__row_passes *p, tulle__row_body body, void *arg);

/* Collective, agreed, one pass: the largest finite magnitude of a value. */
tulle_status tulle__largest_value(tulle__row_passes *p, double *most);

/*
 * Collective, agreed, one pass: the mean of each column over all m rows, the root of its squared deviations over m - 1,
 * and the sum of these squares over all columns. mean, deviation: [n].
 */
tulle_status tulle__column_moments(tulle__row_passes *p, double *mean, double *deviation, double *variance);

#endif
