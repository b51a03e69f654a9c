/* SPDX-License-Identifier: Apache-2.0 */
/* Selections that a product cannot make. */
#ifndef TULLE_PRODUCT_CHECK_SELECTION_H
#define TULLE_PRODUCT_CHECK_SELECTION_H

#include <tulle/product.h>

/*
 * Copies options->selection, if there is one, and refuses it where operands or other options do not suit it. Options
 * that mean nothing with a selection become their defaults. Local.
 */
tulle_status tulle__check_selection(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C,
    tulle_product_options *options, tulle_selection *selection);

#endif
