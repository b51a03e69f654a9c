/* SPDX-License-Identifier: Apache-2.0 */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "io/mtx/mtx.h"

static int compare(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Sorts the columns of each row, drops repetitions and fills the values. */
static tulle_status finish(bench_matrix *A)
{
    int64_t to = 0, begin = 0;
    for (int64_t i = 0; i < A->n; i++) {
        int64_t end = A->rowptr[i + 1];
        qsort(A->colind + begin, (size_t)(end - begin), sizeof *A->colind, compare);
        int32_t last = -1;
        for (int64_t a = begin; a < end; a++)
            if (A->colind[a] != last) A->colind[to++] = last = A->colind[a];
        begin = end;
        A->rowptr[i + 1] = to;
    }
    A->nnz = to;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)to, sizeof *A->val, "values", &A->val));
    TULLE_TRY(tulle__alloc((size_t)to, sizeof *A->val32, "values", &A->val32));
    for (int64_t a = 0; a < to; a++) {
        A->val[a] = tulle__random_unit(tulle__random_at(7, 1, (uint64_t)a)) + 0.5;
        A->val32[a] = (float)A->val[a];
    }
out:
    return status;
}

/* n rows from a list of nedges (row, column) pairs. */
static tulle_status from_edges(int64_t n, int64_t nedges, const int32_t *row, const int32_t *col, bench_matrix *A)
{
    tulle_status status;
    int64_t *next = NULL;
    A->n = n;
    TULLE_TRY(tulle__alloc_zero((size_t)n + 1, sizeof *A->rowptr, "row pointers", &A->rowptr));
    TULLE_TRY(tulle__alloc((size_t)nedges, sizeof *A->colind, "columns", &A->colind));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *next, "cursors", &next));
    for (int64_t e = 0; e < nedges; e++) A->rowptr[row[e] + 1]++;
    for (int64_t i = 0; i < n; i++) A->rowptr[i + 1] += A->rowptr[i];
    memcpy(next, A->rowptr, (size_t)n * sizeof *next);
    for (int64_t e = 0; e < nedges; e++) A->colind[next[row[e]]++] = col[e];
    status = finish(A);
out:
    tulle__free(next);
    return status;
}

static void rmat_edge(int scale, uint64_t seed, uint64_t edge, int32_t *row, int32_t *col)
{
    uint32_t r = 0, c = 0;
    for (int level = 0; level < scale; level++) {
        double u = tulle__random_unit(tulle__random_at(seed, (uint64_t)level, edge));
        uint32_t quadrant = u < 0.57 ? 0 : u < 0.76 ? 1 : u < 0.95 ? 2 : 3;
        r = r * 2 + (quadrant >> 1);
        c = c * 2 + (quadrant & 1);
    }
    *row = (int32_t)r;
    *col = (int32_t)c;
}

static tulle_status edges(int uniform, int relabel, int64_t n, int scale, int64_t nedges, bench_matrix *A)
{
    int32_t *row = NULL, *col = NULL, *label = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)nedges, sizeof *row, "edges", &row));
    TULLE_TRY(tulle__alloc((size_t)nedges, sizeof *col, "edges", &col));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *label, "labels", &label));
    for (int64_t i = 0; i < n; i++) label[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0 && relabel; i--) {
        int64_t j = (int64_t)tulle__random_below(tulle__random_at(3, 0, (uint64_t)i), (uint64_t)i + 1);
        int32_t other = label[j];
        label[j] = label[i];
        label[i] = other;
    }
    for (int64_t e = 0; e < nedges; e++) {
        if (uniform) {
            row[e] = (int32_t)(e % n);
            col[e] = (int32_t)tulle__random_below(tulle__random_at(5, 0, (uint64_t)e), (uint64_t)n);
        } else {
            rmat_edge(scale, 1, (uint64_t)e, &row[e], &col[e]);
            row[e] = label[row[e]];
            col[e] = label[col[e]];
        }
    }
    status = from_edges(n, nedges, row, col, A);
out:
    tulle__free(row);
    tulle__free(col);
    tulle__free(label);
    return status;
}

