/* SPDX-License-Identifier: Apache-2.0 */
/* Template of columns that become lines, over lanes.h, for values of type T: four by four through registers. */
#define NAME(x) TULLE__SUFFIX_OF(x, T)
#define LANES 4

/* Lines begin .. end - 1 of columns first .. last - 1, one value after the other. */
static void NAME(lines_rest)(const tulle__columns *x, T *to, int64_t begin, int64_t end, int64_t first, int64_t last)
{
    const T *from = x->val;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = first; j < last; j++) to[i * x->n + j] = from[i * x->row + j * x->col];
}

static void NAME(lines)(const tulle__columns *x, T *to)
{
    const int64_t n = x->n, rows = x->row == 1 ? x->lines / LANES * LANES : 0, cols = n / LANES * LANES;
    const T *from = x->val;
    for (int64_t i = 0; i < rows; i += LANES) {
        for (int64_t j = 0; j < cols; j += LANES) {
            const T *at = from + i + j * x->col;
            V line[LANES];
            TRANSPOSE(LOAD(at), LOAD(at + x->col), LOAD(at + 2 * x->col), LOAD(at + 3 * x->col), line);
#pragma GCC unroll 4
            for (int q = 0; q < LANES; q++) STORE(to + (i + q) * n + j, line[q]);
        }
        NAME(lines_rest)(x, to, i, i + LANES, cols, n);
    }
    NAME(lines_rest)(x, to, rows, x->lines, 0, n);
}

#undef NAME
#undef T
#undef LANES
