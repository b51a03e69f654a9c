/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fail in turn: products, solvers, streams, calls over arrays. For public_calls.h alone. */
#ifndef TULLE_TEST_SOLVER_CALLS_H
#define TULLE_TEST_SOLVER_CALLS_H

#include "matrix_calls.h"

static tulle_status product_layout(struct fixture *f, const char *text)
{
    (void)text;
    tulle_layout *layout;
    tulle_status status = tulle_product_layout(f->A, TULLE_OP_N, f->A, TULLE_OP_T, &layout);
    if (status == TULLE_OK) tulle_layout_free(layout);
    return status;
}

/* C = A^T B in `phases`, made and checked. */
static tulle_status multiply(struct fixture *f, tulle_mat *B, tulle_mat *C, tulle_product_alg alg, int phases)
{
    tulle_product *plan = NULL;
    double error;
    tulle_product_options options = {0};
    options.alg = alg;
    options.phases = phases;
    options.op_a = TULLE_OP_T;
    tulle_status status = tulle_product_new(f->A, B, C, &options, &plan);
    if (status == TULLE_OK && phases <= 1) {
        status = tulle_product_execute(plan, 1, 0, NULL);
        if (status == TULLE_OK) status = tulle_product_sync(plan);
        if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, &(tulle_product_report){.seconds = 0});
        if (status == TULLE_OK)
            status = tulle_product_check_matrices(1, f->A, options.op_a, B, options.op_b, C, &error);
    }
    for (tulle_columns columns = {.last = phases <= 1}; !columns.last && status == TULLE_OK;) {
        status = tulle_product_next(plan, 1, &columns, NULL);
        if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    }
    tulle_product_free(plan);
    return status;
}

static tulle_status product(struct fixture *f, const char *text)
{
    tulle_product_alg alg;
    tulle_mat *C = NULL;
    int sparse = text[0] == 's', phases = text[1] - '0';
    tulle_status status = tulle_product_alg_parse(text + 3, &alg);
    if (status == TULLE_OK)
        status = sparse ? tulle_mat_new_csr(f->comm, f->square, TULLE_F64, &C)
                        : tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status == TULLE_OK) status = multiply(f, sparse ? f->A : f->D, C, alg, phases);
    tulle_mat_free(C);
    return status;
}

static tulle_status look_around(struct fixture *f, const char *text)
{
    (void)text;
    tulle_machine machine = {.threads = 1};
    return tulle_machine_measure_tiers(f->comm, &machine);
}

/* text: s or d, B sparse or dense */
static tulle_status time_product(struct fixture *f, const char *text)
{
    tulle_machine machine = {.threads = 1};
    return tulle_machine_time_product(f->A, *text == 's' ? f->A : f->D, &machine);
}

