/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the module `suitesparse`, of which `suitesparse-gpl` has a part too. */
#ifndef TULLE_FACTOR_SUITESPARSE_H
#define TULLE_FACTOR_SUITESPARSE_H

#include "algo/factor/library.h"

tulle_status tulle__klu(const tulle__module_host *host, tulle__direct_work *work);

/* supernodal: by the part of CHOLMOD that is under the GPL, for a module that is too. */
tulle_status tulle__cholmod(const tulle__module_host *host, tulle__direct_work *work, int supernodal);

/* Room for n columns of nnz entries. */
tulle_status tulle__columns_room(const tulle__module_host *host, int64_t n, int64_t nnz, tulle__columns *columns);

#endif
