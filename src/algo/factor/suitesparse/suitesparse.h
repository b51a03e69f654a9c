/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the module `suitesparse`, of which `suitesparse-gpl` has a part too. */
#ifndef TULLE_FACTOR_SUITESPARSE_H
#define TULLE_FACTOR_SUITESPARSE_H

#include "algo/factor/library.h"

tulle_status tulle__klu(const tulle__module_host *host, tulle__direct_work *work);

/* supernodal: by the part of CHOLMOD that is under the GPL, for a module that is too. */
tulle_status tulle__cholmod(const tulle__module_host *host, tulle__direct_work *work, int supernodal);

/*
 * Charges this PE with the factors that a library is about to make in memory of its own, of so many entries by its
 * analysis: refused before the work where they do not fit. *charge is freed when the library's memory is.
 */
tulle_status tulle__factors_charge(const tulle__module_host *host, double entries, void **charge);

/* Room for n columns of nnz entries. */
tulle_status tulle__columns_room(const tulle__module_host *host, int64_t n, int64_t nnz, tulle__columns *columns);

#endif
