/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/levels.h"

#include <string.h>

#include "base/attend.h"

void tulle__levels_fini(tulle__levels *levels)
{
    tulle__free(levels->level);
    *levels = (tulle__levels){.count = 0};
}

tulle_status tulle__levels_find(const tulle__triangle *t, tulle__levels *levels)
{
    int cursor = 0;
    if (levels->level) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)t->n, sizeof *levels->level, "levels", &levels->level));
    int32_t *level = levels->level, last = -1;
    int64_t passed = 0;
    for (int64_t step = 0; step < t->n; step++) {
        tulle_gidx row = tulle__triangle_row(t, step);
        tulle__triangle_span span = tulle__triangle_at(t, row, &cursor);
        int32_t mine = 0;
        for (int64_t e = span.from; e < span.to; e++) {
            int32_t after = level[span.tile->colind[e]] + 1;
            if (after > mine) mine = after;
        }
        level[row] = mine;
        (void)tulle__attend_each(1024, &passed); /* an interruption is met by the operation */
        if (mine > last) last = mine;
    }
    levels->count = (int64_t)last + 1;
    return TULLE_OK;
}

void tulle__levels_sort(const tulle__triangle *t, const tulle__levels *levels, int64_t *first, int32_t *sorted)
{
    memset(first, 0, ((size_t)levels->count + 1) * sizeof *first);
    for (tulle_gidx row = 0; row < t->n; row++) first[levels->level[row] + 1]++;
    for (int64_t l = 0; l < levels->count; l++) first[l + 1] += first[l];
    for (int64_t step = 0; step < t->n; step++) {
        tulle_gidx row = tulle__triangle_row(t, step);
        sorted[first[levels->level[row]]++] = (int32_t)row;
    }
    for (int64_t l = levels->count; l > 0; l--) first[l] = first[l - 1];
    first[0] = 0;
}
