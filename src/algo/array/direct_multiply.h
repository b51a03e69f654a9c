/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse matrix in the caller's arrays times a dense one, on one PE, without matrices or a plan: the kernel checks
 * the arrays as it reads them, and copies nothing of them.
 */
#ifndef TULLE_ALGO_ARRAY_DIRECT_MULTIPLY_H
#define TULLE_ALGO_ARRAY_DIRECT_MULTIPLY_H

#include <tulle/array.h>

#include "comm/comm.h"

/*
 * C = alpha op_a(A) op_b(B) + beta C, whose shapes and descriptions are checked. Returns true if the product was made
 * here, with its status, and C is complete. False: it is one for a plan, or arrays are not valid, of which the plan's
 * matrices write the message; values of a dense C may have been written then.
 */
bool tulle__multiply_direct(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha, const tulle_array *A,
    const tulle_array *B, double beta, tulle_array *C, const tulle_product_options *options,
    tulle_product_report *report, tulle_status *status);

#endif
