/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: rows of C where B comes in runs of columns. Vectors go into arrays as wide as C,
 * bits keep the structure, and both are by run instead of by entry.
 *
 * Rows of B with the same columns share their list of runs (a supernode), and up to BLOCK_ROWS rows of C are made
 * together, if their rows of A have the same columns or share half of them. So the work is a list of terms, one for
 * each k that any of the rows has, and terms next to each other with the same runs and rows make small dense products
 *     C[q rows][run] += S[q x g] B[g rows][run],
 * the sums of a vector in a register while the g rows of B are added in their order.
 *
 * Cost, for each vector of a run and the q x g products with it: q sums and g vectors of B loaded, q sums stored, q g
 * multiplications and additions, and at the end of a run q g masks more. With two loads, one store, two multiplications
 * and two additions a cycle, (q, g) = (1, 1) is bound by its loads and its store at 1 cycle a product, (3, 3) at 3
 * cycles for nine, (4, 1) by its stores at 1 again. What is above that is the run itself, some 10 cycles each for the
 * loop and the branch on its length: they are shared by the q g products too, which is most of the gain for short runs.
 *
 * Vectors of an instruction set: NAME(vector) of NAME(WIDTH) elements; NAME(load), NAME(store), NAME(broadcast);
 * NAME(tail) makes the NAME(mask) of the first 1 .. WIDTH - 1 elements, NAME(load_tail) loads those and touches no
 * other, NAME(keep_tail) makes the others 0; NAME(consecutive) tells whether WIDTH columns are.
 */

enum { NAME(ROWS_MAX) = TULLE__BLOCK_ROWS, NAME(DEPTH_MAX) = 3 };

/* A row of B, and the rows of the block that it goes to. */
typedef struct NAME(term) {
    const tulle__run *run;
    const T *val;
    int32_t nruns;
    uint32_t rows;           /* bit r: row r of the block */
    T scale[NAME(ROWS_MAX)]; /* for these rows, without gaps */
} NAME(term);

/* Rows i .. i + rows - 1 of C. */
typedef struct NAME(block) {
    NAME(term) * term;
    int64_t i, nterms, nruns; /* nruns: of all terms */
    int rows, same;           /* same: all have the columns of the first */
    int32_t lo, hi;           /* its columns lie in lo .. hi */
} NAME(block);

/* ---- blocks of rows ---- */

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

/* The columns that rows i - 1 and i of A have in common; -1 if one of them does not ascend. */
static int64_t NAME(common)(const tulle__csr *A, int64_t i)
{
    const int32_t *x = A->colind + A->rowptr[i - 1], *y = A->colind + A->rowptr[i];
    const int32_t *x_end = y, *y_end = A->colind + A->rowptr[i + 1];
    int64_t common = 0;
    for (const int32_t *c = x + 1; c < y_end; c++)
        if (c != x_end && c[0] <= c[-1]) return -1;
    while (x < x_end && y < y_end) {
        int32_t left = *x, right = *y;
        common += left == right;
        x += left <= right;
        y += right <= left;
    }
    return common;
}

/* True if rows i - 1 and i of the As share half of their columns, and ascend, so that they can be merged. */
static int NAME(resembles)(const tulle__spgemm_task *task, int64_t i)
{
    int64_t common = 0, entries = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A;
        if (!A->rowptr) return 0;
        int64_t here = NAME(common)(A, i);
        if (here < 0) return 0;
        common += here;
        entries += A->rowptr[i + 1] - A->rowptr[i - 1];
    }
    return 4 * common >= entries;
}

/* How many rows from i on make a block; the same for a row of the same chunk whenever it is asked. */
static int NAME(block_rows)(const tulle__spgemm_task *task, int64_t i, int64_t end, int *same)
{
    int rows = 1, most = end - i < NAME(ROWS_MAX) ? (int)(end - i) : NAME(ROWS_MAX);
    while (rows < most && NAME(repeats)(task, i + rows)) rows++;
    *same = rows > 1;
    while (!*same && rows < most && NAME(resembles)(task, i + rows)) rows++;
    return rows;
}

/* A term with the row k of B, without rows yet; NULL if it is empty. */
static inline NAME(term) *
    NAME(add_term)(NAME(block) * block, const tulle__spgemm_pair *pair, const tulle__run_rows *runs, int64_t k)
{
    tulle__run_list list = runs->row[k];
    if (list.count == 0) return NULL;
    NAME(term) *term = &block->term[block->nterms++];
    term->run = runs->run + list.first;
    term->nruns = list.count;
    term->val = (const T *)pair->B.val + pair->B.rowptr[k];
    block->nruns += list.count;
    const tulle__run *back = &term->run[list.count - 1];
    if (term->run->col < block->lo) block->lo = term->run->col;
    if (back->col + back->len - 1 > block->hi) block->hi = back->col + back->len - 1;
    return term;
}

