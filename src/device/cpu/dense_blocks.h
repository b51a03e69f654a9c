/* SPDX-License-Identifier: Apache-2.0 */
/* Dense blocks by loops: what is too small for a call of the BLAS, and all of them where there is none. Included with
 * T and NAME(x). */

/* One column: four sums side by side. */
static T NAME(dot)(const T *a, const T *x, int64_t k, int64_t ldx, const int32_t *line)
{
    T side[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= k; i += 4)
        for (int q = 0; q < 4; q++) side[q] += a[i + q] * x[(line ? line[i + q] : i + q) * ldx];
    for (; i < k; i++) side[0] += a[i] * x[(line ? line[i] : i) * ldx];
    return (side[0] + side[1]) + (side[2] + side[3]);
}

/* Several columns: their sums are independent, so that the compiler makes vectors of them. */
static void NAME(subtract)(const tulle__dense_task *task)
{
    const T *a = task->A, *x = task->X;
    for (int64_t i = 0; i < task->m; i++, a += task->lda) {
        T *restrict line = (T *)task->Y + (task->y_line ? task->y_line[i] : i) * task->ldy;
        if (task->cols == 1) {
            line[0] -= NAME(dot)(a, x, task->k, task->ldx, task->x_line);
            continue;
        }
        for (int64_t k = 0; k < task->k; k++) {
            const T factor = a[k], *from = x + (task->x_line ? task->x_line[k] : k) * task->ldx;
            for (int64_t c = 0; c < task->cols; c++) line[c] -= factor * from[c];
        }
    }
}

static void NAME(substitute)(const tulle__dense_task *task, int upper, int unit)
{
    const T *a = task->A;
    for (int64_t s = 0; s < task->m; s++) {
        int64_t i = upper ? task->m - 1 - s : s, first = upper ? i + 1 : 0;
        T *line = (T *)task->Y + i * task->ldy;
        tulle__dense_task row = *task;
        row.m = 1;
        row.k = s;
        row.A = a + i * task->lda + first;
        row.X = (T *)task->Y + first * task->ldy;
        row.ldx = task->ldy;
        row.Y = line;
        row.x_line = row.y_line = NULL;
        NAME(subtract)(&row);
        if (!unit)
            for (int64_t c = 0; c < task->cols; c++) line[c] /= a[i * task->lda + i];
    }
}
