/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: rows of C where B comes in runs of columns. Vectors go into arrays as wide as C,
 * bits keep the structure, and both are by run instead of by entry.
 *
 * Rows of B with the same columns share their list of runs, and so do up to ROWS_MAX rows of A that follow each other,
 * whose rows of C are made together (supernodes: several unknowns a node). The work is then a list of terms, one for
 * each entry of these rows of A, and terms next to each other with the same runs make small dense products
 *     C[q rows][run] += S[q x g] B[g rows][run],
 * the sums of a vector in a register while the g rows of B are added in their order.
 *
 * Cost, for each vector of a run and the q g products with it: q sums and g vectors of B loaded, q sums stored, q g
 * multiplications and additions, and at the end of a run q g masks more. With two loads, one store, two multiplications
 * and two additions a cycle, (q, g) = (1, 1) takes 1 cycle a product for its loads and its store, (3, 3) half of that,
 * 4.5 cycles for nine, for the arithmetic. Measured, with everything around it, on a mesh of hexahedra: ten times the
 * bound with one unknown a node (runs of three, one vector each), five times with three (runs of nine, three vectors).
 * So what counts is the run itself, some ten cycles for the loop and the branches on its length, which the q g products
 * share. Tried and slower: vectors of sums at multiples of their width; and merging rows of A that have only part of
 * their columns in common, since branches on the lengths of runs are mispredicted more often then.
 *
 * Vectors have 32 bytes in all sets that have so wide ones: most runs are short, and stores of 64 bytes are slow on
 * some processors. The portable set goes by entry.
 */
#if TULLE__REGISTER == 16
#define LANES 1
#elif SIZE == 8
#define LANES 4
#else
#define LANES 8
#endif

enum { NAME(ROWS_MAX) = TULLE__RUN_ROWS, NAME(DEPTH_MAX) = 3 };

/* A row of B, and its scale in each row of the block. */
typedef struct NAME(term) {
    const tulle__run *run;
    const T *val;
    int32_t nruns;
    T scale[NAME(ROWS_MAX)];
} NAME(term);

/* Rows i .. i + rows - 1 of C, which have the same columns. */
typedef struct NAME(block) {
    NAME(term) * term;
    int64_t i, nterms, nruns; /* nruns: of all terms */
    int rows;
    int32_t lo, hi; /* its columns lie in lo .. hi */
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

/* Number of rows from i on in a block; the same for a row of the same chunk whenever it is asked. */
static int NAME(block_rows)(const tulle__spgemm_task *task, int64_t i, int64_t end)
{
    int rows = 1;
    while (rows < NAME(ROWS_MAX) && i + rows < end && NAME(repeats)(task, i + rows)) rows++;
    return rows;
}

/* A term with the row k of B, without scales yet; NULL if it is empty. */
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

/* The terms of a pair, in the order of the row of A. */
static void NAME(list_pair)(NAME(block) * block, const tulle__spgemm_pair *pair, const tulle__run_rows *runs)
{
    const int64_t *ap = pair->A.rowptr;
    const T *val = pair->A.val;
    int64_t begin = ap ? ap[block->i] : 0, len = ap ? ap[block->i + 1] - begin : 1;
    T scale = (T)pair->scale;
    for (int64_t a = begin; a < begin + len; a++) {
        NAME(term) *term = NAME(add_term)(block, pair, runs, ap ? pair->A.colind[a] : block->i);
        if (!term) continue;
        for (int r = 0; r < block->rows; r++) term->scale[r] = ap ? scale * val[a + r * len] : scale;
    }
}

/* The block that starts with row i, in a chunk that ends before row `end`. */
static tulle_status NAME(list_block)(tulle__spgemm_workspace *space, int64_t i, int64_t end, NAME(block) * block)
{
    const tulle__spgemm_plan *plan = space->plan;
    const tulle__spgemm_task *task = plan->task;
    int64_t most = 0;
    *block = (NAME(block)){.i = i, .lo = INT32_MAX, .hi = -1};
    block->rows = NAME(block_rows)(task, i, end);
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        most += ap ? ap[i + 1] - ap[i] : 1;
    }
    TULLE_CALL(tulle__spgemm_workspace_segments(space, most, sizeof(NAME(term))));
    block->term = space->segment;
    for (int p = 0; p < task->npairs; p++) NAME(list_pair)(block, &task->pair[p], &plan->runs[p]);
    return TULLE_OK;
}

