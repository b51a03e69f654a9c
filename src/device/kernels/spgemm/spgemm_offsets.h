/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template, part of spgemm_rows.h: stretches of constant-offset rows. Row i + t of A, and of B, has the columns of row
 * i plus t, as on structured grids and in banded matrices. Then row i + t of C has the columns of row i plus t, too,
 * and the structure is found once a stretch, or not even that: consecutive stretches mostly have the same.
 *
 * Each entry of C has a list of its products, a[k] b[k][e] in the order of k, with which LANES consecutive rows are
 * summed side by side in a register. a[k] and b[k][e] are one load each, as B's values were transposed
 * (spgemm_offsets.c), and A's are for the few rows at hand, where they are not B's. The order of a sum is that of a row
 * alone, and so are its bits.
 *
 * Cost, for each product of a row with 64 bytes of lanes: a load of a and one of b, a multiplication and an addition
 * for 8 (16) rows. Two such vectors go together, so that two chains of additions hide each other's latency. (With sums
 * in memory instead, product by product in B's order, each product was a load and a store more.) Then sums are
 * transposed back, 3 shuffles for 8 values, and C is written: 4 + v bytes an entry, which is the bound of a stencil.
 * B's values for the next stretch, one line of a grid further on, are prefetched meanwhile.
 */
#define LANES 8 /* in all sets: narrower registers take them in parts */

enum { NAME(GROUP) = 2 * LANES };

/* A row of B under the first row of a stretch of C, and A's values that scale it. */
typedef struct NAME(offset_term) {
    const int32_t *col;
    const T *val; /* of entry e under row t of the stretch: val[e stride + t] */
    int64_t stride;
    const T *by; /* row t of the stretch: by[t by_stride]; NULL: the pair's scale alone */
    int64_t by_stride;
    T scale;
    int32_t len;
} NAME(offset_term);

/* Summands: row t of the stretch takes b[t], and lane l of a for row l of those side by side. */
typedef struct NAME(product) {
    const T *b, *a;
} NAME(product);

typedef struct NAME(stretch) {
    NAME(offset_term) * term;
    int64_t i, rows, nterms, nproducts; /* nproducts: of a row */
    int in_place;                       /* values go to C itself, not to a buffer that is in the cache */
} NAME(stretch);

static void NAME(list_offset)(NAME(stretch) * to, const tulle__spgemm_pair *pair, const tulle__offset_rows *offsets)
{
    const int64_t *ap = pair->A.rowptr, *bp = pair->B.rowptr;
    int64_t begin = ap ? ap[to->i] : 0, len = ap ? ap[to->i + 1] - begin : 1;
    for (int64_t a = begin; a < begin + len; a++) {
        int64_t k = ap ? pair->A.colind[a] : to->i;
        tulle__stretch rows = offsets->B[k];
        NAME(offset_term) *term = &to->term[to->nterms];
        if (bp[k + 1] == bp[k]) continue;
        *term = (NAME(offset_term)){.col = pair->B.colind + bp[k],
            .val = (const T *)offsets->b_val + (bp[rows.first] - bp[0]) + (k - rows.first),
            .stride = rows.end - rows.first,
            .scale = (T)pair->scale,
            .len = (int32_t)(bp[k + 1] - bp[k])};
        if (ap && offsets->same) {
            rows = offsets->A[to->i];
            term->by_stride = 1;
            term->by = (const T *)offsets->b_val + (ap[rows.first] - ap[0]) + (to->i - rows.first) +
                       (a - begin) * (rows.end - rows.first);
        } else if (ap) {
            term->by_stride = len;
            term->by = (const T *)pair->A.val + a;
        }
        to->nterms++;
        to->nproducts += bp[k + 1] - bp[k];
    }
}

/* True if row i of C is a shift of the row whose structure the space has. */
static int NAME(is_known)(const tulle__spgemm_workspace *space, const NAME(stretch) * stretch)
{
    const tulle__offset_row *row = &space->row;
    const NAME(offset_term) *before = (const NAME(offset_term) *)space->offset_terms + (row->turn ? 0 : row->most);
    int32_t by = (int32_t)(stretch->i - row->i), differ = 0;
    if (stretch->nterms != row->nterms || stretch->nproducts != row->nproducts) return 0;
    for (int64_t k = 0; k < row->nterms && !differ; k++) {
        const int32_t *x = before[k].col, *y = stretch->term[k].col;
        int32_t len = before[k].len;
        if (stretch->term[k].len != len) return 0;
        for (int32_t e = 0; e < len; e++) differ |= y[e] ^ (x[e] + by);
    }
    return !differ;
}

