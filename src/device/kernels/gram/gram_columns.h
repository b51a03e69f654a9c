/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of some columns of a row, and of its transpose, with vectors of type T and values of type F, over lanes.h: a
 * row's entries are read from memory once, and again from the nearest cache for further columns and for the transpose.
 */
#define NAME(x) TULLE__SUFFIX_OF(INSTANCE(x, T, F), LANES)
#define EACH_PART _Pragma("GCC unroll 4") for (int q = 0; q < parts; q++)

/* Columns c .. c + parts LANES - 1 of row r, of which parts is a literal. */
INLINE void NAME(gram_columns)(const tulle__gram_task *task, int64_t r, int64_t c, const int parts)
{
    const int64_t from = task->ptr[r] - task->ptr[0], to = task->ptr[r + 1] - task->ptr[0];
    const F *val = task->val;
    const T *X = (const T *)task->X;
    V sum[4] = {0};
    if (!X) EACH_PART sum[q] = LOAD((const T *)task->Z + r * task->ldz + c + q * LANES);
    for (int64_t e = X ? from : to; e < to; e++) {
        const V a = SPLAT((T)val[e]);
        const T *x = X + task->col[e] * task->ldx + c;
        EACH_PART sum[q] += a * LOAD(x + q * LANES);
    }
    if (task->shift) EACH_PART sum[q] -= LOAD((const T *)task->shift + c + q * LANES);
    if (task->keep)
        EACH_PART sum[q] +=
            LOAD((const T *)task->keep + c + q * LANES) * LOAD((const T *)task->Z + r * task->ldz + c + q * LANES);
    if (X && task->Z) EACH_PART STORE((T *)task->Z + r * task->ldz + c + q * LANES, sum[q]);
    if (!task->Y) return;
    T *total = (T *)task->total + c, *Y = (T *)task->Y + c;
    EACH_PART STORE(total + q * LANES, LOAD(total + q * LANES) + sum[q]);
    for (int64_t e = from; e < to; e++) {
        const V a = SPLAT((T)val[e]);
        T *y = Y + task->col[e] * task->ldy;
        EACH_PART STORE(y + q * LANES, LOAD(y + q * LANES) + a * sum[q]);
    }
}

#undef NAME
#undef EACH_PART
#undef LANES