/* The terms of a pair for rows of the same columns, or for one row, in the order of the row. */
ROWS static void NAME(list_same)(NAME(block) * block, const tulle__spgemm_pair *pair, const tulle__run_rows *runs)
{
    const int64_t *ap = pair->A.rowptr;
    const T *val = pair->A.val;
    int64_t begin = ap ? ap[block->i] : 0, len = ap ? ap[block->i + 1] - begin : 1;
    T scale = (T)pair->scale;
    for (int64_t a = begin; a < begin + len; a++) {
        NAME(term) *term = NAME(add_term)(block, pair, runs, ap ? pair->A.colind[a] : block->i);
        if (!term) continue;
        term->rows = (1u << block->rows) - 1;
        for (int r = 0; r < block->rows; r++) term->scale[r] = ap ? MULTIPLY(scale, val[a + r * len]) : scale;
    }
}

/* The same for ascending rows of different columns, which are merged. */
ROWS static void NAME(list_merged)(NAME(block) * block, const tulle__spgemm_pair *pair, const tulle__run_rows *runs)
{
    const int64_t *ap = pair->A.rowptr + block->i;
    const int32_t *col = pair->A.colind;
    const T *val = pair->A.val;
    T scale = (T)pair->scale;
    int64_t a[NAME(ROWS_MAX)];
    for (int r = 0; r < block->rows; r++) a[r] = ap[r];
    for (;;) {
        int64_t k = INT64_MAX;
        for (int r = 0; r < block->rows; r++)
            if (a[r] < ap[r + 1] && col[a[r]] < k) k = col[a[r]];
        if (k == INT64_MAX) return;
        NAME(term) *term = NAME(add_term)(block, pair, runs, k);
        uint32_t rows = 0;
        int n = 0;
        for (int r = 0; r < block->rows; r++) {
            if (a[r] == ap[r + 1] || col[a[r]] != k) continue;
            rows |= 1u << r;
            if (term) term->scale[n++] = MULTIPLY(scale, val[a[r]]);
            a[r]++;
        }
        if (term) term->rows = rows;
    }
}

/* The block that starts with row i, in a chunk that ends before row `end`. */
ROWS static tulle_status NAME(list_block)(tulle__spgemm_space *space, int64_t i, int64_t end, NAME(block) * block)
{
    const tulle__spgemm_plan *plan = space->plan;
    const tulle__spgemm_task *task = plan->task;
    int64_t most = 0;
    *block = (NAME(block)){.i = i, .lo = INT32_MAX, .hi = -1};
    block->rows = NAME(block_rows)(task, i, end, &block->same);
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        most += ap ? ap[i + block->rows] - ap[i] : 1;
    }
    tulle_status status = tulle__spgemm_space_segments(space, most, sizeof(NAME(term)));
    if (status != TULLE_OK) return status;
    block->term = space->segment;
    for (int p = 0; p < task->npairs; p++) {
        if (block->same || block->rows == 1)
            NAME(list_same)(block, &task->pair[p], &plan->runs[p]);
        else
            NAME(list_merged)(block, &task->pair[p], &plan->runs[p]);
    }
    return TULLE_OK;
}

static inline int NAME(same_work)(const NAME(term) * x, const NAME(term) * y)
{
    return x->run == y->run && x->rows == y->rows;
}

/* ---- structure: word w of row r is bits[w * ROWS_MAX + r]; the summary is of all rows together ---- */

ROWS static inline void NAME(mark_word)(
    tulle__spgemm_space *space, uint32_t word, uint64_t ones, const uint64_t *present)
{
    uint64_t *bits = space->bits + (size_t)word * NAME(ROWS_MAX), before = 0;
    for (int r = 0; r < NAME(ROWS_MAX); r++) before |= bits[r];
    for (int r = 0; r < NAME(ROWS_MAX); r++) bits[r] |= ones & present[r];
    /* only on first touch: run after run would wait for the store before to the same word of the summary */
    if (!before) space->summary[word >> 6] |= (uint64_t)1 << (word & 63);
}

ROWS static inline void NAME(mark_run)(tulle__spgemm_space *space, tulle__run run, const uint64_t *present)
{
    uint32_t word = (uint32_t)run.col >> 6, offset = (uint32_t)run.col & 63, len = (uint32_t)run.len;
    while (__builtin_expect(offset + len > 64, 0)) {
        NAME(mark_word)(space, word++, ~(uint64_t)0 << offset, present);
        len -= 64 - offset;
        offset = 0;
    }
    NAME(mark_word)(space, word, (~(uint64_t)0 >> (64 - len)) << offset, present);
}

