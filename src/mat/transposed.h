/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transpose of a matrix, kept and brought up to date. As long as the matrix has the same structure only values are
 * taken over, in one pass: of each entry of a sparse transpose it is remembered where it lies in the matrix (4 bytes an
 * entry in tiles of up to 2^32, else 8).
 */
#ifndef TULLE_MAT_TURN_H
#define TULLE_MAT_TURN_H

#include "mat/mat.h"

typedef struct tulle__transposed {
    tulle_mat *mat; /* NULL: not made yet */
    uint64_t of;    /* the structure of the matrix that it has */
    int64_t tiles;
    char **order; /* [tiles]: of own sparse ones, which entry of the matrix's tile comes next; NULL: no values */
} tulle__transposed;

/*
 * Makes turned->mat what A^T is, in the transposed layout; new, if A has another structure than before. It belongs to
 * the caller also where a team frees its matrices. Collective, agreed; before it nobody may still read the old one,
 * behind it all may read it. *copied: bytes of values taken over on this PE. After a failure the values are not known.
 */
tulle_status tulle__transposed_renew(const tulle_mat *A, tulle__transposed *turned, int64_t *copied);
void tulle__transposed_drop(tulle__transposed *turned);

/* What it holds on this PE. */
size_t tulle__transposed_bytes(const tulle__transposed *turned);

#endif
