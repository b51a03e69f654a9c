/* SPDX-License-Identifier: Apache-2.0 */
/* Products, solvers and what else multiplies by a sparse matrix. For hypersparse_calls.c alone. */
#ifndef TULLE_TEST_MAT_SOLVER_CALLS_H
#define TULLE_TEST_MAT_SOLVER_CALLS_H

#include "matrix_calls.h"

/* C = -2 A B + 0.5 C after C = A B, both checked. */
static tulle_status products(
    struct facts *f, const tulle_mat *A, const tulle_mat *B, tulle_mat *C, const tulle_product_options *options)
{
    tulle_product *plan = NULL;
    double error = 0;
    tulle_status status = tulle_product_new(A, B, C, options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_sync(plan);
    if (status == TULLE_OK) status = note_mat(f, C);
    if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    if (status == TULLE_OK) status = tulle_product_check_matrices(1, A, options->op_a, B, options->op_b, C, &error);
    if (status == TULLE_OK) status = tulle_product_execute(plan, -2, 0.5, NULL);
    if (status == TULLE_OK) status = note_mat(f, C);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 0, 3, NULL);
    if (status == TULLE_OK) status = note_mat(f, C);
    note(f, tulle_product_replication(plan) + tulle_product_phases(plan) + (tulle_product_bytes(plan) > 0));
    tulle_product_free(plan);
    return status;
}

static tulle_status spgemm(tulle_mat *A, struct facts *f)
{
    const tulle_product_options options = {.op_b = TULLE_OP_T, .alg = TULLE_PRODUCT_STATIONARY_C};
    tulle_layout *layout = NULL;
    tulle_mat **C = made(f);
    tulle_status status = tulle_comm_agree(f->comm, tulle_product_layout(A, options.op_a, A, options.op_b, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, C);
    if (status == TULLE_OK) status = products(f, A, A, *C, &options);
    tulle_layout_free(layout);
    return status;
}

/* A CSR matrix with two entries a row, where a matrix of this size is small. */
static tulle_status two_a_row(struct facts *f, tulle_gidx m, tulle_gidx n, tulle_mat **B)
{
    const tulle_layout_spec spec = {.m = m, .n = n, .grid_rows = tulle_comm_size(f->comm), .grid_cols = 1};
    tulle_gidx row[ENTRIES], col[ENTRIES];
    double val[ENTRIES];
    int64_t count = 0;
    tulle_layout *layout = NULL;
    for (tulle_gidx r = 0; r < m && tulle_comm_rank(f->comm) == 0 && count < ENTRIES - 1; r++)
        for (int e = 0; e < 2; e++, count++) row[count] = r, col[count] = (5 * r + e) % n, val[count] = (double)(r + e);
    tulle_status status = tulle_comm_agree(f->comm, tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout));
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(f->comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, B);
    tulle_layout_free(layout);
    return status;
}

