/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc: MatMult with a matrix in blocks (--block B) on any number of MPI ranks, each with its rows. --variant bsr
 * (BAIJ; AIJ if B is 1), or half: the upper triangle (SBAIJ). One column (--cols 1).
 */
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival_blocks.h"

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (call) rival_die("PETSc: %s failed", #call);                                                                \
    } while (0)

struct product {
    Mat A;
    Vec x, y;
};

static void prepare(struct product *p, const rival_case *work, int b, int half)
{
    const rival_csr *A = &work->A;
    int64_t m = A->m / b, first = m * work->rank / work->ranks, end = m * (work->rank + 1) / work->ranks;
    rival_blocks B = rival_blocks_of(A, b, half, first, end - first);
    PetscInt rows = (PetscInt)((end - first) * b);
    CHECK(MatCreate(PETSC_COMM_WORLD, &p->A));
    CHECK(MatSetSizes(p->A, rows, rows, (PetscInt)A->m, (PetscInt)A->n));
    CHECK(MatSetType(p->A, half ? MATSBAIJ : b == 1 ? MATAIJ : MATBAIJ));
    if (half) {
        CHECK(MatSeqSBAIJSetPreallocationCSR(p->A, b, B.rowptr, B.colind, B.val));
        CHECK(MatMPISBAIJSetPreallocationCSR(p->A, b, B.rowptr, B.colind, B.val));
    } else if (b == 1) {
        CHECK(MatSeqAIJSetPreallocationCSR(p->A, B.rowptr, B.colind, B.val));
        CHECK(MatMPIAIJSetPreallocationCSR(p->A, B.rowptr, B.colind, B.val));
    } else {
        CHECK(MatSeqBAIJSetPreallocationCSR(p->A, b, B.rowptr, B.colind, B.val));
        CHECK(MatMPIBAIJSetPreallocationCSR(p->A, b, B.rowptr, B.colind, B.val));
    }
    CHECK(MatCreateVecs(p->A, &p->x, &p->y));
    PetscScalar *x;
    CHECK(VecGetArray(p->x, &x));
    for (PetscInt r = 0; r < rows; r++) x[r] = work->B_f64[(first * b + r) * work->cols];
    CHECK(VecRestoreArray(p->x, &x));
    free(B.rowptr);
    free(B.colind);
    free(B.val);
}

static void run(void *context, double *seconds, double *extra)
{
    struct product *p = context;
    (void)extra;
    MPI_Barrier(PETSC_COMM_WORLD);
    double start = rival_now(), mine;
    CHECK(MatMult(p->A, p->x, p->y));
    mine = rival_now() - start;
    MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static rival_case work;
    struct product p = {.A = NULL};
    int b = 1, half = 0, rank, ranks;
    char **nothing = NULL;
    int none = 0;
    PetscInt rows;
    const PetscScalar *y;
    rival_environment(argc, argv, 0);
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--block")) b = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--variant")) half = !strcmp(argv[i + 1], "half");
    }
    if (PetscInitialize(&none, &nothing, NULL, NULL)) return 1;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    rival_open(&work, "petsc", argc, argv, rank, ranks);
    if (!work.spmm || work.cols != 1 || b < 1 || work.A.m % b || work.A.m != work.A.n)
        rival_die("bench_blocks_petsc: --op spmm --cols 1 --block B");
    snprintf(work.version, sizeof work.version, "%d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
        PETSC_VERSION_SUBMINOR);
    double start = rival_now();
    prepare(&p, &work, b, half);
    work.setup = rival_now() - start;
    rival_measure(&work, run, &p);
    CHECK(VecGetLocalSize(p.y, &rows));
    CHECK(VecGetArrayRead(p.y, &y));
    rival_checksum(&work, y, rows);
    MPI_Allreduce(MPI_IN_PLACE, &work.sum, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &work.sum_abs, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD);
    work.nnz_c = work.A.m;
    snprintf(work.code_path, sizeof work.code_path, "MatMult, %s, blocks of %d",
        half     ? "SBAIJ"
        : b == 1 ? "AIJ"
                 : "BAIJ",
        b);
    if (rank == 0) rival_report(&work);
    CHECK(PetscFinalize());
    return 0;
}
