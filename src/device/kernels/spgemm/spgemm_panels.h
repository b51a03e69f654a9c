/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template: rows of C made eight at a time for spgemm_rows.h, where rows of B have many of C's columns and rows of A
 * that follow each other have many columns in common, as in matrices of molecules and in counts of genes in cells. The
 * rows of B that any of the eight rows sums are listed once, each with eight values of A and the set of rows that have
 * it. For a panel of 1024 columns the eight rows' sums lie side by side in the nearest caches, those of a column in
 * one vector:
 *   sum[c][r] += a[k][r] b[k][c]   for all r that have k,
 * so that an entry of B is loaded once, and one multiplication, one addition and one store serve up to eight products.
 * The order of a sum is that of a row alone, so its bits are, too.
 *
 * The structure comes from B's rows as sets of bits, a bit a column (spgemm_panels.c): a row of C is the union of those
 * that it sums, eight words an operation; so B must have an entry for 64 columns at least, and rows in order.
 *
 * Cost, for an entry of B that is needed by any of the rows: six instructions, 1.1 ns where neighbouring rows need near
 * columns (0.5 if all is in the first-level cache); and n / 1024 starts of a loop, 9 ns each, for each of B's rows.
 * Rows one by one take 0.6 ns a product in runs of five, 1.3 without runs.
 */

#define LANES 8 /* rows, in all sets: narrower registers take them in parts */

typedef uint64_t NAME(panel_bits) __attribute__((vector_size(TULLE__PANEL / 8), aligned(8), may_alias));

/* A row of B, and the rows of C that sum it, a bit each. */
typedef struct NAME(panel_term) {
    const int32_t *col, *start;
    const T *val;
    const uint64_t *bits;
    unsigned rows;
} NAME(panel_term);

/* Rows i .. i + rows - 1 of C, at most eight: space->panels has the terms, and eight values of A for each. */
typedef struct NAME(group) {
    int64_t i, rows, nterms;
} NAME(group);

enum { NAME(ALL_ROWS) = 255 };

/* The terms of a pair, in the order of A's columns: a merge of the rows. */
static int64_t NAME(merge_rows)(
    const tulle__spgemm_plan *plan, int p, const NAME(group) * group, NAME(panel_term) * term, T *factor)
{
    const tulle__spgemm_pair *pair = &plan->task->pair[p];
    const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr;
    const T scale = (T)pair->scale;
    int32_t head[8];
    int64_t at[8], n = 0;
    for (int64_t r = 0; r < 8; r++) {
        int64_t i = group->i + r, some = r < group->rows && (!ap || ap[i] < ap[i + 1]);
        at[r] = some && ap ? ap[i] : 0;
        head[r] = !some ? INT32_MAX : ap ? pair->A.colind[at[r]] : (int32_t)i;
    }
    for (;;) {
        int32_t k = INT32_MAX;
        unsigned rows = 0;
        for (int r = 0; r < 8; r++) k = head[r] < k ? head[r] : k;
        if (k == INT32_MAX) return n;
        for (int r = 0; r < 8; r++) {
            factor[r] = 0;
            if (head[r] != k) continue;
            rows |= 1u << r;
            factor[r] = ap ? scale * ((const T *)pair->A.val)[at[r]] : scale;
            head[r] = ap && ++at[r] < ap[group->i + r + 1] ? pair->A.colind[at[r]] : INT32_MAX;
        }
        if (bp[k] == bp[k + 1]) continue;
        *term++ = (NAME(panel_term)){.col = pair->B.colind + bp[k],
            .start = plan->panels[p].start + k * (plan->npanels + 1),
            .val = (const T *)pair->B.val + bp[k],
            .bits = plan->panels[p].bits + k * plan->npanels * TULLE__PANEL_WORDS,
            .rows = rows};
        factor += 8;
        n++;
    }
}

