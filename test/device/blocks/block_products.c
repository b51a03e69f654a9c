/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with matrices of blocks: the reference and every instruction set, with pools of one to three threads,
 * against sums of small integers, which are exact. Blocks of 1 to 70 rows and columns, of one size without offsets or
 * of many; rows of a task that begin and end within blocks; both orders of B and C; beta = 0 over what is not a number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "elements.h"
#include "tap.h"

enum { PAIRS = 2, CUTS = 12 };

/* A matrix of blocks in memory, and as dense. */
struct blocks {
    tulle__csr csr;
    int64_t m, n;
    double *dense;
};

/* Half of the blocks between the cuts; of one size: without offsets. */
static struct blocks make(
    tulle_type type, int rows, const tulle_gidx *row, int cols, const tulle_gidx *col, int one_size, uint64_t seed)
{
    struct blocks x = {.m = row[rows] - row[0], .n = col[cols] - col[0]};
    int64_t *rowptr = calloc((size_t)rows + 1, sizeof *rowptr), *offset = calloc((size_t)(rows * cols) + 1, 8), at = 0;
    int32_t *colind = calloc((size_t)(rows * cols) + 1, sizeof *colind), e = 0;
    void *val = calloc((size_t)(x.m * x.n) + 1, 8);
    x.dense = calloc((size_t)(x.m * x.n) + 1, sizeof *x.dense);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            if (tulle__random_at(seed, (uint64_t)r, (uint64_t)c) % 2) continue;
            colind[e] = c;
            offset[e++] = at;
            for (int64_t i = row[r]; i < row[r + 1]; i++)
                for (int64_t j = col[c]; j < col[c + 1]; j++, at++) {
                    double v = (double)(tulle__random_at(seed, 7, (uint64_t)at) % 9) - 4;
                    put(val, type, at, v);
                    x.dense[(i - row[0]) * x.n + j - col[0]] = v;
                }
        }
        rowptr[r + 1] = e;
    }
    offset[e] = at;
    x.csr = (tulle__csr){.m = rows,
        .n = cols,
        .rowptr = rowptr,
        .colind = colind,
        .val = val,
        .offset = one_size ? NULL : offset,
        .row_block = row,
        .col_block = col};
    if (one_size) free(offset);
    return x;
}

static void drop(struct blocks *x)
{
    free((void *)(uintptr_t)x->csr.rowptr);
    free((void *)(uintptr_t)x->csr.colind);
    free((void *)(uintptr_t)x->csr.val);
    free((void *)(uintptr_t)x->csr.offset);
    free(x->dense);
}

/* Cuts from `first` on, of blocks of so many, or of sizes drawn up to it. */
static int cuts(tulle_gidx first, int blocks, int size, int one_size, uint64_t seed, tulle_gidx *cut)
{
    cut[0] = first;
    for (int b = 0; b < blocks; b++)
        cut[b + 1] =
            cut[b] + (one_size ? size : 1 + (tulle_gidx)(tulle__random_at(seed, 3, (uint64_t)b) % (uint64_t)size));
    return blocks;
}

struct shape {
    int rows, cols, size, one_size;
    int64_t n;
    double alpha, beta;
};

static int64_t wrong(
    const tulle__kernels *kernels, tulle__pool *pool, tulle_type type, const struct shape *s, int orders, int within)
{
    tulle_gidx row[CUTS + 1], col[PAIRS][CUTS + 1];
    struct blocks A[PAIRS];
    double *B[PAIRS];
    tulle__spmm_pair pair[PAIRS];
    int64_t count = 0, m = cuts(100, s->rows, s->size, s->one_size, 5, row);
    m = row[s->rows] - row[0];
    int64_t first = within ? m / 3 : 0, rows = within ? m / 2 : m;
    double *C = malloc((size_t)(rows * s->n + 1) * 8);
    for (int64_t e = 0; e < rows * s->n; e++) put(C, type, e, s->beta == 0 ? (double)NAN : (double)(e % 7));
    for (int p = 0; p < PAIRS; p++) {
        cuts(11, s->cols, s->size, s->one_size, 6 + (uint64_t)p, col[p]);
        A[p] = make(type, s->rows, row, s->cols, col[p], s->one_size, 20 + (uint64_t)p);
        B[p] = malloc((size_t)(A[p].n * s->n + 1) * 8);
        for (int64_t e = 0; e < A[p].n * s->n; e++)
            put(B[p], type, e, (double)(tulle__random_at(9, (uint64_t)p, (uint64_t)e) % 5) - 2);
        int by_row = orders & 1;
        pair[p] = (tulle__spmm_pair){A[p].csr, B[p], by_row ? s->n : 1, by_row ? 1 : A[p].n};
    }
    int by_row = orders >> 1 & 1;
    const tulle__spmm_task task = {.type = type,
        .m = rows,
        .n = s->n,
        .npairs = PAIRS,
        .pair = pair,
        .C = C,
        .c_row = by_row ? s->n : 1,
        .c_col = by_row ? 1 : rows,
        .alpha = s->alpha,
        .beta = s->beta};
    count += kernels->spmm_blocks(pool, &task, first) != TULLE_OK;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < s->n; j++) {
            int64_t at = i * task.c_row + j * task.c_col;
            double sum = 0;
            for (int p = 0; p < PAIRS; p++)
                for (int64_t k = 0; k < A[p].n; k++)
                    sum +=
                        A[p].dense[(first + i) * A[p].n + k] * get(B[p], type, k * pair[p].b_row + j * pair[p].b_col);
            count += get(C, type, at) != s->alpha * sum + (s->beta == 0 ? 0 : s->beta * (double)(at % 7));
        }
    for (int p = 0; p < PAIRS; p++) drop(&A[p]), free(B[p]);
    free(C);
    return count;
}

static void check(const char *name, const tulle__kernels *kernels)
{
    static const struct shape shapes[] = {{1, 1, 1, 1, 1, 1, 0}, {5, 4, 3, 1, 7, 2, 1}, {6, 6, 6, 1, 32, 1, 0},
        {4, 7, 5, 1, 33, -1, 2}, {12, 9, 8, 0, 17, 1, 0}, {5, 5, 23, 0, 40, 0.5, 3}, {3, 2, 70, 0, 70, 1, 0},
        {12, 12, 1, 1, 3, 1, 1}, {0, 3, 4, 1, 5, 1, 0}, {3, 0, 4, 1, 5, 1, 2}, {3, 3, 4, 1, 0, 1, 0},
        {7, 7, 13, 1, 1, 1, 0}};
    for (int threads = 1; threads <= 3; threads++) {
        tulle__pool *pool = NULL;
        if (tulle__pool_new(threads, &pool) != TULLE_OK) abort();
        for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++) {
            int64_t bad = 0;
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                for (int orders = 0; orders < 4; orders++)
                    for (int within = 0; within < 2; within++)
                        bad += wrong(kernels, pool, type, &shapes[i], orders, within);
            ok(bad == 0, "%s, %s, %d threads: %lld elements are wrong", name, tulle_type_name(type), threads,
                (long long)bad);
        }
        tulle__pool_free(pool);
    }
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    check("ref", tulle__kernels_ref());
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++)
        if (tulle__kernels_cpu_at((tulle__isa)isa))
            check(tulle__isa_name((tulle__isa)isa), tulle__kernels_cpu_at((tulle__isa)isa));
    return tap_done();
}
