/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intel MKL: SpGEMM by mkl_sparse_spmm or, with --variant sp2m, by mkl_sparse_sp2m in two stages, rows put in order by
 * mkl_sparse_order; with --variant transposed, as the transpose of B^T A^T, which puts rows in order by itself. SpMM by
 * mkl_sparse_?_mm after mkl_sparse_set_mm_hint and mkl_sparse_optimize.
 */
#include <mkl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"

struct product {
    rival_case *work;
    sparse_matrix_t A, B, C;
    struct matrix_descr general;
    void *dense; /* C of SpMM */
    int two_stages, transposed;
};

static void check(sparse_status_t status, const char *what)
{
    if (status != SPARSE_STATUS_SUCCESS) rival_die("MKL: %s gave %d", what, (int)status);
}

#define CHECK(call) check(call, #call)

static sparse_matrix_t make_sparse(const rival_csr *A, int f64)
{
    sparse_matrix_t matrix;
    MKL_INT *rowptr = malloc(((size_t)A->m + 1) * sizeof *rowptr);
    if (!rowptr) rival_die("out of memory");
    if (A->nnz > INT32_MAX) rival_die("MKL: over 2^31 entries need the 64-bit interface");
    for (int64_t r = 0; r <= A->m; r++) rowptr[r] = (MKL_INT)A->rowptr[r];
    if (f64)
        CHECK(mkl_sparse_d_create_csr(
            &matrix, SPARSE_INDEX_BASE_ZERO, (MKL_INT)A->m, (MKL_INT)A->n, rowptr, rowptr + 1, A->colind, A->val));
    else
        CHECK(mkl_sparse_s_create_csr(
            &matrix, SPARSE_INDEX_BASE_ZERO, (MKL_INT)A->m, (MKL_INT)A->n, rowptr, rowptr + 1, A->colind, A->val));
    CHECK(mkl_sparse_order(matrix)); /* tells MKL that rows are in order */
    return matrix;
}

static void multiply_sparse(void *context, double *seconds, double *extra)
{
    struct product *p = context;
    if (p->C) CHECK(mkl_sparse_destroy(p->C));
    p->C = NULL;
    double start = rival_now();
    if (p->two_stages) {
        const sparse_operation_t plain = SPARSE_OPERATION_NON_TRANSPOSE;
        CHECK(mkl_sparse_sp2m(plain, p->general, p->A, plain, p->general, p->B, SPARSE_STAGE_NNZ_COUNT, &p->C));
        CHECK(mkl_sparse_sp2m(plain, p->general, p->A, plain, p->general, p->B, SPARSE_STAGE_FINALIZE_MULT, &p->C));
    } else {
        CHECK(mkl_sparse_spmm(SPARSE_OPERATION_NON_TRANSPOSE, p->A, p->B, &p->C));
    }
    double multiplied = rival_now();
    if (p->transposed) {
        sparse_matrix_t turned = p->C;
        p->C = NULL; /* MKL takes a handle that it finds there for a matrix to reuse */
        CHECK(mkl_sparse_convert_csr(turned, SPARSE_OPERATION_TRANSPOSE, &p->C));
        CHECK(mkl_sparse_destroy(turned));
    } else {
        CHECK(mkl_sparse_order(p->C));
    }
    double end = rival_now();
    *seconds = end - start;
    *extra = end - multiplied;
}

static void multiply_dense(void *context, double *seconds, double *extra)
{
    struct product *p = context;
    rival_case *work = p->work;
    MKL_INT cols = (MKL_INT)work->cols;
    size_t count = (size_t)work->A.m * (size_t)work->cols;
    (void)extra;
    free(p->dense);
    double start = rival_now();
    p->dense = malloc(count * (work->f64 ? sizeof(double) : sizeof(float)));
    if (!p->dense) rival_die("out of memory");
    if (work->f64)
        CHECK(mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1, p->A, p->general, SPARSE_LAYOUT_ROW_MAJOR, work->B_f64,
            cols, cols, 0, p->dense, cols));
    else
        CHECK(mkl_sparse_s_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1, p->A, p->general, SPARSE_LAYOUT_ROW_MAJOR, work->B_f32,
            cols, cols, 0, p->dense, cols));
    *seconds = rival_now() - start;
}

