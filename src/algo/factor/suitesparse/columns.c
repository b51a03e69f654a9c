/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/factor/suitesparse/suitesparse.h"

tulle_status tulle__columns_room(const tulle__module_host *host, int64_t n, int64_t nnz, tulle__columns *columns)
{
    tulle_status status = host->alloc((size_t)n + 1, sizeof *columns->ptr, "columns of a factor", &columns->ptr);
    if (status == TULLE_OK)
        status = host->alloc((size_t)nnz, sizeof *columns->row, "row indices of a factor", &columns->row);
    if (status == TULLE_OK)
        status = host->alloc((size_t)nnz, sizeof *columns->val, "values of a factor", &columns->val);
    return status;
}
