/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse-dense product for irregular rows and one vector a row of B, which spmm_rows.h includes where
 * there are selects. The end of a loop over one row's entries is mispredicted, at the cost of four entries. Here a flat
 * loop goes over the entries of all rows, four at a time (flat_loop.h): entries of the next row are dropped, the sum so
 * far is stored each time, and whether the row ends selects what the next four are added to.
 *
 * The bound is the number of instructions, some 55 for four entries. So it is slower than a loop for each row where
 * rows have equal lengths; and with two vectors and more, where a row costs more anyway, it was seldom faster.
 *
 * Every sum is made as spmm_rows.h makes it.
 */

/* Target of the rows of a turn: so many values apart, each times alpha. */
typedef struct NAME(target) {
    T *to;
    int64_t ld;
    V alpha;
} NAME(target);

/* The sums of the turn's rows before `end`, at least one, those of the pairs before included if it resumes. */
INLINE void NAME(irregular)(const NAME(turn) * turn, int64_t end, const NAME(target) * target, const int resumes)
{
    const tulle__csr *A = &turn->pair->A;
    const T *B = (const T *)turn->pair->B + turn->first;
    const int64_t ldb = turn->pair->ldb, ld = target->ld, *const all = A->rowptr + end;
    tulle__walk walk = tulle__walk_from(A, turn->begin);
    const int32_t *colind = A->colind + walk.stop[-1];
    const T *val = (const T *)A->val + walk.stop[-1];
    const V *kept = turn->kept, alpha = target->alpha;
    const int count = 1, parts = NAME(PARTS_OF_ONE);
    const uintptr_t fetched =
        (uintptr_t)A->colind + (uintptr_t)(turn->pair->fetch_end - AHEAD - parts) * sizeof *colind; /* up to there */
    V sum[NAME(PARTS_OF_ONE)] = {resumes ? *kept : SPLAT(0), SPLAT(NOTHING), SPLAT(NOTHING), SPLAT(NOTHING)}, joined;
    T *to = target->to;
    while (walk.stop <= all) {
        const int64_t last = tulle__walk_ends(&walk, parts), step = tulle__walk_step(&walk, parts);
        const MASKS some = MASKS_OF_VECTORS(walk.left);
        const MASKS ends = MASKS_ALL(last);
        tulle__fetch_page_ahead(val);
        tulle__fetch_page_ahead(colind);
        if ((uintptr_t)colind <= fetched) NAME(fetch_rows)(colind, B, ldb, count, parts);
#pragma GCC unroll 4
        for (int q = 0; q < parts; q++)
            NAME(add_some)(sum + q, val, colind, B, ldb, q, 0, MASK_OF_VECTOR(some, q), count);
        NAME(join)(&joined, sum, count, parts);
        STORE(to, joined * alpha);
        /* of the next row also where this one goes on: a load of what was just stored would wait for it */
        V begun = resumes ? kept[1] : SPLAT(0);
        __asm__("" : "+v"(begun)); /* in a register: a load with a mask is slow */
        sum[0] = SELECT(MASK_OF_VECTOR(ends, 0), begun, sum[0]);
#pragma GCC unroll 4
        for (int q = 1; q < parts; q++) sum[q] = SELECT(MASK_OF_VECTOR(ends, 0), SPLAT(NOTHING), sum[q]);
        to += last * ld;
        kept += last;
        val += step;
        colind += step;
        tulle__walk_on(&walk, parts);
    }
}

static __attribute__((noinline)) void NAME(irregular_first)(
    const NAME(turn) * turn, int64_t end, const NAME(target) * target)
{
    NAME(irregular)(turn, end, target, 0);
}

static __attribute__((noinline)) void NAME(irregular_next)(
    const NAME(turn) * turn, int64_t end, const NAME(target) * target)
{
    NAME(irregular)(turn, end, target, 1);
}

/* C's rows of the turn before `end`, whose sums are kept. */
static void NAME(put_kept)(const tulle__spmm_rows *rows, const NAME(turn) * turn, int64_t end)
{
    const V alpha = SPLAT((T)rows->alpha), beta = SPLAT((T)rows->beta);
    const V *kept = turn->kept;
    T *c = (T *)rows->C + (turn->begin - rows->begin) * rows->ldc + turn->first;
    for (int64_t i = turn->begin; i < end; i++, c += rows->ldc, kept++)
        NAME(put)(c, kept, alpha, beta, rows->beta != 0, rows->stream, 0, 1);
}

/* As a kernel of a turn; returns the row that it came to. */
static int64_t NAME(irregular_turn)(const tulle__spmm_rows *rows, const NAME(turn) * turn)
{
    const int direct = turn->ends && !rows->stream && rows->beta == 0;
    const int64_t end = tulle__walk_end(&turn->pair->A, turn->begin, turn->end, NAME(PARTS_OF_ONE));
    NAME(target) target = {(T *)(void *)turn->kept, LANES, SPLAT(1)};
    if (end == turn->begin) return end;
    if (direct) {
        target.to = (T *)rows->C + (turn->begin - rows->begin) * rows->ldc + turn->first;
        target.ld = rows->ldc;
        target.alpha = SPLAT((T)rows->alpha);
    }
    (turn->resumes ? NAME(irregular_next) : NAME(irregular_first))(turn, end, &target);
    if (turn->ends && !direct) NAME(put_kept)(rows, turn, end);
    return end;
}
