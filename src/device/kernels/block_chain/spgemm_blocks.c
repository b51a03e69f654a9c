/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices of blocks. A block row of C is made by one thread: its structure first, then the
 * products of blocks, sorted by the block of C to which they add, so that each block of C is one chain
 * (block_chain.h). A's blocks are taken in groups that stay in the second-level cache with the list of
 * their products; a group after the first adds to C. Threads take chunks of block rows in turn.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/block_chain/block_chain.h"

enum {
    CHUNKS_PER_THREAD = 16,
    GROUP_BYTES = 1 << 17,    /* of A's blocks in a group */
    GROUP_PRODUCTS = 1 << 14, /* in a group, of at least one block of A */
    FEW_ROWS = 8,             /* of one panel of a chain */
    BATCH_BYTES = 1 << 13     /* of the factors of steps that are taken together */
};

struct job {
    const tulle__spgemm_task *task;
    tulle__block_chain_kernel chain;
    const tulle_gidx *row_cut, *col_cut; /* of C */
    size_t size;                         /* of a value */
    int64_t *rowptr, *values;            /* [m + 1]: counts of block rows, then their sums */
    tulle__csr_result *C;
    bool known; /* C's structure is given */
    int64_t chunks;
    atomic_int_fast64_t next, multiplications, skipped;
};

/* A thread's room. */
struct room {
    int32_t *slot;           /* [n]: the place of a block column in the row; -1: none */
    uint64_t *bits;          /* of block columns; always cleared after use */
    uint64_t *allowed;       /* block columns of the pattern's row; NULL: all */
    int32_t *column;         /* [columns_room]: of the row, in the order in which they are met */
    int64_t *first;          /* [columns_room + 1]: of each place's products */
    char *fresh;             /* [columns_room]: nothing has been written there */
    tulle__block_step *step; /* [steps_room] */
    int64_t columns, columns_room, steps_room, multiplications, skipped;
};

static int64_t height(const struct job *j, int64_t r)
{
    return j->row_cut[r + 1] - j->row_cut[r];
}

static int64_t width(const struct job *j, int64_t c)
{
    return j->col_cut[c + 1] - j->col_cut[c];
}

static int64_t inner(const tulle__csr *A, int64_t k)
{
    return A->col_block[k + 1] - A->col_block[k];
}

static const void *block_at(const struct job *j, const tulle__csr *X, int64_t e, int64_t values)
{
    return (const char *)X->val + (size_t)(X->offset ? X->offset[e] : e * values) * j->size;
}

/* ---- the structure of a row ---- */

static tulle_status room_for_columns(struct room *w, int64_t columns)
{
    tulle_status status = TULLE_OK;
    if (w->first && columns <= w->columns_room) return TULLE_OK;
    int64_t more = 2 * columns + 64;
    TULLE_TRY(tulle__realloc((size_t)more, sizeof *w->column, "block columns of a row", &w->column));
    TULLE_TRY(tulle__realloc((size_t)more + 1, sizeof *w->first, "block columns of a row", &w->first));
    TULLE_TRY(tulle__realloc((size_t)more, sizeof *w->fresh, "block columns of a row", &w->fresh));
    w->columns_room = more;
out:
    return status;
}

static tulle_status room_for_steps(struct room *w, int64_t steps)
{
    if (steps <= w->steps_room) return TULLE_OK;
    tulle_status status = tulle__realloc((size_t)(steps + steps / 4), sizeof *w->step, "products of blocks", &w->step);
    if (status == TULLE_OK) w->steps_room = steps + steps / 4;
    return status;
}

static bool is_allowed(const struct room *w, int64_t c)
{
    return !w->allowed || (w->allowed[c >> 6] >> (c & 63) & 1);
}

/* Marks, or clears, the block columns of the pattern's row r. */
static void allow_row(const struct job *j, struct room *w, int64_t r)
{
    const tulle__csr *P = j->task->pattern;
    for (int64_t e = P && P->rowptr ? P->rowptr[r] : 0; P && P->rowptr && e < P->rowptr[r + 1]; e++)
        w->allowed[P->colind[e] >> 6] ^= (uint64_t)1 << (P->colind[e] & 63);
}

