/* SPDX-License-Identifier: Apache-2.0 */
/* L x = b for the lower triangle L of a matrix, analysed once and solved for ten right-hand sides in turn, as a
 * preconditioner would. triangular MATRIX.mtx */
#include <stdio.h>

#include <tulle/tulle.h>

enum { SOLVES = 10 };

/* Runs on every PE; each call is collective. */
static tulle_status solve(tulle_comm *comm, void *arg)
{
    tulle_mat *A = NULL, *L = NULL, *b = NULL, *x = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_options options = {.size = 0};
    tulle_trisolve_report report = {.seconds = 0};
    tulle_layout *layout = NULL;
    double error = 0;
    options.solves = SOLVES; /* what auto weighs the analysis against */
    tulle_status status = tulle_mat_load(comm, arg, NULL, TULLE_CSR, NULL, NULL, &A);
    if (!status) status = tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, &L);
    if (!status) status = tulle_trisolve_new(L, &options, &solver);
    if (!status) status = tulle_trisolve_layout(solver, 1, &layout);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &b);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &x);
    for (int k = 0; k < SOLVES && !status; k++) {
        status = tulle_mat_fill_random(b, (uint64_t)k);
        if (!status) status = tulle_trisolve_execute(solver, b, x, &report);
    }
    if (!status) status = tulle_trisolve_check(L, &options, b, x, &error);
    if (!status && tulle_comm_rank(comm) == 0)
        printf("%s: analysis %.3g s, a solve %.3g s, residual %.2g of its bound\n",
            tulle_trisolve_method_name(tulle_trisolve_method_of(solver)), report.analysis_seconds, report.seconds,
            error);
    tulle_layout_free(layout);
    return status; /* the matrices and the solver are freed with the team */
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: %s MATRIX.mtx\n", argv[0]), 2;
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new("threads", 0, NULL, &team); /* a PE a core */
    if (!status) status = tulle_team_run(team, solve, argv[1]);
    if (status) fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_error_message());
    tulle_team_free(team);
    return status ? 1 : 0;
}
