/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the sparse-dense product for groups of rows that share a pattern (identical_rows.h), which spmm_rows.h
 * includes for the widest vectors. Two to four rows of C are made together, so that a vector of B is loaded once for
 * them.
 *
 * - Identical columns: a vector of B takes part in `size` multiply-adds instead of one.
 * - Columns at a constant offset: pairs of rows; of a run of r columns, r + 1 rows of B are loaded for 2 r entries.
 *   Larger groups would load less, but need two sweeps over the columns where a pair needs one: they were slower.
 *
 * With v vectors a row, a group makes size v multiply-adds of v + size loads, where row by row it would be size (v +
 * 1). The bound is then the multiply-adds, two a cycle, if B and A are in cache. So B's rows are prefetched for the
 * group that follows, and A a page ahead.
 *
 * Every sum is made as spmm_rows.h makes it, entry by entry in the same number of parts: C does not show which rows
 * form a group.
 */

#define REGISTERS (TULLE__REGISTER == 64 ? 32 : 16) /* of vectors */

/* Row r of a group, low .. high, gets its entry a - r shift times a row of B; `part` is the sum of the parts it is. */
INLINE void NAME(add_group)(V *sum, const T *const *val, int64_t a, const T *b, int64_t tail, const int low,
    const int high, const int size, const int shift, const int part, const int count)
{
    V x[4];
#pragma GCC unroll 4
    for (int r = low; r <= high; r++) x[r] = SPLAT(val[r][a - r * shift]);
#pragma GCC unroll 8
    for (int t = 0; t < count; t++) {
        V y = LOAD(t == count - 1 ? b + tail : b + t * LANES);
        if (high > low) __asm__("" : "+v"(y)); /* in a register: the compiler would load it for each row */
#pragma GCC unroll 4
        for (int r = low; r <= high; r++) {
            V *to = &sum[(part * size + r) * count + t];
            *to = FMA(x[r], y, *to);
        }
    }
}

/* A's arrays, ahead of entry a of a group: values, and columns, which are compared for TULLE__IDENTICAL_ROWS at once.
 */
INLINE void NAME(fetch_ahead)(
    const T *val, const int32_t *colind, int64_t length, int64_t a, const int size, const int parts)
{
    const uintptr_t entries = (uintptr_t)(size * a), compared = TULLE__IDENTICAL_ROWS * (uintptr_t)length;
#pragma GCC unroll 4
    for (int line = 0; line < parts * size * (int)sizeof(T); line += 64)
        tulle__fetch_ahead(val, entries * sizeof(T) + (uintptr_t)line + TULLE__PAGE);
    tulle__fetch_ahead(colind, (compared + entries) * sizeof *colind + TULLE__PAGE);
}

/* sum += `size` rows with the same columns, `length` of them; the rows that follow have those at `next`. */
INLINE void NAME(add_same)(V *sum, const T *const *val, const int32_t *colind, const int32_t *next, int64_t length,
    const T *B, int64_t ldb, int64_t tail, const int size, const int count, const int parts)
{
    int64_t a = 0;
    for (; a + parts <= length; a += parts) {
        NAME(fetch_ahead)(val[0], colind, length, a, size, parts);
#pragma GCC unroll 4
        for (int q = 0; q < parts; q++) NAME(fetch)(B + next[a + q] * ldb, count);
#pragma GCC unroll 4
        for (int q = 0; q < parts; q++)
            NAME(add_group)(sum, val, a + q, B + colind[a + q] * ldb, tail, 0, size - 1, size, 0, q, count);
    }
#pragma GCC unroll 4
    for (int q = 0; q < parts - 1; q++)
        if (a + q < length)
            NAME(add_group)(sum, val, a + q, B + colind[a + q] * ldb, tail, 0, size - 1, size, 0, q, count);
}

/* sum += two rows, the columns of the second one further on. A run's first row of B is the first row's, its last ... */
INLINE void NAME(add_offset)(V *sum, const T *const *val, const int32_t *colind, int64_t length, const T *B,
    int64_t ldb, int64_t tail, const int count)
{
    for (int64_t a = 0; a < length;) {
        const T *b = B + colind[a] * ldb;
        NAME(fetch_ahead)(val[0], colind, length, a, 2, 1);
        NAME(add_group)(sum, val, a, b, tail, 0, 0, 2, 1, 0, count);
        for (a++; a < length && colind[a] == colind[a - 1] + 1; a++)
            NAME(add_group)(sum, val, a, b += ldb, tail, 0, 1, 2, 1, 0, count);
        NAME(add_group)(sum, val, a, b += ldb, tail, 1, 1, 2, 1, 0, count);
        NAME(fetch)(b + ldb, count);
        NAME(fetch)(b + 2 * ldb, count);
    }
}

