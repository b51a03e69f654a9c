/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of dense products by loops. Included with T and NAME(x). Rows of B that a block of k names stay in the cache
 * for all rows of A. */

static void NAME(gemm_scale)(const tulle__gemm_task *t)
{
    T *C = t->C, beta = (T)t->beta;
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) {
            T *c = &C[i * t->c_row + j * t->c_col];
            *c = t->beta == 0 ? 0 : beta * *c;
        }
}

static void NAME(gemm)(const tulle__gemm_task *t)
{
    enum { K_BLOCK = 128, N_BLOCK = 256 };
    const T alpha = (T)t->alpha;
    NAME(gemm_scale)(t);
    for (int p = 0; p < t->npairs; p++) {
        const tulle__gemm_pair *pair = &t->pair[p];
        const T *A = pair->A, *B = pair->B;
        for (int64_t k0 = 0; k0 < pair->k; k0 += K_BLOCK)
            for (int64_t j0 = 0; j0 < t->n; j0 += N_BLOCK) {
                int64_t k1 = k0 + K_BLOCK < pair->k ? k0 + K_BLOCK : pair->k;
                int64_t j1 = j0 + N_BLOCK < t->n ? j0 + N_BLOCK : t->n;
                for (int64_t i = 0; i < t->m; i++) {
                    T *restrict c = (T *)t->C + i * t->c_row;
                    for (int64_t k = k0; k < k1; k++) {
                        const T factor = alpha * A[i * pair->a_row + k * pair->a_col], *b = B + k * pair->b_row;
                        if (t->c_col == 1 && pair->b_col == 1)
                            for (int64_t j = j0; j < j1; j++) c[j] += factor * b[j];
                        else
                            for (int64_t j = j0; j < j1; j++) c[j * t->c_col] += factor * b[j * pair->b_col];
                    }
                }
            }
    }
}
