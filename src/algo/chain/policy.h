/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An algorithm is a policy: which chains a PE executes, and in which order. A chain is one C tile
 * and an ordered set of k: C[i,j] += A[i,k] B[k,j] for those k. Chains are generated one at a time;
 * the list of all is never stored.
 *
 * A tile product A[i,k] B[k,j], or one of its bands of rows (band.h), is the unit of counting, by
 * which the owner of a C tile knows when all contributions have arrived.
 */
#ifndef TULLE_CHAIN_POLICY_H
#define TULLE_CHAIN_POLICY_H

#include <tulle/product.h>

#include "mat/mat.h"

/* The three operands as policies see them: op(A) has M x K tiles, op(B) K x N, C M x N. */
typedef struct tulle__operands {
    const tulle_mat *A, *B;
    tulle_mat *C;
    int M, K, N;
    int offset;                       /* the iteration offset is on */
    struct tulle__receiver *receiver; /* of tiles of A and B (mat/fetch.h); NULL: memory of the PE */
    double grain; /* expected multiplications above which a tile product is split into bands; 0: never */
} tulle__operands;

typedef struct tulle__chain {
    int i, j;
    int nk;
    int *k; /* room for K entries, owned by the cursor */
} tulle__chain;

typedef struct tulle__policy tulle__policy;

typedef struct tulle__cursor {
    const tulle__policy *policy;
    const tulle__operands *operands;
    int rank;
    int at, inner; /* position in the policy's own order */
    int *k;
} tulle__cursor;

/* Work that an idle PE may steal: nothing, any work item, or items of which it has a tile at hand. */
typedef enum tulle__reach { TULLE__REACH_NONE, TULLE__REACH_ALL, TULLE__REACH_LOCAL } tulle__reach;

/* Arrival of tiles: one by one, or step by step for all PEs, by broadcasts or by shifts. */
typedef enum tulle__arrival { TULLE__ARRIVAL_SINGLY, TULLE__ARRIVAL_BROADCAST, TULLE__ARRIVAL_SHIFT } tulle__arrival;

struct tulle__policy {
    tulle_product_alg alg;
    /* The next chain of the cursor's PE; 0: no more. */
    int (*next)(tulle__cursor *cursor, tulle__chain *chain);
    /* The PE whose chains contain tile product (i, k, j). */
    int (*worker)(const tulle__operands *operands, int i, int k, int j);
    tulle__reach reach;
    tulle__arrival arrival;
    int by_chain;               /* stealable items are bands of whole chains; 0: tile products or their bands */
    tulle_product_alg fallback; /* the algorithm with the same chains and no stealing */
};

const tulle__policy *tulle__policy_of(tulle_product_alg alg);

/* The k of PE `rank`'s chain for C tile (i, j), into k, in its order; returns their number. */
int tulle__policy_chain(const tulle__policy *policy, const tulle__operands *operands, int rank, int i, int j, int *k);

/*
 * The most tile products of a job. A step has one. Where items may be stolen, a fixed order of sums
 * requires single items. Where tiles are read in place a chain is one job; otherwise small jobs let
 * fetching overlap multiplying.
 */
enum { TULLE__BATCH_REMOTE = 4 };
int tulle__policy_batch(const tulle__policy *policy, int K, int direct, int deterministic);

/*
 * True if jobs may be longer. This pays where all contributions to a C tile are its owner's and the
 * order of sums is not fixed: each further job is one more merge, which may cost as much as the
 * multiplication, or one more sweep over a dense C.
 */
int tulle__policy_may_batch(const tulle__policy *policy, int direct, int deterministic);

/*
 * The default lookahead: the number of jobs whose remote tiles are fetched ahead. Two; four where a
 * dense result stays in place. With two, ports idle there while the owner of a heavy tile serves a
 * whole row of PEs (in simulation four take up to 11 % less time, more than four hardly less). In
 * other cases tiles fetched so early delay results, or each other.
 */
int tulle__policy_lookahead(const tulle__policy *policy, int sparse);

/* True if A[i,k] B[k,j] has anything to multiply. All PEs know, from the directories. */
int tulle__operands_meet(const tulle__operands *operands, int i, int k, int j);

/*
 * True if the layouts suit Cannon's algorithm; the message says what it needs. The same on all PEs.
 */
tulle_status tulle__cannon_fits(const tulle__operands *operands, int npes);

#endif
