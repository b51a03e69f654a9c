/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PETSc solver over Tulle: KSP's conjugate gradients with a shell matrix, whose products are
 * Tulle's (a plan that is kept, or a stream through a device's memory), and a shell preconditioner,
 * whose solves are those with Tulle's IC(0). The matrix is a file of any format that Tulle reads,
 * PETSc's own among them, or a generator.
 *
 *     mpirun -n 2 petsc_shell stencil2d:n=200 [-stream limit:mem=4M+cpu] [-ksp_monitor] [...]
 */
#include <petscksp.h>
#include <string.h>

#include <tulle/mpi.h>
#include <tulle/tulle.h>

/* An operator of Tulle's on vectors of PETSc's: y = op x. */
struct shell {
    tulle_operator op;
    tulle_own_tile x, y; /* the own rows of what the operator is bound to */
    void *bound;
};

static PetscErrorCode apply(struct shell *s, Vec from, Vec to)
{
    const PetscScalar *x;
    PetscScalar *y;
    size_t bytes = (size_t)s->x.m * sizeof *y;
    PetscFunctionBeginUser;
    PetscCall(VecGetArrayRead(from, &x));
    memcpy(s->x.val, x, bytes);
    PetscCall(VecRestoreArrayRead(from, &x));
    PetscCheck(s->op.apply(s->bound) == TULLE_OK, PETSC_COMM_WORLD, PETSC_ERR_LIB, "%s", tulle_error_message());
    PetscCall(VecGetArrayWrite(to, &y));
    memcpy(y, s->y.val, bytes);
    PetscCall(VecRestoreArrayWrite(to, &y));
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply(Mat A, Vec x, Vec y)
{
    struct shell *s;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(A, &s));
    PetscCall(apply(s, x, y));
    PetscFunctionReturn(0);
}

static PetscErrorCode precondition(PC pc, Vec x, Vec y)
{
    struct shell *s;
    PetscFunctionBeginUser;
    PetscCall(PCShellGetContext(pc, &s));
    PetscCall(apply(s, x, y));
    PetscFunctionReturn(0);
}

/* Vectors of Tulle's in the operator's layout, and the operator bound to them. */
static tulle_status bind(tulle_comm *comm, const tulle_layout *layout, struct shell *s)
{
    tulle_mat *x = NULL, *y = NULL; /* freed with the team */
    int rank = tulle_comm_rank(comm);
    tulle_status status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &x);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &y);
    if (!status) status = tulle_mat_own_tile(x, rank, 0, &s->x);
    if (!status) status = tulle_mat_own_tile(y, rank, 0, &s->y);
    if (!status) status = s->op.bind(s->op.context, x, y, &s->bound);
    return status;
}

static PetscErrorCode run_ksp(struct shell *product, struct shell *precond)
{
    PetscInt own = (PetscInt)product->x.m, n = (PetscInt)product->op.n, iterations;
    PetscReal norm, error;
    Mat A;
    Vec b, x;
    KSP ksp;
    PC pc;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, own, own, n, n, product, &A));
    PetscCall(MatShellSetOperation(A, MATOP_MULT, (void (*)(void))multiply));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSHELL));
    PetscCall(PCShellSetContext(pc, precond));
    PetscCall(PCShellSetApply(pc, precondition));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 10000));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(VecScale(b, -1));
    Vec r;
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, 1, b));
    PetscCall(VecNorm(r, NORM_2, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
        "%s: %" PetscInt_FMT " rows, %s after %" PetscInt_FMT " iterations, ||b - A x|| = %.3g of ||b||\n", "cg", n,
        reason > 0 ? "converged" : "not converged", iterations, (double)(error / norm)));
    PetscCheck(reason > 0 && error <= 1e-6 * norm, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "no solution");
    PetscCall(VecDestroy(&r));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

struct asked {
    const char *matrix;
    char device[256]; /* "": A stays in memory */
};

/* Runs on every PE, which are PETSc's processes: between Tulle's collective calls they may make PETSc's. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct asked *asked = arg;
    tulle_mat *A = NULL;
    tulle_stream *stream = NULL;
    tulle_stream_options through = {.size = sizeof through, .device = asked->device};
    tulle_precond_options options = {.size = sizeof options, .shift = TULLE_AUTO};
    struct shell product = {.bound = NULL}, precond = {.bound = NULL};
    tulle_status status = tulle_mat_load(comm, asked->matrix, NULL, TULLE_CSR, NULL, NULL, &A);
    if (!status && *asked->device) {
        status = tulle_stream_new(A, &through, &stream);
        if (!status) status = tulle_operator_of_stream(stream, &product.op);
    } else if (!status) {
        status = tulle_operator_of_mat(A, NULL, &product.op);
    }
    if (!status) status = tulle_precond_new(A, TULLE_PRECOND_IC0, &options, &precond.op);
    if (!status) status = bind(comm, product.op.layout, &product);
    if (!status) status = bind(comm, product.op.layout, &precond);
    if (!status && run_ksp(&product, &precond) != 0) status = tulle_fail(TULLE_ERR_CHECK, "PETSc failed");
    if (product.bound) product.op.unbind(product.bound);
    if (precond.bound) precond.op.unbind(precond.bound);
    tulle_operator_free(&product.op);
    tulle_operator_free(&precond.op);
    tulle_stream_free(stream);
    return tulle_comm_agree(comm, status);
}

int main(int argc, char **argv)
{
    struct asked asked = {.matrix = argc > 1 ? argv[1] : "stencil2d:n=100"};
    tulle_team *team = NULL;
    PetscBool given;
    if (PetscInitialize(&argc, &argv, NULL, NULL) != 0) return 1;
    PetscCall(PetscOptionsGetString(NULL, NULL, "-stream", asked.device, sizeof asked.device, &given));
    tulle_status status = tulle_team_new_mpi("mpi", PETSC_COMM_WORLD, NULL, &team);
    if (!status) status = tulle_team_run(team, body, &asked);
    if (status) fprintf(stderr, "%s\n", tulle_error_message());
    tulle_team_free(team);
    return PetscFinalize() != 0 || status;
}
