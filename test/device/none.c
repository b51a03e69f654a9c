/* SPDX-License-Identifier: Apache-2.0 */
/* The device `none`: what it counts is exact, what it expects is close, and no value is looked at. */
#include <inttypes.h>
#include <math.h>

#include "matrices.h"

enum { M = 240, K = 200, N = 300 };

static tulle_status make(const tulle__kernels *kernels, const tulle__spgemm_task *task, tulle__csr_result *C)
{
    *C = (tulle__csr_result){.nnz = 0};
    return kernels->spgemm(NULL, task, place, NULL, C);
}

static int ascends(const tulle__csr_result *C, int64_t m, int64_t n)
{
    int good = C->rowptr[0] == 0 && C->rowptr[m] == C->nnz;
    for (int64_t r = 0; r < m; r++)
        good = good && C->rowptr[r] <= C->rowptr[r + 1] && C->rowptr[r + 1] - C->rowptr[r] <= n + 1;
    return good;
}

/* A product, a sum of two products, and that with the identity times a third. */
static void test_product(const tulle__kernels *none, enum shape shape)
{
    matrix A[2], B[3];
    tulle__spgemm_pair pair[3] = {{.scale = 1}, {.scale = 1}, {.scale = 1}};
    for (int p = 0; p < 2; p++) {
        A[p] = matrix_make(shape, TULLE_F64, M, K, 1 + (uint64_t)p, 1, 3);
        B[p] = matrix_make(shape, TULLE_F64, K, N, 3 + (uint64_t)p, 1, 0);
    }
    B[2] = matrix_make(SPARSE, TULLE_F64, M, N, 5, 1, 2);
    for (int p = 0; p < 3; p++) {
        pair[p].B = B[p].csr;
        pair[p].A = p < 2 ? A[p].csr : (tulle__csr){.m = M, .n = M};
    }
    for (int npairs = 1; npairs <= 3; npairs++) {
        tulle__csr_result exact, expected;
        tulle__spgemm_task task = {.type = TULLE_F64, .m = M, .n = N, .npairs = npairs, .pair = pair};
        int made = make(tulle__kernels_ref(), &task, &exact) == TULLE_OK;
        for (int p = 0; p < npairs; p++) pair[p].A.val = pair[p].B.val = NULL;
        made = made && make(none, &task, &expected) == TULLE_OK;
        for (int p = 0; p < npairs; p++) {
            pair[p].A.val = p < 2 ? A[p].val : NULL;
            pair[p].B.val = B[p].val;
        }
        double ratio = exact.nnz ? (double)expected.nnz / (double)exact.nnz : expected.nnz == 0;
        ok(made && expected.multiplications == exact.multiplications && ascends(&expected, M, N),
            "%s, %d pairs: %" PRId64 " multiplications", shape_names[shape], npairs, expected.multiplications);
        ok(fabs(ratio - 1) < 0.15, "%s, %d pairs: %.3f of the entries", shape_names[shape], npairs, ratio);
        if (made) result_free(&expected);
        result_free(&exact);
    }
    for (int p = 0; p < 3; p++) {
        if (p < 2) matrix_free(&A[p]);
        matrix_free(&B[p]);
    }
}

