/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of matrices in blocks. */
#ifndef TULLE_MAT_BLOCK_SUM_H
#define TULLE_MAT_BLOCK_SUM_H

#include "mat/mat.h"

typedef struct tulle__terms {
    double alpha, beta, gamma;
} tulle__terms;

/*
 * *C = alpha A + beta B + gamma I, with the blocks of A, of B and, for gamma != 0, all on the diagonal.
 * A and B are in blocks, of one type, layout, block cuts and symmetry, which *C has as well; with gamma != 0 those of
 * rows and columns are equal. C is BSR if both are, else VBSR. Collective, agreed.
 */
tulle_status tulle__block_sum(const tulle__terms *t, const tulle_mat *A, const tulle_mat *B, tulle_mat **C);

#endif
