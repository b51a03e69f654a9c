/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices of blocks times dense ones. The blocks of a block row and the rows of B that they name are the
 * steps of one chain. Threads take chunks of block rows in turn.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/block_chain/block_chain.h"

enum { CHUNKS_PER_THREAD = 16 };

struct job {
    tulle__pool *pool;
    const tulle__spmm_task *task;
    tulle__block_chain_kernel chain;
    int64_t first, row0, rows; /* of the task; block rows row0 .. row0 + rows - 1 have its rows */
    const void **B;            /* [npairs]: row-major */
    int64_t *ldb;              /* [npairs] */
    int64_t chunks;
    atomic_int_fast64_t next;
};

#define ENTRY(isa, index) [index] = tulle__block_chain_##isa,
tulle__block_chain_kernel tulle__block_chain_of(tulle__isa isa)
{
    static const tulle__block_chain_kernel kernels[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(ENTRY)};
    return kernels[isa];
}

/* ---- steps of a block row ---- */

struct steps {
    tulle__block_step *step;
    int64_t capacity;
};

static int64_t blocks_of(const tulle__spmm_task *task, int64_t r)
{
    int64_t blocks = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A;
        if (A->rowptr) blocks += A->rowptr[r + 1] - A->rowptr[r];
    }
    return blocks;
}

/* The blocks of block row r without their first `skipped` rows. */
static int64_t list_steps(const struct job *job, int p, int64_t r, int64_t skipped, tulle__block_step *step)
{
    const tulle__csr *A = &job->task->pair[p].A;
    int64_t height = A->row_block[r + 1] - A->row_block[r], n = 0, size = (int64_t)tulle_type_size(job->task->type);
    if (!A->rowptr) return 0;
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
        int64_t c = A->colind[e], k = A->col_block[c + 1] - A->col_block[c];
        int64_t at = A->offset ? A->offset[e] : e * height * k;
        step[n++] = (tulle__block_step){.A = (const char *)A->val + (at + skipped * k) * size,
            .B = (const char *)job->B[p] + (A->col_block[c] - A->col_block[0]) * job->ldb[p] * size,
            .k = k};
    }
    return n;
}

/* Adds a row-major panel to C with any strides. */
static void scatter(const tulle__spmm_task *t, int64_t row, int64_t m, const void *panel)
{
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < t->n; c++) {
            int64_t at = (row + r) * t->c_row + c * t->c_col, from = r * t->n + c;
            if (t->type == TULLE_F32) {
                float *C = (float *)t->C + at, x = ((const float *)panel)[from];
                *C = t->beta == 0 ? x : x + (float)t->beta * *C;
            } else {
                double *C = (double *)t->C + at, x = ((const double *)panel)[from];
                *C = t->beta == 0 ? x : x + t->beta * *C;
            }
        }
}

/* All pairs whose B have one distance of rows are one chain; others follow it, added to C. */
static void multiply_row(const struct job *job, int64_t r, struct steps *steps, void *panel)
{
    const tulle__spmm_task *t = job->task;
    const tulle__csr *A = &t->pair[0].A;
    int64_t begin = A->row_block[r] - A->row_block[0], end = A->row_block[r + 1] - A->row_block[0];
    int64_t low = begin < job->first ? job->first : begin;
    int64_t high = end > job->first + t->m ? job->first + t->m : end;
    int64_t size = (int64_t)tulle_type_size(t->type);
    tulle__block_chain chain = {.type = t->type,
        .m = high - low,
        .n = t->n,
        .step = steps->step,
        .C = panel ? panel : (char *)t->C + (low - job->first) * t->c_row * size,
        .ldc = panel ? t->n : t->c_row,
        .alpha = t->alpha,
        .beta = panel ? 0 : t->beta};
    if (low >= high) return;
    for (int p = 0; p < t->npairs;) {
        chain.steps = 0;
        chain.ldb = job->ldb[p];
        for (; p < t->npairs && job->ldb[p] == chain.ldb; p++)
            chain.steps += list_steps(job, p, r, low - begin, steps->step + chain.steps);
        job->chain(&chain);
        chain.beta = 1;
    }
    if (panel) scatter(t, low - job->first, high - low, panel);
}

