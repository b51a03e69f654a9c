/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/array/multiply_entries.h"

#include <stdatomic.h>

#include "base/attend.h"
#include "device/values.h"

struct job {
    tulle__pool *pool;
    const tulle__coo *A;
    tulle__strided B, C;
    double alpha, beta;
    tulle_type type;
    int64_t columns, share; /* of C; of a thread's turn */
    atomic_int_fast64_t next;
};

#define TEMPLATE "algo/array/entries_columns.h"
#include "kernel/both_types.h"

/* True if numbers of that width are in 0 .. most - 1. */
static bool inside(const void *index, int bytes, int64_t count, int64_t most)
{
    uint64_t largest = 0; /* negative ones are the largest */
    if (bytes == 4) {
        const uint32_t *x = index;
        uint32_t narrow = 0;
        for (int64_t e = 0; e < count; e++) narrow = x[e] > narrow ? x[e] : narrow;
        largest = narrow > INT32_MAX ? UINT64_MAX : narrow;
    } else {
        const uint64_t *x = index;
        for (int64_t e = 0; e < count; e++) largest = x[e] > largest ? x[e] : largest;
    }
    return !count || largest < (uint64_t)most;
}

bool tulle__coo_inside(const tulle__coo *A)
{
    return inside(A->row, A->index_bytes, A->nnz, A->m) && inside(A->col, A->index_bytes, A->nnz, A->n);
}

/* All entries for some columns, or until the pool is to stop, which says so itself. */
static tulle_status multiply_columns(const struct job *job, int64_t begin, int64_t end)
{
    enum { WORK = 1 << 18 }; /* multiplications between two looks at signals */
    const int64_t piece = WORK / (end - begin) + 1, nnz = job->A->nnz;
    const bool single = job->type == TULLE_F32;
    const tulle__strided *C = &job->C;
    char *first = (char *)C->val + (size_t)(begin * C->col) * tulle_type_size(job->type);
    if (C->col == 1)
        TULLE_CALL(tulle__values_scale(NULL, job->type, job->A->m, end - begin, C->row, job->beta, first));
    else
        TULLE_CALL(tulle__values_scale(NULL, job->type, end - begin, job->A->m, C->col, job->beta, first));
    for (int64_t e = 0; e < nnz; e += piece) {
        if (!job->pool) TULLE_CALL(tulle__attend());
        if (!tulle__pool_continues(job->pool)) return TULLE_OK;
        (single ? add_some_f32 : add_some_f64)(job, begin, end, e, e + piece < nnz ? e + piece : nnz);
    }
    return TULLE_OK;
}

static tulle_status take_columns(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)thread;
    (void)nthreads;
    const int64_t shares = (job->columns + job->share - 1) / job->share;
    for (int64_t s; (s = tulle__pool_take(job->pool, &job->next, shares)) < shares;) {
        const int64_t begin = s * job->share, end = begin + job->share;
        TULLE_CALL(multiply_columns(job, begin, end < job->columns ? end : job->columns));
    }
    return TULLE_OK;
}

tulle_status tulle__multiply_coo(tulle__pool *pool, tulle_type type, const tulle__coo *A, int64_t columns, double alpha,
    const tulle__strided *B, double beta, const tulle__strided *C)
{
    enum { LEAST = 8 }; /* columns, for which a thread goes through all entries */
    const int64_t share = (columns + tulle__pool_size(pool) - 1) / tulle__pool_size(pool);
    struct job job = {.pool = pool,
        .A = A,
        .B = *B,
        .C = *C,
        .alpha = alpha,
        .beta = beta,
        .type = type,
        .columns = columns,
        .share = share > LEAST ? share : LEAST};
    return tulle__pool_run(pool, take_columns, &job);
}
