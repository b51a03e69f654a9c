/* SPDX-License-Identifier: Apache-2.0 */
/* A check of the columns of a row: those of a tile ascend. */
#ifndef TULLE_MAT_ROW_ASCENDS_H
#define TULLE_MAT_ROW_ASCENDS_H

#include <stdbool.h>
#include <stdint.h>

/* True if entries begin .. end - 1 have ascending columns in 0 .. n - 1. No branch an entry: compilers make vectors. */
static inline bool tulle__row_ascends(const int32_t *column, int64_t begin, int64_t end, int64_t n)
{
    int descents = 0;
    if (begin == end) return true;
    for (int64_t e = begin + 1; e < end; e++) descents |= column[e] <= column[e - 1];
    return !descents && column[begin] >= 0 && column[end - 1] < n;
}

#endif