/* The first block row of a chunk: chunks have equal numbers of blocks and rows. */
static int64_t chunk_start(const struct job *job, int64_t chunk)
{
    const tulle__csr *A = &job->task->pair[0].A;
    int64_t low = job->row0, high = job->row0 + job->rows;
    if (chunk == job->chunks) return high;
    if (!A->rowptr) return low + job->rows * chunk / job->chunks;
    int64_t base = A->rowptr[low], total = A->rowptr[high] - base + job->rows;
    int64_t work = total / job->chunks * chunk + total % job->chunks * chunk / job->chunks;
    TULLE__PARTITION_POINT(low, high, middle, A->rowptr[middle] - base + middle - job->row0 < work);
    return low;
}

static tulle_status multiply_chunks(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    const tulle__spmm_task *t = job->task;
    const tulle_gidx *cut = t->pair[0].A.row_block;
    tulle_status status = TULLE_OK;
    struct steps steps = {.capacity = 0};
    char *panel = NULL;
    int64_t blocks = 0, rows = 0;
    (void)thread, (void)nthreads;
    for (int64_t r = job->row0; r < job->row0 + job->rows; r++) {
        int64_t of_row = blocks_of(t, r);
        if (of_row > blocks) blocks = of_row;
        if (cut[r + 1] - cut[r] > rows) rows = cut[r + 1] - cut[r];
    }
    TULLE_TRY(tulle__alloc((size_t)blocks, sizeof *steps.step, "blocks of a row", &steps.step));
    if (t->c_col != 1 && t->n > 1)
        TULLE_TRY(tulle__alloc((size_t)(rows * t->n), tulle_type_size(t->type), "rows of a product", &panel));
    for (int64_t c; (c = tulle__pool_take(job->pool, &job->next, job->chunks)) < job->chunks;)
        for (int64_t r = chunk_start(job, c); r < chunk_start(job, c + 1); r++) multiply_row(job, r, &steps, panel);
out:
    tulle__free(steps.step);
    tulle__free(panel);
    return status;
}

/* ---- B by rows ---- */

static tulle_status pack(const tulle__spmm_task *t, const tulle__spmm_pair *pair, char **packed)
{
    const tulle__csr *A = &pair->A;
    int64_t rows = A->col_block[A->n] - A->col_block[0];
    size_t size = tulle_type_size(t->type);
    TULLE_CALL(tulle__alloc((size_t)(rows * t->n), size, "rows of B", packed));
    for (int64_t c = 0; c < t->n; c++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(*packed + (size_t)(r * t->n + c) * size,
                (const char *)pair->B + (size_t)(r * pair->b_row + c * pair->b_col) * size, size);
    return TULLE_OK;
}

/* The block rows that have rows first .. first + m - 1. */
static void find_rows(struct job *job)
{
    const tulle__spmm_task *t = job->task;
    const tulle__csr *A = &t->pair[0].A;
    int64_t low = 0, high = A->m, end = job->first + t->m;
    TULLE__PARTITION_POINT(low, high, middle, A->row_block[middle + 1] - A->row_block[0] <= job->first);
    job->row0 = low;
    while (low < A->m && A->row_block[low] - A->row_block[0] < end) low++;
    job->rows = low - job->row0;
}

tulle_status tulle__spmm_blocks_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task, int64_t first)
{
    tulle_status status;
    struct job job = {.pool = pool, .task = task, .chain = tulle__block_chain_of(isa), .first = first};
    char **packed = NULL;
    if (!task->m || !task->n) return TULLE_OK;
    TULLE_TRY(tulle__alloc((size_t)task->npairs, sizeof *job.B, "summands", &job.B));
    TULLE_TRY(tulle__alloc((size_t)task->npairs, sizeof *job.ldb, "summands", &job.ldb));
    TULLE_TRY(tulle__alloc_zero((size_t)task->npairs, sizeof *packed, "summands", &packed));
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spmm_pair *pair = &task->pair[p];
        bool by_row = pair->b_col == 1 || task->n == 1;
        if (!by_row) TULLE_TRY(pack(task, pair, &packed[p]));
        job.B[p] = by_row ? pair->B : packed[p];
        job.ldb[p] = by_row ? pair->b_row : task->n;
    }
    find_rows(&job);
    job.chunks = (int64_t)CHUNKS_PER_THREAD * tulle__pool_size(pool);
    if (job.chunks > job.rows) job.chunks = job.rows;
    status = tulle__pool_run(pool, multiply_chunks, &job);
out:
    for (int p = 0; packed && p < task->npairs; p++) tulle__free(packed[p]);
    tulle__free(packed);
    tulle__free(job.ldb);
    tulle__free(job.B);
    return status;
}
