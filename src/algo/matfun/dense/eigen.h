/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of a function of a dense symmetric matrix A by LAPACK, one thread. A = H T H^T with H a
 * product of reflectors and T tridiagonal; T = V diag(x) V^T. The b columns E of f(A) are
 *
 *   f(A) E = H V f(x) Y,  Y = V^T H^T E,
 *
 * so that H, applied to b columns only, is never multiplied into V: 2 n^3 operations less than for
 * the eigenvectors of A. Column c of Y has component c of each eigenvector.
 *
 * Of a pair A c = x S c with S = L L^T the matrix is L^-1 A L^-T, and f of the pair is
 * L^-T f(L^-1 A L^-T) L^-1: the density matrix of a basis that is not orthogonal, without its square root.
 */
#ifndef TULLE_ALGO_MATFUN_DENSE_EIGEN_H
#define TULLE_ALGO_MATFUN_DENSE_EIGEN_H

#include <stdbool.h>

#include <tulle/types.h>

#include "algo/matfun/dense/step.h"

/* Room of one thread for submatrices of up to n rows, and b columns. */
typedef struct tulle__eigen {
    tulle_type type;
    int64_t most, columns;
    void *A;                /* [n * n], column-major: the lower triangle before tulle__eigen_solve */
    double *lambda, *value; /* [n], f64 for both types; value: scratch of the caller's */
    void *X;                /* [n * b]: f(A) E */
    double *Y;              /* [n * b]: Y; of a pair V^T H^T L^-1 E */
    void *S;                /* [n * n] as A, then L; NULL: there is no pair */
    double *U;              /* [n * b], of a pair: V^T H^T L^T E; Y U is the weight of S f in the columns */
    /* private */
    void *V, *d, *e, *tau, *work, *part;
    int *iwork;
    int64_t lwork, liwork;
    double *diagonal, *off, *workspace; /* of T; of a step */
    double *W;                          /* [n * b], rows: H^T L^T E */
    /*
     * of tulle__eigen_step: the spectrum, and sums over the columns j of f(A)_jj and (A f(A))_jj; of a pair
     * of (S f)_jj and (A f)_jj
     */
    tulle__gap gap;
    double sums[2];
    double rounding; /* the largest of all: | |H^T E_c|^2 - 1 |; 0 for pairs */
} tulle__eigen;

/* Largest submatrix that LAPACK's 32-bit sizes of work space allow. */
enum { TULLE__EIGEN_MOST = 46000 };

/* Bytes of such a workspace. */
size_t tulle__eigen_bytes(tulle_type type, bool pair, int64_t most, int64_t columns);

/* TULLE_ERR_UNSUPPORTED without LAPACK. After a failure too, fini frees. */
tulle_status tulle__eigen_init(tulle__eigen *x, tulle_type type, bool pair, int64_t most, int64_t columns);
void tulle__eigen_fini(tulle__eigen *x);

/* The reflectors and T of A, or the pair, of n rows; TULLE_ERR_ARG if S is not positive definite. X = H^T E for the b
 * columns that begin at column[0 .. b - 1]. */
tulle_status tulle__eigen_reduce(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column);

/* After that: eigenvalues, and Y. */
tulle_status tulle__eigen_solve(tulle__eigen *x, int64_t n, int64_t b);

/*
 * Or: X = f(A) E for f = below up to mu and above beyond it, without eigenvectors (step.h). False: they
 * are needed; X is unchanged.
 */
bool tulle__eigen_step(tulle__eigen *x, int64_t n, int64_t b, double mu, double below, double above);

/* The same for a power of a positive definite A. */
bool tulle__eigen_power(tulle__eigen *x, int64_t n, int64_t b, tulle__power power);

/* rows [n * b] of X. */
void tulle__eigen_to_rows(const tulle__eigen *x, int64_t n, int64_t b, double *rows);

/* X = H rows, or L^-T H rows, of rows [n * b]. */
void tulle__eigen_from_rows(tulle__eigen *x, int64_t n, int64_t b, const double *rows);

/* X = f(A) E from value[0 .. n - 1] = f(lambda). */
void tulle__eigen_apply(tulle__eigen *x, int64_t n, int64_t b);

/* A decomposition that is kept, for other functions of the same submatrix. A NULL: it is not. */
typedef struct tulle__decomposition {
    void *A, *V, *tau, *S;
    double *lambda, *Y;
} tulle__decomposition;

/* Bytes of one, and room for it. After a failure too, fini frees. */
size_t tulle__decomposition_bytes(const tulle__eigen *x, int64_t n, int64_t b);
tulle_status tulle__decomposition_init(tulle__decomposition *stored, const tulle__eigen *x, int64_t n, int64_t b);
void tulle__decomposition_fini(tulle__decomposition *stored);

/* After tulle__eigen_solve; and before tulle__eigen_apply. */
void tulle__eigen_keep(const tulle__eigen *x, int64_t n, int64_t b, const tulle__decomposition *stored);
void tulle__eigen_restore(tulle__eigen *x, int64_t n, int64_t b, const tulle__decomposition *stored);

#endif
