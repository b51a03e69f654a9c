/* SPDX-License-Identifier: Apache-2.0 */
/* Column phases: a sparse product whose result does not fit in memory is made a range of C's columns at a time. */
#ifndef TULLE_PRODUCT_PHASE_H
#define TULLE_PRODUCT_PHASE_H

#include "algo/product/plan.h"

/* Sets plan->phases from the options, or from an upper bound of the result's size and the memory left. Agreed. */
tulle_status tulle__plan_choose_phases(tulle_plan *plan);

/* Columns [lo, hi) of tile column j of the caller's C that belong to the phase, local to the tile. */
void tulle__phase_columns(const tulle_plan *plan, int phase, int j, tulle_gidx *lo, tulle_gidx *hi);
/* The same of a tile column of the plan's grid. */
void tulle__phase_part(const tulle_plan *plan, int phase, int j, tulle_gidx *lo, tulle_gidx *hi);

/* The columns [lo, hi) of a tile, with their old indices, in a block of its own to be freed: *block. */
tulle_status tulle__phase_slice(const tulle_tile *tile, tulle_gidx lo, tulle_gidx hi, tulle__csr *slice, void **block);

#endif
