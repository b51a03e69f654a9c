/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_PRODUCT_VERIFY_SELECTION_H
#define TULLE_PRODUCT_VERIFY_SELECTION_H

#include "algo/product/plan/plan.h"

/*
 * Collective, agreed: compares sampled rows of a C that holds a selection with those of the whole product, which are
 * made in double by the definition. An entry is kept or missing rightly if it is so for some values within the rounding
 * bound; *error is the largest ratio of a value's error to that.
 */
tulle_status tulle__check_selected(const tulle_product *plan, double *error);

#endif
