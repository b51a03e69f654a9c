/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level sets (Anderson, Saad 1989; Saltz 1990): the rows of a level need rows of levels before it only. Each worker has
 * a part of the rows of every level, of about equal work; rows are put in the order in which they are solved, worker by
 * worker, and so are the unknowns: what is solved together lies together. With barriers that is `levels`; if a block
 * waits for those workers alone whose rows it needs, and not for what earlier waits imply, `p2p` (Park, Smelyanskiy,
 * Sundaram, Dubey, "Sparsifying synchronization for high-performance shared-memory sparse triangular solver", ISC
 * 2014). There a run of levels with little work each stays with one worker.
 */
#ifndef TULLE_TRISOLVE_LEVELED_H
#define TULLE_TRISOLVE_LEVELED_H

#include "algo/trisolve/levels.h"
#include "algo/trisolve/worker_schedule.h"

/* The order, made by PE 0 and read by all. Positions are of all workers' rows: those of worker 0 come first. */
typedef struct tulle__order {
    tulle_comm *comm;
    tulle__place block; /* of PE 0's, with the arrays behind the pointers */
    int workers;
    int64_t n, levels;
    const int32_t *row;   /* [n] by position */
    const int32_t *place; /* [n] position by row */
    const int32_t *start; /* [(levels + 1) * workers] position where the part of a worker in a level begins */
} tulle__order;

/* Collective. meet: for levels with barriers. levels: of PE 0, found there or not; empty afterwards. */
tulle_status tulle__order_init(
    const tulle__triangle *t, int workers, int meet, tulle__levels *levels, tulle__order *order);
/* Local. */
void tulle__order_fini(tulle__order *order);

/* Local: the schedule of one of the workers. */
tulle_status tulle__leveled_schedule(
    const tulle__triangle *t, const tulle__order *order, int meet, int worker, tulle__worker_schedule *schedule);

#endif