/* Marks the columns of row i of C, takes them in their order, and clears the bits. */
static void NAME(find_columns)(tulle__spgemm_workspace *space, const NAME(stretch) * stretch)
{
    int32_t lo = INT32_MAX, hi = -1, n = 0, *col = space->row.col;
    for (int64_t k = 0; k < stretch->nterms; k++)
        for (int32_t e = 0; e < stretch->term[k].len; e++) {
            int32_t c = stretch->term[k].col[e];
            space->bits[c >> 6] |= (uint64_t)1 << (c & 63);
            space->summary[c >> 12] |= (uint64_t)1 << ((c >> 6) & 63);
            if (c < lo) lo = c;
            if (c > hi) hi = c;
        }
    for (int32_t s = lo >> 12; hi >= 0 && s <= hi >> 12; s++) {
        uint64_t words = space->summary[s];
        space->summary[s] = 0;
        for (; words; words &= words - 1) {
            int64_t word = (int64_t)s * 64 + __builtin_ctzll(words);
            uint64_t bits = space->bits[word];
            space->bits[word] = 0;
            for (; bits; bits &= bits - 1) col[n++] = (int32_t)(word * 64 + __builtin_ctzll(bits));
        }
    }
    space->row.nnz = n;
}

/* The place of each product among the columns: rows of B mostly ascend, so that the search goes on where it was. */
static void NAME(find_places)(tulle__offset_row *row, const NAME(stretch) * stretch)
{
    int32_t *place = row->place;
    for (int32_t c = 0; c < row->nnz; c++) row->first[c] = 0;
    for (int64_t k = 0; k < stretch->nterms; k++) {
        const NAME(offset_term) *term = &stretch->term[k];
        int32_t at = 0;
        for (int32_t e = 0; e < term->len; e++) {
            if (row->col[at] > term->col[e]) at = 0;
            while (row->col[at] < term->col[e]) at++;
            *place++ = at;
            row->first[at]++;
        }
    }
    for (int32_t c = 0, before = 0; c < row->nnz; c++) {
        int32_t here = row->first[c];
        row->first[c] = before;
        before += here;
    }
}

/* The stretch of `rows` rows from i on; space->row becomes the structure of row i. */
static tulle_status NAME(find_stretch)(tulle__spgemm_workspace *space, int64_t i, int64_t rows, NAME(stretch) * to)
{
    const tulle__spgemm_task *task = space->plan->task;
    tulle__offset_row *row = &space->row;
    int64_t most = 0;
    tulle_status status;
    *to = (NAME(stretch)){.i = i, .rows = rows};
    for (int p = 0; p < task->npairs; p++) {
        const int64_t *ap = task->pair[p].A.rowptr;
        most += ap ? ap[i + 1] - ap[i] : 1;
    }
    TULLE_TRY(tulle__spgemm_workspace_dense(space, sizeof(T)));
    TULLE_TRY(tulle__spgemm_workspace_offsets(space, most ? most : 1, sizeof *to->term, NAME(GROUP) * sizeof(T)));
    row->turn = !row->turn;
    to->term = (NAME(offset_term) *)space->offset_terms + (row->turn ? row->most : 0);
    for (int p = 0; p < task->npairs; p++) NAME(list_offset)(to, &task->pair[p], &space->plan->offsets[p]);
    if (NAME(is_known)(space, to)) {
        for (int32_t c = 0; c < row->nnz; c++) row->col[c] += (int32_t)(i - row->i);
    } else {
        TULLE_TRY(tulle__spgemm_workspace_products(space, to->nproducts, sizeof(NAME(product))));
        NAME(find_columns)(space, to);
        NAME(find_places)(row, to);
    }
    row->i = i;
    row->nterms = to->nterms;
    row->nproducts = to->nproducts;
out:
    return status;
}

/* Lists the products of each entry in their order; row->last is where those of an entry end. */
static void NAME(list_products)(tulle__spgemm_workspace *space, const NAME(stretch) * stretch)
{
    const tulle__offset_row *row = &space->row;
    const int32_t *place = row->place;
    NAME(product) *product = space->product;
    const T *a = space->factor;
    if (row->nnz) memcpy(row->last, row->first, (size_t)row->nnz * sizeof *row->last);
    for (int64_t k = 0; k < stretch->nterms; k++, a += NAME(GROUP)) {
        const NAME(offset_term) *term = &stretch->term[k];
        const T *b = term->val;
        for (int32_t e = 0; e < term->len; e++, b += term->stride)
            product[row->last[*place++]++] = (NAME(product)){.b = b, .a = a};
    }
}

/*
 * Fetches the values of B's stretches that follow those in use, where they are not in use themselves: the next stretch
 * of C, one line of a grid further on, takes them.
 */
