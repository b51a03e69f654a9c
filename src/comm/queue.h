/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remote queue (paper rdma-spmm-spgemm, 3.1.2): each PE has a ring into which any PE pushes
 * records; only its owner pops. A push is a fetch-and-add for a slot, the payload, then the slot's
 * sequence word, so a record is visible only when it is complete. The ring is bounded: a producer
 * that finds it full serves its own queue. A record may carry an acknowledgement: the consumer adds
 * 1 to a word of the producer when it has finished with the data. Users count records to detect
 * termination; an empty queue means nothing.
 */
#ifndef TULLE_COMM_QUEUE_H
#define TULLE_COMM_QUEUE_H

#include "comm/comm.h"

enum { TULLE__RECORD = 184 }; /* payload bytes; three cache lines with the sequence word */

typedef struct tulle__queue tulle__queue;

/*
 * Serves the caller's own queue: pops all records present. Callers that may have to wait pass it.
 */
typedef tulle_status (*tulle__serve)(void *context);

/* Collective; capacity is a power of two, >= 2. If one PE fails, all fail (by agreement). */
tulle_status tulle__queue_new(tulle_comm *comm, int capacity, tulle__queue **queue);
/* Local; call when all PEs have agreed that no PE pushes any more. */
void tulle__queue_free(tulle__queue *queue);

/*
 * Pushes bytes <= TULLE__RECORD to `rank` of the queue's comm. While that ring is full,
 * serve(context) runs.
 */
tulle_status tulle__queue_push(
    tulle__queue *queue, int rank, const void *record, size_t bytes, tulle__serve serve, void *context);

/* Pops a record into TULLE__RECORD bytes; 0: there is none. */
int tulle__queue_pop(tulle__queue *queue, void *record);

/* Acknowledges: adds 1 to the producer's word. */
void tulle__queue_acknowledge(tulle_comm *comm, const tulle__place *place, uint64_t at);

#endif
