/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by iterations with whole matrices against dense ones: whole SPEC PES. */
#include <tulle/algebra.h>
#include <tulle/matfun.h>

#include "algo/matfun/whole/whole_function.h"
#include "body.h"
#include "dense_function.h"
#include "functions.h"
#include "problem.h"
#include "run_tests.h"

enum { SMALL = 12, STEPS = 64 };

/* The dense function of the whole matrix. */
static void refer(const struct problem *p, double scale, struct dense *x)
{
    x->n = p->n;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) x->a[i][j] = scale * entry(p, i, j);
    dense_solve(x);
}

/* The largest difference of stored elements, and that of f's blocks that are not stored. */
static tulle_status difference(
    const struct problem *p, const tulle_mat *F, const struct dense *x, double (*f)(double x), double *worst)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(F);
    tulle_fetch *fetch = NULL;
    double(*rest)[DENSE_MOST] = malloc(DENSE_MOST * sizeof *rest);
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) rest[i][j] = dense_element(x, i, j, f);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            TULLE_TRY(tulle_mat_get_tile(F, i, j, &fetch));
            TULLE_TRY(tulle_fetch_wait(fetch, &t));
            for (int64_t r = 0; t.rowptr && r < t.block_rows; r++)
                for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                    int64_t c0 = t.col_block[t.colind[e]], width = t.col_block[t.colind[e] + 1] - c0;
                    for (int64_t k = 0; k < t.offset[e + 1] - t.offset[e]; k++)
                        rest[t.row_block[r] + k / width][c0 + k % width] -=
                            t.type == TULLE_F32 ? (double)((const float *)t.val)[t.offset[e] + k]
                                                : ((const double *)t.val)[t.offset[e] + k];
                }
            tulle_fetch_free(fetch);
            fetch = NULL;
        }
    *worst = 0;
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) *worst = rest[i][j] == rest[i][j] ? fmax(*worst, fabs(rest[i][j])) : INFINITY;
out:
    tulle_fetch_free(fetch);
    free(rest);
    tulle_status others = tulle_comm_agree(tulle_mat_comm(F), status);
    return status != TULLE_OK ? status : others;
}

static double f_step(double x)
{
    return x < .1;
}
static double f_fifth(double x)
{
    return pow(x, -.2);
}
static double f_same(double x)
{
    return x;
}

