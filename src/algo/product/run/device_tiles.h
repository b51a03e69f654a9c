/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of operands on a device. A tile that is asked for again lies there still unless it had to
 * make room: first goes what was used longest ago. A tile in use is held, and stays. Copies to the device go
 * into a queue of their own; a multiplication joins the arrival of its tiles.
 *
 * Where jobs come in blocks (tulle__device_tiles_bound), tiles that are not read again make room for what is copied
 * ahead, so copies go on while the memory is full; no tile that is still to be read does.
 *
 * A tile that lies on a sister, another device of the PE, comes from there if they are peers, else
 * from the host. It stays at the sister until it has arrived.
 *
 * Cost: a copy of each array of a tile that is not there, at multiples of 256 bytes; a look into
 * a hash table by key; where something has to go, a pass over all tiles of the device.
 */
#ifndef TULLE_PRODUCT_DEVICE_TILES_H
#define TULLE_PRODUCT_DEVICE_TILES_H

#include "algo/product/run/staging.h"
#include "device/device.h"

typedef struct tulle__device_tiles tulle__device_tiles;

/* A tile by its operand, its place there and the first of its rows that are meant. operand < 0: never met again. */
typedef struct tulle__tile_key {
    int operand, i, j;
    int64_t row, rows;
} tulle__tile_key;

/* staging: of the device; it stays. */
tulle_status tulle__device_tiles_new(tulle__device *device, tulle__staging *staging, tulle__device_tiles **tiles);
/* Nothing on the device uses them any more; sisters have been cleared. */
void tulle__device_tiles_free(tulle__device_tiles *tiles);
/* All devices of the PE, this one among them; the array is the caller's and stays. */
void tulle__device_tiles_meet(tulle__device_tiles *tiles, tulle__device_tiles *const *all, int count);

/*
 * Rows key->row .. + key->rows of a tile of the host, held on the device: *there. TULLE_ERR_LIMIT if
 * there is no room beside what is held. `source` is read until tulle__device_tiles_uploaded.
 */
tulle_status tulle__device_tiles_hold(
    tulle__device_tiles *tiles, const tulle__tile_key *key, const tulle_tile *source, tulle__device_tile *there);
/* The same of a whole tile that lies on a peer, complete, and comes from there. It is forgotten when the execution
 * ends. */
tulle_status tulle__device_tiles_hold_from(tulle__device_tiles *tiles, const tulle__tile_key *key,
    const tulle_tile *source, tulle__device *device, const tulle__device_tile *from, tulle__device_tile *there);
/* Forgets these; none is held. */
void tulle__device_tiles_return(tulle__device_tiles *tiles);
/*
 * The same without holding it, and only into memory that is free: TULLE_ERR_LIMIT where that does
 * not do, or where a sister has it and cannot give it at once. Does not wait.
 */
tulle_status tulle__device_tiles_prefetch(
    tulle__device_tiles *tiles, const tulle__tile_key *key, const tulle_tile *source);
/* Work that follows in the queue sees tiles that are complete, of those that are held. */
void tulle__device_tiles_join(tulle__device_tiles *tiles, tulle__device_queue *queue);
/* Work with the tiles that are held has been started in the queue: they are let go, and stay until it is done. */
void tulle__device_tiles_release(tulle__device_tiles *tiles, tulle__device_queue *queue);
/* Waits until the tile of the host has been read, if it is there. A failure is the queue's. */
void tulle__device_tiles_await(tulle__device_tiles *tiles, const tulle__tile_key *key);
/* Waits until the host's tiles have been read. */
tulle_status tulle__device_tiles_uploaded(tulle__device_tiles *tiles);

/* A buffer of so many bytes for something else; tiles make room. TULLE_ERR_LIMIT if that is not enough. */
tulle_status tulle__device_tiles_reserve(
    tulle__device_tiles *tiles, size_t bytes, const char *what, tulle__device_buffer **buffer);

/* Frees all that is not held, for what a device takes by itself. 0: there was nothing. */
int tulle__device_tiles_shed(tulle__device_tiles *tiles);

/*
 * If a triple of tiles lacks room: buffers may be larger than their tiles. Lets go of what is held, for which no
 * work was started, forgets all tiles and gives each its own bytes from now on. 0: that is so already.
 */
int tulle__device_tiles_tighten(tulle__device_tiles *tiles);

/* Takes back a buffer that is not used any more; NULL is allowed. It stays for the next one of its size: devices wait
 * for all their work when memory is freed. */
void tulle__device_tiles_give(tulle__device_tiles *tiles, tulle__device_buffer *buffer);

/*
 * Tiles take at most so many bytes from now on, and each of operand o as much as unit[o], so that the memory of one
 * does for the next. What is not read again is said by tulle__device_tiles_done.
 */
void tulle__device_tiles_bound(tulle__device_tiles *tiles, size_t most, const size_t *unit);
/* The tile is not read any more, but may be in use: it is first to make room, and is not met again. */
void tulle__device_tiles_done(tulle__device_tiles *tiles, const tulle__tile_key *key);

/* Forgets all tiles, of which none is in use. */
void tulle__device_tiles_clear(tulle__device_tiles *tiles);

/* Number of hits: tiles that were there. */
int64_t tulle__device_tiles_hits(const tulle__device_tiles *tiles);

/* Bytes that such rows of a tile take on the device. */
size_t tulle__device_tile_bytes(const tulle__device *device, const tulle_tile *tile, int64_t row, int64_t rows);

#endif
