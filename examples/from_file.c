/* SPDX-License-Identifier: Apache-2.0 */
/* From a file to a result: C = A A on four PEs. from_file MATRIX.mtx RESULT.mtx */
#include <stdio.h>

#include <tulle/tulle.h>

struct names {
    const char *from, *to;
};

/* Runs on every PE; each call is collective. */
static tulle_status square(tulle_comm *comm, void *arg)
{
    const struct names *names = arg;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_layout *rows = NULL, *whole = NULL, *of_C = NULL;
    tulle_operand_shape shape;
    tulle_product_report report;
    tulle_status status = tulle_operand_inspect(names->from, NULL, &shape);
    /* A in bands of rows, one a PE; B in one tile: the column cuts of A are the row cuts of B */
    tulle_layout_spec bands = {.m = shape.m, .n = shape.n, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_layout_spec one = {.m = shape.m, .n = shape.n, .grid_rows = 1, .grid_cols = 1};
    if (!status) status = tulle_layout_new(&bands, tulle_comm_size(comm), &rows);
    if (!status) status = tulle_layout_new(&one, tulle_comm_size(comm), &whole);
    if (!status) status = tulle_mat_load(comm, names->from, rows, TULLE_CSR, NULL, NULL, &A);
    if (!status) status = tulle_mat_redistribute(A, whole, &B);
    if (!status) status = tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &of_C);
    if (!status) status = tulle_mat_new_csr(comm, of_C, TULLE_F64, &C);
    if (!status) status = tulle_product_new(A, B, C, NULL, &plan);
    if (!status) status = tulle_product_execute(plan, 1, 0, &report);
    if (!status) status = tulle_mat_save(C, names->to);
    if (!status && tulle_comm_rank(comm) == 0)
        printf("%lld entries in %.3g s\n", (long long)report.nnz_c, report.seconds);
    tulle_layout_free(rows);
    tulle_layout_free(whole);
    tulle_layout_free(of_C);
    return status; /* the matrices and the plan are freed with the team */
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s MATRIX.mtx RESULT.mtx\n", argv[0]), 2;
    struct names names = {argv[1], argv[2]};
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new("threads", 4, NULL, &team);
    if (!status) status = tulle_team_run(team, square, &names);
    if (status) fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_error_message());
    tulle_team_free(team);
    return status ? 1 : 0;
}
