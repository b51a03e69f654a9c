/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices in the caller's arrays, of every storage, index width, type and order, into matrices and
 * out of them, multiplied and solved: array SPEC PES. Values are small integers, so that sums are
 * exact.
 */
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "picture.h"
#include "spec_pes.h"
#include "tap.h"

static const tulle_gidx shapes[][2] = {{9, 13}, {1, 1}, {0, 4}, {4, 0}, {13, 2}, {2, 20}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* In, and out in every storage, to every root and to all. */
static tulle_status in_and_out(tulle_comm *comm, void *arg)
{
    (void)arg;
    int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    tulle_status status = TULLE_OK;
    static _Thread_local struct workspace workspace, target;
    tulle_mat *A = NULL;
    tulle_array out = {.size = 0};
    for (int s = 0; s < SHAPES; s++)
        for (int f = 0; f < FORMS; f++) {
            struct picture p;
            struct form form = form_of(f), wish = form_of((f * 7 + s) % FORMS);
            draw(&p, shapes[s][0], shapes[s][1], (uint64_t)s, form.storage == TULLE_STORAGE_DENSE && s % 2);
            tulle_array in = part_of(&p, &form, rank, npes, &workspace);
            TULLE_TRY(tulle_mat_from_array(comm, &in, &A));
            EXPECT(tulle_mat_kind(A) == (form.storage == TULLE_STORAGE_DENSE ? TULLE_DENSE : TULLE_CSR));
            int root = f % (npes + 1) == npes ? TULLE_AUTO : f % (npes + 1);
            out = (tulle_array){.size = sizeof out,
                .storage = wish.storage,
                .order = wish.order,
                .ptr_bytes = f % 3 ? wish.ptr_bytes : 0,
                .ind_bytes = f % 3 ? wish.ind_bytes : 0};
            const tulle_gidx lines = wish.storage == TULLE_STORAGE_CSC ? p.n : p.m;
            /* rows of the caller's choice: few for the first PE, many for the last */
            tulle_gidx first = lines * rank * rank / (npes * npes),
                       count = lines * (rank + 1) * (rank + 1) / (npes * npes) - first;
            const int chosen = f % 2 && root == TULLE_AUTO;
            if (chosen) out.first = first, out.count = count;
            TULLE_TRY(tulle_mat_to_array(A, root, &out));
            EXPECT(out.type == form.type && out.owned && agrees(&out, &p));
            EXPECT(!chosen || (out.count == count && (!count || out.first == first)));
            EXPECT(root == TULLE_AUTO || out.count == (rank == root ? lines : 0));
            int64_t rows = out.count;
            TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &rows));
            EXPECT(rows == lines);
            if (wish.storage != TULLE_STORAGE_DENSE && !(f % 3))
                EXPECT(out.ind_bytes == 4 && (wish.storage == TULLE_STORAGE_COO || out.ptr_bytes == 4));
            tulle_array_free(&out);
            EXPECT(!out.val && !out.owned);
            /* into the caller's array */
            struct form mine = {.storage = TULLE_STORAGE_DENSE, .type = form.type, .order = wish.order};
            out = part_of(&p, &mine, rank, npes, &target);
            memset(target.val, 0x5a, sizeof target.val);
            TULLE_TRY(tulle_mat_to_array(A, TULLE_AUTO, &out));
            EXPECT(!out.owned && out.val == target.val && agrees(&out, &p));
            tulle_mat_free(A);
            A = NULL;
        }
out:
    tulle_array_free(&out);
    tulle_mat_free(A);
    return status;
}