/* Rows of the same columns are marked as one, the first. */
ROWS static void NAME(mark_block)(tulle__spgemm_space *space, const NAME(block) * block)
{
    for (int64_t t = 0; t < block->nterms; t++) {
        const NAME(term) *term = &block->term[t];
        if (t > 0 && NAME(same_work)(term, term - 1)) continue;
        uint64_t present[NAME(ROWS_MAX)];
        for (int r = 0; r < NAME(ROWS_MAX); r++)
            present[r] = -(uint64_t)((block->same ? r == 0 : term->rows >> r & 1) != 0);
        for (int32_t n = 0; n < term->nruns; n++) NAME(mark_run)(space, term->run[n], present);
    }
}

/* Adds the runs of the ones in a word to a list whose last run ends before column *at; the length of the list. */
ROWS static inline int64_t NAME(list_word)(tulle__run *run, int64_t nruns, int64_t word, uint64_t bits, int64_t *at)
{
    while (bits) {
        int first = __builtin_ctzll(bits);
        uint64_t rest = ~(bits >> first);
        int len = rest ? __builtin_ctzll(rest) : 64;
        if (len > 64 - first) len = 64 - first;
        int64_t col = word * 64 + first;
        if (col == *at)
            run[nruns - 1].len += len;
        else
            run[nruns++] = (tulle__run){(int32_t)col, len};
        *at = col + len;
        bits &= ~((~(uint64_t)0 >> (64 - len)) << first);
    }
    return nruns;
}

/* Clears the bits of row r of the block and counts them; with list, their runs are added to space->run. */
ROWS static inline int64_t NAME(sweep)(tulle__spgemm_space *space, const NAME(block) * block, int r, int list)
{
    int64_t nnz = 0, nruns = 0, at = -1;
    tulle__run *run = space->run + space->run_used;
    for (int32_t s = block->lo >> 12; s <= block->hi >> 12; s++)
        for (uint64_t words = space->summary[s]; words; words &= words - 1) {
            int64_t word = (int64_t)s * 64 + __builtin_ctzll(words);
            uint64_t bits = space->bits[word * NAME(ROWS_MAX) + r];
            space->bits[word * NAME(ROWS_MAX) + r] = 0;
            nnz += __builtin_popcountll(bits);
            if (list) nruns = NAME(list_word)(run, nruns, word, bits, &at);
        }
    space->run_used += nruns;
    return nnz;
}

/* The entries of the rows of a block; with list, their runs are added to space->run, once if the rows are the same. */
ROWS static tulle_status NAME(structure)(
    tulle__spgemm_space *space, const NAME(block) * block, int list, int32_t *count)
{
    int rows = block->same ? 1 : block->rows;
    tulle_status status = TULLE_OK;
    if (list) TULLE_TRY(tulle__spgemm_space_runs(space, space->run_used + rows * block->nruns));
    NAME(mark_block)(space, block);
    for (int r = 0; r < rows; r++)
        count[r] = (int32_t)(list ? NAME(sweep)(space, block, r, 1) : NAME(sweep)(space, block, r, 0));
    for (int r = rows; r < block->rows; r++) count[r] = count[0];
    for (int32_t s = block->lo >> 12; s <= block->hi >> 12; s++) space->summary[s] = 0;
out:
    return status;
}

/* ---- sums ---- */

/* sum[r] += scale[r] * val for g terms of q rows, which are constants where this is inlined. */
ROWS static inline __attribute__((always_inline)) void NAME(update)(
    T *const *sum, const NAME(term) * term, const int q, const int g)
{
    NAME(vector) scale[NAME(ROWS_MAX)][NAME(DEPTH_MAX)], b[NAME(DEPTH_MAX)], c;
    const T *val[NAME(DEPTH_MAX)];
    for (int k = 0; k < g; k++) {
        val[k] = term[k].val;
        for (int r = 0; r < q; r++) scale[r][k] = NAME(broadcast)(term[k].scale[r]);
    }
    for (int32_t n = 0; n < term->nruns; n++) {
        int32_t col = term->run[n].col, end = col + term->run[n].len;
        for (; end - col >= NAME(WIDTH); col += NAME(WIDTH)) {
            for (int k = 0; k < g; k++) {
                b[k] = NAME(load)(val[k]);
                val[k] += NAME(WIDTH);
            }
            for (int r = 0; r < q; r++) {
                c = NAME(load)(sum[r] + col);
                for (int k = 0; k < g; k++) c = ADD(c, MULTIPLY(scale[r][k], b[k]));
                NAME(store)(sum[r] + col, c);
            }
        }
        if (col == end) continue;
        /* The product is masked, not the factor: 0 * infinity is not 0. Sums are never -0: +0 changes nothing. */
        NAME(mask) tail = NAME(tail)(end - col);
        for (int k = 0; k < g; k++) {
            b[k] = NAME(load_tail)(val[k], tail);
            val[k] += end - col;
        }
        for (int r = 0; r < q; r++) {
            c = NAME(load)(sum[r] + col);
            for (int k = 0; k < g; k++) c = ADD(c, NAME(keep_tail)(MULTIPLY(scale[r][k], b[k]), tail));
            NAME(store)(sum[r] + col, c);
        }
    }
}

