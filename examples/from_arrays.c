/* SPDX-License-Identifier: Apache-2.0 */
/* With a program's own arrays: Y = A X in place, C = A A as new arrays, and A Z = Y solved. */
#include <stdio.h>

#include <tulle/tulle.h>

int main(void)
{
    /* the one-dimensional Laplacian of four points */
    int ptr[] = {0, 2, 5, 8, 10}, col[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
    double val[] = {2, -1, -1, 2, -1, -1, 2, -1, -1, 2}, x[8] = {1, 0, 1, 1, 1, 2, 1, 3}, y[8], z[8];
    tulle_array A = TULLE_ARRAY_CSR(4, 4, ptr, col, val), X = TULLE_ARRAY_DENSE(4, 2, x),
                Y = TULLE_ARRAY_DENSE(4, 2, y), Z = TULLE_ARRAY_DENSE(4, 2, z), C = {.storage = TULLE_STORAGE_CSR};
    tulle_comm *comm = NULL;
    tulle_status status = tulle_open(NULL, &comm); /* the cores of this machine; nothing runs before a call */
    if (!status) status = tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &X, 0, &Y, NULL, NULL);
    if (!status) status = tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &C, NULL, NULL);
    if (!status) status = tulle_solve(comm, &A, &Y, &Z, NULL, NULL); /* conjugate gradients */
    for (int i = 0; !status && i < 4; i++) printf("%g %g\n", y[2 * i], y[2 * i + 1]);
    if (!status) printf("A A has %lld entries; z - x = %.1e\n", (long long)C.nnz, z[7] - x[7]);
    if (status) fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_error_message());
    tulle_array_free(&C);
    tulle_close(comm);
    return status ? 1 : 0;
}
