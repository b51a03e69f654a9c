/* SPDX-License-Identifier: Apache-2.0 */
/* The module `suitesparse`: the direct solvers of SuiteSparse that are under the LGPL. */
#include "algo/factor/suitesparse/suitesparse.h"

static tulle_status simplicial(const tulle__module_host *host, tulle__direct_work *work)
{
    return tulle__cholmod(host, work, 0);
}

static const tulle__direct_library library = {.lu = tulle__klu, .cholesky = simplicial};

/* All hosts get the same table; the host is passed with every call. */
static const tulle__module module = {.version = TULLE__MODULE_VERSION, .direct = &library};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    (void)host;
    return &module;
}
