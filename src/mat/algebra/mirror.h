/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of a symmetric matrix in blocks. */
#ifndef TULLE_MAT_MIRROR_H
#define TULLE_MAT_MIRROR_H

#include "mat/mat.h"

/*
 * Blocks that a half does not store, and the upper triangles of diagonal blocks, become the transposes of
 * those on the other side, whatever they were; shift: of tulle__half_stores. C is VBSR and square, with equal block
 * cuts of rows and columns. Collective, agreed. Takes a transpose of C and new tiles beside the old ones.
 */
tulle_status tulle__mat_mirror(tulle_mat *C, int shift);

#endif
