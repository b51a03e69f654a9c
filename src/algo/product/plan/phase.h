/* SPDX-License-Identifier: Apache-2.0 */
/* Column phases: a sparse product whose result does not fit in memory is made a range of C's columns at a time. */
#ifndef TULLE_PRODUCT_PHASE_H
#define TULLE_PRODUCT_PHASE_H

#include "algo/product/plan/plan.h"

/*
 * Refuses a sparse product that memory does not suffice for even if C is made in ranges of few columns: what is held,
 * slices of B, and what a range takes until it is merged. Agreed.
 */
tulle_status tulle__phases_check(tulle_product *plan);

/* How C is divided: from the options, or from an upper bound of its size and the memory left. Agreed. */
tulle_status tulle__phases_choose(tulle_product *plan);
void tulle__phases_fini(tulle__phases *phases);

/* The range of columns that comes next is the current one; the first, after the last or a failure. */
void tulle__phases_begin(tulle_product *plan);
/* The current range did not fit: half of it. 0: it cannot be halved. */
int tulle__phases_halve(tulle_product *plan);
/* The current range is made: what it took decides on the width of the next one. Agreed. */
tulle_status tulle__phases_end(tulle_product *plan);
/* Back to the first range. */
void tulle__phases_rewind(tulle_product *plan);
static inline int tulle__phases_last(const tulle__phases *phases)
{
    return phases->hi == phases->of;
}

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
