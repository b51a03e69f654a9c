/* SPDX-License-Identifier: Apache-2.0 */
#include "device/kernels/sddmm/sddmm.h"

typedef void (*rows_function)(const tulle__sddmm_task *task, int64_t begin, int64_t end);

#define ENTRY(isa, index) [index] = tulle__sddmm_rows_##isa,
static const rows_function rows_of[TULLE__ISA_COUNT] = {TULLE__EACH_ISA(ENTRY)};

struct job {
    rows_function rows;
    const tulle__sddmm_task *task;
    tulle__pool *pool;
    int64_t block, nblocks; /* of rows */
    atomic_int_fast64_t next;
};

static tulle_status multiply(void *arg, int thread, int nthreads)
{
    struct job *job = arg;
    (void)thread;
    (void)nthreads;
    for (int64_t b; (b = tulle__pool_take(job->pool, &job->next, job->nblocks)) < job->nblocks;) {
        const int64_t begin = b * job->block, end = begin + job->block;
        job->rows(job->task, begin, end < job->task->m ? end : job->task->m);
    }
    return TULLE_OK;
}

enum { BLOCK_VALUES = 1 << 15 }; /* of Y, that a block of rows reads: small enough to balance heavy rows */

tulle_status tulle__sddmm_cpu(tulle__isa isa, tulle__pool *pool, const tulle__sddmm_task *task)
{
    struct job job = {.rows = rows_of[isa], .task = task, .pool = pool};
    const int64_t entries = task->m ? task->to[task->m - 1] - task->from[0] : 0;
    const int64_t row = (entries / (task->m ? task->m : 1) + 1) * (task->k + 1); /* values of a mean row */
    job.block = row < BLOCK_VALUES ? BLOCK_VALUES / row : 1;
    job.nblocks = (task->m + job.block - 1) / job.block;
    return tulle__pool_run(pool, multiply, &job);
}
