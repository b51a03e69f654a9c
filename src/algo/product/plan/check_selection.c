/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/checks.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/options.h"
#include "mat/mat.h"

static tulle_status check_values(const tulle_selection *s)
{
    if (s->by_rank && s->top < 0)
        return tulle__fail(TULLE_ERR_ARG, "selection.top is %" PRId64 ": entries of a row, at least 0", s->top);
    if (s->by_value && isnan(s->above))
        return tulle__fail(TULLE_ERR_ARG, "selection.above is nan: entries are above a number, or an infinity");
    return TULLE_OK;
}

tulle_status tulle__check_selection(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C,
    tulle_product_options *options, tulle_selection *selection)
{
    const tulle_selection *given = options->selection;
    if (!given) return TULLE_OK;
    if (TULLE__OPTIONS(given, selection, cosine)) return TULLE_ERR_ARG;
    TULLE_CALL(check_values(selection));
    const char *lacks = NULL;
    if (A->kind != TULLE_CSR || B->kind != TULLE_CSR || C->kind != TULLE_CSR)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a selection of entries of a product of %s and %s: both are csr",
            tulle_kind_name(A->kind), tulle_kind_name(B->kind));
    if (options->device) lacks = "on a device: the host makes it";
    if (options->devices->resident) lacks = "that is device-resident";
    if (tulle__is_shape_only(C->comm)) lacks = "without values, which decide on it";
    if (lacks) return tulle__fail(TULLE_ERR_UNSUPPORTED, "a selection of entries of a product %s", lacks);
    if (options->unordered)
        return tulle__fail(
            TULLE_ERR_ARG, "options.unordered is not read with options.selection: rows of what it selects ascend");
    options->selection = selection;
    if (options->replication == TULLE_AUTO) options->replication = 1;
    return TULLE_OK;
}
