/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of a symmetric matrix in blocks. */
#ifndef TULLE_MAT_MIRROR_H
#define TULLE_MAT_MIRROR_H

#include "mat/mat.h"

/*
 * Blocks above the diagonal, and the upper triangles of diagonal blocks, become the transposes of those
 * below, whatever they were. C is VBSR and square, with equal block cuts of rows and columns. Collective,
 * agreed. Takes a transpose of C and new tiles beside the old ones.
 */
tulle_status tulle__mat_mirror(tulle_mat *C);

#endif
