/* SPDX-License-Identifier: Apache-2.0 */
/* From a program's own CSR arrays: y = A X with two columns, read back in place. */
#include <stdio.h>

#include <tulle/tulle.h>

/* The one-dimensional Laplacian of four points. */
static const int64_t rowptr[] = {0, 2, 5, 8, 10};
static const int32_t colind[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
static const double val[] = {2, -1, -1, 2, -1, -1, 2, -1, -1, 2};

static tulle_status multiply(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_product *plan = NULL;
    tulle_tile y;
    tulle_own_tile x;
    /* each PE gives its rows: here there is one PE, and the arrays need not be copied */
    tulle_csr_rows rows = {
        .first = 0, .count = 4, .rowptr = rowptr, .colind = colind, .colind_bytes = 4, .val = val, .borrow = 1};
    tulle_layout_spec spec = {.m = 4, .n = 2};
    tulle_layout *layout = NULL;
    tulle_status status = tulle_mat_from_csr(comm, 4, 4, TULLE_F64, &rows, &A);
    if (!status) status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (!status) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &Y);
    if (!status) status = tulle_mat_own_tile(X, 0, 0, &x);
    for (int i = 0; !status && i < 4; i++) {
        ((double *)x.val)[i * x.ld] = 1;
        ((double *)x.val)[i * x.ld + 1] = i;
    }
    if (!status) status = tulle_product_new(A, X, Y, NULL, &plan);
    if (!status) status = tulle_product_execute(plan, 1, 0, NULL);
    if (!status) status = tulle_mat_tile(Y, 0, 0, &y);
    for (int i = 0; !status && i < 4; i++)
        printf("%g %g\n", ((const double *)y.val)[i * y.ld], ((const double *)y.val)[i * y.ld + 1]);
    tulle_layout_free(layout);
    return status;
}

int main(void)
{
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new("threads", 1, NULL, &team);
    if (!status) status = tulle_team_run(team, multiply, NULL);
    if (status) fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_error_message());
    tulle_team_free(team);
    return status ? 1 : 0;
}
