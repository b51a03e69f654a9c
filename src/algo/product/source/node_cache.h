/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Node cache: a tile of B crosses the network once a node. PEs that read each other's memory often
 * require rows of the same remote tile. One of them, chosen in turn by tile, fetches the union of
 * these rows into its data segment; the others read it there. A word announces its arrival; PEs
 * that wait for it serve their own cached tiles meanwhile. A cached tile stays until all PEs meet
 * at the end of the execution. Cached tiles take at most a fixed part of the segment.
 */
#ifndef TULLE_PRODUCT_NODE_CACHE_H
#define TULLE_PRODUCT_NODE_CACHE_H

#include "algo/chain/policy.h"
#include "comm/queue.h"
#include "mat/subset.h"

typedef struct tulle__node_cache tulle__node_cache;

/* Local. request: this PE requires rows of B[k,j], whose bits the caller sets in *bits; NULL: there is no cache. */
tulle_status tulle__node_cache_new(tulle_comm *comm, const tulle__operands *operands, tulle__node_cache **node_cache);
tulle_status tulle__node_cache_request(tulle__node_cache *node_cache, int k, int j, int64_t rows, uint64_t **bits);
void tulle__node_cache_free(tulle__node_cache *node_cache);
size_t tulle__node_cache_held(const tulle__node_cache *node_cache);

/* Collective: decides who fetches what. The caller agrees next, and then ends the exchange. */
tulle_status tulle__node_cache_exchange(tulle__node_cache *node_cache, const tulle_mat *B);
void tulle__node_cache_end_exchange(tulle__node_cache *node_cache);

/*
 * True if B[k,j] is cached on the node; bytes that this PE fetches for the cache in an execution.
 */
int tulle__node_cache_has(const tulle__node_cache *node_cache, int k, int j);
size_t tulle__node_cache_bytes(const tulle__node_cache *node_cache);

/* An execution begins. */
void tulle__node_cache_begin(tulle__node_cache *node_cache);
/* Keeps up to `most` fetches of this PE under way and waits for one; *done: all have arrived. */
tulle_status tulle__node_cache_serve(tulle__node_cache *node_cache, const tulle_mat *B, int most, int *done);
/* Waits for the fetches under way, also after a failure. */
void tulle__node_cache_drain(tulle__node_cache *node_cache);

/* The cached tile as a fetch without a transfer; it may be read when await has returned. */
tulle__fetch tulle__node_cache_fetch(const tulle__node_cache *node_cache, const tulle_mat *B, int k, int j);
tulle_status tulle__node_cache_await(
    tulle__node_cache *node_cache, const tulle_mat *B, int k, int j, tulle__serve serve, void *context);

#endif
