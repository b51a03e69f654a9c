/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of small products for type T by loops, for sets without masks. */
#define NAME(x) TULLE__SUFFIX_OF(x, T)

enum { NAME(COLUMNS) = 16 };

/* Row r, columns col .. col + n - 1, n <= COLUMNS. */
static void NAME(part)(const tulle__block_chain *chain, int64_t r, int64_t col, int64_t n)
{
    T sum[NAME(COLUMNS)] = {0}, *C = (T *)chain->C + r * chain->ldc + col;
    for (int64_t s = 0; s < chain->steps; s++) {
        const tulle__block_step *step = &chain->step[s];
        const T *A = (const T *)step->A + r * step->k, *B = (const T *)step->B + col;
        for (int64_t p = 0; p < step->k; p++, B += chain->ldb)
            for (int64_t c = 0; c < n; c++) sum[c] += A[p] * B[c];
    }
    for (int64_t c = 0; c < n; c++)
        C[c] = chain->beta == 0 ? (T)chain->alpha * sum[c] : (T)chain->alpha * sum[c] + (T)chain->beta * C[c];
}

static void NAME(chain)(const tulle__block_chain *chain)
{
    for (int64_t r = 0; r < chain->m; r++)
        for (int64_t col = 0; col < chain->n; col += NAME(COLUMNS))
            NAME(part)(chain, r, col, chain->n - col < NAME(COLUMNS) ? chain->n - col : NAME(COLUMNS));
}

#undef NAME
#undef T
