/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/array/row_ascends.h"

bool tulle__rows_ascend(const int32_t *column, const int64_t *ptr, int64_t m, int64_t n)
{
    enum { PIECE = 1 << 12 }; /* entries, whose descents are counted in 32 bits */
    const int64_t nnz = ptr[m];
    int64_t descents = 0, between = 0;
    int32_t low = 0, high = -1; /* the least and the largest column */
    if (!nnz) return true;
    for (int64_t from = 0, to; from < nnz; from = to) {
        int32_t some = 0;
        to = from + PIECE < nnz ? from + PIECE : nnz;
        for (int64_t e = from; e < to; e++) {
            low = column[e] < low ? column[e] : low;
            high = column[e] > high ? column[e] : high;
        }
        for (int64_t e = from ? from : 1; e < to; e++) some += column[e] <= column[e - 1];
        descents += some;
    }
    for (int64_t r = 1; nnz > 1 && r < m; r++) {
        const int64_t begin = ptr[r], at = begin > 0 && begin < nnz ? begin : 1;
        between += (begin > 0) & (ptr[r + 1] > begin) & (column[at] <= column[at - 1]); /* nothing of an empty row */
    }
    return descents == between && low >= 0 && high < n;
}
