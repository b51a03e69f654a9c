/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a plan by the model: the algorithm that AUTO becomes, the time, and what transfers
 * cost.
 */
#ifndef TULLE_PRODUCT_CHOOSE_H
#define TULLE_PRODUCT_CHOOSE_H

#include "algo/product/plan/plan.h"

/*
 * Collective, agreed: PE 0 chooses and tells the others. Sets plan->sources->prices. With `predicted` it
 * also sets plan->predicted and plan->group (0 if the model does not say), and *alg if that is
 * AUTO.
 */
tulle_status tulle__choose(tulle_product *plan, int predicted, tulle_product_alg *alg);

#endif