static tulle_status meet_column(struct room *w, int64_t c)
{
    uint64_t bit = (uint64_t)1 << (c & 63);
    if (w->bits[c >> 6] & bit || !is_allowed(w, c)) return TULLE_OK;
    tulle_status status = room_for_columns(w, w->columns + 1);
    if (status != TULLE_OK) return status;
    w->bits[c >> 6] |= bit;
    w->column[w->columns++] = (int32_t)c;
    return TULLE_OK;
}

/* Whether the filter leaves the product of two blocks in row r of C. */
static bool survives(const struct job *j, int64_t r, const tulle__csr *A, int64_t e, const tulle__csr *B, int64_t f)
{
    return !j->task->least || !(A->norm[e] * B->norm[f] < j->task->least[r]); /* NaN survives */
}

/* The block columns of row r of C, unsorted, in w->column; their bits stay set. */
static tulle_status meet_row(const struct job *j, struct room *w, int64_t r)
{
    tulle_status status = TULLE_OK;
    w->columns = 0;
    allow_row(j, w, r);
    for (int p = 0; p < j->task->npairs; p++) {
        const tulle__csr *A = &j->task->pair[p].A, *B = &j->task->pair[p].B;
        if (!B->rowptr) continue;
        if (!A->rowptr) {
            if (A->m)
                for (int64_t f = B->rowptr[r]; f < B->rowptr[r + 1]; f++) TULLE_TRY(meet_column(w, B->colind[f]));
            continue;
        }
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
            int64_t k = A->colind[e];
            TULLE_TRY(room_for_columns(w, w->columns + B->rowptr[k + 1] - B->rowptr[k]));
            for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++)
                if (survives(j, r, A, e, B, f)) TULLE_TRY(meet_column(w, B->colind[f]));
        }
    }
out:
    allow_row(j, w, r);
    return status;
}

static void clear_bits(struct room *w)
{
    for (int64_t i = 0; i < w->columns; i++) w->bits[w->column[i] >> 6] = 0;
}

static tulle_status count_row(const struct job *j, struct room *w, int64_t r)
{
    tulle_status status = meet_row(j, w, r);
    int64_t columns = 0;
    for (int64_t i = 0; i < w->columns; i++) columns += width(j, w->column[i]);
    clear_bits(w);
    j->rowptr[r + 1] = w->columns;
    j->values[r + 1] = columns * height(j, r);
    return status;
}

