/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks block rows of a C in blocks by the definition of the product, in double and without a filter. The
 * error of a block has a norm of at most 2 eps: products that were skipped make up eps, and what was
 * removed is below eps; and of the rounding bound (verify.c).
 */
#ifndef TULLE_PRODUCT_VERIFY_BLOCKS_H
#define TULLE_PRODUCT_VERIFY_BLOCKS_H

#include "algo/product/plan/plan.h"

/* C = alpha A B, of which the plan, or NULL, has made the columns that C has, with its filter. */
typedef struct tulle__block_check {
    double alpha;
    const tulle_mat *A, *B, *C;
    const tulle_product *plan;
} tulle__block_check;

/* Change that a filter may make in a row of C x, x of +-1. */
double tulle__filter_slack(const tulle__block_check *check);

/*
 * Sampled block rows of own tiles; *error grows to the largest ratio of an error to its bound. TULLE_ERR_CHECK.
 * Nothing is looked at unless A and B are in the blocks of C; tile cuts may differ.
 */
tulle_status tulle__check_block_rows(const tulle__block_check *check, double *error);

#endif