static void NAME(fetch_next)(const NAME(stretch) * stretch)
{
    const NAME(offset_term) *term = stretch->term, *end = term + stretch->nterms;
    for (; term < end; term++) {
        const T *next = term->val + term->stride * term->len, *stop = next + term->stride * term->len;
        if (term + 1 < end && (uintptr_t)term[1].val >= (uintptr_t)term->val &&
            (uintptr_t)term[1].val < (uintptr_t)stop)
            continue;
        for (; (uintptr_t)next < (uintptr_t)stop; next += 64 / sizeof(T)) __builtin_prefetch(next, 0, 2);
    }
}

/* A's values for `vectors` times LANES rows from row t of the stretch on, times the scale: GROUP of them a term. */
INLINE void NAME(load_factors)(const NAME(stretch) * stretch, int64_t t, T *factor, const int vectors)
{
    const NAME(offset_term) *term = stretch->term, *end = term + stretch->nterms, *next;
    for (; term < end; term = next) {
        next = term + 1;
        if (term->by_stride <= 1) {
            for (int v = 0; v < vectors; v++) {
                V a = SPLAT(term->scale);
                if (term->by) a *= LOAD(term->by + t + v * LANES);
                STORE(factor + v * LANES, a);
            }
            factor += NAME(GROUP);
            continue;
        }
        while (next < end && next->by == next[-1].by + 1 && next->by_stride == term->by_stride &&
               next->scale == term->scale)
            next++;
        for (int l = 0; l < vectors * LANES; l++) {
            const T *by = term->by + (t + l) * term->by_stride;
            for (int64_t k = 0; k < next - term; k++) factor[k * NAME(GROUP) + l] = term->scale * by[k];
        }
        factor += (next - term) * NAME(GROUP);
    }
}

/* sum[l] of row t + l, for the entry with products p .. last - 1. */
INLINE void NAME(sum_lanes)(const NAME(product) * p, const NAME(product) * last, int64_t t, T *sum, const int vectors)
{
    V x[2] = {{0}, {0}};
    for (; p < last; p++)
        for (int v = 0; v < vectors; v++) x[v] += LOAD(p->a + v * LANES) * LOAD(p->b + t + v * LANES);
    for (int v = 0; v < vectors; v++) STORE(sum + v * LANES, x[v]);
}

