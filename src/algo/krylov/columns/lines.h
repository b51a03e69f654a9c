/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that iterate on their own, each an array, and the same as lines of `ld` values, row-major, as products take
 * them: a product for all columns reads the matrix once.
 */
#ifndef TULLE_KRYLOV_COLUMNS_LINES_H
#define TULLE_KRYLOV_COLUMNS_LINES_H

#include "algo/krylov/space.h"

/* Column j of lines = factor[j] x[j], j < count; further columns are zeros. */
void tulle__lines_pack(
    const tulle__space *space, int count, const void *const *x, const double *factor, void *lines, int64_t ld);

/* x[j] = column j of lines, j < count. */
void tulle__lines_unpack(const tulle__space *space, int count, const void *lines, int64_t ld, void *const *x);

#endif
