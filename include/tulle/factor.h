/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors of a square sparse matrix without fill, for preconditioners: ILU(0) and IC(0), as in Meijerink and
 * van der Vorst, "An iterative solution method for linear systems of which the coefficient matrix is a symmetric
 * M-matrix", Math. Comp. 31 (1977), and Saad, "Iterative methods for sparse linear systems", 2nd ed., 10.3.
 *
 * A is CSR of f32 or f64 in any layout, with an entry on every place of its diagonal (see floor), and stays as it is.
 * Factors have A's type and lie in tiles of whole rows: those of A if it has one tile column, else one a PE, of even
 * numbers of A's entries. They are new matrices of A's comm, the caller's to free.
 *
 * Every row is computed by one worker with the operations of a serial factorisation, row by row, in its order: the bits
 * are the same whatever the number of PEs and threads and the layout. A row waits only for the rows that it names.
 * Workers are the threads of all PEs where every PE reaches all others' memory by loads and stores (one process, one
 * host); else, and under wrappers that hide that (check, net, fault) and in simulations, PE 0 gets all of A, has its
 * threads factorise, and the factors are sent back: it then needs memory for A and its factors once more.
 */
#ifndef TULLE_FACTOR_H
#define TULLE_FACTOR_H

#include <tulle/mat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_factor_options {
    size_t size; /* of this struct; 0: as in the first release */
    /* ILU(0): a pivot smaller in magnitude than floor times the largest of its row of A becomes that large, its sign
       kept (+ for 0), and rows without an entry on the diagonal are factorised as if they had one of 0. 0: pivots stay,
       and one of 0, or no entry, is an error. TULLE_AUTO: 1e-3 */
    double floor;
    /* IC(0): if a pivot is not positive, A + alpha diag(A) is factorised instead, with alpha = shift, 2 shift, 4 shift,
       ... until all are (Manteuffel, Math. Comp. 34, 1980). 0: it is an error. TULLE_AUTO: 1e-3 */
    double shift;
} tulle_factor_options;

typedef struct tulle_factor_report {
    double alpha;   /* IC(0): of the matrix A + alpha diag(A) that was factorised; 0: A itself */
    int tries;      /* factorisations that this took */
    int64_t lifted; /* ILU(0): pivots that were put to the floor */
    tulle_gidx row; /* the first such row; IC(0): of the first pivot of A that was not positive; -1: none */
    int workers;    /* threads that factorised */
} tulle_factor_report;

/*
 * Collective. L strictly lower triangular, its diagonal of ones not stored, and U upper triangular with its diagonal:
 * (L + I) U = A at every place of A's pattern, which is that of L + U (and the diagonal, with a floor). options and
 * report may be NULL. TULLE_ERR_ARG, with the first such row and what can be done, if A has no entry on the diagonal
 * there, or if a pivot is 0 or not finite.
 */
TULLE_API tulle_status tulle_factor_ilu0(
    const tulle_mat *A, const tulle_factor_options *options, tulle_mat **L, tulle_mat **U, tulle_factor_report *report);

/*
 * Collective. L lower triangular with its positive diagonal, on the pattern of A's lower triangle, with L L^T = A at
 * every place of that; A's upper triangle is not looked at. options and report may be NULL.
 * TULLE_ERR_ARG, with the first such row, if A has no or no positive entry on the diagonal there, or if a pivot is not
 * positive, or not finite, with no shift or after many doublings of it.
 */
TULLE_API tulle_status tulle_factor_ic0(
    const tulle_mat *A, const tulle_factor_options *options, tulle_mat **L, tulle_factor_report *report);

#ifdef __cplusplus
}
#endif
#endif
