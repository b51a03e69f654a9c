/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An algorithm is a policy: which chains a PE executes, in which order. A chain is one C tile and an ordered set of k:
 * C[i,j] += A[i,k] B[k,j] for those k. Chains are produced one at a time; nobody stores the list of all.
 */
#ifndef TULLE_PRODUCT_POLICY_H
#define TULLE_PRODUCT_POLICY_H

#include <tulle/product.h>

#include "mat/mat.h"

/* The three operands as the policies see them: op(A) M x K tiles, op(B) K x N tiles, C M x N tiles. */
typedef struct tulle__operands {
    tulle_mat *A, *B, *C;
    int M, K, N;
    int offset; /* iteration offset on */
} tulle__operands;

typedef struct tulle__chain {
    int i, j;
    int nk;
    int *k; /* room for K, the cursor's */
} tulle__chain;

typedef struct tulle__cursor {
    const tulle__operands *operands;
    int rank;
    int64_t at; /* position in the policy's own order */
    int inner;
    int *k;
} tulle__cursor;

typedef struct tulle__policy {
    tulle_alg alg;
    /* The next chain of the cursor's PE; 0: no more. */
    int (*next)(tulle__cursor *cursor, tulle__chain *chain);
    /* How many k of C tile (i, j) PE `rank` multiplies: what its owner must expect from it. */
    int (*share)(const tulle__operands *operands, int rank, int i, int j);
} tulle__policy;

const tulle__policy *tulle__policy_of(tulle_alg alg);

/* Whether A[i,k] B[k,j] has anything to multiply; all PEs know, from the directories. */
int tulle__operands_meet(const tulle__operands *operands, int i, int k, int j);

#endif
