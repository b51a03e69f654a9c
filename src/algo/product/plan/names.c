/* SPDX-License-Identifier: Apache-2.0 */
/* The words for algorithms and transfers. */
#include <tulle/product.h>

#include "base/arg.h"
#include "base/spec.h"
#include "base/words/names.h"

TULLE__WORDS(algs, TULLE_PRODUCT_ALG_LIST);
TULLE__NAME(tulle_product_alg, alg, algs)
TULLE__PARSE(tulle_product_alg, alg, algs, "algorithm")

TULLE__WORDS(kinds, TULLE_TRANSFERS_LIST);
TULLE__NAME(tulle_transfers, transfers, kinds)
TULLE__PARSE(tulle_transfers, transfers, kinds, "kind of transfers")
