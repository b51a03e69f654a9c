/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of products of two matrices of blocks: every instruction set, with pools of one to three threads, against the
 * reference, and the reference against sums of small integers, which are exact. Blocks of 1 to 70, filters, patterns,
 * identities with a scale of 0 over what is not a number, rows within a larger result, and values alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/cpu/cpu.h"
#include "tap.h"

enum { MOST = 40, PAIRS = 3 };

struct shape {
    int m, k, n, size, every; /* blocks; the largest size; one block of so many is there */
    double least;             /* of squared norms; 0: no filter */
    int pattern, identity;    /* identity: 0 none, 1 a summand B, 2 its structure alone */
};

/* A matrix of blocks with room for all of them. */
struct blocks {
    int64_t rowptr[MOST + 1], offset[MOST * MOST + 1];
    int32_t colind[MOST * MOST];
    double norm[MOST * MOST];
    void *val;
    tulle__csr csr;
};

static void put(tulle_type type, void *val, int64_t at, double v)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)v;
    else
        ((double *)val)[at] = v;
}

static double get(tulle_type type, const void *val, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static void cuts(int blocks, int size, uint64_t seed, tulle_gidx *cut)
{
    cut[0] = 9;
    for (int b = 0; b < blocks; b++)
        cut[b + 1] = cut[b] + 1 + (tulle_gidx)(tulle__random_at(seed, 3, (uint64_t)b) % (uint64_t)size);
}

static struct blocks *make(tulle_type type, int rows, const tulle_gidx *row, int cols, const tulle_gidx *col, int every,
    int undefined, uint64_t seed)
{
    struct blocks *x = calloc(1, sizeof *x);
    int64_t at = 0;
    int32_t e = 0;
    x->val = calloc((size_t)((row[rows] - row[0]) * (col[cols] - col[0])) + 1, 8);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            if (tulle__random_at(seed, (uint64_t)r, (uint64_t)c) % (uint64_t)every) continue;
            x->colind[e] = c;
            x->offset[e] = at;
            for (int64_t i = 0; i < (row[r + 1] - row[r]) * (col[c + 1] - col[c]); i++, at++) {
                double v = undefined ? (double)NAN : (double)(tulle__random_at(seed, 7, (uint64_t)at) % 9) - 4;
                put(type, x->val, at, v);
                x->norm[e] += v * v;
            }
            x->offset[++e] = at;
        }
        x->rowptr[r + 1] = e;
    }
    x->csr = (tulle__csr){.m = rows,
        .n = cols,
        .rowptr = x->rowptr,
        .colind = x->colind,
        .val = x->val,
        .offset = x->offset,
        .norm = x->norm,
        .row_block = row,
        .col_block = col};
    return x;
}

static void drop(struct blocks *x)
{
    free(x->val);
    free(x);
}

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct blocks *x = context;
    if (m > MOST || nnz > MOST * MOST) return TULLE_ERR_LIMIT;
    x->val = calloc((size_t)C->values + 1, 8);
    C->rowptr = x->rowptr;
    C->colind = x->colind;
    C->offset = x->offset;
    C->norm = x->norm;
    C->val = x->val;
    return TULLE_OK;
}

static int same(tulle_type type, const tulle__csr_result *a, const tulle__csr_result *b, int64_t m)
{
    if (a->nnz != b->nnz || a->values != b->values || a->multiplications != b->multiplications ||
        a->skipped != b->skipped || memcmp(a->rowptr, b->rowptr, ((size_t)m + 1) * 8) ||
        memcmp(a->colind, b->colind, (size_t)a->nnz * 4) || memcmp(a->offset, b->offset, ((size_t)a->nnz + 1) * 8) ||
        memcmp(a->norm, b->norm, (size_t)a->nnz * 8))
        return 0;
    for (int64_t e = 0; e < a->values; e++)
        if (!(get(type, a->val, e) == get(type, b->val, e))) return 0;
    return 1;
}

/* The product by elements, where there is neither filter nor pattern. */
static int exact(tulle_type type, const struct shape *s, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    const tulle_gidx *row = task->pair[0].A.row_block, *col = task->pair[0].B.col_block;
    int64_t m = row[s->m] - row[0], n = col[s->n] - col[0];
    double *sum = calloc((size_t)(m * n) + 1, sizeof *sum);
    int fine = 1;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        for (int64_t r = 0; r < task->m; r++)
            for (int64_t e = A->rowptr ? A->rowptr[r] : r; e < (A->rowptr ? A->rowptr[r + 1] : r + 1); e++) {
                int64_t k = A->rowptr ? A->colind[e] : r, h = row[r + 1] - row[r];
                int64_t inner = A->rowptr ? A->col_block[k + 1] - A->col_block[k] : h;
                for (int64_t f = B->rowptr[k]; f < B->rowptr[k + 1]; f++) {
                    int64_t c = B->colind[f], w = col[c + 1] - col[c];
                    for (int64_t x = 0; x < h && task->pair[p].scale != 0; x++)
                        for (int64_t y = 0; y < w; y++)
                            for (int64_t z = 0; z < inner; z++)
                                sum[(row[r] - row[0] + x) * n + col[c] - col[0] + y] +=
                                    task->pair[p].scale *
                                    (A->rowptr ? get(type, A->val, A->offset[e] + x * inner + z) : x == z) *
                                    get(type, B->val, B->offset[f] + z * w + y);
                }
            }
    }
    for (int64_t r = 0; r < task->m; r++)
        for (int64_t e = C->rowptr[r]; e < C->rowptr[r + 1]; e++) {
            int64_t c = C->colind[e], w = col[c + 1] - col[c];
            for (int64_t x = 0; x < row[r + 1] - row[r]; x++)
                for (int64_t y = 0; y < w; y++) {
                    double *want = &sum[(row[r] - row[0] + x) * n + col[c] - col[0] + y];
                    fine &= get(type, C->val, C->offset[e] + x * w + y) == *want;
                    *want = 0;
                }
        }
    for (int64_t e = 0; e < m * n; e++) fine &= sum[e] == 0; /* where C has no block there is nothing */
    free(sum);
    return fine;
}

