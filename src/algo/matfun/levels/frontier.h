/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The highest occupied and the lowest unoccupied level of the whole system (HOMO, LUMO). A state of the system has
 * levels in several submatrices, whose weights sum up to 1, and submatrices have levels of their own in the gap, of
 * the states that they cut, with weights of 1e-9. So a level counts once N, the sum of weights, reaches half a state:
 * the k-th level of the system is the lowest at which N is at least k - 1/2. With N electrons, kT = 0, the frontier
 * are levels number ceil(N) and floor(N) + 1: the same one, if it is filled in part. Else it is half a state down and
 * up from mu.
 */
#ifndef TULLE_ALGO_MATFUN_LEVELS_FRONTIER_H
#define TULLE_ALGO_MATFUN_LEVELS_FRONTIER_H

#include "algo/matfun/levels/level_operations.h"

/* True if a number of states is whole, up to rounding. */
bool tulle__is_whole(double states);

/*
 * Sets x->frontier of s->states and x->mu, and extends the spectrum until these levels are within its bounds, or all
 * levels are. Sets the base of the spectrum. Collective, agreed.
 */
tulle_status tulle__frontier_reach(tulle__levels_state *s);

/* After it: the levels; -INFINITY, INFINITY if there is none. Collective. */
tulle_status tulle__frontier_find(const tulle__spectrum *x, double *below, double *above);

#endif