/* A product that is only thought of; text: s or d. The matrix as rows is the fixture's in another layout. */
static tulle_status foresee(struct fixture *f, const char *text)
{
    enum { PES = 4 };
    tulle_mat *rows = NULL;
    tulle_layout *by_rows = NULL, *square = NULL, *thin = NULL;
    tulle_counts *counts = NULL;
    tulle_machine machine;
    tulle_prediction p;
    tulle_device_prediction there;
    const tulle_device_model devices = {.devices = 2, .memory = 1e9, .link = 1e9};
    double work[PES], bytes[PES];
    int sparse = *text == 's';
    tulle_layout_spec s = {.m = M, .n = M, .tile_rows = tulle_comm_size(f->comm), .tile_cols = 1, .grid_cols = 1};
    tulle_status status = tulle_layout_new(&s, tulle_comm_size(f->comm), &by_rows);
    s = (tulle_layout_spec){.m = M, .n = M, .grid_rows = 2, .grid_cols = 2};
    if (status == TULLE_OK) status = tulle_layout_new(&s, PES, &square);
    s.n = N;
    if (status == TULLE_OK) status = tulle_layout_new(&s, PES, &thin);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_redistribute(f->A, by_rows, &rows);
    tulle_counts_spec spec = {.a = square,
        .b = sparse ? square : thin,
        .c = sparse ? square : thin,
        .pes = PES,
        .type = TULLE_F64,
        .counting = TULLE_COUNT_RESULT};
    if (status == TULLE_OK) status = tulle_counts_new(rows, sparse ? rows : NULL, &spec, &counts);
    tulle_status alone = status == TULLE_OK ? tulle_machine_find("summit", 1, &machine) : status;
    for (int alg = TULLE_PRODUCT_AUTO + 1; alg < TULLE_PRODUCT_ALG_COUNT && alone == TULLE_OK; alg++) {
        alone = tulle_predict(counts, &machine, NULL, (tulle_product_alg)alg, &p);
        if (alone == TULLE_OK) alone = tulle_predict_loads(counts, &machine, NULL, (tulle_product_alg)alg, work, bytes);
        if (alone == TULLE_OK) alone = tulle_predict_devices(counts, &p, &devices, &there);
    }
    if (alone == TULLE_OK) alone = tulle_predict_best(counts, &machine, NULL, &p);
    if (status == TULLE_OK) status = tulle_comm_agree(f->comm, alone);
    tulle_counts_free(counts);
    tulle_mat_free(rows);
    tulle_layout_free(by_rows);
    tulle_layout_free(square);
    tulle_layout_free(thin);
    return status;
}

