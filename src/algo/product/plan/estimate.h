/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Share of the multiplications of a sparse product fall on entries of C that there are already: from some rows of
 * each tile row of C, whose entries are counted by the least of K random ranks of their columns (E. Cohen,
 * Size-estimation framework with applications to transitive closure and reachability, JCSS 1997). A row costs the
 * entries of A and of the rows of B that it names; no tile moves.
 */
#ifndef TULLE_PRODUCT_ESTIMATE_H
#define TULLE_PRODUCT_ESTIMATE_H

#include "mat/mat.h"

/*
 * ratio[i] = entries of tile row i of A B, of n columns, over the sum of min(work[r], n) of its rows, where work[r] is
 * the multiplications of row r (tulle_mat_row_flops): at most 1; 1 where it is not found. Off by a tenth, or, where all
 * rows of B are alike, by a quarter (one standard deviation). Collective, the same on all PEs.
 */
tulle_status tulle__estimate_ratio(const tulle_mat *A, const tulle_mat *B, const int64_t *work, double *ratio);

#endif
