/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: a row of C summed in an array as wide as C, its columns marked by bits that are
 * scanned from the first to the last of them.
 */

static __attribute__((noinline)) void NAME(mark_dense)(tulle__spgemm_workspace *space, const NAME(row) * row)
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

/* The union of B's rows as sets of bits, where there are (spgemm_panels.c): two vectors a row and panel. */
static __attribute__((noinline)) void NAME(mark_sets)(tulle__spgemm_workspace *space, const NAME(row) * row)
{
    const tulle__spgemm_plan *plan = space->plan;
    const int64_t words = plan->npanels * TULLE__PANEL_WORDS;
    for (int64_t panel = row->lo / TULLE__PANEL; panel <= row->hi / TULLE__PANEL; panel++) {
        NAME(panel_bits) all = {0};
        for (int p = 0; p < plan->task->npairs; p++) {
            const tulle__csr *A = &plan->task->pair[p].A;
            const uint64_t *sets = plan->panels[p].bits + panel * TULLE__PANEL_WORDS;
            const int64_t begin = A->rowptr ? A->rowptr[row->i] : 0, end = A->rowptr ? A->rowptr[row->i + 1] : 1;
            for (int64_t a = begin; a < end; a++) {
                const int64_t k = A->rowptr ? A->colind[a] : row->i;
                all |= *(const NAME(panel_bits) *)(const void *)(sets + k * words);
            }
        }
        *(NAME(panel_bits) *)(void *)(space->bits + panel * TULLE__PANEL_WORDS) = all;
    }
}

/* Aligned, since its loop takes up to a tenth longer where it crosses a line of code. */
static __attribute__((noinline, aligned(64))) void NAME(sum_dense)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int mark)
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

/* Brings a row of B near. */
INLINE void NAME(fetch_segment)(const NAME(segment) * segment)
{
    enum { LINE = 64, MOST = 16 };
    const int64_t values = segment->len * (int64_t)sizeof(T), columns = segment->len * 4;
    for (int64_t b = 0; b < values && b < MOST * LINE; b += LINE) __builtin_prefetch((const char *)segment->val + b);
    for (int64_t b = 0; b < columns && b < MOST * LINE; b += LINE) __builtin_prefetch((const char *)segment->col + b);
}

/* The same of long rows of B, whose columns are known: after the end of one, which was mispredicted, nothing else hides
 * how long the lines of the next one take. */
static __attribute__((noinline, aligned(64))) void NAME(sum_long)(tulle__spgemm_workspace *space, const NAME(row) * row)
{
    enum { AHEAD = 4 };
    T *dense = space->dense;
    for (int64_t s = 0; s < row->nsegments; s++) {
        const NAME(segment) *segment = &row->segment[s];
        const int32_t *col = segment->col;
        const T *val = segment->val, scale = segment->scale;
        if (s + AHEAD < row->nsegments) NAME(fetch_segment)(segment + AHEAD);
        for (int64_t b = 0; b < segment->len; b++) dense[(uint32_t)col[b]] += scale * val[b];
    }
}

/* Sums of columns that are known. */
static void NAME(sum_known)(tulle__spgemm_workspace *space, const NAME(row) * row)
{
    enum { LONG = 32 }; /* entries, below which to fetch costs more than it gains */
    if (space->plan->prefetch && row->flops >= LONG * row->nsegments)
        NAME(sum_long)(space, row);
    else
        NAME(sum_dense)(space, row, 0);
}

static __attribute__((noinline)) int64_t NAME(count_dense)(tulle__spgemm_workspace *space, const NAME(row) * row)
{
    int64_t nnz = 0;
    for (int32_t word = row->lo >> 6; word <= row->hi >> 6; word++) {
        nnz += __builtin_popcountll(space->bits[word]);
        space->bits[word] = 0;
    }
    return nnz;
}

/*
 * Collects the columns from the bits, in their order, and their sums. Where there is one entry in a few words, branches
 * on whether a word has a bit, or a second one, would be mispredicted for about every other entry: words are listed
 * without a branch, and two columns of each word are written before it is known whether there is a second.
 */
static __attribute__((noinline)) int64_t NAME(drain_dense)(
    tulle__spgemm_workspace *space, const NAME(row) * row, int32_t *colind, T *val, int64_t capacity)
{
    enum { FEW = 8 };
    T *dense = space->dense;
    uint64_t *marks = space->bits;
    int32_t *word = space->word;
    const int32_t last = row->hi >> 6;
    int64_t nnz = 0, n = 0;
    if (last - (row->lo >> 6) < FEW) /* a vector of words that were just stored one by one would wait for them */
        for (int32_t w = row->lo >> 6; w <= last; w++) {
            word[n] = w;
            n += marks[w] != 0;
        }
    else
        for (int32_t w = row->lo >> 6; w <= last; w += PACKED)
            n += PACK_WORDS(marks + w, w, word + n); /* behind the row there are no bits */
    for (int64_t w = 0; w < n; w++) {
        const int32_t first = word[w] * 64;
        uint64_t bits = marks[word[w]], others = bits & (bits - 1);
        int count = __builtin_popcountll(bits);
        marks[word[w]] = 0;
        colind[nnz] = first + __builtin_ctzll(bits);
        if (nnz + 1 < capacity) colind[nnz + 1] = first + __builtin_ctzll(others | (uint64_t)1 << 63);
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

/* Values of a known structure. */
static tulle_status NAME(values_dense)(
    tulle__spgemm_workspace *space, const NAME(row) * row, const int32_t *colind, int64_t nnz, T *val)
{
    tulle_status status;
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    NAME(sum_known)(space, row);
    T *dense = space->dense;
    for (int64_t c = 0; c < nnz; c++) {
        val[c] = dense[colind[c]];
        dense[colind[c]] = 0;
    }
out:
    return status;
}
