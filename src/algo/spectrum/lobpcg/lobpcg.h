/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tulle_lobpcg. */
#ifndef TULLE_SPECTRUM_LOBPCG_H
#define TULLE_SPECTRUM_LOBPCG_H

#include <tulle/spectrum.h>

#include "algo/krylov/krylov.h"
#include "algo/spectrum/basis.h"

typedef struct tulle__lobpcg {
    tulle_comm *comm;
    const tulle_operator *A, *S, *M; /* S, M: NULL: the identity */
    void *times_A, *times_S, *times_M;
    tulle__vector in, out, rest, pre; /* `width` columns: out = A in or S in, pre = M rest; rest: residuals */
    int count, width, capacity;       /* pairs; columns of X; of Z, 3 width */
    bool largest;
    double tolerance;
    uint64_t seed, stream;
    int64_t max_steps, steps;
    void (*watch)(const struct tulle__lobpcg *l);
    const tulle_spectrum_options *options;
    tulle__basis Z, AZ, SZ;    /* Z's columns: X, P, W */
    int former, solved;        /* columns of X in Z; Ritz pairs, at most width */
    double *small_A, *small_S; /* [capacity^2], column-major, room apart: Z^T A Z, Z^T S Z */
    double *Y, *Q, *work, *U;  /* [capacity^2]: coefficients of Ritz vectors; of the next Z; scratch */
    double *all_theta;         /* [capacity] */
    double *theta, *residual;  /* [width]: the wanted ones first */
    double *size;              /* [width]: ||S x|| */
    double norm, worst;        /* the largest |theta| of a projection; the largest residual over its limit */
    int converged;
    bool indefinite; /* M: r^T M r was below 0 for a residual r */
    int64_t passes, columns, product_ns, begun;
} tulle__lobpcg;

/* The residual at which pair i has converged. */
double tulle__lobpcg_limit(const tulle__lobpcg *l, int i);

/*
 * From an orthonormal Z of `width` columns until all pairs have converged: the first columns of Z are vectors then,
 * with theta and residual. *off: the largest element of |X^T S X - I|. Collective, agreed.
 */
tulle_status tulle__lobpcg_iterate(tulle__lobpcg *l, double *off);

#endif
