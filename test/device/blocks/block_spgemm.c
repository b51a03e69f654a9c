/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of products of two matrices of blocks: every instruction set, with pools of one to three threads, against the
 * reference, and the reference against sums of small integers, which are exact. Blocks of 1 to 70, filters, patterns,
 * identities with a scale of 0 over what is not a number, rows within a larger result, and values alone.
 */
#include "blocks.h"
#include "device/cpu/cpu.h"
#include "tap.h"

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
    for (int threads = 1; threads <= 3; threads++) {
        tulle__pool *pool = NULL;
        if (tulle__pool_new(threads, &pool) != TULLE_OK) abort();
        for (tulle_type type = TULLE_F64; type < TULLE_TYPE_COUNT; type++)
            for (size_t i = 0; i < sizeof block_shapes / sizeof *block_shapes; i++) {
                int64_t bad = wrong(kernels, pool, type, &block_shapes[i]);
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
