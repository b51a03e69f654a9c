/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of at most TULLE__TALL_MOST rows and columns, by plain loops: what a block method does with inner products.
 */
#ifndef TULLE_KRYLOV_SMALL_DENSE_H
#define TULLE_KRYLOV_SMALL_DENSE_H

#include "algo/krylov/multivector.h"

typedef double (*tulle__small_matrix)[TULLE__TALL_MOST];

/* A of n rows and columns = L L^T, in its lower half. Returns the first pivot that is not over `least` (NaN included),
 * which stands in *pivot then, or -1. */
int tulle__small_cholesky(int n, tulle__small_matrix A, double least, double *pivot);

/* B (n x cols) = (L L^T)^-1 B. */
void tulle__small_solve(int n, tulle__small_matrix L, int cols, tulle__small_matrix B);

/* C (m x n) = A (m x k) B; or A^T B (A k x m). C is neither A nor B. */
void tulle__small_product(int m, int k, int n, tulle__small_matrix A, tulle__small_matrix B, tulle__small_matrix C);
void tulle__small_product_t(int m, int k, int n, tulle__small_matrix A, tulle__small_matrix B, tulle__small_matrix C);

void tulle__small_copy(int m, int n, tulle__small_matrix A, tulle__small_matrix B); /* B = A */
void tulle__small_identity(int n, tulle__small_matrix A);

/*
 * G (n x n, its diagonal ones where live[j], else j takes no part) = R^T R as far as pivots, the largest first, are
 * over `least`: R has a row for each of them, and order[] says which column it was. Returns how many; *worst is the
 * smallest pivot that was taken (1: none).
 */
int tulle__small_pivoted(
    int n, tulle__small_matrix G, const int *live, double least, tulle__small_matrix R, int *order, double *worst);

/* Orthogonal U (m x m) whose first n columns (n <= m) span those of A (m x n), which is lost. */
void tulle__small_basis(int m, int n, tulle__small_matrix A, tulle__small_matrix U);

#endif
