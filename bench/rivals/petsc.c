/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc: MatMatMult with MAT_INITIAL_MATRIX on any number of MPI ranks, AIJ times AIJ or AIJ times DENSE. B and C of
 * SpMM are column-major, PETSc's only dense storage; B holds the same numbers. Other algorithms: --petsc-algorithm
 * NAME. --op krylov is another program (petsc_krylov.h).
 */
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "petsc_krylov.h"
#include "rival.h"

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (call) rival_die("PETSc: %s failed", #call);                                                                \
    } while (0)

struct product {
    rival_case *work;
    Mat A, B, C;
};

static int share(int64_t n, int rank, int ranks)
{
    return (int)(n * rank / ranks);
}

/* Each rank takes its rows, counted ahead exactly. */
static Mat make_sparse(const rival_csr *A, int rank, int ranks)
{
    Mat matrix;
    int r0 = share(A->m, rank, ranks), r1 = share(A->m, rank + 1, ranks);
    int c0 = share(A->n, rank, ranks), c1 = share(A->n, rank + 1, ranks);
    PetscInt *rowptr = malloc((size_t)(r1 - r0 + 1) * sizeof *rowptr);
    if (!rowptr) rival_die("out of memory");
    for (int r = r0; r <= r1; r++) rowptr[r - r0] = (PetscInt)(A->rowptr[r] - A->rowptr[r0]);
    CHECK(MatCreate(PETSC_COMM_WORLD, &matrix));
    CHECK(MatSetSizes(matrix, r1 - r0, c1 - c0, (PetscInt)A->m, (PetscInt)A->n));
    CHECK(MatSetType(matrix, MATAIJ));
    const int32_t *colind = A->colind + A->rowptr[r0];
    const double *val = (const double *)A->val + A->rowptr[r0];
    CHECK(MatSeqAIJSetPreallocationCSR(matrix, rowptr, colind, val));
    CHECK(MatMPIAIJSetPreallocationCSR(matrix, rowptr, colind, val));
    CHECK(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
    CHECK(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
    free(rowptr);
    return matrix;
}

static Mat make_dense(const rival_case *work)
{
    Mat matrix;
    PetscScalar *val;
    PetscInt leading;
    int r0 = share(work->A.n, work->rank, work->ranks), r1 = share(work->A.n, work->rank + 1, work->ranks);
    CHECK(MatCreateDense(
        PETSC_COMM_WORLD, r1 - r0, PETSC_DECIDE, (PetscInt)work->A.n, (PetscInt)work->cols, NULL, &matrix));
    CHECK(MatDenseGetLDA(matrix, &leading));
    CHECK(MatDenseGetArrayWrite(matrix, &val));
    for (int r = r0; r < r1; r++)
        for (int64_t c = 0; c < work->cols; c++) val[c * leading + r - r0] = work->B_f64[r * work->cols + c];
    CHECK(MatDenseRestoreArrayWrite(matrix, &val));
    CHECK(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
    CHECK(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
    return matrix;
}

static void multiply(void *context, double *seconds, double *extra)
{
    struct product *p = context;
    (void)extra;
    if (p->C) CHECK(MatDestroy(&p->C));
    MPI_Barrier(PETSC_COMM_WORLD);
    double start = rival_now(), mine;
    CHECK(MatMatMult(p->A, p->B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &p->C));
    mine = rival_now() - start;
    MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
}

/* Adds one sequential part of C. */
static void add_part(rival_case *work, Mat part)
{
    PetscInt rows;
    const PetscInt *rowptr, *colind;
    const PetscScalar *val;
    PetscBool done;
    CHECK(MatGetRowIJ(part, 0, PETSC_FALSE, PETSC_FALSE, &rows, &rowptr, &colind, &done));
    CHECK(MatSeqAIJGetArrayRead(part, &val));
    work->nnz_c += rowptr[rows];
    rival_checksum(work, val, rowptr[rows]);
    CHECK(MatSeqAIJRestoreArrayRead(part, &val));
    CHECK(MatRestoreRowIJ(part, 0, PETSC_FALSE, PETSC_FALSE, &rows, &rowptr, &colind, &done));
}

static void result(struct product *p)
{
    rival_case *work = p->work;
    if (work->spmm) {
        const PetscScalar *val;
        PetscInt leading, rows;
        CHECK(MatGetLocalSize(p->C, &rows, NULL));
        CHECK(MatDenseGetLDA(p->C, &leading));
        CHECK(MatDenseGetArrayRead(p->C, &val));
        for (int64_t c = 0; c < work->cols; c++) rival_checksum(work, val + c * leading, rows);
        work->nnz_c = (int64_t)rows * work->cols;
        CHECK(MatDenseRestoreArrayRead(p->C, &val));
    } else if (work->ranks == 1) {
        add_part(work, p->C);
    } else {
        Mat diagonal, other;
        const PetscInt *map;
        CHECK(MatMPIAIJGetSeqAIJ(p->C, &diagonal, &other, &map));
        add_part(work, diagonal);
        add_part(work, other);
    }
    MPI_Allreduce(MPI_IN_PLACE, &work->nnz_c, 1, MPI_INT64_T, MPI_SUM, PETSC_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &work->sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &work->sum_abs, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static rival_case work;
    const char *algorithm = NULL;
    int rank, ranks;
    rival_environment(argc, argv, 0);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--petsc-algorithm")) algorithm = argv[i + 1];
    int none = 0;
    char **nothing = NULL;
    if (PetscInitialize(&none, &nothing, NULL, NULL)) return 1;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--op") && !strcmp(argv[i + 1], "krylov")) return petsc_krylov(argc, argv);
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    rival_open(&work, "petsc", argc, argv, rank, ranks);
    if (!work.f64) rival_die("PETSc here is built for f64 only");
    if (work.A.nnz > INT32_MAX || work.A.m > INT32_MAX) rival_die("PETSc here has 32-bit indices");
    work.threads = 1;
    snprintf(work.version, sizeof work.version, "%d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
        PETSC_VERSION_SUBMINOR);
    if (algorithm && !work.spmm) {
        CHECK(PetscOptionsSetValue(NULL, "-matmatmult_via", algorithm));
        CHECK(PetscOptionsSetValue(NULL, "-mat_product_algorithm", algorithm));
    }
    snprintf(work.code_path, sizeof work.code_path, "MatMatMult, %s, algorithm %s, as the distribution builds it",
        work.spmm ? "AIJ x DENSE" : "AIJ x AIJ", algorithm && !work.spmm ? algorithm : "default");
    double start = rival_now();
    struct product p = {.work = &work};
    p.A = make_sparse(&work.A, rank, ranks);
    p.B = work.spmm ? make_dense(&work) : work.transposed ? make_sparse(&work.B, rank, ranks) : p.A;
    work.setup = rival_now() - start;
    rival_measure(&work, multiply, &p);
    result(&p);
    rival_report(&work);
    CHECK(MatDestroy(&p.C));
    return PetscFinalize() ? 1 : 0;
}