/* ---- structure ---- */

static inline void NAME(mark_run)(tulle__spgemm_workspace *space, tulle__run run)
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

static void NAME(mark_block)(tulle__spgemm_workspace *space, const NAME(block) * block)
{
    for (int64_t t = 0; t < block->nterms; t++) {
        const NAME(term) *term = &block->term[t];
        if (t > 0 && term->run == term[-1].run) continue;
        const tulle__run *run = term->run;
        for (int32_t n = 0; n < term->nruns; n++) NAME(mark_run)(space, run[n]);
    }
}

/* Adds the runs of the ones in a word to a list whose last run ends before column *at; the length of the list. */
static inline int64_t NAME(list_word)(tulle__run *run, int64_t nruns, int64_t word, uint64_t bits, int64_t *at)
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

/* Clears the bits and counts them; with list, their runs are added to space->run. */
static inline int64_t NAME(sweep)(tulle__spgemm_workspace *space, const NAME(block) * block, int list)
{
    int64_t nnz = 0, nruns = 0, at = -1;
    tulle__run *run = space->run ? space->run + space->run_used : NULL; /* NULL: no runs */
    for (int32_t s = block->lo >> 12; s <= block->hi >> 12; s++) {
        uint64_t words = space->summary[s];
        space->summary[s] = 0;
        for (; words; words &= words - 1) {
            int64_t word = (int64_t)s * 64 + __builtin_ctzll(words);
            uint64_t bits = space->bits[word];
            space->bits[word] = 0;
            nnz += __builtin_popcountll(bits);
            if (list) nruns = NAME(list_word)(run, nruns, word, bits, &at);
        }
    }
    space->run_used += nruns;
    return nnz;
}

/* The entries of each row of a block; with list, their runs are added to space->run. */
static tulle_status NAME(structure)(tulle__spgemm_workspace *space, const NAME(block) * block, int list, int32_t *count)
{
    tulle_status status = TULLE_OK;
    if (list) TULLE_TRY(tulle__spgemm_workspace_runs(space, space->run_used + block->nruns));
    NAME(mark_block)(space, block);
    int64_t nnz = list ? NAME(sweep)(space, block, 1) : NAME(sweep)(space, block, 0);
    for (int r = 0; r < block->rows; r++) count[r] = (int32_t)nnz;
out:
    return status;
}

/* ---- sums ---- */

/* Registers of a small dense product. */
typedef struct NAME(factors) {
    T *sum[NAME(ROWS_MAX)];
    const T *val[NAME(DEPTH_MAX)];
    V scale[NAME(ROWS_MAX)][NAME(DEPTH_MAX)];
} NAME(factors);

/* A vector of sums from column col on, q rows times g terms; at: the place of its values in the rows of B. */
INLINE void NAME(update_vector)(const NAME(factors) * by, int64_t col, int64_t at, const int q, const int g)
{
    V b[NAME(DEPTH_MAX)];
    for (int k = 0; k < g; k++) b[k] = LOAD(by->val[k] + at);
    for (int r = 0; r < q; r++) {
        V c = LOAD(by->sum[r] + col);
        for (int k = 0; k < g; k++) c += by->scale[r][k] * b[k];
        STORE(by->sum[r] + col, c);
    }
}

#if SELECTS
/*
 * The same for the first len < LANES elements: the product is masked, not the factor, since 0 * infinity is not 0; sums
 * are never -0, so that adding +0 to the others changes nothing.
 */