/* Values alone, over what has been made, in two pieces of block rows. */
static tulle_status again(
    const tulle__kernels *kernels, tulle__pool *pool, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    tulle__spgemm_pair pair[PAIRS];
    int64_t half = task->m / 2;
    tulle_status status = TULLE_OK;
    for (int64_t e = 0; e < C->values; e++) put(task->type, C->val, e, (double)NAN);
    for (int part = 0; part < 2 && status == TULLE_OK; part++) {
        int64_t first = part ? half : 0, rows = part ? task->m - half : half;
        tulle__spgemm_task piece = *task;
        tulle__csr_result rest = *C;
        tulle__csr pattern;
        for (int p = 0; p < task->npairs; p++) {
            pair[p] = task->pair[p];
            pair[p].A = tulle__csr_rows(&task->pair[p].A, first, rows);
            if (!pair[p].A.rowptr) pair[p].B = tulle__csr_rows(&task->pair[p].B, first, rows);
        }
        piece.m = rows;
        piece.pair = pair;
        if (task->least) piece.least = task->least + first;
        if (task->pattern) {
            pattern = tulle__csr_rows(task->pattern, first, rows);
            piece.pattern = &pattern;
        }
        rest.rowptr += first;
        status = kernels->spgemm_blocks_numeric(pool, &piece, &rest);
    }
    return status;
}

static int64_t wrong(const tulle__kernels *kernels, tulle__pool *pool, tulle_type type, const struct shape *s)
{
    tulle_gidx row[MOST + 1], mid[MOST + 1], col[MOST + 1];
    double least[MOST];
    int64_t bad = 0;
    cuts(s->m, s->size, 1, row);
    cuts(s->k, s->size, 2, mid);
    cuts(s->n, s->size, 3, col);
    struct blocks *A = make(type, s->m, row, s->k, mid, s->every, 0, 4),
                  *B = make(type, s->k, mid, s->n, col, s->every, 0, 5),
                  *A2 = make(type, s->m, row, s->k, mid, 3, 0, 6),
                  *D = make(type, s->m, row, s->n, col, 4, s->identity == 2, 7),
                  *P = make(type, s->m, row, s->n, col, 2, 1, 8), *got = calloc(1, sizeof *got),
                  *want = calloc(1, sizeof *want);
    tulle__spgemm_pair pair[PAIRS] = {
        {A->csr, B->csr, 2}, {A2->csr, B->csr, -1}, {{.m = s->m}, D->csr, s->identity == 2 ? 0 : 3}};
    for (int r = 0; r < s->m; r++) least[r] = s->least * (1 + r % 3);
    const tulle__spgemm_task task = {.type = type,
        .m = s->m,
        .n = s->n,
        .npairs = s->identity ? PAIRS : PAIRS - 1,
        .pair = pair,
        .least = s->least > 0 ? least : NULL,
        .pattern = s->pattern ? &P->csr : NULL};
    tulle__csr_result C = {.nnz = 0}, reference = {.nnz = 0};
    bad += tulle__kernels_ref()->spgemm_blocks(pool, &task, place, want, &reference) != TULLE_OK;
    bad += kernels->spgemm_blocks(pool, &task, place, got, &C) != TULLE_OK;
    if (!bad) bad += !same(type, &C, &reference, s->m);
    if (!bad && !task.least && !task.pattern) bad += !exact(type, s, &task, &reference);
    int64_t multiplications = C.multiplications, skipped = C.skipped;
    if (!bad) bad += again(kernels, pool, &task, &C) != TULLE_OK;
    C.multiplications = multiplications;
    C.skipped = skipped;
    if (!bad) bad += !same(type, &C, &reference, s->m);
    drop(A), drop(A2), drop(B), drop(D), drop(P), drop(got), drop(want);
    return bad;
}

static void check(const char *name, const tulle__kernels *kernels)
{
    static const struct shape shapes[] = {{1, 1, 1, 1, 1, 0, 0, 0}, {8, 9, 7, 6, 2, 0, 0, 1}, {7, 6, 9, 23, 2, 0, 0, 2},
        {5, 4, 3, 70, 2, 0, 0, 1}, {30, 30, 30, 5, 10, 0, 0, 0}, {30, 20, 40, 4, 2, 900, 0, 0},
        {20, 20, 20, 6, 3, 4000, 1, 2}, {12, 12, 12, 13, 2, 0, 1, 1}, {9, 9, 9, 33, 1, 0, 0, 0},
        {10, 10, 10, 3, 1000000, 0, 0, 1}, {1, 40, 1, 9, 1, 300, 0, 0}, {40, 1, 40, 2, 1, 1e9, 0, 0},
        {0, 3, 3, 4, 1, 0, 0, 0}, {3, 0, 3, 4, 1, 0, 0, 1}};
    for (int threads = 1; threads <= 3; threads++) {
        tulle__pool *pool = NULL;
        if (tulle__pool_new(threads, &pool) != TULLE_OK) abort();
        for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                int64_t bad = wrong(kernels, pool, type, &shapes[i]);
                ok(bad == 0, "%s, %s, %d threads, shape %d", name, tulle_type_name(type), threads, (int)i);
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
