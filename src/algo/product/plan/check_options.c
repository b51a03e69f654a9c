/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/checks.h"

#include "algo/option_readers.h"
#include "base/error.h"

static const char *name_of(int alg)
{
    return tulle_product_alg_name((tulle_product_alg)alg);
}

const char *tulle__blocks_given(const tulle_product_blocks *b)
{
    return b->chunk                       ? "blocks.chunk"
           : b->rows || b->cols           ? "blocks.rows"
           : b->host_rows || b->host_cols ? "blocks.host_rows"
                                          : NULL;
}

static tulle_status check_device(const tulle_product_options *o)
{
    const tulle_product_devices *d = o->devices;
    const char *block = tulle__blocks_given(o->blocks), *unread = d->count      ? "devices.count"
                                                                  : d->unpinned ? "devices.unpinned"
                                                                                : block;
    if (!o->device && unread)
        return tulle__fail(TULLE_ERR_ARG, "options.%s is for products on devices: options.device names them", unread);
    if (block && (d->unpinned || d->resident))
        return tulle__fail(TULLE_ERR_ARG, "options.%s is not read with devices.%s: blocks of C are of columns that %s",
            block, d->unpinned ? "unpinned" : "resident",
            d->unpinned ? "keep to a device" : "pass through it, and do not stay");
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
    const bool parts = o->transfers != TULLE_TRANSFERS_AUTO && o->transfers != TULLE_TRANSFERS_WHOLE;
    const char *block = tulle__blocks_given(o->blocks);
    const tulle__option_reader rows[] = {
        {"transfers", parts, asynchronous},
        {"no_offset", o->no_offset, asynchronous},
        {"lookahead", o->lookahead > 0, asynchronous},
        {block ? block : "blocks", block != NULL, 1u << TULLE_PRODUCT_STATIONARY_C},
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
