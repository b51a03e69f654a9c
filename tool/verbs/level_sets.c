/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/level_sets.h"

#include <stdlib.h>

tulle_status level_sets_new(tulle_gidx rows, struct level_sets *sets)
{
    *sets = (struct level_sets){.level = calloc((size_t)rows + 1, sizeof *sets->level)};
    return sets->level ? TULLE_OK
                       : tulle_fail(TULLE_ERR_MEMORY, "out of memory for levels of %lld rows", (long long)rows);
}

/* Room for a level more. */
static tulle_status grow(struct level_sets *sets)
{
    const int64_t room = sets->room ? 2 * sets->room : 64;
    int64_t *width = realloc(sets->width, (size_t)room * sizeof *width);
    if (!width) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for %lld levels", (long long)room);
    sets->width = width;
    sets->room = room;
    return TULLE_OK;
}

tulle_status level_sets_add(struct level_sets *sets, tulle_gidx row, const tulle_lidx *col, int64_t count)
{
    int64_t below = 0, e = 0;
    for (; e < count && col[e] < row; e++)
        if ((int64_t)sets->level[col[e]] + 1 > below) below = (int64_t)sets->level[col[e]] + 1;
    sets->lower += e + 1;
    if (below) sets->level[row] = (uint32_t)below; /* pages of rows without entries stay untouched */
    if (below == sets->levels) {
        if (sets->levels == sets->room) {
            const tulle_status status = grow(sets);
            if (status != TULLE_OK) return status;
        }
        sets->width[sets->levels++] = 0;
    }
    if (++sets->width[below] > sets->widest) sets->widest = sets->width[below];
    return TULLE_OK;
}

void level_sets_free(struct level_sets *sets)
{
    free(sets->level);
    free(sets->width);
}
