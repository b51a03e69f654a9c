/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a product whose first factor is streamed. */
#ifndef TULLE_PRODUCT_VERIFY_H
#define TULLE_PRODUCT_VERIFY_H

#include "mat/sweep/apply.h"

/* Collective: Y = A X as tulle_product_check_matrices does it. */
tulle_status tulle__check_stream(const tulle__operand *A, const tulle_mat *X, const tulle_mat *Y, double *error);

#endif
