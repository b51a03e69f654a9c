/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the computation of a density matrix. */
#ifndef TULLE_ALGO_MATFUN_DENSITY_STATE_H
#define TULLE_ALGO_MATFUN_DENSITY_STATE_H

#include <tulle/density.h>

#include "algo/matfun/matfun_plan.h"

struct tulle__density {
    tulle_comm *comm;
    const tulle_mat *H, *S;
    tulle_density_options options;
    double mu, states; /* states < 0: mu is given */
    tulle_density_report report;
    tulle_mat *X;      /* S^(-1/2), or nonorthogonal: S in blocks of both; NULL without S */
    tulle_mat *K;      /* or H in these; NULL without S: H is K */
    int64_t inserted;  /* diagonal blocks of these */
    tulle_layout *row; /* layout of K and D */
};

/*
 * *P = f(K), symmetric, by submatrices; mu, electrons, energy and gap to the report. Collective,
 * agreed.
 */
tulle_status tulle__density_by_submatrices(struct tulle__density *d, const tulle_matfun *plan, tulle_mat **P);

/* The report's coupling. Collective, agreed. */
tulle_status tulle__density_coupling(struct tulle__density *d);

/* Measures the part of D that patterns and filters cut off, to the report. Collective, agreed. */
tulle_status tulle__density_truncation(struct tulle__density *d, const tulle_mat *D);

#endif
