/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that know the sparsity. Of a remote tile of B only those rows come that the tile of A has entries for
 * (columns of A without entries name rows of B that nothing is multiplied with), or, where that is less, some rows of A
 * are given away to B's owner, who sends partial rows of C (cover.h). For tiles of A that lie on the PE that multiplies
 * them, since the lists are made from the tile when the plan is: stationary A, and stationary C wherever a PE owns
 * whole tile rows of A and C. Rows are given away only where the tile of C lies there too, so that its owner knows what
 * will come, and under algorithms by which nobody takes others' work. What several PEs of a node need comes once
 * (shelf.h). Volume: sum over (i, k, j) of the rows that A[i,k] names, or of a vertex cover, instead of all.
 */
#ifndef TULLE_PRODUCT_NEED_H
#define TULLE_PRODUCT_NEED_H

#include "algo/chain/policy.h"
#include "algo/chain/transfer_cost.h"
#include "algo/product/source/errand.h"
#include "algo/product/source/shelf.h"
#include "mat/subset.h"

typedef struct tulle__needs tulle__needs;

/* Of the pairs of a tile of A here and a remote one of B. */
typedef struct tulle__needs_figures {
    int64_t whole, rows, covers; /* by how they move */
    int64_t greedy;              /* whose cover was not found by flow */
    int64_t bytes, bound; /* that lists and whole tiles move in an execution; that no cover goes below, 0: not known */
} tulle__needs_figures;

/*
 * Collective; *needs is to be freed also after a failure, once all have met: the caller agrees next, and then settles.
 * Holds as long as A and B keep their structure. alone: each PE asks for rows of B for itself, and gives none away:
 * where tiles are parts of tiles (slice.h), or have no values.
 */
tulle_status tulle__needs_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    tulle_transfers transfers, int alone, const tulle__transfer_costs *prices, tulle__needs **needs);
void tulle__needs_settle(tulle__needs *needs);
void tulle__needs_free(tulle__needs *needs);
size_t tulle__needs_held(const tulle__needs *needs);

/* Whether what is fetched of B[k,j] for A[i,k] is the whole tile. */
int tulle__needs_whole(const tulle__needs *needs, int i, int k, int j);

/* Starts fetching what A[i,k] needs of B[k,j]: the whole tile if needs is NULL, or it is better. */

tulle_status tulle__needs_fetch(
    const tulle__needs *needs, const tulle__operands *operands, int i, int k, int j, tulle__fetch *fetch);

/* Bytes that moves. */
size_t tulle__needs_bytes(const tulle__needs *needs, const tulle__operands *operands, int i, int k, int j);

/* How own tile A[i,k] is divided for B[k,j]; NULL: it is not, nor are those of others. Also NULL: any other partner. */
const tulle__cut *tulle__needs_cut(const tulle__needs *needs, int i, int k, int j);

/* Makes the values of divided tiles those of A now; bytes: that were copied. */
tulle_status tulle__needs_refresh(tulle__needs *needs, const tulle__operands *operands, int64_t *bytes);

/* Tiles that come once for a node; NULL: none do. */
tulle__shelves *tulle__needs_shelves(const tulle__needs *needs);

/* What others have given to this PE; NULL: nothing. Whether any PE has been given something. */
const tulle__errands *tulle__needs_errands(const tulle__needs *needs);
int tulle__needs_give(const tulle__needs *needs);

/* All 0 if needs is NULL. */
tulle__needs_figures tulle__needs_tell(const tulle__needs *needs);

#endif
