/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of matrices in blocks. */
#ifndef TULLE_ALGO_MATFUN_WHOLE_BLOCK_SUM_H
#define TULLE_ALGO_MATFUN_WHOLE_BLOCK_SUM_H

#include "mat/mat.h"

typedef struct tulle__terms {
    double alpha, beta, gamma;
} tulle__terms;

/*
 * *C = alpha A + beta B + gamma I, with the blocks of A, of B and all on the diagonal. A and B are VBSR of
 * one type and layout, with equal block cuts of rows and columns. Collective, agreed.
 */
tulle_status tulle__block_sum(const tulle__terms *t, const tulle_mat *A, const tulle_mat *B, tulle_mat **C);

#endif
