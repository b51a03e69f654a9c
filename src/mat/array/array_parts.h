/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the ways into matrices and out of them. */
#ifndef TULLE_MAT_ARRAY_PARTS_H
#define TULLE_MAT_ARRAY_PARTS_H

#include <tulle/array.h>

#include "base/options.h"
#include "mat/mat.h"

/* Local: whether the description of an input is complete and consistent; its indices are not read. */
tulle_status tulle__array_check(const tulle_array *array);

/* Local: entries of a sparse description, also one from base 1 whose nnz is its last pointer. */
int64_t tulle__array_entries_here(const tulle_array *array);

/*
 * Collective: whether results go to the caller's arrays. TULLE_ERR_ARG if only some PEs that have
 * elements of it pass one.
 */
tulle_status tulle__array_given(tulle_comm *comm, const tulle_array *array, int *given);

/* This PE's part of a dense array as a tile. */
tulle_tile tulle__array_tile(const tulle_array *array);

/* Copies a dense tile into another of the same shape and type, in any orders. */
void tulle__array_copy_dense(const tulle_tile *from, const tulle_tile *to);

/*
 * Collective: as tulle_mat_to_array to each PE's rows, and frees A in any case. On one PE the
 * arrays of a CSR matrix, but 32-bit pointers, are A's own, which lives on in out->held.
 */
tulle_status tulle__array_take(tulle_mat *A, int root, tulle_array *out);

#endif
