/* SPDX-License-Identifier: Apache-2.0 */
/* Options that an algorithm does not read, or that nothing reads without a device. */
#ifndef TULLE_PRODUCT_CHECK_OPTIONS_H
#define TULLE_PRODUCT_CHECK_OPTIONS_H

#include <tulle/product.h>

/* TULLE_ERR_ARG, with those that read it; narrows the candidates of AUTO to those that read all. Local. */
tulle_status tulle__check_product_options(tulle_product_options *options);

#endif
