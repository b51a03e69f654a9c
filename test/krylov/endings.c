/* SPDX-License-Identifier: Apache-2.0 */
/* Solves that stop without plain convergence, and refusals: endings SPEC PES. */
#include "systems.h"
#include "tap.h"

enum { N = 60, COLS = 3 };

static double side_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return side(i, c);
}

static double zero_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg, (void)i, (void)c;
    return 0;
}

static double scaled_of(const void *arg, int64_t i, int64_t c)
{
    return ldexp(side(i, c), *(const int *)arg);
}

/* A NaN in column 1. */
static double holed_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return i == N / 2 && c == 1 ? NAN : side(i, c);
}

/* ---- an operator of the test's own: y = factor x ---- */

struct multiple {
    double factor;
    tulle_mat *x, *y;
};

static tulle_status bind_multiple(void *context, tulle_mat *x, tulle_mat *y, void **bound)
{
    struct multiple *m = context;
    m->x = x;
    m->y = y;
    *bound = m;
    return TULLE_OK;
}

static tulle_status apply_multiple(void *bound)
{
    const struct multiple *m = bound;
    const tulle_layout *l = tulle_mat_layout(m->x);
    tulle_status status = TULLE_OK;
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_tile x;
        tulle_own_tile y;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(m->x))) continue;
        status = tulle_mat_tile(m->x, i, 0, &x);
        if (status == TULLE_OK) status = tulle_mat_own_tile(m->y, i, 0, &y);
        for (int64_t r = 0; status == TULLE_OK && r < x.m * x.n; r++)
            put(y.val, y.type, r, m->factor * get(x.val, x.type, r));
    }
    return tulle_comm_agree(tulle_mat_comm(m->x), status);
}

static void unbind_multiple(void *bound)
{
    ((struct multiple *)bound)->x = NULL;
}

static tulle_operator multiple_of(tulle_comm *comm, struct multiple *m, const tulle_layout *layout)
{
    return (tulle_operator){.comm = comm,
        .n = N,
        .type = TULLE_F64,
        .layout = layout,
        .context = m,
        .bind = bind_multiple,
        .apply = apply_multiple,
        .unbind = unbind_multiple};
}

/* ---- cases ---- */

struct fixture {
    tulle_comm *comm;
    tulle_mat *A, *B, *X;
    tulle_operator op;
    tulle_krylov_options options;
    tulle_krylov_report report[COLS];
};

static tulle_status prepare(struct fixture *f, enum kind kind, int64_t strange)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    TULLE_TRY(distribute(f->comm, kind, N, 0, 1, TULLE_F64, strange, &f->A));
    TULLE_TRY(tulle_operator_of_mat(f->A, NULL, &f->op));
    TULLE_TRY(make_layout(f->comm, N, COLS, 0, 1, &layout));
    TULLE_TRY(tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &f->B));
    TULLE_TRY(tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &f->X));
    TULLE_TRY(fill(f->B, side_of, NULL));
    TULLE_TRY(fill(f->X, side_of, NULL));
out:
    tulle_layout_free(layout);
    return status;
}

static void drop(struct fixture *f)
{
    tulle_operator_free(&f->op);
    tulle_mat_free(f->A);
    tulle_mat_free(f->B);
    tulle_mat_free(f->X);
    f->A = f->B = f->X = NULL;
}

/* Solves, and expects this stop and message of the first column. */
static tulle_status expect_stop(struct fixture *f, const tulle_operator *M, tulle_stop stop, const char *message)
{
    tulle_status status = tulle_krylov_solve(&f->op, M, f->B, f->X, &f->options, f->report);
    tulle_status wanted = stop == TULLE_STOP_CONVERGED ? TULLE_OK : TULLE_ERR_CONVERGENCE;
    if (status == wanted && f->report[0].stop == stop && (status == TULLE_OK || strstr(tulle_error_message(), message)))
        return TULLE_OK;
    return tulle__fail(TULLE_ERR_CHECK, "status %d, stop %s after %d: %s", (int)status,
        tulle_stop_name(f->report[0].stop), (int)f->report[0].iterations,
        status == TULLE_OK ? "" : tulle_error_message());
}