/* All pairs of storages, both operations, alpha and beta. */
static tulle_status products(tulle_comm *comm, void *arg)
{
    (void)arg;
    int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    tulle_status status = TULLE_OK;
    static _Thread_local struct workspace workspace[3];
    tulle_array C = {.size = 0};
    for (int f = 0; f < 4 * FORMS; f++) {
        struct form fa = form_of(f % FORMS), fb = form_of((f * 5 + f / FORMS) % FORMS),
                    fc = form_of((f * 11 + 3) % FORMS);
        fb.type = fc.type = fa.type;
        int dense_a = fa.storage == TULLE_STORAGE_DENSE, dense_b = fb.storage == TULLE_STORAGE_DENSE;
        if (dense_b || dense_a) fc.storage = TULLE_STORAGE_DENSE;
        if (!dense_b && !dense_a && fc.storage == TULLE_STORAGE_DENSE) fc.storage = TULLE_STORAGE_CSC;
        tulle_op op_a = f / 3 % 2 ? TULLE_OP_T : TULLE_OP_N, op_b = f / 6 % 2 ? TULLE_OP_T : TULLE_OP_N;
        if (op_b == TULLE_OP_T && !dense_a && dense_b)
            op_b = TULLE_OP_N; /* below: refused or not, as tulle_product_new */
        tulle_gidx m = f % 5 == 4 ? 0 : 11, k = f % 7 == 6 ? 1 : 8, n = f % 3 + 1;
        struct picture A, B, E;
        draw(&A, op_a == TULLE_OP_N ? m : k, op_a == TULLE_OP_N ? k : m, (uint64_t)f, dense_a);
        draw(&B, op_b == TULLE_OP_N ? k : n, op_b == TULLE_OP_N ? n : k, (uint64_t)f + 1000, dense_b);
        draw(&E, m, n, (uint64_t)f + 2000, 1);
        const int dense_c = fc.storage == TULLE_STORAGE_DENSE;
        double alpha = f % 4 ? 1 : -2, beta = dense_c && f % 2 ? 3 : 0;
        tulle_array a = part_of(&A, &fa, rank, npes, &workspace[0]), b = part_of(&B, &fb, rank, npes, &workspace[1]);
        int given = dense_c && (beta != 0 || f % 4 == 2);
        if (given)
            C = part_of(&E, &fc, rank, npes, &workspace[2]);
        else
            C = (tulle_array){.size = sizeof C, .storage = fc.storage, .order = fc.order};
        if (given && beta == 0) memset(workspace[2].val, 0xff, sizeof workspace[2].val); /* NaN: not read */
        status = tulle_multiply(comm, op_a, op_b, alpha, &a, &b, beta, &C, NULL, NULL);
        if (dense_a && !dense_b && npes > 1) {
            EXPECT(status == TULLE_ERR_UNSUPPORTED);
            status = TULLE_OK;
            continue;
        }
        if (status != TULLE_OK) goto out;
        multiply(&A, op_a, &B, op_b, alpha, beta, &E);
        EXPECT(given == !C.owned && C.type == fa.type && agrees(&C, &E));
        tulle_array_free(&C);
    }
out:
    tulle_array_free(&C);
    return status;
}

/* On one PE nothing is copied: new values hold at once, results lie in the caller's array. */
static tulle_status borrowed(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    if (tulle_comm_size(comm) > 1) return TULLE_OK;
    int32_t ptr[] = {0, 2, 3}, ind[] = {0, 1, 1};
    int64_t columns[] = {0, 1, 1};
    double val[] = {1, 2, 3}, x[] = {1, 0, 9, 2, 1, 9}, y[4] = {0}; /* x: 2 x 2 with ld 3 */
    tulle_array a = TULLE_ARRAY_CSR(2, 2, ptr, ind, val), wide = TULLE_ARRAY_CSR(2, 2, ptr, columns, val),
                X = tulle_array_dense(2, 2, TULLE_ROW_MAJOR, 3, x, 8), Y = TULLE_ARRAY_COLUMNS(2, 2, 2, y);
    tulle_mat *A = NULL, *B = NULL, *C = NULL, *T = NULL, *D = NULL;
    tulle_product *product = NULL;
    tulle_tile tile;
    tulle_layout *split = NULL;
    tulle_layout_spec spec = {.m = 2, .n = 2, .tile_rows = 2, .tile_cols = 2};
    double error;
    TULLE_TRY(tulle_mat_from_array(comm, &a, &A));
    TULLE_TRY(tulle_mat_tile(A, 0, 0, &tile));
    EXPECT(tile.val == val && tile.colind == ind && tile.rowptr && tile.rowptr[2] == 3);
    /* columns of 64 bits are copied, values are not */
    TULLE_TRY(tulle_mat_from_array(comm, &wide, &B));
    TULLE_TRY(tulle_mat_tile(B, 0, 0, &tile));
    EXPECT(tile.val == val && tile.nnz == 3 && tile.colind[0] == 0 && tile.colind[1] == 1 && tile.colind[2] == 1);
    tulle_mat_free(B);
    B = NULL;
    TULLE_TRY(tulle_mat_from_array(comm, &X, &B));
    TULLE_TRY(tulle_mat_tile(B, 0, 0, &tile));
    EXPECT(tile.val == x && tile.ld == 3);
    TULLE_TRY(tulle_mat_from_array(comm, &Y, &C));
    TULLE_TRY(tulle_product_new(A, B, C, NULL, &product));
    TULLE_TRY(tulle_product_execute(product, 1, 0, NULL));
    EXPECT(y[0] == 5 && y[1] == 6 && y[2] == 2 && y[3] == 3);
    TULLE_TRY(tulle_product_check(product, &error));
    val[2] = -1;
    x[3] = 0;
    TULLE_TRY(tulle_product_execute(product, 1, 0, NULL));
    EXPECT(y[0] == 1 && y[1] == 0 && y[2] == 2 && y[3] == -1);
    /* a gap in x is not part of the matrix */
    TULLE_TRY(tulle_mat_transpose(B, &T));
    TULLE_TRY(tulle_mat_tile(T, 0, 0, &tile));
    EXPECT(((const double *)tile.val)[0] == 1 && ((const double *)tile.val)[tile.ld + 1] == 1 &&
           ((const double *)tile.val)[1] == 0 && ((const double *)tile.val)[tile.ld] == 0);
    TULLE_TRY(tulle_layout_new(&spec, 1, &split));
    TULLE_TRY(tulle_mat_redistribute(B, split, &D));
    TULLE_TRY(tulle_mat_tile(D, 1, 1, &tile));
    EXPECT(((const double *)tile.val)[0] == 1);
    tulle_product_free(product);
    product = NULL;
    tulle_mat_free(C);
    C = NULL;
    /* views of borrowed dense matrices: a result of four tiles */
    TULLE_TRY(tulle_mat_new_dense(comm, split, TULLE_F64, TULLE_ROW_MAJOR, &C));
    TULLE_TRY(tulle_product_new(A, B, C, NULL, &product));
    TULLE_TRY(tulle_product_execute(product, 1, 0, NULL));
    TULLE_TRY(tulle_mat_tile(C, 0, 1, &tile));
    EXPECT(((const double *)tile.val)[0] == 2);
    TULLE_TRY(tulle_mat_fill_random(B, 1));
    EXPECT(x[2] == 9 && x[5] == 9 && x[0] != 1);
out:
    tulle_product_free(product);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    tulle_mat_free(D);
    tulle_mat_free(T);
    tulle_layout_free(split);
    return status;
}

