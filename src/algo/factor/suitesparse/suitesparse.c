/* SPDX-License-Identifier: Apache-2.0 */
/* The module `suitesparse`: the direct solvers of SuiteSparse that are under the LGPL. */
#include "algo/factor/suitesparse/suitesparse.h"

static const tulle__direct_library library = {.lu = tulle__klu, .cholesky = tulle__cholmod};

/* The same entry is handed to all; the host comes with every call. */
static const tulle__module module = {.version = TULLE__MODULE_VERSION, .direct = &library};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    (void)host;
    return &module;
}

tulle_status tulle__columns_room(const tulle__module_host *host, int64_t n, int64_t nnz, tulle__columns *columns)
{
    tulle_status status = host->alloc((size_t)n + 1, sizeof *columns->ptr, "columns of a factor", &columns->ptr);
    if (status == TULLE_OK)
        status = host->alloc((size_t)nnz, sizeof *columns->row, "row indices of a factor", &columns->row);
    if (status == TULLE_OK)
        status = host->alloc((size_t)nnz, sizeof *columns->val, "values of a factor", &columns->val);
    return status;
}
