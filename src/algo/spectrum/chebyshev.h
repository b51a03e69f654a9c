/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Chebyshev filter of A's spectrum: p(A), p(t) = T_d((t - c) / e), is at most 1 in magnitude where the values that
 * are not wanted lie, [c - |e|, c + |e|], and rises beyond it at the wanted end, whose pairs are p(A)'s largest (Zhou,
 * Saad, Tiago, Chelikowsky, J. Comput. Phys. 219, 2006; by a Krylov method: Fang and Saad, SIAM J. Sci. Comput. 34,
 * 2012). A basis takes so many times fewer directions than products.
 *
 * Some Lanczos steps from random directions tell the bounds: the far one is a Ritz value and its residual, and the
 * near one the place beyond which the quadrature of the density of states (Lin, Saad, Yang, SIAM Review 58, 2016)
 * counts somewhat more values than are wanted. A near bound that leaves too few of them is known by p: a pair that has
 * converged with p > 1 lies beyond it, and p is monotone there. Of few pairs it is a Ritz value, beyond which there are
 * as many values as Ritz values. For the largest in magnitude the bounds are -near and near, and p is odd.
 */
#ifndef TULLE_SPECTRUM_CHEBYSHEV_H
#define TULLE_SPECTRUM_CHEBYSHEV_H

#include "algo/krylov/krylov.h"

struct tulle_spectrum;

/* MANY: pairs from which on the density of states tells the near bound. Fewer are found by single directions. */
enum { TULLE__CHEBYSHEV_TRIES = 3, TULLE__CHEBYSHEV_MANY = 20 };

typedef struct tulle__chebyshev {
    bool on;                                  /* passes are those of p(A), and values p's */
    int degree;                               /* d; 0: none was found */
    double centre, half;                      /* c, e: e > 0 for the largest */
    double near[TULLE__CHEBYSHEV_TRIES], far; /* bounds */
    double end, half_way; /* values, or magnitudes, at the end that is wanted, and where half of them are passed */
    double norm;          /* A's */
    int converged;        /* most pairs that have, */
    int64_t since;        /* and the restarts when they had */
    tulle__vector turn[2];
    void *bound[2]; /* out = A turn */
} tulle__chebyshev;

/* Collective, agreed. Freed by fini, also after a failure. */
tulle_status tulle__chebyshev_init(struct tulle_spectrum *s);
void tulle__chebyshev_fini(struct tulle_spectrum *s);

/* out = p(A) in. Collective, agreed. */
tulle_status tulle__chebyshev_pass(struct tulle_spectrum *s, int columns);

/* The residual of p(A) at which one of A is as small as it has to be, of p's value mu. */
double tulle__chebyshev_limit(const struct tulle_spectrum *s, double mu);

/* True if the near bound leaves too few values, which are no larger than p between the bounds, or no more converge. */
bool tulle__chebyshev_misses(struct tulle_spectrum *s);

/* tulle__spectrum_iterate by p(A), or without it where there are no bounds, or too narrow ones. Collective, agreed. */
tulle_status tulle__chebyshev_iterate(struct tulle_spectrum *s);

#endif
