/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of C that a product keeps (tulle_selection): the rows that kernels may select from, when sums are complete.
 */
#ifndef TULLE_PRODUCT_SELECTION_STAGE_H
#define TULLE_PRODUCT_SELECTION_STAGE_H

#include "algo/product/plan/plan.h"
#include "kernel/row_selection.h"

/*
 * The selection for rows of tile (i, j) of what lies below the stages, from local row `row` on, whose sums are
 * complete; valid until the next call. NULL: none, or not yet.
 */
const tulle__row_selection *tulle__selection_of_rows(const tulle_product *plan, int i, int j, int64_t row);

#endif
