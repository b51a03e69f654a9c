/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks products of two matrices of blocks: 8 blocks a row at random, as many as fill about 4 MB. */
#include <string.h>

#include "algo/model/rates.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernel/kernel.h"

enum { DEGREE = 8, BYTES = 4 << 20, REPEATS = 3, THREADS_MOST = 64 };

/* The result's memory: the same each time, so that page faults are not timed. */
struct result {
    int64_t *rowptr, *offset;
    int32_t *colind;
    double *norm, *val;
};

struct blocks {
    int64_t rows, *rowptr, *cut, *offset;
    int32_t *colind;
    double *val, *norm;
    struct result result[THREADS_MOST];
    int64_t multiplications[THREADS_MOST];
};

static void drop(struct blocks *b)
{
    tulle__free(b->rowptr);
    tulle__free(b->cut);
    tulle__free(b->offset);
    tulle__free(b->colind);
    tulle__free(b->val);
    tulle__free(b->norm);
    for (int t = 0; t < THREADS_MOST; t++) {
        tulle__free(b->result[t].rowptr);
        tulle__free(b->result[t].offset);
        tulle__free(b->result[t].colind);
        tulle__free(b->result[t].norm);
        tulle__free(b->result[t].val);
    }
}

static tulle_status make(int64_t size, struct blocks *b)
{
    tulle_status status;
    const int64_t area = size * size;
    b->rows = BYTES / (DEGREE * area * (int64_t)sizeof *b->val);
    if (b->rows < DEGREE) b->rows = DEGREE;
    const int64_t blocks = b->rows * DEGREE, stride = b->rows / DEGREE;
    TULLE_TRY(tulle__alloc((size_t)b->rows + 1, sizeof *b->rowptr, "blocks to measure with", &b->rowptr));
    TULLE_TRY(tulle__alloc((size_t)b->rows + 1, sizeof *b->cut, "blocks to measure with", &b->cut));
    TULLE_TRY(tulle__alloc((size_t)blocks + 1, sizeof *b->offset, "blocks to measure with", &b->offset));
    TULLE_TRY(tulle__alloc((size_t)blocks, sizeof *b->colind, "blocks to measure with", &b->colind));
    TULLE_TRY(tulle__alloc((size_t)blocks, sizeof *b->norm, "blocks to measure with", &b->norm));
    TULLE_TRY(tulle__alloc((size_t)(blocks * area), sizeof *b->val, "blocks to measure with", &b->val));
    for (int64_t r = 0; r <= b->rows; r++) {
        b->rowptr[r] = r * DEGREE;
        b->cut[r] = r * size;
    }
    for (int64_t e = 0; e <= blocks; e++) b->offset[e] = e * area;
    for (int64_t e = 0; e < blocks; e++) {
        b->norm[e] = (double)area;
        b->colind[e] = (int32_t)(e % DEGREE * stride) +
                       (int32_t)tulle__random_below(tulle__random_at(1, (uint64_t)size, (uint64_t)e), (uint64_t)stride);
    }
    for (int64_t v = 0; v < blocks * area; v++) b->val[v] = 1;
out:
    return status;
}

static tulle_status place(void *context, int64_t m, int64_t blocks, tulle__csr_result *C)
{
    tulle_status status = TULLE_OK;
    struct result *r = context;
    if (!r->rowptr) {
        TULLE_TRY(tulle__alloc((size_t)m + 1, sizeof *r->rowptr, "a product to measure", &r->rowptr));
        TULLE_TRY(tulle__alloc((size_t)blocks + 1, sizeof *r->offset, "a product to measure", &r->offset));
        TULLE_TRY(tulle__alloc((size_t)blocks, sizeof *r->colind, "a product to measure", &r->colind));
        TULLE_TRY(tulle__alloc((size_t)blocks, sizeof *r->norm, "a product to measure", &r->norm));
        TULLE_TRY(tulle__alloc((size_t)C->values, sizeof *r->val, "a product to measure", &r->val));
    }
    *C = (tulle__csr_result){.nnz = blocks,
        .values = C->values,
        .rowptr = r->rowptr,
        .colind = r->colind,
        .offset = r->offset,
        .norm = r->norm,
        .val = r->val};
out:
    return status;
}

static tulle_status multiply(void *arg, int thread, int nthreads)
{
    struct blocks *b = arg;
    (void)nthreads;
    const tulle__csr X = {.m = b->rows,
        .n = b->rows,
        .rowptr = b->rowptr,
        .colind = b->colind,
        .val = b->val,
        .offset = b->offset,
        .norm = b->norm,
        .row_block = b->cut,
        .col_block = b->cut};
    const tulle__spgemm_pair pair = {.A = X, .B = X, .scale = 1};
    const tulle__spgemm_task task = {.type = TULLE_F64, .m = b->rows, .n = b->rows, .npairs = 1, .pair = &pair};
    tulle__csr_result C = {.nnz = 0};
    tulle_status status =
        tulle__kernels_cpu()->spgemm_blocks(NULL, &task, place, &b->result[thread % THREADS_MOST], &C);
    b->multiplications[thread % THREADS_MOST] = C.multiplications;
    return status;
}

tulle_status tulle__block_rates_measure(tulle__pool *pool, tulle_machine *machine, double *imbalance)
{
    tulle_status status = TULLE_OK;
    for (int s = 0; s < TULLE_RATE_BLOCKS; s++) {
        struct blocks b = {.rows = 0};
        double seconds = 0;
        status = make((int64_t)TULLE_RATE_BLOCK[s], &b);
        if (status == TULLE_OK) status = tulle__time_best(pool, multiply, &b, REPEATS, &seconds, imbalance);
        for (int t = 0; status == TULLE_OK && t < tulle__pool_size(pool) && t < THREADS_MOST; t++)
            machine->blocks[s] += 2 * (double)b.multiplications[t] / seconds;
        drop(&b);
        if (status != TULLE_OK) return status;
    }
    return status;
}