/* One summand is itself; two that share no place are as many as both, but for the chance that they might. */
static void test_sum(const tulle__kernels *none)
{
    matrix X = matrix_make(RUNS, TULLE_F64, M, N, 1, 1, 4), Y = matrix_make(SPARSE, TULLE_F64, M, N, 2, 1, 0);
    tulle__spgemm_pair pair[2] = {{.A = {.m = M, .n = M}, .B = X.csr, .scale = 1}, {.A = {.m = M, .n = M}, .B = Y.csr}};
    tulle__spgemm_task task = {.type = TULLE_F64, .m = M, .n = N, .npairs = 1, .pair = pair};
    tulle__csr_result C;
    int same = make(none, &task, &C) == TULLE_OK && C.nnz == X.rowptr[M] - X.rowptr[0];
    for (int64_t r = 0; same && r <= M; r++) same = C.rowptr[r] == X.rowptr[r] - X.rowptr[0];
    ok(same, "one summand keeps its rows");
    result_free(&C);
    task.npairs = 2;
    int64_t x = X.rowptr[M] - X.rowptr[0], y = Y.rowptr[M] - Y.rowptr[0];
    same = make(none, &task, &C) == TULLE_OK && C.nnz <= x + y && C.nnz >= x && C.multiplications == x + y;
    ok(same, "two summands of %" PRId64 " and %" PRId64 " become %" PRId64, x, y, C.nnz);
    int64_t *rowptr = malloc((M + 1) * sizeof *rowptr);
    ok(none->spgemm_symbolic(NULL, &task, rowptr) == TULLE_OK && !memcmp(rowptr, C.rowptr, (M + 1) * sizeof *rowptr),
        "symbolic says the same");
    free(rowptr);
    result_free(&C);
    matrix_free(&X);
    matrix_free(&Y);
}

static void test_values(const tulle__kernels *none)
{
    double v[4] = {1, 2, 3, 4}, panel[4] = {5, 5, 5, 5};
    none->add(TULLE_F64, 2, 2, panel, v, 2, 1);
    none->copy(v, panel, sizeof v);
    static const uint32_t narrow[4] = {3, 0, 2, 1};
    static const uint64_t wide[4] = {3, 0, 2, 1};
    int same = none->gather(NULL, TULLE_F64, 4, narrow, sizeof *narrow, panel, v) == TULLE_OK &&
               none->scale(NULL, TULLE_F64, 2, 2, 2, 0, v) == TULLE_OK;
    for (int i = 0; i < 4; i++) same = same && v[i] >= i + 1 && v[i] <= i + 1;
    ok(same, "values stay as they are");
    const tulle__kernels *ref = tulle__kernels_ref();
    float w[6] = {1, 2, 3, 4, 5, 6}, more[4] = {10, 20, 30, 40};
    ref->add(TULLE_F32, 2, 2, more, w, 1, 3); /* column-major, three apart */
    ok(w[0] == 11 && w[1] == 32 && w[2] == 3 && w[3] == 24 && w[4] == 45 && w[5] == 6, "a panel is added by columns");
    ref->add(TULLE_F64, 2, 2, panel, v, 2, 1);
    ok(v[0] == 6 && v[3] == 9, "and by rows");
    tulle__pool *pool = NULL;
    same =
        tulle__pool_new(2, &pool) == TULLE_OK && ref->scale(pool, TULLE_F32, 3, 2, 2, 2, w) == TULLE_OK && w[1] == 64;
    w[0] = NAN;
    ok(same && ref->scale(pool, TULLE_F32, 1, 6, 6, 0, w) == TULLE_OK && w[0] == 0 && w[5] == 0,
        "nothing times NaN is nothing");
    double from[4] = {0.5, 1.5, 2.5, 3.5}, to[4];
    float from32[4] = {0.5f, 1.5f, 2.5f, 3.5f}, to32[4];
    for (int bytes = 4; bytes <= 8; bytes += 4) {
        const void *order = bytes == 4 ? (const void *)narrow : wide;
        memset(to, 0, sizeof to);
        memset(to32, 0, sizeof to32);
        same = ref->gather(pool, TULLE_F64, 4, order, (size_t)bytes, from, to) == TULLE_OK &&
               ref->gather(pool, TULLE_F32, 4, order, (size_t)bytes, from32, to32) == TULLE_OK;
        for (int e = 0; e < 4; e++) same = same && to[e] == from[narrow[e]] && to32[e] == from32[narrow[e]];
        ok(same, "values are gathered in an order of %d bytes", bytes);
    }
    tulle__pool_free(pool);
}

int main(void)
{
    tulle__kernels none = tulle__kernels_none();
    for (int shape = 0; shape < SHAPES; shape++) test_product(&none, (enum shape)shape);
    test_sum(&none);
    test_values(&none);
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block is left");
    return tap_done();
}
