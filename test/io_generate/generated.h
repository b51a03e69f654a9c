/* SPDX-License-Identifier: Apache-2.0 */
/* A generated matrix, whole, and what tests ask of it. */
#ifndef TULLE_TEST_IO_GENERATE_GENERATED_H
#define TULLE_TEST_IO_GENERATE_GENERATED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/generate/generate.h"

/* Entries of rows, in order; starts from {0}. */
typedef struct entries {
    int64_t nnz;
    int64_t *colind;
    void *val;
} entries;

__attribute__((unused)) static void entries_fini(entries *e)
{
    tulle__free(e->colind);
    tulle__free(e->val);
    memset(e, 0, sizeof *e);
}

/* Rows r0 .. r1 - 1 with all columns, at most INT32_MAX: the entries of row r begin at rowptr[r - r0]. */
__attribute__((unused)) static tulle_status generate_rows(
    const tulle__generator *g, int64_t r0, int64_t r1, tulle_type type, int64_t *rowptr, entries *e)
{
    tulle__generator_shape shape;
    int64_t *pointers = NULL;
    int32_t *colind = NULL;
    tulle_status status;
    entries_fini(e);
    tulle__generator_get_shape(g, &shape);
    TULLE_TRY(tulle__generator_tile(g, r0, r1, 0, shape.n, type, &pointers, &colind, &e->val, &e->nnz));
    TULLE_TRY(tulle__alloc((size_t)e->nnz, sizeof *e->colind, "column indices", &e->colind));
    for (int64_t i = 0; i < e->nnz; i++) e->colind[i] = colind[i];
    memcpy(rowptr, pointers, (size_t)(r1 - r0 + 1) * sizeof *rowptr);
out:
    tulle__free(pointers);
    tulle__free(colind);
    return status;
}

typedef struct matrix {
    tulle__generator *g;
    tulle__generator_shape shape;
    int64_t *rowptr;
    entries entries;
} matrix;

__attribute__((unused)) static tulle_status matrix_init(matrix *A, const char *spec, tulle_type type)
{
    tulle_status status;
    memset(A, 0, sizeof *A);
    TULLE_TRY(tulle__generator_open(spec, &A->g));
    tulle__generator_get_shape(A->g, &A->shape);
    TULLE_TRY(tulle__alloc((size_t)A->shape.m + 1, sizeof *A->rowptr, "row pointers", &A->rowptr));
    TULLE_TRY(generate_rows(A->g, 0, A->shape.m, type, A->rowptr, &A->entries));
out:
    return status;
}

__attribute__((unused)) static void matrix_fini(matrix *A)
{
    entries_fini(&A->entries);
    tulle__free(A->rowptr);
    tulle__generator_close(A->g);
}

/*
 * Ascending rows without repeats, within the shape, as many as the shape says, values within
 * bounds.
 */
__attribute__((unused)) static int well_formed(const matrix *A)
{
    int64_t nnz = A->rowptr[A->shape.m];
    if (A->rowptr[0] != 0 || nnz != A->entries.nnz || (A->shape.nnz >= 0 && A->shape.nnz != nnz)) return 0;
    for (int64_t r = 0; r < A->shape.m; r++)
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++) {
            if (A->entries.colind[i] < 0 || A->entries.colind[i] >= A->shape.n) return 0;
            if (i > A->rowptr[r] && A->entries.colind[i] <= A->entries.colind[i - 1]) return 0;
        }
    return 1;
}

/* The entry at (row, col), NAN if there is none. */
__attribute__((unused)) static double entry(const matrix *A, int64_t row, int64_t col)
{
    for (int64_t i = A->rowptr[row]; i < A->rowptr[row + 1]; i++)
        if (A->entries.colind[i] == col) return ((const double *)A->entries.val)[i];
    return NAN;
}

__attribute__((unused)) static int symmetric(const matrix *A)
{
    for (int64_t r = 0; r < A->shape.m; r++)
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++) {
            double mirrored = entry(A, A->entries.colind[i], r), x = ((const double *)A->entries.val)[i];
            if (!(mirrored >= x && mirrored <= x)) return 0;
        }
    return 1;
}

__attribute__((unused)) static int dominant(const matrix *A)
{
    const double *val = A->entries.val;
    for (int64_t r = 0; r < A->shape.m; r++) {
        double sum = 0;
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++)
            sum += A->entries.colind[i] == r ? val[i] : -fabs(val[i]);
        if (!(sum > 0)) return 0;
    }
    return 1;
}

#endif
