/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the block columns of a window that share a submatrix. */
#ifndef TULLE_ALGO_MATFUN_COMBINE_H
#define TULLE_ALGO_MATFUN_COMBINE_H

#include "algo/matfun/block_rows.h"

/*
 * Columns first .. first + count - 1, whose rows are known. group[c] = the smallest column, counted
 * from first, of the submatrix that column first + c belongs to. combine: as in
 * tulle_matfun_options. With combine = 0 no two columns come together in a submatrix of more than `most`
 * operations (tulle__submatrix_work) that one of them alone would not have. Local.
 */
tulle_status tulle__combine(
    const tulle__block_rows *pattern, tulle_gidx first, int count, int combine, double most, int *group);

#endif
