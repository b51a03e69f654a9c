/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of whole matrices in blocks by iterations. */
#ifndef TULLE_ALGO_MATFUN_WHOLE_WHOLE_FUNCTION_H
#define TULLE_ALGO_MATFUN_WHOLE_WHOLE_FUNCTION_H

#include "algo/matfun/whole/iterations.h"

/* The method that computes a function by iterations; SUBMATRIX: none does. */
tulle_matfun_method tulle__whole_method(const tulle_function *function);

/* TULLE_ERR_UNSUPPORTED, with the method that computes the function, if this one does not. */
tulle_status tulle__whole_supports(tulle_matfun_method method, const tulle_function *function);

/* 0 becomes 2, the default; TULLE_ERR_ARG outside 2 ... 7. */
tulle_status tulle__order_check(int *order);

/*
 * *F = f(A) in a square grid of tiles, verified against `given`, of which the filter left A. A: in tiles of rows.
 * TULLE_ERR_CONVERGENCE with the residual. Collective, agreed.
 */
tulle_status tulle__whole_function(tulle__iterations *it, int order, const tulle_function *function, const tulle_mat *A,
    const tulle_mat *given, tulle_mat **F);

#endif
