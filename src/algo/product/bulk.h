/* SPDX-License-Identifier: Apache-2.0 */
/* SUMMA and Cannon: what the executor does under a policy whose tiles come in panels. */
#ifndef TULLE_PRODUCT_BULK_H
#define TULLE_PRODUCT_BULK_H

#include "algo/product/execute.h"

/*
 * Multiplies all units of own C tiles, step by step, in each a meeting of all PEs. With lookahead the panel of the next
 * step is on its way while one is multiplied. Every unit is its tile owner's: no partial results travel.
 */
tulle_status tulle__bulk_run(tulle__exec *x);

#endif
