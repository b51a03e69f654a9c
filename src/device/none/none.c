/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device `none`: knows structures and no values, so that what would be computed can be counted where it could not
 * be held. Values are neither read nor written. A sparse product has as many entries in each row as are expected, and
 * no columns; the multiplications are exact. Two estimates:
 *
 * Products of tiles: entries / multiplications = the mean over multiplications drawn at even distances of
 * (entries of the row / multiplications of the row), each row looked at in full. Drawn by multiplications, so that a
 * few heavy rows weigh what they cost (Hansen and Hurwitz 1943); without bias, and exact where rows are alike.
 * Sums of such results, which have no columns: the entries of a row fall anywhere, so one of n places stays free
 * with the chance prod (1 - entries_p / n). Too many where summands fall on the same columns.
 */
#include <math.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernel/kernel.h"

enum { DRAWN = 24, PART = 8 }; /* rows looked at; at most about a PART-th of all multiplications is gone through */

static tulle_status spmm(tulle__pool *pool, const tulle__spmm_task *task)
{
    (void)pool, (void)task;
    return TULLE_OK;
}

static tulle_status spmm_unchecked(
    tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)
{
    (void)pool, (void)task, (void)A;
    *valid = true;
    return TULLE_OK;
}

static tulle_status spmm_blocks(tulle__pool *pool, const tulle__spmm_task *task, int64_t first)
{
    (void)pool, (void)task, (void)first;
    return TULLE_OK;
}

static tulle_status gemm(tulle__pool *pool, const tulle__gemm_task *task)
{
    (void)pool, (void)task;
    return TULLE_OK;
}

static tulle_status bsr(tulle__pool *pool, const tulle__bsr_task *task)
{
    (void)pool, (void)task;
    return TULLE_OK;
}

static tulle_status numeric(tulle__pool *pool, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    (void)pool, (void)task, (void)C;
    return TULLE_OK;
}

static tulle_status scale(
    tulle__pool *pool, tulle_type type, int64_t lines, int64_t width, int64_t ld, double beta, void *val)
{
    (void)pool, (void)type, (void)lines, (void)width, (void)ld, (void)beta, (void)val;
    return TULLE_OK;
}

static void add(tulle_type type, int64_t m, int64_t n, const void *panel, void *C, int64_t c_row, int64_t c_col)
{
    (void)type, (void)m, (void)n, (void)panel, (void)C, (void)c_row, (void)c_col;
}

static tulle_status gather(
    tulle__pool *pool, tulle_type type, int64_t n, const void *order, size_t order_bytes, const void *from, void *to)
{
    (void)pool, (void)type, (void)n, (void)order, (void)order_bytes, (void)from, (void)to;
    return TULLE_OK;
}

static void copy(void *to, const void *from, size_t bytes)
{
    (void)to, (void)from, (void)bytes;
}

/* Columns met so far in the row that is looked at: a table of a power of two places, stamped instead of cleared. */
struct met {
    int64_t capacity;
    uint64_t *place; /* stamp << 32 | column */
    uint32_t stamp;
};

static tulle_status make_room(struct met *met, int64_t count)
{
    int64_t capacity = 64;
    while (capacity < 2 * count) capacity *= 2;
    if (capacity <= met->capacity) return TULLE_OK;
    tulle__free(met->place);
    met->place = NULL;
    met->capacity = 0;
    TULLE_CALL(tulle__alloc_zero((size_t)capacity, sizeof *met->place, "columns of a row", &met->place));
    met->capacity = capacity;
    met->stamp = 0;
    return TULLE_OK;
}

/* 1 if the column is new. */
static int meet(struct met *met, int32_t column)
{
    uint64_t key = (uint64_t)met->stamp << 32 | (uint32_t)column, mask = (uint64_t)met->capacity - 1;
    uint64_t at = ((uint64_t)(uint32_t)column * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (met->place[at] >> 32 == met->stamp) {
        if (met->place[at] == key) return 0;
        at = (at + 1) & mask;
    }
    met->place[at] = key;
    return 1;
}

/* Entries of row r of the product. */
static tulle_status look_at(const tulle__spgemm_task *task, int64_t r, int64_t flops, struct met *met, int64_t *entries)
{
    TULLE_CALL(make_room(met, flops));
    met->stamp++;
    *entries = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        if (!A->rowptr || !A->m || !B->m) continue;
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++)
            for (int64_t b = B->rowptr[A->colind[e]]; b < B->rowptr[A->colind[e] + 1]; b++)
                *entries += meet(met, B->colind[b]);
    }
    return TULLE_OK;
}

