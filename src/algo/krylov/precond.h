/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditioners by kind. Both are collective and agreed. */
#ifndef TULLE_KRYLOV_PRECOND_H
#define TULLE_KRYLOV_PRECOND_H

#include "algo/krylov/operator.h"

enum { TULLE__BLOCK_MOST = 4096 };

/* Dense diagonal blocks of `block` rows; 1: the diagonal. */
tulle_status tulle__jacobi_new(const tulle_mat *A, int block, tulle_operator *M);

/* L and U, or L and L^T, and their solvers. */
tulle_status tulle__factored_new(
    const tulle_mat *A, tulle_precond_kind precond, const tulle_precond_options *options, tulle_operator *M);

#endif
