/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PE-local allocator of a segment. Only its owner allocates and frees; other PEs may access the
 * blocks. Its book-keeping lies outside the segment (which may be device memory), except for one
 * cache line before each block of a host segment: it holds the block's generation, by which a stale
 * remote address is recognised.
 */
#ifndef TULLE_COMM_HEAP_H
#define TULLE_COMM_HEAP_H

#include "base/memory.h"
#include "comm/link.h"

typedef struct tulle__heap tulle__heap;

enum { TULLE__HEAP_HEADER = 64 };

/*
 * A heap for a segment of the link's own PE. Blocks count against the account. Pages of freed
 * blocks stay for later blocks and are reported to the account as idle: at most half of its limit,
 * and what fits beside what is in use. Other pages return to the system. Idle pages return too when
 * the account needs memory, unless the segments are pinned.
 */
tulle_status tulle__heap_new(tulle__link *link, int segment, tulle__account *account, tulle__heap **heap);
void tulle__heap_free(tulle__heap *heap);

/* Allocates `bytes`, 64-byte aligned. TULLE_ERR_LIMIT with figures if the segment is full. */
tulle_status tulle__heap_take(tulle__heap *heap, size_t bytes, const char *what, tulle__place *place);
void tulle__heap_give(tulle__heap *heap, const tulle__place *place);

/*
 * Allocates a block that fills gradually. Its extent is taken at once, but only the first
 * `committed` bytes count against the account. Before writing further, commit the total that will
 * be in use; a smaller total changes nothing.
 */
tulle_status tulle__heap_reserve(
    tulle__heap *heap, size_t bytes, size_t committed, const char *what, tulle__place *place);
tulle_status tulle__heap_commit(tulle__heap *heap, const tulle__place *place, size_t committed, const char *what);

/*
 * Frees the first `front` bytes of a block, a multiple of 64, and all behind the `bytes` that
 * follow. The remote address becomes that of the rest. The block must be committed as a whole.
 */
tulle_status tulle__heap_trim(tulle__heap *heap, tulle__place *place, size_t front, size_t bytes);

/* The same as give, but no pages stay: for large blocks that no similar one follows. */
void tulle__heap_discard(tulle__heap *heap, const tulle__place *place);

int64_t tulle__heap_blocks(const tulle__heap *heap);
size_t tulle__heap_used(const tulle__heap *heap);

#endif
