/* SPDX-License-Identifier: Apache-2.0 */
/* Report of an execution to the caller. */
#ifndef TULLE_PRODUCT_PRODUCT_REPORT_H
#define TULLE_PRODUCT_PRODUCT_REPORT_H

#include "algo/product/execution/execution.h"

/* The report of all PEs, the same on each. moved: by this one. Collective, without agreement. */
tulle_status tulle__product_report_make(tulle_product *plan, const tulle__exec *x, int64_t elapsed,
    const tulle__counters *moved, tulle_product_report *report);

#endif
