/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for sparse results: a tile of C, a private block, or a panel. The outputs have their tile and rows.
 */
#ifndef TULLE_PRODUCT_DEPOSIT_H
#define TULLE_PRODUCT_DEPOSIT_H

#include "algo/product/execution/multiply.h"

/* An own tile of C: all of it, or the values only if the structure is known. */
tulle_status tulle__output_tile(const tulle__exec *x, tulle__tile_output *output);

/* Values of rows of an own tile whose structure is known. */
tulle_status tulle__output_rows(const tulle__exec *x, tulle__tile_output *output);

/*
 * A private block, laid out as a tile: a new one, which the caller gets in output->block, or the values of `known`,
 * whose size is *size, if the structure is known.
 */
void tulle__output_block(const tulle__exec *x, const tulle__result_size *size, char *known, tulle__tile_output *output);

/* A new result into output->panel, which grows if it must. */
void tulle__output_panel(const tulle__exec *x, tulle__tile_output *output);

/* The size of the result that was made. */
tulle__result_size tulle__output_size(const tulle__tile_output *output);

/*
 * A private block for the arrays of a sparse partial result. Where values are not held there are
 * only row pointers, which pretend rows of equal length until who makes the result writes better
 * ones.
 */
tulle_status tulle__block_new(const tulle_product *plan, const tulle__result_size *size, char **block);

/* True if kernels may leave the rows of C in no order: not where its parts are cut or merged afterwards. */
bool tulle__plan_unordered(const tulle_product *plan);

#endif