static void result(struct product *p)
{
    rival_case *work = p->work;
    sparse_index_base_t base;
    MKL_INT rows, cols, *start, *end, *colind;
    double *val64 = NULL;
    float *val32 = NULL;
    if (work->f64)
        CHECK(mkl_sparse_d_export_csr(p->C, &base, &rows, &cols, &start, &end, &colind, &val64));
    else
        CHECK(mkl_sparse_s_export_csr(p->C, &base, &rows, &cols, &start, &end, &colind, &val32));
    for (MKL_INT r = 0; r < rows; r++) {
        for (MKL_INT i = start[r] + 1; i < end[r]; i++)
            if (colind[i] <= colind[i - 1]) rival_die("MKL: row %d is not in order", (int)r);
        work->nnz_c += end[r] - start[r];
    }
    rival_checksum(work, work->f64 ? (const void *)val64 : (const void *)val32, work->nnz_c);
}

/* The one of MKL's kernel libraries that this process has loaded, by its map: MKL picks one by the processor. */
static void kernels(char *list, size_t size)
{
    char line[1024];
    FILE *map = fopen("/proc/self/maps", "r");
    *list = '\0';
    while (map && fgets(line, sizeof line, map)) {
        const char *name = strstr(line, "libmkl_");
        if (!name) continue;
        name += strlen("libmkl_");
        size_t length = strcspn(name, ".");
        static const char *const others[] = {"core", "intel_lp64", "intel_thread", "gnu_thread"};
        int known = 0;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known = known || (strlen(others[i]) == length && !strncmp(name, others[i], length));
        char word[32];
        snprintf(word, sizeof word, " %.*s", (int)length, name);
        if (!known && !strstr(list, word) && strlen(list) + strlen(word) < size) strcat(list, word);
    }
    if (map) fclose(map);
    if (!*list) snprintf(list, size, " none");
}

int main(int argc, char **argv)
{
    static rival_case work;
    MKLVersion version;
    struct product p = {.work = &work, .general = {.type = SPARSE_MATRIX_TYPE_GENERAL}};
    rival_environment(argc, argv, 1);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--variant")) {
            p.two_stages = !strcmp(argv[i + 1], "sp2m");
            p.transposed = !strcmp(argv[i + 1], "transposed");
        }
    rival_open(&work, "mkl", argc, argv, 0, 1);
    mkl_set_num_threads(work.threads);
    mkl_get_version(&version);
    snprintf(work.version, sizeof work.version, "%d.%d.%d build %s", version.MajorVersion, version.MinorVersion,
        version.UpdateVersion, version.Build);
    double start = rival_now();
    rival_csr left = work.A, right = work.B;
    if (p.transposed && !work.spmm) {
        rival_transpose(&work.B, work.f64, &left);
        rival_transpose(&work.A, work.f64, &right);
    }
    p.A = make_sparse(&left, work.f64);
    if (work.spmm) {
        CHECK(mkl_sparse_set_mm_hint(
            p.A, SPARSE_OPERATION_NON_TRANSPOSE, p.general, SPARSE_LAYOUT_ROW_MAJOR, (MKL_INT)work.cols, 1000));
        CHECK(mkl_sparse_optimize(p.A));
    } else {
        p.B = work.transposed || p.transposed ? make_sparse(&right, work.f64) : p.A;
        work.has_extra = 1;
    }
    work.setup = rival_now() - start;
    rival_measure(&work, work.spmm ? multiply_dense : multiply_sparse, &p);
    if (work.spmm) {
        work.nnz_c = work.A.m * work.cols;
        rival_checksum(&work, p.dense, work.nnz_c);
    } else {
        result(&p);
    }
    char loaded[96];
    kernels(loaded, sizeof loaded);
    snprintf(work.code_path, sizeof work.code_path,
        "%s; MKL's processor: %s; kernel libraries loaded:%s; threads by %s",
        work.spmm      ? "mkl_sparse_mm with hint and optimize"
        : p.two_stages ? "mkl_sparse_sp2m in two stages, order"
        : p.transposed ? "mkl_sparse_spmm of the transposes, transposed by mkl_sparse_convert_csr"
                       : "mkl_sparse_spmm, order",
        version.Processor, loaded, RIVAL_LAYER);
    rival_report(&work);
    return 0;
}