static tulle_status indefinite(struct fixture *f)
{
    tulle_status status;
    char iteration[64];
    TULLE_TRY(prepare(f, INDEFINITE, -1));
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_INDEFINITE, "not positive definite"));
    EXPECT(f->report[0].iterations >= 1 && f->report[0].iterations <= 9 && isfinite(f->report[0].true_residual));
    snprintf(iteration, sizeof iteration, "cg, column 1, iteration %d: p^T A p is -", (int)f->report[0].iterations);
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_INDEFINITE, iteration));
    f->options.method = TULLE_KRYLOV_BLOCK_CG;
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_INDEFINITE, "the matrix is not positive definite"));
    for (int c = 0; c < COLS; c++)
        EXPECT(f->report[c].stop == TULLE_STOP_INDEFINITE && isfinite(f->report[c].true_residual));
    f->options.method = TULLE_KRYLOV_GMRES;
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
out:
    return status;
}

/* P^T A P shrinks to the kernel's part. */
static tulle_status singular_matrix(struct fixture *f)
{
    tulle_status status;
    TULLE_TRY(prepare(f, SINGULAR, -1));
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_RANK_LOSS, "the matrix is singular to working precision"));
    EXPECT(strstr(tulle_error_message(), "cg, column 1, iteration ") && isfinite(f->report[0].true_residual));
    f->options.method = TULLE_KRYLOV_BLOCK_CG;
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_RANK_LOSS, "P^T A P"));
    EXPECT(strstr(tulle_error_message(), "block-cg, column 1, iteration ") && f->report[0].iterations <= 12);
    EXPECT(f->report[0].true_residual < f->report[0].norm); /* the solvable part is solved */
out:
    return status;
}

static tulle_status indefinite_preconditioner(struct fixture *f)
{
    tulle_status status;
    struct multiple minus = {.factor = -1};
    tulle_operator M = multiple_of(f->comm, &minus, NULL);
    TULLE_TRY(prepare(f, POISSON, -1));
    TULLE_TRY(expect_stop(f, &M, TULLE_STOP_PRECOND_INDEFINITE, "preconditioner is not positive definite"));
    EXPECT(f->report[0].iterations == 0 && minus.x == NULL);
    f->options.method = TULLE_KRYLOV_BLOCK_CG;
    TULLE_TRY(expect_stop(f, &M, TULLE_STOP_PRECOND_INDEFINITE, "preconditioner is not positive definite"));
    EXPECT(f->report[2].stop == TULLE_STOP_PRECOND_INDEFINITE && minus.x == NULL);
    f->options.method = TULLE_KRYLOV_GMRES;
    TULLE_TRY(expect_stop(f, &M, TULLE_STOP_CONVERGED, ""));
out:
    return status;
}

/* A cycle of fewer than N vectors gains nothing; and a matrix without an inverse. */
static tulle_status stagnation(struct fixture *f)
{
    tulle_status status;
    f->options.method = TULLE_KRYLOV_GMRES;
    f->options.restart = 20;
    TULLE_TRY(prepare(f, SHIFT, -1));
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_STAGNATED, "a longer restart"));
    drop(f);
    TULLE_TRY(prepare(f, SINGULAR, -1));
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_STAGNATED, "gmres, column 1, iteration"));
    EXPECT(f->report[0].true_residual < f->report[0].norm); /* the solvable part is solved */
out:
    return status;
}

/* A tolerance below the type's precision. */
static tulle_status attainable(struct fixture *f)
{
    tulle_status status;
    f->options.tolerance = 1e-18;
    TULLE_TRY(prepare(f, POISSON, -1));
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        f->options.method = (tulle_krylov_method)m;
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_STAGNATED, "precision"));
        EXPECT(f->report[0].true_residual < 1e-13 * f->report[0].norm);
    }
