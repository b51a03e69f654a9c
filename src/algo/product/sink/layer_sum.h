/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of a product (plan/layer.h) have made, added into C. */
#ifndef TULLE_PRODUCT_LAYER_SUM_H
#define TULLE_PRODUCT_LAYER_SUM_H

#include "algo/product/execution/account_work.h"

struct tulle_product;

/*
 * C = beta C + the partial results, once all of them are there. Sparse: reuse: values only; else it
 * publishes C: collective, without agreement. Adds to *filtered the blocks that the filter removes.
 */
tulle_status tulle__layers_sum(struct tulle_product *plan, int reuse, tulle__work_account *told, int64_t *filtered);

#endif
