/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T = A^T by counting sort, in parallel: each part of A's rows has its own counts of all columns; a scan over parts
 * within columns gives each part its cursors, so the parts write side by side and T's columns ascend. The counts cost
 * parts * n * 8 bytes, so a wide tile with few entries has fewer parts.
 */
#include "device/kernels/transpose.h"

#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"

struct job {
    const tulle__csr *A;
    tulle__csr_result *result;
    tulle_type type;
    int64_t parts;
    int64_t *next;    /* parts x n */
    int64_t *columns; /* parts + 1: entries before the columns that thread `part` scans */
};

/* The first row of a part, by entries. */
static int64_t part_row(const struct job *job, int64_t part)
{
    const int64_t *rowptr = job->A->rowptr;
    int64_t low = 0, high = job->A->m, nnz = rowptr[high] - rowptr[0];
    int64_t target = rowptr[0] + nnz / job->parts * part + nnz % job->parts * part / job->parts;
    if (part == job->parts) return high;
    TULLE__PARTITION_POINT(low, high, middle, rowptr[middle] < target);
    return low;
}

static int64_t part_column(const struct job *job, int64_t part)
{
    return job->A->n / job->parts * part + job->A->n % job->parts * part / job->parts;
}

static tulle_status count(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)nthreads;
    if (thread >= job->parts) return TULLE_OK;
    int64_t *next = job->next + thread * job->A->n;
    const int64_t *rowptr = job->A->rowptr;
    memset(next, 0, (size_t)job->A->n * sizeof *next);
    for (int64_t a = rowptr[part_row(job, thread)]; a < rowptr[part_row(job, thread + 1)]; a++)
        next[job->A->colind[a]]++;
    return TULLE_OK;
}

/* Entries of this thread's columns. */
static tulle_status sum_columns(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)nthreads;
    if (thread >= job->parts) return TULLE_OK;
    int64_t sum = 0, end = part_column(job, thread + 1);
    for (int64_t p = 0; p < job->parts; p++)
        for (int64_t c = part_column(job, thread); c < end; c++) sum += job->next[p * job->A->n + c];
    job->columns[thread + 1] = sum;
    return TULLE_OK;
}

/* Counts into cursors, and the row pointers of T. */
static tulle_status scan(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)nthreads;
    if (thread >= job->parts) return TULLE_OK;
    int64_t at = job->columns[thread];
    for (int64_t c = part_column(job, thread); c < part_column(job, thread + 1); c++) {
        job->result->rowptr[c] = at;
        for (int64_t p = 0; p < job->parts; p++) {
            int64_t *next = &job->next[p * job->A->n + c], entries = *next;
            *next = at;
            at += entries;
        }
    }
    return TULLE_OK;
}

/* Rows begin .. end - 1 of A, values of `size` bytes, go to T, to where next[column] points. */
static inline __attribute__((always_inline)) void scatter_rows(
    const tulle__csr *A, int64_t begin, int64_t end, int64_t *next, tulle__csr_result *result, const size_t size)
{
    const int64_t *rowptr = A->rowptr;
    const int32_t *columns = A->colind;
    int32_t *rows = result->colind;
    const char *from = A->val;
    char *to = result->val;
    for (int64_t i = begin; i < end; i++)
        for (int64_t a = rowptr[i], last = rowptr[i + 1]; a < last; a++) {
            const int64_t t = next[columns[a]]++;
            rows[t] = (int32_t)i;
            memcpy(to + (size_t)t * size, from + (size_t)a * size, size);
        }
}

static tulle_status scatter(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)nthreads;
    if (thread >= job->parts) return TULLE_OK;
    int64_t begin = part_row(job, thread), end = part_row(job, thread + 1), *next = job->next + thread * job->A->n;
    job->type == TULLE_F32 ? scatter_rows(job->A, begin, end, next, job->result, sizeof(float))
                           : scatter_rows(job->A, begin, end, next, job->result, sizeof(double));
    return TULLE_OK;
}

tulle_status tulle__transpose_cpu(tulle__pool *pool, tulle_type type, const tulle__csr *A, tulle__csr_result *result)
{
    struct job job = {.A = A, .result = result, .type = type, .parts = tulle__pool_size(pool)};
    int64_t nnz = A->rowptr[A->m] - A->rowptr[0], most = 1 + nnz / (A->n + 1);
    int32_t rows;
    tulle_status status;
    if (job.parts > most) job.parts = most;
    TULLE_TRY(tulle__narrow(A->m, "the width of a transposed tile", &rows));
    TULLE_TRY(
        tulle__alloc((size_t)job.parts * (size_t)A->n, sizeof *job.next, "the cursors of a transposition", &job.next));
    TULLE_TRY(
        tulle__alloc_zero((size_t)job.parts + 1, sizeof *job.columns, "the cursors of a transposition", &job.columns));
    TULLE_TRY(tulle__pool_run(pool, count, &job));
    TULLE_TRY(tulle__pool_run(pool, sum_columns, &job));
    for (int64_t p = 0; p < job.parts; p++) job.columns[p + 1] += job.columns[p];
    TULLE_TRY(tulle__pool_run(pool, scan, &job));
    result->rowptr[A->n] = nnz;
    result->nnz = nnz;
    TULLE_TRY(tulle__pool_run(pool, scatter, &job));
out:
    tulle__free(job.next);
    tulle__free(job.columns);
    return status;
}