out:
    return status;
}

static tulle_status out_of_iterations(struct fixture *f)
{
    tulle_status status;
    double error;
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        f->options.method = (tulle_krylov_method)m;
        f->options.restart = f->options.method == TULLE_KRYLOV_GMRES ? 3 : 0;
        f->options.guess = 0;
        TULLE_TRY(prepare(f, POISSON, -1));
        for (int most = 0; most < 6; most++) {
            double before = f->report[0].true_residual;
            f->options.max_iterations = most ? most : TULLE_NONE;
            TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_ITERATIONS, " yet"));
            EXPECT(f->report[0].iterations == most && f->report[2].iterations == most);
            EXPECT(most == 0 || m != TULLE_KRYLOV_GMRES || f->report[0].true_residual < before);
            EXPECT(fabs(f->report[0].residual - f->report[0].true_residual) < 1e-12);
        }
        EXPECT(tulle_krylov_check(f->A, f->B, f->X, &f->options, &error) == TULLE_ERR_CHECK && error > 1);
        f->options.max_iterations = 10000;
        f->options.guess = 1; /* from the last iterate on */
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
        TULLE_TRY(tulle_krylov_check(f->A, f->B, f->X, &f->options, &error));
        drop(f);
    }
out:
    return status;
}

/* b = 0 with any guess; and the solution as a guess. */
static tulle_status nothing_to_do(struct fixture *f)
{
    tulle_status status;
    double x[N * COLS];
    f->options.guess = 1;
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        f->options.method = (tulle_krylov_method)m;
        TULLE_TRY(prepare(f, IDENTITY, -1));
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, "")); /* X = B */
        EXPECT(f->report[0].iterations == 0 && f->report[0].products == 1 && f->report[0].true_residual == 0);
        TULLE_TRY(fill(f->B, zero_of, NULL));
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
        EXPECT(f->report[0].iterations == 0 && f->report[0].products == 0 && f->report[0].norm == 0);
        TULLE_TRY(collect(f->X, x));
        for (int i = 0; i < N * COLS; i++) EXPECT(x[i] == 0);
        drop(f);
    }
out:
    return status;
}

static tulle_status not_finite(struct fixture *f)
{
    tulle_status status;
    double x[N * COLS];
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        f->options.method = (tulle_krylov_method)m;
        TULLE_TRY(prepare(f, POISSON, -1));
        TULLE_TRY(fill(f->B, holed_of, NULL));
        tulle_status met = tulle_krylov_solve(&f->op, NULL, f->B, f->X, &f->options, f->report);
        EXPECT(met == TULLE_ERR_CONVERGENCE && strstr(tulle_error_message(), "column 2, iteration 0: b is not finite"));
        EXPECT(f->report[0].stop == TULLE_STOP_CONVERGED && f->report[1].stop == TULLE_STOP_RHS_NOT_FINITE &&
               f->report[2].stop == TULLE_STOP_CONVERGED);
        TULLE_TRY(collect(f->X, x));
        for (int i = 0; i < N; i++) EXPECT(isfinite(x[i * COLS]) && isfinite(x[i * COLS + 2]));
        drop(f);
        TULLE_TRY(prepare(f, POISSON, 30)); /* NaN in A */
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_NOT_FINITE, "iteration 1: "));
        drop(f);
    }
out:
    return status;
}

/* The same bits for b times a power of two, where its square would be 0 or infinite. */
static tulle_status far_scales(struct fixture *f)
{
    static const int exponents[] = {0, -900, 900};
    tulle_status status;
    double x[N * COLS], y[N * COLS];
    int64_t iterations = 0;
    TULLE_TRY(prepare(f, POISSON, -1));
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++)
        for (int e = 0; e < 3; e++) {
            f->options.method = (tulle_krylov_method)m;
            TULLE_TRY(fill(f->B, scaled_of, &exponents[e]));
            TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
            TULLE_TRY(collect(f->X, e ? y : x));
            if (!e) iterations = f->report[0].iterations;
            EXPECT(f->report[0].iterations == iterations);
            for (int i = 0; e && i < N * COLS; i++) EXPECT(y[i] == ldexp(x[i], exponents[e]));
        }
