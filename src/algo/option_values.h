/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of options that several public functions take: true, with a message, for an enum value out
 * of range or a negative number.
 */
#ifndef TULLE_ALGO_OPTION_VALUES_H
#define TULLE_ALGO_OPTION_VALUES_H

#include "base/arg.h"
#include "base/options.h"

/* tulle_product_options */
#define TULLE__PRODUCT_WRONG(options)                                                                                  \
    (TULLE__OUTSIDE(options->alg, TULLE_PRODUCT_ALG_COUNT - 1) || TULLE__OUTSIDE(options->op_a, TULLE_OP_T) ||         \
        TULLE__OUTSIDE(options->op_b, TULLE_OP_T) || TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1) ||  \
        TULLE__NEGATIVE(options->phases) || TULLE__NEGATIVE(options->block_rows) ||                                    \
        TULLE__NEGATIVE(options->block_cols) || TULLE__NEGATIVE(options->chunk) ||                                     \
        TULLE__OUTSIDE(options->candidates >> 1, (1u << (TULLE_PRODUCT_ALG_COUNT - 1)) - 1))

/* tulle_trisolve_options, or NULL: what they say of op(T) */
#define TULLE__SIDE_WRONG(options)                                                                                     \
    ((options) && (TULLE__OUTSIDE(options->uplo, TULLE_UPPER) || TULLE__OUTSIDE(options->op, TULLE_OP_T) ||            \
                      TULLE__OUTSIDE(options->diag, TULLE_DIAG_UNIT)))

/* tulle_trisolve_options, or NULL: the others */
#define TULLE__SOLVE_WRONG(options)                                                                                    \
    ((options) &&                                                                                                      \
        (TULLE__OUTSIDE(options->method, TULLE_TRISOLVE_METHOD_COUNT - 1) || TULLE__NEGATIVE(options->solves) ||       \
            TULLE__NEGATIVE(options->chunk) || TULLE__NEGATIVE(options->tasks) || TULLE__NEGATIVE(options->fanout)))

#endif
