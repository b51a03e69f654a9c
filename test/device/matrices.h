/* SPDX-License-Identifier: Apache-2.0 */
/* Small sparse matrices for the kernel tests. Values are small integers, so that sums are exact, or random reals. */
#ifndef TULLE_TEST_DEVICE_MATRICES_H
#define TULLE_TEST_DEVICE_MATRICES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "device/cpu/cpu.h"
#include "tap.h"

enum shape { UNIFORM, SPARSE, SKEWED, RUNS, BLOCKS, ONE_ROW, ONE_COLUMN, FULL, NOTHING, SHAPES };

static const char *const shape_names[] = {
    "uniform", "sparse", "skewed", "runs", "blocks", "one-row", "one-column", "full", "nothing"};

typedef struct matrix {
    tulle_type type;
    tulle__csr csr;
    int64_t *rowptr;
    int32_t *colind;
    void *val;
} matrix;

/* True if (i, j) is there. */
static int present(enum shape shape, int64_t m, int64_t n, int64_t i, int64_t j, uint64_t r)
{
    switch (shape) {
    case UNIFORM:
        return r % 8 == 0;
    case SPARSE:
        return (int64_t)(r % 64) == 0 && i % 3 != 0;
    case SKEWED:
        return (int64_t)(r % (uint64_t)(1 + (i + 1) * (j + 1) / 8)) == 0;
    case RUNS: /* three bands of five */
        return (j - i * n / m + 2 >= 0 && j - i * n / m <= 2) || (j + i) % 20 < 5;
    case BLOCKS: /* three rows of one pattern */
        return (j / 3 + i / 3) % 5 == 0;
    case ONE_ROW:
        return i == m / 2;
    case ONE_COLUMN:
        return j == n / 3;
    case FULL:
        return 1;
    default:
        return 0;
    }
}

/* start: what the row pointers begin with (entries before are there, and hold rubbish). */
__attribute__((unused)) static matrix matrix_make(
    enum shape shape, tulle_type type, int64_t m, int64_t n, uint64_t seed, int integer, int64_t start)
{
    matrix A = {.type = type};
    size_t most = (size_t)(m * n + start) + 1;
    A.rowptr = malloc((size_t)(m + 1) * sizeof *A.rowptr);
    A.colind = malloc(most * sizeof *A.colind);
    A.val = malloc(most * tulle_type_size(type));
    int64_t at = start;
    for (int64_t a = 0; a < start; a++) A.colind[a] = INT32_MAX;
    memset(A.val, 0xff, (size_t)start * tulle_type_size(type));
    A.rowptr[0] = at;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            uint64_t r = tulle__random_at(seed, (uint64_t)i, (uint64_t)j);
            if (!present(shape, m, n, i, j, r >> 8)) continue;
            double v = integer ? (double)(r % 7) - 3 : tulle__random_unit(r) - 0.5;
            A.colind[at] = (int32_t)j;
            if (type == TULLE_F32)
                ((float *)A.val)[at++] = (float)v;
            else
                ((double *)A.val)[at++] = v;
        }
        A.rowptr[i + 1] = at;
    }
    /* exactly as long as needed, so that the sanitizers see a read over the end */
    A.colind = realloc(A.colind, (size_t)at * sizeof *A.colind + 1);
    A.val = realloc(A.val, (size_t)at * tulle_type_size(type) + 1);
    A.csr = (tulle__csr){.m = m, .n = n, .rowptr = A.rowptr, .colind = A.colind, .val = A.val};
    return A;
}

__attribute__((unused)) static void matrix_free(matrix *A)
{
    free(A->rowptr);
    free(A->colind);
    free(A->val);
}

/* Memory for results of kernels in these tests. */
__attribute__((unused)) static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    tulle__csr_result **placed = context;
    size_t size = sizeof(double);
    tulle_status status = tulle__alloc((size_t)m + 1, sizeof *C->rowptr, "row pointers", &C->rowptr);
    if (status != TULLE_OK) return status;
    status = tulle__alloc((size_t)nnz, sizeof *C->colind, "columns", &C->colind);
    if (status == TULLE_OK) {
        status = tulle__alloc((size_t)nnz, size, "values", &C->val);
        if (status != TULLE_OK) tulle__free(C->colind);
    }
    if (status != TULLE_OK)
        tulle__free(C->rowptr);
    else if (placed)
        **placed = *C; /* the caller of a kernel that fails later frees it */
    return status;
}

__attribute__((unused)) static void result_free(tulle__csr_result *C)
{
    tulle__free(C->rowptr);
    tulle__free(C->colind);
    tulle__free(C->val);
    *C = (tulle__csr_result){0};
}

__attribute__((unused)) static int result_same(
    tulle_type type, int64_t m, const tulle__csr_result *x, const tulle__csr_result *y)
{
    return x->nnz == y->nnz && !memcmp(x->rowptr, y->rowptr, (size_t)(m + 1) * sizeof *x->rowptr) &&
           !memcmp(x->colind, y->colind, (size_t)x->nnz * sizeof *x->colind) &&
           !memcmp(x->val, y->val, (size_t)x->nnz * tulle_type_size(type));
}

#endif
