/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = alpha A B + beta C by rows of C, for rows of chunks with nearly equal work, which threads take in turn:
 * neighbouring chunks run at the same time, so that threads share in the outer cache the rows of B that neighbours have
 * in common.
 *
 * Costs, with v bytes a value, N columns, z entries of A:
 *   flops   2 z N; an FMA per vector needs one load of B, so at best the loads' rate (two 32-byte vectors a cycle)
 *   memory  A once (z (4 + v)), B at least once, C once (streamed) or twice (a store to memory is a load of it too)
 *   cache   z N v bytes of B from wherever its row was left by the rows before: what a structured matrix lives on
 * With few columns A's bytes dominate; with many, whether N v bytes times the rows of B that are in use fit the caches.
 * Columns or strides other than row-major go through packed panels of 32 columns.
 */
#include "device/cpu/spmm.h"

#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"

enum { PANEL = 32, PASS_LINES = 8, CHUNKS_PER_THREAD = 24, SCRATCH_ROWS = 256, ROW_WORK = 4 };
static const double streamed_bytes = 24e6, prefetched_bytes = 256e3;

struct job {
    tulle__spmm_kernel kernel;
    const tulle__spmm_task *task;
    size_t size;
    int64_t first, width; /* the columns of this pass */
    const char *B;        /* row-major from here on */
    int64_t ldb;
    char *packed;
    int scratch; /* C is not row-major: a thread's rows are made beside it, then put there */
    int stream, prefetch;
    int64_t nchunks;
    atomic_int_fast64_t next;
};

/* Work before row i: its entries, and something for each row. */
static int64_t work_before(const tulle__csr *A, int64_t i)
{
    return A->rowptr[i] - A->rowptr[0] + ROW_WORK * i;
}

