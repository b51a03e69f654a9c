/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc: MatSolve with the ILU(0) factor of the triangle, which is the triangle (its U is the diagonal), in its natural
 * order; MatMatSolve for several right-hand sides. One rank: PETSc's own solves are serial.
 */
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if (call) rival_die("PETSc: %s failed", #call);                                                                \
    } while (0)

struct solve {
    Mat F, B, X;
    Vec b, x;
    int64_t cols;
};

/* With a diagonal of ones, if it has none. */
static Mat make_triangle(const rival_case *work)
{
    const rival_csr *A = &work->A;
    Mat T;
    int64_t count = A->nnz + (work->unit ? A->m : 0), at = 0;
    PetscInt *rowptr = malloc(((size_t)A->m + 1) * sizeof *rowptr), *colind = malloc((size_t)count * sizeof *colind);
    PetscScalar *val = malloc((size_t)count * sizeof *val);
    if (!rowptr || !colind || !val) rival_die("out of memory");
    rowptr[0] = 0;
    for (int64_t r = 0; r < A->m; r++) {
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++, at++) {
            colind[at] = A->colind[e];
            val[at] = ((const double *)A->val)[e];
        }
        if (work->unit) {
            colind[at] = (PetscInt)r;
            val[at++] = 1;
        }
        rowptr[r + 1] = (PetscInt)at;
    }
    CHECK(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, (PetscInt)A->m, (PetscInt)A->n, rowptr, colind, val, &T));
    return T;
}

static Mat factor(Mat T)
{
    Mat F;
    IS rows, cols;
    MatFactorInfo info;
    CHECK(MatGetOrdering(T, MATORDERINGNATURAL, &rows, &cols));
    CHECK(MatFactorInfoInitialize(&info));
    info.levels = 0;
    info.fill = 1;
    CHECK(MatGetFactor(T, MATSOLVERPETSC, MAT_FACTOR_ILU, &F));
    CHECK(MatILUFactorSymbolic(F, T, rows, cols, &info));
    CHECK(MatLUFactorNumeric(F, T, &info));
    return F;
}

static void run(void *context, double *seconds, double *extra)
{
    struct solve *s = context;
    (void)extra;
    double start = rival_now();
    if (s->cols == 1)
        CHECK(MatSolve(s->F, s->b, s->x));
    else
        CHECK(MatMatSolve(s->F, s->B, s->X));
    *seconds = rival_now() - start;
}

/* The right-hand sides by columns, PETSc's only dense storage. */
static void make_sides(const rival_case *work, struct solve *s)
{
    PetscInt n = (PetscInt)work->A.m, cols = (PetscInt)work->cols;
    PetscScalar *b;
    CHECK(MatCreateSeqDense(PETSC_COMM_SELF, n, cols, NULL, &s->B));
    CHECK(MatCreateSeqDense(PETSC_COMM_SELF, n, cols, NULL, &s->X));
    CHECK(MatDenseGetArrayWrite(s->B, &b));
    for (PetscInt r = 0; r < n; r++)
        for (PetscInt c = 0; c < cols; c++) b[(size_t)c * (size_t)n + (size_t)r] = work->B_f64[(int64_t)r * cols + c];
    CHECK(MatDenseRestoreArrayWrite(s->B, &b));
    CHECK(MatDenseGetColumnVecRead(s->B, 0, &s->b));
    CHECK(VecDuplicate(s->b, &s->x));
}

int main(int argc, char **argv)
{
    static rival_case work;
    struct solve s = {.cols = 0};
    int none = 0;
    char **nothing = NULL;
    rival_environment(argc, argv, 0);
    if (PetscInitialize(&none, &nothing, NULL, NULL)) return 1;
    rival_open(&work, "petsc", argc, argv, 0, 1);
    if (!work.solve) rival_die("bench_solve_petsc: --op solve");
    if (work.A.nnz + work.A.m > INT32_MAX) rival_die("PETSc here has 32-bit indices");
    work.threads = 1;
    snprintf(work.version, sizeof work.version, "%d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
        PETSC_VERSION_SUBMINOR);
    snprintf(work.code_path, sizeof work.code_path, "MatSolve or MatMatSolve, ILU(0), natural order");
    work.flops = 2.0 * (double)work.A.nnz * (double)work.cols;
    s.cols = work.cols;
    make_sides(&work, &s);
    Mat T = make_triangle(&work);
    double start = rival_now();
    s.F = factor(T);
    work.setup = rival_now() - start;
    rival_measure(&work, run, &s);
    const PetscScalar *x;
    work.nnz_c = work.A.m * work.cols;
    if (s.cols == 1)
        CHECK(VecGetArrayRead(s.x, &x));
    else
        CHECK(MatDenseGetArrayRead(s.X, &x));
    rival_checksum(&work, x, work.nnz_c);
    rival_report(&work);
    fflush(stdout);
    _Exit(0); /* what PETSc would free is as good as gone */
}
