/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse product's rows for values of type T, over lanes.h and indices.h. Rows of C with a structure of
 * their own are made several at a time, which spgemm_panels.h, spgemm_offsets.h and spgemm_runs.h describe; the others
 * one by one, here.
 *
 * A row of C is first listed as segments, the rows of B that it sums, which also tells its flops and the range of its
 * columns. Then an accumulator sums it:
 * - copy: one segment (spgemm_copies.h)
 * - dense: sums in an array as wide as C, and bits to be scanned, where these are few or B has sets (spgemm_dense.h)
 * - listed: sums in such an array, where it stays in cache, and a list of columns (spgemm_lists.h)
 * - ordered: a small ordered table, for columns so random that every sum in an array would miss the cache
 *   (spgemm_tables.h)
 * - hash: where the ordered table is crowded and there is no room for an array (spgemm_tables.h)
 *
 * Values of a known structure are summed in the same ways, without a list; the columns of the ordered table are
 * compared with the known ones.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)

#include "device/kernels/spgemm/spgemm_offsets.h"
#include "device/kernels/spgemm/spgemm_panels.h"
#include "device/kernels/spgemm/spgemm_runs.h"
#include "kernel/row_selection_rows.h"

typedef struct NAME(segment) {
    const int32_t *col;
    const T *val;
    int64_t len;
    T scale;
} NAME(segment);

typedef struct NAME(row) {
    const NAME(segment) * segment;
    int64_t i, nsegments, flops;
    int32_t lo, hi; /* its columns lie in lo .. hi */
} NAME(row);

/* Entries of A ahead of which B is fetched: its row pointers, then the head of its row. */
enum { NAME(POINTERS_AHEAD) = 32, NAME(ROWS_AHEAD) = 16 };

/* Inlined by force: gcc finds that the function has no effect and drops calls of it. */
INLINE void NAME(fetch)(const tulle__spgemm_pair *pair, int64_t a)
{
    const int32_t *col = pair->A.colind;
    const int64_t *bp = pair->B.rowptr;
    __builtin_prefetch(&bp[col[a + NAME(POINTERS_AHEAD)]]);
    int64_t b = bp[col[a + NAME(ROWS_AHEAD)]];
    __builtin_prefetch((const T *)pair->B.val + b);
    __builtin_prefetch((const T *)pair->B.val + b + 64 / sizeof(T) - 1);
    __builtin_prefetch(pair->B.colind + b);
    __builtin_prefetch(pair->B.colind + b + 7);
}

static tulle_status NAME(list)(tulle__spgemm_workspace *space, int64_t i, NAME(row) * row)
{
    const tulle__spgemm_plan *plan = space->plan;
    const tulle__spgemm_task *task = plan->task;
    int64_t most = 0, n = 0, flops = 0;
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        most += ap ? ap[i + 1] - ap[i] : 1;
    }
    TULLE_CALL(tulle__spgemm_workspace_segments(space, most, sizeof(NAME(segment))));
    NAME(segment) *segment = space->segment;
    int32_t lo = INT32_MAX, hi = -1;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr;
        int64_t begin = ap ? ap[i] : 0, end = ap ? ap[i + 1] : 1;
        int64_t last = ap && plan->prefetch ? ap[task->m] - NAME(POINTERS_AHEAD) : 0;
        T scale = (T)pair->scale;
        for (int64_t a = begin; a < end; a++) {
            if (a < last) NAME(fetch)(pair, a);
            int64_t k = ap ? pair->A.colind[a] : i, b = bp[k], len = bp[k + 1] - b;
            if (len == 0) continue;
            const int32_t *col = pair->B.colind + b;
            NAME(segment) *s = &segment[n++];
            s->val = (const T *)pair->B.val + b;
            s->scale = ap ? scale * ((const T *)pair->A.val)[a] : scale;
            s->col = col;
            s->len = len;
            if (col[0] < lo) lo = col[0];
            if (col[len - 1] > hi) hi = col[len - 1];
            flops += s->len;
        }
    }
    *row = (NAME(row)){.segment = segment, .i = i, .nsegments = n, .flops = flops, .lo = lo, .hi = hi};
    return TULLE_OK;
}

