/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed copies of the factors of a plan. */
#ifndef TULLE_PRODUCT_TRANSPOSED_STAGE_H
#define TULLE_PRODUCT_TRANSPOSED_STAGE_H

#include "algo/product/plan/plan.h"

/* That of A, or of B; NULL: there is none. */
const tulle_mat *tulle__transposed_factor(const tulle_product *plan, bool of_a);

#endif
