/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remote queue (paper rdma-spmm-spgemm 3.1.2): each PE has a ring that any PE pushes records into and that it alone
 * pops. A push is one fetch-and-add for a slot, the payload, then the slot's sequence word, so no record is seen before
 * it is whole. The ring is bounded: a producer that finds it full serves its own queue meanwhile. A record may carry an
 * acknowledgement: the consumer adds 1 to a word of the producer's once it has done with what the record points to.
 * Termination is counted by the user of the queue; "the queue is empty" means nothing.
 */
#ifndef TULLE_COMM_QUEUE_H
#define TULLE_COMM_QUEUE_H

#include "comm/comm.h"

enum { TULLE__RECORD = 184 }; /* payload bytes; with the sequence word three cache lines */

typedef struct tulle__queue tulle__queue;

/* Serves the caller's own queue: pops what is there. Passed by those who may have to wait. */
typedef tulle_status (*tulle__serve)(void *context);

/* Collective; capacity is a power of two, >= 2. On failure of one PE all fail (after agreement). */
tulle_status tulle__queue_new(tulle_comm *comm, int capacity, tulle__queue **queue);
/* Local; call after all have agreed that nobody pushes any more. */
void tulle__queue_free(tulle__queue *queue);

/* Pushes bytes <= TULLE__RECORD to rank of the queue's comm. While its ring is full, serve(context) runs. */
tulle_status tulle__queue_push(
    tulle__queue *queue, int rank, const void *record, size_t bytes, tulle__serve serve, void *context);

/* Pops a record into TULLE__RECORD bytes; 0 if there is none now. */
int tulle__queue_pop(tulle__queue *queue, void *record);

/* The consumer has done with it: adds 1 to the producer's word. */
void tulle__queue_acknowledge(tulle_comm *comm, const tulle__place *place, uint64_t at);

#endif
