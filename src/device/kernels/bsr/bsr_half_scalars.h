/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product of a symmetric slab whose blocks are single entries, of which half is stored, for
 * bsr_half.h. An entry right of the diagonal is used twice: with x at its column for the sum of
 * its row, and with x at its row for the line of y at its column, which is loaded and stored: a dozen instructions,
 * more than the entry takes to come from memory.
 *
 * Four constant-offset rows that begin on the diagonal, each with the columns of the one before plus one (the nodes of
 * a line of a regular grid), are made together: their values at one place of the pattern lie in four lanes, and columns
 * c
 * .. c + 3 of x and y are vectors, so that a lane is a row and nothing is summed across. Up to three columns that
 * follow each other go to lines c .. c + 5 of y by one load and store, as what was just stored in pieces of other sizes
 * is waited for when it is loaded.
 */

/* Column of entry e, which is row i's. */
INLINE int64_t NAME(scalar_column)(const tulle__bsr *A, int64_t i, int64_t e, const int bytes)
{
    return bytes == 2 ? A->base[i] + ((const uint16_t *)A->colind)[e] : ((const int32_t *)A->colind)[e];
}

INLINE void NAME(half_scalar)(const tulle__bsr_rows *rows, int64_t i, const int bytes)
{
    const tulle__bsr *A = rows->A;
    const X_T *X = rows->X;
    const A_T *val = A->val;
    const int64_t begin = A->first + rows->begin, end = A->first + rows->end, row = A->first + i;
    double x = (double)X[row], sum = 0;
    for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++) {
        int64_t col = NAME(scalar_column)(A, i, e, bytes);
        double a = (double)val[e];
        sum += a * (double)X[col];
        if (col != row) *NAME(there)(rows, begin, end, col, 1) += a * x;
    }
    rows->own[row - begin] += sum;
}

/* True if `count` rows from row i on have each the columns of the row before plus one; all have n entries. */
INLINE int NAME(follow)(const tulle__bsr *A, int64_t i, int64_t count, int64_t n, const int bytes)
{
    const char *columns = (const char *)A->colind + A->rowptr[i] * bytes, *before = columns - n * bytes;
    if (bytes == 2)
        return tulle__has_offset_16(
            (const uint16_t *)(const void *)before, (const uint16_t *)(const void *)columns, count * n, 0);
    return tulle__has_offset_32(
        (const uint32_t *)(const void *)before, (const uint32_t *)(const void *)columns, count * n, 1);
}

/*
 * Number of rows from row i on that have its columns, plus one more each, and begin on the diagonal; 1: no two; 0: nor
 * has the next one, though it has as many, which is what takes time to find out. Their entries lie one behind the
 * other, so that one comparison tells for several rows: for one at first, for twice as many each time, so that little
 * is compared in vain.
 */
INLINE int64_t NAME(offset_rows)(const tulle__bsr *A, int64_t i, int64_t end, const int bytes)
{
    const int64_t first = A->rowptr[i], n = A->rowptr[i + 1] - first;
    int64_t last = i, more = 0; /* alike as far as known; to look at next */
    if (n == 0 || NAME(scalar_column)(A, i, first, bytes) != A->first + i) return 1;
    if (end - i > SHIFTED_MOST) end = i + SHIFTED_MOST;
    for (int64_t step = 1; last + 1 < end; step *= 2, last += more) {
        for (more = 0; more < step && last + more + 1 < end; more++) {
            const int64_t row = last + more + 1;
            if (A->rowptr[row + 1] - A->rowptr[row] != n || (bytes == 2 && A->base[row] != A->base[i] + (row - i)))
                break;
        }
        if (!NAME(follow)(A, last + 1, more, n, bytes)) {
            while (more > 1 && NAME(follow)(A, last + 1, 1, n, bytes)) last++;
            break;
        }
        if (more < step) {
            last += more;
            break;
        }
    }
    return last == i && more ? 0 : last - i + 1;
}

/* The entries of a row behind the diagonal, up to three columns that follow each other at a time. */
struct NAME(runs) {
    int count;
    int32_t first[RUNS]; /* entry */
    int32_t many[RUNS];
    int64_t right[RUNS]; /* columns right of the diagonal */
};

/* Returns 0 if there are too many. */
INLINE int NAME(find_runs)(const tulle__bsr *A, int64_t i, struct NAME(runs) * runs, const int bytes)
{
    const int64_t first = A->rowptr[i], n = A->rowptr[i + 1] - first, row = A->first + i;
    int many;
    runs->count = 0;
    for (int64_t e = 1; e < n; e += many, runs->count++) {
        const int64_t col = NAME(scalar_column)(A, i, first + e, bytes);
        if (runs->count == RUNS) return 0;
        many = 1;
        while (many < 3 && e + many < n && NAME(scalar_column)(A, i, first + e + many, bytes) == col + many) many++;
        runs->first[runs->count] = (int32_t)e;
        runs->many[runs->count] = many;
        runs->right[runs->count] = col - row;
    }
    return 1;
}

