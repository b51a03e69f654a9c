/* SPDX-License-Identifier: Apache-2.0 */
/* The rows, or columns, of dense matrices that are on an axis (mat/axis.h). */
#ifndef TULLE_MAT_RESHAPE_DENSE_LINES_H
#define TULLE_MAT_RESHAPE_DENSE_LINES_H

#include "mat/compressed.h"

/*
 * Dense matrices on axes, either of which may be NULL, all lines. new: the lines' matrix, undefined, in the tiles of X;
 * collective, without agreement. gather: it gets X's elements. scatter: X = beta X, where beta = 0 does not read X, but
 * the part's elements in their places. Local.
 */
tulle_status tulle__dense_lines_new(
    const tulle_mat *X, const tulle__axis *rows, const tulle__axis *cols, tulle_mat **part);
tulle_status tulle__dense_lines_gather(
    const tulle_mat *X, const tulle__axis *rows, const tulle__axis *cols, tulle_mat *part);
tulle_status tulle__dense_lines_scatter(
    const tulle_mat *part, const tulle__axis *rows, const tulle__axis *cols, double beta, tulle_mat *X);

#endif