/* Distinct columns are at most that many. */
static inline int64_t NAME(bound)(const NAME(row) * row)
{
    int64_t range = (int64_t)row->hi - row->lo + 1;
    return row->flops < range ? row->flops : range;
}

#include "device/kernels/spgemm/spgemm_copies.h"
#include "device/kernels/spgemm/spgemm_dense.h"
#include "device/kernels/spgemm/spgemm_lists.h"
#include "device/kernels/spgemm/spgemm_selected.h"
#include "device/kernels/spgemm/spgemm_tables.h"

/* ---- rows ---- */

/* Words of bits between the first and the last column. */
static inline int64_t NAME(words)(const NAME(row) * row)
{
    return ((int64_t)row->hi >> 6) - (row->lo >> 6) + 1;
}

/* If the ordered table is no good; scans: columns are wanted, too. */
static inline tulle__accumulator NAME(instead)(const tulle__spgemm_workspace *space, int scans)
{
    if (!space->plan->dense) return TULLE__ACCUMULATOR_HASH;
    return scans ? TULLE__ACCUMULATOR_LISTED : TULLE__ACCUMULATOR_DENSE;
}

/*
 * Sums in an array cost least. If they have few words of bits, which are scanned eight at a time, that is how columns
 * are found; else they are listed, as the columns of short rows are: to rank those of a vector costs less than the
 * words that are mispredicted. An array that lies outside the cache is worth no more than its bits are few.
 */
static tulle__accumulator NAME(choose)(tulle__spgemm_workspace *space, const NAME(row) * row, int scans)
{
    const tulle__spgemm_plan *plan = space->plan;
    if (plan->tuning.accumulator) return plan->tuning.accumulator;
    if (NAME(bound)(row) > 1 << 26) return TULLE__ACCUMULATOR_DENSE;
    const int64_t words = NAME(words)(row);
    const int ranked = plan->near && words > 1 && row->flops <= NAME(RANKED_AT_ONCE);
    if (plan->dense && (plan->panels || (words <= 4 * row->flops && !ranked)))
        return plan->task->unsorted ? NAME(instead)(space, scans) : TULLE__ACCUMULATOR_DENSE;
    if (scans ? plan->near : plan->near_values) return NAME(instead)(space, scans);
    if (space->crowded < 16) return TULLE__ACCUMULATOR_ORDERED;
    space->crowded--;
    return NAME(instead)(space, scans);
}

/* One row by entries: counted only if colind is NULL, else written. */
static tulle_status NAME(one_row)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int32_t *colind, T *val, int64_t capacity, int64_t *nnz)
{
    tulle_status status;
    tulle__accumulator way = NAME(choose)(space, row, 1);
    int64_t bound = NAME(bound)(row);
    if (way == TULLE__ACCUMULATOR_ORDERED) {
        int64_t slots = 4 * bound, used, count;
        TULLE_TRY(tulle__spgemm_workspace_slots(space, slots + bound + TULLE__PAD, sizeof(T)));
        count =
            colind ? NAME(fill_ordered)(space, row, slots, &used, 1) : NAME(fill_ordered)(space, row, slots, &used, 0);
        if (count >= 0) {
            if (space->crowded > 0) space->crowded--;
            if (colind)
                NAME(drain)(space->key, space->slot, used, count, capacity, colind, val);
            else
                for (int64_t x = 0; x < used; x++) space->key[x] = TULLE__EMPTY;
            *nnz = count;
            return TULLE_OK;
        }
        if (space->crowded < 64) space->crowded += 8;
        way = NAME(instead)(space, 1);
    }
    if (way == TULLE__ACCUMULATOR_LISTED) return NAME(list_row)(space, row, colind, val, nnz);
    if (way == TULLE__ACCUMULATOR_DENSE) {
        TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
        const int sets = space->plan->panels != NULL;
        if (sets)
            NAME(mark_sets)(space, row);
        else if (!colind)
            NAME(mark_dense)(space, row);
        if (!colind) {
            *nnz = NAME(count_dense)(space, row);
        } else {
            if (sets)
                NAME(sum_known)(space, row);
            else
                NAME(sum_dense)(space, row, 1);
            *nnz = NAME(drain_dense)(space, row, colind, val, capacity);
        }
        return TULLE_OK;
    }
    int log2 = NAME(log2_above)(2 * bound);
    TULLE_TRY(tulle__spgemm_workspace_slots(space, (int64_t)1 << log2, sizeof(T)));
    TULLE_TRY(tulle__spgemm_workspace_order(space, bound));
    int64_t count = NAME(fill_hash)(space, row, log2, colind != NULL);
    if (colind && !space->plan->task->unsorted) tulle__spgemm_sort(space, count);
    const T *slot = space->slot;
    for (int64_t e = 0; e < count; e++) {
        uint64_t item = space->order[e];
        space->key[(uint32_t)item] = TULLE__EMPTY;
        if (!colind) continue;
        colind[e] = (int32_t)(item >> 32);
        val[e] = slot[(uint32_t)item];
    }
    *nnz = count;
out:
    return status;
}

