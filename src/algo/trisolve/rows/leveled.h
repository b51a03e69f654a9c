/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level sets (Anderson, Saad 1989; Saltz 1990): the rows of a level depend on rows of earlier
 * levels only. Each worker has a part of every level, of about equal work. Rows and unknowns are
 * permuted to the order of solving, worker by worker, so that what is solved together is
 * contiguous. With barriers this is `levels`. If a block waits only for the workers whose rows it
 * requires, and not for what earlier waits imply, it is `p2p` (Park, Smelyanskiy, Sundaram, Dubey,
 * "Sparsifying synchronization for high-performance shared-memory sparse triangular solver", ISC
 * 2014); there a run of levels with little work stays with one worker. `growlocal` has supersteps
 * in the place of levels, in which rows may depend on earlier ones of the same worker (Boehnlein,
 * Papp, Steiner, Matzoros, Yzelman, "Efficient parallel scheduling for sparse triangular solvers",
 * arXiv:2503.05408, 2025), and p2p's waits in the place of its barriers.
 */
#ifndef TULLE_TRISOLVE_LEVELED_H
#define TULLE_TRISOLVE_LEVELED_H

#include "algo/trisolve/worker_schedule.h"

/*
 * The permutation, made by PE 0 and read by all. Positions count all workers' rows, those of worker
 * 0 first.
 */
typedef struct tulle__order {
    tulle_comm *comm;
    tulle__place block; /* on PE 0, with the arrays of the pointers */
    int workers;
    int64_t n, levels;    /* or supersteps */
    const int32_t *row;   /* [n] by position */
    const int32_t *place; /* [n]: position of a row */
    const int32_t *start; /* [(levels + 1) * workers]: first position of a worker's part of a level */
} tulle__order;

typedef enum tulle__order_kind { TULLE__ORDER_BARRIERS, TULLE__ORDER_P2P, TULLE__ORDER_GROWLOCAL } tulle__order_kind;

/* Collective. */
tulle_status tulle__order_init(const tulle__triangle *t, int workers, tulle__order_kind kind, tulle__order *order);
/* Local. */
void tulle__order_fini(tulle__order *order);

/*
 * GrowLocal's supersteps: all rows, worker by worker in each, sorted[n] and the numbers of them, count[supersteps *
 * workers], both the caller's. Local, on a PE that reads all rows.
 */
tulle_status tulle__growlocal_sort(
    const tulle__triangle *t, int workers, int32_t **sorted, int32_t **count, int64_t *supersteps);

/* The schedule of one worker. Local. */
tulle_status tulle__leveled_schedule(
    const tulle__triangle *t, const tulle__order *order, int barriers, int worker, tulle__worker_schedule *schedule);

#endif
