/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product with a slab of blocks. Rows go in chunks of nearly equal work, which threads take in turn. Of a symmetric
 * slab rows go in runs: what a run adds to lines of its own rows is added in place (in a buffer of f64 where vectors
 * are f32), what it adds to later ones in a buffer of its own, as long as the slab's span; when all runs are made, the
 * buffers are added to Y, run by run, by all threads, each some of the lines. How many runs there are follows from the
 * slab, so that sums do not depend on threads.
 */
#include "device/kernels/bsr/bsr.h"

#include <stdatomic.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/ref/bsr_formula.h"

enum { CHUNKS_PER_THREAD = 16, RUNS_MOST = 64, RUNS_LEAST = 4, RUN_ENTRIES = 1 << 12 };

struct job {
    tulle__pool *pool;
    const tulle__bsr_task *task;
    const tulle__bsr_kernels *kernels;
    int64_t nparts; /* chunks or runs */
    atomic_int_fast64_t next;
    /* symmetric */
    atomic_int_fast64_t span;
    double *own;                                    /* [lines of the slab x k], or NULL: Y */
    double *beyond[RUNS_MOST];                      /* of each run: [lines[r] x k] */
    int64_t start[RUNS_MOST + 1], lines[RUNS_MOST]; /* its first block row in the slab; lines that may come after */
};

/* The first block row of a part: parts have equal numbers of blocks and rows. */
static int64_t part_start(const tulle__bsr *A, int64_t part, int64_t nparts)
{
    int64_t low = 0, high = A->m, first = A->rowptr[0], total = A->rowptr[A->m] - first + A->m;
    int64_t work = total / nparts * part + total % nparts * part / nparts;
    TULLE__PARTITION_POINT(low, high, middle, A->rowptr[middle] - first + middle < work);
    return part == nparts ? A->m : low;
}

static tulle_status multiply_chunks(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    const tulle__bsr_task *task = job->task;
    tulle__bsr_kernel kernel =
        task->k == 1 && task->ldx == 1 && task->ldy == 1 ? job->kernels->column : job->kernels->columns;
    (void)thread, (void)nthreads;
    for (int64_t c; (c = tulle__pool_take(job->pool, &job->next, job->nparts)) < job->nparts;) {
        tulle__bsr_rows rows = {.A = &task->A,
            .begin = part_start(&task->A, c, job->nparts),
            .end = part_start(&task->A, c + 1, job->nparts),
            .k = task->k,
            .X = task->X,
            .ldx = task->ldx,
            .Y = task->Y,
            .ldy = task->ldy};
        if (rows.begin < rows.end) kernel(&rows);
    }
    return TULLE_OK;
}

/* ---- symmetric ---- */

static tulle_status multiply_runs(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    const tulle__bsr_task *task = job->task;
    const tulle__bsr *A = &task->A;
    int64_t k = task->k, ld = job->own ? k : task->ldy;
    (void)thread, (void)nthreads;
    tulle__bsr_kernel kernel =
        k == 1 && task->ldx == 1 && ld == 1 ? job->kernels->half_column : job->kernels->half_columns;
    for (int64_t r; (r = tulle__pool_take(job->pool, &job->next, job->nparts)) < job->nparts;) {
        int64_t line = job->start[r] * A->block, lines = (job->start[r + 1] - job->start[r]) * A->block;
        tulle__bsr_rows rows = {.A = A,
            .begin = job->start[r],
            .end = job->start[r + 1],
            .k = k,
            .X = task->X,
            .ldx = task->ldx,
            .own = job->own ? job->own + line * k : (double *)task->Y + (A->first * A->block + line) * ld,
            .own_ld = ld,
            .beyond = job->beyond[r]};
        for (int64_t e = 0; job->own && e < lines * k; e++) rows.own[e] = 0;
        for (int64_t e = 0; e < job->lines[r] * k; e++) rows.beyond[e] = 0;
        kernel(&rows);
    }
    return TULLE_OK;
}

/* Lines from .. to - 1 of Y, counted from the slab's first, grow by those of a buffer that begins with line `begin`. */
static void add_lines(const tulle__bsr_task *task, int64_t from, int64_t to, int64_t begin, const double *sum)
{
    int64_t k = task->k, ld = task->ldy;
    double *Y = (double *)task->Y + task->A.first * task->A.block * ld;
    for (int64_t l = from; l < to; l++)
        for (int64_t j = 0; j < k; j++) Y[l * ld + j] += sum[(l - begin) * k + j];
}

/* Line l of Y + all sums for it, rounded once: for vectors of f32. */
static void add_rounded(const struct job *job, int64_t l, int64_t own)
{
    const tulle__bsr_task *task = job->task;
    int64_t k = task->k, b = task->A.block;
    float *y = (float *)task->Y + (task->A.first * b + l) * task->ldy;
    for (int64_t j = 0; j < k; j++) {
        double sum = l < own ? job->own[l * k + j] : 0;
        for (int64_t r = 0; r < job->nparts; r++) {
            int64_t at = l - job->start[r + 1] * b;
            if (at >= 0 && at < job->lines[r]) sum += job->beyond[r][at * k + j];
        }
        y[j] = (float)((double)y[j] + sum);
    }
}

