/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submatrices or iterations with the whole matrix: estimates from the pattern alone. A submatrix of
 * n rows takes a n^3 + b n^2 + c, as tridiagonalisations of few rows are far below the rate of
 * those of many. Iterations take longer than A A by a factor that falls as that product's number of
 * block products, p for a block column, grows: their results are denser than A where A is sparse,
 * and full where it is nearly so. A block product has a fixed cost beside its operations. Constants and
 * the exponent were fitted to processor times of water boxes of several block sizes with
 * filters of 1e-2 to 1e-5 (bench/submatrix.py --method); the gap, on which the number of iterations
 * depends, is not known from a pattern.
 */
#ifndef TULLE_ALGO_MATFUN_CHOOSE_METHOD_H
#define TULLE_ALGO_MATFUN_CHOOSE_METHOD_H

#include "algo/matfun/submatrices.h"

/* Seconds of all PEs' cores: [0] submatrices, [1] iterations. Collective, without agreement. */
tulle_status tulle__matfun_estimate(const tulle__submatrices *s, double seconds[2]);

#endif
