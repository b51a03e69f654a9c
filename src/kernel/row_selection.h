/* SPDX-License-Identifier: Apache-2.0 */
/* Selection of a row's entries: a threshold, and the largest ones. */
#ifndef TULLE_KERNEL_ROW_SELECTION_H
#define TULLE_KERNEL_ROW_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <tulle/types.h>

/*
 * Order of entries: the larger value first; NaN after all others; equal values (also 0 and -0, and two NaN) by
 * ascending column. It is that of numpy.argsort(-row, kind="stable").
 */
typedef struct tulle__row_selection {
    int64_t top;            /* at most so many entries of a row, the first ones; INT64_MAX: all */
    bool bounded;           /* only entries > above, which NaN is not */
    double above;           /* of the result's type */
    const double *row_norm; /* [rows]: an entry is divided by the norms of its row and column; NULL: it is not */
    const double *col_norm; /* [columns]; entries with a norm of 0 are left out */
} tulle__row_selection;

/*
 * The entries that are selected of row `row`, at the front of the arrays, columns ascending; returns their number.
 * Columns are distinct and may come in any order.
 */
int64_t tulle__select_entries(
    const tulle__row_selection *selection, tulle_type type, int64_t row, int64_t count, int32_t *col, void *val);

#endif
