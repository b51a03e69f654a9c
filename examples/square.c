/* SPDX-License-Identifier: Apache-2.0 */
/* The program of README.md: C = A A from a file to a file, on four PEs. square MATRIX.mtx */
#include <stdio.h>
#include <tulle/tulle.h>

/* Runs on every PE; each call is collective. */
static tulle_status square(tulle_comm *comm, void *path)
{
    tulle_mat *A, *C;
    tulle_layout *layout = NULL;
    tulle_product *product;
    tulle_status status = tulle_mat_load(comm, path, NULL, TULLE_CSR, NULL, NULL, &A);
    if (!status) status = tulle_product_layout(A, TULLE_OP_N, A, TULLE_OP_N, &layout);
    if (!status) status = tulle_mat_new_csr(comm, layout, TULLE_F64, &C);
    if (!status) status = tulle_product_new(A, A, C, NULL, &product);
    if (!status) status = tulle_product_execute(product, 1, 0, NULL); /* C = 1 A A + 0 C */
    if (!status) status = tulle_mat_save(C, "square.mtx");
    tulle_layout_free(layout);
    return status; /* matrices and the product are freed with the team */
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    char *path = argc > 1 ? argv[1] : "rmat:scale=10,edgefactor=8";
    tulle_status status = tulle_team_new("threads", 4, NULL, &team);
    if (!status) status = tulle_team_run(team, square, path);
    if (status) fprintf(stderr, "%s\n", tulle_error_message());
    tulle_team_free(team);
    return status != TULLE_OK;
}
