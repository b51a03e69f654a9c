/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the module `suitesparse`; `suitesparse-gpl` uses a part of it. */
#ifndef TULLE_FACTOR_SUITESPARSE_H
#define TULLE_FACTOR_SUITESPARSE_H

#include "algo/factor/library.h"

tulle_status tulle__klu(const tulle__module_host *host, tulle__direct_work *work);

/* supernodal: by the part of CHOLMOD that is under the GPL, for a module that is too. */
tulle_status tulle__cholmod(const tulle__module_host *host, tulle__direct_work *work, int supernodal);

/*
 * Charges this PE with the memory of a library's factors, by the number of entries of its analysis.
 * Refuses before the work if they do not fit. The caller frees *charge together with the library's
 * memory.
 */
tulle_status tulle__factors_charge(const tulle__module_host *host, double entries, void **charge);

/* Allocates n columns of nnz entries. */
tulle_status tulle__columns_reserve(
    const tulle__module_host *host, int64_t n, int64_t nnz, tulle__factor_columns *columns);

#endif
