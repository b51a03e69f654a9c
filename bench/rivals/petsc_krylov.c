/* SPDX-License-Identifier: Apache-2.0 */
#include "petsc_krylov.h"

#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrfile.h"
#include "rival.h"

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (call) rival_die("PETSc: %s failed", #call);                                                                \
    } while (0)

static const char *option(int argc, char **argv, const char *name, const char *fallback)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return fallback;
}

static Mat make_matrix(const rival_csr *A)
{
    Mat matrix;
    PetscInt *rowptr = malloc((size_t)(A->m + 1) * sizeof *rowptr);
    if (!rowptr) rival_die("out of memory");
    for (int64_t r = 0; r <= A->m; r++) rowptr[r] = (PetscInt)A->rowptr[r];
    int rank, ranks;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    if (ranks == 1) {
        CHECK(MatCreateSeqAIJWithArrays(
            PETSC_COMM_SELF, (PetscInt)A->m, (PetscInt)A->n, rowptr, A->colind, (double *)A->val, &matrix));
        return matrix; /* works on these arrays */
    }
    PetscInt first = (PetscInt)(A->m * rank / ranks), rows = (PetscInt)(A->m * (rank + 1) / ranks) - first;
    const int32_t *colind = A->colind + rowptr[first];
    const double *val = (const double *)A->val + rowptr[first];
    for (PetscInt r = rows; r >= 0; r--) rowptr[first + r] -= rowptr[first];
    CHECK(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, rows, rows, (PetscInt)A->m, (PetscInt)A->n, rowptr + first,
        colind, val, &matrix)); /* copies */
    free(rowptr);
    return matrix;
}

static void choose(KSP ksp, const char *method, const char *precond, int restart)
{
    static const struct {
        const char *word;
        PCType type;
    } known[] = {{"none", PCNONE}, {"jacobi", PCJACOBI}, {"ic0", PCICC}, {"ilu0", PCILU}};
    PC pc;
    int cg = strcmp(method, "cg") == 0, found = 0;
    if (!cg && strcmp(method, "gmres")) rival_die("--method is cg or gmres");
    CHECK(KSPSetType(ksp, cg ? KSPCG : KSPGMRES));
    if (!cg) CHECK(KSPGMRESSetRestart(ksp, restart));
    if (!cg) CHECK(KSPSetPCSide(ksp, PC_RIGHT));
    CHECK(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    CHECK(KSPGetPC(ksp, &pc));
    for (size_t p = 0; p < sizeof known / sizeof *known; p++)
        if (strcmp(precond, known[p].word) == 0) {
            CHECK(PCSetType(pc, known[p].type));
            found = 1;
        }
    if (!found) rival_die("--precond is none, jacobi, ic0 or ilu0");
    if (strcmp(precond, "ic0") && strcmp(precond, "ilu0")) return;
    CHECK(PCFactorSetLevels(pc, 0));
    CHECK(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
}

int petsc_krylov(int argc, char **argv)
{
    const char *path = option(argc, argv, "--matrix", NULL), *method = option(argc, argv, "--method", "gmres");
    const char *precond = option(argc, argv, "--precond", "none");
    const char *rhs = option(argc, argv, "--rhs", "ones");
    int rank, ranks;
    double tolerance = atof(option(argc, argv, "--tol", "1e-8")), start, setup, seconds, norm, residual;
    int most = atoi(option(argc, argv, "--max-iterations", "10000"));
    rival_csr A;
    Vec b, x, r;
    KSP ksp;
    PetscInt iterations;
    KSPConvergedReason reason;
    if (!path) rival_die("bench_petsc --op krylov wants --matrix FILE.csr");
    const char *wrong = csrfile_read(path, 1, &A);
    if (wrong) rival_die("%s: %s", path, wrong);
    if (A.nnz > INT32_MAX) rival_die("PETSc here has 32-bit indices");
    Mat matrix = make_matrix(&A);
    CHECK(MatCreateVecs(matrix, &x, &b));
    CHECK(VecDuplicate(b, &r));
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    CHECK(strcmp(rhs, "random") ? VecSet(b, 1) : VecSetRandom(b, NULL));
    CHECK(VecSet(x, 0));
    CHECK(KSPCreate(PETSC_COMM_WORLD, &ksp));
    CHECK(KSPSetOperators(ksp, matrix, matrix));
    choose(ksp, method, precond, atoi(option(argc, argv, "--restart", "30")));
    CHECK(KSPSetTolerances(ksp, tolerance, 0, 1e100, most));
    start = rival_now();
    CHECK(KSPSetUp(ksp));
    setup = rival_now() - start;
    start = rival_now();
    CHECK(KSPSolve(ksp, b, x));
    seconds = rival_now() - start;
    CHECK(KSPGetIterationNumber(ksp, &iterations));
    CHECK(KSPGetConvergedReason(ksp, &reason));
    CHECK(MatMult(matrix, x, r));
    CHECK(VecAYPX(r, -1, b));
    CHECK(VecNorm(r, NORM_2, &residual));
    CHECK(VecNorm(b, NORM_2, &norm));
    CHECK(KSPDestroy(&ksp));
    if (rank) return PetscFinalize() ? 1 : 0;
    printf("{\"rival\": \"petsc\", \"version\": \"%d.%d.%d\", \"op\": \"krylov\", \"method\": \"%s\", \"precond\": "
           "\"%s\", "
           "\"ranks\": %d, \"n\": %lld, \"nnz\": %lld, \"converged\": %s, \"reason\": \"%s\", \"iterations\": %d, ",
        PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, method, precond, ranks, (long long)A.m,
        (long long)A.nnz, reason > 0 ? "true" : "false", KSPConvergedReasons[reason], (int)iterations);
    if (residual - residual == 0)
        printf("\"true_residual\": %.6g, ", residual / norm);
    else
        printf("\"true_residual\": null, ");
    printf("\"seconds_setup\": %.6g, \"seconds\": %.6g}\n", setup, seconds);
    return PetscFinalize() ? 1 : 0;
}
