/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetry of a square matrix, in one sweep over its entries and without memory for any of them. */
#ifndef TULLE_TOOL_SYMMETRY_HASH_H
#define TULLE_TOOL_SYMMETRY_HASH_H

#include <tulle/tulle.h>

/*
 * Collective. Order-independent hashes of (i, j, value) above the diagonal and of (j, i, value) below it, equal iff A
 * is symmetric, up to a 2^-64 collision; 0 and -0 are equal, and nan is equal to nothing.
 */
tulle_status symmetry_of(const tulle_mat *A, int *pattern, int *values);

#endif
