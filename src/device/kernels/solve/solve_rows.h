/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the row loop of a triangular solve for WIDTH columns at once, included with
 *   T, LANES     the type, and how many columns are a vector of 64 bytes
 *   WIDTH        a power of two, 2 or more
 *   ROWS         what the functions are compiled for
 *   NAME(x)      x with a suffix of its own
 * The sums of WIDTH columns stay in registers, in vectors that the compiler can keep there: it takes narrower ones
 * apart where it has none so wide, but puts wider ones in memory.
 */
#if WIDTH < LANES
typedef T NAME(vector) __attribute__((vector_size(WIDTH * sizeof(T)), aligned(sizeof(T)), may_alias));
#else
typedef T NAME(vector) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
#endif
#define VECTOR NAME(vector)
#define PARTS (WIDTH > LANES ? WIDTH / LANES : 1)
#define EACH_PART for (int q = 0; q < PARTS; q++)

ROWS static inline __attribute__((always_inline)) void NAME(solve_step)(
    const tulle__solve_task *task, int64_t column, int step, const enum tulle__solve_kind kind)
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
        VECTOR sum[PARTS], *to;
        EACH_PART sum[q] = ((const VECTOR *)(b + i * ldb))[q];
        for (int64_t k = 0; k < n; k++) {
            const VECTOR *line = (const VECTOR *)(x + c[k * step] * ldx);
            EACH_PART sum[q] -= v[k * step] * line[q];
        }
        if (inverse) EACH_PART sum[q] *= inverse[s];
        if (divides) {
            T reciprocal = 1 / val[head ? from - 1 : from + n];
            EACH_PART sum[q] *= reciprocal;
        }
        to = (VECTOR *)(x + (task->at + r) * ldx);
        EACH_PART to[q] = sum[q];
        if (!out) continue;
        to = (VECTOR *)(out + i * ldo);
        EACH_PART to[q] = sum[q];
    }
}

ROWS static void NAME(solve)(const tulle__solve_task *task, int64_t column)
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

#undef EACH_PART
#undef PARTS
#undef VECTOR
#undef WIDTH
#undef NAME
