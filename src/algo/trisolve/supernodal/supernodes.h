/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supernodes: runs of steps that are solved with as dense blocks, as direct factors have them (Ashcraft, Grimes, "The
 * influence of relaxed supernode partitions on the multifrontal method", ACM Trans. Math. Softw. 15, 1989). Columns of
 * a run have the same rows, as in L of a factorisation; or rows have the same columns, as in U or L^T. A run may take
 * in a few zeros, so that it becomes longer.
 *
 * Workers get whole subtrees of the elimination tree, which need nothing of each other, and what is above them in turn
 * (Geist, Ng, "Task scheduling for parallel sparse Cholesky factorization", Int. J. Parallel Prog. 18, 1989). Whatever
 * is dealt to whom, each goes on in the order of steps.
 */
#ifndef TULLE_TRISOLVE_SUPERNODES_H
#define TULLE_TRISOLVE_SUPERNODES_H

#include "algo/trisolve/triangle.h"

/* Made by PE 0 and read by all. */
typedef struct tulle__supernodes {
    tulle_comm *comm;
    tulle__place block; /* of PE 0's, with the arrays behind the pointers */
    int by_columns;     /* 1: columns of a run have the same rows */
    int64_t n, count;
    const int32_t *cut;   /* [count + 1] steps */
    const int32_t *of;    /* [n] by step */
    const int32_t *owner; /* [count] workers */
    const int32_t *after; /* [count] rows that its owner has solved after it */
} tulle__supernodes;

/* Collective. relax: part of the stored values that may be zeros without need; negative: none, 0: 0.2. */
tulle_status tulle__supernodes_init(const tulle__triangle *t, int workers, double relax, tulle__supernodes *supernodes);
/* Local. */
void tulle__supernodes_fini(tulle__supernodes *supernodes);

/*
 * Local, on a PE that reads all rows: the time of a solve over that of `serial`, about, and the mean number of steps in
 * a supernode, weighted by entries. One pass over the structure where that is under 4: then *cost is 1e9.
 */
tulle_status tulle__supernodes_cost(const tulle__triangle *t, int workers, double relax, double *cost, double *width);

#endif