/* 27-point stencil on side^3 nodes with dof unknowns a node. */
static tulle_status fem(int32_t side, int32_t dof, bench_matrix *A)
{
    tulle_status status;
    A->n = (int64_t)side * side * side * dof;
    TULLE_TRY(tulle__alloc_zero((size_t)A->n + 1, sizeof *A->rowptr, "row pointers", &A->rowptr));
    TULLE_TRY(tulle__alloc((size_t)A->n * 27 * (size_t)dof, sizeof *A->colind, "columns", &A->colind));
    int64_t nnz = 0;
    for (int64_t i = 0; i < A->n; i++) {
        int32_t node = (int32_t)(i / dof), x = node % side, y = node / side % side, z = node / side / side;
        for (int32_t near = 0; near < 27; near++) {
            int32_t u = x + near % 3 - 1, v = y + near / 3 % 3 - 1, w = z + near / 9 - 1;
            if (u < 0 || v < 0 || w < 0 || u >= side || v >= side || w >= side) continue;
            for (int32_t d = 0; d < dof; d++) A->colind[nnz++] = ((w * side + v) * side + u) * dof + d;
        }
        A->rowptr[i + 1] = nnz;
    }
    status = finish(A);
out:
    return status;
}

/* The entries of a file, mirrored; values are made here, as for the others. */
static tulle_status from_file(const char *path, bench_matrix *A)
{
    tulle__mtx *mtx = NULL;
    tulle__entries entries = {0};
    tulle__mtx_stats stats;
    int32_t *row = NULL, *col = NULL;
    tulle_status status;
    TULLE_TRY(tulle__mtx_open(path, NULL, &mtx));
    const tulle__mtx_header *head = tulle__mtx_head(mtx);
    if (head->rows != head->cols || head->array) {
        status = tulle__fail(TULLE_ERR_ARG, "%s: not a square sparse matrix", path);
        goto out;
    }
    TULLE_TRY(tulle__mtx_parse(mtx, 0, 1, TULLE_F64, &entries, &stats));
    TULLE_TRY(tulle__alloc((size_t)entries.count * 2, sizeof *row, "edges", &row));
    TULLE_TRY(tulle__alloc((size_t)entries.count * 2, sizeof *col, "edges", &col));
    int64_t n = 0;
    for (int64_t e = 0; e < entries.count; e++) {
        int32_t i = (int32_t)tulle__entries_row(&entries, e), j = (int32_t)tulle__entries_col(&entries, e);
        row[n] = i;
        col[n++] = j;
        if (head->symmetry == TULLE__MTX_GENERAL || i == j) continue;
        row[n] = j;
        col[n++] = i;
    }
    status = from_edges(head->rows, n, row, col, A);
out:
    tulle__entries_fini(&entries);
    tulle__mtx_close(mtx);
    tulle__free(row);
    tulle__free(col);
    return status;
}

tulle_status bench_matrix_make(const char *name, int shrink, bench_matrix *A)
{
    *A = (bench_matrix){0};
    int64_t n = (int64_t)131072 >> shrink;
    if (!strcmp(name, "rmat")) return edges(0, 0, n, 17 - shrink, 8 * n, A);
    if (!strcmp(name, "rmat-relabelled")) return edges(0, 1, n, 17 - shrink, 8 * n, A);
    if (!strcmp(name, "er")) return edges(1, 0, 1000000 >> shrink, 0, 8 * (int64_t)(1000000 >> shrink), A);
    if (!strcmp(name, "fem1")) return fem(64 >> shrink, 1, A);
    if (!strcmp(name, "fem3")) return fem(40 >> shrink, 3, A);
    return from_file(name, A);
}

void bench_matrix_free(bench_matrix *A)
{
    tulle__free(A->rowptr);
    tulle__free(A->colind);
    tulle__free(A->val);
    tulle__free(A->val32);
}

tulle__csr bench_matrix_csr(const bench_matrix *A, tulle_type type)
{
    const void *val = type == TULLE_F32 ? (const void *)A->val32 : (const void *)A->val;
    return (tulle__csr){.m = A->n, .n = A->n, .rowptr = A->rowptr, .colind = A->colind, .val = val};
}