static tulle_status NAME(list_group)(tulle__spgemm_workspace *space, int64_t i, int64_t end, NAME(group) * group)
{
    const tulle__spgemm_plan *plan = space->plan;
    int64_t most = 0;
    *group = (NAME(group)){.i = i, .rows = end - i < 8 ? end - i : 8};
    for (int p = 0; p < plan->task->npairs; p++) {
        const int64_t *ap = plan->task->pair[p].A.rowptr;
        most += ap ? ap[i + group->rows] - ap[i] : group->rows;
    }
    tulle_status status = tulle__spgemm_workspace_panels(space, most, sizeof(NAME(panel_term)), sizeof(T));
    for (int p = 0; status == TULLE_OK && p < plan->task->npairs; p++)
        group->nterms += NAME(merge_rows)(plan, p, group, (NAME(panel_term) *)space->panels.term + group->nterms,
            (T *)space->panels.factor + 8 * group->nterms);
    return status;
}

/* The columns of each row of the group: row r's from word r npanels PANEL_WORDS on. */
static void NAME(mark_group)(tulle__spgemm_workspace *space, const NAME(group) * group)
{
    const NAME(panel_term) *end = (const NAME(panel_term) *)space->panels.term + group->nterms;
    const int64_t npanels = space->plan->npanels;
    for (int64_t panel = 0; panel < npanels; panel++) {
        NAME(panel_bits) all = {0}, row[8] = {{0}};
        for (const NAME(panel_term) *t = space->panels.term; t < end; t++) {
            NAME(panel_bits) bits = *(const NAME(panel_bits) *)(const void *)(t->bits + panel * TULLE__PANEL_WORDS);
            if (t->rows == NAME(ALL_ROWS))
                all |= bits;
            else
                for (int r = 0; r < 8; r++) row[r] |= bits & -(uint64_t)(t->rows >> r & 1);
        }
        for (int64_t r = 0; r < 8; r++) {
            uint64_t *to = space->panels.bits + (r * npanels + panel) * TULLE__PANEL_WORDS;
            *(NAME(panel_bits) *)(void *)to = row[r] | all;
        }
    }
}

static int64_t NAME(count_bits)(const tulle__spgemm_workspace *space, int64_t r)
{
    const int64_t words = space->plan->npanels * TULLE__PANEL_WORDS;
    const uint64_t *bits = space->panels.bits + r * words;
    int64_t count = 0;
    for (int64_t w = 0; w < words; w++) count += __builtin_popcountll(bits[w]);
    return count;
}

/*
 * sums += the factors times a row of B, for `n` columns of it, in those rows that sum it. In the others +0 is added,
 * which changes no bit: a sum that starts with +0 is never -0. (A pointer, as a vector that is passed and wider than
 * the registers lies in memory.)
 */
INLINE void NAME(add_entries)(T *sums, const int32_t *col, const T *val, int32_t n, int32_t first, const T *factor,
    const BITS *rows, const int all)
{
    const V a = LOAD(factor);
    for (int32_t e = 0; e < n; e++) {
        T *sum = sums + (int64_t)(col[e] - first) * LANES;
        const V x = a * val[e];
        STORE(sum, LOAD(sum) + (all ? x : (V)((BITS)x & *rows)));
    }
}

/* All sums of a panel. */
static void NAME(sum_panel)(tulle__spgemm_workspace *space, const NAME(group) * group, int64_t panel)
{
    const NAME(panel_term) *t = space->panels.term, *end = t + group->nterms;
    const T *factor = space->panels.factor;
    const int32_t first = (int32_t)panel * TULLE__PANEL;
    const int64_t width = space->plan->task->n - first;
    T *sums = space->panels.sums;
    memset(sums, 0, (size_t)(width < TULLE__PANEL ? width : TULLE__PANEL) * 8 * sizeof *sums);
    for (; t < end; t++, factor += 8) {
        int32_t from = t->start[panel], n = t->start[panel + 1] - from;
        if (t->rows == NAME(ALL_ROWS)) {
            NAME(add_entries)(sums, t->col + from, t->val + from, n, first, factor, NULL, 1);
            continue;
        }
        BITS rows = {0};
        for (int r = 0; r < LANES; r++) rows[r] = -(__typeof__(rows[0]))(t->rows >> r & 1);
        NAME(add_entries)(sums, t->col + from, t->val + from, n, first, factor, &rows, 0);
    }
}