static const struct {
    const char *text;
    double (*f)(double x);
    double shift;
    tulle_matfun_method method;
} functions[] = {{"sign:mu=0.1", f_sign, 0, TULLE_MATFUN_NEWTON_SCHULZ},
    {"fermi:mu=0.1", f_step, 0, TULLE_MATFUN_NEWTON_SCHULZ}, {"inverse", f_inverse, 9, TULLE_MATFUN_COUPLED_NEWTON},
    {"sqrt", sqrt, 9, TULLE_MATFUN_COUPLED_NEWTON}, {"invsqrt", f_invsqrt, 9, TULLE_MATFUN_COUPLED_NEWTON},
    {"root:p=3", cbrt, 9, TULLE_MATFUN_COUPLED_NEWTON}, {"root:p=-5", f_fifth, 9, TULLE_MATFUN_COUPLED_NEWTON},
    {"root:p=1", f_same, 9, TULLE_MATFUN_COUPLED_NEWTON}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static tulle_status function_of(
    tulle_mat *A, const char *text, const tulle_matfun_options *options, tulle_mat **F, tulle_matfun_report *report)
{
    tulle_function f;
    tulle_status status = tulle_function_parse(text, &f);
    double precise = tulle_mat_type(A) == TULLE_F32 ? 1e-3 : 1e-10;
    if (status != TULLE_OK) return status;
    return evaluate(A, &f, options, 1, precise + 10 * options->filter, F, report);
}

/* Every function in both types and several layouts, full and sparse. */
static tulle_status test_functions(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    double *worst = arg, error;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    struct dense *x = malloc(sizeof *x);
    for (int k = 0; k < FUNCTIONS; k++)
        for (int type = TULLE_F64; type <= TULLE_F32; type++) {
            struct problem p;
            tulle_matfun_options options = {.method = functions[k].method, .symmetric = k % 2 != 0};
            problem_init(&p, k % 3 == 2 ? FULL : SPARSE, SMALL, functions[k].shift);
            refer(&p, 1, x);
            TULLE_TRY(build(comm, &p, (tulle_type)type, k % 3, NONE, &A));
            TULLE_TRY(function_of(A, functions[k].text, &options, &F, &report));
            TULLE_TRY(difference(&p, F, x, functions[k].f, &error));
            EXPECT(error <= (type == TULLE_F64 ? 1e-10 : 2e-3));
            EXPECT(report.submatrices == 0 && report.columns == SMALL && report.blocks > 0);
            if (functions[k].f != f_same) EXPECT(report.iterations > 2 && report.iterations < 60 && report.flops > 0);
            if (type == TULLE_F64 && tulle_comm_rank(comm) == 0 && error > *worst) *worst = error;
            tulle_mat_free(F);
            tulle_mat_free(A);
            A = F = NULL;
        }
out:
    free(x);
    return status;
}

/* All orders, with histories: residuals fall faster the higher the order is. */
static tulle_status test_orders(tulle_comm *comm, void *arg)
{
    static const int products[] = {0, 0, 2, 3, 4, 4, 5, 5};
    tulle_status status = TULLE_OK;
    double *worst = arg, error, steps = INFINITY;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    struct problem p;
    struct dense *x = malloc(sizeof *x);
    problem_init(&p, FULL, SMALL, 0);
    refer(&p, 1, x);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    for (int order = 2; order <= 7; order++) {
        tulle_matfun_iteration history[STEPS] = {{.residual = -1}};
        tulle_matfun_options options = {
            .method = TULLE_MATFUN_NEWTON_SCHULZ, .order = order, .history = history, .history_capacity = STEPS};
        TULLE_TRY(function_of(A, "sign:mu=0.1", &options, &F, &report));
        TULLE_TRY(difference(&p, F, x, f_sign, &error));
        EXPECT(error <= 1e-10);
        EXPECT(report.iterations <= steps && report.iterations < STEPS);
        steps = report.iterations;
        double product = 0, sum = 0; /* of one triangle: rows of a block times all rows up to its end */
        for (int b = 0; b < p.blocks; b++) product += (double)(p.cut[b + 1] - p.cut[b]) * (double)p.cut[b + 1] * p.n;
        for (int k = 0; k < report.iterations; k++) {
            sum += history[k].flops;
            EXPECT(fabs(history[k].flops - 2 * products[order] * product) <= 1e-9 * product);
            EXPECT(fabs(history[k].occupation - 1) < 1e-12 && fabs(history[k].mu - .1) < 1e-12);
            if (k > 1) EXPECT(history[k].residual < history[k - 1].residual);
        }
        EXPECT(fabs(sum - report.flops) <= 1e-9 * sum && history[report.iterations - 1].residual == report.residual);
        if (tulle_comm_rank(comm) == 0 && error > *worst) *worst = error;
        tulle_mat_free(F);
        F = NULL;
    }
out:
    tulle_mat_free(A);
    free(x);
    return status;
}

/* With a filter the error is of its size, and blocks are missing. */
static tulle_status test_filter(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    double error, *worst = arg, before = 0;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    struct problem p;
    struct dense *x = malloc(sizeof *x);
    problem_init(&p, SPARSE, SMALL, 30);
    refer(&p, 1, x);
    for (int k = 0; k < 3; k++) {
        tulle_matfun_options options = {.method = TULLE_MATFUN_COUPLED_NEWTON, .filter = pow(10, -6 + 2 * k)};
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
        TULLE_TRY(function_of(A, "invsqrt", &options, &F, &report));
        TULLE_TRY(difference(&p, F, x, f_invsqrt, &error));
        EXPECT(error <= 20 * options.filter && error > before);
        EXPECT(k == 0 || report.blocks < SMALL * SMALL);
        before = error;
        if (tulle_comm_rank(comm) == 0) *worst = error;
        tulle_mat_free(F);
        tulle_mat_free(A);
        A = F = NULL;
    }
out:
    free(x);
    return status;
}

/*
 * auto: submatrices for diagonal blocks, full patterns and functions without iterations; else as
 * its estimates say.
 */
static tulle_status test_auto(tulle_comm *comm, void *arg)
{
    static const struct {
        enum pattern pattern;
        const char *text;
        tulle_matfun_method method;
    } cases[] = {{DIAGONAL, "exp", TULLE_MATFUN_SUBMATRIX}, {FULL, "sign:mu=0.1", TULLE_MATFUN_SUBMATRIX},
        {SPARSE, "exp", TULLE_MATFUN_SUBMATRIX}, {FULL, "root:p=99", TULLE_MATFUN_SUBMATRIX}};
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL, *F = NULL;
    double estimates[2][2];
    tulle_matfun_report report;
    const tulle_matfun_options options = {.method = TULLE_MATFUN_AUTO};
    (void)arg;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct problem p;
        problem_init(&p, cases[k].pattern, BLOCKS, 9);
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
        TULLE_TRY(function_of(A, cases[k].text, &options, &F, &report));
        EXPECT(report.method == cases[k].method && report.estimate[0] > 0 && report.estimate[1] > 0);
        if (k < 2) memcpy(estimates[k], report.estimate, sizeof report.estimate);
        tulle_mat_free(F);
        tulle_mat_free(A);
        A = F = NULL;
    }
    EXPECT(estimates[0][1] < estimates[1][1]); /* few blocks, few products */
    /* the sparse pattern with one column a submatrix: as the estimates say */
    struct problem p;
    const tulle_matfun_options apart = {.method = TULLE_MATFUN_AUTO, .combine = TULLE_NONE};
    problem_init(&p, SPARSE, BLOCKS, 9);
    TULLE_TRY(build(comm, &p, TULLE_F64, 2, NONE, &A));
    TULLE_TRY(function_of(A, "invsqrt", &apart, &F, &report));
    EXPECT(report.method == TULLE_MATFUN_SUBMATRIX || report.estimate[1] < report.estimate[0]);
    EXPECT((report.abandoned_seconds > 0) == (report.abandoned > 0 && report.method == TULLE_MATFUN_SUBMATRIX));
    EXPECT((report.iterations > 0) == (report.method == TULLE_MATFUN_COUPLED_NEWTON));
    tulle_mat_free(F);
out:
    tulle_mat_free(A);
    return status;
}

