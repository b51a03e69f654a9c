/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SLEPc: the largest eigenpairs of a symmetric matrix by EPSKRYLOVSCHUR, on as many ranks as mpirun starts.
 *
 *   bench_eig_slepc MATRIX OUTPUT COUNT TOLERANCE NCV
 *
 * MATRIX is a file of csrfile.h; OUTPUT receives the values, then the vectors one after the other, doubles. Prints the
 * seconds from the distributed matrix to the pairs, and their number. NCV 0: SLEPc's own choice of the basis.
 */
#include <slepceps.h>
#include <stdio.h>
#include <stdlib.h>

#include "csrfile.h"

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (call) rival_die("SLEPc: %s failed", #call);                                                                \
    } while (0)

/* Each rank's rows. */
static Mat make_matrix(const char *path)
{
    rival_csr A;
    Mat M;
    PetscInt rows = PETSC_DECIDE, all, last = 0;
    const char *wrong = csrfile_read(path, 1, &A);
    if (wrong) rival_die("%s: %s", path, wrong);
    all = (PetscInt)A.m;
    CHECK(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &all));
    CHECK(MPI_Scan(&rows, &last, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    const int64_t *first = A.rowptr + last - rows;
    PetscInt *start = malloc((size_t)(rows + 1) * sizeof *start);
    if (!start) rival_die("out of memory");
    for (PetscInt r = 0; r <= rows; r++) start[r] = (PetscInt)(first[r] - first[0]);
    CHECK(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, rows, rows, all, all, start, (const PetscInt *)A.colind + *first,
        (const double *)A.val + *first, &M));
    CHECK(MatSetOption(M, MAT_SYMMETRIC, PETSC_TRUE));
    free(start);
    free(A.rowptr);
    free(A.colind);
    free(A.val);
    return M;
}

static void write_all(FILE *out, const double *x, size_t count)
{
    if (fwrite(x, sizeof *x, count, out) != count) rival_die("the output cannot be written");
}

/* Values and vectors, gathered on rank 0. */
static void save(EPS eps, Mat M, const char *path, PetscInt count)
{
    Vec x, whole;
    VecScatter gather;
    PetscMPIInt rank;
    PetscInt size;
    CHECK(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    CHECK(MatCreateVecs(M, &x, NULL));
    CHECK(VecScatterCreateToZero(x, &gather, &whole));
    FILE *out = rank == 0 ? fopen(path, "wb") : NULL;
    if (rank == 0 && !out) rival_die("%s cannot be opened", path);
    for (PetscInt i = 0; i < count; i++) {
        PetscScalar value;
        CHECK(EPSGetEigenvalue(eps, i, &value, NULL));
        if (out) write_all(out, &value, 1);
    }
    for (PetscInt i = 0; i < count; i++) {
        const PetscScalar *val;
        CHECK(EPSGetEigenvector(eps, i, x, NULL));
        CHECK(VecScatterBegin(gather, x, whole, INSERT_VALUES, SCATTER_FORWARD));
        CHECK(VecScatterEnd(gather, x, whole, INSERT_VALUES, SCATTER_FORWARD));
        CHECK(VecGetLocalSize(whole, &size));
        CHECK(VecGetArrayRead(whole, &val));
        if (out) write_all(out, val, (size_t)size);
        CHECK(VecRestoreArrayRead(whole, &val));
    }
    if (out && fclose(out)) rival_die("%s cannot be written", path);
    CHECK(VecScatterDestroy(&gather));
    CHECK(VecDestroy(&whole));
    CHECK(VecDestroy(&x));
}

int main(int argc, char **argv)
{
    EPS eps;
    PetscInt count, converged;
    if (argc != 6) rival_die("usage: bench_eig_slepc MATRIX OUTPUT COUNT TOLERANCE NCV");
    CHECK(SlepcInitialize(NULL, NULL, NULL, NULL));
    count = (PetscInt)atoi(argv[3]);
    const PetscInt basis = (PetscInt)atoi(argv[5]);
    Mat M = make_matrix(argv[1]);
    CHECK(MPI_Barrier(PETSC_COMM_WORLD));
    const double begun = MPI_Wtime();
    CHECK(EPSCreate(PETSC_COMM_WORLD, &eps));
    CHECK(EPSSetOperators(eps, M, NULL));
    CHECK(EPSSetProblemType(eps, EPS_HEP));
    CHECK(EPSSetType(eps, EPSKRYLOVSCHUR));
    CHECK(EPSSetWhichEigenpairs(eps, EPS_LARGEST_REAL));
    CHECK(EPSSetDimensions(eps, count, basis ? basis : PETSC_DEFAULT, PETSC_DEFAULT));
    CHECK(EPSSetTolerances(eps, atof(argv[4]), 10000));
    CHECK(EPSSolve(eps));
    CHECK(EPSGetConverged(eps, &converged));
    const double seconds = MPI_Wtime() - begun;
    if (converged > count) converged = count;
    save(eps, M, argv[2], converged);
    CHECK(PetscPrintf(PETSC_COMM_WORLD, "%.9f %d\n", seconds, (int)converged));
    CHECK(EPSDestroy(&eps));
    CHECK(MatDestroy(&M));
    return SlepcFinalize() != 0;
}
