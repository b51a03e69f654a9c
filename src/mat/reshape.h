/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix that holds what another one does, in another layout of the same shape. */
#ifndef TULLE_MAT_RESHAPE_H
#define TULLE_MAT_RESHAPE_H

#include "mat/mat.h"

/*
 * Makes the sparse B what A is, in its own layout. Its tiles anew, published: collective, without agreement, and nobody
 * may read a tile of B meanwhile. known: B has held A's structure before, so only values are copied: local.
 */
tulle_status tulle__mat_refill(tulle_mat *B, tulle_mat *A, int known);

#endif
