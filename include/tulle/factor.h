/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Incomplete factors of a square sparse matrix without fill, for preconditioners: ILU(0) and IC(0),
 * as in Meijerink and van der Vorst, "An iterative solution method for linear systems of which the
 * coefficient matrix is a symmetric M-matrix", Math. Comp. 31 (1977), and Saad, "Iterative methods
 * for sparse linear systems", 2nd ed., 10.3.
 *
 * A is CSR of f32 or f64 in any layout, with a complete diagonal (see floor), and is not changed.
 * Factors have A's type and are stored in tiles of whole rows: those of A if it has one tile
 * column, else one a PE, with equal numbers of A's entries. They are new matrices of A's comm; the
 * caller frees them.
 *
 * Every row is computed by one worker with the operations of a serial factorisation, in its order.
 * The bits are therefore independent of the number of PEs and threads and of the layout. A row
 * waits only for the rows that it refers to. Workers are the threads of all PEs, if every PE
 * reaches all others' memory by loads and stores (one process, one host). Otherwise, and under
 * wrappers that hide this (check, net, fault) and in simulations, A is gathered on PE 0, whose
 * threads factorise, and the factors are sent back; PE 0 then needs memory for A and its factors
 * once more.
 */
#ifndef TULLE_FACTOR_H
#define TULLE_FACTOR_H

#include <tulle/mat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_factor_options {
    size_t size; /* of this struct; 0: as in the first release */
    /*
     * ILU(0): a pivot with a magnitude below floor times the largest of its row of A is raised to
     * that, keeping its sign (+ for 0), and missing diagonal entries count as 0. 0: pivots are not
     * changed, and a zero pivot or a missing diagonal entry is an error. TULLE_AUTO: 1e-3. TULLE_ERR_ARG for IC(0)
     */
    double floor;
    /*
     * IC(0): if a pivot is not positive, A + alpha diag(A) is factorised instead, with alpha =
     * shift, 2 shift, 4 shift, ... until all are (Manteuffel, Math. Comp. 34, 1980). 0: it is an
     * error. TULLE_AUTO: 1e-3. TULLE_ERR_ARG for ILU(0)
     */
    double shift;
} tulle_factor_options;

typedef struct tulle_factor_report {
    double alpha;   /* IC(0): A + alpha diag(A) was factorised; 0: A itself */
    int tries;      /* number of factorisations */
    int64_t lifted; /* ILU(0): pivots raised to the floor */
    tulle_gidx row; /* the first such row; IC(0): of the first pivot of A that was not positive; -1: none */
    int workers;    /* threads that factorised */
} tulle_factor_report;

/*
 * Collective. L is strictly lower triangular, its unit diagonal not stored; U is upper triangular
 * with its diagonal: (L + I) U = A at every position of A's pattern, which is that of L + U (and
 * the diagonal, with a floor). options and report may be NULL. TULLE_ERR_ARG, with the first such
 * row and a remedy, for a missing diagonal entry, or a pivot that is 0 or not finite.
 */
TULLE_API tulle_status tulle_factor_ilu0(
    const tulle_mat *A, const tulle_factor_options *options, tulle_mat **L, tulle_mat **U, tulle_factor_report *report);

/*
 * Collective. L is lower triangular with a positive diagonal, on the pattern of A's lower triangle,
 * with L L^T = A at every position of it; A's upper triangle is not read. options and report may be
 * NULL. TULLE_ERR_ARG, with the first such row, for a diagonal entry that is missing or not
 * positive, or a pivot that is not positive or not finite, without a shift or after many doublings
 * of it.
 */
TULLE_API tulle_status tulle_factor_ic0(
    const tulle_mat *A, const tulle_factor_options *options, tulle_mat **L, tulle_factor_report *report);

#ifdef __cplusplus
}
#endif
#endif
