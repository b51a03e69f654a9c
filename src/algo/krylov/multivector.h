/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multivectors: arrays of a space's own rows, row-major, at most TULLE__TALL_MOST columns wide.
 * Inner products of columns are summed along the tree of the space, so that bits do not depend on
 * the distribution of rows, with one reduction for all. The threads of a PE share subtrees and
 * store only their sums.
 */
#ifndef TULLE_KRYLOV_MULTIVECTOR_H
#define TULLE_KRYLOV_MULTIVECTOR_H

#include "algo/krylov/space.h"

typedef struct tulle__multi_part { /* a subtree of own rows, summed by one thread */
    tulle_gidx at, size;
} tulle__multi_part;

typedef struct tulle__multi {
    tulle__space space;
    const tulle__kernels *kernels;
    int nparts;
    tulle__multi_part *part;
    int most;          /* inner products at a time */
    double *sums;      /* [nparts * most] */
    double *workspace; /* [threads * LEVELS * most]: scratch for the descent of a subtree */
    void *mixing;      /* coefficients in the kernels' layout */
    double *there;     /* [npieces * most], with vectors on a device: the sums that the device has made; else NULL */
} tulle__multi;

/* Local, like tulle__space_init; most: inner products at a time. */
tulle_status tulle__multi_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int most, tulle__multi *multi);
void tulle__multi_fini(tulle__multi *multi);

/* Moves the arrays to resident vectors (resident_vectors.h) of `width` columns at most; NULL: to the host. Local. */
tulle_status tulle__multi_enter(tulle__multi *multi, struct tulle__resident_vectors *resident, int width);

/* Small matrices of coefficients and inner products. */
typedef double tulle__small[TULLE__TALL_MOST][TULLE__TALL_MOST];

/* G = X^T Y, m x n. symmetric: only half of it is computed, then mirrored. */
typedef struct tulle__multi_tsmttsm {
    const void *X;
    int64_t ldx;
    const void *Y;
    int64_t ldy;
    int m, n, symmetric;
    double (*G)[TULLE__TALL_MOST];
} tulle__multi_tsmttsm;

/* Computes all products with one reduction. Collective; the same status on all PEs. */
tulle_status tulle__multi_tsmttsm_all(tulle__multi *multi, int count, const tulle__multi_tsmttsm *gram);

/* X (k columns) times `factor` B (k x n); B NULL: the identity. */
typedef struct tulle__multi_term {
    const void *X;
    int64_t ld;
    int k, n;
    double factor;
    double (*B)[TULLE__TALL_MOST];
} tulle__multi_term;

enum { TULLE__MULTI_TERMS = 10 };

/*
 * Y = (add ? Y : 0) + the sum of the terms, some of which may have fewer than n columns; any X may
 * be Y.
 */
void tulle__multi_tsmm(
    tulle__multi *multi, int nterms, const tulle__multi_term *term, int n, int add, void *Y, int64_t ld);

/* Y = Y + the sum of the terms, then the products, which may be with Y: each row of all is read once. As above. */
tulle_status tulle__multi_tsmm_tsmttsm(tulle__multi *multi, int nterms, const tulle__multi_term *term, int n, void *Y,
    int64_t ld, int count, const tulle__multi_tsmttsm *gram);

#endif
