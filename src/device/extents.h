/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extents of an arena: one range of memory that is cut into blocks. The memory itself is never touched, so it may be a
 * device's. Blocks begin at multiples of 256 bytes. Best fit, the lowest of equals: a tile of equal size takes the
 * place of a freed one. A block has a generation, which no other block of the arena had: it reveals stale addresses.
 * One thread at a time.
 */
#ifndef TULLE_DEVICE_EXTENTS_H
#define TULLE_DEVICE_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/types.h>

enum { TULLE__EXTENT_ALIGN = 256 };

typedef struct tulle__extents tulle__extents;

/* A block: bytes offset .. offset + bytes - 1 of the arena. */
typedef struct tulle__extent {
    uint64_t offset, bytes, generation;
} tulle__extent;

/* Bytes of the arena that a block takes. */
static inline uint64_t tulle__extent_length(const tulle__extent *block)
{
    const uint64_t bytes = block->bytes ? block->bytes : 1, over = bytes % TULLE__EXTENT_ALIGN;
    return over ? bytes - over + TULLE__EXTENT_ALIGN : bytes;
}

/* Extents of an arena of so many bytes, less what is left of a multiple of 256. */
tulle_status tulle__extents_new(uint64_t bytes, tulle__extents **extents);
void tulle__extents_free(tulle__extents *extents); /* NULL is allowed */

/* A block of `bytes`, 0 allowed. TULLE_ERR_LIMIT, with figures, if no free extent is as large; TULLE_ERR_MEMORY. */
tulle_status tulle__extents_take(tulle__extents *extents, uint64_t bytes, const char *what, tulle__extent *block);
/* Frees a block; 0: it is none of the arena's, and nothing changes. */
int tulle__extents_give(tulle__extents *extents, const tulle__extent *block);
/* 1: the block is in use. */
int tulle__extents_holds(const tulle__extents *extents, const tulle__extent *block);

uint64_t tulle__extents_used(const tulle__extents *extents);    /* bytes of blocks, with what they are rounded up by */
uint64_t tulle__extents_longest(const tulle__extents *extents); /* free bytes next to each other */
int64_t tulle__extents_blocks(const tulle__extents *extents);

#endif
