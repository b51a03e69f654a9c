/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The density matrix of an orthogonal K by iterations with whole matrices in blocks, whose products and
 * results are filtered: what the submatrix method is compared with.
 */
#ifndef TULLE_ALGO_MATFUN_PURIFY_H
#define TULLE_ALGO_MATFUN_PURIFY_H

#include <tulle/density.h>

#include "mat/mat.h"

/*
 * *P = the projector on levels below mu, or (TC2) on the lowest `states`, in a square grid of tiles.
 * *iterations, *residual: |P^2 - P|_F of the last one, relative to |P|_F. TULLE_ERR_CONVERGENCE, with
 * them. Collective, agreed.
 */
tulle_status tulle__purify(const tulle_mat *K, tulle_density_method method, double mu, double states, double filter,
    tulle_mat **P, int *iterations, double *residual);

#endif
