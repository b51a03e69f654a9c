/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows, and the share of a filter that a row has of them. */
#ifndef TULLE_MAT_ROW_BLOCKS_H
#define TULLE_MAT_ROW_BLOCKS_H

#include <math.h>

#include "mat/mat.h"

/* Blocks of each block row of A, of all PEs; of a half also those that follow from it. Collective, no agreement. */
tulle_status tulle__mat_row_blocks(const tulle_mat *A, int64_t *count);

/*
 * Least product of the squared norms of two blocks that stays in a row of so many blocks, as DBCSR defines
 * it: a row's share of eps is eps / n.
 */
static inline double tulle__filter_least(double eps, int64_t blocks, double alpha)
{
    const double share = eps / ((double)(blocks ? blocks : 1) * fabs(alpha));
    return share * share;
}

#endif
