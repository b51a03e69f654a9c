/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SuiteSparse:GraphBLAS: GrB_mxm with plus-times, C by row, finished by GrB_wait. The few functions of the GraphBLAS C
 * API that are needed are declared here, since the library that the Python package ships has no header beside it; they
 * are the same in versions 7 and 10.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"

typedef struct GB_Matrix_opaque *GrB_Matrix;
typedef struct GB_Type_opaque *GrB_Type;
typedef struct GB_BinaryOp_opaque *GrB_BinaryOp;
typedef struct GB_Semiring_opaque *GrB_Semiring;
typedef struct GB_Descriptor_opaque *GrB_Descriptor;
typedef uint64_t GrB_Index;

extern GrB_Type GrB_FP64, GrB_FP32;
extern GrB_BinaryOp GrB_PLUS_FP64, GrB_PLUS_FP32;
extern GrB_Semiring GrB_PLUS_TIMES_SEMIRING_FP64, GrB_PLUS_TIMES_SEMIRING_FP32;
int GrB_init(int mode);
int GrB_Matrix_new(GrB_Matrix *A, GrB_Type type, GrB_Index nrows, GrB_Index ncols);
int GrB_Matrix_free(GrB_Matrix *A);
int GrB_Matrix_build_FP64(
    GrB_Matrix C, const GrB_Index *I, const GrB_Index *J, const double *X, GrB_Index nvals, GrB_BinaryOp dup);
int GrB_Matrix_build_FP32(
    GrB_Matrix C, const GrB_Index *I, const GrB_Index *J, const float *X, GrB_Index nvals, GrB_BinaryOp dup);
int GrB_Matrix_wait(GrB_Matrix A, int mode);
int GrB_Matrix_nvals(GrB_Index *nvals, const GrB_Matrix A);
int GrB_Matrix_extractTuples_FP64(GrB_Index *I, GrB_Index *J, double *X, GrB_Index *nvals, const GrB_Matrix A);
int GrB_Matrix_extractTuples_FP32(GrB_Index *I, GrB_Index *J, float *X, GrB_Index *nvals, const GrB_Matrix A);
int GrB_mxm(GrB_Matrix C, const GrB_Matrix mask, const GrB_BinaryOp accum, const GrB_Semiring semiring,
    const GrB_Matrix A, const GrB_Matrix B, const GrB_Descriptor desc);
int GxB_Matrix_pack_FullR(GrB_Matrix A, void **Ax, GrB_Index Ax_size, bool iso, const GrB_Descriptor desc);
int GxB_Global_Option_set_INT32(int field, int32_t value);

enum { NONBLOCKING = 0, MATERIALIZE = 1 };

static void check(int info, const char *what)
{
    if (info != 0) rival_die("GraphBLAS: %s gave %d", what, info);
}

#define CHECK(call) check(call, #call)

struct product {
    rival_case *work;
    GrB_Matrix A, B, C;
    GrB_Semiring semiring;
};

/* From tuples, so that the library chooses its own form of the matrix. */
static GrB_Matrix make_sparse(const rival_csr *A, int f64)
{
    GrB_Matrix matrix;
    GrB_Index *row = malloc(((size_t)A->nnz + 1) * sizeof *row), *col = malloc(((size_t)A->nnz + 1) * sizeof *col);
    if (!row || !col) rival_die("out of memory");
    for (int64_t r = 0; r < A->m; r++)
        for (int64_t i = A->rowptr[r]; i < A->rowptr[r + 1]; i++) {
            row[i] = (GrB_Index)r;
            col[i] = (GrB_Index)A->colind[i];
        }
    CHECK(GrB_Matrix_new(&matrix, f64 ? GrB_FP64 : GrB_FP32, (GrB_Index)A->m, (GrB_Index)A->n));
    if (f64)
        CHECK(GrB_Matrix_build_FP64(matrix, row, col, A->val, (GrB_Index)A->nnz, GrB_PLUS_FP64));
    else
        CHECK(GrB_Matrix_build_FP32(matrix, row, col, A->val, (GrB_Index)A->nnz, GrB_PLUS_FP32));
    CHECK(GrB_Matrix_wait(matrix, MATERIALIZE));
    free(row);
    free(col);
    return matrix;
}

static GrB_Matrix make_dense(const rival_case *work)
{
    GrB_Matrix matrix;
    size_t bytes = (size_t)work->A.n * (size_t)work->cols * (work->f64 ? sizeof(double) : sizeof(float));
    void *copy = malloc(bytes); /* becomes the matrix's */
    if (!copy) rival_die("out of memory");
    memcpy(copy, work->f64 ? (const void *)work->B_f64 : (const void *)work->B_f32, bytes);
    CHECK(GrB_Matrix_new(&matrix, work->f64 ? GrB_FP64 : GrB_FP32, (GrB_Index)work->A.n, (GrB_Index)work->cols));
    CHECK(GxB_Matrix_pack_FullR(matrix, &copy, bytes, false, NULL));
    return matrix;
}

static void multiply(void *context, double *seconds, double *extra)
{
    struct product *p = context;
    rival_case *work = p->work;
    (void)extra;
    if (p->C) CHECK(GrB_Matrix_free(&p->C));
    double start = rival_now();
    CHECK(GrB_Matrix_new(&p->C, work->f64 ? GrB_FP64 : GrB_FP32, (GrB_Index)work->A.m,
        (GrB_Index)(work->spmm ? work->cols : work->B.n)));
    CHECK(GrB_mxm(p->C, NULL, NULL, p->semiring, p->A, p->B, NULL));
    CHECK(GrB_Matrix_wait(p->C, MATERIALIZE));
    *seconds = rival_now() - start;
}

int main(int argc, char **argv)
{
    static rival_case work;
    rival_environment(argc, argv, 1);
    rival_open(&work, RIVAL_NAME, argc, argv, 0, 1);
    snprintf(work.version, sizeof work.version, "%s", RIVAL_VERSION);
    snprintf(work.code_path, sizeof work.code_path, "GrB_mxm, built-in plus-times kernels, default method, C by row");
    CHECK(GrB_init(NONBLOCKING));
    if (getenv("RIVAL_BURBLE")) {
        (void)GxB_Global_Option_set_INT32(99, 1);
        (void)GxB_Global_Option_set_INT32(7019, 1);
    }
    double start = rival_now();
    struct product p = {.work = &work};
    p.semiring = work.f64 ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32;
    p.A = make_sparse(&work.A, work.f64);
    p.B = work.spmm ? make_dense(&work) : work.transposed ? make_sparse(&work.B, work.f64) : p.A;
    work.setup = rival_now() - start;
    rival_measure(&work, multiply, &p);
    GrB_Index count;
    CHECK(GrB_Matrix_nvals(&count, p.C));
    work.nnz_c = (int64_t)count;
    void *val = malloc(((size_t)count + 1) * (work.f64 ? sizeof(double) : sizeof(float)));
    if (!val) rival_die("out of memory");
    if (work.f64)
        CHECK(GrB_Matrix_extractTuples_FP64(NULL, NULL, val, &count, p.C));
    else
        CHECK(GrB_Matrix_extractTuples_FP32(NULL, NULL, val, &count, p.C));
    rival_checksum(&work, val, (int64_t)count);
    rival_report(&work);
    return 0;
}
