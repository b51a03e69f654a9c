/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that iterate on their own, each an array, and the same as lines of `ld` values, row-major, as products take
 * them: a product for all columns reads the matrix once.
 */
#ifndef TULLE_KRYLOV_COLUMNS_INTERLEAVE_H
#define TULLE_KRYLOV_COLUMNS_INTERLEAVE_H

#include "kernel/pool.h"

#include <tulle/types.h>

/* Column j of lines = factor[j] x[j], j < count; further columns are zeros. */
void tulle__lines_pack(tulle_type type, int64_t rows, tulle__pool *pool, int count, const void *const *x,
    const double *factor, void *lines, int64_t ld);

/* x[j] = column j of lines, j < count. */
void tulle__lines_unpack(
    tulle_type type, int64_t rows, tulle__pool *pool, int count, const void *lines, int64_t ld, void *const *x);

#endif
