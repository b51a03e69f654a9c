/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks products of two matrices of blocks: 8 blocks a row at random, as many as fill about 4 MB. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "algo/model/rates.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/block_library.h"
#include "device/cpu/dense_calls.h"
#include "kernel/kernel.h"

enum { DEGREE = 8, BYTES = 4 << 20, REPEATS = 3, THREADS_MOST = 64 };
/* To compare kernels: about so many flops a product, so many blocks a row. */
enum { FLOPS = 200000000, HALF = DEGREE / 2, TURNS = 5 };
static const double WORTH = 1.03; /* the least gain for which a library is called */

/* The result's memory: the same each time, so that page faults are not timed. */
struct result {
    int64_t *rowptr, *offset;
    int32_t *colind;
    double *norm, *val;
};

struct blocks {
    int64_t rows, *rowptr, *cut, *offset;
    const tulle__block_kernels *kernels;
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

/* `degree` blocks of `size` rows and columns in each of `rows` block rows, at least as many. */
static tulle_status make(int64_t size, int64_t degree, int64_t rows, struct blocks *b)
{
    const int64_t area = size * size;
    b->rows = rows < degree ? degree : rows;
    const int64_t blocks = b->rows * degree, stride = b->rows / degree;
    TULLE_CALL(tulle__alloc((size_t)b->rows + 1, sizeof *b->rowptr, "blocks to measure with", &b->rowptr));
    TULLE_CALL(tulle__alloc((size_t)b->rows + 1, sizeof *b->cut, "blocks to measure with", &b->cut));
    TULLE_CALL(tulle__alloc((size_t)blocks + 1, sizeof *b->offset, "blocks to measure with", &b->offset));
    TULLE_CALL(tulle__alloc((size_t)blocks, sizeof *b->colind, "blocks to measure with", &b->colind));
    TULLE_CALL(tulle__alloc((size_t)blocks, sizeof *b->norm, "blocks to measure with", &b->norm));
    TULLE_CALL(tulle__alloc((size_t)(blocks * area), sizeof *b->val, "blocks to measure with", &b->val));
    for (int64_t r = 0; r <= b->rows; r++) {
        b->rowptr[r] = r * degree;
        b->cut[r] = r * size;
    }
    for (int64_t e = 0; e <= blocks; e++) b->offset[e] = e * area;
    for (int64_t e = 0; e < blocks; e++) {
        b->norm[e] = (double)area;
        b->colind[e] = (int32_t)(e % degree * stride) +
                       (int32_t)tulle__random_below(tulle__random_at(1, (uint64_t)size, (uint64_t)e), (uint64_t)stride);
    }
    for (int64_t v = 0; v < blocks * area; v++) b->val[v] = 1;
    return TULLE_OK;
}

static tulle_status place(void *context, int64_t m, int64_t blocks, tulle__csr_result *C)
{
    struct result *r = context;
    if (!r->rowptr) {
        TULLE_CALL(tulle__alloc((size_t)m + 1, sizeof *r->rowptr, "a product to measure", &r->rowptr));
        TULLE_CALL(tulle__alloc((size_t)blocks + 1, sizeof *r->offset, "a product to measure", &r->offset));
        TULLE_CALL(tulle__alloc((size_t)blocks, sizeof *r->colind, "a product to measure", &r->colind));
        TULLE_CALL(tulle__alloc((size_t)blocks, sizeof *r->norm, "a product to measure", &r->norm));
        TULLE_CALL(tulle__alloc((size_t)C->values, sizeof *r->val, "a product to measure", &r->val));
    }
    *C = (tulle__csr_result){.nnz = blocks,
        .values = C->values,
        .rowptr = r->rowptr,
        .colind = r->colind,
        .offset = r->offset,
        .norm = r->norm,
        .val = r->val};
    return TULLE_OK;
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
    const tulle__spgemm_task task = {
        .type = TULLE_F64, .m = b->rows, .n = b->rows, .npairs = 1, .pair = &pair, .kernels = b->kernels};
    tulle__csr_result C = {.nnz = 0};
    tulle_status status =
        tulle__kernels_cpu()->spgemm_blocks(NULL, &task, place, &b->result[thread % THREADS_MOST], &C);
    b->multiplications[thread % THREADS_MOST] = C.multiplications;
    return status;
}

static int64_t rows_of(double size)
{
    return BYTES / (int64_t)(DEGREE * size * size * (double)sizeof(double));
}

/* Flops a second of all threads. */
static tulle_status measure(tulle__pool *pool, int64_t size, int64_t degree, int64_t rows,
    const tulle__block_kernels *kernels, double *rate, double *imbalance)
{
    struct blocks b = {.kernels = kernels};
    double seconds = 0;
    tulle_status status = make(size, degree, rows, &b);
    if (status == TULLE_OK) status = tulle__time_best(pool, multiply, &b, REPEATS, &seconds, imbalance);
    for (int t = 0; status == TULLE_OK && t < tulle__pool_size(pool) && t < THREADS_MOST; t++)
        *rate += 2 * (double)b.multiplications[t] / seconds;
    drop(&b);
    return status;
}

static bool is_there(tulle_block_kernel kernel, tulle__block_chain_kernel libxsmm)
{
    return kernel == TULLE_BLOCK_OWN || (kernel == TULLE_BLOCK_LIBXSMM ? libxsmm : tulle__dense_chain()) != NULL;
}

/* Kernels take turns: what else the machine does disturbs all of them. */
static tulle_status compare_at(tulle__pool *pool, int s, tulle__block_chain_kernel libxsmm, tulle_machine *machine)
{
    const double size = TULLE_RATE_CROSSING[s];
    const int64_t most = (int64_t)(FLOPS / (2 * size * size * size * HALF * HALF)),
                  rows = most < rows_of(size) ? most : rows_of(size);
    struct blocks b = {.rows = 0};
    tulle_status status = make((int64_t)size, HALF, rows, &b);
    for (int turn = 0; turn < TURNS; turn++)
        for (int q = 0; q < TULLE_BLOCK_KERNELS && status == TULLE_OK; q++) {
            tulle__block_kernels only = {.from = {0, TULLE__BLOCK_NEVER, TULLE__BLOCK_NEVER}, .libxsmm = libxsmm};
            double seconds = 0, imbalance = 0, *rate = &machine->block_kernels[q * TULLE_RATE_CROSSINGS + s], now = 0;
            if (!is_there((tulle_block_kernel)q, libxsmm)) continue;
            only.from[q] = 0;
            b.kernels = &only;
            status = tulle__time_best(pool, multiply, &b, 1, &seconds, &imbalance);
            for (int t = 0; status == TULLE_OK && t < tulle__pool_size(pool) && t < THREADS_MOST; t++)
                now += 2 * (double)b.multiplications[t] / seconds;
            if (now > *rate) *rate = now;
        }
    drop(&b);
    return status;
}

/* Worth of choosing kernels by these sizes: sums of logarithms of rates. */
static double worth_of(const double *rates, int libxsmm, int blas)
{
    double sum = 0;
    for (int s = 0; s < TULLE_RATE_CROSSINGS; s++) {
        const int q = s >= blas ? TULLE_BLOCK_BLAS : s >= libxsmm ? TULLE_BLOCK_LIBXSMM : TULLE_BLOCK_OWN;
        const double rate = rates[q * TULLE_RATE_CROSSINGS + s];
        sum += rate > 0 ? log(rate) - (q ? log(WORTH) : 0) : -HUGE_VAL;
    }
    return sum;
}

void tulle__block_sizes(tulle_machine *machine)
{
    double best = -HUGE_VAL, *from = machine->block_from;
    memset(from, 0, sizeof machine->block_from);
    if (!(machine->block_kernels[0] > 0)) return;
    for (int blas = TULLE_RATE_CROSSINGS; blas >= 0; blas--)
        for (int libxsmm = blas; libxsmm >= 0; libxsmm--) {
            const double worth = worth_of(machine->block_kernels, libxsmm, blas);
            if (!(worth > best)) continue;
            best = worth;
            from[TULLE_BLOCK_LIBXSMM] = libxsmm < blas ? TULLE_RATE_CROSSING[libxsmm] : TULLE__BLOCK_NEVER;
            from[TULLE_BLOCK_BLAS] = blas < TULLE_RATE_CROSSINGS ? TULLE_RATE_CROSSING[blas] : TULLE__BLOCK_NEVER;
        }
}

tulle_status tulle__block_rates_measure(tulle__pool *pool, tulle_machine *machine, double *imbalance)
{
    tulle_status status = TULLE_OK;
    tulle__block_kernels kernels = {.libxsmm = tulle__libxsmm_chain()};
    for (int s = 0; s < TULLE_RATE_CROSSINGS && status == TULLE_OK; s++)
        status = compare_at(pool, s, kernels.libxsmm, machine);
    tulle__block_sizes(machine);
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) kernels.from[q] = (int64_t)machine->block_from[q];
    for (int s = 0; s < TULLE_RATE_BLOCKS && status == TULLE_OK; s++) {
        const double size = TULLE_RATE_BLOCK[s];
        status = measure(pool, (int64_t)size, DEGREE, rows_of(size), &kernels, &machine->blocks[s], imbalance);
    }
    return status;
}
