/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the kernels of tall and narrow matrices: T the value type, NAME(x) x with its suffix. Both work on a few
 * rows at a time, so that a row is read from memory once; sums are kept in vectors of 64 bytes of columns side by side,
 * which compilers cut into what the instruction set has.
 */

enum { NAME(LANES) = 64 / sizeof(T), NAME(SUMS) = 8 };
typedef T NAME(lanes) __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
typedef double NAME(sums) __attribute__((vector_size(64), aligned(sizeof(double)), may_alias));

/* ---- G = X^T Y ---- */

/* A chunk in double, lines TULLE__TALL_MOST apart, filled up with zeros to whole vectors. */
ROWS static void NAME(pack)(const T *X, int64_t ld, int64_t rows, int64_t m, double *to)
{
    for (int64_t r = 0; r < rows; r++, X += ld, to += TULLE__TALL_MOST) {
        int64_t c = 0;
        for (; c + NAME(SUMS) <= m; c += NAME(SUMS))
            for (int l = 0; l < NAME(SUMS); l++) to[c + l] = (double)X[c + l];
        for (int l = 0; c < m && l < NAME(SUMS); l++) to[c + l] = c + l < m ? (double)X[c + l] : 0;
    }
}

/* G[0 .. 3][0 .. 7] += the sums of a chunk. */
ROWS static void NAME(gram_tile)(const double *x, int64_t ldx, const double *y, int64_t ldy, int64_t rows, double *G)
{
    NAME(sums) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    for (int64_t r = 0; r < rows; r++, x += ldx, y += ldy) {
        const NAME(sums) line = *(const NAME(sums) *)(const void *)y;
        s0 += line * x[0];
        s1 += line * x[1];
        s2 += line * x[2];
        s3 += line * x[3];
    }
    *(NAME(sums) *)(void *)G += s0;
    *(NAME(sums) *)(void *)(G + TULLE__TALL_MOST) += s1;
    *(NAME(sums) *)(void *)(G + 2 * TULLE__TALL_MOST) += s2;
    *(NAME(sums) *)(void *)(G + 3 * TULLE__TALL_MOST) += s3;
}

/* Rows of a chunk as they lie if that will do, else packed. */
ROWS static const double *NAME(chunk)(const T *X, int64_t *ld, int64_t rows, int64_t m, double *room)
{
    if (sizeof(T) == sizeof(double) && m % NAME(SUMS) == 0) return (const double *)(const void *)X;
    NAME(pack)(X, *ld, rows, m, room);
    *ld = TULLE__TALL_MOST;
    return room;
}

ROWS static void NAME(gram)(const tulle__gram_task *task)
{
    double x[TULLE__TALL_CHUNK * TULLE__TALL_MOST], y[TULLE__TALL_CHUNK * TULLE__TALL_MOST],
        G[TULLE__TALL_MOST * TULLE__TALL_MOST];
    const T *X = task->X, *Y = task->Y;
    int same = X == Y && task->ldx == task->ldy && task->m == task->n;
    int64_t whole = (task->n + NAME(SUMS) - 1) / NAME(SUMS) * NAME(SUMS);
    for (int64_t i = 0; i < (task->m + 3) / 4 * 4; i++)
        for (int64_t j = 0; j < whole; j++) G[i * TULLE__TALL_MOST + j] = 0;
    for (int64_t at = 0; at < task->rows; at += TULLE__TALL_CHUNK) {
        int64_t rows = task->rows - at < TULLE__TALL_CHUNK ? task->rows - at : TULLE__TALL_CHUNK;
        int64_t ldx = task->ldx, ldy = task->ldy;
        const double *left = NAME(chunk)(X + at * task->ldx, &ldx, rows, task->m, x), *right = left;
        if (same)
            ldy = ldx;
        else
            right = NAME(chunk)(Y + at * task->ldy, &ldy, rows, task->n, y);
        for (int64_t i = 0; i < task->m; i += 4)
            for (int64_t j = task->symmetric ? i / NAME(SUMS) * NAME(SUMS) : 0; j < task->n; j += NAME(SUMS))
                NAME(gram_tile)(left + i, ldx, right + j, ldy, rows, G + i * TULLE__TALL_MOST + j);
    }
    for (int64_t i = 0; i < task->m; i++)
        for (int64_t j = 0; j < task->n; j++)
            task->G[i * task->n + j] =
                task->symmetric && j < i ? G[j * TULLE__TALL_MOST + i] : G[i * TULLE__TALL_MOST + j];
}

/* ---- Y = sum of X B ---- */

/* Vector c of `rows` (1 or 4) rows, added to those in `sum`. */
ROWS static inline __attribute__((always_inline)) void NAME(mix_lanes)(
    const tulle__mix_task *task, int64_t r, int rows, int64_t c, NAME(lanes) * sum)
{
    NAME(lanes) s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    for (int t = 0; t < task->nterms; t++) {
        const tulle__mix_term *term = &task->term[t];
        const T *x = (const T *)term->X + r * term->ld, *B = (const T *)term->B + c;
        for (int64_t k = 0; k < term->k; k++) {
            const NAME(lanes) b = *(const NAME(lanes) *)(const void *)(B + k * TULLE__TALL_MOST);
            s0 += b * x[k];
            if (rows == 1) continue;
            s1 += b * x[term->ld + k];
            s2 += b * x[2 * term->ld + k];
            s3 += b * x[3 * term->ld + k];
        }
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

/* All columns of some rows are made before the first is written, since X may be Y. */
ROWS static inline __attribute__((always_inline)) void NAME(mix_rows)(const tulle__mix_task *task, int64_t r, int rows)
{
    T out[4][TULLE__TALL_MOST];
    T *Y = (T *)task->Y + r * task->ld;
    size_t line = (size_t)task->n * sizeof(T);
    for (int q = 0; task->add && q < rows; q++) memcpy(out[q], Y + q * task->ld, line);
    for (int64_t c = 0; c < task->n; c += NAME(LANES)) {
        NAME(lanes) sum[4] = {{0}};
        for (int q = 0; task->add && q < rows; q++)
            memcpy(&sum[q], out[q] + c, (size_t)(task->n - c < NAME(LANES) ? task->n - c : NAME(LANES)) * sizeof(T));
        NAME(mix_lanes)(task, r, rows, c, sum);
        for (int q = 0; q < rows; q++) memcpy(out[q] + c, &sum[q], sizeof *sum);
    }
    for (int q = 0; q < rows; q++) memcpy(Y + q * task->ld, out[q], line);
}

ROWS static void NAME(mix)(const tulle__mix_task *task)
{
    int64_t r = 0;
    for (; r + 4 <= task->rows; r += 4) NAME(mix_rows)(task, r, 4);
    for (; r < task->rows; r++) NAME(mix_rows)(task, r, 1);
}