/* A times a matrix in CSR, and such a one times A. */
static tulle_status with_csr(tulle_mat *A, struct facts *f)
{
    const tulle_product_options plain = {.alg = TULLE_PRODUCT_STATIONARY_C},
                                turned = {.op_a = TULLE_OP_T, .op_b = TULLE_OP_T};
    tulle_layout *layout = NULL;
    tulle_mat **B = made(f), **C = made(f), **D = made(f);
    tulle_status status = two_a_row(f, tulle_mat_cols(A), 7, B);
    if (status == TULLE_OK)
        status = tulle_comm_agree(f->comm, tulle_product_layout(A, TULLE_OP_N, *B, TULLE_OP_N, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, C);
    if (status == TULLE_OK) status = products(f, A, *B, *C, &plain);
    tulle_layout_free(layout);
    layout = NULL;
    if (status == TULLE_OK)
        status = tulle_comm_agree(f->comm, tulle_product_layout(*B, TULLE_OP_T, A, TULLE_OP_T, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, D);
    if (status == TULLE_OK) status = products(f, *B, A, *D, &turned);
    tulle_layout_free(layout);
    return status;
}

static tulle_status spmm(tulle_mat *A, struct facts *f)
{
    tulle_mat *X, *Y, *Z;
    tulle_product_options options = {.op_a = TULLE_OP_N};
    tulle_status status = dense(f, tulle_mat_cols(A), 3, 1, &X);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 3, 2, &Y);
    if (status == TULLE_OK) status = products(f, A, X, Y, &options);
    options.op_a = TULLE_OP_T;
    options.alg = TULLE_PRODUCT_STATIONARY_A;
    if (status == TULLE_OK) status = products(f, A, Y, X, &options);
    options.op_b = TULLE_OP_T;
    if (status == TULLE_OK) status = dense(f, 3, tulle_mat_rows(A), 3, &Z);
    return status == TULLE_OK ? products(f, A, Z, X, &options) : status;
}

static tulle_status selection(tulle_mat *A, struct facts *f)
{
    const tulle_selection two = {.by_rank = true, .top = 2, .cosine = true};
    const tulle_product_options options = {.op_b = TULLE_OP_T, .selection = &two};
    tulle_layout *layout = NULL;
    tulle_product *plan = NULL;
    tulle_mat **C = made(f);
    tulle_status status = tulle_comm_agree(f->comm, tulle_product_layout(A, TULLE_OP_N, A, TULLE_OP_T, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, C);
    if (status == TULLE_OK) status = tulle_product_new(A, A, *C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = note_mat(f, *C);
    tulle_product_free(plan);
    tulle_layout_free(layout);
    return status;
}

static tulle_status explain(tulle_mat *A, struct facts *f)
{
    tulle_product_mechanism mechanism[TULLE_PRODUCT_MECHANISMS];
    return tulle_comm_size(f->comm) == 1 ? tulle_product_explain(A, A, 0, mechanism) : TULLE_OK;
}

static tulle_status counts(tulle_mat *A, struct facts *f)
{
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_counts *c = NULL;
    tulle_machine machine;
    tulle_prediction p = {.suits = false};
    const tulle_gidx m = tulle_mat_rows(A), k = tulle_mat_cols(A), n = m == k ? k : 3,
                     size[3][2] = {{m, k}, {k, n}, {m, n}};
    tulle_status status = TULLE_OK;
    for (int x = 0; x < 3 && status == TULLE_OK; x++) {
        const tulle_layout_spec spec = {
            .m = size[x][0], .n = size[x][1], .grid_rows = 2, .grid_cols = 2, .tile_rows = 2, .tile_cols = 2};
        status = tulle_layout_new(&spec, 4, &l[x]);
    }
    status = tulle_comm_agree(f->comm, status);
    const tulle_counts_spec spec = {.a = l[0], .b = l[1], .c = l[2], .pes = 4, .type = TULLE_F64};
    if (status == TULLE_OK) status = tulle_counts_new(A, m == k ? A : NULL, &spec, &c);
    if (status == TULLE_OK) status = tulle_machine_find("summit", 1, &machine);
    if (status == TULLE_OK) status = tulle_predict_best(c, &machine, NULL, &p);
    note(f, status == TULLE_OK ? tulle_counts_flops(c) : 0);
    tulle_counts_free(c);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    return status;
}

static tulle_status bound(tulle_mat *A, struct facts *f)
{
    tulle_machine machine;
    const tulle_status status = tulle_machine_find("summit", 1, &machine);
    if (status == TULLE_OK) note(f, tulle_product_bound(&machine, A, A, A, 10).seconds > 0);
    return status;
}

/* No rate is told: it is not that of hypersparse tiles. */
static tulle_status time_product(tulle_mat *A, struct facts *f)
{
    tulle_mat **T = made(f);
    tulle_machine machine;
    tulle_status status = tulle_machine_find("summit", 1, &machine);
    if (status == TULLE_OK) status = tulle_mat_transpose(A, T);
    if (status == TULLE_OK) status = tulle_machine_time_product(A, *T, &machine);
    if (status == TULLE_OK) note(f, machine.kernel >= 0);
    return status;
}

static tulle_status sddmm(tulle_mat *A, struct facts *f)
{
    tulle_mat *X, *Y;
    tulle_status status = dense(f, tulle_mat_rows(A), 3, 1, &X);
    if (status == TULLE_OK) status = dense(f, tulle_mat_cols(A), 3, 2, &Y);
    if (status == TULLE_OK) status = tulle_mat_sddmm(2, X, Y, A);
    return status == TULLE_OK ? note_mat(f, A) : status;
}

static tulle_status lines(tulle_mat *A, struct facts *f)
{
    tulle_gidx order[64];
    int64_t work[64];
    double diagonal[64], factor[64];
    tulle_mat **P = made(f);
    tulle_status status = tulle_mat_row_nnz(A, work);
    for (int r = 0; r < tulle_mat_rows(A) && r < 64; r++) factor[r] = r + 1;
    note(f, (double)work[0]);
    if (status == TULLE_OK) status = tulle_mat_diagonal(A, diagonal);
    note(f, diagonal[0]);
    if (status == TULLE_OK) status = tulle_mat_ordering(A, TULLE_ORDERING_RANDOM, 1, order);
    if (status == TULLE_OK) status = tulle_mat_permute(A, order, NULL, P);
    if (status == TULLE_OK) status = note_mat(f, *P);
    if (status == TULLE_OK) status = tulle_mat_scale(A, 2, factor, NULL);
    if (status == TULLE_OK) status = note_mat(f, A);
    if (status == TULLE_OK && tulle_mat_rows(A) == tulle_mat_cols(A)) status = tulle_mat_row_flops(A, A, work);
    note(f, (double)work[1]);
    if (status == TULLE_OK) status = tulle_mat_ordering(A, TULLE_ORDERING_AMD, 1, order);
    note(f, (double)order[0]);
    return status;
}

static tulle_status range_add(tulle_mat *A, struct facts *f)
{
    tulle_mat *C;
    tulle_mat **P = made(f);
    tulle_status status = dense(f, tulle_mat_rows(A) + 2, tulle_mat_cols(A) + 1, 3, &C);
    if (status == TULLE_OK) status = tulle_mat_to_csr(A, false, P);
    if (status == TULLE_OK) status = tulle_mat_range_add(2, *P, 1, A, 0, 0);
    return status == TULLE_OK ? note_mat(f, A) : status;
}

static tulle_status krylov(tulle_mat *A, struct facts *f)
{
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_krylov_report report;
    tulle_mat *B, *X;
    double error = 0;
    tulle_status status = dense(f, tulle_mat_rows(A), 1, 1, &B);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 1, 0, &X);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_precond_new(A, TULLE_PRECOND_JACOBI, NULL, &M);
    if (status == TULLE_OK) status = tulle_krylov_solve(&op, &M, B, X, NULL, &report);
    if (status == TULLE_OK) status = note_mat(f, X);
    if (status == TULLE_OK) status = tulle_krylov_check(A, B, X, NULL, &error);
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    return status;
}

static tulle_status trisolve(tulle_mat *A, struct facts *f)
{
    const tulle_trisolve_options options = {.diag = TULLE_DIAG_UNIT};
    tulle_trisolve *solver = NULL;
    tulle_forward forward;
    tulle_mat *B, *X, **T = made(f);
    double error = 0;
    tulle_status status = dense(f, tulle_mat_rows(A), 2, 2, &B);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 2, 0, &X);
    if (status == TULLE_OK) status = tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_UNIT, T);
    if (status == TULLE_OK) status = tulle_trisolve_new(*T, &options, &solver);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, B, X, NULL);
    if (status == TULLE_OK) status = note_mat(f, X);
    if (status == TULLE_OK) status = tulle_trisolve_check(*T, &options, B, X, &error);
    if (status == TULLE_OK) status = tulle_trisolve_rhs(*T, &options, X, B);
    if (status == TULLE_OK) status = tulle_trisolve_forward(*T, &options, X, X, &forward);
    tulle_trisolve_free(solver);
    return status;
}

