/* SPDX-License-Identifier: Apache-2.0 */
/* Products with alpha = 0. */
#ifndef TULLE_PRODUCT_ONLY_BETA_H
#define TULLE_PRODUCT_ONLY_BETA_H

#include "algo/product/plan/plan.h"

/*
 * Collective, agreed: C = beta C as in BLAS: A and B are not read, a sparse C keeps its entries, and what beta = 0
 * overwrites is not read either. report may be NULL.
 */
tulle_status tulle__product_only_beta(tulle_product *plan, double beta, tulle_product_report *report);

#endif
