/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons to refuse a product before anything is made. Local, with the same outcome on all PEs. */
#ifndef TULLE_PRODUCT_CHECK_OPERANDS_H
#define TULLE_PRODUCT_CHECK_OPERANDS_H

#include <tulle/product.h>

tulle_status tulle__check_operands(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product_options *options);
tulle_status tulle__check_replication(const tulle_product_options *options, int pes);

/* True if all PEs take the algorithm's steps together. */
int tulle__is_bulk(tulle_product_alg alg);

#endif