/* A filtered product of blocks, its counts and a range of it. text: a(lgorithm), l(ayers), s(tealing), c(uts). */
static tulle_status product_of_blocks(struct fixture *f, const char *text)
{
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts cuts = {4, cut};
    tulle_layout *square = NULL, *other = NULL;
    tulle_mat *V = NULL, *C = NULL, *part = NULL;
    tulle_product *plan = NULL;
    tulle_counts *counts = NULL;
    const tulle_product_options options = {.filter = 1e-3,
        .alg = *text == 's' ? TULLE_PRODUCT_STEAL_LOCAL_C : TULLE_PRODUCT_STATIONARY_C,
        .replication = *text == 'l' ? tulle_comm_size(f->comm) : 1};
    tulle_status status = tulle_layout_in_blocks(f->square, &cuts, &cuts, &square);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(f->other, &cuts, &cuts, &other);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(f->A, square, &V);
    if (status == TULLE_OK) status = tulle_mat_new_vbsr(f->comm, *text == 'c' ? other : square, TULLE_F64, &C);
    if (status == TULLE_OK) status = tulle_product_new(V, V, C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    const tulle_counts_spec spec = {
        square, square, square, tulle_comm_size(f->comm), TULLE_F64, TULLE_COUNT_FLOPS, 0, 1e-3};
    if (status == TULLE_OK && *text == 'a') status = tulle_counts_new(V, V, &spec, &counts);
    if (status == TULLE_OK && *text == 'a') status = tulle_mat_range(V, 3, 7, 0, 10, &part);
    if (status == TULLE_OK && *text == 'a') status = tulle_mat_range_add(1, part, 2, C, 3, 0);
    tulle_counts_free(counts);
    tulle_product_free(plan);
    tulle_mat_free(part);
    tulle_mat_free(C);
    tulle_mat_free(V);
    tulle_layout_free(square);
    tulle_layout_free(other);
    return status;
}

/* Products, a sum, a copy and a file of half of a symmetric matrix. text: how, or the file */
static tulle_status halves(struct fixture *f, const char *text)
{
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts cuts = {4, cut};
    tulle_layout *layout = NULL, *square = NULL;
    tulle_mat *A = NULL, *V = NULL, *H = NULL, *C = NULL, *sum = NULL;
    tulle_product *plan = NULL;
    const tulle_product_options options = {.filter = *text == 'f' ? 1e-3 : 0,
        .alg = *text == 's' ? TULLE_PRODUCT_STEAL_LOCAL_C : TULLE_PRODUCT_STATIONARY_C};
    double value;
    char path[PATH_MOST];
    tulle_status status = tulle_layout_in_blocks(f->square, &cuts, &cuts, &layout);
    if (status == TULLE_OK) status = tulle_layout_square(layout, &square);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", layout, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, layout, &V);
    if (status == TULLE_OK) status = tulle_mat_to_half(V, TULLE_SYMMETRIC, &H);
    if (strchr(text, '.')) {
        if (status == TULLE_OK) status = tulle_mat_save(H, in_folder(text, path));
        goto out;
    }
    if (status == TULLE_OK) status = tulle_mat_new_vbsr(f->comm, square, TULLE_F64, &C);
    if (status == TULLE_OK) status = tulle_product_new(H, H, C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_check(plan, &value);
    if (status == TULLE_OK) status = tulle_mat_new_half(f->comm, square, TULLE_F64, TULLE_SYMMETRIC, &sum);
    tulle_mat_free(sum);
    sum = NULL;
    if (status == TULLE_OK) status = tulle_mat_add(1, H, 1, H, &sum);
    tulle_mat_free(C);
    C = NULL;
    if (status == TULLE_OK) status = tulle_mat_to_full(sum, &C);
out:
    tulle_product_free(plan);
    tulle_mat_free(A);
    tulle_mat_free(V);
    tulle_mat_free(H);
    tulle_mat_free(C);
    tulle_mat_free(sum);
    tulle_layout_free(layout);
    tulle_layout_free(square);
    return status;
}

/* text: i(lu) or c(holesky) */
static tulle_status incomplete(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *L = NULL, *U = NULL;
    tulle_status status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK)
        status = *text == 'i' ? tulle_factor_ilu0(A, NULL, &L, &U, NULL) : tulle_factor_ic0(A, NULL, &L, NULL);
    tulle_mat_free(L);
    tulle_mat_free(U);
    tulle_mat_free(A);
    return status;
}

/* f->A in blocks, with a plan; text: the function */
static tulle_status matrix_function(struct fixture *f, const char *text)
{
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts cuts = {4, cut};
    tulle_layout *square = NULL;
    tulle_mat *A = NULL, *V = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    tulle_function function = {.p = 0};
    double error, tolerance, amplification;
    tulle_status status = tulle_layout_in_blocks(f->square, &cuts, &cuts, &square);
    if (status == TULLE_OK) status = tulle_function_parse(text, &function);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, square, &V);
    tulle_matfun_options options = {.symmetric = true};
    if (*text == 'r') options = (tulle_matfun_options){.filter = .001, .method = TULLE_MATFUN_COUPLED_NEWTON};
    if (status == TULLE_OK) status = tulle_matfun_new(V, &options, &plan);
    if (status == TULLE_OK) status = tulle_matfun_update(plan);
    if (status == TULLE_OK) status = tulle_matfun_execute(plan, &function, &F, NULL);
    if (status == TULLE_OK) status = tulle_matfun_check(plan, &function, F, 2, &error);
    if (status == TULLE_OK) status = tulle_matfun_checked(plan, &tolerance, &amplification);
    if (status == TULLE_OK) status = tulle_matfun_truncation(plan, &function, F, &error);
    tulle_matfun_free(plan);
    tulle_mat_free(F);
    tulle_mat_free(V);
    tulle_mat_free(A);
    tulle_layout_free(square);
    return status;
}

