/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with hypersparse factors (mat/compressed.h). A, B and C get three axes: the rows of A and
 * C, the columns of B and C, and those of A with the rows of B. Numbers ascend along them, so a plan of the matrices
 * on these axes has the product's entries, order of sums and choices of selections, and all of its algorithms and
 * options. C becomes hypersparse; of dense B and C the lines of op(A) are gathered and scattered. An execution after a
 * structure has changed makes axes and plan anew.
 */
#ifndef TULLE_PRODUCT_COMPRESSED_PRODUCT_H
#define TULLE_PRODUCT_COMPRESSED_PRODUCT_H

#include "algo/product/plan/plan.h"

typedef struct tulle__compressed_product tulle__compressed_product;

/* True if A, B or C is hypersparse, A is CSR, and B and C are both CSR or both dense. */
bool tulle__compressed_takes(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C);

/* Makes plan->stages.compressed of the plan's operands and options. Collective, agreed. */
tulle_status tulle__compressed_product_new(tulle_product *plan);
/* The plan to be executed, of C as it is if beta != 0. Collective, agreed. */
tulle_status tulle__compressed_product_renew(tulle_product *plan, double beta, tulle_product **inner);
/* C takes its entries over, once the plan has been executed with beta. Collective, agreed. */
tulle_status tulle__compressed_product_taken(tulle_product *plan, double beta);
/* False if C has changed since: its entries are not those of the inner plan. */
bool tulle__compressed_product_has_result(const tulle_product *plan);
/* tulle_product_check_matrices of CSR matrices, on their axes. Collective, agreed. */
tulle_status tulle__compressed_check(double alpha, const tulle_mat *A, tulle_op op_a, const tulle_mat *B, tulle_op op_b,
    const tulle_mat *C, double *error);
/* The plan that reports and checks. */
tulle_product *tulle__compressed_product_inner(const tulle_product *plan);
void tulle__compressed_product_free(tulle_product *plan);

#endif