static int compare_columns(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Writes the columns of row r, which ascend, and where its blocks begin. */
static tulle_status write_structure(const struct job *j, struct room *w, int64_t r)
{
    tulle_status status = meet_row(j, w, r);
    int64_t words = (j->task->n + 63) / 64, at = j->rowptr[r], value = j->values[r];
    int32_t *colind = j->C->colind + at;
    if (status != TULLE_OK || w->columns * 16 < words) { /* a sweep over all bits takes longer than sorting */
        clear_bits(w);
        memcpy(colind, w->column, (size_t)w->columns * sizeof *colind);
        qsort(colind, (size_t)w->columns, sizeof *colind, compare_columns);
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
        value += height(j, r) * width(j, colind[i]);
    }
    return status;
}

/* ---- the values of a row ---- */

static void *block_of_c(const struct job *j, int64_t e)
{
    return (char *)j->C->val + (size_t)j->C->offset[e] * j->size;
}

/* C's block e is scale times B's, or that is added to it. */
static void add_block(const struct job *j, int64_t e, const void *from, int64_t values, double scale, bool fresh)
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

static void add_row(const struct job *j, struct room *w, const tulle__spgemm_pair *pair, int64_t r)
{
    const tulle__csr *B = &pair->B;
    if (!B->rowptr || !pair->A.m || pair->scale == 0) return;
    for (int64_t f = B->rowptr[r]; f < B->rowptr[r + 1]; f++) {
        int64_t c = B->colind[f], values = height(j, r) * width(j, c);
        int32_t slot = w->slot[c];
        if (slot < 0) continue;
        add_block(j, j->C->rowptr[r] + slot, block_at(j, B, f, values), values, pair->scale, w->fresh[slot]);
        w->fresh[slot] = 0;
    }
}

/*
 * C's block e, of m rows, in place c of its row: plus scale times the products of steps begin .. end - 1. Of a block
 * with many rows some steps at a time, whose factors stay in the first-level cache while its panels go by.
 */
static void add_steps(
    const struct job *j, struct room *w, int64_t e, int64_t m, int64_t begin, int64_t end, double scale, int64_t c)
{
    int64_t n = width(j, j->C->colind[e]), size = (int64_t)j->size;
    tulle__block_chain chain = {
        .type = j->task->type, .m = m, .n = n, .ldb = n, .C = block_of_c(j, e), .ldc = n, .alpha = scale};
    while (begin < end) {
        int64_t bytes = 0, from = begin;
        while (begin < end && (m <= FEW_ROWS || from == begin || bytes < BATCH_BYTES))
            bytes += w->step[begin++].k * (m + n) * size;
        chain.step = w->step + from;
        chain.steps = begin - from;
        chain.beta = w->fresh[c] ? 0 : 1;
        j->chain(&chain);
        w->fresh[c] = 0;
    }
}

/* Products of blocks from .. to - 1 of row r of A, as chains of C's blocks. */
static tulle_status multiply_group(
    const struct job *j, struct room *w, const tulle__spgemm_pair *pair, int64_t r, int64_t from, int64_t to)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    int64_t *first = w->first, m = height(j, r), columns = w->columns, products = 0;
    memset(first, 0, (size_t)(columns + 1) * sizeof *first);
    for (int64_t e = from; e < to; e++) {
        int64_t k = A->colind[e], multiplications = 0;
        for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++) {
            int32_t slot = w->slot[B->colind[f]];
            bool skipped = !survives(j, r, A, e, B, f);
            w->skipped += skipped;
            if (slot < 0 || skipped) continue;
            first[slot]++;
            multiplications += width(j, B->colind[f]);
        }
        w->multiplications += m * inner(A, k) * multiplications;
    }
    for (int64_t c = 0; c <= columns; c++) { /* where each begins */
        int64_t count = first[c];
        first[c] = products;
        products += count;
    }
    tulle_status status = room_for_steps(w, products);
    if (status != TULLE_OK) return status;
    for (int64_t e = from; e < to; e++) {
        int64_t k = A->colind[e], across = inner(A, k);
        const void *a = block_at(j, A, e, m * across);
        for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++) {
            int64_t c = B->colind[f];
            int32_t slot = w->slot[c];
            if (slot < 0 || !survives(j, r, A, e, B, f)) continue;
            w->step[first[slot]++] =
                (tulle__block_step){.A = a, .B = block_at(j, B, f, across * width(j, c)), .k = across};
        }
    }
    for (int64_t c = 0, begin = 0; c < columns; begin = first[c], c++) /* first is where each ends now */
        if (first[c] > begin) add_steps(j, w, j->C->rowptr[r] + c, m, begin, first[c], pair->scale, c);
    return TULLE_OK;
}

static tulle_status multiply_pair(const struct job *j, struct room *w, const tulle__spgemm_pair *pair, int64_t r)
{
    tulle_status status = TULLE_OK;
    const tulle__csr *A = &pair->A, *B = &pair->B;
    if (!B->rowptr) return TULLE_OK;
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1];) {
        int64_t from = e, bytes = 0, products = 0;
        while (e < A->rowptr[r + 1]) {
            int64_t k = A->colind[e], of_block = B->rowptr[k + 1] - B->rowptr[k];
            bytes += height(j, r) * inner(A, k) * (int64_t)j->size;
            products += of_block;
            if (e > from && (bytes > GROUP_BYTES || products > GROUP_PRODUCTS)) break;
            e++;
        }
        TULLE_TRY(multiply_group(j, w, pair, r, from, e));
    }
out:
    return status;
}

static double squared_norm(const struct job *j, int64_t e, int64_t n)
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

static tulle_status make_row(const struct job *j, struct room *w, int64_t r)
{
    tulle_status status = TULLE_OK;
    int64_t begin = j->C->rowptr[r], end = j->C->rowptr[r + 1];
    const int32_t *colind = j->C->colind;
    w->columns = end - begin;
    TULLE_TRY(room_for_columns(w, w->columns));
    memset(w->fresh, 1, (size_t)w->columns);
    for (int64_t e = begin; e < end; e++) w->slot[colind[e]] = (int32_t)(e - begin);
    for (int p = 0; p < j->task->npairs && status == TULLE_OK; p++) {
        const tulle__spgemm_pair *pair = &j->task->pair[p];
        if (pair->A.rowptr)
            status = multiply_pair(j, w, pair, r);
        else
            add_row(j, w, pair, r);
    }
    for (int64_t e = begin; e < end; e++) {
        int64_t values = height(j, r) * width(j, colind[e]); /* the next row's offsets may not be there yet */
        w->slot[colind[e]] = -1;
        if (w->fresh[e - begin]) memset(block_of_c(j, e), 0, (size_t)values * j->size);
        j->C->norm[e] = squared_norm(j, e, values);
    }
out:
    return status;
}

