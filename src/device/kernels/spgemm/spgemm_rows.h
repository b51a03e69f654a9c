/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse product's row kernels, included once an instruction set and value type with
 *   T, NAME(x)                       the type, and x with its suffix
 *   ROWS                             the function attribute of the instruction set
 *   LIST_WORDS                       tulle__list_words or the same with vectors
 * and the vector helpers NAME(copy_runs) and NAME(drain) of that instruction set, beside those of spgemm_runs.h.
 *
 * Where B comes in runs of columns (finite elements) rows of C are made in blocks, see spgemm_runs.h. Else a row of C
 * is first listed as segments, the rows of B it sums, which also tells its flops and the range of its columns. Then it
 * goes one of these ways:
 * - copy: one segment
 * - dense: sums in an array as wide as C, and bits to be scanned, where these are few against the flops
 * - listed: sums in such an array, where it stays in cache, and a list of columns, see spgemm_lists.h
 * - ordered: a small table whose slots follow the columns by linear interpolation, kept ordered while it is filled
 *   (linear probing sort, Gonnet and Munro 1984): it is drained sorted, without a sort. For columns so random that
 *   every sum in an array would miss the cache.
 * - hash: a multiplicative hash, then a sort: where the ordered table is crowded and there is no room for an array.
 *
 * Values of a known structure go the same ways, without a list; into the ordered table its columns are put in one sweep
 * beforehand.
 */

#include "base/prefetch.h"
#include "device/kernels/spgemm/spgemm_panels.h"
#include "device/kernels/spgemm/spgemm_runs.h"
#include "device/kernels/spgemm/spgemm_shifts.h"

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
ROWS static inline __attribute__((always_inline)) void NAME(fetch)(const tulle__spgemm_pair *pair, int64_t a)
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

ROWS static tulle_status NAME(list)(tulle__spgemm_space *space, int64_t i, NAME(row) * row)
{
    const tulle__spgemm_plan *plan = space->plan;
    const tulle__spgemm_task *task = plan->task;
    int64_t most = 0, n = 0, flops = 0;
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        most += ap ? ap[i + 1] - ap[i] : 1;
    }
    tulle_status status = tulle__spgemm_space_segments(space, most, sizeof(NAME(segment)));
    if (status != TULLE_OK) return status;
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

/* ---- dense ---- */

ROWS static __attribute__((noinline)) void NAME(mark_dense)(tulle__spgemm_space *space, const NAME(row) * row)
{
    uint64_t *bits = space->bits;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const int32_t *col = row->segment[s].col;
        for (int64_t b = 0; b < row->segment[s].len; b++) {
            uint32_t c = (uint32_t)col[b];
            bits[c >> 6] |= (uint64_t)1 << (c & 63);
        }
    }
}

ROWS static __attribute__((noinline)) void NAME(sum_dense)(tulle__spgemm_space *space, const NAME(row) * row, int mark)
{
    uint64_t *bits = space->bits;
    T *dense = space->dense;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        const int32_t *col = segment->col;
        const T *val = segment->val, scale = segment->scale;
        for (int64_t b = 0; b < segment->len; b++) {
            uint32_t c = (uint32_t)col[b];
            if (mark) bits[c >> 6] |= (uint64_t)1 << (c & 63);
            dense[c] += scale * val[b];
        }
    }
}

ROWS static __attribute__((noinline)) int64_t NAME(count_dense)(tulle__spgemm_space *space, const NAME(row) * row)
{
    int64_t nnz = 0;
    for (int32_t word = row->lo >> 6; word <= row->hi >> 6; word++) {
        nnz += __builtin_popcountll(space->bits[word]);
        space->bits[word] = 0;
    }
    return nnz;
}

/*
 * Branches that tell which words have bits, or which have a second one, would be foreseen wrongly for about every other
 * entry where there is one entry in a few words: words are listed without them, and two columns of each are written
 * before it is known whether there is a second.
 */
