/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mu of a number of electrons without eigenvectors. At kT = 0: N(mu) is known at an anchor, where columns
 * were computed by steps. From there to the number wanted N changes by the weights of few levels, which are
 * found one by one (dense/reduction.h), window by window. If that would be many, the anchor moves: a step
 * for each submatrix gives N there.
 *
 * Then levels are extended on both sides until the highest occupied and the lowest unoccupied one of the whole
 * system are among them (frontier.h).
 *
 * With kT > 0 the levels are extended to TULLE__BEYOND kT around mu, until mu from these levels stays within.
 */
#ifndef TULLE_ALGO_MATFUN_LEVELS_LEVEL_SEARCH_H
#define TULLE_ALGO_MATFUN_LEVELS_LEVEL_SEARCH_H

#include "algo/matfun/levels/level_operations.h"

/*
 * Adds to the spectrum, for submatrices whose reduction is kept, levels around the mu of `states`, the
 * traces below them, and the bounds of these. Of others the spectrum has all levels. at: of the anchor *mu,
 * which has moved in the end if need be. With x->kT > 0 the vectors of levels are kept. Collective, agreed.
 */
tulle_status tulle__level_search(tulle__spectrum *x, tulle__reduction *reduction, const tulle__anchor *at, double *mu,
    double states, tulle__pool *pool);

/*
 * Levels around a given mu, until `frontier` is within the bounds of the spectrum; `at` are traces there, of kept
 * submatrices, or zeros. Collective, agreed.
 */
tulle_status tulle__level_gap(
    tulle__spectrum *x, tulle__reduction *reduction, tulle__anchor *at, double mu, tulle__pool *pool);

/* mu from submatrix k of this PE: a step whose trace is nearest to `states`, in the middle of its gap. Local. */
tulle_status tulle__level_guess(const tulle__reduction *r, double states, double *mu);

#endif