/* The one-dimensional Laplacian, plus a diagonal: X = all 1, 2, ... by columns. */
static tulle_status solves(tulle_comm *comm, void *arg)
{
    (void)arg;
    int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    tulle_status status = TULLE_OK;
    static _Thread_local struct workspace workspace[3];
    struct picture A = {.m = 20, .n = 20}, L = A, X = {.m = 20, .n = 2}, B = X;
    tulle_array x = {.size = 0};
    tulle_krylov_report report[2];
    for (int i = 0; i < 20; i++) {
        A.at[i * 20 + i] = 4;
        if (i) A.at[i * 20 + i - 1] = A.at[(i - 1) * 20 + i] = -1;
        X.at[2 * i] = i + 1;
        X.at[2 * i + 1] = 2 - i;
    }
    for (int i = 0; i < 20; i++)
        for (int j = 0; j <= i; j++) L.at[i * 20 + j] = A.at[i * 20 + j];
    for (int f = 0; f < FORMS; f += 3) {
        struct form form = form_of(f), column = {.storage = TULLE_STORAGE_DENSE, .order = form.order};
        if (form.storage == TULLE_STORAGE_DENSE) continue;
        column.type = form.type;
        const double tolerance = form.type == TULLE_F32 ? 1e-5 : 1e-12, allowed = 100 * tolerance;
        tulle_krylov_options krylov = {.tolerance = tolerance, .method = f % 2 ? TULLE_KRYLOV_GMRES : TULLE_KRYLOV_CG};
        tulle_solve_options options = {.krylov = &krylov, .precond = f % 5 ? TULLE_PRECOND_NONE : TULLE_PRECOND_JACOBI};
        multiply(&A, TULLE_OP_N, &X, TULLE_OP_N, 1, 0, &B);
        tulle_array a = part_of(&A, &form, rank, npes, &workspace[0]),
                    b = part_of(&B, &column, rank, npes, &workspace[1]);
        x = f % 2 ? part_of(&X, &column, rank, npes, &workspace[2])
                  : (tulle_array){.storage = TULLE_STORAGE_DENSE, .order = form.order};
        if (f % 2) memset(workspace[2].val, 0, sizeof workspace[2].val);
        TULLE_TRY(tulle_solve(comm, &a, &b, &x, &options, report));
        EXPECT(report[0].stop == TULLE_STOP_CONVERGED && x.count * npes >= 20 - npes && x.n == 2);
        for (tulle_gidx i = 0; i < x.count; i++)
            for (int j = 0; j < 2; j++) {
                double is = value_at(x.val, x.type, x.order == TULLE_ROW_MAJOR ? i * x.ld + j : j * x.ld + i),
                       must = X.at[2 * (x.first + i) + j];
                EXPECT(is - must < 20 * allowed && must - is < 20 * allowed);
            }
        tulle_array_free(&x);
        /* triangular: of A's lower triangle, in place of B */
        multiply(&L, TULLE_OP_N, &X, TULLE_OP_N, 1, 0, &B);
        b = part_of(&B, &column, rank, npes, &workspace[1]);
        TULLE_TRY(tulle_solve_triangular(comm, &a, &b, &b, NULL));
        for (tulle_gidx i = 0; i < b.count; i++)
            for (int j = 0; j < 2; j++) {
                double is = value_at(b.val, b.type, b.order == TULLE_ROW_MAJOR ? i * b.ld + j : j * b.ld + i),
                       must = X.at[2 * (b.first + i) + j];
                EXPECT(is - must < 1e-4 && must - is < 1e-4);
            }
    }
    /* an iteration that does not converge says so, and its last iterate is there */
    struct form csr = {.storage = TULLE_STORAGE_CSR, .ptr_bytes = 4, .ind_bytes = 4},
                dense = {.order = TULLE_ROW_MAJOR};
    tulle_krylov_options brief = {.max_iterations = 1};
    tulle_solve_options options = {.krylov = &brief};
    tulle_array a = part_of(&A, &csr, rank, npes, &workspace[0]), b = part_of(&B, &dense, rank, npes, &workspace[1]);
    x = (tulle_array){.storage = TULLE_STORAGE_DENSE};
    EXPECT(tulle_solve(comm, &a, &b, &x, &options, NULL) == TULLE_ERR_CONVERGENCE && x.val && x.owned);
out:
    tulle_array_free(&x);
    return status;
}