/* text: the file where the matrix is */
static tulle_status triplets(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *U = NULL;
    tulle_rows *rows = NULL;
    tulle_svd *plan = NULL;
    tulle_layout *layout = NULL;
    const bool file = strchr(text, '.') != NULL;
    const tulle_svd_options options = {.count = 2, .block = 1, .basis = 6, .centre = file};
    double sigma[2];
    char path[PATH_MOST];
    const tulle_layout_spec spec = {.m = M, .n = 2, .tile_rows = 1, .tile_cols = 1};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK && file) status = tulle_mat_save(A, in_folder(text, path));
    if (status == TULLE_OK && file) status = tulle_rows_open(f->comm, path, &rows);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_COL_MAJOR, &U);
    if (status == TULLE_OK)
        status = file ? tulle_svd_of_rows(rows, &options, &plan) : tulle_svd_new(A, &options, &plan);
    if (status == TULLE_OK) status = tulle_svd_execute(plan, sigma, NULL, U, NULL, NULL);
    tulle_svd_free(plan);
    tulle_rows_free(rows);
    tulle_mat_free(U);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

/* With S; text: mu or the number of electrons is given, or a method */
static tulle_status density_matrix(struct fixture *f, const char *text)
{
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts cuts = {4, cut};
    tulle_density_options options = {.filter = 1e-9, .check = 1};
    tulle_layout *square = NULL;
    tulle_mat *A = NULL, *S = NULL, *D = NULL;
    tulle_status status = tulle_comm_agree(f->comm, tulle_layout_in_blocks(f->square, &cuts, &cuts, &square));
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, square, &S);
    const bool whole = *text == 'n' || *text == 't'; /* all states are occupied: few iterations */
    if (whole) options = (tulle_density_options){.filter = .04, .method = TULLE_DENSITY_NEWTON_SCHULZ};
    if (*text == 't') options.method = TULLE_DENSITY_TC2;
    if (status == TULLE_OK)
        status = *text == 'm' || *text == 'n'
                     ? tulle_density_of_mu(S, whole ? NULL : S, whole ? 30 : 1, &options, &D, NULL)
                     : tulle_density_of_electrons(S, whole ? NULL : S, whole ? 24 : 5, &options, &D, NULL);
    tulle_mat_free(D);
    tulle_mat_free(S);
    tulle_mat_free(A);
    tulle_layout_free(square);
    return status;
}

/* text: l(u) or c(holesky) */
static tulle_status direct(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL;
    tulle_direct *factors = NULL;
    tulle_status status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK)
        status = *text == 'l' ? tulle_direct_lu(A, NULL, &factors) : tulle_direct_cholesky(A, NULL, &factors);
    tulle_direct_free(factors);
    tulle_mat_free(A);
    return status;
}

/* A triangle of the fixture's matrix with ones on its diagonal, solved with and checked; text: the method, or `on` and
 * a device. */
static tulle_status solve_triangle(struct fixture *f, const char *text)
{
    tulle_mat *T = NULL, *X = NULL;
    tulle_trisolve *solver = NULL;
    tulle_layout *layout = NULL;
    tulle_trisolve_options options = {.size = 0};
    double error;
    options.diag = TULLE_DIAG_UNIT;
    options.op = TULLE_OP_T;
    if (strncmp(text, "on ", 3) == 0) options.device = text + 3;
    tulle_status status = options.device ? TULLE_OK : tulle_trisolve_method_parse(text, &options.method);
    if (status == TULLE_OK) status = tulle_mat_triangle(f->A, TULLE_LOWER, TULLE_DIAG_UNIT, &T);
    if (status == TULLE_OK) status = tulle_trisolve_new(T, &options, &solver);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, f->D, X, &(tulle_trisolve_report){.seconds = 0});
    if (status == TULLE_OK) status = tulle_trisolve_check(T, &options, f->D, X, &error);
    if (status == TULLE_OK) status = tulle_trisolve_update(solver);
    if (status == TULLE_OK) status = tulle_comm_agree(f->comm, tulle_trisolve_layout(solver, N, &layout));
    tulle_layout_free(layout);
    tulle_trisolve_free(solver);
    tulle_mat_free(X);
    tulle_mat_free(T);
    return status;
}

