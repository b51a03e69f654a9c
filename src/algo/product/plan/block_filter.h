/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of products of blocks (tulle_product_options.filter), as DBCSR defines it: a row's share of
 * eps is eps / n, n its blocks, so that what is skipped of a block of C has a norm of at most eps. In
 * layers n counts the blocks of all layers, and blocks of C are removed from the sum of the layers only:
 * the result is that without layers, up to rounding.
 */
#ifndef TULLE_PRODUCT_BLOCK_FILTER_H
#define TULLE_PRODUCT_BLOCK_FILTER_H

#include "algo/product/plan/plan.h"

/* The bounds of rows, plan->least, for A's structure and alpha. Collective, agreed. */
tulle_status tulle__filter_renew(tulle_product *plan);

#endif
