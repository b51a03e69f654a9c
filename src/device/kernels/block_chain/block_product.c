/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a block row of C: products of blocks, sorted by the block of C to which they add, so that
 * each block of C is one chain. A's blocks are taken in groups that stay in the second-level cache with the
 * list of their products; a group after the first adds to C. Where rows of A are nearly full and blocks
 * large, B would come from memory for each row: some rows then take the same columns of A together.
 */
#include "device/kernels/block_chain/block_product.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    GROUP_BYTES = 1 << 17,    /* of A's blocks in a group */
    GROUP_PRODUCTS = 1 << 14, /* in a group, of at least one block of A */
    /* full rows of A: those with a block for every so many columns, of so many, and blocks of so many rows and columns
     */
    FULL_PART = 4,
    FULL_LEAST = 16,
    HIGH = 16,
    COLUMNS_AT_ONCE = 256,  /* of A */
    SHARED_BYTES = 1 << 18, /* of A's blocks in them, in all rows that are made together */
    LARGEST = 1 << 20       /* rows, inner indices and columns of blocks that libraries multiply */
};

static int64_t inner(const tulle__csr *A, int64_t k)
{
    return A->col_block[k + 1] - A->col_block[k];
}

static const void *block_at(const tulle__block_job *j, const tulle__csr *X, int64_t e, int64_t values)
{
    return (const char *)X->val + (size_t)(X->offset ? X->offset[e] : e * values) * j->size;
}

tulle_status tulle__block_workspace_for(tulle__block_workspace *w, int64_t columns)
{
    if (w->first && columns <= w->columns_capacity) return TULLE_OK;
    int64_t more = 2 * columns + 64;
    TULLE_CALL(tulle__realloc((size_t)more, sizeof *w->column, "block columns of a row", &w->column));
    TULLE_CALL(tulle__realloc((size_t)more + 1, sizeof *w->first, "block columns of a row", &w->first));
    TULLE_CALL(tulle__realloc((size_t)more, sizeof *w->fresh, "block columns of a row", &w->fresh));
    w->columns_capacity = more;
    return TULLE_OK;
}

static tulle_status reserve_steps(tulle__block_workspace *w, int64_t steps)
{
    if (steps <= w->steps_capacity) return TULLE_OK;
    TULLE_CALL(tulle__realloc((size_t)(steps + steps / 4), sizeof *w->step, "products of blocks", &w->step));
    w->steps_capacity = steps + steps / 4;
    return TULLE_OK;
}

static tulle_status reserve_products(tulle__block_workspace *w, int64_t products)
{
    if (products <= w->met_capacity) return TULLE_OK;
    const int64_t capacity = products + products / 4;
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *w->met, "products of blocks", &w->met));
    w->met_capacity = capacity;
    return TULLE_OK;
}

static void *block_of_c(const tulle__block_job *j, int64_t e)
{
    return (char *)j->C->val + (size_t)j->C->offset[e] * j->size;
}

/* C's block e is scale times B's, or that is added to it. */
static void add_block(const tulle__block_job *j, int64_t e, const void *from, int64_t values, double scale, bool fresh)
{
    if (j->task->type == TULLE_F32) {
        float *to = block_of_c(j, e), s = (float)scale;
        const float *x = from;
        for (int64_t i = 0; i < values; i++) to[i] = fresh ? s * x[i] : to[i] + s * x[i];
    } else {
        double *to = block_of_c(j, e);
        const double *x = from;
        for (int64_t i = 0; i < values; i++) to[i] = fresh ? scale * x[i] : to[i] + scale * x[i];
    }
}

static void add_row(const tulle__block_job *j, tulle__block_workspace *w, const tulle__spgemm_pair *pair, int64_t r)
{
    const tulle__csr *B = &pair->B;
    if (!B->rowptr || !pair->A.m || pair->scale == 0) return;
    for (int64_t f = B->rowptr[r]; f < B->rowptr[r + 1]; f++) {
        int64_t c = B->colind[f], values = tulle__block_height(j, r) * tulle__block_width(j, c);
        int32_t slot = w->slot[c];
        if (slot < 0) continue;
        add_block(j, j->C->rowptr[r] + slot, block_at(j, B, f, values), values, pair->scale, w->fresh[slot]);
        w->fresh[slot] = 0;
    }
}