out:
    return status;
}

/* Subnormal right-hand sides; and far smaller ones than the initial guess, to an absolute tolerance. */
static tulle_status tiny_sides(struct fixture *f)
{
    tulle_status status;
    static const int exponents[] = {-1060, -520, -700, -1000};
    static const int zero = 0;
    TULLE_TRY(prepare(f, POISSON, -1));
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        f->options = (tulle_krylov_options){.method = (tulle_krylov_method)m};
        TULLE_TRY(fill(f->B, scaled_of, &exponents[0])); /* x has 13 bits there */
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_RANGE, "below 2.23e-308"));
        f->options.tolerance = 1e-2;
        TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
        f->options.tolerance = 0;
        f->options.guess = true;
        f->options.absolute = 1e-10;
        for (size_t e = 1; e < sizeof exponents / sizeof *exponents; e++) {
            TULLE_TRY(fill(f->B, scaled_of, &exponents[e]));
            TULLE_TRY(fill(f->X, scaled_of, &zero));
            TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
            EXPECT(f->report[0].iterations > 3 && f->report[0].true_residual <= 1e-10);
        }
    }
out:
    return status;
}

/* Operators that are not matrices, and unsuitable operands. */
static tulle_status own_operator(struct fixture *f)
{
    tulle_status status;
    tulle_layout *rows = NULL, *scattered = NULL;
    struct multiple twice = {.factor = 2}, half = {.factor = 0.5};
    double x[N * COLS];
    tulle_operator A, M = multiple_of(f->comm, &half, NULL);
    TULLE_TRY(prepare(f, POISSON, -1));
    TULLE_TRY(make_layout(f->comm, N, 1, 0, 1, &rows));
    A = multiple_of(f->comm, &twice, rows);
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        f->options.method = (tulle_krylov_method)m;
        TULLE_TRY(tulle_krylov_solve(&A, m ? NULL : &M, f->B, f->X, &f->options, f->report));
        EXPECT(f->report[0].iterations == 1);
        TULLE_TRY(collect(f->X, x));
        for (int i = 0; i < N * COLS; i++) EXPECT(fabs(x[i] - side(i / COLS, i % COLS) / 2) < 1e-15);
    }
    TULLE_TRY(make_layout(f->comm, N, 1, 2 * tulle_comm_size(f->comm) + 1, 1, &scattered));
    A.layout = scattered; /* several tiles a PE */
    EXPECT(tulle_krylov_solve(&A, NULL, f->B, f->X, &f->options, f->report) == TULLE_ERR_ARG);
    A.layout = rows;
    M.n = N + 1;
    EXPECT(tulle_krylov_solve(&A, &M, f->B, f->X, &f->options, f->report) == TULLE_ERR_ARG);
out:
    tulle_layout_free(rows);
    tulle_layout_free(scattered);
    return status;
}