/* Each thread has some of the lines, and adds what runs have for them in the order of runs. */
static tulle_status add_buffers(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    const tulle__bsr *A = &job->task->A;
    int64_t own = A->m * A->block, all = own + job->lines[job->nparts - 1];
    int64_t from = all * thread / nthreads, to = all * (thread + 1) / nthreads;
    if (job->own) {
        for (int64_t l = from; l < to; l++) add_rounded(job, l, own);
        return TULLE_OK;
    }
    for (int64_t r = 0; r < job->nparts; r++) {
        int64_t begin = job->start[r + 1] * A->block, end = begin + job->lines[r];
        int64_t low = from > begin ? from : begin, high = to < end ? to : end;
        add_lines(job->task, low, high, begin, job->beyond[r]);
    }
    return TULLE_OK;
}

/* Each thread looks at the last blocks of some of the rows. */
static tulle_status find_span(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    const tulle__bsr *A = &job->task->A;
    int64_t span = 0;
    for (int64_t i = A->m * thread / nthreads; i < A->m * (thread + 1) / nthreads; i++) {
        if (A->rowptr[i] == A->rowptr[i + 1]) continue;
        int64_t right = tulle__bsr_column(A, i, A->rowptr[i + 1] - 1) - A->first - i;
        if (right > span) span = right;
    }
    int_fast64_t most = atomic_load_explicit(&job->span, memory_order_relaxed);
    while (most < span && !atomic_compare_exchange_weak_explicit(
                              &job->span, &most, span, memory_order_relaxed, memory_order_relaxed)) {
    }
    return TULLE_OK;
}

/*
 * More runs mean more threads and more to add up; in a long slab of short span they are for free. Few entries are one
 * run.
 */
static int64_t runs_of(const tulle__bsr *A, int64_t span)
{
    int64_t runs = span ? A->m / (8 * span) : RUNS_MOST;
    int64_t entries = (A->rowptr[A->m] - A->rowptr[0]) * A->block * A->block / RUN_ENTRIES + 1;
    if (runs < RUNS_LEAST) runs = RUNS_LEAST;
    if (runs > RUNS_MOST) runs = RUNS_MOST;
    if (runs > entries) runs = entries;
    return runs < A->m ? runs : A->m;
}

static tulle_status multiply_symmetric(tulle__pool *pool, struct job *job)
{
    const tulle__bsr_task *task = job->task;
    const tulle__bsr *A = &task->A;
    int64_t b = A->block, lines = 0;
    double *beyond = NULL;
    tulle_status status;
    atomic_store_explicit(&job->span, A->span, memory_order_relaxed);
    if (!A->span) TULLE_TRY(tulle__pool_run(pool, find_span, job));
    int64_t span = atomic_load_explicit(&job->span, memory_order_relaxed);
    job->nparts = runs_of(A, span);
    for (int64_t r = 0; r < job->nparts; r++) {
        int64_t end = part_start(A, r + 1, job->nparts), left = A->n - A->first - end;
        job->start[r + 1] = end;
        job->lines[r] = (left < span ? left : span) * b;
        lines += job->lines[r];
    }
    TULLE_TRY(tulle__alloc((size_t)(lines * task->k), sizeof *beyond, "sums of a symmetric product", &beyond));
    if (task->vectors == TULLE_F32)
        TULLE_TRY(
            tulle__alloc((size_t)(A->m * b * task->k), sizeof *job->own, "sums of a symmetric product", &job->own));
    job->beyond[0] = beyond;
    for (int64_t r = 1; r < job->nparts; r++) job->beyond[r] = job->beyond[r - 1] + job->lines[r - 1] * task->k;
    TULLE_TRY(tulle__pool_run(pool, multiply_runs, job));
    TULLE_TRY(tulle__pool_run(pool, add_buffers, job));
out:
    tulle__free(beyond);
    tulle__free(job->own);
    return status;
}

#define ENTRY(isa, index) [index] = tulle__bsr_##isa,
static const tulle__bsr_kernels *const kernels_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(ENTRY)};

tulle_status tulle__bsr_cpu(tulle__isa isa, tulle__pool *pool, const tulle__bsr_task *task)
{
    tulle_status status = tulle__bsr_check(task);
    if (status != TULLE_OK || task->A.m == 0 || task->k == 0) return status;
    tulle__bsr_pair pair = task->values == TULLE_F64    ? TULLE__BSR_F64
                           : task->vectors == TULLE_F64 ? TULLE__BSR_F32_F64
                                                        : TULLE__BSR_F32;
    struct job job = {.pool = pool, .task = task, .kernels = &kernels_of[isa][pair]};
    if (task->A.symmetric) return multiply_symmetric(pool, &job);
    job.nparts = (int64_t)CHUNKS_PER_THREAD * tulle__pool_size(pool);
    if (job.nparts > task->A.m) job.nparts = task->A.m;
    return tulle__pool_run(pool, multiply_chunks, &job);
}
