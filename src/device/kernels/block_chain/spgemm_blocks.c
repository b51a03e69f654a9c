/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices of blocks. A block row of C is made by one thread: its structure first, then its
 * values (block_product.c). Threads take chunks of block rows in turn.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/block_chain/block_product.h"

enum { CHUNKS_PER_THREAD = 16, CHUNKS_LEAST = 4 }; /* a thread; the latter where rows share blocks */

/* ---- the structure of a row ---- */

static bool is_allowed(const tulle__block_workspace *w, int64_t c)
{
    return !w->allowed || (w->allowed[c >> 6] >> (c & 63) & 1);
}

/* Marks, or clears, the block columns of the pattern's row r. */
static void allow_row(const tulle__block_job *j, tulle__block_workspace *w, int64_t r)
{
    const tulle__csr *P = j->task->pattern;
    for (int64_t e = P && P->rowptr ? P->rowptr[r] : 0; P && P->rowptr && e < P->rowptr[r + 1]; e++)
        w->allowed[P->colind[e] >> 6] ^= (uint64_t)1 << (P->colind[e] & 63);
}

static tulle_status meet_column(tulle__block_workspace *w, int64_t c)
{
    uint64_t bit = (uint64_t)1 << (c & 63);
    if (w->bits[c >> 6] & bit || !is_allowed(w, c)) return TULLE_OK;
    TULLE_CALL(tulle__block_workspace_for(w, w->columns + 1));
    w->bits[c >> 6] |= bit;
    w->column[w->columns++] = (int32_t)c;
    return TULLE_OK;
}

/* The block columns of row r of C, unsorted, in w->column; their bits stay set. */
static tulle_status meet_row(const tulle__block_job *j, tulle__block_workspace *w, int64_t r)
{
    tulle_status status = TULLE_OK;
    const char *made = w->made;
    w->columns = 0;
    tulle__block_row_mark(j, w, r);
    allow_row(j, w, r);
    for (int p = 0; p < j->task->npairs; p++) {
        const tulle__csr *A = &j->task->pair[p].A, *B = &j->task->pair[p].B;
        if (!B->rowptr) continue;
        if (!A->rowptr) {
            if (A->m)
                for (int64_t f = B->rowptr[r]; f < B->rowptr[r + 1]; f++)
                    if (!made || made[B->colind[f]]) TULLE_TRY(meet_column(w, B->colind[f]));
            continue;
        }
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
            int64_t k = A->colind[e];
            TULLE_TRY(tulle__block_workspace_for(w, w->columns + B->rowptr[k + 1] - B->rowptr[k]));
            for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++)
                if ((!made || made[B->colind[f]]) && tulle__block_survives(j, r, A, e, B, f))
                    TULLE_TRY(meet_column(w, B->colind[f]));
        }
    }
out:
    allow_row(j, w, r);
    return status;
}

static void clear_bits(tulle__block_workspace *w)
{
    for (int64_t i = 0; i < w->columns; i++) w->bits[w->column[i] >> 6] = 0;
}

static tulle_status count_row(const tulle__block_job *j, tulle__block_workspace *w, int64_t r, int64_t rows)
{
    tulle_status status = meet_row(j, w, r);
    (void)rows; /* one */
    int64_t columns = 0;
    for (int64_t i = 0; i < w->columns; i++) columns += tulle__block_width(j, w->column[i]);
    clear_bits(w);
    j->rowptr[r + 1] = w->columns;
    j->values[r + 1] = columns * tulle__block_height(j, r);
    return status;
}