static tulle_status refusals(struct fixture *f)
{
    tulle_status status, met;
    tulle_layout *wide = NULL;
    tulle_mat *W = NULL, *single = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_krylov_options bad;
    tulle_precond_options blocks = {.block = -1};
    tulle_product_options product = {.lookahead = -1}; /* neither the default nor TULLE_NONE */
    TULLE_TRY(prepare(f, INDEFINITE, -1));
    for (int b = 0; b < 8; b++) {
        bad = f->options;
        if (b == 0) bad.tolerance = -1;
        if (b == 1) bad.tolerance = NAN;
        if (b == 2) bad.absolute = -1;
        if (b == 3) bad.max_iterations = -1;
        if (b == 4) bad.method = TULLE_KRYLOV_GMRES, bad.restart = -1;
        if (b == 5) bad.method = TULLE_KRYLOV_METHOD_COUNT;
        if (b == 6) bad.width = -1;
        if (b == 7) bad.width = 65;
        EXPECT(tulle_krylov_solve(&f->op, NULL, f->B, f->X, &bad, NULL) == TULLE_ERR_ARG);
    }
    TULLE_TRY(make_layout(f->comm, N, N + 1, 0, 1, &wide));
    TULLE_TRY(tulle_mat_new_csr(f->comm, wide, TULLE_F64, &W));
    TULLE_TRY(tulle_mat_new_dense(f->comm, tulle_mat_layout(f->B), TULLE_F32, TULLE_ROW_MAJOR, &single));
    EXPECT(tulle_operator_of_mat(W, NULL, &op) == TULLE_ERR_ARG && !op.comm);
    EXPECT(tulle_operator_of_mat(f->B, NULL, &op) == TULLE_ERR_ARG);
    if (tulle_operator_of_mat(f->A, &product, &op) == TULLE_OK) { /* plans are made when vectors are bound */
        EXPECT(tulle_krylov_solve(&op, NULL, f->B, f->X, NULL, NULL) == TULLE_ERR_ARG);
        tulle_operator_free(&op);
    }
    EXPECT(tulle_precond_new(W, TULLE_PRECOND_JACOBI, NULL, &op) == TULLE_ERR_ARG);
    EXPECT(tulle_precond_new(f->A, TULLE_PRECOND_KIND_COUNT, NULL, &op) == TULLE_ERR_ARG);
    EXPECT(tulle_precond_new(f->A, TULLE_PRECOND_BLOCK_JACOBI, &blocks, &op) == TULLE_ERR_ARG);
    met = tulle_precond_new(f->A, TULLE_PRECOND_IC0, NULL, &op);
    EXPECT(met == TULLE_ERR_ARG && strstr(tulle_error_message(), "no positive entry on the diagonal") && !op.comm);
    EXPECT(tulle_krylov_solve(&f->op, NULL, single, f->X, NULL, NULL) == TULLE_ERR_ARG);
    EXPECT(tulle_krylov_solve(&f->op, NULL, f->B, single, NULL, NULL) == TULLE_ERR_ARG);
out:
    tulle_mat_free(W);
    tulle_mat_free(single);
    tulle_layout_free(wide);
    return status;
}

/* Binding the preconditioner detects a zero diagonal entry; the solver can be used afterwards. */
static tulle_status singular_blocks(struct fixture *f)
{
    tulle_status status = TULLE_OK, met;
    tulle_operator M = {.comm = NULL};
    tulle_precond_options blocks = {.block = 4};
    TULLE_TRY(prepare(f, SINGULAR, -1));
    for (int p = TULLE_PRECOND_JACOBI; p <= TULLE_PRECOND_BLOCK_JACOBI; p++) {
        met = tulle_precond_new(f->A, (tulle_precond_kind)p, p == TULLE_PRECOND_JACOBI ? NULL : &blocks, &M);
        if (met == TULLE_ERR_UNSUPPORTED && p == TULLE_PRECOND_BLOCK_JACOBI) break; /* no LAPACK */
        EXPECT(met == TULLE_OK);
        met = tulle_krylov_solve(&f->op, &M, f->B, f->X, &f->options, f->report);
        EXPECT(met == TULLE_ERR_ARG && strstr(tulle_error_message(), "row 60"));
        tulle_operator_free(&M);
    }
    tulle_operator_free(&M); /* an empty one */
    TULLE_TRY(fill(f->B, zero_of, NULL));
    TULLE_TRY(expect_stop(f, NULL, TULLE_STOP_CONVERGED, ""));
out:
    tulle_operator_free(&M);
    return status;
}

