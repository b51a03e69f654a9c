/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of an eigenvalue. */
#ifndef TULLE_ALGO_MATFUN_FUNCTION_H
#define TULLE_ALGO_MATFUN_FUNCTION_H

#include <tulle/matfun.h>

/* TULLE_ERR_ARG, with the cause, if a parameter is wrong. */
tulle_status tulle__function_check(const tulle_function *function);

/*
 * value[i] = f(x[i]), i < n, for the ascending eigenvalues x of a matrix of that type. Returns the
 * index of the first one outside the function's domain, -1: none.
 */
int64_t tulle__function_values(
    const tulle_function *function, tulle_type type, int64_t n, const double *x, double *value);

#endif
