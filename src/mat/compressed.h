/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hypersparse matrices: far fewer entries than rows (Buluc and Gilbert, "On the representation and multiplication of
 * hypersparse matrices", IPDPS 2008). Such a matrix is an inner CSR matrix of the rows and columns that have entries,
 * and two axes with their numbers, so that memory and work are those of entries. A position on an axis ascends with
 * the number, hence rows ascend in both, and tile (i, j) of the inner matrix has the entries of tile (i, j).
 *
 * The handle has the layout of the whole matrix, kind CSR, and no tiles of its own. What takes hypersparse matrices
 * works on the inner one. All else calls tulle__mat_order first, which expands the matrix in place.
 */
#ifndef TULLE_MAT_COMPRESSED_H
#define TULLE_MAT_COMPRESSED_H

#include "mat/axis.h"
#include "mat/mat.h"

/*
 * The rule for assembled matrices: true where CSR cannot have the layout's tiles, or where it takes far more memory
 * than compressed rows and columns.
 */
bool tulle__compressed_pays(const tulle_layout *layout, int64_t entries);
/* False if it pays for no number of entries. */
bool tulle__compressed_may(const tulle_layout *layout);

/* The layout of the inner matrix: the same tiles and owners. An axis may be NULL: all lines. Local. */
tulle_status tulle__compressed_layout(
    const tulle_layout *layout, const tulle__axis *rows, const tulle__axis *cols, tulle_layout **inner);

/*
 * The matrix of these parts, which it owns if they are not NULL; after a failure they are the caller's. NULL: an
 * inner matrix without rows. Collective, without agreement.
 */
tulle_status tulle__compressed_wrap(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle__compressed *parts, tulle_mat **A);

/*
 * The same, into *A. status: of what this PE did to make the parts, since the last agreement. Collective, agreed.
 */
tulle_status tulle__compressed_finish(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    tulle_status status, tulle__compressed *parts, tulle_mat **A);

/* Copies two axes to parts. Local. */
tulle_status tulle__compressed_axes_copy(const tulle__axis *rows, const tulle__axis *cols, tulle__compressed *parts);

/*
 * The axis of the rows, or else columns, that have entries: X's, and Y's unless Y is NULL or dense. X is CSR,
 * compressed or not. Collective, agreed.
 */
tulle_status tulle__compressed_axis(
    const tulle_mat *X, bool rows_of_x, const tulle_mat *Y, bool rows_of_y, tulle__axis *axis);

/*
 * *made: A's entries on axes that have all of its lines, in the tiles of A. `known`: *made has this structure
 * already, and its values alone are renewed. Collective, without agreement.
 */
tulle_status tulle__compressed_map(
    const tulle_mat *A, const tulle__axis *rows, const tulle__axis *cols, bool known, tulle_mat **made);

/* Expands a compressed A, for what reads tiles in any order of rows. Collective, agreed. */
static inline tulle_status tulle__mat_has_tiles(const tulle_mat *A)
{
    return A->compressed ? tulle__mat_order(A) : TULLE_OK;
}

/* A as CSR, in place: TULLE_ERR_LIMIT where row pointers of all rows do not fit. Collective, agreed. */
tulle_status tulle__compressed_expand(tulle_mat *A);

/* The structure that plans compare. */
uint64_t tulle__structure_of(const tulle_mat *A);

/* Sets the parts of A. Local. */
void tulle__compressed_set(tulle_mat *A, tulle__compressed *parts);

#endif