ROWS static __attribute__((noinline)) int64_t NAME(drain_dense)(
    tulle__spgemm_space *space, const NAME(row) * row, int32_t *colind, T *val, int64_t room)
{
    T *dense = space->dense;
    int64_t nnz = 0, n = LIST_WORDS(space->bits, row->lo >> 6, (row->hi >> 6) + 1, space->word);
    for (int64_t w = 0; w < n; w++) {
        const int32_t first = space->word[w] * 64;
        uint64_t bits = space->bits[space->word[w]], others = bits & (bits - 1);
        int count = __builtin_popcountll(bits);
        space->bits[space->word[w]] = 0;
        colind[nnz] = first + __builtin_ctzll(bits);
        if (nnz + 1 < room) colind[nnz + 1] = first + __builtin_ctzll(others | (uint64_t)1 << 63);
        if (count > 2) {
            bits = others & (others - 1);
            for (int64_t e = nnz + 2; bits; bits &= bits - 1) colind[e++] = first + __builtin_ctzll(bits);
        }
        nnz += count;
    }
    for (int64_t e = 0; e < nnz; e++) {
        val[e] = dense[colind[e]];
        dense[colind[e]] = 0;
    }
    return nnz;
}

#include "device/kernels/spgemm/spgemm_lists.h"

/* ---- ordered table ---- */

/* The line from columns lo .. hi to slots. */
typedef struct NAME(line) {
    uint64_t factor; /* slots a column, times 2^32 */
    int32_t lo;
} NAME(line);

static inline NAME(line) NAME(line_of)(int32_t lo, int32_t hi, int64_t slots)
{
    return (NAME(line)){.factor = ((uint64_t)slots << 32) / ((uint64_t)hi - (uint64_t)lo + 1), .lo = lo};
}

static inline int64_t NAME(home)(NAME(line) line, int32_t c)
{
    return (int64_t)(((uint64_t)(c - line.lo) * line.factor) >> 32);
}

/* Fills the table; the entries, or -1 if the columns crowd in few places (the table is empty then). */
ROWS static inline int64_t NAME(fill_ordered)(
    tulle__spgemm_space *space, const NAME(row) * row, int64_t slots, int64_t *used, int sum)
{
    int32_t *key = space->key;
    T *slot = space->slot;
    NAME(line) line = NAME(line_of)(row->lo, row->hi, slots);
    int64_t count = 0, steps = 0, budget = 4 * row->flops + 64, last = slots;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        for (int64_t b = 0; b < segment->len; b++) {
            int32_t c = segment->col[b];
            int64_t x = NAME(home)(line, c);
            while (key[x] < c) {
                x++;
                steps++;
            }
            if (key[x] != c) {
                if (key[x] != TULLE__EMPTY) { /* make room: those behind move on by one slot */
                    int64_t free = x + 1;
                    while (key[free] != TULLE__EMPTY) free++;
                    steps += free - x;
                    for (int64_t y = free; y > x; y--) {
                        key[y] = key[y - 1];
                        if (sum) slot[y] = slot[y - 1];
                    }
                    if (free >= last) last = free + 1;
                } else if (x >= last) {
                    last = x + 1;
                }
                key[x] = c;
                if (sum) slot[x] = 0;
                count++;
            }
            if (sum) slot[x] += segment->scale * segment->val[b];
        }
        if (steps > budget) {
            for (int64_t x = 0; x < last; x++) key[x] = TULLE__EMPTY;
            return -1;
        }
    }
    *used = last;
    return count;
}

/* ---- hash ---- */

static inline int NAME(log2_above)(int64_t count)
{
    return count < 2 ? 1 : 64 - __builtin_clzll((unsigned long long)count - 1);
}

/* Slot of column c, free or its own. */
ROWS static inline int64_t NAME(find)(const int32_t *key, int32_t c, int log2)
{
    uint32_t mask = ((uint32_t)1 << log2) - 1, x = ((uint32_t)c * 0x9e3779b1u) >> (32 - log2);
    while (key[x] != c && key[x] != TULLE__EMPTY) x = (x + 1) & mask;
    return x;
}

