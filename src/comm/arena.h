/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where partial results wait to be fetched by the owner of the tile that they belong to: a fixed piece of the data
 * segment, cut into equal panels. A producer takes a panel, fills it, and pushes a record that names it; the owner
 * acknowledges when it has drained the panel into its own memory, which frees it. A producer that finds no free panel
 * serves its own queue meanwhile; since an owner never needs a panel to drain one, nobody waits in a circle.
 */
#ifndef TULLE_COMM_ARENA_H
#define TULLE_COMM_ARENA_H

#include "comm/queue.h"

typedef struct tulle__arena tulle__arena;

/* Local. bytes in all, cut into panels >= 2. */
tulle_status tulle__arena_new(tulle_comm *comm, size_t bytes, int panels, tulle__arena **arena);
void tulle__arena_free(tulle__arena *arena);

size_t tulle__arena_panel_bytes(const tulle__arena *arena);

/*
 * A free panel: its local address, its place for others, and the word (in `ack` at *ack_at) that the consumer
 * acknowledges. While all are in flight, serve(context) runs; TULLE_ERR_PEER if a PE fails meanwhile.
 */
typedef struct tulle__panel {
    int index;
    void *local;
    tulle__place place; /* the whole arena, or a block of its own */
    uint64_t at;        /* of the panel in it */
    tulle__place ack;
    uint64_t ack_at;
} tulle__panel;
tulle_status tulle__arena_take(tulle__arena *arena, tulle__serve serve, void *context, tulle__panel *panel);

/*
 * Makes a taken panel one of `bytes`, however many, of which so many are ever written: a block of its own, given back
 * when it has been acknowledged.
 */
tulle_status tulle__arena_grow(tulle__arena *arena, size_t bytes, size_t written, tulle__panel *panel);

/* The panel was not sent after all. */
void tulle__arena_return(tulle__arena *arena, const tulle__panel *panel);

/* Waits until all panels have been acknowledged. */
tulle_status tulle__arena_drain(tulle__arena *arena, tulle__serve serve, void *context);

#endif