static tulle_status trisolve_huge(tulle_mat *A, struct facts *f)
{
    tulle_trisolve *solver = NULL;
    const tulle_status status = tulle_trisolve_new(A, NULL, &solver);
    tulle_trisolve_free(solver);
    (void)f;
    return status;
}

static tulle_status factors(tulle_mat *A, struct facts *f)
{
    tulle_mat **L = made(f), **U = made(f), **I = made(f);
    tulle_status status = tulle_factor_ilu0(A, NULL, L, U, NULL);
    if (status == TULLE_OK) status = note_mat(f, *U);
    if (status == TULLE_OK) status = tulle_factor_ic0(A, NULL, I, NULL);
    return status == TULLE_OK ? note_mat(f, *I) : status;
}

static tulle_status ic0(tulle_mat *A, struct facts *f)
{
    return tulle_factor_ic0(A, NULL, made(f), NULL);
}

static tulle_status direct(tulle_mat *A, struct facts *f)
{
    tulle_direct *lu = NULL, *cholesky = NULL;
    tulle_status status = tulle_direct_lu(A, NULL, &lu);
    if (status == TULLE_OK) status = tulle_direct_cholesky(A, NULL, &cholesky);
    tulle_direct_free(lu);
    tulle_direct_free(cholesky);
    (void)f;
    return status;
}

static tulle_status preconditioner(tulle_mat *A, struct facts *f)
{
    tulle_operator M = {.comm = NULL};
    const tulle_status status = tulle_precond_new(A, TULLE_PRECOND_JACOBI, NULL, &M);
    tulle_operator_free(&M);
    (void)f;
    return status;
}

static tulle_status operator_of(tulle_mat *A, struct facts *f)
{
    tulle_operator op = {.comm = NULL};
    const tulle_status status = tulle_operator_of_mat(A, NULL, &op);
    tulle_operator_free(&op);
    (void)f;
    return status;
}

static tulle_status svd(tulle_mat *A, struct facts *f)
{
    const tulle_svd_options options = {.count = 1, .block = 1, .basis = 6};
    tulle_svd *plan = NULL;
    double sigma = 0;
    tulle_status status = tulle_svd_new(A, &options, &plan);
    if (status == TULLE_OK) status = tulle_svd_execute(plan, &sigma, NULL, NULL, NULL, NULL);
    note(f, sigma);
    tulle_svd_free(plan);
    return status;
}

