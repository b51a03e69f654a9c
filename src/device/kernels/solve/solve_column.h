/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the row loop of a triangular solve for one column of type T, over lanes.h. What costs here is not
 * arithmetic: it is branches that are mispredicted, since rows of irregular matrices differ in length, and values of x
 * that are loaded while they are still being stored. Each kind of loop avoids what its rows suffer from (enum
 * tulle__column_kind); all of them take the entries in the same order and give the same bits.
 */
#define NAME(x) INSTANCE(x, T, 1)
#define LANES 4

/* Values at, at + step, ... of a row. */
INLINE V NAME(four_values)(const T *val, int64_t at, const int step)
{
    if (step > 0) return LOAD(val + at);
    const V back = LOAD(val + at - 3);
    return SHUFFLE(back, back, 3, 2, 1, 0);
}

/*
 * Subtracts the `count` (0 to 4) entries before `end`, without a branch: four are multiplied, and the products of those
 * that are not to be subtracted are replaced by +0, which leaves every sum as it is. What is loaded in the place of
 * their unknowns is a line of x that no other worker writes, the task's first, `own`.
 */
INLINE T NAME(subtract_masked)(T sum, const T *val, const int32_t *colind, const int64_t end, const int64_t count,
    const T *x, const int64_t ldx, const int64_t own, const int step)
{
    static const BITS keep[5] = {{0, 0, 0, 0}, {0, 0, 0, -1}, {0, 0, -1, -1}, {0, -1, -1, -1}, {-1, -1, -1, -1}};
    static const int32_t keep_column[8] = {0, 0, 0, 0, -1, -1, -1, -1};
    const int64_t at = end - 4 * step;
    const T *line = x + own * ldx;
    V product;
    for (int q = 0; q < 4; q++)
        product[q] = line[((colind[at + q * step] - (int32_t)own) & keep_column[count + q]) * ldx];
    product *= NAME(four_values)(val, at, step);
    product = (V)((BITS)product & keep[count]);
    for (int q = 0; q < 4; q++) sum -= product[q];
    return sum;
}

/* Entries of rows to come, a page further on: a processor's own prefetcher stops at a page's end. */
INLINE void NAME(fetch_ahead)(const T *val, const int32_t *colind, const int step)
{
    tulle__fetch_ahead(val, (uintptr_t)(step * TULLE__PAGE));
    tulle__fetch_ahead(colind, (uintptr_t)(step * TULLE__PAGE));
}

/* The n > TULLE__SOLVE_SHORT entries before `end`: see tulle__solve_task. */
INLINE T NAME(subtract_long)(T sum, const T *val, const int32_t *colind, const int64_t end, const int64_t n, const T *x,
    const int64_t ldx, const int64_t own, const int step)
{
    V side = {0, 0, 0, 0};
    const int64_t tail = end - TULLE__SOLVE_TAIL * step;
    int64_t left = n - TULLE__SOLVE_TAIL, at = end - n * step;
    for (; left >= 4; left -= 4, at += 4 * step) {
        V line;
        NAME(fetch_ahead)(val + at, colind + at, step);
        for (int q = 0; q < 4; q++) line[q] = x[colind[at + q * step] * ldx];
        side += NAME(four_values)(val, at, step) * line;
    }
    sum -= (side[0] + side[1]) + (side[2] + side[3]);
    sum = NAME(subtract_masked)(sum, val, colind, tail, left, x, ldx, own, step);
    for (int q = 0; q < TULLE__SOLVE_TAIL; q++) sum -= val[tail + q * step] * x[colind[tail + q * step] * ldx];
    return sum;
}

/* Out of line, for rows among short ones, whose loop needs the registers; lines lie next to each other. */
#define LONG(word, step)                                                                                               \
    static __attribute__((noinline)) T NAME(word)(                                                                     \
        T sum, const T *val, const int32_t *colind, int64_t end, int64_t n, const T *x, int64_t own)                   \
    {                                                                                                                  \
        return NAME(subtract_long)(sum, val, colind, end, n, x, 1, own, step);                                         \
    }
LONG(long_up, 1)
LONG(long_down, -1)
#undef LONG

/* For rows in place, `divides` is known beforehand. Their pivot, if it is stored, is the last entry in the order of
 * step.
 */
