/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether work is worth taking from other PEs. Where shares are alike, or where tiles take longer to come to whoever is
 * done early than multiplying them takes, stealing has a price and nothing to be had for it: bands, chains that wait
 * for all their tiles before the first row, results that travel from other PEs than they do else, and structures that
 * nobody can reuse.
 */
#ifndef TULLE_PRODUCT_WORTH_H
#define TULLE_PRODUCT_WORTH_H

#include "algo/chain/policy.h"
#include "algo/chain/transfer_cost.h"

/*
 * The policy by which work is done: stealing, where some PE's share is expected to be clearly more than the mean and,
 * of chains, some PE that has less can take part of it with profit; else all PEs keep to their own chains, as under the
 * stationary algorithm. prices: NULL where tiles are read in place, or nothing is known. share: room for a number of
 * each PE. The same on all PEs, from the directories, if prices are: PE 0's.
 */
const tulle__policy *tulle__policy_in_effect(const tulle__policy *policy, const tulle__operands *operands, int pes,
    const tulle__transfer_costs *costs, double *share);

/* Where A[i,:] and B[:,j] are at hand already; -1: nothing is. */
typedef struct tulle__at_hand {
    int i, j;
} tulle__at_hand;

/*
 * Whether the tiles that C tile (i, j) is made of take less time to come to PE `thief` than what it may do of them,
 * claim by claim, takes to multiply: a quarter of what their PE has left, as tiles are kept from one claim to the next.
 */
int tulle__steal_profits(const tulle__operands *operands, const tulle__transfer_costs *costs, int thief, int i, int j,
    double left, tulle__at_hand at_hand);

#endif
