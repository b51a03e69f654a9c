/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The density matrix of an orthogonal K by iterations with whole matrices in blocks, whose products
 * and results are filtered: what the submatrix method is compared with.
 */
#ifndef TULLE_ALGO_MATFUN_WHOLE_PURIFY_H
#define TULLE_ALGO_MATFUN_WHOLE_PURIFY_H

#include <tulle/density.h>

#include "algo/matfun/whole/iterations.h"

/* A method: the sign of K - mu I of some order, or a purification. */
typedef struct tulle__purification {
    tulle_density_method method;
    int order;     /* NEWTON_SCHULZ */
    double states; /* TC2, TRS4 */
    double mu;     /* given, or (TC2, TRS4) the result: where the iterations turned, between the levels */
} tulle__purification;

/*
 * *P = the projector on levels below mu, or on the lowest `states`, in a square grid of tiles, verified against
 * `given`, of which the filter left K. TULLE_ERR_CONVERGENCE with the residual. Collective, agreed.
 */
tulle_status tulle__purify(
    tulle__purification *method, tulle__iterations *it, const tulle_mat *K, const tulle_mat *given, tulle_mat **P);

#endif
