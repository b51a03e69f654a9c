/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row once a node: of the PEs that read each other's memory and need rows of the same tile of B from another node,
 * one fetches all that any of them needs, into its data segment, and the others read it there. Who does it goes around
 * by tile. When the tile has come a word says so, which the others wait for, serving their own shelves meanwhile; what
 * lies on a shelf lies there until all have met at the end of the execution. Shelves take at most a part of the
 * segment.
 */
#ifndef TULLE_PRODUCT_SHELF_H
#define TULLE_PRODUCT_SHELF_H

#include "algo/chain/policy.h"
#include "comm/queue.h"
#include "mat/subset.h"

typedef struct tulle__shelves tulle__shelves;

/* Local. This PE needs of B[k,j] the rows that A has entries for. */
tulle_status tulle__shelves_new(tulle_comm *comm, const tulle__operands *operands, tulle__shelves **shelves);
tulle_status tulle__shelves_ask(tulle__shelves *shelves, int k, int j, const tulle__csr *A);
void tulle__shelves_free(tulle__shelves *shelves);
size_t tulle__shelves_held(const tulle__shelves *shelves);

/* Collective: who fetches what. The caller agrees next, and then settles. */
tulle_status tulle__shelves_exchange(tulle__shelves *shelves, const tulle_mat *B);
void tulle__shelves_settle(tulle__shelves *shelves);

/* Whether B[k,j] comes by a shelf; bytes that come to those of this PE in an execution. */
int tulle__shelves_have(const tulle__shelves *shelves, int k, int j);
size_t tulle__shelves_bytes(const tulle__shelves *shelves);

/* An execution begins. */
void tulle__shelves_begin(tulle__shelves *shelves);
/* Has up to `most` tiles under way to shelves of this PE, and waits for one; *done: all have come. */
tulle_status tulle__shelves_serve(tulle__shelves *shelves, const tulle_mat *B, int most, int *done);
/* Waits for what is under way, also after a failure. */
void tulle__shelves_quiet(tulle__shelves *shelves);

/* The tile on its shelf as a fetch with nothing to wait for; it may be read when await has returned. */
tulle__fetch tulle__shelves_fetch(const tulle__shelves *shelves, const tulle_mat *B, int k, int j);
tulle_status tulle__shelves_await(
    tulle__shelves *shelves, const tulle_mat *B, int k, int j, tulle__serve serve, void *context);

#endif
