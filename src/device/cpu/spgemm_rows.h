/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse product's row kernels, included once an instruction set and value type with
 *   T, NAME(x)                       the type, and x with its suffix
 *   ROWS                             the function attribute of the instruction set
 *   ADD(x, y), MULTIPLY(x, y), ZERO  the semiring; every sum starts as ZERO + first
 *   MASKED, ALLOWED(i, c)            whether entry (i, c) may be in C; MASKED 0: all may
 * and the vector helpers NAME(axpy), NAME(copy_runs), NAME(drain) of that instruction set.
 *
 * A row of C is first listed as segments, the rows of B it sums, which also tells its flops and the range of its
 * columns. Then one of copy     one segment runs     B comes in runs of columns (finite elements): vectors into an
 * array as wide as C, bits for the structure, and both by run instead of by entry; rows with the pattern of the row
 * before reuse its structure dense    the same by entry, where the bits to scan are few against the flops ordered  a
 * small table whose slots follow the columns by linear interpolation, kept ordered while it is filled (linear probing
 * sort, Gonnet and Munro 1984): it is drained sorted, without a sort. For uniform columns. hash     a multiplicative
 * hash, then a sort: where the ordered table is crowded and C is wide.
 */

typedef struct NAME(segment) {
    union {
        const int32_t *col;
        const tulle__run *run;
    } at;
    const T *val;
    int64_t len; /* entries, or runs */
    T scale;
} NAME(segment);

typedef struct NAME(row) {
    const NAME(segment) * segment;
    int64_t i, nsegments, flops; /* flops: entries, or runs */
    int32_t lo, hi;              /* its columns lie in lo .. hi */
} NAME(row);

/* Entries of A ahead of which B is fetched: its row pointers, then the head of its row. */
enum { NAME(POINTERS_AHEAD) = 32, NAME(ROWS_AHEAD) = 16 };

