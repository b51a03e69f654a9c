/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel MKL: products of a matrix in blocks (--block B) with --cols K columns, by mkl_sparse_d_mv or _mm after hints
 * and mkl_sparse_optimize. --variant bsr (or csr if B is 1), or half: the upper triangle, as a symmetric matrix.
 */
#include <mkl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival_blocks.h"

struct product {
    rival_case *work;
    sparse_matrix_t A;
    struct matrix_descr how;
    double *Y;
};

static void check(sparse_status_t status, const char *what)
{
    if (status != SPARSE_STATUS_SUCCESS) rival_die("MKL: %s gave %d", what, (int)status);
}

#define CHECK(call) check(call, #call)

static const sparse_operation_t plain = SPARSE_OPERATION_NON_TRANSPOSE;

static void prepare(struct product *p, int b, int half)
{
    const rival_csr *A = &p->work->A;
    MKL_INT m = (MKL_INT)(A->m / b), cols = (MKL_INT)p->work->cols;
    rival_blocks B = rival_blocks_of(A, b, half, 0, m);
    if (b == 1)
        CHECK(mkl_sparse_d_create_csr(&p->A, SPARSE_INDEX_BASE_ZERO, m, m, B.rowptr, B.rowptr + 1, B.colind, B.val));
    else
        CHECK(mkl_sparse_d_create_bsr(
            &p->A, SPARSE_INDEX_BASE_ZERO, SPARSE_LAYOUT_ROW_MAJOR, m, m, b, B.rowptr, B.rowptr + 1, B.colind, B.val));
    if (cols == 1)
        CHECK(mkl_sparse_set_mv_hint(p->A, plain, p->how, 1000));
    else
        CHECK(mkl_sparse_set_mm_hint(p->A, plain, p->how, SPARSE_LAYOUT_ROW_MAJOR, cols, 1000));
    CHECK(mkl_sparse_optimize(p->A));
}

static void run(void *context, double *seconds, double *extra)
{
    struct product *p = context;
    MKL_INT cols = (MKL_INT)p->work->cols;
    (void)extra;
    double start = rival_now();
    if (cols == 1)
        CHECK(mkl_sparse_d_mv(plain, 1, p->A, p->how, p->work->B_f64, 0, p->Y));
    else
        CHECK(mkl_sparse_d_mm(
            plain, 1, p->A, p->how, SPARSE_LAYOUT_ROW_MAJOR, p->work->B_f64, cols, cols, 0, p->Y, cols));
    *seconds = rival_now() - start;
}

int main(int argc, char **argv)
{
    static rival_case work;
    MKLVersion version;
    struct product p = {.work = &work, .how = {.type = SPARSE_MATRIX_TYPE_GENERAL}};
    int b = 1, half = 0;
    rival_environment(argc, argv, 1);
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--block")) b = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--variant")) half = !strcmp(argv[i + 1], "half");
    }
    rival_open(&work, "mkl", argc, argv, 0, 1);
    if (!work.spmm || b < 1 || work.A.m % b || work.A.m != work.A.n) rival_die("bench_blocks_mkl: --op spmm --block B");
    if (half)
        p.how = (struct matrix_descr){
            .type = SPARSE_MATRIX_TYPE_SYMMETRIC, .mode = SPARSE_FILL_MODE_UPPER, .diag = SPARSE_DIAG_NON_UNIT};
    mkl_set_num_threads(work.threads);
    mkl_get_version(&version);
    snprintf(work.version, sizeof work.version, "%d.%d.%d build %s", version.MajorVersion, version.MinorVersion,
        version.UpdateVersion, version.Build);
    work.nnz_c = work.A.m * work.cols;
    p.Y = calloc((size_t)work.nnz_c, sizeof *p.Y);
    if (!p.Y) rival_die("out of memory");
    double start = rival_now();
    prepare(&p, b, half);
    work.setup = rival_now() - start;
    rival_measure(&work, run, &p);
    rival_checksum(&work, p.Y, work.nnz_c);
    snprintf(work.code_path, sizeof work.code_path, "blocks of %d%s; MKL's processor: %s; threads by %s", b,
        half ? ", half" : "", version.Processor, RIVAL_LAYER);
    rival_report(&work);
    return 0;
}