/* Bad descriptions: TULLE_ERR_ARG everywhere, with the cause. */
static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    static _Thread_local struct workspace workspace;
    struct picture p;
    struct form csr = {.storage = TULLE_STORAGE_CSR, .ptr_bytes = 8, .ind_bytes = 4};
    tulle_mat *A = NULL;
    draw(&p, 9, 9, 1, 0);
    for (int fault = 0; fault < 10; fault++) {
        static const char *const says[] = {"entry", "pointers descend", "bytes", "no pointers", "no indices", "rows",
            "bytes", "leading dimension", "no values", "storage"};
        struct form form = csr;
        if (fault == 7 || fault == 8) form.storage = TULLE_STORAGE_DENSE;
        tulle_array a = part_of(&p, &form, rank, npes, &workspace);
        if (fault == 0 && a.nnz) put_index(a.ind, 4, a.nnz - 1, 9);
        if (fault == 1 && a.count) put_index(a.ptr, 8, a.count, -1);
        if (fault == 2) a.ptr_bytes = 2;
        if (fault == 3) a.ptr = NULL;
        if (fault == 4) a.ind = NULL, a.nnz = 1;
        if (fault == 5) a.count += 1000;
        if (fault == 6) a.ind_bytes = 3;
        if (fault == 7) a.ld = 1;
        if (fault == 8) a.val = NULL;
        if (fault == 9) a.storage = (tulle_storage)9;
        tulle_status was = tulle_mat_from_array(comm, &a, &A);
        if (was != TULLE_ERR_ARG || !strstr(tulle_error_message(), says[fault])) {
            status =
                tulle__fail(TULLE_ERR_CHECK, "fault %d: %s: %s", fault, tulle_status_name(was), tulle_error_message());
            goto out;
        }
    }
    tulle_array a = part_of(&p, &csr, rank, npes, &workspace), C = {.storage = TULLE_STORAGE_DENSE}, wrong = a;
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 0, &C, NULL, NULL) == TULLE_ERR_ARG);
    C.storage = TULLE_STORAGE_CSR;
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 1, &C, NULL, NULL) == TULLE_ERR_ARG);
    wrong.m = wrong.count = 0;
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &wrong, 0, &C, NULL, NULL) == TULLE_ERR_ARG);
    EXPECT(strstr(tulle_error_message(), "do not match"));
    /* a dense A with a sparse B: what is wrong is said of A and B as they were passed */
    double few[6] = {0};
    tulle_array thin = tulle_array_dense(3, 2, TULLE_ROW_MAJOR, 2, few, 8);
    C.storage = TULLE_STORAGE_CSR;
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &thin, &a, 0, &C, NULL, NULL) == TULLE_ERR_ARG);
    EXPECT(strstr(tulle_error_message(), "op(A) is 3 x 2"));
    thin.m = 1;
    thin.count = rank == 0;
    thin.n = thin.ld = a.m;
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &thin, &a, 0, &C, NULL, NULL) == TULLE_ERR_ARG);
    EXPECT(strstr(tulle_error_message(), "ask for a dense array"));
out:
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_body tests[] = {{"in and out", in_and_out}, {"products", products},
        {"borrowed arrays", borrowed}, {"solves", solves}, {"refusals", refusals}};
    return RUN_BODIES(argc, argv, tests, products);
}
