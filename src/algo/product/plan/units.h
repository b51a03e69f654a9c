/* SPDX-License-Identifier: Apache-2.0 */
/* The products of tiles, units, that C is the sum of, and the policy that deals them to PEs. */
#ifndef TULLE_PRODUCT_UNITS_H
#define TULLE_PRODUCT_UNITS_H

#include "algo/product/plan/plan.h"

/*
 * Counts units anew if the structure of a factor has changed. Local, with the same outcome on all
 * PEs.
 */
void tulle__plan_count(tulle_product *plan);

#endif
