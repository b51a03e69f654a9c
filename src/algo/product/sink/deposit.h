/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sparse kernel on the summands in x->pair, into a tile of C, a private block, or a panel.
 */
#ifndef TULLE_PRODUCT_DEPOSIT_H
#define TULLE_PRODUCT_DEPOSIT_H

#include "algo/product/execution/execution.h"

tulle_status tulle__room_for_pairs(tulle__exec *x, int pairs);

/*
 * Rows row .. row + rows - 1 of beta C as one more summand, if there is any; returns how many there
 * are then.
 */
int tulle__add_old(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs);

/* Values of rows row .. row + rows - 1 of an own tile whose structure is known. */
tulle_status tulle__into_rows(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs);

/* Into C's own tile: whole, or the values only if the structure is known. */
tulle_status tulle__into_tile(tulle__exec *x, int i, int j, int pairs, int64_t *multiplications);

/*
 * A private block for the arrays of a sparse partial result. Where values are not held there are
 * only row pointers, which pretend rows of equal length until who makes the result writes better
 * ones.
 */
tulle_status tulle__block_new(const tulle_product *plan, const tulle__result_size *size, char **block);

/* Rows of tile (i, j) of C. */
typedef struct tulle__rows_of_tile {
    int i, j;
    int64_t row, rows;
} tulle__rows_of_tile;

/* They go into a private block, new or known, which is laid out as a tile. */
tulle_status tulle__into_block(
    tulle__exec *x, const tulle__rows_of_tile *rows, int pairs, tulle__result_size *size, char **block);

/* The same, new, into a panel, which grows if it must. */
tulle_status tulle__into_panel(
    tulle__exec *x, const tulle__rows_of_tile *rows, int pairs, tulle__panel *panel, tulle__result_size *size);

/* The arrays of such a block. */
tulle__csr_result tulle__block_result(const tulle_product *plan, const tulle__result_size *size, char *block);

/* The same as a factor: of a result whose first row is row `first` of the tile. */
tulle__csr tulle__result_csr(
    const tulle_product *plan, const tulle__csr_result *result, int64_t first, const tulle__rows_of_tile *rows);

#endif
