/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan for singular values. */
#ifndef TULLE_SPECTRUM_SVD_PLAN_H
#define TULLE_SPECTRUM_SVD_PLAN_H

#include "algo/spectrum/gram.h"
#include "algo/spectrum/spectrum_plan.h"

/* Random directions at a time that complete U. */
enum { TULLE__SVD_DIRECTIONS = 4 };

struct tulle_svd {
    tulle__owned owned;
    tulle_svd_options options; /* count: as chosen */
    tulle_mat *transposed;     /* A^T takes the place of A, and U that of V */
    tulle__row_passes rows;
    tulle__gram gram;
    tulle_operator op;
    tulle_spectrum *spectrum;
    double *mean, *deviation, *factor; /* [n]; NULL: none */
    double variance;
    tulle__basis left; /* S V, then U */
    int width;         /* columns of a last pass */
};

static inline double tulle__svd_epsilon(const tulle_svd *s)
{
    return s->rows.type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

/* Values at most this are zero to rounding: their left vectors are not S v / sigma. */
static inline double tulle__svd_zero(const tulle_svd *s, double largest)
{
    return 1e3 * tulle__svd_epsilon(s) * largest + 2 * s->spectrum->noise;
}

/* ||S^T u - sigma v|| at which a triplet has converged. */
double tulle__svd_limit(const tulle_svd *s, double sigma, double largest);

/* A last pass of V's columns from `at` on leaves S V in `left`: the hook of the method for eigenpairs. */
void tulle__svd_keep_product(void *arg, int at);

/*
 * From the `found` pairs of S^T S, V in the method's basis and S V in `left`, with their residuals: triplets, U in
 * `left`. *orthogonality: of U, before it was corrected. Collective, agreed.
 */
tulle_status tulle__svd_triplets(tulle_svd *s, int found, double *sigma, double *residual, double *orthogonality);

/* X = the `found` columns of a basis, times factor[c] if it is there, then zeros. Collective, agreed. */
tulle_status tulle__svd_write(const tulle_svd *s, const tulle__basis *basis, const tulle_layout *layout, int found,
    const double *factor, tulle_mat *X);

#endif
