/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the layers of a product (plan/layer.h) make of a dense or sparse C, brought to its owners and
 * added there.
 */
#ifndef TULLE_PRODUCT_LAYER_SUM_H
#define TULLE_PRODUCT_LAYER_SUM_H

#include "algo/product/execution/execution.h"

/*
 * Rows of a dense result that no PE adds to any more are put to the owner of C: those below `rows`
 * of a target, and of all targets. Nothing where results are read in place.
 */
void tulle__layers_put(tulle__exec *x, tulle__target *target, int64_t rows);
void tulle__layers_put_all(tulle__exec *x);
/* Waits for them. */
tulle_status tulle__layers_landed(tulle__exec *x);

/*
 * C = beta C + the results, once all of them are there. Unless only values are made, it publishes a
 * sparse C: collective, without agreement. Counts the blocks that the filter removes.
 */
tulle_status tulle__layers_sum(tulle__exec *x);

#endif
