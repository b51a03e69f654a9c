/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix that holds what another one does, in another layout of the same shape. */
#ifndef TULLE_MAT_RESHAPE_H
#define TULLE_MAT_RESHAPE_H

#include "mat/mat.h"

/*
 * B has the rows of A so many times, one copy below the other, and of each copy only some tile columns; the rest of B
 * is empty.
 */
typedef struct tulle__stack {
    int copies;
    const int *copy_of; /* [tile columns of B]: which copy has it */
} tulle__stack;

/*
 * Makes B what A is, in its own layout. Its tiles anew, published: collective, without agreement, and nobody
 * may read a tile of B meanwhile. known: B has held A's structure before, so only values are copied: local, but for
 * gets of tiles of A. stack: NULL, or what B is made of.
 */
tulle_status tulle__mat_refill(tulle_mat *B, const tulle_mat *A, const tulle__stack *stack, int known);

#endif
