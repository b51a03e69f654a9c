/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: rows of C whose columns are listed as they appear and put in order afterwards.
 *
 * Sums lie in an array as wide as C, and a byte a column tells whether it is in the list. A product so costs a load
 * and a store of the sum, the byte, and a store to the list, without a branch; no bit needs to be searched, however far
 * apart the columns lie. Short lists are ordered by ranks: the place of an entry is the number of smaller columns,
 * n^2 / 16 comparisons of vectors without any branch. Longer lists are sorted by digits.
 */

typedef int32_t NAME(columns) __attribute__((vector_size(TULLE__REGISTER)));

/* Lists of up to so many columns are ranked, RANKED_PER_TURN columns at a time. */
enum {
    NAME(RANKED) = 128,
    NAME(COLUMNS) = TULLE__REGISTER / 4,
    NAME(RANKED_PER_TURN) = 4 * NAME(COLUMNS),
    NAME(RANKED_AT_ONCE) = 16 /* for which ranking costs next to nothing */
};

/* Adds to the sums and lists new columns; their number. With `sum` 0 the columns only. */
INLINE int64_t NAME(fill_list)(tulle__spgemm_workspace *space, const NAME(row) * row, const int sum)
{
    uint8_t *seen = space->seen;
    T *dense = space->dense;
    int32_t *list = space->list;
    int64_t count = 0;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        const int32_t *col = segment->col;
        const T *val = segment->val, scale = segment->scale;
        const int64_t len = segment->len;
        for (int64_t b = 0; b < len; b++) {
            int32_t c = col[b];
            list[count] = c;
            count += !seen[c];
            seen[c] = 1;
            if (sum) dense[c] += scale * val[b];
        }
    }
    return count;
}

/*
 * rank[e] = how many of the columns are smaller than column e, for `vectors` registers of columns from e on. A
 * difference of columns does not overflow, and its sign is the comparison.
 */
INLINE void NAME(rank_some)(const int32_t *list, int64_t count, int64_t e, int32_t *rank, const int vectors)
{
    NAME(columns) x[4], before[4];
    memcpy(x, list + e, (size_t)vectors * sizeof *x);
    for (int v = 0; v < vectors; v++) before[v] = (NAME(columns)){0};
    for (int64_t k = 0; k < count; k++)
        for (int v = 0; v < vectors; v++) before[v] -= (list[k] - x[v]) >> 31;
    memcpy(rank + e, before, (size_t)vectors * sizeof *before);
}

/* Ranks of all columns; there is room for RANKED_PER_TURN behind both. */
static void NAME(rank)(int32_t *list, int64_t count, int32_t *rank)
{
    int64_t e = 0;
    for (int64_t l = count; l < count + NAME(RANKED_PER_TURN); l++) list[l] = TULLE__EMPTY;
    for (; count - e > 2 * NAME(COLUMNS); e += 4 * NAME(COLUMNS)) NAME(rank_some)(list, count, e, rank, 4);
    if (count - e > NAME(COLUMNS))
        NAME(rank_some)(list, count, e, rank, 2);
    else if (count > e)
        NAME(rank_some)(list, count, e, rank, 1);
}

/* Listed columns with their sums to their places: the list's order, the ranks' or that of the sorted columns. */
static tulle_status NAME(drain_list)(tulle__spgemm_workspace *space, int64_t count, int32_t *colind, T *val)
{
    const int32_t *list = space->list;
    tulle_status status = TULLE_OK;
    T *dense = space->dense;
    uint8_t *seen = space->seen;
    if (space->plan->task->unsorted) {
        for (int64_t e = 0; e < count; e++) {
            int32_t c = list[e];
            colind[e] = c;
            val[e] = dense[c];
            dense[c] = 0;
            seen[c] = 0;
        }
    } else if (count <= NAME(RANKED)) {
        int32_t rank[NAME(RANKED) + NAME(RANKED_PER_TURN)];
        NAME(rank)(space->list, count, rank);
        for (int64_t e = 0; e < count; e++) {
            int32_t c = list[e], at = rank[e];
            colind[at] = c;
            val[at] = dense[c];
            dense[c] = 0;
            seen[c] = 0;
        }
    } else {
        TULLE_TRY(tulle__spgemm_workspace_order(space, count));
        for (int64_t e = 0; e < count; e++) space->order[e] = (uint64_t)(uint32_t)list[e] << 32;
        tulle__spgemm_sort(space, count);
        for (int64_t e = 0; e < count; e++) {
            int32_t c = (int32_t)(space->order[e] >> 32);
            colind[e] = c;
            val[e] = dense[c];
            dense[c] = 0;
            seen[c] = 0;
        }
    }
out:
    return status;
}

/* One row; counted only if colind is NULL. */
static tulle_status NAME(list_row)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int32_t *colind, T *val, int64_t *nnz)
{
    int64_t most = NAME(bound)(row);
    tulle_status status;
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    TULLE_TRY(tulle__spgemm_workspace_list(space, most + NAME(RANKED_PER_TURN)));
    if (colind) {
        *nnz = NAME(fill_list)(space, row, 1);
        TULLE_TRY(NAME(drain_list)(space, *nnz, colind, val));
    } else {
        *nnz = NAME(fill_list)(space, row, 0);
        for (int64_t e = 0; e < *nnz; e++) space->seen[space->list[e]] = 0;
    }
out:
    return status;
}
