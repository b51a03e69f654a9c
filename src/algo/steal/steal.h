/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work stealing (paper, 3.4). Every PE claims work items before it multiplies them, its own ones
 * too, so that idle PEs can take the remaining ones of others.
 *
 * The grid. The items of a PE are tile products or their bands, (i, k, j, band), or, by policy,
 * bands of chains, (i, j, band) (items.h). They are numbered in the order of its policy's chains.
 * An item is a bit of a word in the PE's control memory, 0: free. A claim is one compare-and-swap,
 * which takes any number of items of a word. It costs less than the fetch-and-add per item of the
 * paper's 3D grid, and works from both ends, unlike the counters of its 2D grid. A failed claim has
 * read the word and thus serves as a probe. It fails at most once per item of the word, as bits are
 * only ever set. Random and locality-aware stealing differ in what may be taken: any item, or one
 * with a tile at hand.
 *
 * Correctness. Every item is multiplied exactly once. Exactly one successful compare-and-swap sets
 * its bit; that PE multiplies it, or fails, which ends the execution for all. No item remains,
 * since a PE leaves its own words only when all bits are set. The result of a claim is added to C
 * where the tile is the claimer's own, and else travels to the tile's owner in partial results that
 * state their number of items. The owner need not know who multiplies: it is done when the items
 * multiplied and received are those that the directories promise. Only then does it enter the
 * barrier that ends an execution. After this barrier all words are cleared, and no PE claims any
 * more.
 *
 * Portions. A claim takes half of the PE's distance to the mean load, which is where all PEs end,
 * or its part of the work known to remain if that is more: guided self-scheduling (Polychronopoulos
 * and Kuck 1987), large at first, single items at the end. Half of that, since one job is claimed
 * while another is multiplied. Each job rereads tiles and sends a result, so few are better than
 * many. Bands of other PEs' chains are taken only if that is profitable; if it is so nowhere, there
 * is no stealing (profitability.h). The owner proceeds upwards, PEs that steal downwards, so they
 * meet only once. Victims are chosen by their remaining work as far as known: initially from the
 * directories, then reduced by each observation of their words.
 */
#ifndef TULLE_STEAL_STEAL_H
#define TULLE_STEAL_STEAL_H

#include "algo/chain/policy.h"
#include "algo/steal/profitability.h"

typedef struct tulle__steal tulle__steal;

/*
 * Collective, without agreement. costs: of transfers, NULL if there are none; batch: most tile
 * products of a job. Memory: 16 bytes a chain and 1 bit an item of all PEs.
 */
tulle_status tulle__steal_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    const tulle__transfer_costs *costs, int batch, tulle__steal **steal);
void tulle__steal_free(tulle__steal *steal);

/*
 * Resets the grid, when no PE claims any more, and before others may know that this PE has reached
 * this point.
 */
void tulle__steal_reset(tulle__steal *steal);

/* True if the next job was claimed together with the last one. */
int tulle__steal_in_hand(const tulle__steal *steal);

/* The items claimed for one job: complete tile products, a whole chain, or bands of one of them. */
typedef struct tulle__claim {
    int i, j, nk;        /* C tile (i, j) and nk tiles k; nk = 0: nothing within reach is left */
    int *k;              /* [batch], the caller's */
    int units;           /* number of items */
    int band, bands, of; /* bands band .. band + bands - 1 of `of`; of = 0: not split */
} tulle__claim;

/* Claims the next job. */
tulle_status tulle__steal_take(tulle__steal *steal, tulle__claim *job);

/* Items stolen and attempted in this execution. */
int64_t tulle__steal_stolen(const tulle__steal *steal);
int64_t tulle__steal_probes(const tulle__steal *steal);
/* Items of all PEs / PEs, at least 1. */
int64_t tulle__steal_share(const tulle__steal *steal);
/* Bytes held on this PE. */
size_t tulle__steal_bytes(const tulle__steal *steal);

#endif
