/* SPDX-License-Identifier: Apache-2.0 */
/* MINRES of several columns that share their products. minres.c explains it. */
#ifndef TULLE_KRYLOV_MINRES_H
#define TULLE_KRYLOV_MINRES_H

#include "algo/krylov/krylov.h"

/*
 * Solves all columns, `width` at a time. B and X have whole rows in the operator's layout. *failed receives a column
 * that did not converge. Collective, agreed.
 */
tulle_status tulle__minres_solve(const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options,
    int width, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed);

/* Vectors of n rows that a column takes, with those of products. */
enum { TULLE__MINRES_VECTORS = 18 };

#endif
