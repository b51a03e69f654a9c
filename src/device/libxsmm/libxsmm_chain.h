/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of products for type T, by the library's DISPATCH, whose kernels are a FUNCTION. */

/* C = A B, or that is added to it; where the library has no kernel, as with a full table of them. */
static void NAME(multiply_by_loops)(const tulle__block_chain *t, const tulle__block_step *step, T *C, int add)
{
    const T *A = step->A, *B = step->B;
    for (int64_t r = 0; r < t->m; r++)
        for (int64_t c = 0; c < t->n; c++) {
            T sum = add ? C[r * t->n + c] : 0;
            for (int64_t k = 0; k < step->k; k++) sum += A[r * step->k + k] * B[k * t->n + c];
            C[r * t->n + c] = sum;
        }
}

/* C = sum of the steps, or that is added to it. Blocks are far smaller than what the library can count. */
static void NAME(sum_steps)(const tulle__block_chain *t, T *C, int add)
{
    const int m = (int)t->m, n = (int)t->n;
    const T one = 1, zero = 0;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    FUNCTION multiply = NULL;
    int known = -1; /* the inner indices that `multiply` is for, with its beta */
    for (int64_t s = 0; s < t->steps; s++, add = 1) {
        const tulle__block_step *step = &t->step[s];
        const int k = (int)step->k;
        if (k != known || s <= 1)
            multiply = DISPATCH(n, m, k, NULL, NULL, NULL, &one, add ? &one : &zero, &flags, &prefetch);
        known = k;
        if (multiply)
            multiply(step->B, step->A, C);
        else
            NAME(multiply_by_loops)(t, step, C, add);
    }
}

static void NAME(chain)(const tulle__block_chain *t)
{
    T *C = t->C, *sum = t->scratch;
    const T alpha = (T)t->alpha;
    if (!sum) {
        NAME(sum_steps)(t, C, t->beta != 0);
        return;
    }
    NAME(sum_steps)(t, sum, 0);
    for (int64_t i = 0; i < t->m * t->n; i++) C[i] = t->beta == 0 ? alpha * sum[i] : C[i] + alpha * sum[i];
}
#undef T
#undef NAME
#undef DISPATCH
#undef FUNCTION
