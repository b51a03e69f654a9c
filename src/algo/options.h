/* SPDX-License-Identifier: Apache-2.0 */
/* Enums in options that several public functions take: true, with the message, if one has no value of its own. */
#ifndef TULLE_ALGO_OPTIONS_H
#define TULLE_ALGO_OPTIONS_H

#include "base/arg.h"

/* tulle_product_options, or NULL */
#define TULLE__PRODUCT_WRONG(options)                                                                                  \
    ((options) && (TULLE__OUTSIDE(options->alg, TULLE_ALG_COUNT - 1) || TULLE__OUTSIDE(options->op_a, TULLE_OP_T) ||   \
                      TULLE__OUTSIDE(options->op_b, TULLE_OP_T) ||                                                     \
                      TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1)))

/* tulle_trisolve_options, or NULL: what they say of op(T) */
#define TULLE__SIDE_WRONG(options)                                                                                     \
    ((options) && (TULLE__OUTSIDE(options->uplo, TULLE_UPPER) || TULLE__OUTSIDE(options->op, TULLE_OP_T) ||            \
                      TULLE__OUTSIDE(options->diag, TULLE_DIAG_UNIT)))

#endif