/* The better the preconditioner, the fewer iterations on a grid. */
static tulle_status fewer_iterations(struct fixture *f)
{
    static const tulle_precond_kind ladder[] = {TULLE_PRECOND_NONE, TULLE_PRECOND_BLOCK_JACOBI, TULLE_PRECOND_ILU0};
    enum { EDGE = 20 };
    tulle_status status = TULLE_OK;
    tulle_layout *layout = NULL;
    TULLE_TRY(make_layout(f->comm, EDGE * EDGE, 1, 0, 1, &layout));
    TULLE_TRY(tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &f->B));
    TULLE_TRY(tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &f->X));
    TULLE_TRY(fill(f->B, side_of, NULL));
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        int64_t before = INT64_MAX;
        TULLE_TRY(distribute(
            f->comm, m == TULLE_KRYLOV_GMRES ? CONVECTION : POISSON, EDGE * EDGE, 0, 1, TULLE_F64, -1, &f->A));
        TULLE_TRY(tulle_operator_of_mat(f->A, NULL, &f->op));
        f->options.method = (tulle_krylov_method)m;
        for (int p = 0; p < 3; p++) {
            tulle_operator M = {.comm = NULL};
            tulle_precond_kind kind =
                ladder[p] == TULLE_PRECOND_ILU0 && m != TULLE_KRYLOV_GMRES ? TULLE_PRECOND_IC0 : ladder[p];
            tulle_status met = tulle_precond_new(f->A, kind, NULL, &M);
            if (met == TULLE_ERR_UNSUPPORTED && kind == TULLE_PRECOND_BLOCK_JACOBI) continue; /* no LAPACK */
            if (met == TULLE_OK) met = expect_stop(f, &M, TULLE_STOP_CONVERGED, "");
            tulle_operator_free(&M);
            TULLE_TRY(met);
            EXPECT(f->report[0].iterations < before);
            before = f->report[0].iterations;
        }
        tulle_operator_free(&f->op);
        tulle_mat_free(f->A);
        f->A = NULL;
    }
out:
    tulle_layout_free(layout);
    return status;
}

static const struct subject {
    const char *what;
    tulle_status (*call)(struct fixture *f);
} subjects[] = {{"a matrix that is not positive definite", indefinite}, {"a matrix that is singular", singular_matrix},
    {"a preconditioner that is not", indefinite_preconditioner}, {"GMRES that gains nothing", stagnation},
    {"a tolerance beyond the precision", attainable}, {"iterations run out", out_of_iterations},
    {"b = 0, and solutions as guesses", nothing_to_do}, {"NaN in b and in A", not_finite},
    {"b of 2^-900 and 2^900", far_scales}, {"subnormal b, and b far below the guess", tiny_sides},
    {"an operator that is no matrix", own_operator}, {"what is refused", refusals},
    {"singular blocks", singular_blocks}, {"preconditioners that are worth it", fewer_iterations}};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static tulle_status run(tulle_comm *comm, void *arg)
{
    const struct subject *subject = arg;
    struct fixture f = {.comm = comm, .options = (tulle_krylov_options){0}};
    tulle_status status = subject->call(&f);
    drop(&f);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 2};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}};
    for (int round = 0; round < 2; round++) {
        for (int s = 0; s < SUBJECTS; s++) {
            struct subject subject = subjects[s];
            tulle_status status = tulle_team_run(team, run, &subject);
            ok(status == TULLE_OK, "%s: %s", subjects[s].what,
                status == TULLE_OK ? "as it should be" : tulle_error_message());
        }
        ok(tulle_team_run(team, count_blocks, round ? after : before) == TULLE_OK, "blocks counted");
    }
    int same = 1;
    for (int p = 0; p < npes; p++) same = same && memcmp(&before[p], &after[p], sizeof *before) == 0;
    ok(same, "nothing is left behind");
    tulle_team_free(team);
    return tap_done();
}