/* A known solution, and how far another one is from it. */
static tulle_status foreknow(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *T = NULL, *B = NULL;
    tulle_trisolve_options options = {.size = 0};
    tulle_forward forward;
    options.diag = TULLE_DIAG_UNIT;
    tulle_status status = tulle_mat_triangle(f->A, TULLE_LOWER, TULLE_DIAG_UNIT, &T);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_trisolve_rhs(T, &options, f->D, B);
    if (status == TULLE_OK) status = tulle_trisolve_forward(T, &options, f->D, f->D, &forward);
    tulle_mat_free(B);
    tulle_mat_free(T);
    return status;
}

/* M x M, a band; a column (block-cg, minres: two) is solved for, in another layout. text: method and preconditioner. */
static tulle_status solve_iteratively(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_layout *layout = NULL;
    tulle_operator op = {.comm = NULL}, precond = {.comm = NULL};
    tulle_krylov_options options = {0};
    tulle_krylov_report report[2];
    tulle_precond_kind kind = TULLE_PRECOND_NONE;
    double error;
    tulle_layout_spec spec = {
        .m = M, .n = *text == 'b' || *text == 'm' ? 2 : 1, .tile_rows = 4, .tile_cols = 1, .map = TULLE_CYCLIC};
    options.method = *text == 'b'   ? TULLE_KRYLOV_BLOCK_CG
                     : *text == 'c' ? TULLE_KRYLOV_CG
                     : *text == 'm' ? TULLE_KRYLOV_MINRES
                                    : TULLE_KRYLOV_GMRES;
    options.restart = options.method == TULLE_KRYLOV_GMRES ? 2 : 0;
    options.tolerance = 0.3; /* each iteration is the same again */
    options.guess = 1;
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    if (status == TULLE_OK) status = tulle_precond_kind_parse(text + 2, &kind);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_COL_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_mat_fill_random(B, 1);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_precond_new(A, kind, NULL, &precond);
    if (status == TULLE_OK) status = tulle_krylov_solve(&op, &precond, B, X, &options, report);
    if (status == TULLE_OK) status = tulle_krylov_check(A, B, X, &options, &error);
    tulle_operator_free(&precond);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(layout);
    return status;
}

/* Y = A X by a stream, and by a solver that it is the operator of. text: the device, and behind a blank the format; or
 * a file, which is written first. */
