/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steal profitability. Stealing costs bands, chains that wait for all their tiles before the first
 * row, results that travel from other PEs, and structures that cannot be reused. It gains nothing
 * where loads are balanced, or where tiles take longer to reach the idle PE than to be multiplied.
 */
#ifndef TULLE_STEAL_PROFITABILITY_H
#define TULLE_STEAL_PROFITABILITY_H

#include "algo/chain/policy.h"
#include "algo/chain/transfer_cost.h"

/*
 * The policy in effect: stealing if the expected load of some PE is clearly above the mean and, for
 * chains, some PE below it can take part of them profitably; else the static fallback, under which
 * PEs execute only their own chains. costs: NULL if tiles are read in place or nothing is known.
 * load: room for a number of each PE. The same on all PEs, from the directories, provided that
 * costs are: PE 0's.
 */
const tulle__policy *tulle__policy_in_effect(const tulle__policy *policy, const tulle__operands *operands, int pes,
    const tulle__transfer_costs *costs, double *load);

/* A[i,:] and B[:,j] are at hand; -1: nothing is. */
typedef struct tulle__at_hand {
    int i, j;
} tulle__at_hand;

/*
 * True if the tiles for C tile (i, j) reach PE `thief` in less time than it takes to multiply what
 * the thief may take of them, claim by claim: a quarter of the owner's remaining work, as tiles
 * stay from one claim to the next.
 */
int tulle__steal_profits(const tulle__operands *operands, const tulle__transfer_costs *costs, int thief, int i, int j,
    double left, tulle__at_hand at_hand);

#endif