/* sum[r + 1] = multiplications of rows 0 .. r by pairs with a factor A. */
static void count_products(const tulle__spgemm_task *task, int64_t *sum)
{
    memset(sum, 0, ((size_t)task->m + 1) * sizeof *sum);
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        if (!A->rowptr || !A->m || !B->m) continue;
        for (int64_t r = 0; r < task->m; r++)
            for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++)
                sum[r + 1] += B->rowptr[A->colind[e] + 1] - B->rowptr[A->colind[e]];
    }
    for (int64_t r = 0; r < task->m; r++) sum[r + 1] += sum[r];
}

/* The row that multiplication `at` belongs to. */
static int64_t row_of(const int64_t *sum, int64_t m, int64_t at)
{
    int64_t low = 0, high = m;
    TULLE__LAST_WHERE(low, high, middle, sum[middle] <= at);
    return low;
}

/* Entries a multiplication, of the products among the pairs. */
static tulle_status estimate_ratio(const tulle__spgemm_task *task, const int64_t *sum, double *ratio)
{
    tulle_status status = TULLE_OK;
    struct met met = {.capacity = 0};
    int64_t all = sum[task->m], spent = 0;
    int drawn = 0;
    double total = 0;
    /* in an order that spreads whatever number of them is drawn: the golden section */
    for (; drawn < DRAWN && (drawn < 2 || spent < all / PART); drawn++) {
        double part = fmod((drawn + 0.5) * 0.6180339887498949, 1);
        int64_t row = row_of(sum, task->m, (int64_t)(part * (double)all)), entries;
        int64_t flops = sum[row + 1] - sum[row];
        TULLE_TRY(look_at(task, row, flops, &met, &entries));
        total += (double)entries / (double)flops;
        spent += flops;
    }
    *ratio = total / drawn;
out:
    tulle__free(met.place);
    return status;
}

/* Places taken by `more` in a row of n that has `taken`, if they fall anywhere. */
static double join(double taken, double more, double n)
{
    return taken + more - (n > 0 ? taken * more / n : 0);
}

static tulle_status expect(const tulle__spgemm_task *task, int64_t *sum, int64_t *multiplications)
{
    double ratio = 1, before = 0, exact = 0, n = (double)task->n;
    count_products(task, sum);
    *multiplications = sum[task->m];
    if (sum[task->m]) {
        TULLE_CALL(estimate_ratio(task, sum, &ratio));
    }
    for (int64_t r = 0; r < task->m; r++) {
        double row = fmin((double)(sum[r + 1] - (int64_t)before) * ratio, n);
        before = (double)sum[r + 1];
        for (int p = 0; p < task->npairs; p++) {
            const tulle__csr *B = &task->pair[p].B;
            if (task->pair[p].A.rowptr || !B->m) continue;
            double more = (double)(B->rowptr[r + 1] - B->rowptr[r]);
            *multiplications += (int64_t)more;
            row = join(row, more, n);
        }
        exact += row;
        sum[r + 1] = (int64_t)(exact + 0.5);
    }
    return TULLE_OK;
}

static tulle_status symbolic(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *rowptr)
{
    int64_t multiplications;
    (void)pool;
    return expect(task, rowptr, &multiplications);
}

static tulle_status spgemm(
    tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    TULLE__SCOPED int64_t *rowptr = NULL;
    int64_t multiplications;
    int32_t width;
    (void)pool;
    TULLE_CALL(tulle__narrow(task->n, "the width of a tile of C", &width));
    TULLE_CALL(tulle__alloc((size_t)task->m + 1, sizeof *rowptr, "row pointers", &rowptr));
    TULLE_CALL(expect(task, rowptr, &multiplications));
    TULLE_CALL(place(context, task->m, rowptr[task->m], C));
    memcpy(C->rowptr, rowptr, ((size_t)task->m + 1) * sizeof *rowptr);
    C->nnz = rowptr[task->m];
    C->multiplications = multiplications;
    return TULLE_OK;
}

/* Counting and transposing structures is the reference's; a transposed tile gets values, which are not read. */
tulle__kernels tulle__kernels_none(void)
{
    tulle__kernels kernels = *tulle__kernels_cpu();
    kernels.spmm = spmm;
    kernels.spmm_unchecked = kernels.spmm_scatter = spmm_unchecked;
    kernels.spmm_blocks = spmm_blocks;
    kernels.gemm = gemm;
    kernels.bsr = bsr;
    kernels.spgemm = spgemm;
    kernels.spgemm_symbolic = symbolic;
    kernels.spgemm_numeric = numeric;
    kernels.scale = scale;
    kernels.add = add;
    kernels.gather = gather;
    kernels.copy = copy;
    return kernels;
}
