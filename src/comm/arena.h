/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena of panels for partial results in flight: a fixed part of the data segment. A producer
 * takes a panel, fills it and pushes a record that names it to the owner of the tile. The owner
 * drains the panel into its own memory and acknowledges, which frees the panel. A producer that
 * finds no free panel serves its own queue. An owner needs no panel to drain one, so no PEs wait
 * for each other in a cycle.
 */
#ifndef TULLE_COMM_ARENA_H
#define TULLE_COMM_ARENA_H

#include "comm/queue.h"

typedef struct tulle__arena tulle__arena;

/* Local. An arena of `bytes`, divided into panels >= 2. */
tulle_status tulle__arena_new(tulle_comm *comm, size_t bytes, int panels, tulle__arena **arena);
void tulle__arena_free(tulle__arena *arena);

size_t tulle__arena_panel_bytes(const tulle__arena *arena);

/*
 * Takes a free panel: its local pointer, its remote address, and the word (in `ack` at *ack_at)
 * that the consumer acknowledges. While all panels are in flight, serve(context) runs.
 * TULLE_ERR_PEER if a PE fails.
 */
typedef struct tulle__panel {
    int index;
    void *local;
    tulle__place place; /* the arena, or a block of its own */
    uint64_t at;        /* offset of the panel */
    tulle__place ack;
    uint64_t ack_at;
} tulle__panel;
tulle_status tulle__arena_take(tulle__arena *arena, tulle__serve serve, void *context, tulle__panel *panel);

/*
 * Replaces a taken panel by a block of `bytes`, of which the caller fills `written`. It is freed
 * after its acknowledgement.
 */
tulle_status tulle__arena_grow(tulle__arena *arena, size_t bytes, size_t written, tulle__panel *panel);

/* Returns a panel that was not sent. */
void tulle__arena_return(tulle__arena *arena, const tulle__panel *panel);

/* Waits until all panels are acknowledged. */
tulle_status tulle__arena_drain(tulle__arena *arena, tulle__serve serve, void *context);

#endif
