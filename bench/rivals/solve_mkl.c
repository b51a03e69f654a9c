/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel MKL: mkl_sparse_d_trsv, or mkl_sparse_d_trsm for several right-hand sides, after hints and mkl_sparse_optimize.
 * With --variant spmv, T X instead (mkl_sparse_d_mv or _mm): what no solve by as many threads can be faster than.
 */
#include <mkl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"

struct solve {
    rival_case *work;
    sparse_matrix_t T;
    struct matrix_descr triangular, general;
    double *X;
    int product;
};

static void check(sparse_status_t status, const char *what)
{
    if (status != SPARSE_STATUS_SUCCESS) rival_die("MKL: %s gave %d", what, (int)status);
}

#define CHECK(call) check(call, #call)

static const sparse_operation_t plain = SPARSE_OPERATION_NON_TRANSPOSE;

static void prepare(struct solve *s)
{
    const rival_csr *A = &s->work->A;
    MKL_INT cols = (MKL_INT)s->work->cols, *rowptr = malloc(((size_t)A->m + 1) * sizeof *rowptr);
    if (!rowptr) rival_die("out of memory");
    if (A->nnz > INT32_MAX) rival_die("MKL: over 2^31 entries need the 64-bit interface");
    for (int64_t r = 0; r <= A->m; r++) rowptr[r] = (MKL_INT)A->rowptr[r];
    CHECK(mkl_sparse_d_create_csr(
        &s->T, SPARSE_INDEX_BASE_ZERO, (MKL_INT)A->m, (MKL_INT)A->n, rowptr, rowptr + 1, A->colind, A->val));
    if (s->product && cols == 1)
        CHECK(mkl_sparse_set_mv_hint(s->T, plain, s->general, 1000));
    else if (s->product)
        CHECK(mkl_sparse_set_mm_hint(s->T, plain, s->general, SPARSE_LAYOUT_ROW_MAJOR, cols, 1000));
    else if (cols == 1)
        CHECK(mkl_sparse_set_sv_hint(s->T, plain, s->triangular, 1000));
    else
        CHECK(mkl_sparse_set_sm_hint(s->T, plain, s->triangular, SPARSE_LAYOUT_ROW_MAJOR, cols, 1000));
    CHECK(mkl_sparse_optimize(s->T));
}

static void run(void *context, double *seconds, double *extra)
{
    struct solve *s = context;
    MKL_INT cols = (MKL_INT)s->work->cols;
    const double *B = s->work->B_f64;
    (void)extra;
    double start = rival_now();
    if (s->product && cols == 1)
        CHECK(mkl_sparse_d_mv(plain, 1, s->T, s->general, B, 0, s->X));
    else if (s->product)
        CHECK(mkl_sparse_d_mm(plain, 1, s->T, s->general, SPARSE_LAYOUT_ROW_MAJOR, B, cols, cols, 0, s->X, cols));
    else if (cols == 1)
        CHECK(mkl_sparse_d_trsv(plain, 1, s->T, s->triangular, B, s->X));
    else
        CHECK(mkl_sparse_d_trsm(plain, 1, s->T, s->triangular, SPARSE_LAYOUT_ROW_MAJOR, B, cols, cols, s->X, cols));
    *seconds = rival_now() - start;
}

int main(int argc, char **argv)
{
    static rival_case work;
    MKLVersion version;
    struct solve s = {.work = &work, .general = {.type = SPARSE_MATRIX_TYPE_GENERAL}};
    rival_environment(argc, argv, 1);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--variant")) s.product = !strcmp(argv[i + 1], "spmv");
    rival_open(&work, "mkl", argc, argv, 0, 1);
    if (!work.solve) rival_die("bench_solve_mkl: --op solve");
    mkl_set_num_threads(work.threads);
    mkl_get_version(&version);
    snprintf(work.version, sizeof work.version, "%d.%d.%d build %s", version.MajorVersion, version.MinorVersion,
        version.UpdateVersion, version.Build);
    s.triangular = (struct matrix_descr){.type = SPARSE_MATRIX_TYPE_TRIANGULAR,
        .mode = SPARSE_FILL_MODE_LOWER,
        .diag = work.unit ? SPARSE_DIAG_UNIT : SPARSE_DIAG_NON_UNIT};
    work.nnz_c = work.A.m * work.cols;
    s.X = calloc((size_t)work.nnz_c, sizeof *s.X);
    if (!s.X) rival_die("out of memory");
    work.flops = 2.0 * (double)work.A.nnz * (double)work.cols;
    double start = rival_now();
    prepare(&s);
    work.setup = rival_now() - start;
    rival_measure(&work, run, &s);
    rival_checksum(&work, s.X, work.nnz_c);
    snprintf(work.code_path, sizeof work.code_path, "%s with hint and optimize; MKL's processor: %s; threads by %s",
        s.product ? "mkl_sparse_d_mv or mm" : "mkl_sparse_d_trsv or trsm", version.Processor, RIVAL_LAYER);
    rival_report(&work);
    return 0;
}