/* One wrong element of the result is found. */
static tulle_status test_check(tulle_comm *comm, void *arg)
{
    tulle_status status;
    double *worst = arg, error;
    tulle_own_tile tile;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    const tulle_function sign = {.kind = TULLE_FUNCTION_SIGN, .mu = .1};
    const tulle_matfun_options options = {.method = TULLE_MATFUN_NEWTON_SCHULZ};
    struct problem p;
    problem_init(&p, SPARSE, SMALL, 0);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    TULLE_TRY(tulle_matfun_new(A, &options, &plan));
    TULLE_TRY(tulle_matfun_execute(plan, &sign, &F, NULL));
    TULLE_TRY(tulle_matfun_check(plan, &sign, F, 1, &error));
    EXPECT(error < 1e-11);
    TULLE_TRY(tulle_comm_barrier(comm));
    if (tulle_comm_rank(comm) == 0) {
        TULLE_TRY(tulle_mat_own_tile(F, 0, 0, &tile));
        ((double *)tile.val)[tile.offset[0]] += 1e-6; /* block (1, 1) */
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    status = tulle_matfun_check(plan, &sign, F, 1, &error);
    if (tulle_comm_rank(comm) == 0) *worst = error;
    EXPECT(status == TULLE_ERR_CHECK && strstr(tulle_error_message(), "Lanczos") && error > 1e-8 && error < 2e-6);
    status = TULLE_OK;
    tulle_matfun_free(plan);
    tulle_mat_free(F);
out:
    tulle_mat_free(A);
    return status;
}

/* Nothing to compute, an indefinite matrix, a level at mu, and what a method does not compute. */
static tulle_status test_limits(tulle_comm *comm, void *arg)
{
    static const struct {
        const char *text, *part;
        tulle_matfun_method method;
        tulle_status status;
        double scale;
    } cases[] = {{"invsqrt", "is the matrix positive definite?", TULLE_MATFUN_COUPLED_NEWTON, TULLE_ERR_CONVERGENCE, 1},
        {"sign", "200 iterations: the residual is 3", TULLE_MATFUN_NEWTON_SCHULZ, TULLE_ERR_CONVERGENCE, 0},
        {"exp", "the method for it is submatrix", TULLE_MATFUN_NEWTON_SCHULZ, TULLE_ERR_UNSUPPORTED, 1},
        {"fermi:kT=1", "with kT > 0", TULLE_MATFUN_NEWTON_SCHULZ, TULLE_ERR_UNSUPPORTED, 1},
        {"sign", "newton-schulz", TULLE_MATFUN_COUPLED_NEWTON, TULLE_ERR_UNSUPPORTED, 1},
        {"inverse", "coupled-newton", TULLE_MATFUN_NEWTON_SCHULZ, TULLE_ERR_UNSUPPORTED, 1},
        {"root:p=65", "beyond 64", TULLE_MATFUN_COUPLED_NEWTON, TULLE_ERR_UNSUPPORTED, 1}};
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    tulle_matfun_report report;
    struct problem p;
    (void)arg;
    problem_init(&p, SPARSE, 3, 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
        TULLE_TRY(tulle_mat_scale(A, cases[k].scale, NULL, NULL));
        status = function_of(A, cases[k].text, &(tulle_matfun_options){.method = cases[k].method}, &F, &report);
        TULLE_TRY(refused(status, cases[k].status, cases[k].part));
        tulle_mat_free(A);
        A = NULL;
    }
    problem_init(&p, SPARSE, SMALL, 9);
    for (int method = TULLE_MATFUN_NEWTON_SCHULZ; method <= TULLE_MATFUN_COUPLED_NEWTON; method++) {
        const char *text = method == TULLE_MATFUN_NEWTON_SCHULZ ? "sign" : "inverse";
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, UNEQUAL, &A));
        status = function_of(A, text, &(tulle_matfun_options){.method = (tulle_matfun_method)method}, &F, &report);
        TULLE_TRY(refused(status, TULLE_ERR_ARG, "is not symmetric"));
        tulle_mat_free(A);
        A = NULL;
    }
    problem_init(&p, SPARSE, 0, 0);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    for (int k = 0; k < FUNCTIONS; k++) {
        tulle_matfun_options options = {.method = functions[k].method};
        TULLE_TRY(function_of(A, functions[k].text, &options, &F, &report));
        EXPECT(report.blocks == 0 && tulle_mat_rows(F) == 0);
        tulle_mat_free(F);
    }
    tulle_matfun_options high = {.order = 8}, low = {.order = 1}, none = {.method = (tulle_matfun_method)99};
    TULLE_TRY(refused(tulle_matfun_new(A, &high, &plan), TULLE_ERR_ARG, "order is 2 to 7"));
    TULLE_TRY(refused(tulle_matfun_new(A, &low, &plan), TULLE_ERR_ARG, "order is 2 to 7"));
    TULLE_TRY(refused(tulle_matfun_new(A, &none, &plan), TULLE_ERR_ARG, "no method number 99"));