ROWS static __attribute__((noinline)) int64_t NAME(fill_hash)(
    tulle__spgemm_space *space, const NAME(row) * row, int log2, int sum)
{
    T *slot = space->slot;
    int64_t count = 0;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        for (int64_t b = 0; b < segment->len; b++) {
            int32_t c = segment->col[b];
            int64_t x = NAME(find)(space->key, c, log2);
            if (space->key[x] == TULLE__EMPTY) {
                space->key[x] = c;
                space->order[count++] = (uint64_t)(uint32_t)c << 32 | (uint64_t)x;
                slot[x] = 0;
            }
            if (sum) slot[x] += segment->scale * segment->val[b];
        }
    }
    return count;
}

/* ---- rows ---- */

/* Words of bits between the first and the last column. */
static inline int64_t NAME(words)(const NAME(row) * row)
{
    return ((int64_t)row->hi >> 6) - (row->lo >> 6) + 1;
}

/* Where the ordered table is no good; scans: columns are wanted, too. */
static inline tulle__accumulator NAME(instead)(const tulle__spgemm_space *space, int scans)
{
    if (!space->plan->dense) return TULLE__ACCUMULATOR_HASH;
    return scans ? TULLE__ACCUMULATOR_LISTED : TULLE__ACCUMULATOR_DENSE;
}

/*
 * Sums in an array cost least. If they have few words of bits, which are scanned eight at a time, that is how columns
 * are found; else they are listed. An array that lies outside the cache is worth no more than its bits are few.
 */
ROWS static tulle__accumulator NAME(choose)(tulle__spgemm_space *space, const NAME(row) * row, int scans)
{
    const tulle__spgemm_plan *plan = space->plan;
    if (plan->knobs.accumulator) return plan->knobs.accumulator;
    if (NAME(bound)(row) > 1 << 26) return TULLE__ACCUMULATOR_DENSE;
    if (plan->dense && NAME(words)(row) <= 4 * row->flops)
        return plan->task->unsorted ? NAME(instead)(space, scans) : TULLE__ACCUMULATOR_DENSE;
    if (scans ? plan->near : plan->near_values) return NAME(instead)(space, scans);
    if (space->crowded < 16) return TULLE__ACCUMULATOR_ORDERED;
    space->crowded--;
    return NAME(instead)(space, scans);
}