static int64_t chunk_start(const struct job *job, int64_t chunk)
{
    const tulle__csr *A = &job->task->A;
    int64_t total = work_before(A, A->m), low = 0, high = A->m;
    int64_t work = (int64_t)((double)total * (double)chunk / (double)job->nchunks);
    if (chunk == job->nchunks) return A->m;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (work_before(A, middle) < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define STRIDED(T, suffix)                                                                                             \
    /* Rows begin .. end - 1 of the panel of B, row-major. */                                                          \
    static void pack_##suffix(const struct job *job, int64_t begin, int64_t end)                                       \
    {                                                                                                                  \
        const tulle__spmm_task *task = job->task;                                                                      \
        const T *B = task->B;                                                                                          \
        T *to = (T *)(void *)job->packed;                                                                              \
        for (int64_t k = begin; k < end; k++)                                                                          \
            for (int64_t j = 0; j < job->width; j++)                                                                   \
                to[k * job->width + j] = B[k * task->b_row + (job->first + j) * task->b_col];                          \
    }                                                                                                                  \
    /* C = x + beta C for a few rows; x = alpha A B is row-major. */                                                   \
    static void put_##suffix(const struct job *job, const void *scratch, int64_t begin, int64_t end)                   \
    {                                                                                                                  \
        const tulle__spmm_task *task = job->task;                                                                      \
        const T *x = scratch, beta = (T)task->beta;                                                                    \
        T *C = task->C;                                                                                                \
        for (int64_t j = 0; j < job->width; j++)                                                                       \
            for (int64_t i = begin; i < end; i++) {                                                                    \
                T *c = &C[i * task->c_row + (job->first + j) * task->c_col], sum = x[(i - begin) * job->width + j];    \
                *c = beta == 0 ? sum : sum + beta * *c;                                                                \
            }                                                                                                          \
    }
STRIDED(float, f32)
STRIDED(double, f64)

static tulle_status pack(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    int64_t k = job->task->A.n, begin = k * thread / nthreads, end = k * (thread + 1) / nthreads;
    job->task->type == TULLE_F32 ? pack_f32(job, begin, end) : pack_f64(job, begin, end);
    return TULLE_OK;
}

static tulle_status multiply(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    const tulle__spmm_task *task = job->task;
    tulle_status status = TULLE_OK;
    char *scratch = NULL;
    (void)thread;
    (void)nthreads;
    tulle__spmm_rows rows = {.A = &task->A,
        .n = job->width,
        .B = job->B,
        .ldb = job->ldb,
        .alpha = task->alpha,
        .beta = task->beta,
        .ldc = task->c_row,
        .stream = job->stream,
        .prefetch = job->prefetch};
    if (job->scratch)
        TULLE_TRY(
            tulle__alloc((size_t)(SCRATCH_ROWS * job->width), job->size, "rows of C before they are put", &scratch));
    for (;;) {
        int64_t chunk = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (chunk >= job->nchunks) break;
        int64_t begin = chunk_start(job, chunk), end = chunk_start(job, chunk + 1);
        if (begin == end) continue;
        if (!job->scratch) {
            rows.begin = begin;
            rows.end = end;
            rows.C = (char *)task->C + (size_t)(begin * task->c_row + job->first) * job->size;
            job->kernel(&rows);
            continue;
        }
        rows.beta = 0;
        rows.C = scratch;
        rows.ldc = job->width;
        for (rows.begin = begin; rows.begin < end; rows.begin = rows.end) {
            rows.end = rows.begin + SCRATCH_ROWS < end ? rows.begin + SCRATCH_ROWS : end;
            job->kernel(&rows);
            task->type == TULLE_F32 ? put_f32(job, scratch, rows.begin, rows.end)
                                    : put_f64(job, scratch, rows.begin, rows.end);
        }
    }
out:
    tulle__free(scratch);
    return status;
}

/*
 * Columns of a pass. A pass over 512 bytes of each row of B keeps in the caches the rows that neighbours have in
 * common: 27 of them in L1, the 3 planes of a 3D mesh of 64^3 in L3, where rows of 1 KB cost four times as much a pass.
 * A is read again for each pass, 8 + v bytes against 512.
 */
static int64_t panel_width(int64_t n, size_t size)
{
    int64_t lines = (n * (int64_t)size + 63) / 64, passes = (lines + PASS_LINES - 1) / PASS_LINES;
    return passes < 2 ? n : (lines + passes - 1) / passes * 64 / (int64_t)size;
}

static tulle__spmm_kernel kernel_of(tulle__isa isa, tulle_type type)
{
#if TULLE__HAVE_X86
    if (isa == TULLE__ISA_AVX512) return tulle__spmm_avx512[type];
    if (isa == TULLE__ISA_AVX2) return tulle__spmm_avx2[type];
#endif
    (void)isa;
    return tulle__spmm_portable[type];
}

tulle_status tulle__spmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__spmm_task *task)
{
    tulle_status status = TULLE_OK;
    const tulle__csr *A = &task->A;
    if (A->m == 0 || task->n == 0) return TULLE_OK;
    struct job job = {.kernel = kernel_of(isa, task->type), .task = task, .size = tulle_type_size(task->type)};
    int packs = task->b_col != 1 && task->n > 1;
    int threads = tulle__pool_size(pool);
    job.scratch = task->c_col != 1 && task->n > 1;
    job.nchunks = threads == 1 ? 1 : (int64_t)CHUNKS_PER_THREAD * threads;
    if (job.nchunks > A->m) job.nchunks = A->m;
    int64_t panel = packs || job.scratch ? PANEL : panel_width(task->n, job.size);
    if (panel > task->n) panel = task->n;
    job.prefetch = (double)A->n * (double)task->n * (double)job.size > prefetched_bytes;
    job.stream = !job.scratch && task->beta == 0 && ((uintptr_t)task->C & 63) == 0 &&
                 (size_t)task->c_row * job.size % 64 == 0 && (size_t)task->n * job.size % 64 == 0 &&
                 (double)A->m * (double)task->n * (double)job.size > streamed_bytes;
    if (packs) TULLE_TRY(tulle__alloc((size_t)A->n * (size_t)panel, job.size, "a row-major panel of B", &job.packed));
    for (job.first = 0; job.first < task->n; job.first += panel) {
        job.width = panel < task->n - job.first ? panel : task->n - job.first;
        job.B = (const char *)task->B + (size_t)(job.first * task->b_col) * job.size;
        job.ldb = task->b_row;
        if (packs) {
            TULLE_TRY(tulle__pool_run(pool, pack, &job));
            job.B = job.packed;
            job.ldb = job.width;
        }
        atomic_store_explicit(&job.next, 0, memory_order_relaxed);
        TULLE_TRY(tulle__pool_run(pool, multiply, &job));
    }
out:
    tulle__free(job.packed);
    return status;
}
