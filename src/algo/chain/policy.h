/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An algorithm is a policy: which chains a PE executes, in which order. A chain is one C tile and an ordered set of k:
 * C[i,j] += A[i,k] B[k,j] for those k. Chains are produced one at a time; nobody stores the list of all. The product of
 * one A tile and one B tile, or of one of its bands of rows (band.h), is a unit: what is counted, so that the owner of
 * a C tile knows when all has come.
 */
#ifndef TULLE_PRODUCT_POLICY_H
#define TULLE_PRODUCT_POLICY_H

#include <tulle/product.h>

#include "mat/mat.h"

/* The three operands as the policies see them: op(A) M x K tiles, op(B) K x N tiles, C M x N tiles. */
typedef struct tulle__operands {
    const tulle_mat *A, *B;
    tulle_mat *C;
    int M, K, N;
    int offset;   /* iteration offset on */
    double grain; /* expected multiplications above which a product of two tiles is cut into bands; 0: none is */
} tulle__operands;

typedef struct tulle__chain {
    int i, j;
    int nk;
    int *k; /* room for K, the cursor's */
} tulle__chain;

typedef struct tulle__policy tulle__policy;

typedef struct tulle__cursor {
    const tulle__policy *policy;
    const tulle__operands *operands;
    int rank;
    int64_t at; /* position in the policy's own order */
    int inner;
    int *k;
} tulle__cursor;

/* What a PE whose own chains are done may take of others': nothing, any chain, units of which it has a tile at hand. */
typedef enum tulle__reach { TULLE__REACH_NONE, TULLE__REACH_ALL, TULLE__REACH_LOCAL } tulle__reach;

/* How tiles come: each by itself, or step by step for all PEs, by broadcasts or by shifts. */
typedef enum tulle__source { TULLE__SOURCE_FETCH, TULLE__SOURCE_BROADCAST, TULLE__SOURCE_SHIFT } tulle__source;

struct tulle__policy {
    tulle_product_alg alg;
    /* The next chain of the cursor's PE; 0: no more. */
    int (*next)(tulle__cursor *cursor, tulle__chain *chain);
    /* The PE whose chains hold unit (i, k, j). */
    int (*worker)(const tulle__operands *operands, int i, int k, int j);
    tulle__reach reach;
    tulle__source source;
    int by_chain; /* what may be taken are bands of rows of whole chains; 0: products of two tiles, or bands of one */
    tulle_product_alg keeping; /* the algorithm of the same chains where all PEs keep to their own */
};

const tulle__policy *tulle__policy_of(tulle_product_alg alg);

/* The k of the chain that PE `rank` has for C tile (i, j), into k, in its order; returns how many. */
int tulle__policy_chain(const tulle__policy *policy, const tulle__operands *operands, int rank, int i, int j, int *k);

/*
 * Most units in a job. In a step there is one, and where anybody may take one, they are summed in a fixed order only
 * one by one. Where tiles are read in place a chain is one job; else small jobs let fetching overlap multiplying.
 */
enum { TULLE__GROUP_REMOTE = 4 };
int tulle__policy_group(const tulle__policy *policy, int K, int direct, int deterministic);

/*
 * Whether jobs may be longer than that: where all summands of a C tile are its owner's, each job more is one more to
 * merge, which may cost as much as to multiply, or goes through a dense C once more, and no order of sums is promised.
 */
int tulle__policy_may_group(const tulle__policy *policy, int direct, int deterministic);

/*
 * Jobs with remote tiles that are fetched ahead unless the user says how many: two, and four where a dense result stays
 * where it is made. With two, ports idle there while the owner of a heavy tile serves a whole row of PEs (simulated,
 * four take up to 11 % less time, more hardly less); else tiles fetched so early hold up results, or each other.
 */
int tulle__policy_lookahead(const tulle__policy *policy, int sparse);

/* Whether A[i,k] B[k,j] has anything to multiply; all PEs know, from the directories. */
int tulle__operands_meet(const tulle__operands *operands, int i, int k, int j);

/* Whether the layouts are as Cannon's algorithm needs them; the message tells how. The same on all PEs. */
tulle_status tulle__cannon_fits(const tulle__operands *operands, int npes);

#endif