/* One row by entries: counted only if colind is NULL, else written. */
ROWS static tulle_status NAME(one_row)(
    tulle__spgemm_space *space, const NAME(row) * row, int32_t *colind, T *val, int64_t room, int64_t *nnz)
{
    tulle_status status;
    tulle__accumulator way = NAME(choose)(space, row, 1);
    int64_t bound = NAME(bound)(row);
    if (way == TULLE__ACCUMULATOR_ORDERED) {
        int64_t slots = 4 * bound, used, count;
        TULLE_TRY(tulle__spgemm_space_slots(space, slots + bound + TULLE__PAD, sizeof(T)));
        count =
            colind ? NAME(fill_ordered)(space, row, slots, &used, 1) : NAME(fill_ordered)(space, row, slots, &used, 0);
        if (count >= 0) {
            if (space->crowded > 0) space->crowded--;
            if (colind)
                NAME(drain)(space->key, space->slot, used, count, room, colind, val);
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
        TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
        if (!colind) {
            NAME(mark_dense)(space, row);
            *nnz = NAME(count_dense)(space, row);
        } else {
            NAME(sum_dense)(space, row, 1);
            *nnz = NAME(drain_dense)(space, row, colind, val, room);
        }
        return TULLE_OK;
    }
    int log2 = NAME(log2_above)(2 * bound);
    TULLE_TRY(tulle__spgemm_space_slots(space, (int64_t)1 << log2, sizeof(T)));
    TULLE_TRY(tulle__spgemm_space_order(space, bound));
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

ROWS static tulle_status NAME(count_rows)(tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status = TULLE_OK;
    NAME(row) row;
    if (space->plan->runs) return NAME(count_blocks)(space, begin, end, count);
    for (int64_t i = begin; i < end; i++) {
        int64_t nnz = 0;
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

ROWS static tulle_status NAME(write_rows)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count, int32_t *colind, T *val, int64_t room)
{
    tulle_status status = TULLE_OK;
    NAME(row) row;
    if (space->plan->runs) return NAME(write_blocks)(space, begin, end, count, colind, val, room);
    for (int64_t i = begin; i < end; i++) {
        int64_t nnz = 0;
        TULLE_TRY(NAME(list)(space, i, &row));
        if (row.nsegments == 1) {
            const NAME(segment) *segment = row.segment;
            nnz = segment->len;
            memcpy(colind, segment->col, (size_t)nnz * sizeof *colind);
            for (int64_t b = 0; b < nnz; b++) val[b] = 0 + segment->scale * segment->val[b]; /* -0 as a sum has it */
        } else if (row.nsegments) {
            TULLE_TRY(NAME(one_row)(space, &row, colind, val, room, &nnz));
        }
        count[i] = (int32_t)nnz;
        colind += nnz;
        val += nnz;
        room -= nnz;
    }
out:
    return status;
}

/* ---- values of a known structure: contributions elsewhere are left out ---- */

ROWS static tulle_status NAME(values_dense)(
    tulle__spgemm_space *space, const NAME(row) * row, const int32_t *colind, int64_t nnz, T *val)
{
    tulle_status status;
    TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
    NAME(sum_dense)(space, row, 0);
    T *dense = space->dense;
    for (int64_t c = 0; c < nnz; c++) {
        val[c] = dense[colind[c]];
        dense[colind[c]] = 0;
    }
out:
    return status;
}

/*
 * As the row was made first, with its columns put beside to be compared: one sweep over the row, where a table of the
 * known columns would take one to fill it and one to read it. *done = 0 if the columns crowd in few places or are not
 * the known ones: val is not valid then. `room` entries of val may be touched.
 */
ROWS static tulle_status NAME(values_ordered)(tulle__spgemm_space *space, const NAME(row) * row, const int32_t *colind,
    int64_t nnz, T *val, int64_t room, int *done)
{
    tulle_status status;
    int64_t bound = NAME(bound)(row), slots = 4 * bound, used = 0;
    TULLE_TRY(tulle__spgemm_space_slots(space, slots + bound + TULLE__PAD, sizeof(T)));
    TULLE_TRY(tulle__spgemm_space_order(space, nnz));
    int32_t *columns = (int32_t *)(void *)space->order;
    int64_t count = NAME(fill_ordered)(space, row, slots, &used, 1);
    *done = count == nnz;
    if (*done) {
        NAME(drain)(space->key, space->slot, used, count, room, columns, val);
        *done = memcmp(columns, colind, (size_t)nnz * sizeof *colind) == 0;
    } else if (count >= 0) {
        for (int64_t x = 0; x < used; x++) space->key[x] = TULLE__EMPTY;
    }
out:
    return status;
}

ROWS static tulle_status NAME(values_hash)(
    tulle__spgemm_space *space, const NAME(row) * row, const int32_t *colind, int64_t nnz, T *val)
{
    int log2 = NAME(log2_above)(2 * nnz);
    tulle_status status;
    TULLE_TRY(tulle__spgemm_space_slots(space, (int64_t)1 << log2, sizeof(T)));
    TULLE_TRY(tulle__spgemm_space_order(space, nnz));
    int32_t *key = space->key;
    T *slot = space->slot;
    for (int64_t c = 0; c < nnz; c++) {
        int64_t x = NAME(find)(key, colind[c], log2);
        key[x] = colind[c];
        slot[x] = 0;
        space->order[c] = (uint64_t)x;
    }
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        for (int64_t b = 0; b < segment->len; b++) {
            int64_t x = NAME(find)(key, segment->col[b], log2);
            slot[x] += segment->scale * segment->val[b];
        }
    }
    for (int64_t c = 0; c < nnz; c++) {
        key[space->order[c]] = TULLE__EMPTY;
        val[c] = slot[space->order[c]];
    }
out:
    return status;
}

ROWS static tulle_status NAME(values_row)(
    tulle__spgemm_space *space, const NAME(row) * row, const int32_t *colind, int64_t nnz, T *val, int64_t room)
{
    tulle_status status = TULLE_OK;
    tulle__accumulator way = NAME(choose)(space, row, 0);
    if (way == TULLE__ACCUMULATOR_ORDERED) {
        int done = 0;
        if (!space->plan->task->unsorted) TULLE_TRY(NAME(values_ordered)(space, row, colind, nnz, val, room, &done));
        if (done) return TULLE_OK;
        way = NAME(instead)(space, 0);
    }
    if (way == TULLE__ACCUMULATOR_DENSE || way == TULLE__ACCUMULATOR_LISTED)
        return NAME(values_dense)(space, row, colind, nnz, val);
    return NAME(values_hash)(space, row, colind, nnz, val);
out:
    return status;
}

ROWS static tulle_status NAME(value_rows)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    NAME(row) row;
    if (space->plan->runs) return NAME(value_blocks)(space, begin, end, C);
    for (int64_t i = begin; i < end; i++) {
        int64_t at = C->rowptr[i], nnz = C->rowptr[i + 1] - at;
        tulle__fetch_entries_ahead(C->colind + at, (T *)C->val + at, nnz, sizeof(T));
        TULLE_TRY(NAME(list)(space, i, &row));
        if (nnz) TULLE_TRY(NAME(values_row)(space, &row, C->colind + at, nnz, (T *)C->val + at, C->rowptr[end] - at));
    }
out:
    return status;
}

ROWS static tulle_status NAME(value_groups)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, const tulle__csr_result *C)
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

