/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena of a device: pieces of its memory, cut into blocks (extents.h), so that buffers that come and go cost no calls
 * of a driver, which wait for the whole device. A block lies in the oldest piece that has room for it: the youngest
 * become idle first. A new piece has room for as many such blocks as go into a quarter of what the arena holds, from
 * `least` bytes to 1 GiB, or for this one.
 *
 * Free memory of the arena is bounded: it grows only as long as that is at most what its device may still take
 * (`still`) and what gaps may cost beyond (`spare`). Idle pieces go back to the device before a block is refused.
 *
 * Any thread may call; each call is short unless it takes a piece or gives one back.
 */
#ifndef TULLE_DEVICE_DEVICE_ARENA_H
#define TULLE_DEVICE_DEVICE_ARENA_H

#include "device/extents.h"

typedef struct tulle__device_arena tulle__device_arena;

/* Memory of the device, in pieces. `take` fails with TULLE_ERR_MEMORY if there is no more. */
typedef struct tulle__device_arena_source {
    tulle_status (*take)(void *context, size_t bytes, const char *what, void **piece);
    void (*give)(void *context, void *piece);
    void *context;
    size_t least; /* bytes of a piece; 0: each block is a piece, for tools that check memory */
} tulle__device_arena_source;

/* A block: `memory` is aligned to TULLE__EXTENT_ALIGN; some bytes behind the block belong to no other. */
typedef struct tulle__device_arena_block {
    struct tulle__device_arena_piece *piece;
    void *memory;
    size_t bytes;
    tulle__extent extent;
} tulle__device_arena_block;

/* The calls; modules get them by the setting of a device. */
typedef struct tulle__device_arena_ops {
    tulle_status (*make)(tulle__device_arena **arena);
    /* All pieces go back, whatever is in use. */
    void (*free)(tulle__device_arena *arena, const tulle__device_arena_source *source);
    /* A block of `bytes`, 0 allowed. TULLE_ERR_LIMIT and TULLE_ERR_MEMORY with the arena's figures. */
    tulle_status (*take)(tulle__device_arena *arena, const tulle__device_arena_source *source, size_t bytes,
        size_t still, size_t spare, const char *what, tulle__device_arena_block *block);
    void (*give)(
        tulle__device_arena *arena, const tulle__device_arena_source *source, const tulle__device_arena_block *block);
    /* Idle pieces go back; nothing happens while another call is under way. 1: there were some. */
    int (*trim)(tulle__device_arena *arena, const tulle__device_arena_source *source);
    /* Bytes of pieces, and those of blocks, rounded up. */
    void (*sizes)(const tulle__device_arena *arena, size_t *held, size_t *used);
} tulle__device_arena_ops;

extern const tulle__device_arena_ops tulle__device_arena_calls;

#endif
