/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each row once a node: of the PEs that read each other's memory and need rows of the same tile of B from another node,
 * one fetches all that any of them needs, into its data segment, and the others read it there. Who does it goes around
 * by tile. When the tile has come a word says so, which the others wait for, serving their own shelves meanwhile; what
 * lies on a shelf lies there until all have met at the end of the execution. Shelves take at most a part of the
 * segment.
 */
#ifndef TULLE_PRODUCT_NODE_CACHE_H
#define TULLE_PRODUCT_NODE_CACHE_H

#include "algo/chain/policy.h"
#include "comm/queue.h"
#include "mat/subset.h"

typedef struct tulle__node_cache tulle__node_cache;

/* Local. This PE needs of B[k,j] the rows that A has entries for. */
tulle_status tulle__node_cache_new(tulle_comm *comm, const tulle__operands *operands, tulle__node_cache **node_cache);
tulle_status tulle__node_cache_request(tulle__node_cache *node_cache, int k, int j, const tulle__csr *A);
void tulle__node_cache_free(tulle__node_cache *node_cache);
size_t tulle__node_cache_held(const tulle__node_cache *node_cache);

/* Collective: who fetches what. The caller agrees next, and then settles. */
tulle_status tulle__node_cache_exchange(tulle__node_cache *node_cache, const tulle_mat *B);
void tulle__node_cache_end_exchange(tulle__node_cache *node_cache);

/* Whether B[k,j] comes by a shelf; bytes that come to those of this PE in an execution. */
int tulle__node_cache_has(const tulle__node_cache *node_cache, int k, int j);
size_t tulle__node_cache_bytes(const tulle__node_cache *node_cache);

/* An execution begins. */
void tulle__node_cache_begin(tulle__node_cache *node_cache);
/* Has up to `most` tiles under way to shelves of this PE, and waits for one; *done: all have come. */
tulle_status tulle__node_cache_serve(tulle__node_cache *node_cache, const tulle_mat *B, int most, int *done);
/* Waits for what is under way, also after a failure. */
void tulle__node_cache_drain(tulle__node_cache *node_cache);

/* The tile on its shelf as a fetch with nothing to wait for; it may be read when await has returned. */
tulle__fetch tulle__node_cache_fetch(const tulle__node_cache *node_cache, const tulle_mat *B, int k, int j);
tulle_status tulle__node_cache_await(
    tulle__node_cache *node_cache, const tulle_mat *B, int k, int j, tulle__serve serve, void *context);

#endif
