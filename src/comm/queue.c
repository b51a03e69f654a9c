/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/queue.h"

#include <string.h>

#include "base/error.h"

struct slot {
    uint64_t sequence; /* 1 + index of the record in this slot */
    char record[TULLE__RECORD];
};
_Static_assert(sizeof(struct slot) == 192, "a slot is three cache lines");

struct ring {
    uint64_t tail; /* next free index: any PE's fetch-and-add */
    uint64_t pad1[7];
    uint64_t head; /* next index to pop: written by the consumer, read by producers that find the ring full */
    uint64_t pad2[7];
    /* the slots follow */
};

struct tulle__queue {
    tulle_comm *comm;
    uint64_t capacity;
    tulle__place own;
    tulle__place *place;  /* [size] */
    uint64_t *known_head; /* [size] as last read */
    uint64_t head;
    int taken;
};

static struct ring *ring_own(tulle__queue *queue)
{
    return tulle__mapped(queue->comm, &queue->own);
}

static struct slot *slot_own(tulle__queue *queue, uint64_t index)
{
    return (struct slot *)(void *)((char *)ring_own(queue) + sizeof(struct ring)) + (index & (queue->capacity - 1));
}

void tulle__queue_free(tulle__queue *queue)
{
    if (!queue) return;
    if (queue->taken) tulle__heap_give(queue->comm->pe->control, &queue->own);
    tulle__free(queue->place);
    tulle__free(queue->known_head);
    tulle__free(queue);
}

static tulle_status make(tulle_comm *comm, int capacity, tulle__queue **queue)
{
    tulle_status status;
    tulle__queue *q = NULL;
    size_t bytes = sizeof(struct ring) + (size_t)capacity * sizeof(struct slot);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *q, "remote queue", &q));
    q->comm = comm;
    q->capacity = (uint64_t)capacity;
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *q->place, "remote queue", &q->place));
    TULLE_TRY(tulle__alloc_zero((size_t)comm->size, sizeof *q->known_head, "remote queue", &q->known_head));
    TULLE_TRY(tulle__heap_take(comm->pe->control, bytes, "remote queue", &q->own));
    q->taken = 1;
    memset(ring_own(q), 0, bytes);
    TULLE_TRY(tulle_comm_allgather(comm, &q->own, sizeof q->own, q->place));
    *queue = q;
    return TULLE_OK;
out:
    tulle__queue_free(q);
    return status;
}

tulle_status tulle__queue_new(tulle_comm *comm, int capacity, tulle__queue **queue)
{
    tulle__queue *made = NULL;
    tulle_status status = tulle_comm_agree(comm, make(comm, capacity, &made));
    if (status == TULLE_OK)
        *queue = made;
    else
        tulle__queue_free(made);
    return status;
}

tulle_status tulle__queue_push(
    tulle__queue *queue, int rank, const void *record, size_t bytes, tulle__serve serve, void *context)
{
    tulle_comm *comm = queue->comm;
    const tulle__place *place = &queue->place[rank];
    uint64_t index = tulle__fetch_add(comm, place, offsetof(struct ring, tail), 1);
    for (int turns = 0; index - queue->known_head[rank] >= queue->capacity;) {
        queue->known_head[rank] = tulle__load(comm, place, offsetof(struct ring, head));
        if (index - queue->known_head[rank] < queue->capacity) break;
        tulle_status status = tulle__comm_failed(comm);
        if (status == TULLE_OK) status = serve(context);
        if (status != TULLE_OK) return status;
        tulle__poll(comm, &turns);
    }
    uint64_t at = sizeof(struct ring) + (index & (queue->capacity - 1)) * sizeof(struct slot);
    return tulle__put_signal(comm, place, at + offsetof(struct slot, record), record, bytes, place,
        at + offsetof(struct slot, sequence), index + 1);
}

int tulle__queue_pop(tulle__queue *queue, void *record)
{
    struct slot *slot = slot_own(queue, queue->head);
    if (tulle__word_read(&slot->sequence) != queue->head + 1) return 0;
    memcpy(record, slot->record, TULLE__RECORD);
    tulle__word_write(&ring_own(queue)->head, ++queue->head);
    return 1;
}

void tulle__queue_acknowledge(tulle_comm *comm, const tulle__place *place, uint64_t at)
{
    tulle__fetch_add(comm, place, at, 1);
}