/* Inlined by force: gcc finds that the function has no effect and drops calls of it. */
ROWS static inline __attribute__((always_inline)) void NAME(fetch)(
    const tulle__spgemm_pair *pair, const tulle__run_rows *runs, int64_t a)
{
    const int32_t *col = pair->A.colind;
    const int64_t *bp = pair->B.rowptr;
    __builtin_prefetch(&bp[col[a + NAME(POINTERS_AHEAD)]]);
    int64_t b = bp[col[a + NAME(ROWS_AHEAD)]];
    __builtin_prefetch((const T *)pair->B.val + b);
    __builtin_prefetch((const T *)pair->B.val + b + 64 / sizeof(T) - 1);
    if (!runs) {
        __builtin_prefetch(pair->B.colind + b);
        __builtin_prefetch(pair->B.colind + b + 7);
    }
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
        const tulle__run_rows *runs = plan->runs ? &plan->runs[p] : NULL;
        const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr;
        int64_t begin = ap ? ap[i] : 0, end = ap ? ap[i + 1] : 1;
        int64_t last = ap && plan->prefetch && !runs ? ap[task->m] - NAME(POINTERS_AHEAD) : 0;
        T scale = (T)pair->scale;
        for (int64_t a = begin; a < end; a++) {
            if (a < last) NAME(fetch)(pair, runs, a);
            int64_t k = ap ? pair->A.colind[a] : i, b = bp[k], len = bp[k + 1] - b;
            if (len == 0) continue;
            const int32_t *col = pair->B.colind + b;
            NAME(segment) *s = &segment[n++];
            s->val = (const T *)pair->B.val + b;
            s->scale = ap ? MULTIPLY(scale, ((const T *)pair->A.val)[a]) : scale;
            if (runs) {
                int64_t x = k + (k >> TULLE__RUN_BLOCK);
                s->at.run = runs->run + runs->ptr[x];
                s->len = runs->ptr[x + 1] - runs->ptr[x];
                if (s->at.run[0].col < lo) lo = s->at.run[0].col;
                const tulle__run *back = &s->at.run[s->len - 1];
                if (back->col + back->len - 1 > hi) hi = back->col + back->len - 1;
            } else {
                s->at.col = col;
                s->len = len;
                if (col[0] < lo) lo = col[0];
                if (col[len - 1] > hi) hi = col[len - 1];
            }
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

/* ---- runs ---- */

ROWS static inline void NAME(mark_run)(tulle__spgemm_space *space, tulle__run run)
{
    uint64_t *bits = space->bits;
    uint32_t word = (uint32_t)run.col >> 6, offset = (uint32_t)run.col & 63, len = (uint32_t)run.len;
    if (__builtin_expect(offset + len <= 64, 1)) {
        /* the summary only on first touch: run after run would wait for the store before to the same word of it */
        uint64_t before = bits[word];
        bits[word] = before | (~(uint64_t)0 >> (64 - len)) << offset;
        if (!before) space->summary[word >> 6] |= (uint64_t)1 << (word & 63);
        return;
    }
    while (len > 0) {
        uint32_t here = len < 64 - offset ? len : 64 - offset;
        bits[word] |= (~(uint64_t)0 >> (64 - here)) << offset;
        space->summary[word >> 6] |= (uint64_t)1 << (word & 63);
        len -= here;
        offset = 0;
        word++;
    }
}

ROWS static void NAME(mark_runs)(tulle__spgemm_space *space, const NAME(row) * row)
{
    for (int64_t s = 0; s < row->nsegments; s++) {
        const tulle__run *run = row->segment[s].at.run;
        for (int64_t r = 0; r < row->segment[s].len; r++) NAME(mark_run)(space, run[r]);
    }
}

/* Clears the bits between columns lo and hi and counts them; with list, they are added to space->run. */
ROWS static inline int64_t NAME(sweep)(tulle__spgemm_space *space, const NAME(row) * row, int list)
{
    int64_t nnz = 0, nruns = 0, at = -1; /* at: the column behind the last run */
    tulle__run *run = space->run + space->run_used;
    for (int32_t s = row->lo >> 12; s <= row->hi >> 12; s++) {
        uint64_t words = space->summary[s];
        space->summary[s] = 0;
        for (; words; words &= words - 1) {
            int64_t word = (int64_t)s * 64 + __builtin_ctzll(words);
            uint64_t bits = space->bits[word];
            space->bits[word] = 0;
            nnz += __builtin_popcountll(bits);
            while (list && bits) {
                int first = __builtin_ctzll(bits);
                uint64_t rest = ~(bits >> first);
                int len = rest ? __builtin_ctzll(rest) : 64;
                if (len > 64 - first) len = 64 - first;
                int64_t col = word * 64 + first;
                if (col == at)
                    run[nruns - 1].len += len;
                else
                    run[nruns++] = (tulle__run){(int32_t)col, len};
                at = col + len;
                bits &= ~((~(uint64_t)0 >> (64 - len)) << first);
            }
        }
    }
    space->run_used += nruns;
    return nnz;
}

ROWS static void NAME(sum_runs)(const tulle__spgemm_space *space, const NAME(row) * row)
{
    T *dense = space->dense;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        const T *val = segment->val;
        for (int64_t r = 0; r < segment->len; r++) {
            tulle__run run = segment->at.run[r];
            NAME(axpy)(dense + run.col, segment->scale, val, run.len);
            val += run.len;
        }
    }
}

/* True if row i of every A has the columns of row i - 1. */
static int NAME(repeats)(const tulle__spgemm_task *task, int64_t i)
{
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        if (!ap) return 0;
        int64_t len = ap[i + 1] - ap[i];
        const int32_t *col = task->pair[p].A.colind + ap[i];
        if (ap[i] - ap[i - 1] != len || memcmp(col, col - len, (size_t)len * sizeof *col)) return 0;
    }
    return 1;
}

/* ---- dense ---- */

