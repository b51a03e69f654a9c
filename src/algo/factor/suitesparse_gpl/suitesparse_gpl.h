/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the module `suitesparse-gpl`. */
#ifndef TULLE_FACTOR_SUITESPARSE_GPL_H
#define TULLE_FACTOR_SUITESPARSE_GPL_H

#include "algo/factor/suitesparse/suitesparse.h"

tulle_status tulle__umfpack(const tulle__module_host *host, tulle__direct_work *work);

#endif
