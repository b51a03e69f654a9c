/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a tile of any PE: in place where it is mapped, else by one get into a private buffer. The
 * executor keeps these structs in rings; tulle_fetch is one on the heap.
 */
#ifndef TULLE_MAT_FETCH_H
#define TULLE_MAT_FETCH_H

#include "mat/mat.h"

/*
 * Receive buffers for tiles that a product's devices read, and the host only if they are sparse. take: a buffer;
 * `anywhere`: also in a device's memory. NULL: none is left, and memory of the PE receives the tile.
 */
typedef struct tulle__receiver tulle__receiver;
struct tulle__receiver {
    void *(*take)(tulle__receiver *receiver, size_t bytes, bool anywhere);
    void (*give)(tulle__receiver *receiver, void *memory);
};

typedef struct tulle__fetch {
    const tulle_mat *A;
    int i, j, group;                /* group < 0: no get is pending */
    uint64_t count;                 /* of the get in its group; 0: not known, and the whole group is waited for */
    void *block;                    /* where the tile's block can be read */
    struct tulle__fetch_head *head; /* of the shared buffer; NULL: no buffer */
    tulle__tile_record record;      /* of the data that arrives: the tile, or a row subset */
} tulle__fetch;

/* Facts that all shares of a buffer see: their number, and the receiver that it came from. */
typedef struct tulle__fetch_head {
    int users;
    tulle__receiver *receiver; /* NULL: the buffer follows the head */
} tulle__fetch_head;

tulle_status tulle__fetch_init(const tulle_mat *A, int i, int j, tulle__fetch *fetch);
/* The same, for devices; NULL is allowed. */
tulle_status tulle__fetch_into(const tulle_mat *A, int i, int j, tulle__receiver *receiver, tulle__fetch *fetch);
/* Starts a get of a tile that has entries, into a contiguous buffer of its size; the last transfer of it. */
tulle__transfer tulle__fetch_start(const tulle_mat *A, int i, int j, int group, void *to);
/* Returns another fetch of the same tile, which shares the buffer. */
tulle__fetch tulle__fetch_share(const tulle__fetch *fetch);
/* Allocates `bytes` at fetch->block, for a fetch that is not shared yet, from the receiver if there is one. */
tulle_status tulle__fetch_buffer(size_t bytes, tulle__receiver *receiver, bool anywhere, tulle__fetch *fetch);
/* True if it can be awaited without waiting; 0 also where the engine does not know. */
int tulle__fetch_ready(const tulle__fetch *fetch);
/* Waits for a pending get, then frees. Also valid after a failure and for a zeroed fetch. */
void tulle__fetch_fini(tulle__fetch *fetch);
tulle_status tulle__fetch_await(tulle__fetch *fetch, tulle_tile *tile);
/* Starts and awaits: for a tile that is read at once. */
tulle_status tulle__fetch_read(const tulle_mat *A, int i, int j, tulle__fetch *fetch, tulle_tile *tile);
/* Waits for a pending get, that transfer alone. */
tulle_status tulle__fetch_arrive(tulle__fetch *fetch);

/* Bytes of private memory that a fetch of the tile takes: 0 if it is read in place. */
size_t tulle__fetch_bytes(const tulle_mat *A, int i, int j);

#endif
