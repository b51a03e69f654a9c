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
int GrB_Matrix_assign_FP64(GrB_Matrix C, const GrB_Matrix mask, const GrB_BinaryOp accum, double x, const GrB_Index *I,
    GrB_Index ni, const GrB_Index *J, GrB_Index nj, const GrB_Descriptor desc);
extern const GrB_Index *GrB_ALL;
int GrB_Descriptor_new(GrB_Descriptor *descriptor);
int GxB_Desc_set_INT32(GrB_Descriptor desc, int field, int32_t value);

enum { NONBLOCKING = 0, MATERIALIZE = 1 };
#if RIVAL_MAJOR >= 9
enum { SORT = 7091, METHOD = 7090, GUSTAVSON = 7081, HASH = 7084, BURBLE = 7019 };
#else
enum { SORT = 35, METHOD = 1000, GUSTAVSON = 1001, HASH = 1004, BURBLE = 99 };
#endif

/* Settings of the descriptor, chosen by --variant. */
static const struct variant {
    const char *name, *sentence;
    int method, sort, full;
} variants[] = {
    {"default", "default method, order by GrB_wait", 0, 0, 0},
    {"sort", "default method, GxB_SORT", 0, 1, 0},
    {"gustavson", "GxB_AxB_GUSTAVSON, GxB_SORT", GUSTAVSON, 1, 0},
    {"hash", "GxB_AxB_HASH, GxB_SORT", HASH, 1, 0},
    {"full", "default method, C = 0 by assignment and then C += A B", 0, 0, 1},
};

static void check(int info, const char *what)
{
    if (info != 0) rival_die("GraphBLAS: %s gave %d", what, info);
}

#define CHECK(call) check(call, #call)

struct product {
    rival_case *work;
    GrB_Matrix A, B, C;
    GrB_Semiring semiring;
    GrB_BinaryOp accumulate;   /* NULL: C = A B */
    GrB_Descriptor descriptor; /* NULL: the default */
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
    if (p->C) CHECK(GrB_Matrix_free(&p->C));
    double start = rival_now();
    CHECK(GrB_Matrix_new(&p->C, work->f64 ? GrB_FP64 : GrB_FP32, (GrB_Index)work->A.m,
        (GrB_Index)(work->spmm ? work->cols : work->B.n)));
    if (p->accumulate)
        CHECK(GrB_Matrix_assign_FP64(p->C, NULL, NULL, 0, GrB_ALL, (GrB_Index)work->A.m, GrB_ALL,
            (GrB_Index)(work->spmm ? work->cols : work->B.n), NULL));
    CHECK(GrB_mxm(p->C, NULL, p->accumulate, p->semiring, p->A, p->B, p->descriptor));
    double multiplied = rival_now();
    CHECK(GrB_Matrix_wait(p->C, MATERIALIZE));
    double end = rival_now();
    *seconds = end - start;
    *extra = end - multiplied;
}

int main(int argc, char **argv)
{
    static rival_case work;
    rival_environment(argc, argv, 1);
    rival_open(&work, RIVAL_NAME, argc, argv, 0, 1);
    snprintf(work.version, sizeof work.version, "%s", RIVAL_VERSION);
    const struct variant *variant = &variants[0];
    for (int i = 1; i + 1 < argc; i++)
        for (size_t v = 0; v < sizeof variants / sizeof *variants && !strcmp(argv[i], "--variant"); v++)
            if (!strcmp(argv[i + 1], variants[v].name)) variant = &variants[v];
    snprintf(
        work.code_path, sizeof work.code_path, "GrB_mxm, built-in plus-times kernels, C by row, %s", variant->sentence);
    CHECK(GrB_init(NONBLOCKING));
    if (getenv("RIVAL_BURBLE")) (void)GxB_Global_Option_set_INT32(BURBLE, 1);
    double start = rival_now();
    struct product p = {.work = &work};
    p.semiring = work.f64 ? GrB_PLUS_TIMES_SEMIRING_FP64 : GrB_PLUS_TIMES_SEMIRING_FP32;
    if (variant != &variants[0]) {
        CHECK(GrB_Descriptor_new(&p.descriptor));
        CHECK(GxB_Desc_set_INT32(p.descriptor, METHOD, variant->method));
        CHECK(GxB_Desc_set_INT32(p.descriptor, SORT, variant->sort));
    }
    if (variant->full) p.accumulate = work.f64 ? GrB_PLUS_FP64 : GrB_PLUS_FP32;
    work.has_extra = !work.spmm;
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