/* Room for a block of C of m x n values; NULL: there is no memory. */
static void *scratch_of(const tulle__block_job *j, tulle__block_workspace *w, int64_t m, int64_t n)
{
    const size_t bytes = (size_t)(m * n) * j->size;
    if (bytes > w->scratch_capacity) {
        tulle__free(w->scratch);
        w->scratch = NULL;
        w->scratch_capacity = 0;
        if (tulle__alloc(bytes, 1, "a block", &w->scratch) != TULLE_OK) return NULL;
        w->scratch_capacity = bytes;
    }
    return w->scratch;
}

/* The kernel of a chain whose steps have `inner` inner indices together. */
static tulle_block_kernel kernel_of(const tulle__block_job *j, const tulle__block_chain *chain, int64_t inner)
{
    int64_t size = chain->m < chain->n ? chain->m : chain->n, k = inner / chain->steps;
    if (k < size) size = k;
    if (chain->m > LARGEST || chain->n > LARGEST || inner > LARGEST) return TULLE_BLOCK_OWN;
    for (int q = TULLE_BLOCK_KERNELS - 1; q > TULLE_BLOCK_OWN; q--)
        if (j->chain[q] && size >= j->from[q]) return (tulle_block_kernel)q;
    return TULLE_BLOCK_OWN;
}

/* C's block e, of m rows, in place c of its row: plus scale times the products of steps begin .. end - 1. */
static void add_steps(const tulle__block_job *j, tulle__block_workspace *w, int64_t e, int64_t m, int64_t begin,
    int64_t end, double scale, int64_t c)
{
    const int64_t n = tulle__block_width(j, j->C->colind[e]);
    int64_t inner = 0;
    tulle__block_chain chain = {.type = j->task->type,
        .m = m,
        .n = n,
        .steps = end - begin,
        .step = w->step + begin,
        .ldb = n,
        .C = block_of_c(j, e),
        .ldc = n,
        .alpha = scale,
        .beta = w->fresh[c] ? 0 : 1};
    for (int64_t s = begin; s < end; s++) inner += w->step[s].k;
    tulle_block_kernel kernel = kernel_of(j, &chain, inner);
    if (kernel == TULLE_BLOCK_LIBXSMM && scale != 1) {
        chain.scratch = scratch_of(j, w, m, n);
        if (!chain.scratch) kernel = TULLE_BLOCK_OWN;
    }
    j->chain[kernel](&chain);
    w->by[kernel] += m * n * inner;
    w->fresh[c] = 0;
}

/*
 * Lists the products of blocks from .. to - 1 of row r of A, sorted by the places of C's blocks: those of place c end
 * at w->first[c].
 */
static tulle_status list_products(const tulle__block_job *j, tulle__block_workspace *w, const tulle__spgemm_pair *pair,
    int64_t r, int64_t from, int64_t to)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    const int32_t *slots = w->slot;
    const char *made = w->made;
    int64_t *first = w->first, m = tulle__block_height(j, r), columns = w->columns, met = 0, products = 0;
    memset(first, 0, (size_t)(columns + 1) * sizeof *first);
    for (int64_t e = from; e < to; e++) {
        int64_t k = A->colind[e], across = inner(A, k), width = 0, skipped = 0;
        const void *a = block_at(j, A, e, m * across);
        TULLE_CALL(reserve_products(w, met + B->rowptr[k + 1] - B->rowptr[k]));
        for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++) {
            int64_t c = B->colind[f], n;
            int32_t slot = slots[c];
            if (slot < 0 && made && !made[c]) continue; /* before norms are read */
            if (!tulle__block_survives(j, r, A, e, B, f)) {
                skipped++;
                continue;
            }
            if (slot < 0) continue;
            n = tulle__block_width(j, c);
            first[slot]++;
            width += n;
            w->met[met++] =
                (tulle__block_met){.step = {.A = a, .B = block_at(j, B, f, across * n), .k = across}, .slot = slot};
        }
        w->skipped += skipped;
        w->multiplications += m * across * width;
    }
    for (int64_t c = 0; c <= columns; c++) { /* where each begins */
        int64_t count = first[c];
        first[c] = products;
        products += count;
    }
    TULLE_CALL(reserve_steps(w, products));
    for (int64_t p = 0; p < met; p++) w->step[first[w->met[p].slot]++] = w->met[p].step;
    return TULLE_OK;
}

