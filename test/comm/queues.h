/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of records and arenas of panels, between all PEs of a comm. For conformance.c alone. */
#ifndef TULLE_TEST_QUEUES_H
#define TULLE_TEST_QUEUES_H

#include <sched.h>
#include <string.h>

#include "base/random.h"
#include "body.h"
#include "comm/arena.h"
#include "comm/comm.h"
#include "comm/queue.h"
#include "tap.h"

struct sink {
    tulle__queue *queue;
    tulle_comm *comm;
    int64_t popped, sum;
};

struct note {
    int64_t value;
    tulle__place ack;
};

static tulle_status serve_sink(void *context)
{
    struct sink *sink = context;
    union {
        struct note note;
        char bytes[TULLE__RECORD];
    } record;
    while (tulle__queue_pop(sink->queue, &record)) {
        sink->popped++;
        sink->sum += record.note.value;
        tulle__queue_acknowledge(sink->comm, &record.note.ack, 0);
    }
    return TULLE_OK;
}

/* Everyone floods everyone through a ring of four; ends by counting; acknowledgements add up. */
static tulle_status test_queue(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { TIMES = 60 };
    tulle_status status;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm), taken = 0;
    tulle__place ack;
    struct sink sink = {.comm = comm};
    TULLE_TRY(tulle__heap_take(comm->pe->control, 64, "test", &ack));
    taken = 1;
    uint64_t *word = tulle__mapped(comm, &ack);
    *word = 0;
    TULLE_TRY(tulle__queue_new(comm, 4, &sink.queue));
    for (int i = 0; i < TIMES; i++)
        for (int r = 0; r < size; r++) {
            struct note note = {rank * 1000 + i, ack};
            TULLE_TRY(tulle__queue_push(sink.queue, r, &note, sizeof note, serve_sink, &sink));
        }
    for (int turns = 0; sink.popped < (int64_t)TIMES * size;) {
        TULLE_TRY(serve_sink(&sink));
        tulle__pause(comm, &turns);
    }
    EXPECT(sink.sum == TIMES * (int64_t)size * (size - 1) / 2 * 1000 + (int64_t)size * TIMES * (TIMES - 1) / 2);
    TULLE_TRY(tulle__wait_word(comm, word, (uint64_t)TIMES * (uint64_t)size));
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    tulle__queue_free(sink.queue);
    if (taken) tulle__heap_give(comm->pe->control, &ack);
    return status;
}

struct partial {
    tulle__place place, ack;
    uint64_t at, ack_at;
    int64_t bytes, value, from;
};

struct owner {
    struct sink sink;
    struct partial kept[64]; /* held back, to be drained in reverse order */
    int nkept, hold;
    int64_t drained;
    char *buffer;
};

static tulle_status drain_kept(struct owner *owner)
{
    tulle_status status = TULLE_OK;
    tulle_comm *comm = owner->sink.comm;
    while (owner->nkept > 0) {
        struct partial *p = &owner->kept[--owner->nkept];
        tulle__get(comm, 2, &p->place, p->at, owner->buffer, (size_t)p->bytes);
        TULLE_TRY(tulle__wait(comm, 2));
        for (int64_t i = 0; i < p->bytes; i++)
            if (owner->buffer[i] != (char)(p->value + i))
                return tulle__fail(TULLE_ERR_CHECK, "a panel of PE %d came damaged", (int)p->from);
        tulle__queue_acknowledge(comm, &p->ack, p->ack_at);
        owner->drained++;
    }
out:
    return status;
}

static tulle_status serve_owner(void *context)
{
    struct owner *owner = context;
    union {
        struct partial partial;
        char bytes[TULLE__RECORD];
    } record;
    while (owner->nkept < 64 && tulle__queue_pop(owner->sink.queue, &record))
        owner->kept[owner->nkept++] = record.partial;
    /* holds back as long as anybody can still send without our draining: then the last come is drained first */
    if (owner->nkept >= owner->hold) return drain_kept(owner);
    return TULLE_OK;
}

/*
 * An arena of two panels, of which every third grows; PE 0 owns everything and drains in reverse
 * order of arrival. What they have grown to is given back.
 */
static tulle_status test_arena(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { TIMES = 30, BYTES = 5000, MORE = 20000 };
    tulle_status status;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm);
    struct owner owner = {.sink = {.comm = comm}, .hold = size};
    tulle__arena *arena = NULL;
    TULLE_TRY(tulle__alloc(MORE, 1, "test", &owner.buffer));
    TULLE_TRY(tulle__queue_new(comm, 8, &owner.sink.queue));
    TULLE_TRY(tulle__arena_new(comm, 2 * 8192, 2, &arena));
    EXPECT(tulle__arena_panel_bytes(arena) == 8192);
    int64_t blocks = tulle__heap_blocks(comm->pe->data);
    for (int i = 0; i < TIMES; i++) {
        tulle__panel panel;
        int bytes = i % 3 == 2 ? MORE : BYTES;
        TULLE_TRY(tulle__arena_take(arena, serve_owner, &owner, &panel));
        if (bytes == MORE) TULLE_TRY(tulle__arena_grow(arena, MORE, MORE, &panel));
        for (int b = 0; b < bytes; b++) ((char *)panel.local)[b] = (char)(rank * 31 + i + b);
        struct partial partial = {panel.place, panel.ack, panel.at, panel.ack_at, bytes, rank * 31 + i, rank};
        TULLE_TRY(tulle__queue_push(owner.sink.queue, 0, &partial, sizeof partial, serve_owner, &owner));
        /* PE 0 fills its own two panels before it drains: it must not wait for itself */
        if (rank == 0 && i % 2) owner.hold = 1;
    }
    owner.hold = 1;
    if (rank == 0)
        for (int turns = 0; owner.drained < (int64_t)TIMES * size;) {
            TULLE_TRY(serve_owner(&owner));
            tulle__pause(comm, &turns);
        }
    TULLE_TRY(tulle__arena_drain(arena, serve_owner, &owner));
    EXPECT(tulle__heap_blocks(comm->pe->data) == blocks);
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    tulle__arena_free(arena);
    tulle__queue_free(owner.sink.queue);
    tulle__free(owner.buffer);
    return status;
}

#endif
