/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: a row of C summed in a small table, which does not grow with the width of C.
 * - ordered: slots follow the columns by linear interpolation, and the table is kept ordered while it is filled (linear
 *   probing sort, Gonnet and Munro 1984), so that it is drained sorted, without a sort
 * - hash: a multiplicative hash, then a sort
 */

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
static inline int64_t NAME(fill_ordered)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int64_t slots, int64_t *used, int sum)
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

/*
 * Writes the `count` columns of the table, in their order, with their sums, and empties it. Of colind and val
 * `capacity` entries may be touched.
 */
static void NAME(drain)(
    int32_t *key, const T *slot, int64_t used, int64_t count, int64_t capacity, int32_t *colind, T *val)
{
    const int packs = count + PACKED <= capacity;
    int64_t n = 0;
    if (packs)
        for (int64_t x = 0; x < used; x += PACKED)
            n += PACK_SLOTS(key + x, slot + x, TULLE__EMPTY, colind + n, val + n);
    else
        for (int64_t x = 0; x < used; x++) {
            if (key[x] == TULLE__EMPTY) continue;
            colind[n] = key[x];
            val[n++] = slot[x];
        }
    if (!packs || !PACK_EMPTIES)
        for (int64_t x = 0; x < used; x++) key[x] = TULLE__EMPTY;
}

/* ---- hash ---- */

static inline int NAME(log2_above)(int64_t count)
{
    return count < 2 ? 1 : 64 - __builtin_clzll((unsigned long long)count - 1);
}

/* Slot of column c, free or its own. */
static inline int64_t NAME(find)(const int32_t *key, int32_t c, int log2)
{
    uint32_t mask = ((uint32_t)1 << log2) - 1, x = ((uint32_t)c * 0x9e3779b1u) >> (32 - log2);
    while (key[x] != c && key[x] != TULLE__EMPTY) x = (x + 1) & mask;
    return x;
}

static __attribute__((noinline)) int64_t NAME(fill_hash)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int log2, int sum)
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

/* ---- values of a known structure ---- */

/*
 * As the row was made first, with its columns put beside to be compared: one sweep over the row, where a table of the
 * known columns would take one to fill it and one to read it. *done = 0 if the columns crowd in few places or are not
 * the known ones: val is not valid then. `capacity` entries of val may be touched.
 */
static tulle_status NAME(values_ordered)(tulle__spgemm_workspace *space, const NAME(row) * row, const int32_t *colind,
    int64_t nnz, T *val, int64_t capacity, int *done)
{
    tulle_status status;
    int64_t bound = NAME(bound)(row), slots = 4 * bound, used = 0;
    TULLE_TRY(tulle__spgemm_workspace_slots(space, slots + bound + TULLE__PAD, sizeof(T)));
    TULLE_TRY(tulle__spgemm_workspace_order(space, nnz));
    int32_t *columns = (int32_t *)(void *)space->order;
    int64_t count = NAME(fill_ordered)(space, row, slots, &used, 1);
    *done = count == nnz;
    if (*done) {
        NAME(drain)(space->key, space->slot, used, count, capacity, columns, val);
        *done = memcmp(columns, colind, (size_t)nnz * sizeof *colind) == 0;
    } else if (count >= 0) {
        for (int64_t x = 0; x < used; x++) space->key[x] = TULLE__EMPTY;
    }
out:
    return status;
}

static tulle_status NAME(values_hash)(
    tulle__spgemm_workspace *space, const NAME(row) * row, const int32_t *colind, int64_t nnz, T *val)
{
    int log2 = NAME(log2_above)(2 * nnz);
    tulle_status status;
    TULLE_TRY(tulle__spgemm_workspace_slots(space, (int64_t)1 << log2, sizeof(T)));
    TULLE_TRY(tulle__spgemm_workspace_order(space, nnz));
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