static tulle_status spectrum(tulle_mat *A, struct facts *f)
{
    const tulle_spectrum_options options = {.count = 1, .block = 1, .basis = 6};
    tulle_spectrum *plan = NULL;
    double value = 0;
    tulle_status status = tulle_spectrum_of_mat(A, NULL, &options, &plan);
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, &value, NULL, NULL, NULL);
    note(f, value);
    tulle_spectrum_free(plan);
    return status;
}

static tulle_status pencil(tulle_mat *A, struct facts *f)
{
    const tulle_spectrum_options options = {.count = 1, .block = 1, .nearest = true, .sigma = .5};
    tulle_spectrum *plan = NULL;
    const tulle_status status = tulle_spectrum_of_mat(A, A, &options, &plan);
    tulle_spectrum_free(plan);
    (void)f;
    return status;
}

static tulle_status lobpcg(tulle_mat *A, struct facts *f)
{
    const tulle_spectrum_options options = {.count = 1, .end = TULLE_SPECTRUM_SMALLEST};
    tulle_operator op = {.comm = NULL};
    double value = 0;
    tulle_status status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_lobpcg(&op, A, NULL, &options, &value, NULL, NULL, NULL);
    note(f, value);
    tulle_operator_free(&op);
    return status;
}

static tulle_status fit(tulle_mat *A, struct facts *f)
{
    const tulle_least_squares_options options = {.damp = .5};
    tulle_mat *B, *X;
    double error = 0;
    tulle_status status = dense(f, tulle_mat_rows(A), 1, 1, &B);
    if (status == TULLE_OK) status = dense(f, tulle_mat_cols(A), 1, 0, &X);
    if (status == TULLE_OK) status = tulle_least_squares(A, B, X, &options, NULL);
    if (status == TULLE_OK) status = note_mat(f, X);
    return status == TULLE_OK ? tulle_least_squares_check(A, B, X, &options, &error) : status;
}

static tulle_status stream(tulle_mat *A, struct facts *f)
{
    const tulle_stream_options options = {.device = "cpu"};
    tulle_stream *s = NULL;
    tulle_mat *X, *Y;
    double error = 0;
    tulle_status status = tulle_stream_new(A, &options, &s);
    if (status == TULLE_OK) status = dense(f, tulle_mat_cols(A), 2, 2, &X);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 2, 0, &Y);
    if (status == TULLE_OK) status = tulle_stream_multiply(s, X, Y, NULL);
    if (status == TULLE_OK) status = note_mat(f, Y);
    if (status == TULLE_OK) status = tulle_stream_check(s, X, Y, &error);
    tulle_stream_free(s);
    return status;
}

static tulle_status functions(tulle_mat *A, struct facts *f)
{
    const tulle_matfun_options options = {.symmetric = true};
    const tulle_density_options density = {.filter = 1e-9};
    tulle_matfun *plan = NULL;
    tulle_mat **D = made(f);
    tulle_status status = tulle_matfun_new(A, &options, &plan);
    tulle_matfun_free(plan);
    if (status == TULLE_OK) status = tulle_density_of_mu(A, NULL, 1, &density, D, NULL);
    return status;
}

static tulle_status density_matrix(tulle_mat *A, struct facts *f)
{
    const tulle_density_options density = {.filter = 1e-9};
    const tulle_status status = tulle_density_of_mu(A, NULL, 1, &density, made(f), NULL);
    return status == TULLE_OK ? tulle_density_of_electrons(A, NULL, 1, &density, made(f), NULL) : status;
}

static tulle_status halves(tulle_mat *A, struct facts *f)
{
    tulle_mat **H = made(f), **F = made(f);
    const tulle_status status = tulle_mat_to_half(A, TULLE_SYMMETRIC, H);
    return status == TULLE_OK ? tulle_mat_to_full(*H, F) : tulle_mat_to_full(A, F);
}

static tulle_status to_cyclic(tulle_mat *A, struct facts *f)
{
    static double val[64 * 64];
    const tulle_cyclic x = {.m = tulle_mat_rows(A),
        .n = tulle_mat_cols(A),
        .row_block = 2,
        .col_block = 3,
        .grid_rows = tulle_comm_size(f->comm),
        .grid_cols = 1};
    const tulle_cyclic_part part = {.cyclic = &x, .m = x.m, .n = x.n, .ld = x.m};
    return tulle_mat_to_cyclic(A, &part, val);
}

static tulle_status compress(tulle_mat *A, struct facts *f)
{
    tulle_mat **H = made(f);
    tulle_status status = tulle_mat_compress(A, H);
    if (status == TULLE_OK) status = note_mat(f, *H);
    return status == TULLE_OK ? tulle_mat_expand(A) : status;
}

#endif