INLINE void NAME(group)(const tulle__spmm_rows *rows, int64_t i, int64_t first, int64_t n, const int size,
    const int shift, const int count, const int parts)
{
    const int64_t tail = n - LANES;
    V sum[32], row[8];
#pragma GCC unroll 32
    for (int t = 0; t < size * count; t++) sum[t] = SPLAT(0);
    for (int p = 0; p < rows->npairs; p++) {
        const tulle__spmm_operand *pair = &rows->pair[p];
        const int64_t *rowptr = pair->A.rowptr, length = rowptr[i + 1] - rowptr[i], end = rowptr[i + size];
        const int32_t *colind = pair->A.colind + rowptr[i];
        const T *B = (const T *)pair->B + first, *val[4];
#pragma GCC unroll 4
        for (int r = 0; r < size; r++) {
            val[r] = (const T *)pair->A.val + rowptr[i + r];
            __asm__("" : "+r"(val[r])); /* a pointer a row: the compiler would keep an offset for each use */
        }
#pragma GCC unroll 32
        for (int t = size * count; t < parts * size * count; t++) sum[t] = SPLAT(NOTHING);
        if (shift)
            NAME(add_offset)(sum, val, colind, length, B, pair->ldb, tail, count);
        else {
            const int32_t *next = end + length <= rowptr[pair->A.m] ? colind + size * length : colind;
            NAME(add_same)(sum, val, colind, next, length, B, pair->ldb, tail, size, count, parts);
        }
#pragma GCC unroll 4
        for (int r = 0; r < size; r++) {
#pragma GCC unroll 8
            for (int q = 0; q < parts; q++)
#pragma GCC unroll 8
                for (int t = 0; t < count; t++) row[q * count + t] = sum[(q * size + r) * count + t];
            NAME(join)(sum + r * count, row, count, parts);
        }
    }
    const V alpha = SPLAT((T)rows->alpha), beta = SPLAT((T)rows->beta);
    T *c = (T *)rows->C + (i - rows->begin) * rows->ldc + first;
#pragma GCC unroll 4
    for (int r = 0; r < size; r++, c += rows->ldc)
        NAME(put)(c, sum + r * count, alpha, beta, rows->beta != 0, rows->stream, tail, count);
}

#define GROUP(size, shift, count, parts)                                                                               \
    static __attribute__((noinline)) void NAME(group##size##shift##count##parts)(                                      \
        const tulle__spmm_rows *rows, int64_t i, int64_t first, int64_t n)                                             \
    {                                                                                                                  \
        NAME(group)(rows, i, first, n, size, shift, count, parts);                                                     \
    }
#define GROUPS(count) GROUP(2, 1, count, 1) GROUP(2, 0, count, 1) GROUP(3, 0, count, 1)
GROUP(2, 0, 1, 4)
GROUP(3, 0, 1, 4)
GROUP(2, 0, 2, 2)
GROUP(3, 0, 2, 2)
GROUP(2, 0, 3, 2)
GROUPS(4)
GROUP(4, 0, 2, 1)
GROUP(4, 0, 3, 1)
#if REGISTERS == 32
GROUP(4, 0, 1, 4)
GROUP(4, 0, 2, 2)
GROUP(3, 0, 3, 2)
GROUP(4, 0, 3, 2)
GROUPS(5)
GROUPS(6)
GROUPS(7)
GROUPS(8)
GROUP(4, 0, 4, 1)
#else
GROUPS(2)
GROUPS(3)
#endif

typedef void (*NAME(group_kernel))(const tulle__spmm_rows *rows, int64_t i, int64_t first, int64_t n);

/* Groups of one kind: for few vectors a row, where sums are in parts, and for blocks of at most `widest` of many. */
typedef struct NAME(group_kind) {
    NAME(group_kernel) few[4], many[9];
    int widest;
} NAME(group_kind);

