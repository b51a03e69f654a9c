/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices of at most TULLE__TALL_MOST rows and columns, by plain loops, for the inner products of
 * block methods.
 */
#ifndef TULLE_KRYLOV_SMALL_DENSE_H
#define TULLE_KRYLOV_SMALL_DENSE_H

#include "algo/krylov/multivector.h"

typedef double (*tulle__small_matrix)[TULLE__TALL_MOST];

/*
 * Factorises A of order n as L L^T, in its lower half. Returns the index of the first pivot that is
 * not above `least` (NaN included), with the pivot in *pivot, or -1.
 */
int tulle__small_cholesky(int n, tulle__small_matrix A, double least, double *pivot);

/* B (n x cols) = (L L^T)^-1 B. */
void tulle__small_solve(int n, tulle__small_matrix L, int cols, tulle__small_matrix B);

/* C (m x n) = A (m x k) B; or A^T B (A k x m). C is neither A nor B. */
void tulle__small_product(int m, int k, int n, tulle__small_matrix A, tulle__small_matrix B, tulle__small_matrix C);
void tulle__small_product_t(int m, int k, int n, tulle__small_matrix A, tulle__small_matrix B, tulle__small_matrix C);

void tulle__small_copy(int m, int n, tulle__small_matrix A, tulle__small_matrix B); /* B = A */
void tulle__small_identity(int n, tulle__small_matrix A);

/*
 * Pivoted Cholesky of G (n x n, ones on its diagonal where weight[j] > 0; other columns are skipped)
 * = R^T R, while there are pivots above `least`: the largest of those whose pivot * weight is within 4
 * of the largest such product. R has a row for each pivot; order[] gives its column. Returns their
 * number; *worst is the smallest pivot (1: none).
 */
int tulle__small_pivoted(
    int n, tulle__small_matrix G, const double *weight, double least, tulle__small_matrix R, int *order, double *worst);

/*
 * Orthogonal U (m x m) whose first n columns (n <= m) span those of A (m x n), which is destroyed.
 */
void tulle__small_basis(int m, int n, tulle__small_matrix A, tulle__small_matrix U);

#endif
