/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/factor/eliminate.h"
#include "base/error.h"

tulle_status tulle__factor_order(
    int64_t n, int mt, const tulle_gidx *cut, const tulle_own_tile *L, int32_t *order, int32_t *rank)
{
    TULLE__SCOPED int64_t *start = NULL;
    int32_t levels = 0;
    int32_t *level = rank; /* holds levels until ranks are known */
    for (int t = 0; t < mt; t++)
        for (tulle_gidx i = cut[t]; i < cut[t + 1]; i++) {
            int32_t highest = -1;
            int64_t r = i - cut[t], end = L[t].rowptr[r + 1];
            for (int64_t e = L[t].rowptr[r]; e < end && L[t].colind[e] < i; e++)
                if (level[L[t].colind[e]] > highest) highest = level[L[t].colind[e]];
            level[i] = highest + 1;
            if (level[i] >= levels) levels = level[i] + 1;
        }
    TULLE_CALL(tulle__alloc_zero((size_t)levels + 1, sizeof *start, "level sets", &start));
    for (int64_t i = 0; i < n; i++) start[level[i] + 1]++;
    for (int32_t l = 0; l < levels; l++) start[l + 1] += start[l];
    for (int64_t i = 0; i < n; i++) {
        rank[i] = (int32_t)start[level[i]]++;
        order[rank[i]] = (int32_t)i;
    }
    return TULLE_OK;
}
