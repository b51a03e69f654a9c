/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module `suitesparse-gpl`: UMFPACK, and CHOLMOD's supernodal part. These libraries are under
 * the GPL, and so is the module as built, although this file is not. It is built only on request
 * (TULLE_GPL).
 */
#include "algo/factor/suitesparse_gpl/suitesparse_gpl.h"

static tulle_status supernodal(const tulle__module_host *host, tulle__direct_work *work)
{
    return tulle__cholmod(host, work, 1);
}

static const tulle__direct_library library = {.lu = tulle__umfpack, .cholesky = supernodal};

static const tulle__module module = {.version = TULLE__MODULE_VERSION, .direct = &library};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    (void)host;
    return &module;
}
