/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submatrices or iterations with the whole matrix: estimates from the pattern, and norms of blocks in a
 * sample. A submatrix of n rows takes a n^3 + b n^2 + c, as tridiagonalisations of few rows are far below
 * the rate of those of many. A block product has a fixed cost beside its operations.
 *
 * Signs and occupations take longer than A A by a factor that falls as that product's number of block
 * products, p for a block column, grows: their results are denser than A where A is sparse, and full
 * where it is nearly so; and by the root of h's growth, as below. Powers, by coupled Newton steps, take a few products
 * of matrices as dense as the result. Where the filter has cut A, as an overlap matrix, that is nearly as dense as A.
 * Where it has cut nothing, as of a stencil, the result has h times A's reach, h = 1 + log(norm / eps) / 3 of a small
 * block of A, and as many more blocks as A^2, which has 2 times the reach, tells.
 *
 * Constants were fitted to processor times of water boxes of several block sizes, overlap matrices,
 * stencils, chains and banded matrices with filters of 1e-2 to 1e-5, and judged by others
 * (bench/matfun_auto.py, doc/matfun.md); the gap and the condition, on which the number of iterations
 * depends, are not known.
 */
#ifndef TULLE_ALGO_MATFUN_CHOOSE_METHOD_H
#define TULLE_ALGO_MATFUN_CHOOSE_METHOD_H

#include "algo/matfun/submatrices.h"

/* Seconds of all PEs' cores. Collective, without agreement. */
typedef struct tulle__method_estimate {
    double submatrices, sign, power;
} tulle__method_estimate;

tulle_status tulle__matfun_estimate(const tulle__submatrices *s, double filter, tulle__method_estimate *seconds);

#endif
