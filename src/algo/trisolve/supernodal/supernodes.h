/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supernodes: runs of steps that are solved as dense blocks, as in direct factors (Ashcraft,
 * Grimes, "The influence of relaxed supernode partitions on the multifrontal method", ACM Trans.
 * Math. Softw. 15, 1989). Columns of a run have identical rows, as in L of a factorisation; or rows
 * have identical columns, as in U or L^T. A run may include a few zeros, which lengthens it.
 *
 * Workers get whole subtrees of the elimination tree, which are independent of each other, and the
 * nodes above them cyclically (Geist, Ng, "Task scheduling for parallel sparse Cholesky
 * factorization", Int. J. Parallel Prog. 18, 1989). Whatever the assignment, each worker proceeds
 * in the order of steps.
 */
#ifndef TULLE_TRISOLVE_SUPERNODES_H
#define TULLE_TRISOLVE_SUPERNODES_H

#include "algo/trisolve/triangle.h"

/* Made by PE 0 and read by all. */
typedef struct tulle__supernodes {
    tulle_comm *comm;
    tulle__place block; /* on PE 0, with the arrays of the pointers */
    int by_columns;     /* 1: columns of a run have identical rows */
    int64_t n, count;
    const int32_t *cut;   /* [count + 1] steps */
    const int32_t *of;    /* [n] by step */
    const int32_t *owner; /* [count] workers */
    const int32_t *after; /* [count]: rows that its owner has solved after it */
} tulle__supernodes;

/*
 * relax: the fraction of stored values that may be unnecessary zeros; negative: none, 0: 0.2.
 * Collective.
 */
tulle_status tulle__supernodes_init(const tulle__triangle *t, int workers, double relax, tulle__supernodes *supernodes);
/* Local. */
void tulle__supernodes_fini(tulle__supernodes *supernodes);

/*
 * An estimate of the time of a solve relative to `serial`, and the mean number of steps in a
 * supernode, weighted by entries. If that is below 4, a single sweep over the structure; then *cost
 * is 1e9. Local, on a PE that reads all rows.
 */
tulle_status tulle__supernodes_cost(const tulle__triangle *t, int workers, double relax, double *cost, double *width);

#endif
