/* SPDX-License-Identifier: Apache-2.0 */
/* A check of compressed rows: the columns of each ascend. */
#ifndef TULLE_ARRAY_ROW_ASCENDS_H
#define TULLE_ARRAY_ROW_ASCENDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if each of the m rows has ascending columns in 0 .. n - 1; ptr, [m + 1], ascends from 0. Columns descend as
 * often from one entry to the next, wherever rows begin, as from the last entry of a row to the first of the next one:
 * both are counted without a branch, so that short rows cost no more than their pointers.
 */
bool tulle__rows_ascend(const int32_t *column, const int64_t *ptr, int64_t m, int64_t n);

#endif