/* val[r nnz + c] = sum[c GROUP + r] for LANES rows r and as many columns c. */
INLINE void NAME(turn_back)(const T *sum, int64_t nnz, T *val)
{
    V x[8], y[8];
    for (int c = 0; c < 8; c++) x[c] = LOAD(sum + c * NAME(GROUP));
    for (int c = 0; c < 8; c += 2) { /* pairs of rows */
        y[c] = SHUFFLE(x[c], x[c + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        y[c + 1] = SHUFFLE(x[c], x[c + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int c = 0; c < 8; c += 4)
        for (int r = 0; r < 2; r++) {
            x[c + r] = SHUFFLE(y[c + r], y[c + 2 + r], 0, 1, 8, 9, 4, 5, 12, 13);
            x[c + 2 + r] = SHUFFLE(y[c + r], y[c + 2 + r], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int r = 0; r < 4; r++) {
        STORE(val + r * nnz, SHUFFLE(x[r], x[4 + r], 0, 1, 2, 3, 8, 9, 10, 11));
        STORE(val + (4 + r) * nnz, SHUFFLE(x[r], x[4 + r], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}

/*
 * Fetches where LANES columns of a number of rows go, from val[e] on: a store waits for the line it goes to. A
 * function, as the loop that calls it has no registers left; the assembly is what keeps calls of a function without
 * effects.
 */
static __attribute__((noinline)) void NAME(fetch_places)(const T *val, int64_t e, int64_t nnz, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++, e += nnz)
        __builtin_prefetch((const void *)((uintptr_t)val + (uintptr_t)e * sizeof(T)), 1);
    __asm__ volatile("");
}

/* Values of `vectors` times LANES rows from row t of the stretch on. */
INLINE void NAME(sum_rows)(
    const tulle__spgemm_workspace *space, const NAME(stretch) * stretch, int64_t t, T *val, const int vectors)
{
    const tulle__offset_row *row = &space->row;
    const NAME(product) *all = space->product, *p = all;
    const int64_t nnz = row->nnz;
    NAME(load_factors)(stretch, t, space->factor, vectors);
    for (int64_t c = 0; c < nnz; c += LANES) {
        T sum[8 * NAME(GROUP)] __attribute__((aligned(64)));
        int64_t columns = nnz - c < LANES ? nnz - c : LANES;
        if (stretch->in_place) NAME(fetch_places)(val, (t + vectors * LANES) * nnz + c, nnz, vectors * LANES);
        for (int64_t j = 0; j < columns; j++) {
            const NAME(product) *last = all + row->last[c + j];
            NAME(sum_lanes)(p, last, t, sum + j * NAME(GROUP), vectors);
            p = last;
        }
        for (int r = 0; r < vectors * LANES; r += LANES)
            if (columns == LANES)
                NAME(turn_back)(sum + r, nnz, val + (t + r) * nnz + c);
            else
                for (int64_t l = 0; l < LANES; l++)
                    for (int64_t j = 0; j < columns; j++) val[(t + r + l) * nnz + c + j] = sum[j * NAME(GROUP) + r + l];
    }
}

static void NAME(sum_one)(const tulle__spgemm_workspace *space, const NAME(stretch) * stretch, int64_t t, T *val)
{
    NAME(sum_rows)(space, stretch, t, val, 1);
}

static void NAME(sum_two)(const tulle__spgemm_workspace *space, const NAME(stretch) * stretch, int64_t t, T *val)
{
    NAME(sum_rows)(space, stretch, t, val, 2);
}

/* Values of all rows, one row after the other. */
static void NAME(sum_stretch)(tulle__spgemm_workspace *space, const NAME(stretch) * stretch, T *val)
{
    NAME(fetch_next)(stretch);
    NAME(list_products)(space, stretch);
    const int64_t rows = stretch->rows >= NAME(GROUP) ? NAME(GROUP) : LANES;
    for (int64_t t = 0; t < stretch->rows; t += rows) {
        if (t + rows > stretch->rows) t = stretch->rows - rows; /* some rows once more, to the same bits */
        rows == NAME(GROUP) ? NAME(sum_two)(space, stretch, t, val) : NAME(sum_one)(space, stretch, t, val);
    }
}

/* ---- rows ---- */

static tulle_status NAME(count_stretch)(tulle__spgemm_workspace *space, int64_t i, int64_t rows, int32_t *count)
{
    NAME(stretch) stretch;
    tulle_status status = NAME(find_stretch)(space, i, rows, &stretch);
    for (int64_t r = 0; r < rows; r++) count[r] = space->row.nnz;
    return status;
}

/* *nnz: entries written. */
static tulle_status NAME(write_stretch)(
    tulle__spgemm_workspace *space, int64_t i, int64_t rows, int32_t *count, int32_t *colind, T *val, int64_t *nnz)
{
    NAME(stretch) stretch;
    tulle_status status = NAME(find_stretch)(space, i, rows, &stretch);
    const tulle__offset_row *row = &space->row;
    if (status != TULLE_OK) return status;
    NAME(sum_stretch)(space, &stretch, val);
    for (int32_t r = 0; r < rows; r++, colind += row->nnz) {
        count[r] = row->nnz;
        for (int32_t c = 0; c < row->nnz; c++) colind[c] = row->col[c] + r;
    }
    *nnz = rows * row->nnz;
    return TULLE_OK;
}

/* Values of a known structure. *done = 0: it is another one. */
static tulle_status NAME(value_stretch)(
    tulle__spgemm_workspace *space, int64_t i, int64_t rows, const tulle__csr_result *C, int *done)
{
    NAME(stretch) stretch;
    tulle_status status = NAME(find_stretch)(space, i, rows, &stretch);
    const tulle__offset_row *row = &space->row;
    const int unsorted = space->plan->task->unsorted;
    int32_t differ = 0;
    *done = 0;
    if (status != TULLE_OK) return status;
    for (int32_t r = 0; r < rows; r++) {
        const int32_t *col = C->colind + C->rowptr[i + r];
        if (C->rowptr[i + r + 1] - C->rowptr[i + r] != row->nnz) return TULLE_OK;
        if (unsorted || r == 0 || r == rows - 1) /* sorted rows as long are the same */
            for (int32_t c = 0; c < row->nnz; c++) differ |= col[c] ^ (row->col[c] + r);
    }
    if (differ) return TULLE_OK;
    stretch.in_place = 1;
    NAME(sum_stretch)(space, &stretch, (T *)C->val + C->rowptr[i]);
    *done = 1;
    return TULLE_OK;
}

/* The first row of the next stretch in begin .. end - 1, or end, and its length. */
static int64_t NAME(next_stretch)(const tulle__spgemm_plan *plan, int64_t begin, int64_t end, int64_t *rows)
{
    *rows = 0;
    while (begin < end && (*rows = tulle__spgemm_offset_rows(plan, begin, end)) == 0) begin++;
    return begin;
}

#undef LANES
