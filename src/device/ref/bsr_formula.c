/* SPDX-License-Identifier: Apache-2.0 */
/* Y = A X, or Y += A X if A is symmetric, for a slab of blocks, by the formula: see tulle__bsr_task. */
#include "device/ref/bsr_formula.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tile/element.h"

static int64_t column(const tulle__bsr *A, int64_t row, int64_t e)
{
    return A->index_bytes == 2 ? A->base[row] + (int64_t)((const uint16_t *)A->colind)[e]
                               : (int64_t)((const int32_t *)A->colind)[e];
}

/* Line `block` * i + r of Y, column j, becomes or grows by x. */
static void deliver(const tulle__bsr_task *task, int64_t line, int64_t j, double x)
{
    int64_t at = line * task->ldy + j;
    tulle__element_set(
        task->vectors, task->Y, at, task->A.symmetric ? tulle__element(task->vectors, task->Y, at) + x : x);
}

/* Sums of column j for all lines that a symmetric slab adds to: those after its first, in f64 until the end. */
static tulle_status multiply_symmetric(const tulle__bsr_task *task)
{
    const tulle__bsr *A = &task->A;
    int64_t b = A->block, first = A->first * b, lines = (A->n - A->first) * b;
    TULLE__SCOPED double *sum = NULL;
    TULLE__SCOPED unsigned char *named = NULL;
    TULLE_CALL(tulle__alloc((size_t)lines, sizeof *sum, "sums of a symmetric product", &sum));
    TULLE_CALL(tulle__alloc_zero((size_t)lines, sizeof *named, "lines of a symmetric product", &named));
    memset(named, 1, (size_t)(A->m * b));
    for (int64_t i = 0; i < A->m; i++)
        for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++)
            memset(named + (column(A, i, e) * b - first), 1, (size_t)b);
    for (int64_t j = 0; j < task->k; j++) {
        for (int64_t l = 0; l < lines; l++) sum[l] = 0;
        for (int64_t i = 0; i < A->m; i++)
            for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++)
                for (int64_t r = 0; r < b; r++)
                    for (int64_t c = 0; c < b; c++) {
                        int64_t row = first + i * b + r, col = column(A, i, e) * b + c;
                        double a = tulle__element(task->values, A->val, (e * b + r) * b + c);
                        sum[row - first] += a * tulle__element(task->vectors, task->X, col * task->ldx + j);
                        if (column(A, i, e) > A->first + i)
                            sum[col - first] += a * tulle__element(task->vectors, task->X, row * task->ldx + j);
                    }
        for (int64_t l = 0; l < lines; l++)
            if (named[l]) deliver(task, first + l, j, sum[l]);
    }
    return TULLE_OK;
}

tulle_status tulle__bsr_check(const tulle__bsr_task *task)
{
    if (task->values == TULLE_F64 && task->vectors == TULLE_F32)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a matrix of f64 values is multiplied with vectors of f64 only");
    return TULLE_OK;
}

tulle_status tulle__bsr_formula(tulle__pool *pool, const tulle__bsr_task *task)
{
    const tulle__bsr *A = &task->A;
    int64_t b = A->block;
    (void)pool;
    TULLE_CALL(tulle__bsr_check(task));
    if (A->symmetric) return multiply_symmetric(task);
    for (int64_t i = 0; i < A->m; i++)
        for (int64_t r = 0; r < b; r++)
            for (int64_t j = 0; j < task->k; j++) {
                double sum = 0;
                for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++)
                    for (int64_t c = 0; c < b; c++)
                        sum += tulle__element(task->values, A->val, (e * b + r) * b + c) *
                               tulle__element(task->vectors, task->X, (column(A, i, e) * b + c) * task->ldx + j);
                deliver(task, (A->first + i) * b + r, j, sum);
            }
    return TULLE_OK;
}