/* ---- rows ---- */

static tulle_status NAME(count_groups)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count)
{
    NAME(group) group;
    tulle_status status = TULLE_OK;
    for (; begin < end; begin += group.rows) {
        TULLE_TRY(NAME(list_group)(space, begin, end, &group));
        NAME(mark_group)(space, &group);
        for (int64_t r = 0; r < group.rows; r++) count[begin + r] = (int32_t)NAME(count_bits)(space, r);
    }
out:
    return status;
}

/* The entries of the group's rows that lie in a panel, row r's from at[r] on, by words: their sums are in the nearest
 * cache for all rows then. */
static void NAME(write_panel)(const tulle__spgemm_workspace *space, const NAME(group) * group, int64_t panel,
    int64_t *at, int32_t *colind, T *val)
{
    const int64_t words = space->plan->npanels * TULLE__PANEL_WORDS;
    const uint64_t *bits = space->panels.bits + panel * TULLE__PANEL_WORDS;
    const T *sums = space->panels.sums;
    for (int32_t w = 0; w < TULLE__PANEL_WORDS; w++)
        for (int64_t r = 0; r < group->rows; r++) {
            int64_t n = at[r];
            for (uint64_t word = bits[r * words + w]; word; word &= word - 1) {
                const int32_t c = w * 64 + __builtin_ctzll(word);
                colind[n] = (int32_t)panel * TULLE__PANEL + c;
                val[n++] = sums[8 * c + r];
            }
            at[r] = n;
        }
}

static tulle_status NAME(write_groups)(
    tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count, int32_t *colind, T *val)
{
    NAME(group) group;
    tulle_status status = TULLE_OK;
    for (; begin < end; begin += group.rows) {
        int64_t at[9] = {0};
        TULLE_TRY(NAME(list_group)(space, begin, end, &group));
        NAME(mark_group)(space, &group);
        for (int64_t r = 0; r < group.rows; r++) {
            count[begin + r] = (int32_t)NAME(count_bits)(space, r);
            at[r + 1] = at[r] + count[begin + r];
        }
        const int64_t all = at[group.rows];
        for (int64_t panel = 0; panel < space->plan->npanels; panel++) {
            NAME(sum_panel)(space, &group, panel);
            NAME(write_panel)(space, &group, panel, at, colind, val);
        }
        colind += all;
        val += all;
    }
out:
    return status;
}

/* Values of a known structure, whose rows should be in order. *done = 0: one is not. */
static tulle_status NAME(value_group)(
    tulle__spgemm_workspace *space, int64_t begin, int64_t end, const tulle__csr_result *C, int64_t *rows, int *done)
{
    enum { NEAR = 64 }; /* columns, whose sums are in the nearest cache for all rows */
    NAME(group) group;
    int64_t at[8];
    TULLE_CALL(NAME(list_group)(space, begin, end, &group));
    for (int64_t r = 0; r < group.rows; r++) at[r] = C->rowptr[begin + r];
    for (int64_t panel = 0; panel < space->plan->npanels; panel++) {
        const T *sums = space->panels.sums;
        const int32_t first = (int32_t)panel * TULLE__PANEL;
        NAME(sum_panel)(space, &group, panel);
        for (int32_t some = NEAR; some <= TULLE__PANEL; some += NEAR)
            for (int64_t r = 0; r < group.rows; r++) {
                const int64_t last = C->rowptr[begin + r + 1];
                int64_t e = at[r];
                for (; e < last && (uint32_t)(C->colind[e] - first) < (uint32_t)some; e++)
                    ((T *)C->val)[e] = sums[8 * (C->colind[e] - first) + r];
                at[r] = e;
            }
    }
    *done = 1;
    for (int64_t r = 0; r < group.rows; r++) *done = *done && at[r] == C->rowptr[begin + r + 1];
    *rows = group.rows;
    return TULLE_OK;
}

#undef LANES
