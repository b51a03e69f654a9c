/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of an older release: every options struct with its size, or 0, and bytes behind it that
 * are not the library's. With ADDED (a newer program on an older library), a field that the library
 * does not know is set: the call must be refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

enum { N = 40, GUARD = 0x5a };

/* An options struct and what lies behind it. */
#define GUARDED(type, name)                                                                                            \
    struct {                                                                                                           \
        type is;                                                                                                       \
        unsigned char guard[256];                                                                                      \
    } name;                                                                                                            \
    memset(&name, 0, sizeof name);                                                                                     \
    memset(name.guard, GUARD, sizeof name.guard);                                                                      \
    if (sized) name.is.size = sizeof name.is

static int intact(const unsigned char *guard)
{
    for (int i = 0; i < 256; i++)
        if (guard[i] != GUARD) return 0;
    return 1;
}

static void must(tulle_status status, const char *what)
{
    if (status == TULLE_OK) return;
    printf("%s: %s\n", what, tulle_error_message());
    exit(EXIT_FAILURE);
}

static void guarded(const unsigned char *guard, const char *what)
{
    if (intact(guard)) return;
    printf("%s: memory behind the struct was written\n", what);
    exit(EXIT_FAILURE);
}

/* The one-dimensional Laplacian: its product, its solution by each kind of call. */
static void run(int sized)
{
    int ptr[N + 1], col[3 * N], lower_ptr[N + 1], lower_col[2 * N], nnz = 0, lower = 0;
    double val[3 * N], lower_val[2 * N], x[N], y[N];
    for (int i = 0; i < N; i++) {
        ptr[i] = nnz;
        lower_ptr[i] = lower;
        for (int j = i ? i - 1 : 0; j < N && j <= i + 1; j++) {
            col[nnz] = j;
            val[nnz++] = i == j ? 4 : -1;
            if (j <= i) lower_col[lower] = j, lower_val[lower++] = i == j ? 4 : -1;
        }
    }
    ptr[N] = nnz;
    lower_ptr[N] = lower;
    GUARDED(tulle_team_options, team);
    GUARDED(tulle_open_options, open);
    GUARDED(tulle_product_options, product);
    GUARDED(tulle_array, B);
    GUARDED(tulle_array, X);
    GUARDED(tulle_array, C);
    GUARDED(tulle_krylov_options, krylov);
    GUARDED(tulle_precond_options, precond);
    GUARDED(tulle_solve_options, solve);
    GUARDED(tulle_trisolve_options, trisolve);
    GUARDED(tulle_stream_options, stream);
    GUARDED(tulle_factor_options, factor);
    GUARDED(tulle_direct_options, direct);
    GUARDED(tulle_read_options, reading);
    tulle_array A = TULLE_ARRAY_CSR(N, N, ptr, col, val), L = TULLE_ARRAY_CSR(N, N, lower_ptr, lower_col, lower_val);
    for (int i = 0; i < N; i++) x[i] = 1 + i % 3;
    tulle_comm *comm = NULL;
    open.is.team = &team.is;
    must(tulle_open(&open.is, &comm), "tulle_open");
    size_t size = B.is.size;
    B.is = TULLE_ARRAY_DENSE(N, 1, x);
    X.is = TULLE_ARRAY_DENSE(N, 1, y);
    B.is.size = X.is.size = size;
    must(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &B.is, 0, &X.is, &product.is, NULL), "A x");
    printf("%g %g %g\n", y[0], y[1], y[N - 1]);
    C.is.storage = TULLE_STORAGE_CSR;
    must(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &C.is, &product.is, NULL), "A A");
    printf("%lld entries, the first %g\n", (long long)C.is.nnz, ((double *)C.is.val)[0]);
    guarded(C.guard, "tulle_multiply");
    tulle_array_free(&C.is);
    guarded(C.guard, "tulle_array_free");
    solve.is.krylov = &krylov.is;
    solve.is.precond = TULLE_PRECOND_IC0;
    solve.is.precond_options = &precond.is;
    memcpy(y, x, sizeof y);
    must(tulle_solve(comm, &A, &B.is, &X.is, &solve.is, NULL), "A z = x");
    printf("solution %.6f\n", y[3]);
    must(tulle_solve_triangular(comm, &L, &B.is, &X.is, &trisolve.is), "L z = x");
    printf("triangular %.6f\n", y[3]);
    tulle_mat *a = NULL, *l = NULL, *u = NULL, *b = NULL, *z = NULL, *loaded = NULL;
    tulle_stream *slabs = NULL;
    tulle_direct *factors = NULL;
    tulle_stream_report report;
    tulle_operand_shape shape;
    must(tulle_mat_from_array(comm, &A, &a), "tulle_mat_from_array");
    must(tulle_mat_from_array(comm, &B.is, &b), "tulle_mat_from_array");
    must(tulle_factor_ilu0(a, &factor.is, &l, &u, NULL), "tulle_factor_ilu0");
    printf("factors of %lld and %lld entries\n", (long long)tulle_mat_nnz(l), (long long)tulle_mat_nnz(u));
    must(tulle_stream_new(a, &stream.is, &slabs), "tulle_stream_new");
    must(tulle_mat_new_dense(comm, tulle_stream_layout(slabs), TULLE_F64, TULLE_ROW_MAJOR, &z), "tulle_mat_new_dense");
    must(tulle_stream_multiply(slabs, b, z, &report), "tulle_stream_multiply");
    if (tulle_direct_usable(NULL)) must(tulle_direct_lu(a, &direct.is, &factors), "tulle_direct_lu");
    must(tulle_operand_inspect("fem:nodes=2,dof=1", &reading.is, &shape), "tulle_operand_inspect");
    must(tulle_mat_load(comm, "fem:nodes=2,dof=1", NULL, TULLE_CSR, &reading.is, NULL, &loaded), "tulle_mat_load");
    printf("loaded %lld entries\n", (long long)tulle_mat_nnz(loaded));
    guarded(X.guard, "tulle_solve");
    guarded(B.guard, "tulle_mat_from_array");
#ifdef ADDED
    product.is.added_later = 1;
    tulle_status refused = tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &B.is, 0, &X.is, &product.is, NULL);
    if (sized && refused != TULLE_ERR_ARG) {
        printf("an unknown option was not refused\n");
        exit(EXIT_FAILURE);
    }
#endif
    tulle_direct_free(factors);
    tulle_stream_free(slabs);
    tulle_close(comm);
}

int main(void)
{
    for (int sized = 0; sized < 2; sized++) run(sized);
    return EXIT_SUCCESS;
}
