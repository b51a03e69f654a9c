/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the row loop of a triangular solve for WIDTH columns of type T at once, over lanes.h; WIDTH is a power of
 * two, 2 or more. The sums of WIDTH columns stay in registers. Vectors are no wider than these: of wider ones, which a
 * compiler takes apart, it keeps the parts in memory where there are several.
 */
#define NAME(x) INSTANCE(x, T, WIDTH)
#if WIDTH < MOST(T)
#define LANES WIDTH
#else
#define LANES MOST(T)
#endif
#define PARTS (WIDTH / LANES)
#define EACH_PART for (int q = 0; q < PARTS; q++)

INLINE void NAME(solve_step)(const tulle__solve_task *task, int64_t column, int step, const enum tulle__solve_kind kind)
{
    const int tight = kind != TULLE__SOLVE_ANY, permuted = kind == TULLE__SOLVE_PERMUTED;
    const int in_place = kind == TULLE__SOLVE_IN_PLACE;
    const int64_t ldb = tight ? WIDTH : task->ldb, ldx = tight ? WIDTH : task->ldx, ldo = tight ? WIDTH : task->ldo;
    const int64_t head = permuted ? 0 : task->head, tail = permuted ? 0 : task->tail;
    const int divides = permuted ? 0 : task->divides;
    const int32_t *colind = task->colind, *row = in_place ? NULL : task->row;
    const T *val = task->val, *inverse = in_place ? NULL : task->inverse, *b = (const T *)task->b + column;
    T *x = (T *)task->x + column, *out = !in_place && task->out ? (T *)task->out + column : NULL;
    for (int64_t s = 0; s < task->count; s++) {
        int64_t r = s * step, i = row ? row[s] : r;
        int64_t from = task->rowptr[r] + head, n = task->rowptr[r + 1] - tail - from;
        int64_t first = step > 0 ? from : from + n - 1;
        const T *v = val + first;
        const int32_t *c = colind + first;
        V sum[PARTS];
        const T *line = b + i * ldb;
        EACH_PART sum[q] = LOAD(line + q * LANES);
        for (int64_t k = 0; k < n; k++) {
            line = x + c[k * step] * ldx;
            EACH_PART sum[q] -= v[k * step] * LOAD(line + q * LANES);
        }
        if (inverse) EACH_PART sum[q] *= inverse[s];
        if (divides) {
            T reciprocal = 1 / val[head ? from - 1 : from + n];
            EACH_PART sum[q] *= reciprocal;
        }
        T *to = x + (task->at + r) * ldx;
        EACH_PART STORE(to + q * LANES, sum[q]);
        if (!out) continue;
        to = out + i * ldo;
        EACH_PART STORE(to + q * LANES, sum[q]);
    }
}

static void NAME(solve)(const tulle__solve_task *task, int64_t column)
{
    const enum tulle__solve_kind kind = tulle__solve_kind(task, WIDTH);
    if (kind == TULLE__SOLVE_PERMUTED)
        NAME(solve_step)(task, column, 1, TULLE__SOLVE_PERMUTED);
    else if (kind == TULLE__SOLVE_IN_PLACE && task->step > 0)
        NAME(solve_step)(task, column, 1, TULLE__SOLVE_IN_PLACE);
    else if (kind == TULLE__SOLVE_IN_PLACE)
        NAME(solve_step)(task, column, -1, TULLE__SOLVE_IN_PLACE);
    else if (task->step > 0)
        NAME(solve_step)(task, column, 1, TULLE__SOLVE_ANY);
    else
        NAME(solve_step)(task, column, -1, TULLE__SOLVE_ANY);
}

#undef LANES
#undef WIDTH
#undef NAME
