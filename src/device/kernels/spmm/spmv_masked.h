/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with one dense column for irregular rows of the only pair, which spmv_rows.h includes where
 * masks are registers: eight entries at a time, the last of a row under a mask, so that no branch depends on how many
 * these are. A row is a gather and a sum of lanes, some 12 cycles, beside 20 for each branch that is mispredicted.
 */
#define WIDE(operation) TULLE__OPERATION_OF(operation, T, 8)

/* The sum of a row of n entries, with the bits of `some`. */
INLINE T NAME(masked_row)(const T *val, const int32_t *colind, const T *B, int64_t n)
{
    VECTOR(T, 8) sum = {0, 0, 0, 0, -(T)0, -(T)0, -(T)0, -(T)0};
    do {
        const MASKS some = MASKS_OF_LANES(n);
        const VECTOR(T, 8) x = WIDE(gather_masked)(some, B, colind);
        sum = WIDE(select)(some, WIDE(fma)(WIDE(load_masked)(some, val), x, sum), sum);
        val += 8;
        colind += 8;
        n -= 8;
    } while (n > 0);
    return SUM_OF_LANES(WIDE(add_halves)(sum));
}

static __attribute__((noinline)) void NAME(masked_sums)(const tulle__spmm_rows *rows)
{
    const tulle__csr *A = &rows->pair->A;
    const T *val = A->val, *B = rows->pair->B;
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    T *c = rows->C;
    for (int64_t i = rows->begin; i < rows->end; i++, c += rows->ldc) {
        const int64_t a = A->rowptr[i];
        const T x = NAME(masked_row)(val + a, A->colind + a, B, A->rowptr[i + 1] - a) * alpha;
        *c = rows->beta == 0 ? x : x + beta * *c;
    }
}
#undef WIDE
