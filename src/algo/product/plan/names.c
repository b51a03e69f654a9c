/* SPDX-License-Identifier: Apache-2.0 */
/* The words for algorithms and transfers. */
#include <tulle/product.h>

#include "base/arg.h"
#include "base/spec.h"

#define WORD(name, word, text) word,
static const char *const alg_names[] = {TULLE_PRODUCT_ALG_LIST(WORD)};
static const char *const transfers_names[] = {TULLE_TRANSFERS_LIST(WORD)};
#undef WORD

const char *tulle_product_alg_name(tulle_product_alg alg)
{
    return (unsigned)alg < TULLE_PRODUCT_ALG_COUNT ? alg_names[alg] : "unknown";
}

tulle_status tulle_product_alg_parse(const char *name, tulle_product_alg *alg)
{
    if (TULLE__NULL(name) || TULLE__NULL(alg)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("algorithm", name, alg_names, TULLE_PRODUCT_ALG_COUNT, &found);
    if (status == TULLE_OK) *alg = (tulle_product_alg)found;
    return status;
}

const char *tulle_transfers_name(tulle_transfers transfers)
{
    return (unsigned)transfers < TULLE_TRANSFERS_COUNT ? transfers_names[transfers] : "unknown";
}

tulle_status tulle_transfers_parse(const char *name, tulle_transfers *transfers)
{
    if (TULLE__NULL(name) || TULLE__NULL(transfers)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("kind of transfers", name, transfers_names, TULLE_TRANSFERS_COUNT, &found);
    if (status == TULLE_OK) *transfers = (tulle_transfers)found;
    return status;
}
