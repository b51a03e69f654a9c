/* SPDX-License-Identifier: Apache-2.0 */
/* Whether matrices and options suit each other. Local, with the cause in the message. */
#ifndef TULLE_PRODUCT_CHECK_PRODUCT_H
#define TULLE_PRODUCT_CHECK_PRODUCT_H

#include <tulle/product.h>

/* SUMMA and Cannon: tiles come step by step, for all PEs. */
int tulle__is_bulk(tulle_product_alg alg);

tulle_status tulle__check_replication(const tulle_product_options *options, int pes);
tulle_status tulle__check_operands(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product_options *options);

#endif