static tulle_status NAME(count_rows)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status = TULLE_OK;
    NAME(row) row;
    if (space->plan->runs) return NAME(count_blocks)(space, begin, end, count);
    for (int64_t i = begin; i < end; i++) {
        int64_t nnz = 0, behind;
        NAME(segment) only;
        if (NAME(find_only)(space->plan, i, &only, &behind)) {
            count[i] = (int32_t)only.len;
            continue;
        }
        TULLE_TRY(NAME(list)(space, i, &row));
        if (row.nsegments == 1)
            nnz = row.flops;
        else if (row.nsegments)
            TULLE_TRY(NAME(one_row)(space, &row, NULL, NULL, 0, &nnz));
        count[i] = (int32_t)nnz;
    }
out:
    return status;
}

/* A row of sums, or what is selected of it. */
static tulle_status NAME(write_row)(
    tulle__spgemm_workspace *space, int64_t i, int32_t *colind, T *val, int64_t capacity, int64_t *nnz)
{
    const struct tulle__row_selection *select = space->plan->task->select;
    NAME(row) row;
    int done = 0;
    *nnz = 0;
    TULLE_CALL(NAME(list)(space, i, &row));
    if (select && row.nsegments > 1) TULLE_CALL(NAME(select_positive)(space, &row, colind, val, nnz, &done));
    if (row.nsegments == 1) {
        *nnz = row.segment->len;
        NAME(copy_segment)(row.segment, 0, colind, val, capacity);
    } else if (row.nsegments && !done) {
        TULLE_CALL(NAME(one_row)(space, &row, colind, val, capacity, nnz));
    }
    if (select && !done) *nnz = NAME(entries)(select, i, *nnz, colind, val);
    return TULLE_OK;
}

static tulle_status NAME(write_rows)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count,
    int32_t *colind, T *val, int64_t capacity)
{
    tulle_status status = TULLE_OK;
    if (space->plan->runs) return NAME(write_blocks)(space, begin, end, count, colind, val, capacity);
    for (int64_t i = begin; i < end; i++) {
        int64_t nnz = 0, behind;
        NAME(segment) only;
        if (NAME(find_only)(space->plan, i, &only, &behind)) {
            nnz = only.len;
            NAME(copy_segment)(&only, behind, colind, val, capacity);
        } else {
            TULLE_TRY(NAME(write_row)(space, i, colind, val, capacity, &nnz));
        }
        count[i] = (int32_t)nnz;
        colind += nnz;
        val += nnz;
        capacity -= nnz;
    }
out:
    return status;
}

/* ---- values of a known structure: contributions elsewhere are left out ---- */

static tulle_status NAME(values_row)(
    tulle__spgemm_workspace *space, const NAME(row) * row, const int32_t *colind, int64_t nnz, T *val, int64_t capacity)
{
    tulle_status status = TULLE_OK;
    const NAME(segment) *segment = row->segment;
    if (row->nsegments == 1 && NAME(has_columns)(segment, 0, colind, nnz, 0)) {
        NAME(scale_segment)(segment, val, false);
        return TULLE_OK;
    }
    tulle__accumulator way = NAME(choose)(space, row, 0);
    if (way == TULLE__ACCUMULATOR_ORDERED) {
        int done = 0;
        if (!space->plan->task->unsorted)
            TULLE_TRY(NAME(values_ordered)(space, row, colind, nnz, val, capacity, &done));
        if (done) return TULLE_OK;
        way = NAME(instead)(space, 0);
    }
    if (way == TULLE__ACCUMULATOR_DENSE || way == TULLE__ACCUMULATOR_LISTED)
        return NAME(values_dense)(space, row, colind, nnz, val);
    return NAME(values_hash)(space, row, colind, nnz, val);
out:
    return status;
}