INLINE void NAME(update_first)(const NAME(factors) * by, int64_t col, int64_t at, int32_t len, const int q, const int g)
{
    const MASK mask = MASK_FIRST(len);
    V b[NAME(DEPTH_MAX)];
    for (int k = 0; k < g; k++) b[k] = LOAD_MASKED(mask, by->val[k] + at);
    for (int r = 0; r < q; r++) {
        V c = LOAD(by->sum[r] + col);
        for (int k = 0; k < g; k++) c += KEEP(mask, by->scale[r][k] * b[k]);
        STORE(by->sum[r] + col, c);
    }
}
#endif

/* sum[r] += scale[r] * val for g terms and q rows, which are constants where this is inlined. */
INLINE void NAME(update)(T *const *sum, const NAME(term) * term, const int q, const int g)
{
    NAME(factors) by;
    const tulle__run *run = term->run, *last = run + term->nruns;
    int64_t at = 0;
    for (int r = 0; r < q; r++) by.sum[r] = sum[r];
    for (int k = 0; k < g; k++) {
        by.val[k] = term[k].val;
        for (int r = 0; r < q; r++) by.scale[r][k] = SPLAT(term[k].scale[r]);
    }
    for (; run < last; run++) {
        int64_t col = run->col;
        int32_t len = run->len;
        for (; len >= LANES; len -= LANES, col += LANES, at += LANES) NAME(update_vector)(&by, col, at, q, g);
#if SELECTS
        if (len > 0) NAME(update_first)(&by, col, at, len, q, g);
#endif
        at += len;
    }
}

#define UPDATE(q, g)                                                                                                   \
    static void NAME(update_##q##g)(T *const *sum, const NAME(term) * term)                                            \
    {                                                                                                                  \
        NAME(update)(sum, term, q, g);                                                                                 \
    }
UPDATE(1, 1)
UPDATE(1, 2)
UPDATE(1, 3)
UPDATE(2, 1)
UPDATE(2, 2)
UPDATE(2, 3)
UPDATE(3, 1)
UPDATE(3, 2)
UPDATE(3, 3)
UPDATE(4, 1)
UPDATE(4, 2)
UPDATE(4, 3)
#undef UPDATE

/* Row r of the block's sums. */
static inline T *NAME(sums)(const tulle__spgemm_workspace *space, int r)
{
    return (T *)space->dense + r * (space->plan->task->n + TULLE__PAD);
}

static void NAME(sum_block)(const tulle__spgemm_workspace *space, const NAME(block) * block)
{
    static void (*const update[NAME(ROWS_MAX)][NAME(DEPTH_MAX)])(T *const *, const NAME(term) *) = {
        {NAME(update_11), NAME(update_12), NAME(update_13)},
        {NAME(update_21), NAME(update_22), NAME(update_23)},
        {NAME(update_31), NAME(update_32), NAME(update_33)},
        {NAME(update_41), NAME(update_42), NAME(update_43)},
    };
    T *sum[NAME(ROWS_MAX)];
    for (int r = 0; r < block->rows; r++) sum[r] = NAME(sums)(space, r);
    for (int64_t t = 0; t < block->nterms;) {
        const NAME(term) *term = &block->term[t];
        int g = 1;
        while (g < NAME(DEPTH_MAX) && t + g < block->nterms && term[g].run == term->run) g++;
        update[block->rows - 1][g - 1](sum, term);
        t += g;
    }
}

/* Values of a known structure out of the sums, which become 0. */
static inline void NAME(take)(T *sum, const int32_t *colind, int64_t nnz, T *val)
{
    for (int64_t c = 0; c < nnz;) {
        T *from = sum + colind[c];
        if (nnz - c >= LANES && CONSECUTIVE(colind + c)) {
            STORE(val + c, LOAD(from));
            STORE(from, SPLAT(0));
            c += LANES;
        } else {
            val[c++] = *from;
            *from = 0;
        }
    }
}

#undef LANES
#if TULLE__REGISTER == 64
#define LANES 8
#else
#define LANES MOST(T)
#endif

/*
 * Writes the columns of the runs and their sums, and makes the sums 0. Whole vectors go over the end of a run into the
 * next one's place, which is written after it; near the end of the `capacity` entries that may be touched, by entry. So
 * does clearing, where stores under a mask are slow: all runs are copied before.
 */
static inline void NAME(copy_runs)(
    const tulle__run *run, int64_t nruns, T *dense, int64_t capacity, int32_t *colind, T *val)
{
    for (int64_t r = 0; r < nruns; r++) {
        const int32_t col = run[r].col, len = run[r].len;
        if (capacity >= len + LANES - 1)
            for (int32_t t = 0; t < len; t += LANES) {
                COUNT_UP(colind + t, col + t);
                STORE(val + t, LOAD(dense + col + t));
#if STORES_MASKED
                CLEAR_FIRST(dense + col + t, len - t);
#endif
            }
        else
            for (int32_t t = 0; t < len; t++) {
                colind[t] = col + t;
                val[t] = dense[col + t];
#if STORES_MASKED
                dense[col + t] = 0;
#endif
            }
        colind += len;
        val += len;
        capacity -= len;
    }
#if !STORES_MASKED
    for (int64_t r = 0; r < nruns; r++)
        for (int32_t t = 0; t < run[r].len; t += LANES) STORE(dense + run[r].col + t, SPLAT(0));
#endif
}

/* ---- rows ---- */

static tulle_status NAME(count_blocks)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count)
{
    tulle_status status;
    NAME(block) block;
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i += block.rows) {
        TULLE_TRY(NAME(list_block)(space, i, end, &block));
        TULLE_TRY(NAME(structure)(space, &block, space->keep, count + i));
    }
