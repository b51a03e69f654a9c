/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/level_sets.h"

#include <stdlib.h>

tulle_status level_sets_new(tulle_gidx rows, struct level_sets *sets)
{
    *sets = (struct level_sets){.lower = 0};
    return counts_new(rows, &sets->level);
}

/* Room for a level more. */
static tulle_status grow(struct level_sets *sets)
{
    const int64_t capacity = sets->capacity ? 2 * sets->capacity : 64;
    int64_t *width = realloc(sets->width, (size_t)capacity * sizeof *width);
    if (!width) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for %lld levels", (long long)capacity);
    sets->width = width;
    sets->capacity = capacity;
    return TULLE_OK;
}

/* Rows of a level, which may be the first of it, and of lower ones: rows without entries are added last. */
static tulle_status add_rows(struct level_sets *sets, int64_t level, int64_t rows)
{
    while (level >= sets->levels) {
        const tulle_status status = sets->levels == sets->capacity ? grow(sets) : TULLE_OK;
        if (status != TULLE_OK) return status;
        sets->width[sets->levels++] = 0;
    }
    sets->width[level] += rows;
    if (sets->width[level] > sets->widest) sets->widest = sets->width[level];
    return TULLE_OK;
}

tulle_status level_sets_skip(struct level_sets *sets, int64_t rows)
{
    sets->lower += rows;
    return rows ? add_rows(sets, 0, rows) : TULLE_OK;
}

tulle_status level_sets_add(
    struct level_sets *sets, tulle_gidx row, bool referred, const tulle_lidx *col, int64_t count)
{
    int64_t below = 0, e = 0;
    for (; e < count && col[e] < row; e++)
        if ((int64_t)counts_get(&sets->level, col[e]) + 1 > below)
            below = (int64_t)counts_get(&sets->level, col[e]) + 1;
    sets->lower += e + 1;
    const tulle_status status = /* pages of rows without entries stay untouched */
        below && referred ? counts_set(&sets->level, row, (uint64_t)below) : TULLE_OK;
    return status == TULLE_OK ? add_rows(sets, below, 1) : status;
}

void level_sets_free(struct level_sets *sets)
{
    counts_free(&sets->level);
    free(sets->width);
}