static int compare_columns(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Writes the columns of row r, which ascend, and where its blocks begin. */
static tulle_status write_structure(const tulle__block_job *j, tulle__block_workspace *w, int64_t r)
{
    tulle_status status = meet_row(j, w, r);
    int64_t words = (j->task->n + 63) / 64, at = j->rowptr[r], value = j->values[r];
    int32_t *colind = j->C->colind + at;
    if (status != TULLE_OK || w->columns * 16 < words) { /* a sweep over all bits takes longer than sorting */
        clear_bits(w);
        if (w->columns) memcpy(colind, w->column, (size_t)w->columns * sizeof *colind);
        if (w->columns) qsort(colind, (size_t)w->columns, sizeof *colind, compare_columns);
    } else {
        int64_t to = 0;
        for (int64_t word = 0; word < words; word++) {
            for (uint64_t left = w->bits[word]; left; left &= left - 1)
                colind[to++] = (int32_t)(64 * word + __builtin_ctzll(left));
            w->bits[word] = 0;
        }
    }
    for (int64_t i = 0; i < w->columns; i++) {
        j->C->offset[at + i] = value;
        value += tulle__block_height(j, r) * tulle__block_width(j, colind[i]);
    }
    return status;
}

/* ---- all rows ---- */

static tulle_status workspace_new(const tulle__block_job *j, tulle__block_workspace *w)
{
    size_t n = (size_t)j->task->n, words = n / 64 + 1;
    *w = (tulle__block_workspace){.columns = 0};
    TULLE_CALL(tulle__alloc(n, sizeof *w->slot, "block columns", &w->slot));
    TULLE_CALL(tulle__alloc_zero(words, sizeof *w->bits, "block columns", &w->bits));
    if (j->task->pattern) TULLE_CALL(tulle__alloc_zero(words, sizeof *w->allowed, "block columns", &w->allowed));
    if (j->task->half) TULLE_CALL(tulle__alloc(n, 1, "block columns", &w->made));
    memset(w->slot, -1, n * sizeof *w->slot);
    return TULLE_OK;
}

static void workspace_free(tulle__block_workspace *w)
{
    tulle__free(w->slot);
    tulle__free(w->bits);
    tulle__free(w->allowed);
    tulle__free(w->made);
    tulle__free(w->met);
    tulle__free(w->column);
    tulle__free(w->first);
    tulle__free(w->fresh);
    tulle__free(w->step);
    tulle__free(w->scratch);
}

/* Calls for rows of C, several together where they share blocks of B; each has a place of its own. */
static tulle_status each_row(tulle__block_job *j,
    tulle_status (*call)(const tulle__block_job *j, tulle__block_workspace *w, int64_t r, int64_t rows), bool together)
{
    tulle__block_workspace w[TULLE__BLOCK_ROWS_MOST];
    int64_t m = j->task->m, made = 0;
    tulle_status status = TULLE_OK;
    for (int64_t c; status == TULLE_OK && (c = tulle__pool_take(j->pool, &j->next, j->chunks)) < j->chunks;)
        for (int64_t r = m * c / j->chunks, end = m * (c + 1) / j->chunks, rows; status == TULLE_OK && r < end;
             r += rows) {
            rows = together ? tulle__block_rows_together(j, r, end) : 1;
            for (; made < rows && status == TULLE_OK; made++) status = workspace_new(j, &w[made]);
            if (status == TULLE_OK) status = call(j, w, r, rows);
        }
    for (int64_t i = 0; i < made; i++) {
        atomic_fetch_add_explicit(&j->multiplications, w[i].multiplications, memory_order_relaxed);
        atomic_fetch_add_explicit(&j->skipped, w[i].skipped, memory_order_relaxed);
        for (int q = 0; q < TULLE_BLOCK_KERNELS; q++)
            atomic_fetch_add_explicit(&j->by[q], w[i].by[q], memory_order_relaxed);
        workspace_free(&w[i]);
    }
    return status;
}

static tulle_status count_rows(void *arg, int thread, int nthreads)
{
    (void)thread, (void)nthreads;
    return each_row(arg, count_row, false);
}

static tulle_status fill_row(const tulle__block_job *j, tulle__block_workspace *w, int64_t r, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        TULLE_CALL(write_structure(j, w, r + i));
    }
    return tulle__block_rows_make(j, w, r, rows);
}

