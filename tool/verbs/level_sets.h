/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level sets of L x = b, L the strict lower part of A with a unit diagonal (paper sptrsv-zero-copy, Table I). A row's
 * level is one more than the highest level among the rows that it refers to, so a row without such rows has level 1.
 * Rows arrive in ascending order, so every level is known when it is required.
 */
#ifndef TULLE_TOOL_LEVEL_SETS_H
#define TULLE_TOOL_LEVEL_SETS_H

#include "report/counts.h"

struct level_sets {
    struct counts level; /* [row]: levels below its own */
    int64_t *width;      /* [level - 1]: its rows */
    int64_t capacity, levels, widest;
    int64_t lower; /* entries, with the diagonal */
};

tulle_status level_sets_new(tulle_gidx rows, struct level_sets *sets);
/*
 * The next row, whose columns ascend. row and col are positions on one axis of columns; `referred`: the row's own
 * column is on it, else `row` is the position of the next one.
 */
tulle_status level_sets_add(
    struct level_sets *sets, tulle_gidx row, bool referred, const tulle_lidx *col, int64_t count);
/* Rows without entries. */
tulle_status level_sets_skip(struct level_sets *sets, int64_t rows);
void level_sets_free(struct level_sets *sets);

#endif
