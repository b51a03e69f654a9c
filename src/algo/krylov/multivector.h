/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors side by side (multivectors): arrays of a space's own rows, row-major, at most TULLE__TALL_MOST columns wide.
 * Inner products of columns with columns are summed along the tree of the space, so that bits do not depend on who has
 * which rows, with one meeting for all of them; a PE's threads share out subtrees, and keep the sums of those alone.
 */
#ifndef TULLE_KRYLOV_MULTIVECTOR_H
#define TULLE_KRYLOV_MULTIVECTOR_H

#include "algo/krylov/space.h"

typedef struct tulle__multi_part { /* a subtree of own rows, which one thread sums */
    tulle_gidx at, size;
} tulle__multi_part;

typedef struct tulle__multi {
    tulle__space space;
    const tulle__kernels *kernels;
    int nparts;
    tulle__multi_part *part;
    int most;     /* inner products at a time */
    double *sums; /* [nparts * most] */
    double *room; /* [threads * LEVELS * most]: on the way down a subtree */
    void *mixing; /* coefficients as kernels want them */
} tulle__multi;

/* Local, like tulle__space_init; most: inner products at a time. */
tulle_status tulle__multi_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int most, tulle__multi *multi);
void tulle__multi_fini(tulle__multi *multi);

/* Small matrices that go with them: coefficients, inner products. */
typedef double tulle__small[TULLE__TALL_MOST][TULLE__TALL_MOST];

/* G = X^T Y, m x n. symmetric: half of it counts, and it is made so. */
typedef struct tulle__multi_gram {
    const void *X;
    int64_t ldx;
    const void *Y;
    int64_t ldy;
    int m, n, symmetric;
    double (*G)[TULLE__TALL_MOST];
} tulle__multi_gram;

/* Collective: all of them, with one meeting. The same status on all PEs. */
tulle_status tulle__multi_grams(tulle__multi *multi, int count, const tulle__multi_gram *gram);

/* X (k columns) times `factor` B (k x n); B NULL: the identity. */
typedef struct tulle__multi_term {
    const void *X;
    int64_t ld;
    int k, n;
    double factor;
    double (*B)[TULLE__TALL_MOST];
} tulle__multi_term;

enum { TULLE__MULTI_TERMS = 10 };

/* Y = (add ? Y : 0) + the sum of the terms, of which some may have less than n columns; any X may be Y. */
void tulle__multi_mix(
    tulle__multi *multi, int nterms, const tulle__multi_term *term, int n, int add, void *Y, int64_t ld);

#endif