out:
    tulle_mat_free(A);
    return status;
}

/* auto gives an iteration up, after one step, where the other method takes no time, and else does not. */
static tulle_status test_afford(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle_mat *A = NULL, *F = NULL;
    tulle_function f = {.kind = TULLE_FUNCTION_INVERSE};
    tulle__forecast forecast = {.other = 1e-12, .steps = 20};
    struct problem p;
    (void)arg;
    for (int k = 0; k < TULLE__ITERATIONS_MOST; k++) forecast.step[k] = 1;
    problem_init(&p, SPARSE, SMALL, 9);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    for (int k = 0; k < 4; k++) {
        tulle__iterations it = {.tolerance = 1e-12, .scale = 1, .forecast = &forecast};
        forecast.other = k < 2 ? 1e-12 : 1e12;
        f.kind = k % 2 ? TULLE_FUNCTION_SIGN : TULLE_FUNCTION_INVERSE;
        status = tulle__whole_function(&it, 2, &f, A, A, &F);
        if (k < 2)
            TULLE_TRY(refused(status, TULLE_ERR_CONVERGENCE, "given up after 1 steps"));
        else
            EXPECT(status == TULLE_OK && it.count > 1);
        tulle_mat_free(F);
        F = NULL;
    }
out:
    tulle_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    double worst = 0;
    static const struct named_test tests[] = {{"functions of whole matrices", test_functions}, {"orders", test_orders},
        {"filters", test_filter}, {"auto", test_auto}, {"an iteration given up", test_afford},
        {"the check", test_check}, {"limits", test_limits}};
    return run_tests(argc, argv, (int)(sizeof tests / sizeof *tests), tests, &worst, &worst);
}
