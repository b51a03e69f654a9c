/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The level of each row of a triangle: one more than the highest level of the rows that it
 * requires.
 */
#ifndef TULLE_TRISOLVE_LEVELS_H
#define TULLE_TRISOLVE_LEVELS_H

#include "algo/trisolve/triangle.h"

typedef struct tulle__levels {
    int32_t *level; /* [n]; NULL: not found yet */
    int64_t count;
} tulle__levels;

/* Computes levels unless they are known. Local, on a PE that reads all rows. */
tulle_status tulle__levels_find(const tulle__triangle *t, tulle__levels *levels);
/* Rows by level, and within a level in the order of solving: sorted[n], of which level l begins at first[l]. Local. */
void tulle__levels_sort(const tulle__triangle *t, const tulle__levels *levels, int64_t *first, int32_t *sorted);
void tulle__levels_fini(tulle__levels *levels);

#endif