/* Rows i .. i + 3, at constant offsets. */
INLINE void NAME(half_four)(const tulle__bsr_rows *rows, int64_t i, const struct NAME(runs) * runs, const int bytes)
{
    const tulle__bsr *A = rows->A;
    const int64_t n = A->rowptr[i + 1] - A->rowptr[i], row = A->first + i;
    const int64_t begin = A->first + rows->begin, end = A->first + rows->end;
    const A_T *val = (const A_T *)A->val + A->rowptr[i];
    const char *columns = (const char *)A->colind + A->rowptr[i] * bytes;
    const X_T *X = (const X_T *)rows->X + row;
    const V x = LOAD_FROM(X_T, X), none = {0};
    V sum = (V){(double)val[0], (double)val[n], (double)val[2 * n], (double)val[3 * n]} * x;
    for (int r = 0; r < runs->count; r++) {
        const int many = runs->many[r];
        const int64_t right = runs->right[r], col = row + right;
        const A_T *a = val + runs->first[r];
        V low, high = none;
        /* what these rows have a page further on, in as many parts: a run is of 12 entries at most */
        tulle__fetch_ahead(columns, (uintptr_t)(TULLE__PAGE + 64 * r));
        for (int line = 0; line < 2; line++) tulle__fetch_ahead(val, (uintptr_t)(TULLE__PAGE + 128 * r + 64 * line));
        if (many == 3) {
            /* a column more on the left, so that four are loaded that are there: the diagonal is behind */
            const V r0 = LOAD_FROM(A_T, a - 1), r1 = LOAD_FROM(A_T, a + n - 1), r2 = LOAD_FROM(A_T, a + 2 * n - 1),
                    r3 = LOAD_FROM(A_T, a + 3 * n - 1);
            const V odd0 = SHUFFLE(r0, r1, 1, 5, 3, 7), odd1 = SHUFFLE(r2, r3, 1, 5, 3, 7);
            const V even0 = SHUFFLE(r0, r1, 0, 4, 2, 6), even1 = SHUFFLE(r2, r3, 0, 4, 2, 6);
            const V a0 = SHUFFLE(odd0, odd1, 0, 1, 4, 5), a1 = SHUFFLE(even0, even1, 2, 3, 6, 7),
                    a2 = SHUFFLE(odd0, odd1, 2, 3, 6, 7), y1 = a1 * x, y2 = a2 * x;
            sum = FMA(a0, LOAD_FROM(X_T, X + right), sum);
            sum = FMA(a1, LOAD_FROM(X_T, X + right + 1), sum);
            sum = FMA(a2, LOAD_FROM(X_T, X + right + 2), sum);
            low = FMA(a0, x, SHUFFLE(none, y1, 0, 4, 5, 6)) + SHUFFLE(none, y2, 0, 0, 4, 5);
            high = SHUFFLE(y1, none, 3, 4, 4, 4) + SHUFFLE(y2, none, 2, 3, 4, 4);
        } else {
            const V a0 = {(double)a[0], (double)a[n], (double)a[2 * n], (double)a[3 * n]};
            sum = FMA(a0, LOAD_FROM(X_T, X + right), sum);
            low = a0 * x;
            if (many == 2) {
                const V a1 = {(double)a[1], (double)a[n + 1], (double)a[2 * n + 1], (double)a[3 * n + 1]}, y1 = a1 * x;
                sum = FMA(a1, LOAD_FROM(X_T, X + right + 1), sum);
                low += SHUFFLE(none, y1, 0, 4, 5, 6);
                high = SHUFFLE(y1, none, 3, 4, 4, 4);
            }
        }
        if (col < end && col + 3 + many > end) { /* some lines are own, some beyond */
            for (int t = 0; t < 3 + many; t++)
                *NAME(there)(rows, begin, end, col + t, 1) += t < 4 ? low[t] : high[t - 4];
            continue;
        }
        double *y = NAME(there)(rows, begin, end, col, 1);
        STORE(y, LOAD(y) + low);
        if (many == 3) STORE_PIECES(y + 4, LOAD_PIECES(y + 4, 2) + high, 2);
        if (many == 2) STORE_PIECES(y + 4, LOAD_PIECES(y + 4, 1) + high, 1);
    }
    double *own = rows->own + (row - begin);
    STORE(own, LOAD(own) + sum);
}

/* Entries e .. end - 1, a page ahead. */
INLINE void NAME(scalars_ahead)(const tulle__bsr *A, int64_t e, int64_t end, const int bytes)
{
    for (int64_t t = e; t < end; t += 64 / (int)sizeof(A_T)) tulle__fetch_page_ahead((const A_T *)A->val + t);
    for (int64_t t = e; t < end; t += 64 / bytes) tulle__fetch_page_ahead((const char *)A->colind + t * bytes);
}

INLINE void NAME(half_scalars)(const tulle__bsr_rows *rows, const int bytes)
{
    const tulle__bsr *A = rows->A;
    struct NAME(runs) runs;
    int64_t pause = 0; /* rows at which nothing is looked for, after one was in vain */
    for (int64_t i = rows->begin, stop; i < rows->end; i = stop) {
        int64_t alike = pause ? 1 : NAME(offset_rows)(A, i, rows->end, bytes);
        pause = pause ? pause - 1 : alike ? 0 : PAUSE;
        stop = i + (alike ? alike : 1);
        if (stop - i >= 4 && NAME(find_runs)(A, i, &runs, bytes))
            for (; stop - i >= 4; i += 4) NAME(half_four)(rows, i, &runs, bytes);
        for (; i < stop; i++) {
            NAME(scalars_ahead)(A, A->rowptr[i], A->rowptr[i + 1], bytes);
            NAME(half_scalar)(rows, i, bytes);
        }
    }
}