#define KERNEL(size, shift, count, parts) NAME(group##size##shift##count##parts)
#define BLOCKS(size, shift)                                                                                            \
    {                                                                                                                  \
        [4] = KERNEL(size, shift, 4, 1), [5] = KERNEL(size, shift, 5, 1), [6] = KERNEL(size, shift, 6, 1),             \
        [7] = KERNEL(size, shift, 7, 1), [8] = KERNEL(size, shift, 8, 1)                                               \
    }
#define NARROW_BLOCKS(size, shift)                                                                                     \
    {                                                                                                                  \
        [2] = KERNEL(size, shift, 2, 1), [3] = KERNEL(size, shift, 3, 1), [4] = KERNEL(size, shift, 4, 1)              \
    }
#if REGISTERS == 32
static const NAME(group_kind) NAME(offset_rows) = {.many = BLOCKS(2, 1), .widest = 8};
static const NAME(group_kind) NAME(same)[5] = {
    [2] = {{NULL, KERNEL(2, 0, 1, 4), KERNEL(2, 0, 2, 2), KERNEL(2, 0, 3, 2)}, BLOCKS(2, 0), 8},
    [3] = {{NULL, KERNEL(3, 0, 1, 4), KERNEL(3, 0, 2, 2), KERNEL(3, 0, 3, 2)}, BLOCKS(3, 0), 8},
    [4] = {{NULL, KERNEL(4, 0, 1, 4), KERNEL(4, 0, 2, 2), KERNEL(4, 0, 3, 2)}, NARROW_BLOCKS(4, 0), 4},
};
#else
static const NAME(group_kind) NAME(offset_rows) = {.many = NARROW_BLOCKS(2, 1), .widest = 4};
static const NAME(group_kind) NAME(same)[5] = {
    [2] = {{NULL, KERNEL(2, 0, 1, 4), KERNEL(2, 0, 2, 2), KERNEL(2, 0, 3, 2)}, NARROW_BLOCKS(2, 0), 4},
    [3] = {{NULL, KERNEL(3, 0, 1, 4), KERNEL(3, 0, 2, 2)}, NARROW_BLOCKS(3, 0), 4},
    [4] = {{NULL}, {NULL, NULL, KERNEL(4, 0, 2, 1), KERNEL(4, 0, 3, 1)}, 3},
};
#endif

/* Rows i .. i + size - 1, a group: all columns. */
static void NAME(rows_of_group)(const tulle__spmm_rows *rows, int64_t i, int64_t vectors, const NAME(group_kind) * kind)
{
    if (vectors < 4) {
        kind->few[vectors](rows, i, 0, rows->n);
        return;
    }
    int64_t blocks = (vectors + kind->widest - 1) / kind->widest, first = 0, left = vectors;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t count = left / (blocks - b), n = b == blocks - 1 ? rows->n - first : count * LANES;
        kind->many[count](rows, i, first, n);
        first += n;
        left -= count;
    }
}

/* All rows: those alike in groups of nearly equal sizes, the others one by one. */
static void NAME(grouped)(const tulle__spmm_rows *rows)
{
    static const int most_few[4] = {0, REGISTERS == 32 ? 4 : 3, REGISTERS == 32 ? 4 : 3, REGISTERS == 32 ? 4 : 2};
    const int64_t vectors = (rows->n + LANES - 1) / LANES;
    int64_t done = rows->begin;
    for (int64_t i = rows->begin; i < rows->end;) {
        int shift, like = tulle__identical_rows(rows->pair, rows->npairs, i, rows->end, &shift);
        int most = shift ? 2 : vectors < 4 ? most_few[vectors] : 4;
        if (like == 1 || !(rows->groups & (shift ? TULLE__ROWS_AT_OFFSETS : TULLE__ROWS_OF_SAME_COLUMNS))) {
            i += like;
            continue;
        }
        if (done < i) NAME(alone)(rows, done, i);
        for (int size; like > 1; like -= size, i += size) {
            size = (like + (like + most - 1) / most - 1) / ((like + most - 1) / most);
            NAME(rows_of_group)(rows, i, vectors, shift ? &NAME(offset_rows) : &NAME(same)[size]);
        }
        done = i; /* one that is left over begins the next group, or is made with those that are not alike */
    }
    if (done < rows->end) NAME(alone)(rows, done, rows->end);
}
