/* SPDX-License-Identifier: Apache-2.0 */
/* The reference kernels: plain, on one thread, and kept alive as what the fast ones are compared with. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/ref/bsr_formula.h"
#include "device/ref/ref_blocks.h"
#include "device/values.h"
#include "kernel/row_selection.h"
#include "kernel/unchecked_csr.h"

static int compare_columns(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

#define TEMPLATE "device/ref/ref_rows.h"
#include "kernel/both_types.h"

static tulle_status spmm(tulle__pool *pool, const tulle__spmm_task *task)
{
    (void)pool;
    task->type == TULLE_F32 ? spmm_f32(task) : spmm_f64(task);
    return TULLE_OK;
}

static int64_t number_at(const void *array, int bytes, int64_t at)
{
    return bytes == 8 ? ((const int64_t *)array)[at] : ((const int32_t *)array)[at];
}

/* Copies of the pointers and columns; false if they are not valid. */
static bool copy_checked(const tulle__unchecked_csr *A, int64_t *rowptr, int32_t *colind)
{
    for (int64_t i = 0; i <= A->m; i++) {
        rowptr[i] = number_at(A->ptr, A->ptr_bytes, i);
        if (i ? rowptr[i] < rowptr[i - 1] : rowptr[i] != 0) return false;
    }
    for (int64_t e = 0; e < A->nnz && rowptr[A->m] == A->nnz; e++) {
        const int64_t column = number_at(A->ind, A->ind_bytes, e);
        if (column < 0 || column >= A->n || column > INT32_MAX) return false;
        colind[e] = (int32_t)column;
    }
    return rowptr[A->m] == A->nnz;
}

typedef void (*unchecked_body)(const tulle__spmm_task *task);

/* The body with A of the only pair in checked copies of its arrays. */
static tulle_status with_checked(
    unchecked_body body, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)
{
    tulle__spmm_pair pair = *task->pair;
    tulle__spmm_task own = *task;
    TULLE__SCOPED int64_t *rowptr = NULL;
    TULLE__SCOPED int32_t *colind = NULL;
    TULLE_CALL(tulle__alloc((size_t)A->m + 1, sizeof *rowptr, "row pointers", &rowptr));
    TULLE_CALL(tulle__alloc((size_t)A->nnz, sizeof *colind, "columns", &colind));
    *valid = copy_checked(A, rowptr, colind);
    pair.A = (tulle__csr){.m = A->m, .n = A->n, .rowptr = rowptr, .colind = colind, .val = A->val};
    own.pair = &pair;
    if (*valid) body(&own);
    return TULLE_OK;
}

static tulle_status spmm_unchecked(
    tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)
{
    (void)pool;
    return with_checked(task->type == TULLE_F32 ? spmm_f32 : spmm_f64, task, A, valid);
}

static tulle_status spmm_scatter(
    tulle__pool *pool, const tulle__spmm_task *task, const tulle__unchecked_csr *A, bool *valid)
{
    (void)pool;
    return with_checked(task->type == TULLE_F32 ? scatter_f32 : scatter_f64, task, A, valid);
}

static tulle_status gemm(tulle__pool *pool, const tulle__gemm_task *task)
{
    (void)pool;
    task->type == TULLE_F32 ? gemm_f32(task) : gemm_f64(task);
    return TULLE_OK;
}

static tulle_status flops(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *count)
{
    (void)pool;
    for (int64_t i = 0; i < task->m; i++) {
        count[i] = 0;
        for (int p = 0; p < task->npairs; p++) {
            const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
            if (!A->rowptr)
                count[i] += B->rowptr[i + 1] - B->rowptr[i];
            else
                for (int64_t a = A->rowptr[i]; a < A->rowptr[i + 1]; a++)
                    count[i] += B->rowptr[A->colind[a] + 1] - B->rowptr[A->colind[a]];
        }
    }
    return TULLE_OK;
}

static tulle_status check_width(const tulle__spgemm_task *task)
{
    int32_t n;
    return tulle__narrow(task->n, "the width of a tile of C", &n);
}

static tulle_status spgemm(
    tulle__pool *pool, const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    (void)pool;
    TULLE_CALL(check_width(task));
    TULLE_CALL(task->type == TULLE_F32 ? spgemm_f32(task, place, context, C) : spgemm_f64(task, place, context, C));
    C->multiplications = 0;
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A, *B = &task->pair[p].B;
        for (int64_t r = 0; r < task->m; r++)
            for (int64_t e = A->rowptr ? A->rowptr[r] : r; e < (A->rowptr ? A->rowptr[r + 1] : r + 1); e++) {
                int64_t k = A->rowptr ? A->colind[e] : e;
                C->multiplications += B->rowptr[k + 1] - B->rowptr[k];
            }
    }
    return TULLE_OK;
}