/* The same, multiplied as chains of C's blocks. */
static tulle_status multiply_group(const tulle__block_job *j, tulle__block_workspace *w, const tulle__spgemm_pair *pair,
    int64_t r, int64_t from, int64_t to)
{
    tulle_status status = list_products(j, w, pair, r, from, to);
    const int64_t *first = w->first;
    for (int64_t c = 0, begin = 0; status == TULLE_OK && c < w->columns; begin = first[c], c++)
        if (first[c] > begin)
            add_steps(j, w, j->C->rowptr[r] + c, tulle__block_height(j, r), begin, first[c], pair->scale, c);
    return status;
}

/* ---- rows that share blocks of B ---- */

/*
 * True if row r of A has so many and so large blocks that B's would come from memory for each row. This is a property
 * of the row alone: how its sums are cut does not depend on rows beside it, nor on threads.
 */
bool tulle__block_row_is_full(const tulle__block_job *j, const tulle__csr *A, int64_t r)
{
    const int64_t blocks = A->rowptr[r + 1] - A->rowptr[r];
    return blocks * FULL_PART >= A->n && A->n >= FULL_LEAST && tulle__block_height(j, r) >= HIGH &&
           A->col_block[A->n] - A->col_block[0] >= HIGH * A->n;
}

/* The first block from e on, before `end`, whose columns begin at or beyond `limit`. */
static int64_t until_column(const tulle__csr *A, int64_t e, int64_t end, int64_t limit)
{
    while (e < end && A->col_block[A->colind[e]] - A->col_block[0] < limit) e++;
    return e;
}

/* The chains of listed products of `rows` rows from r on, column by column: blocks of B stay in the cache. */
static void multiply_listed(
    const tulle__block_job *j, tulle__block_workspace *w, const tulle__spgemm_pair *pair, int64_t r, int64_t rows)
{
    int64_t at[TULLE__BLOCK_ROWS_MOST] = {0}, begin[TULLE__BLOCK_ROWS_MOST] = {0};
    for (;;) {
        int64_t column = INT64_MAX;
        for (int64_t i = 0; i < rows; i++)
            if (at[i] < w[i].columns && j->C->colind[j->C->rowptr[r + i] + at[i]] < column)
                column = j->C->colind[j->C->rowptr[r + i] + at[i]];
        if (column == INT64_MAX) return;
        for (int64_t i = 0; i < rows; i++) {
            const int64_t e = j->C->rowptr[r + i] + at[i];
            if (at[i] == w[i].columns || j->C->colind[e] != column) continue;
            const int64_t end = w[i].first[at[i]];
            if (end > begin[i])
                add_steps(j, &w[i], e, tulle__block_height(j, r + i), begin[i], end, pair->scale, at[i]);
            begin[i] = end;
            at[i]++;
        }
    }
}

/* The same columns of A of all rows at a time. */
static tulle_status multiply_rows(
    const tulle__block_job *j, tulle__block_workspace *w, const tulle__spgemm_pair *pair, int64_t r, int64_t rows)
{
    const tulle__csr *A = &pair->A;
    int64_t from[TULLE__BLOCK_ROWS_MOST];
    if (!pair->B.rowptr) return TULLE_OK;
    for (int64_t i = 0; i < rows; i++) from[i] = A->rowptr[r + i];
    for (int64_t limit = COLUMNS_AT_ONCE;; limit += COLUMNS_AT_ONCE) {
        bool more = false;
        for (int64_t i = 0; i < rows; i++) {
            const int64_t to = until_column(A, from[i], A->rowptr[r + i + 1], limit);
            TULLE_CALL(list_products(j, &w[i], pair, r + i, from[i], to));
            from[i] = to;
            more |= to < A->rowptr[r + i + 1];
        }
        multiply_listed(j, w, pair, r, rows);
        if (!more) break;
    }
    return TULLE_OK;
}

static tulle_status multiply_pair(
    const tulle__block_job *j, tulle__block_workspace *w, const tulle__spgemm_pair *pair, int64_t r)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    if (!A->rowptr) add_row(j, w, pair, r);
    if (!B->rowptr || !A->rowptr) return TULLE_OK;
    if (tulle__block_row_is_full(j, A, r)) return multiply_rows(j, w, pair, r, 1);
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1];) {
        int64_t from = e, bytes = 0, products = 0;
        while (e < A->rowptr[r + 1]) {
            int64_t k = A->colind[e], of_block = B->rowptr[k + 1] - B->rowptr[k];
            bytes += tulle__block_height(j, r) * inner(A, k) * (int64_t)j->size;
            products += of_block;
            if (e > from && (bytes > GROUP_BYTES || products > GROUP_PRODUCTS)) break;
            e++;
        }
        TULLE_CALL(multiply_group(j, w, pair, r, from, e));
    }
    return TULLE_OK;
}

