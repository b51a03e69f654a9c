/* SPDX-License-Identifier: Apache-2.0 */
#include "matrices.h"

static int transpose_same(tulle__pool *pool, const matrix *A)
{
    tulle__csr_result x = {0}, y = {0};
    int64_t nnz = A->rowptr[A->csr.m] - A->rowptr[0];
    place(NULL, A->csr.n, nnz, &x);
    place(NULL, A->csr.n, nnz, &y);
    int same = tulle__kernels_ref()->transpose(NULL, A->type, &A->csr, &x) == TULLE_OK &&
               tulle__kernels_cpu()->transpose(pool, A->type, &A->csr, &y) == TULLE_OK &&
               result_same(A->type, A->csr.n, &x, &y);
    result_free(&x);
    result_free(&y);
    return same;
}

int main(void)
{
    static const int64_t sizes[][2] = {{1, 1}, {0, 5}, {5, 0}, {7, 90}, {90, 7}, {130, 131}, {600, 700}};
    static const int threads[] = {1, 2, 3, 5};
    tulle__account *account = tulle__account_new(0);
    tulle__account_enter(account);
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        tulle__pool *pool = NULL;
        tulle__pool_new(threads[t], &pool);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int same = 1;
            for (int shape = 0; shape < SHAPES; shape++)
                for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
                    matrix A =
                        matrix_make((enum shape)shape, (tulle_type)type, sizes[s][0], sizes[s][1], 9, 1, 3 * type);
                    same = same && transpose_same(pool, &A);
                    matrix_free(&A);
                }
            ok(same, "%d x %d, %d threads", (int)sizes[s][0], (int)sizes[s][1], threads[t]);
        }
        tulle__pool_free(pool);
    }
    matrix A = matrix_make(UNIFORM, TULLE_F64, 300, 300, 1, 1, 0);
    tulle__csr_result x = {0};
    tulle__pool *pool = NULL;
    tulle__pool_new(3, &pool);
    place(NULL, 300, A.rowptr[300], &x);
    int64_t before = tulle__account_blocks(account);
    int n = 0, leaks = 0;
    for (tulle_status status = TULLE_ERR_MEMORY; status != TULLE_OK && n < 1000; n++) {
        tulle__account_fail_after(account, n);
        status = tulle__kernels_cpu()->transpose(pool, TULLE_F64, &A.csr, &x);
        leaks += tulle__account_blocks(account) != before;
    }
    tulle__account_fail_after(account, -1);
    ok(n < 1000 && leaks == 0, "every allocation of a transposition fails once");
    result_free(&x);
    matrix_free(&A);
    tulle__pool_free(pool);
    tulle__account_enter(NULL);
    ok(tulle__account_blocks(account) == 0, "nothing leaks");
    tulle__account_free(account);
    return tap_done();
}
