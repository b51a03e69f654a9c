/* SPDX-License-Identifier: Apache-2.0 */
/* Eigenpairs of small dense symmetric matrices, n x n, column-major: C (lost) = U diag(lambda) U^T, ascending. */
#ifndef TULLE_SPECTRUM_SMALL_EIGEN_H
#define TULLE_SPECTRUM_SMALL_EIGEN_H

#include <tulle/team.h>

/* By Jacobi's rotations: the same bits on all PEs, whatever their processors. Local. */
tulle_status tulle__small_eigen(int n, double *C, double *U, double *lambda);

/* By LAPACK where there is one, on PE 0, which sends the others its results. Collective, agreed. */
tulle_status tulle__small_eigen_of_all(tulle_comm *comm, int n, double *C, double *U, double *lambda);

#endif
