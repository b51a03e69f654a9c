/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a dense product by stationary C on devices, and what these load then. */
#ifndef TULLE_PRODUCT_BLOCK_PLAN_H
#define TULLE_PRODUCT_BLOCK_PLAN_H

#include "algo/chain/block_order.h"
#include "algo/product/run/runner.h"

/*
 * The order of this PE's jobs and its shape, with the copies that the model predicts; tells the
 * runner. column: as of the runner, known by now. rows = 0: there are no jobs. Local. TULLE_ERR_LIMIT,
 * with the least capacity that will do, if devices are too small.
 */
tulle_status tulle__block_plan(const tulle__operands *operands, const tulle_product_options *options, int rank,
    tulle__runner *runner, tulle__block_order *order);

#endif
