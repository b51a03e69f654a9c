/* SPDX-License-Identifier: Apache-2.0 */
/* Column phases: a sparse product whose result does not fit in memory is made a range of C's columns at a time. */
#ifndef TULLE_PRODUCT_PHASE_H
#define TULLE_PRODUCT_PHASE_H

#include "algo/product/plan/plan.h"

/* The range of columns that comes next is the current one; the first, after the last or a failure. */
void tulle__phases_begin(tulle_product *plan);
/* The current range did not fit: half of it. 0: it cannot be halved. */
int tulle__phases_halve(tulle_product *plan);
/* The current range is made: what it took decides on the width of the next one. Agreed. */
tulle_status tulle__phases_end(tulle_product *plan);
/* Back to the first range. */
void tulle__phases_rewind(tulle_product *plan);

/* The number of ranges that C takes, about, if it does not fit at once; else 0. */
int tulle__phases_several(const tulle_product *plan);

/* The current range. */
typedef struct tulle__phase_figures {
    tulle_columns columns;
    int dropped;   /* ranges that did not fit, since the last execution began */
    int64_t ahead; /* ranges that come after it, about */
} tulle__phase_figures;
tulle__phase_figures tulle__phases_figures(const tulle_product *plan);

/* Columns [lo, hi) of tile column j of the caller's C that are in the current range, local to the tile. */
void tulle__phase_columns(const tulle_product *plan, int j, tulle_gidx *lo, tulle_gidx *hi);
/* The same of a tile column of the plan's grid. */
void tulle__phase_part(const tulle_product *plan, int j, tulle_gidx *lo, tulle_gidx *hi);

/*
 * The columns [lo, hi) of a tile, with their old indices, in a block of its own to be freed: *block. Of blocks those
 * whose first column is in the range.
 */
tulle_status tulle__phase_slice(const tulle_tile *tile, tulle_gidx lo, tulle_gidx hi, tulle__csr *slice, void **block);

#endif
