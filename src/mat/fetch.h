/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a tile of any PE: by its address where loads reach it, else by one get into a private buffer. In place, for
 * the executor, which keeps rings of them; tulle_fetch is one of these on the heap.
 */
#ifndef TULLE_MAT_FETCH_H
#define TULLE_MAT_FETCH_H

#include "mat/mat.h"

typedef struct tulle__fetch {
    const tulle_mat *A;
    int i, j, group;           /* group < 0: nothing to wait for */
    void *block;               /* where the tile's block can be read */
    int *users;                /* fetches that share the buffer, which begins with this; NULL: there is none */
    tulle__tile_record record; /* of what comes: the tile, or an excerpt of it */
} tulle__fetch;

tulle_status tulle__fetch_init(const tulle_mat *A, int i, int j, tulle__fetch *fetch);
/* Starts getting a tile with entries to where there is room for its bytes, without gaps. */
void tulle__fetch_start(const tulle_mat *A, int i, int j, int group, void *to);
/* Another fetch of the same tile, which shares what comes. */
tulle__fetch tulle__fetch_share(const tulle__fetch *fetch);
/* Room for `bytes` at fetch->block, for one that was not shared yet. */
tulle_status tulle__fetch_room(size_t bytes, tulle__fetch *fetch);
/* Also allowed after a failure, and for a zeroed fetch: waits for what is on its way, then frees. */
void tulle__fetch_fini(tulle__fetch *fetch);
tulle_status tulle__fetch_await(tulle__fetch *fetch, tulle_tile *tile);

/* Bytes that fetching the tile takes in private memory: 0 if it is read in place. */
size_t tulle__fetch_bytes(const tulle_mat *A, int i, int j);

#endif
