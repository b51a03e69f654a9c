/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/factor/suitesparse/suitesparse.h"

#include "base/error.h"

tulle_status tulle__columns_reserve(
    const tulle__module_host *host, int64_t n, int64_t nnz, tulle__factor_columns *columns)
{
    TULLE_CALL(host->alloc((size_t)n + 1, sizeof *columns->ptr, "columns of a factor", &columns->ptr));
    TULLE_CALL(host->alloc((size_t)nnz, sizeof *columns->row, "row indices of a factor", &columns->row));
    return host->alloc((size_t)nnz, sizeof *columns->val, "values of a factor", &columns->val);
}

tulle_status tulle__factors_charge(const tulle__module_host *host, double entries, void **charge)
{
    static const double EACH =
        2 * (sizeof(int64_t) + sizeof(double)); /* in the library, and in the columns that are returned */
    *charge = NULL;
    if (!(entries > 0)) return TULLE_OK; /* the analysis gives no number */
    if (entries * EACH > 1e15) return host->fail(TULLE_ERR_LIMIT, "the factors have about %.3g entries", entries);
    /* never touched: it represents the library's memory */
    TULLE_CALL(host->alloc((size_t)entries, (size_t)EACH, "estimated size of the factors", charge));
    host->free(*charge);
    *charge = NULL;
    return host->alloc((size_t)entries, (size_t)(EACH / 2), "factors in the library's memory", charge);
}
