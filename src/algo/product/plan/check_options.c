/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/checks.h"

#include "algo/option_readers.h"
#include "base/error.h"

static const char *name_of(int alg)
{
    return tulle_product_alg_name((tulle_product_alg)alg);
}

static tulle_status check_device(const tulle_product_options *o)
{
    const struct {
        const char *option;
        bool given;
    } rows[] = {{"devices.count", o->devices->count != 0}, {"devices.unpinned", o->devices->unpinned}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows && !o->device; r++)
        if (rows[r].given)
            return tulle__fail(
                TULLE_ERR_ARG, "options.%s is for products on devices: options.device names them", rows[r].option);
    return TULLE_OK;
}

tulle_status tulle__check_product_options(tulle_product_options *o)
{
    unsigned asynchronous = 0, all = 0, readers;
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT; a++) {
        const unsigned bit = 1u << a;
        all |= bit;
        if (!tulle__is_bulk((tulle_product_alg)a)) asynchronous |= bit;
    }
    const bool parts = o->transfers != TULLE_TRANSFERS_AUTO && o->transfers != TULLE_TRANSFERS_WHOLE,
               blocks = o->blocks->rows || o->blocks->cols || o->blocks->host_rows || o->blocks->host_cols;
    const tulle__option_reader rows[] = {
        {"transfers", parts, asynchronous},
        {"no_offset", o->no_offset, asynchronous},
        {"blocks.chunk", o->blocks->chunk != 0, 1u << TULLE_PRODUCT_STATIONARY_C},
        {"blocks.rows", blocks, 1u << TULLE_PRODUCT_STATIONARY_C},
        {"candidates", o->candidates != 0 && o->alg != TULLE_PRODUCT_AUTO, 1u << TULLE_PRODUCT_AUTO},
    };
    readers = o->candidates ? o->candidates : all;
    tulle_status status =
        tulle__option_readers(rows, sizeof rows / sizeof *rows, name_of, (int)o->alg, TULLE_PRODUCT_AUTO, &readers);
    if (status == TULLE_OK) status = check_device(o);
    if (status == TULLE_OK && parts && o->device)
        status = tulle__fail(TULLE_ERR_ARG,
            "options.transfers is whole for products on devices, to which tiles go as a whole, not %s",
            tulle_transfers_name(o->transfers));
    if (status == TULLE_OK && o->alg == TULLE_PRODUCT_AUTO && readers != all) o->candidates = readers;
    return status;
}
