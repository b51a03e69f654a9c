/* SPDX-License-Identifier: Apache-2.0 */
/* What the model says of a plan: the algorithm that AUTO becomes, the time, and what transfers cost. */
#ifndef TULLE_PRODUCT_CHOOSE_H
#define TULLE_PRODUCT_CHOOSE_H

#include "algo/product/plan.h"

/* Collective with agreement. Sets plan->predicted, and *alg if it is AUTO: PE 0 predicts and tells the others. */
tulle_status tulle__choose(tulle_plan *plan, tulle_alg *alg);

/* Collective with agreement. Sets plan->prices: what PE 0 goes by. */
tulle_status tulle__choose_prices(tulle_plan *plan);

#endif