INLINE void NAME(solve_rows)(const tulle__solve_task *task, int64_t column, const int step,
    const enum tulle__column_kind kind, const int divides)
{
    const int any = kind == TULLE__COLUMN_ANY, permuted = kind >= TULLE__COLUMN_PERMUTED;
    const int lengthy = any || kind == TULLE__COLUMN_LONG || kind == TULLE__COLUMN_PERMUTED_LONG;
    const int in_place = !any && !permuted, chained = kind == TULLE__COLUMN_CHAINED;
    const int masked = kind == TULLE__COLUMN_MASKED || kind == TULLE__COLUMN_PERMUTED_MASKED;
    const int64_t ldb = any ? task->ldb : 1, ldx = any ? task->ldx : 1, ldo = any ? task->ldo : 1;
    const int64_t pivot = in_place && divides ? 1 : step > 0 ? task->tail : task->head, last = permuted ? 0 : pivot;
    const int64_t skipped = any ? (step > 0 ? task->head : task->tail) : 0; /* entries before the first */
    const int64_t count = task->count, own = task->at, *rowptr = task->rowptr;
    const int32_t *colind = task->colind, *lines = in_place ? NULL : task->row;
    const T *val = task->val, *inverse = in_place ? NULL : task->inverse, *b = (const T *)task->b + column;
    T *x = (T *)task->x + column, *out = !in_place && task->out ? (T *)task->out + column : NULL;
    T before = 0; /* x of the row before */
    int64_t near = rowptr[step < 0], limit = near;
    for (int64_t s = 0; s < count; s++) {
        const int64_t r = s * step, i = lines ? lines[s] : r, far = rowptr[step > 0 ? r + 1 : r];
        const int64_t first =
            step > 0 ? near + skipped : near - 1 - skipped; /* entries first, + step, ... end - step */
        const int64_t end = step > 0 ? far - last : far - 1 + last, n = (end - first) * step;
        T sum = b[i * ldb];
        NAME(fetch_ahead)(val + near, colind + near, step);
        if (kind == TULLE__COLUMN_LONG) NAME(fetch_ahead)(val + near + 8 * step, colind + near, step);
        if (masked && n <= 4 && (step > 0 ? end >= 4 : end + 4 < limit)) {
            sum = NAME(subtract_masked)(sum, val, colind, end, n, x, ldx, own, step);
        } else if (n > TULLE__SOLVE_SHORT) {
            if (lengthy)
                sum = NAME(subtract_long)(sum, val, colind, end, n, x, ldx, own, step);
            else
                sum = (step > 0 ? NAME(long_up) : NAME(long_down))(sum, val, colind, end, n, x, own);
        } else if (n > 0) {
            const int64_t stop = chained ? end - step : end;
            int64_t e = first;
            if (!chained || e != stop) do {
                    sum -= val[e] * x[colind[e] * ldx];
                    e += step;
                } while (e != stop);
            if (chained && s > 0 && colind[e] == own + r - step)
                sum -= val[e] * before;
            else if (chained)
                sum -= val[e] * x[colind[e] * ldx];
        }
        if (inverse) sum *= inverse[s];
        if (divides) sum *= 1 / val[last ? end : near + (step > 0 ? 0 : -1)];
        x[(own + r) * ldx] = sum;
        near = far;
        if (chained) before = sum;
        if (out) out[i * ldo] = sum;
    }
}

/* A function for each kind, direction and way of pivots: in one, they would not have the registers that they need. */
#define LOOP(kind, word, divides)                                                                                      \
    static __attribute__((noinline)) void NAME(word##_up)(const tulle__solve_task *task, int64_t column)               \
    {                                                                                                                  \
        NAME(solve_rows)(task, column, 1, kind, divides);                                                              \
    }                                                                                                                  \
    static __attribute__((noinline)) void NAME(word##_down)(const tulle__solve_task *task, int64_t column)             \
    {                                                                                                                  \
        NAME(solve_rows)(task, column, -1, kind, divides);                                                             \
    }
TULLE__COLUMN_LOOPS(LOOP)
#undef LOOP

static void NAME(solve)(const tulle__solve_task *task, int64_t column)
{
#define LOOP(kind, word, divides) {NAME(word##_up), NAME(word##_down)},
    static void (*const loop[][2])(const tulle__solve_task *, int64_t) = {TULLE__COLUMN_LOOPS(LOOP)};
#undef LOOP
    loop[tulle__column_loop(task)][task->step < 0](task, column);
}

#undef LANES
#undef NAME