ROWS static __attribute__((noinline)) void NAME(mark_dense)(tulle__spgemm_space *space, const NAME(row) * row)
{
    uint64_t *bits = space->bits;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const int32_t *col = row->segment[s].at.col;
        for (int64_t b = 0; b < row->segment[s].len; b++) {
            uint32_t c = (uint32_t)col[b];
            if (MASKED && !ALLOWED(row->i, c)) continue;
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
        const int32_t *col = segment->at.col;
        const T *val = segment->val, scale = segment->scale;
        for (int64_t b = 0; b < segment->len; b++) {
            uint32_t c = (uint32_t)col[b];
            if (MASKED && !ALLOWED(row->i, c)) continue;
            if (mark) bits[c >> 6] |= (uint64_t)1 << (c & 63);
            dense[c] = ADD(dense[c], MULTIPLY(scale, val[b]));
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

ROWS static __attribute__((noinline)) int64_t NAME(drain_dense)(
    tulle__spgemm_space *space, const NAME(row) * row, int32_t *colind, T *val)
{
    int64_t nnz = 0;
    T *dense = space->dense;
    for (int32_t word = row->lo >> 6; word <= row->hi >> 6; word++) {
        uint64_t bits = space->bits[word];
        if (!bits) continue;
        space->bits[word] = 0;
        for (; bits; bits &= bits - 1) {
            int32_t c = word * 64 + __builtin_ctzll(bits);
            colind[nnz] = c;
            val[nnz++] = dense[c];
            dense[c] = ZERO;
        }
    }
    return nnz;
}

/* ---- ordered table ---- */

/* Fills the table; the entries, or -1 if the columns crowd in few places (the table is empty then). */
ROWS static inline int64_t NAME(fill_ordered)(
    tulle__spgemm_space *space, const NAME(row) * row, int64_t slots, int64_t *used, int sum)
{
    int32_t *key = space->key, lo = row->lo;
    T *slot = space->slot;
    uint64_t factor = ((uint64_t)slots << 32) / ((uint64_t)row->hi - (uint64_t)lo + 1);
    int64_t count = 0, steps = 0, budget = 4 * row->flops + 64, last = slots;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        for (int64_t b = 0; b < segment->len; b++) {
            int32_t c = segment->at.col[b];
            if (MASKED && !ALLOWED(row->i, c)) continue;
            int64_t x = (int64_t)(((uint64_t)(c - lo) * factor) >> 32);
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
                if (sum) slot[x] = ZERO;
                count++;
            }
            if (sum) slot[x] = ADD(slot[x], MULTIPLY(segment->scale, segment->val[b]));
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
            int32_t c = segment->at.col[b];
            if (MASKED && !ALLOWED(row->i, c)) continue;
            int64_t x = NAME(find)(space->key, c, log2);
            if (space->key[x] == TULLE__EMPTY) {
                space->key[x] = c;
                space->order[count++] = (uint64_t)(uint32_t)c << 32 | (uint64_t)x;
                slot[x] = ZERO;
            }
            if (sum) slot[x] = ADD(slot[x], MULTIPLY(segment->scale, segment->val[b]));
        }
    }
    return count;
}

/* ---- rows ---- */

ROWS static tulle__accumulator NAME(choose)(tulle__spgemm_space *space, const NAME(row) * row)
{
    const tulle__spgemm_plan *plan = space->plan;
    int64_t words = ((int64_t)row->hi >> 6) - (row->lo >> 6) + 1;
    if (plan->knobs.accumulator) return plan->knobs.accumulator;
    if ((plan->dense && words <= 4 * row->flops) || NAME(bound)(row) > 1 << 26) return TULLE__ACCUMULATOR_DENSE;
    if (space->crowded < 16) return TULLE__ACCUMULATOR_ORDERED;
    space->crowded--;
    return plan->dense && words <= 64 * row->flops ? TULLE__ACCUMULATOR_DENSE : TULLE__ACCUMULATOR_HASH;
}

/* One row by entries: counted only if colind is NULL, else written. */
ROWS static tulle_status NAME(one_row)(
    tulle__spgemm_space *space, const NAME(row) * row, int32_t *colind, T *val, int64_t room, int64_t *nnz)
{
    tulle_status status;
    tulle__accumulator way = NAME(choose)(space, row);
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
        int64_t words = ((int64_t)row->hi >> 6) - (row->lo >> 6) + 1;
        way = space->plan->dense && words <= 64 * row->flops ? TULLE__ACCUMULATOR_DENSE : TULLE__ACCUMULATOR_HASH;
    }
    if (way == TULLE__ACCUMULATOR_DENSE) {
        TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
        if (!colind) {
            NAME(mark_dense)(space, row);
            *nnz = NAME(count_dense)(space, row);
        } else {
            NAME(sum_dense)(space, row, 1);
            *nnz = NAME(drain_dense)(space, row, colind, val);
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

ROWS static tulle_status NAME(count)(tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status = TULLE_OK;
    const tulle__spgemm_plan *plan = space->plan;
    NAME(row) row;
    if (plan->runs) TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i++) {
        int64_t nnz = 0;
        if (plan->runs && i > begin && NAME(repeats)(plan->task, i)) {
            count[i] = count[i - 1];
            continue;
        }
        TULLE_TRY(NAME(list)(space, i, &row));
        if (plan->runs && row.nsegments) {
            NAME(mark_runs)(space, &row);
            if (space->keep) {
                TULLE_TRY(tulle__spgemm_space_runs(space, space->run_used + row.flops));
                nnz = NAME(sweep)(space, &row, 1);
            } else {
                nnz = NAME(sweep)(space, &row, 0);
            }
        } else if (row.nsegments == 1 && !MASKED) {
            nnz = row.flops;
        } else if (row.nsegments) {
            TULLE_TRY(NAME(one_row)(space, &row, NULL, NULL, 0, &nnz));
        }
        count[i] = (int32_t)nnz;
    }
out:
    return status;
}

ROWS static tulle_status NAME(write)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count, int32_t *colind, void *values, int64_t room)
{
    tulle_status status = TULLE_OK;
    const tulle__spgemm_plan *plan = space->plan;
    T *val = values;
    NAME(row) row;
    const tulle__run *run = space->stored, *next = run; /* of the last row; of the next one, if stored */
    int64_t nnz_last = 0;
    if (plan->runs) TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i++) {
        int64_t nnz = 0;
        TULLE_TRY(NAME(list)(space, i, &row));
        if (row.nsegments == 0) {
            /* empty */
        } else if (plan->runs) {
            if (i > begin && NAME(repeats)(plan->task, i)) {
                /* the structure of the row before */
            } else if (space->stored) {
                run = next;
                for (nnz_last = 0; nnz_last < count[i];) nnz_last += next++->len;
            } else {
                space->run_used = 0;
                TULLE_TRY(tulle__spgemm_space_runs(space, row.flops));
                NAME(mark_runs)(space, &row);
                nnz_last = NAME(sweep)(space, &row, 1);
                run = space->run;
                next = run + space->run_used;
            }
            NAME(sum_runs)(space, &row);
            NAME(copy_runs)(run, next - run, space->dense, room, colind, val);
            nnz = nnz_last;
        } else if (row.nsegments == 1 && !MASKED) {
            const NAME(segment) *segment = row.segment;
            nnz = segment->len;
            memcpy(colind, segment->at.col, (size_t)nnz * sizeof *colind);
            for (int64_t b = 0; b < nnz; b++) val[b] = ADD(ZERO, MULTIPLY(segment->scale, segment->val[b]));
        } else {
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

ROWS static tulle_status NAME(values)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    const tulle__spgemm_plan *plan = space->plan;
    NAME(row) row;
    for (int64_t i = begin; i < end; i++) {
        T *val = (T *)C->val + C->rowptr[i];
        const int32_t *colind = C->colind + C->rowptr[i];
        int64_t nnz = C->rowptr[i + 1] - C->rowptr[i];
        TULLE_TRY(NAME(list)(space, i, &row));
        int64_t words = row.nsegments ? ((int64_t)row.hi >> 6) - (row.lo >> 6) + 1 : 0;
        tulle__accumulator way = plan->knobs.accumulator;
        if (!way && plan->dense && words <= 4 * row.flops) way = TULLE__ACCUMULATOR_DENSE;
        if (plan->runs || way == TULLE__ACCUMULATOR_DENSE) {
            TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
            if (plan->runs)
                NAME(sum_runs)(space, &row);
            else
                NAME(sum_dense)(space, &row, 0);
            T *dense = space->dense;
            for (int64_t c = 0; c < nnz; c++) {
                val[c] = dense[colind[c]];
                dense[colind[c]] = ZERO;
            }
            continue;
        }
        /* the columns of C are the keys, so contributions elsewhere are left out */
        int log2 = NAME(log2_above)(2 * nnz);
        TULLE_TRY(tulle__spgemm_space_slots(space, (int64_t)1 << log2, sizeof(T)));
        T *slot = space->slot;
        for (int64_t c = 0; c < nnz; c++) {
            int64_t x = NAME(find)(space->key, colind[c], log2);
            space->key[x] = colind[c];
            slot[x] = ZERO;
        }
        for (int64_t s = 0; s < row.nsegments; s++)
            for (int64_t b = 0; b < row.segment[s].len; b++) {
                int64_t x = NAME(find)(space->key, row.segment[s].at.col[b], log2);
                slot[x] = ADD(slot[x], MULTIPLY(row.segment[s].scale, row.segment[s].val[b]));
            }
        for (int64_t c = 0; c < nnz; c++) {
            int64_t x = NAME(find)(space->key, colind[c], log2);
            val[c] = slot[x];
        }
        for (int64_t s = 0; s < (int64_t)1 << log2; s++) space->key[s] = TULLE__EMPTY;
    }
out:
    return status;
}
