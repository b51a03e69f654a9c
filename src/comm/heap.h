/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PE-local allocator inside a segment. Only its owner allocates and frees; what it hands out is a place that other
 * PEs may read. Its books are kept outside the segment (which may be device memory), but for a header of one cache line
 * before each block of a host segment that holds the block's generation, so that a stale place can be recognised.
 */
#ifndef TULLE_COMM_HEAP_H
#define TULLE_COMM_HEAP_H

#include "base/memory.h"
#include "comm/link.h"

typedef struct tulle__heap tulle__heap;

enum { TULLE__HEAP_HEADER = 64 };

/*
 * Of a segment of the link's own PE. Blocks are charged to account. Pages of blocks that are given back stay for later
 * ones, and are told to the account as idle, as many as half of its limit and as fit beside what is in use; the
 * others go back to the system, and these when the account has need of them, unless the link's segments are pinned.
 */
tulle_status tulle__heap_new(tulle__link *link, int segment, tulle__account *account, tulle__heap **heap);
void tulle__heap_free(tulle__heap *heap);

/* A block of `bytes`, 64-byte aligned; TULLE_ERR_LIMIT with figures if the segment is full. */
tulle_status tulle__heap_take(tulle__heap *heap, size_t bytes, const char *what, tulle__place *place);
void tulle__heap_give(tulle__heap *heap, const tulle__place *place);

/*
 * A block that comes into use little by little: its extent is taken at once, but only the first `committed` bytes are
 * charged. Before more of it is written, commit what is in use then, in all; less than before changes nothing.
 */
tulle_status tulle__heap_reserve(
    tulle__heap *heap, size_t bytes, size_t committed, const char *what, tulle__place *place);
tulle_status tulle__heap_commit(tulle__heap *heap, const tulle__place *place, size_t committed, const char *what);

/*
 * Gives back what of a block lies before its first `front` bytes, a multiple of 64, and behind the `bytes` that follow.
 * The place is that of the rest then. The block must be committed as a whole.
 */
tulle_status tulle__heap_trim(tulle__heap *heap, tulle__place *place, size_t front, size_t bytes);

/* As give, but no pages stay: for large blocks that nothing like will follow soon. */
void tulle__heap_discard(tulle__heap *heap, const tulle__place *place);

int64_t tulle__heap_blocks(const tulle__heap *heap);
size_t tulle__heap_used(const tulle__heap *heap);

#endif