static double squared_norm(const tulle__block_job *j, int64_t e, int64_t n)
{
    double sum[4] = {0, 0, 0, 0};
    int64_t i = 0;
    if (j->task->type == TULLE_F32) {
        const float *x = block_of_c(j, e);
        for (; i + 4 <= n; i += 4)
            for (int l = 0; l < 4; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
        for (; i < n; i++) sum[0] += (double)x[i] * (double)x[i];
    } else {
        const double *x = block_of_c(j, e);
        for (; i + 4 <= n; i += 4)
            for (int l = 0; l < 4; l++) sum[l] += x[i + l] * x[i + l];
        for (; i < n; i++) sum[0] += x[i] * x[i];
    }
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

void tulle__block_row_mark(const tulle__block_job *j, tulle__block_workspace *w, int64_t r)
{
    const tulle__spgemm_task *t = j->task;
    const int shift = t->half_shift;
    const int64_t row = t->first_row + r;
    for (int64_t c = 0; w->made && c < t->n;) { /* square by square */
        const int64_t col = t->first_col + c, next = (((col >> shift) + 1) << shift) - t->first_col;
        const bool ends = row >> shift == col >> shift && col <= row; /* behind the diagonal */
        int64_t end = ends ? row + 1 - t->first_col : next;
        if (end > t->n) end = t->n;
        memset(w->made + c, tulle__half_stores(shift, row, col), (size_t)(end - c));
        c = end;
    }
}

static tulle_status begin_row(const tulle__block_job *j, tulle__block_workspace *w, int64_t r)
{
    tulle__block_row_mark(j, w, r);
    const int64_t begin = j->C->rowptr[r], end = j->C->rowptr[r + 1];
    w->columns = end - begin;
    TULLE_CALL(tulle__block_workspace_for(w, w->columns));
    memset(w->fresh, 1, (size_t)w->columns);
    for (int64_t e = begin; e < end; e++) w->slot[j->C->colind[e]] = (int32_t)(e - begin);
    return TULLE_OK;
}

static void end_row(const tulle__block_job *j, tulle__block_workspace *w, int64_t r)
{
    const int64_t begin = j->C->rowptr[r], end = j->C->rowptr[r + 1];
    const int32_t *colind = j->C->colind;
    for (int64_t e = begin; e < end; e++) {
        int64_t values = tulle__block_height(j, r) *
                         tulle__block_width(j, colind[e]); /* the next row's offsets may not be there yet */
        w->slot[colind[e]] = -1;
        if (w->fresh[e - begin]) memset(block_of_c(j, e), 0, (size_t)values * j->size);
        j->C->norm[e] = squared_norm(j, e, values);
    }
}

/* Rows r .. r + rows - 1, each with a place of its own. */
tulle_status tulle__block_rows_make(const tulle__block_job *j, tulle__block_workspace *w, int64_t r, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) TULLE_CALL(begin_row(j, &w[i], r + i));
    for (int p = 0; p < j->task->npairs; p++) {
        const tulle__spgemm_pair *pair = &j->task->pair[p];
        bool full = pair->A.rowptr != NULL;
        for (int64_t i = 0; i < rows && full; i++) full = tulle__block_row_is_full(j, &pair->A, r + i);
        if (full)
            TULLE_CALL(multiply_rows(j, w, pair, r, rows));
        else
            for (int64_t i = 0; i < rows; i++) TULLE_CALL(multiply_pair(j, &w[i], pair, r + i));
    }
    for (int64_t i = 0; i < rows; i++) end_row(j, &w[i], r + i);
    return TULLE_OK;
}

int64_t tulle__block_rows_together(const tulle__block_job *j, int64_t r, int64_t end)
{
    const tulle__csr *A = &j->task->pair[0].A;
    int64_t rows = 0, bytes = 0;
    while (rows < TULLE__BLOCK_ROWS_MOST && r + rows < end && A->rowptr && tulle__block_row_is_full(j, A, r + rows)) {
        bytes += tulle__block_height(j, r + rows) * COLUMNS_AT_ONCE * (int64_t)j->size;
        if (bytes > SHARED_BYTES) break;
        rows++;
    }
    return rows ? rows : 1;
}
