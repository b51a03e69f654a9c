/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of inner products of type T: LANES sums side by side, which may fill several registers, products and sums
 * rounded each, so that all instruction sets give the same bits.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)

/* The last values of a row, fewer than LANES, and zeros. */
INLINE V NAME(rest)(const T *x, int64_t n)
{
    V all = {0};
    __builtin_memcpy(&all, x, (size_t)n * sizeof(T));
    return all;
}

/* Halves are added until one lane is left. */
INLINE T NAME(sum)(V x)
{
    T lane[LANES];
    __builtin_memcpy(lane, &x, sizeof x);
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0];
}

static void NAME(rows)(const tulle__sddmm_task *task, int64_t begin, int64_t end)
{
    const int64_t whole = task->k / LANES * LANES, rest = task->k - whole;
    const T alpha = (T)task->alpha;
    T *val = task->val;
    for (int64_t r = begin; r < end; r++) {
        const T *x = (const T *)task->X + r * task->ldx;
        const V x_rest = NAME(rest)(x + whole, rest);
        for (int64_t e = task->from[r]; e < task->to[r]; e++) {
            const T *y = (const T *)task->Y + (task->colind[e] - task->first) * task->ldy;
            V sum = {0};
            for (int64_t c = 0; c < whole; c += LANES) sum += LOAD(x + c) * LOAD(y + c);
            if (rest) sum += x_rest * NAME(rest)(y + whole, rest);
            val[e] = alpha * NAME(sum)(sum);
        }
    }
}

#undef NAME
#undef T
#undef LANES