static tulle_status stream(struct fixture *f, const char *text)
{
    char path[PATH_MOST], warnings[TULLE_WARNINGS_MAX];
    tulle_stream *stream = NULL;
    tulle_rows *rows = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_stream_report report;
    tulle_krylov_report told;
    double error = 0;
    tulle_krylov_options options = {.method = TULLE_KRYLOV_GMRES, .tolerance = 0.9, .restart = 2, .max_iterations = 9};
    tulle_stream_options how = {0};
    int is_file = strchr(text, '.') != NULL;
    char device[64];
    tulle_status status;
    snprintf(device, sizeof device, "%.*s", (int)strcspn(text, " "), text);
    how.device = is_file ? "cpu" : device;
    how.format = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL;
    how.slabs = 3;
    if (is_file) {
        status = tulle_mat_save_as(f->A, in_folder(text, path), "bsr:b=2");
        if (status == TULLE_OK) status = tulle_rows_open(f->comm, path, &rows);
        if (status == TULLE_OK) status = tulle_rows_diagonal(rows, 2, &A);
        if (status == TULLE_OK) status = tulle_stream_of_rows(rows, &how, &stream);
    } else {
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
        if (status == TULLE_OK) status = tulle_stream_new(A, &how, &stream);
    }
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(f->comm, tulle_stream_layout(stream), TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(f->comm, tulle_stream_layout(stream), TULLE_F64, TULLE_ROW_MAJOR, &Y);
    if (status == TULLE_OK) status = tulle_mat_fill_random(X, 1);
    if (status == TULLE_OK) status = tulle_stream_multiply(stream, X, Y, &report);
    if (status == TULLE_OK && is_file) status = tulle_rows_warnings(rows, warnings);
    if (status == TULLE_OK) status = tulle_stream_check(stream, X, Y, &error);
    if (status == TULLE_OK && !is_file) status = tulle_operator_of_stream(stream, &op);
    if (status == TULLE_OK && !is_file) status = tulle_krylov_solve(&op, NULL, X, Y, &options, &told);
    if (status == TULLE_OK && !is_file) status = tulle_stream_check_solve(stream, X, Y, &options, &error);
    tulle_operator_free(&op);
    tulle_stream_free(stream);
    tulle_rows_free(rows);
    tulle_mat_free(A);
    tulle_mat_free(X);
    tulle_mat_free(Y);
    return status;
}

static tulle_status algebra(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *sum = NULL, *part = NULL, *even = NULL, *moved = NULL;
    tulle_gidx order[M];
    double value, most, diagonal[M];
    int64_t odd;
    tulle_status status = tulle_mat_add(2, f->A, 1, f->A, &sum);
    if (status == TULLE_OK) status = tulle_mat_scale(sum, 2, NULL, NULL);
    if (status == TULLE_OK) status = tulle_mat_drop(sum, 10);
    if (status == TULLE_OK) status = tulle_mat_range(sum, 1, M - 2, 2, M - 4, &part);
    if (status == TULLE_OK) status = tulle_mat_diagonal(part, diagonal);
    if (status == TULLE_OK) status = tulle_mat_norm(part, TULLE_NORM_ONE, &value);
    if (status == TULLE_OK) status = tulle_mat_sddmm(1, f->D, f->D, sum);
    if (status == TULLE_OK) status = tulle_mat_trace(sum, &value);
    if (status == TULLE_OK) status = tulle_mat_infinite_rows(sum, &odd);
    if (status == TULLE_OK) status = tulle_mat_gershgorin(sum, &value, &most);
    if (status == TULLE_OK) status = tulle_mat_asymmetry(sum, TULLE_SKEW, &value);
    if (status == TULLE_OK) status = tulle_mat_symmetrise(sum, TULLE_SYMMETRIC, &even);
    if (status == TULLE_OK) status = tulle_mat_ordering(sum, TULLE_ORDERING_AMD, 0, order);
    if (status == TULLE_OK) status = tulle_mat_ordering(sum, TULLE_ORDERING_RCM, 0, order);
    if (status == TULLE_OK) status = tulle_mat_permute(sum, order, order, &moved);
    tulle_mat_free(moved);
    moved = NULL;
    if (status == TULLE_OK) status = tulle_mat_permute(f->D, order, NULL, &moved);
    tulle_mat_free(moved);
    tulle_mat_free(even);
    tulle_mat_free(part);
    tulle_mat_free(sum);
    return status;
}

/* This PE's rows of a matrix in arrays of its own, or, dense, of N columns; 32-bit pointers. */
struct own_rows {
    int32_t ptr[M + 1], ind[M];
    double val[M * N];
    tulle_array array;
};

static void fill_rows(const struct fixture *f, int dense, struct own_rows *r)
{
    int rank = tulle_comm_rank(f->comm), size = tulle_comm_size(f->comm);
    int first = M * rank / size, count = M * (rank + 1) / size - first;
    for (int i = 0; i <= count; i++) r->ptr[i] = i;
    for (int i = 0; i < count; i++) r->ind[i] = first + i;
    for (int i = 0; i < M * N; i++) r->val[i] = 2;
    r->array = dense ? TULLE_ARRAY_DENSE(M, N, r->val) : TULLE_ARRAY_CSR(M, M, r->ptr, r->ind, r->val);
    r->array.first = first;
    r->array.count = count;
    r->array.nnz = dense ? 0 : count;
}

/* text: s(parse product), d(ense), c(g) or t(riangular) */
static tulle_status with_arrays(struct fixture *f, const char *text)
{
    struct own_rows A, B;
    tulle_array C = {.storage = *text == 's' ? TULLE_STORAGE_CSC : TULLE_STORAGE_DENSE};
    fill_rows(f, 0, &A);
    fill_rows(f, 1, &B);
    tulle_status status =
        *text == 's'   ? tulle_multiply(f->comm, TULLE_OP_N, TULLE_OP_N, 1, &A.array, &A.array, 0, &C, NULL, NULL)
        : *text == 'd' ? tulle_multiply(f->comm, TULLE_OP_T, TULLE_OP_N, 1, &A.array, &B.array, 0, &C, NULL, NULL)
        : *text == 'c' ? tulle_solve(f->comm, &A.array, &B.array, &C, NULL, NULL)
                       : tulle_solve_triangular(f->comm, &A.array, &B.array, &C, NULL);
    tulle_array_free(&C);
    return status;
}

/* text: the storage of what comes out */
static tulle_status into_arrays(struct fixture *f, const char *text)
{
    struct own_rows A;
    tulle_mat *made = NULL;
    tulle_array out = {.storage = (tulle_storage)(*text - '0')};
    fill_rows(f, 0, &A);
    tulle_status status = tulle_mat_from_array(f->comm, &A.array, &made);
    if (status == TULLE_OK) status = tulle_mat_to_array(made, 0, &out);
    tulle_array_free(&out);
    tulle_mat_free(made);
    return status;
}

static tulle_status probe(struct fixture *f, const char *text)
{
    tulle_device_facts facts;
    (void)f;
    return tulle_device_probe(text, &facts);
}

static tulle_status multiply_elements(struct fixture *f, const char *text)
{
    tulle_operator op = {.comm = NULL};
    tulle_mat *x = NULL, *y = NULL;
    void *bound = NULL;
    (void)text;
    tulle_status status = tulle_operator_of_elements(f->comm, "cantilever:nodes=2,dof=3", TULLE_F64, &op);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, op.layout, TULLE_F64, TULLE_ROW_MAJOR, &x);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, op.layout, TULLE_F64, TULLE_ROW_MAJOR, &y);
    if (status == TULLE_OK) status = op.bind(op.context, x, y, &bound);
    if (status == TULLE_OK) status = op.apply(bound);
    if (bound) op.unbind(bound);
    tulle_mat_free(x);
    tulle_mat_free(y);
    tulle_operator_free(&op);
    return status;
}