static tulle_status fill_rows(void *arg, int thread, int nthreads)
{
    tulle__block_job *j = arg;
    (void)thread, (void)nthreads;
    return each_row(j, j->known ? tulle__block_rows_make : fill_row, true);
}

static tulle_status begin(tulle__isa isa, tulle__block_chain_kernel blas, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__block_job *j)
{
    const tulle__spgemm_pair *pair = &task->pair[0];
    int32_t n;
    *j = (tulle__block_job){.task = task,
        .chain = {tulle__block_chain_of(isa), task->kernels ? task->kernels->libxsmm : NULL, blas},
        .from = {0, TULLE__LIBXSMM_FROM, TULLE__BLAS_FROM},
        .size = tulle_type_size(task->type),
        .row_cut = pair->A.row_block ? pair->A.row_block : pair->B.row_block,
        .col_cut = pair->B.col_block,
        .chunks = (int64_t)CHUNKS_PER_THREAD * tulle__pool_size(pool)};
    if (task->kernels) memcpy(j->from, task->kernels->from, sizeof j->from);
    if (j->chunks > task->m) j->chunks = task->m;
    if (task->m && pair->A.rowptr && tulle__block_row_is_full(j, &pair->A, 0)) { /* chunks of rows that share */
        const int64_t chunks = task->m / TULLE__BLOCK_ROWS_TOGETHER,
                      least = (int64_t)CHUNKS_LEAST * tulle__pool_size(pool);
        if (j->chunks > chunks) j->chunks = chunks > least ? chunks : j->chunks > least ? least : j->chunks;
    }
    return tulle__narrow(task->n, "the width of a tile of C in blocks", &n);
}

static void tell_counts(const tulle__block_job *j, tulle__csr_result *C)
{
    C->multiplications = j->multiplications;
    C->skipped = j->skipped;
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) C->by[q] = j->by[q];
}

static tulle_status run(tulle__pool *pool, tulle__block_job *j, tulle__pool_body function)
{
    j->pool = pool;
    atomic_store_explicit(&j->next, 0, memory_order_relaxed);
    return tulle__pool_run(pool, function, j);
}

tulle_status tulle__spgemm_blocks_cpu(tulle__isa isa, tulle__block_chain_kernel blas, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    tulle__block_job j;
    tulle_status status;
    TULLE_TRY(begin(isa, blas, pool, task, &j));
    j.C = C;
    TULLE_TRY(tulle__alloc_zero((size_t)task->m + 1, sizeof *j.rowptr, "blocks of rows", &j.rowptr));
    TULLE_TRY(tulle__alloc_zero((size_t)task->m + 1, sizeof *j.values, "values of rows", &j.values));
    TULLE_TRY(run(pool, &j, count_rows));
    for (int64_t r = 0; r < task->m; r++) {
        j.rowptr[r + 1] += j.rowptr[r];
        j.values[r + 1] += j.values[r];
    }
    *C = (tulle__csr_result){.values = j.values[task->m]};
    TULLE_TRY(place(context, task->m, j.rowptr[task->m], C));
    C->nnz = j.rowptr[task->m];
    C->values = j.values[task->m];
    memcpy(C->rowptr, j.rowptr, ((size_t)task->m + 1) * sizeof *j.rowptr);
    C->offset[C->nnz] = C->values;
    j.multiplications = j.skipped = 0;
    TULLE_TRY(run(pool, &j, fill_rows));
    tell_counts(&j, C);
out:
    tulle__free(j.rowptr);
    tulle__free(j.values);
    return status;
}

tulle_status tulle__spgemm_blocks_cpu_numeric(tulle__isa isa, tulle__block_chain_kernel blas, tulle__pool *pool,
    const tulle__spgemm_task *task, tulle__csr_result *C)
{
    tulle__block_job j;
    TULLE_CALL(begin(isa, blas, pool, task, &j));
    j.C = C;
    j.known = true;
    tulle_status status = run(pool, &j, fill_rows);
    tell_counts(&j, C);
    return status;
}
