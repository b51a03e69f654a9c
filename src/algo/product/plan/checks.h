/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons to refuse a product before anything is made. Local, with the same outcome on all PEs. */
#ifndef TULLE_PRODUCT_CHECKS_H
#define TULLE_PRODUCT_CHECKS_H

#include <tulle/product.h>

tulle_status tulle__check_operands(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product_options *options);
tulle_status tulle__check_replication(const tulle_product_options *options, int pes);

/*
 * Options that an algorithm does not read, or that nothing reads without a device: TULLE_ERR_ARG, with those that read
 * it. Narrows the candidates of AUTO to those that read all.
 */
tulle_status tulle__check_product_options(tulle_product_options *options);

/* The first field of blocks that is not 0, as messages name it; NULL: all are 0. */
const char *tulle__blocks_given(const tulle_product_blocks *blocks);

/*
 * Copies options->selection, if there is one, and refuses it where operands or other options do not suit it. An
 * automatic replication becomes none.
 */
tulle_status tulle__check_selection(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C,
    tulle_product_options *options, tulle_selection *selection);

/* True if all PEs take the algorithm's steps together. */
int tulle__is_bulk(tulle_product_alg alg);

#endif
