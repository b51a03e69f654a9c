/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of Y = sum of X B with one column of type T, four rows in a register: X is read in squares of LANES, four,
 * which are transposed. Each row adds its columns in their order, as tall_rows.h does.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)

enum { NAME(COLUMN) = 4 * LANES /* rows that are made at a time: so many sums hide the time of an addition */ };

/* LANES values, ld apart. */
INLINE V NAME(column_load)(const T *x, int64_t ld)
{
    return ld == 1 ? LOAD(x) : (V){x[0], x[ld], x[2 * ld], x[3 * ld]};
}

INLINE void NAME(column_rows)(const tulle__tsmm_task *task, int64_t r)
{
    V sum[NAME(COLUMN) / LANES] = {{0}};
    T *Y = (T *)task->Y + r * task->ld;
    for (int q = 0; task->add && q < NAME(COLUMN) / LANES; q++)
        sum[q] = NAME(column_load)(Y + q * LANES * task->ld, task->ld);
    for (int t = 0; t < task->nterms; t++) {
        const tulle__tsmm_term *term = &task->term[t];
        const int64_t ld = term->ld;
        const T *x = (const T *)term->X + r * ld, *B = term->B;
        int64_t k = 0;
        for (; k + LANES <= term->k; k += LANES, x += LANES, B += LANES * TULLE__TALL_MOST) {
#pragma GCC unroll 4
            for (int q = 0; q < NAME(COLUMN) / LANES; q++) {
                V to[LANES];
                const T *line = x + q * LANES * ld;
                TRANSPOSE(LOAD(line), LOAD(line + ld), LOAD(line + 2 * ld), LOAD(line + 3 * ld), to);
#pragma GCC unroll 4
                for (int c = 0; c < LANES; c++) sum[q] += to[c] * B[c * TULLE__TALL_MOST];
            }
        }
        for (; k < term->k; k++, x++, B += TULLE__TALL_MOST)
#pragma GCC unroll 4
            for (int q = 0; q < NAME(COLUMN) / LANES; q++) sum[q] += NAME(column_load)(x + q * LANES * ld, ld) * B[0];
    }
    for (int q = 0; q < NAME(COLUMN) / LANES; q++)
        if (task->ld == 1)
            STORE(Y + q * LANES, sum[q]);
        else
            for (int l = 0; l < LANES; l++) Y[(q * LANES + l) * task->ld] = sum[q][l];
}

/* All rows but the last ones, which are fewer than are made at a time: their number. */
static int64_t NAME(tsmm_column)(const tulle__tsmm_task *task)
{
    int64_t r = 0;
    for (; r + NAME(COLUMN) <= task->rows; r += NAME(COLUMN)) NAME(column_rows)(task, r);
    return r;
}

#undef T
#undef LANES