static tulle_status NAME(value_rows)(
    tulle__spgemm_workspace *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    NAME(row) row;
    if (space->plan->runs) return NAME(value_blocks)(space, begin, end, C);
    for (int64_t i = begin; i < end; i++) {
        int64_t at = C->rowptr[i], nnz = C->rowptr[i + 1] - at;
        tulle__fetch_entries_ahead(C->colind + at, (T *)C->val + at, nnz, sizeof(T));
        NAME(segment) only;
        int64_t behind, room = C->rowptr[end] - at;
        if (NAME(find_only)(space->plan, i, &only, &behind) &&
            NAME(has_columns)(&only, behind, C->colind + at, nnz, room)) {
            NAME(scale_segment)(&only, (T *)C->val + at, nnz + NAME(COPIED) <= (behind < room ? behind : room));
            continue;
        }
        TULLE_TRY(NAME(list)(space, i, &row));
        if (nnz) TULLE_TRY(NAME(values_row)(space, &row, C->colind + at, nnz, (T *)C->val + at, C->rowptr[end] - at));
    }
out:
    return status;
}

static tulle_status NAME(value_groups)(
    tulle__spgemm_workspace *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    for (int64_t rows; begin < end; begin += rows) {
        int done;
        TULLE_TRY(NAME(value_group)(space, begin, end, C, &rows, &done));
        if (!done) TULLE_TRY(NAME(value_rows)(space, begin, begin + rows, C));
    }
out:
    return status;
}

/* ---- all rows: groups of eight, or stretches of offsets and others ---- */

static tulle_status NAME(count)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status = TULLE_OK;
    if (space->plan->groups) return NAME(count_groups)(space, begin, end, count);
    if (!space->plan->offsets) return NAME(count_rows)(space, begin, end, count);
    for (int64_t rows; begin < end; begin += rows) {
        int64_t next = NAME(next_stretch)(space->plan, begin, end, &rows);
        TULLE_TRY(NAME(count_rows)(space, begin, next, count));
        if (rows) TULLE_TRY(NAME(count_stretch)(space, next, rows, count + next));
        begin = next;
    }
out:
    return status;
}

static tulle_status NAME(write)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count,
    int32_t *colind, void *values, int64_t capacity)
{
    tulle_status status = TULLE_OK;
    T *val = values;
    if (space->plan->groups) return NAME(write_groups)(space, begin, end, count, colind, val);
    if (!space->plan->offsets) return NAME(write_rows)(space, begin, end, count, colind, val, capacity);
    for (int64_t rows; begin < end; begin += rows) {
        int64_t next = NAME(next_stretch)(space->plan, begin, end, &rows), nnz = 0;
        TULLE_TRY(NAME(write_rows)(space, begin, next, count, colind, val, capacity));
        for (; begin < next; begin++) nnz += count[begin];
        colind += nnz;
        val += nnz;
        capacity -= nnz;
        if (!rows) break;
        TULLE_TRY(NAME(write_stretch)(space, next, rows, count + next, colind, val, &nnz));
        colind += nnz;
        val += nnz;
        capacity -= nnz;
    }
out:
    return status;
}

static tulle_status NAME(values)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    if (space->plan->groups) return NAME(value_groups)(space, begin, end, C);
    if (!space->plan->offsets) return NAME(value_rows)(space, begin, end, C);
    for (int64_t rows; begin < end; begin += rows) {
        int done = 1;
        int64_t next = NAME(next_stretch)(space->plan, begin, end, &rows);
        TULLE_TRY(NAME(value_rows)(space, begin, next, C));
        if (rows) TULLE_TRY(NAME(value_stretch)(space, next, rows, C, &done));
        if (!done) TULLE_TRY(NAME(value_rows)(space, next, next + rows, C));
        begin = next;
    }
out:
    return status;
}

#undef NAME
#undef T
