/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices in blocks without infinities and NaN, where functions need them. */
#ifndef TULLE_MAT_ALGEBRA_FINITE_H
#define TULLE_MAT_ALGEBRA_FINITE_H

#include "mat/mat.h"

/* TULLE_ERR_ARG with row, column and value of the first entry of A that is not finite. Collective, agreed. */
tulle_status tulle__wants_finite(const tulle_mat *A, const char *name);

#endif
