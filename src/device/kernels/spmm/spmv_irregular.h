/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with one dense column for irregular rows, which spmv_rows.h includes where there are
 * selects: one loop over the entries of all rows, eight at a time, as in spmm_irregular.h. Sums stay in four lanes
 * until a turn's rows are made.
 */

/* kept[i - begin] += row i's sum, of rows begin .. end - 1, at least one; for the first pair it is what is kept. */
INLINE void NAME(irregular)(
    const tulle__spmm_operand *pair, int64_t begin, int64_t end, V *kept, const int resumes, const int fetches)
{
    const int64_t *const all = pair->A.rowptr + end;
    tulle__walk walk = tulle__walk_from(&pair->A, begin);
    const T *B = pair->B, *val = (const T *)pair->A.val + walk.stop[-1];
    const int32_t *colind = pair->A.colind + walk.stop[-1];
    const uintptr_t fetched =
        (uintptr_t)pair->A.colind + (uintptr_t)(pair->fetch_end - NAME(AHEAD) - 8) * sizeof *colind; /* up to there */
    V sum[2] = {resumes ? *kept : SPLAT(0), NOTHING};
    while (walk.stop <= all) {
        const int64_t last = tulle__walk_ends(&walk, 8), step = tulle__walk_step(&walk, 8);
        const MASKS some = MASKS_OF_LANES(walk.left);
        const MASKS ends = MASKS_ALL(last);
        tulle__fetch_page_ahead(val);
        tulle__fetch_page_ahead(colind);
        if (fetches && (uintptr_t)colind <= fetched)
#pragma GCC unroll 8
            for (int q = 0; q < 8; q++) __builtin_prefetch(B + colind[q + NAME(AHEAD)]);
#pragma GCC unroll 2
        for (int q = 0; q < 2; q++)
            sum[q] = SELECT(MASK_OF_LANES(some, q), NAME(step)(sum[q], val + 4 * q, colind + 4 * q, B), sum[q]);
        *kept = sum[0] + sum[1];
        V begun = resumes ? kept[1] : SPLAT(0); /* of the next row, as in spmm_irregular.h */
        __asm__("" : "+v"(begun));
        sum[0] = SELECT(MASK_OF_LANES(ends, 0), begun, sum[0]);
        sum[1] = SELECT(MASK_OF_LANES(ends, 0), NOTHING, sum[1]);
        kept += last;
        val += step;
        colind += step;
        tulle__walk_on(&walk, 8);
    }
}

#define IRREGULAR(name, resumes, fetches)                                                                              \
    static __attribute__((noinline)) void NAME(name)(                                                                  \
        const tulle__spmm_operand *pair, int64_t begin, int64_t end, V *kept)                                          \
    {                                                                                                                  \
        NAME(irregular)(pair, begin, end, kept, resumes, fetches);                                                     \
    }
IRREGULAR(irregular_first, 0, 0)
IRREGULAR(irregular_first_fetched, 0, 1)
IRREGULAR(irregular_next, 1, 0)
IRREGULAR(irregular_next_fetched, 1, 1)
#undef IRREGULAR

/* The rows of a turn that can be read eight entries at a time, by one pair; returns the first that was not. */
static int64_t NAME(irregular_turn)(const tulle__spmm_rows *rows, int p, int64_t begin, int64_t end, V *kept)
{
    static void (*const add[2][2])(const tulle__spmm_operand *, int64_t, int64_t, V *) = {
        {NAME(irregular_first), NAME(irregular_first_fetched)}, {NAME(irregular_next), NAME(irregular_next_fetched)}};
    const tulle__spmm_operand *pair = &rows->pair[p];
    end = tulle__walk_end(&pair->A, begin, end, 8);
    if (end == begin) return end;
    add[p > 0][pair->fetch_end > 0](pair, begin, end, kept);
    if (p < rows->npairs - 1) return end;
    const T alpha = (T)rows->alpha, beta = (T)rows->beta;
    const int64_t ldc = rows->ldc;
    T *c = (T *)rows->C + (begin - rows->begin) * ldc;
    for (int64_t i = begin; i < end; i++, c += ldc) NAME(put)(c, &kept[i - begin], alpha, beta);
    return end;
}