static tulle_status symbolic(tulle__pool *pool, const tulle__spgemm_task *task, int64_t *rowptr)
{
    (void)pool;
    TULLE_CALL(check_width(task));
    return task->type == TULLE_F32 ? symbolic_f32(task, rowptr) : symbolic_f64(task, rowptr);
}

static tulle_status numeric(tulle__pool *pool, const tulle__spgemm_task *task, const tulle__csr_result *C)
{
    (void)pool;
    TULLE_CALL(check_width(task));
    return task->type == TULLE_F32 ? numeric_f32(task, C) : numeric_f64(task, C);
}

static void solve(const tulle__solve_task *task)
{
    task->type == TULLE_F32 ? solve_f32(task) : solve_f64(task);
}

static void subtract(const tulle__dense_task *task)
{
    task->type == TULLE_F32 ? subtract_f32(task) : subtract_f64(task);
}

static void substitute(const tulle__dense_task *task, int upper, int unit)
{
    task->type == TULLE_F32 ? substitute_f32(task, upper, unit) : substitute_f64(task, upper, unit);
}

static void alone(void) {}

static void tsmttsm(const tulle__tsmttsm_task *task)
{
    task->type == TULLE_F32 ? tsmttsm_f32(task) : tsmttsm_f64(task);
}

static void tsmm(const tulle__tsmm_task *task)
{
    task->type == TULLE_F32 ? tsmm_f32(task) : tsmm_f64(task);
}

static void gram(const tulle__gram_task *task)
{
    task->type == TULLE_F32 ? gram_f32(task) : gram_f64(task);
}

static void dots(const tulle__dots_task *task)
{
    task->type == TULLE_F32 ? dots_f32(task) : dots_f64(task);
}

static void combine(const tulle__combine_task *task)
{
    task->type == TULLE_F32 ? combine_f32(task) : combine_f64(task);
}

static tulle_status transpose(tulle__pool *pool, tulle_type type, const tulle__csr *A, tulle__csr_result *result)
{
    (void)pool;
    int64_t *next = NULL;
    int32_t rows;
    TULLE_CALL(tulle__narrow(A->m, "the width of a transposed tile", &rows));
    TULLE_CALL(tulle__alloc((size_t)A->n, sizeof *next, "the cursors of a transposition", &next));
    int64_t *rowptr = result->rowptr;
    memset(rowptr, 0, ((size_t)A->n + 1) * sizeof *rowptr);
    for (int64_t a = A->rowptr[0]; a < A->rowptr[A->m]; a++) rowptr[A->colind[a] + 1]++;
    for (int64_t c = 0; c < A->n; c++) rowptr[c + 1] += rowptr[c];
    result->nnz = rowptr[A->n];
    type == TULLE_F32 ? transpose_f32(A, result, next) : transpose_f64(A, result, next);
    tulle__free(next);
    return TULLE_OK;
}

static tulle_status sddmm(tulle__pool *pool, const tulle__sddmm_task *task)
{
    (void)pool;
    task->type == TULLE_F32 ? sddmm_f32(task) : sddmm_f64(task);
    return TULLE_OK;
}

static const tulle__kernels kernels = {
    .spmm = spmm,
    .spmm_unchecked = spmm_unchecked,
    .spmm_scatter = spmm_scatter,
    .sddmm = sddmm,
    .spmm_blocks = tulle__ref_spmm_blocks,
    .spgemm_blocks = tulle__ref_spgemm_blocks,
    .spgemm_blocks_numeric = tulle__ref_spgemm_blocks_numeric,
    .gemm = gemm,
    .bsr = tulle__bsr_formula,
    .spgemm_flops = flops,
    .spgemm = spgemm,
    .spgemm_symbolic = symbolic,
    .spgemm_numeric = numeric,
    .transpose = transpose,
    .solve = solve,
    .subtract = subtract,
    .substitute = substitute,
    .alone = alone,
    .tsmttsm = tsmttsm,
    .tsmm = tsmm,
    .gram = gram,
    .dots = dots,
    .combine = combine,
    .scale = tulle__values_scale,
    .add = tulle__values_add,
    .gather = tulle__values_gather,
    .copy = tulle__values_copy,
};

const tulle__kernels *tulle__kernels_ref(void)
{
    return &kernels;
}
