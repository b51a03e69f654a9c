/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that know the sparsity. Only the rows of a remote tile of B that the tile of A names
 * are fetched. Where that takes fewer bytes, some rows of A are delegated to B's owner instead,
 * which sends partial rows of C (cover.h).
 *
 * The lists are made from the tile of A when the plan is made, so A must lie on the PE that
 * multiplies it: stationary A, and stationary C if a PE owns whole tile rows of A and C. Rows are
 * delegated only if the tile of C lies there too, so that its owner knows what will arrive, and
 * only without stealing. Rows that several PEs of a node require are fetched once (node_cache.h).
 * Volume: the sum over (i, k, j) of the rows that A[i,k] names, or of a vertex cover.
 */
#ifndef TULLE_PRODUCT_REQUIRED_ROWS_H
#define TULLE_PRODUCT_REQUIRED_ROWS_H

#include "algo/chain/policy.h"
#include "algo/chain/transfer_cost.h"
#include "algo/product/source/delegation.h"
#include "algo/product/source/node_cache.h"

typedef struct tulle__required tulle__required;

/* Counts of the pairs of a tile of A here and a remote one of B. */
typedef struct tulle__required_figures {
    int64_t whole, rows, covers; /* by how they move */
    int64_t greedy;              /* whose cover was not found by flow */
    /* that lists and whole tiles move in an execution; that no cover goes below, 0: not known */
    int64_t bytes, bound;
} tulle__required_figures;

/*
 * Collective. The caller agrees next, then ends the exchange, and frees *required also after a
 * failure. Valid while A and B keep their structure. alone: each PE fetches rows for itself and
 * delegates none, as with parts of tiles (slice.c) and without values.
 */
tulle_status tulle__required_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    tulle_transfers transfers, int alone, const tulle__transfer_costs *prices, tulle__required **required);
void tulle__required_end_exchange(tulle__required *required);
void tulle__required_free(tulle__required *required);
size_t tulle__required_held(const tulle__required *required);

/*
 * True if it is known what A[i,k], a tile of this PE, requires of B[k,j]: all, rows, or what the
 * node has.
 */
int tulle__required_listed(const tulle__required *required, int i, int k, int j);

/* True if what is fetched of B[k,j] for A[i,k] is the whole tile. */
int tulle__required_whole(const tulle__required *required, int i, int k, int j);

/*
 * Starts fetching the rows of B[k,j] that A[i,k] requires: all of them if required is NULL, or that
 * takes less.
 */
tulle_status tulle__required_fetch(
    const tulle__required *required, const tulle__operands *operands, int i, int k, int j, tulle__fetch *fetch);

/* Bytes of that fetch. */
size_t tulle__required_bytes(const tulle__required *required, const tulle__operands *operands, int i, int k, int j);

/* Division of own tile A[i,k] for B[k,j]; NULL: not at all, as any tile of another PE. */
const tulle__cut *tulle__required_cut(const tulle__required *required, int i, int k, int j);

/* Copies the values of A to divided tiles; *bytes: copied. */
tulle_status tulle__required_refresh(tulle__required *required, const tulle__operands *operands, int64_t *bytes);

/* NULL: no tile is cached for the node. */
tulle__node_cache *tulle__required_node_cache(const tulle__required *required);

/*
 * Rows that others have delegated to this PE; NULL: none. delegates: whether any PE delegates rows.
 */
const tulle__delegations *tulle__required_delegations(const tulle__required *required);
int tulle__required_delegates(const tulle__required *required);

/* All 0 if required is NULL. */
tulle__required_figures tulle__required_count(const tulle__required *required);

#endif