/* ---- all rows: groups of eight, or stretches of shifts and others ---- */

ROWS static tulle_status NAME(count)(tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status = TULLE_OK;
    if (space->plan->panels) return NAME(count_groups)(space, begin, end, count);
    if (!space->plan->shifts) return NAME(count_rows)(space, begin, end, count);
    for (int64_t rows; begin < end; begin += rows) {
        int64_t next = NAME(next_stretch)(space->plan, begin, end, &rows);
        TULLE_TRY(NAME(count_rows)(space, begin, next, count));
        if (rows) TULLE_TRY(NAME(count_stretch)(space, next, rows, count + next));
        begin = next;
    }
out:
    return status;
}

ROWS static tulle_status NAME(write)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count, int32_t *colind, void *values, int64_t room)
{
    tulle_status status = TULLE_OK;
    T *val = values;
    if (space->plan->panels) return NAME(write_groups)(space, begin, end, count, colind, val);
    if (!space->plan->shifts) return NAME(write_rows)(space, begin, end, count, colind, val, room);
    for (int64_t rows; begin < end; begin += rows) {
        int64_t next = NAME(next_stretch)(space->plan, begin, end, &rows), nnz = 0;
        TULLE_TRY(NAME(write_rows)(space, begin, next, count, colind, val, room));
        for (; begin < next; begin++) nnz += count[begin];
        colind += nnz;
        val += nnz;
        room -= nnz;
        if (!rows) break;
        TULLE_TRY(NAME(write_stretch)(space, next, rows, count + next, colind, val, &nnz));
        colind += nnz;
        val += nnz;
        room -= nnz;
    }
out:
    return status;
}

ROWS static tulle_status NAME(values)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    if (space->plan->panels) return NAME(value_groups)(space, begin, end, C);
    if (!space->plan->shifts) return NAME(value_rows)(space, begin, end, C);
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