/* Blocks of 2 x 3 in a column of PEs, all of M x M. text: c(opies), p(roduct), r(edistribution) */
static tulle_status cyclic(struct fixture *f, const char *text)
{
    double A[M * M] = {0}, B[M * M] = {0}, C[M * M];
    tulle_cyclic x = {
        .m = M, .n = M, .row_block = 2, .col_block = 3, .grid_rows = tulle_comm_size(f->comm), .grid_cols = 1};
    tulle_cyclic_part part = {.cyclic = &x, .m = M, .n = M, .ld = M};
    if (*text == 'p')
        return tulle_gemm_cyclic(f->comm, TULLE_F64, TULLE_OP_T, &part, A, TULLE_OP_N, &part, B, 1, 0, &part, C, NULL);
    if (*text == 'r') {
        tulle_cyclic y = x;
        y.row_block = 1;
        tulle_cyclic_part to = {.cyclic = &y, .m = M, .n = M, .ld = M};
        return tulle_cyclic_redistribute(f->comm, TULLE_F64, &part, A, &to, C);
    }
    tulle_mat *X = NULL;
    tulle_status status = tulle_mat_from_cyclic(f->comm, &part, TULLE_F64, A, f->square, &X);
    if (status == TULLE_OK) status = tulle_mat_to_cyclic(X, &part, B);
    tulle_mat_free(X);
    return status;
}

#endif
