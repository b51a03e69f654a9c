/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of options that several public functions take: true, with a message, for an enum value out
 * of range or a negative number.
 */
#ifndef TULLE_ALGO_OPTION_VALUES_H
#define TULLE_ALGO_OPTION_VALUES_H

#include <tulle/product.h>

#include "base/arg.h"
#include "base/options.h"

/* Options of a product with those that they point to; not to be moved. */
typedef struct tulle__product_choice {
    tulle_product_options options;
    tulle_product_devices devices;
    tulle_product_blocks blocks;
} tulle__product_choice;

static inline void tulle__product_choice_join(tulle__product_choice *own)
{
    own->options.devices = &own->devices;
    own->options.blocks = &own->blocks;
}

/* As TULLE__OPTIONS, into a tulle__product_choice. */
#define TULLE__PRODUCT_OPTIONS(given, own)                                                                             \
    (tulle__options_read(                                                                                              \
         __func__, given, TULLE__FIRST_RELEASE(&(own)->options, candidates), sizeof(own)->options, &(own)->options) || \
        tulle__options_read(__func__, (own)->options.devices, TULLE__FIRST_RELEASE(&(own)->devices, resident),         \
            sizeof(own)->devices, &(own)->devices) ||                                                                  \
        tulle__options_read(__func__, (own)->options.blocks, TULLE__FIRST_RELEASE(&(own)->blocks, host_cols),          \
            sizeof(own)->blocks, &(own)->blocks) ||                                                                    \
        (tulle__product_choice_join(own), (given) = &(own)->options, 0))

/* tulle_product_options */
#define TULLE__PRODUCT_WRONG(options)                                                                                  \
    (TULLE__OUTSIDE(options->alg, TULLE_PRODUCT_ALG_COUNT - 1) || TULLE__OUTSIDE(options->op_a, TULLE_OP_T) ||         \
        TULLE__OUTSIDE(options->op_b, TULLE_OP_T) || TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1) ||  \
        TULLE__NEGATIVE(options->phases) || TULLE__NEGATIVE(options->blocks->rows) ||                                  \
        TULLE__NEGATIVE(options->blocks->cols) || TULLE__NEGATIVE(options->blocks->chunk) ||                           \
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
