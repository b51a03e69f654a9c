/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work stealing (paper, 3.4): every PE, also the one whose work it is, reserves units before it multiplies them, so
 * that idle PEs can take what others have left.
 *
 * The grid. The units of a PE - products of tiles or their bands, (i, k, j, band), or, by policy, bands of chains,
 * (i, j, band) - are its items (items.h), numbered in the order of its policy's chains; an item is a bit of a word in
 * that PE's control memory, 0: free. A claim is one compare-and-swap, which takes any items of a word at once: less
 * than the fetch-and-add for each that the paper's 3D grid needs, and from both ends, unlike the counters of its 2D
 * grid. One that fails has read the word, and so is the probe too; it fails at most once for each item of the word, as
 * bits are only ever set. Random and locality-aware stealing differ in what they may take: anything, or what has a tile
 * at hand.
 *
 * Every unit is multiplied exactly once. Its bit is set by exactly one successful compare-and-swap, whose PE multiplies
 * it or fails, which ends the execution for all. No unit is left, since a PE leaves its own words only when all their
 * bits are set. What a claim yields goes into C where the tile is the claimer's, else to the tile's owner in partial
 * results that say how many units they hold. So the owner of C tiles needs not know who multiplies: it is done when the
 * units that it has multiplied and received are those that the directories promise. Only then does it come to the
 * meeting that ends an execution, behind which all words are cleared for the next; nobody claims behind that meeting.
 *
 * How much. A claim takes half of what its PE still misses to the mean work, since everybody ends with about that, or
 * its part of what is known to be left if that is more: guided self-scheduling (Polychronopoulos and Kuck 1987), large
 * at first, single items towards the end. Of that part half, as one job is reserved while another is multiplied. Each
 * job reads tiles again and sends a result, so few are better than many. Of others' chains bands are taken only where
 * it is worth it, and where that is nowhere all this is left out (profitability.h).
 * The owner goes through its items upwards, others downwards, so they meet but once. Victims are taken in the order of
 * the work they have left as far as known: at the start from the directories, then less what each look at their words
 * has shown to be gone.
 */
#ifndef TULLE_PRODUCT_STEAL_H
#define TULLE_PRODUCT_STEAL_H

#include "algo/chain/policy.h"
#include "algo/steal/profitability.h"

typedef struct tulle__steal tulle__steal;

/* Collective, without agreement; prices: of transfers, NULL where there are none; group: most units in a job. Memory:
 * 16 bytes a chain and 1 bit a unit of all PEs. */
tulle_status tulle__steal_new(tulle_comm *comm, const tulle__policy *policy, const tulle__operands *operands,
    const tulle__transfer_costs *costs, int group, tulle__steal **steal);
void tulle__steal_free(tulle__steal *steal);

/* Puts all back to the start: when nobody claims any more, and before others may know that this PE has come so far. */
void tulle__steal_reset(tulle__steal *steal);

/* Whether the next job has been reserved already, together with the last. */
int tulle__steal_in_hand(const tulle__steal *steal);

/* What has been reserved for one job: whole products of tiles or a whole chain, or bands of one. */
typedef struct tulle__share {
    int i, j, nk;        /* C tile (i, j) by nk tiles k; nk = 0: nothing is left that this PE may have */
    int *k;              /* [group], the caller's */
    int units;           /* of the grid */
    int band, bands, of; /* bands band .. band + bands - 1 of `of`; of = 0: all */
} tulle__share;

/* The next job. */
tulle_status tulle__steal_take(tulle__steal *steal, tulle__share *share);

/* Of this execution: units taken from others, attempts to. */
int64_t tulle__steal_stolen(const tulle__steal *steal);
int64_t tulle__steal_probes(const tulle__steal *steal);
/* Units of all PEs / PEs, at least 1. */
int64_t tulle__steal_share(const tulle__steal *steal);
/* What is held on this PE. */
size_t tulle__steal_bytes(const tulle__steal *steal);

#endif