#define UPDATE(q, g)                                                                                                   \
    ROWS static void NAME(update_##q##g)(T *const *sum, const NAME(term) * term)                                       \
    {                                                                                                                  \
        NAME(update)(sum, term, q, g);                                                                                 \
    }
UPDATE(1, 1)
UPDATE(1, 2) UPDATE(1, 3) UPDATE(2, 1) UPDATE(2, 2) UPDATE(2, 3) UPDATE(3, 1) UPDATE(3, 2) UPDATE(3, 3) UPDATE(4, 1)
    UPDATE(4, 2) UPDATE(4, 3)
#undef UPDATE

    /* Row r of the block's sums. */
    static inline T *NAME(sums)(const tulle__spgemm_space *space, int r)
{
    return (T *)space->dense + r * (space->plan->task->n + TULLE__PAD);
}

ROWS static void NAME(sum_block)(const tulle__spgemm_space *space, const NAME(block) * block)
{
    static void (*const update[NAME(ROWS_MAX)][NAME(DEPTH_MAX)])(T *const *, const NAME(term) *) = {
        {NAME(update_11), NAME(update_12), NAME(update_13)},
        {NAME(update_21), NAME(update_22), NAME(update_23)},
        {NAME(update_31), NAME(update_32), NAME(update_33)},
        {NAME(update_41), NAME(update_42), NAME(update_43)},
    };
    for (int64_t t = 0; t < block->nterms;) {
        const NAME(term) *term = &block->term[t];
        T *sum[NAME(ROWS_MAX)];
        int q = 0, g = 1;
        for (uint32_t rows = term->rows; rows; rows &= rows - 1) sum[q++] = NAME(sums)(space, __builtin_ctz(rows));
        while (g < NAME(DEPTH_MAX) && t + g < block->nterms && NAME(same_work)(term, term + g)) g++;
        update[q - 1][g - 1](sum, term);
        t += g;
    }
}

/* Values of a known structure out of the sums, which become ZERO. */
ROWS static inline void NAME(take)(T *sum, const int32_t *colind, int64_t nnz, T *val)
{
    for (int64_t c = 0; c < nnz;) {
        T *from = sum + colind[c];
        if (nnz - c >= NAME(WIDTH) && NAME(consecutive)(colind + c)) {
            NAME(store)(val + c, NAME(load)(from));
            NAME(store)(from, NAME(broadcast)(ZERO));
            c += NAME(WIDTH);
        } else {
            val[c++] = *from;
            *from = ZERO;
        }
    }
}

/* ---- rows ---- */

ROWS static tulle_status NAME(count_blocks)(tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status;
    NAME(block) block;
    TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i += block.rows) {
        TULLE_TRY(NAME(list_block)(space, i, end, &block));
        TULLE_TRY(NAME(structure)(space, &block, space->keep, count + i));
    }
out:
    return status;
}

/* The runs of C come from space->stored, if they were kept, else from the structure made here. */
ROWS static tulle_status NAME(write_blocks)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, int32_t *count, int32_t *colind, T *val, int64_t room)
{
    tulle_status status;
    NAME(block) block;
    const tulle__run *next = space->stored;
    TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i += block.rows) {
        TULLE_TRY(NAME(list_block)(space, i, end, &block));
        if (!space->stored) {
            space->run_used = 0;
            TULLE_TRY(NAME(structure)(space, &block, 1, count + i));
            next = space->run;
        }
        NAME(sum_block)(space, &block);
        const tulle__run *run = next;
        for (int r = 0; r < block.rows; r++) {
            int64_t nnz = count[i + r];
            if (r == 0 || !block.same) {
                run = next;
                for (int64_t n = 0; n < nnz;) n += next++->len;
            }
            NAME(copy_runs)(run, next - run, NAME(sums)(space, r), room, colind, val);
            colind += nnz;
            val += nnz;
            room -= nnz;
        }
    }
out:
    return status;
}

ROWS static tulle_status NAME(value_blocks)(
    tulle__spgemm_space *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status;
    NAME(block) block;
    TULLE_TRY(tulle__spgemm_space_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i += block.rows) {
        TULLE_TRY(NAME(list_block)(space, i, end, &block));
        NAME(sum_block)(space, &block);
        for (int r = 0; r < block.rows; r++) {
            int64_t at = C->rowptr[i + r];
            NAME(take)(NAME(sums)(space, r), C->colind + at, C->rowptr[i + r + 1] - at, (T *)C->val + at);
        }
    }
out:
    return status;
}
