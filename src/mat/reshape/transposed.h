/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cached transpose. While the matrix keeps its structure, an update copies values only, in one
 * sweep: a sparse transpose stores the source index of each entry (4 bytes an entry in tiles of up
 * to 2^32 entries, else 8).
 */
#ifndef TULLE_MAT_TRANSPOSED_H
#define TULLE_MAT_TRANSPOSED_H

#include "mat/mat.h"

typedef struct tulle__transposed {
    tulle_mat *mat; /* NULL: not made yet */
    uint64_t of;    /* the structure count of the matrix at the time */
    int64_t tiles;
    char **order; /* [tiles]: source index of each entry of the own sparse tiles; NULL: shape-only */
} tulle__transposed;

/*
 * Makes transposed->mat equal to A^T, in the transposed layout; a new matrix if the structure of A
 * has changed. The caller owns it even when a team frees its matrices.
 *
 * Collective, agreed. No PE may still read the previous transpose when the call begins; all PEs may
 * read the new one when it returns. *copied: bytes of values copied on this PE. After a failure the
 * values are undefined.
 */
tulle_status tulle__transposed_renew(const tulle_mat *A, tulle__transposed *transposed, int64_t *copied);
void tulle__transposed_drop(tulle__transposed *transposed);

/* Bytes held on this PE. */
size_t tulle__transposed_bytes(const tulle__transposed *transposed);

#endif
