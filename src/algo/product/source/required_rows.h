/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that know the sparsity. Of a remote tile of B only those rows come that the tile of A has entries for
 * (columns of A without entries name rows of B that nothing is multiplied with), or, where that is less, some rows of A
 * are given away to B's owner, who sends partial rows of C (cover.h). For tiles of A that lie on the PE that multiplies
 * them, since the lists are made from the tile when the plan is: stationary A, and stationary C wherever a PE owns
 * whole tile rows of A and C. Rows are given away only where the tile of C lies there too, so that its owner knows what
 * will come, and under algorithms by which nobody takes others' work. What several PEs of a node need comes once
 * (node_cache.h). Volume: sum over (i, k, j) of the rows that A[i,k] names, or of a vertex cover, instead of all.
 */
#ifndef TULLE_PRODUCT_REQUIRED_ROWS_H
#define TULLE_PRODUCT_REQUIRED_ROWS_H

#include "algo/chain/policy.h"
#include "algo/chain/transfer_cost.h"
#include "algo/product/source/delegation.h"
#include "algo/product/source/node_cache.h"
#include "mat/subset.h"

typedef struct tulle__required tulle__required;

/* Of the pairs of a tile of A here and a remote one of B. */
typedef struct tulle__required_figures {
    int64_t whole, rows, covers; /* by how they move */
    int64_t greedy;              /* whose cover was not found by flow */
    int64_t bytes, bound; /* that lists and whole tiles move in an execution; that no cover goes below, 0: not known */
} tulle__required_figures;

/*
 * Collective; *required is to be freed also after a failure, once all have met: the caller agrees next, and then
 * settles. Holds as long as A and B keep their structure. alone: each PE asks for rows of B for itself, and gives none
 * away: where tiles are parts of tiles (slice.h), or have no values.
 */
tulle_status tulle__required_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    tulle_transfers transfers, int alone, const tulle__transfer_costs *prices, tulle__required **required);
void tulle__required_end_exchange(tulle__required *required);
void tulle__required_free(tulle__required *required);
size_t tulle__required_held(const tulle__required *required);

/* Whether what is fetched of B[k,j] for A[i,k] is the whole tile. */
int tulle__required_whole(const tulle__required *required, int i, int k, int j);

/* Starts fetching what A[i,k] needs of B[k,j]: the whole tile if needs is NULL, or it is better. */

tulle_status tulle__required_fetch(
    const tulle__required *required, const tulle__operands *operands, int i, int k, int j, tulle__fetch *fetch);

/* Bytes that moves. */
size_t tulle__required_bytes(const tulle__required *required, const tulle__operands *operands, int i, int k, int j);

/* How own tile A[i,k] is divided for B[k,j]; NULL: it is not, nor are those of others. Also NULL: any other partner. */
const tulle__cut *tulle__required_cut(const tulle__required *required, int i, int k, int j);

/* Makes the values of divided tiles those of A now; bytes: that were copied. */
tulle_status tulle__required_refresh(tulle__required *required, const tulle__operands *operands, int64_t *bytes);

/* Tiles that come once for a node; NULL: none do. */
tulle__node_cache *tulle__required_node_cache(const tulle__required *required);

/* What others have given to this PE; NULL: nothing. Whether any PE has been given something. */
const tulle__delegations *tulle__required_delegations(const tulle__required *required);
int tulle__required_delegates(const tulle__required *required);

/* All 0 if needs is NULL. */
tulle__required_figures tulle__required_count(const tulle__required *required);

#endif