/* ---- all rows ---- */

static tulle_status room_new(const struct job *j, struct room *w)
{
    tulle_status status;
    size_t n = (size_t)j->task->n, words = n / 64 + 1;
    *w = (struct room){.columns = 0};
    TULLE_TRY(tulle__alloc(n, sizeof *w->slot, "block columns", &w->slot));
    TULLE_TRY(tulle__alloc_zero(words, sizeof *w->bits, "block columns", &w->bits));
    if (j->task->pattern) TULLE_TRY(tulle__alloc_zero(words, sizeof *w->allowed, "block columns", &w->allowed));
    memset(w->slot, -1, n * sizeof *w->slot);
out:
    return status;
}

static void room_free(struct room *w)
{
    tulle__free(w->slot);
    tulle__free(w->bits);
    tulle__free(w->allowed);
    tulle__free(w->column);
    tulle__free(w->first);
    tulle__free(w->fresh);
    tulle__free(w->step);
}

static tulle_status each_row(struct job *j, tulle_status (*call)(const struct job *j, struct room *w, int64_t r))
{
    struct room w;
    tulle_status status = room_new(j, &w);
    int64_t m = j->task->m;
    for (int64_t c;
         status == TULLE_OK && (c = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->chunks;)
        for (int64_t r = m * c / j->chunks; status == TULLE_OK && r < m * (c + 1) / j->chunks; r++)
            status = call(j, &w, r);
    atomic_fetch_add_explicit(&j->multiplications, w.multiplications, memory_order_relaxed);
    atomic_fetch_add_explicit(&j->skipped, w.skipped, memory_order_relaxed);
    room_free(&w);
    return status;
}

static tulle_status count_rows(void *arg, int thread, int nthreads)
{
    (void)thread, (void)nthreads;
    return each_row(arg, count_row);
}

static tulle_status fill_row(const struct job *j, struct room *w, int64_t r)
{
    tulle_status status = write_structure(j, w, r);
    return status == TULLE_OK ? make_row(j, w, r) : status;
}

static tulle_status fill_rows(void *arg, int thread, int nthreads)
{
    struct job *j = arg;
    (void)thread, (void)nthreads;
    return each_row(j, j->known ? make_row : fill_row);
}

static tulle_status begin(tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task, struct job *j)
{
    const tulle__spgemm_pair *pair = &task->pair[0];
    int32_t n;
    *j = (struct job){.task = task,
        .chain = tulle__block_chain_of(isa),
        .size = tulle_type_size(task->type),
        .row_cut = pair->A.row_block ? pair->A.row_block : pair->B.row_block,
        .col_cut = pair->B.col_block,
        .chunks = (int64_t)CHUNKS_PER_THREAD * tulle__pool_size(pool)};
    if (j->chunks > task->m) j->chunks = task->m;
    return tulle__narrow(task->n, "the width of a tile of C in blocks", &n);
}

static tulle_status run(tulle__pool *pool, struct job *j, tulle__pool_body function)
{
    atomic_store_explicit(&j->next, 0, memory_order_relaxed);
    return tulle__pool_run(pool, function, j);
}

tulle_status tulle__spgemm_blocks_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task,
    tulle__csr_place place, void *context, tulle__csr_result *C)
{
    struct job j;
    tulle_status status;
    TULLE_TRY(begin(isa, pool, task, &j));
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
    C->multiplications = j.multiplications;
    C->skipped = j.skipped;
out:
    tulle__free(j.rowptr);
    tulle__free(j.values);
    return status;
}

tulle_status tulle__spgemm_blocks_cpu_numeric(
    tulle__isa isa, tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_result *C)
{
    struct job j;
    tulle_status status = begin(isa, pool, task, &j);
    if (status != TULLE_OK) return status;
    j.C = C;
    j.known = true;
    status = run(pool, &j, fill_rows);
    C->multiplications = j.multiplications;
    C->skipped = j.skipped;
    return status;
}
