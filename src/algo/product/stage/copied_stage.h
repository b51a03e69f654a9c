/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the factors of a plan. */
#ifndef TULLE_PRODUCT_COPIED_STAGE_H
#define TULLE_PRODUCT_COPIED_STAGE_H

#include "algo/product/plan/plan.h"

/* The copy of A, or of B; NULL: there is none. */
const tulle_mat *tulle__copied_factor(const tulle_product *plan, bool of_a);

#endif
