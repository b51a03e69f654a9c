/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are none, named where a function's matrix enters. */
#ifndef TULLE_ALGO_MATFUN_FINITE_H
#define TULLE_ALGO_MATFUN_FINITE_H

#include "mat/mat.h"

/* TULLE_ERR_ARG with row, column and value of the first entry of A that is not finite. Collective, agreed. */
tulle_status tulle__wants_finite(const tulle_mat *A, const char *name);

#endif