out:
    return status;
}

/* The runs of C come from space->stored, if they were kept, else from the structure made here. */
static tulle_status NAME(write_blocks)(tulle__spgemm_workspace *space, int64_t begin, int64_t end, int32_t *count,
    int32_t *colind, T *val, int64_t capacity)
{
    tulle_status status;
    NAME(block) block;
    const tulle__run *next = space->stored;
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i += block.rows) {
        TULLE_TRY(NAME(list_block)(space, i, end, &block));
        if (!space->stored) {
            space->run_used = 0;
            TULLE_TRY(NAME(structure)(space, &block, 1, count + i));
            next = space->run;
        }
        NAME(sum_block)(space, &block);
        const tulle__run *run = next;
        int64_t nnz = count[i];
        for (int64_t n = 0; n < nnz;) n += next++->len;
        for (int r = 0; r < block.rows; r++) {
            NAME(copy_runs)(run, next - run, NAME(sums)(space, r), capacity, colind, val);
            colind += nnz;
            val += nnz;
            capacity -= nnz;
        }
    }
    if (space->stored) space->stored = next;
out:
    return status;
}

static tulle_status NAME(value_blocks)(
    tulle__spgemm_workspace *space, int64_t begin, int64_t end, const tulle__csr_result *C)
{
    tulle_status status;
    NAME(block) block;
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    for (int64_t i = begin; i < end; i += block.rows) {
        TULLE_TRY(NAME(list_block)(space, i, end, &block));
        NAME(sum_block)(space, &block);
        for (int r = 0; r < block.rows; r++) {
            int64_t at = C->rowptr[i + r], nnz = C->rowptr[i + r + 1] - at;
            tulle__fetch_entries_ahead(C->colind + at, (T *)C->val + at, nnz, sizeof(T));
            NAME(take)(NAME(sums)(space, r), C->colind + at, nnz, (T *)C->val + at);
        }
    }
out:
    return status;
}

#undef LANES
