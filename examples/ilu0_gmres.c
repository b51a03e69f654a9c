/* SPDX-License-Identifier: Apache-2.0 */
/* Restarted GMRES with incomplete LU factors, preconditioned from the right: any A with a diagonal.
 * b is of ones. ilu0_gmres [MATRIX.mtx] */
#include <stdio.h>

#include <tulle/tulle.h>

/* Runs on every PE; each call is collective. */
static tulle_status solve(tulle_comm *comm, void *arg)
{
    tulle_mat *A = NULL, *b = NULL, *x = NULL;
    tulle_layout *layout = NULL;
    tulle_operator op = {0}, M = {0};
    tulle_krylov_options options = {0};
    tulle_krylov_report report = {.iterations = 0};
    tulle_own_tile own;
    options.method = TULLE_KRYLOV_GMRES;
    tulle_status status = tulle_mat_load(comm, arg, NULL, TULLE_CSR, NULL, NULL, &A);
    if (!status) status = tulle_operator_of_mat(A, NULL, &op); /* products with A by a kept plan */
    if (!status) status = tulle_precond_new(A, TULLE_PRECOND_ILU0, NULL, &M);
    if (status) return status;
    /* one tile a PE, in rows; B and X may lie in any layout */
    int pes = tulle_comm_size(comm), rank = tulle_comm_rank(comm);
    tulle_layout_spec spec = {.m = op.n, .n = 1, .grid_rows = pes, .grid_cols = 1};
    status = tulle_layout_new(&spec, pes, &layout);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &b);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &x);
    if (!status) status = tulle_mat_own_tile(b, rank, 0, &own);
    for (tulle_gidx r = 0; !status && r < own.m; r++) ((double *)own.val)[r] = 1;
    if (!status) status = tulle_krylov_solve(&op, &M, b, x, &options, &report);
    if (!status && rank == 0)
        printf("%s, %s: %lld iterations, true residual %.3g of ||b||, %.3g s (product %.3g, preconditioner %.3g)\n",
            tulle_krylov_method_name(options.method), tulle_precond_kind_name(TULLE_PRECOND_ILU0),
            (long long)report.iterations, report.true_residual / report.norm, report.seconds, report.product.mean,
            report.precond.mean);
    tulle_layout_free(layout);
    return status; /* matrices and operators are freed with the team */
}

int main(int argc, char **argv)
{
    if (argc > 2) return fprintf(stderr, "usage: %s [MATRIX.mtx]\n", argv[0]), 2;
    char file[] = "test/data/cage5.mtx.gz";
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new("threads", 0, NULL, &team); /* a PE a core */
    if (!status) status = tulle_team_run(team, solve, argc > 1 ? argv[1] : file);
    if (status) fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_error_message());
    tulle_team_free(team);
    return status ? 1 : 0;
}
