/* SPDX-License-Identifier: Apache-2.0 */
/* The submatrix method against dense functions of each submatrix: matfun SPEC PES. */
#include <tulle/algebra.h>
#include <tulle/matfun.h>

#include "base/clock.h"
#include "blocks.h"
#include "body.h"
#include "comm/comm.h"
#include "dense_function.h"
#include "functions.h"
#include "problem.h"
#include "run_tests.h"

/* ---- the reference ---- */

/* The dense function of the submatrix of block column j; *first: its row of the column. */
static void submatrix(const struct problem *p, int j, struct dense *x, int *place)
{
    x->n = 0;
    for (int i = 0; i < p->n; i++) place[i] = linked(p, block_of(p, i), j) ? x->n++ : -1;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->n; k++)
            if (place[i] >= 0 && place[k] >= 0) x->a[place[i]][place[k]] = entry(p, i, k);
}

/*
 * F is complete on all PEs. f is of the whole matrix (exact), or of the submatrix of the row's
 * block.
 */
static tulle_status compare(
    const struct problem *p, tulle_mat *F, double (*f)(double x), int exact, double tolerance, double *worst)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(F);
    struct dense *x = malloc(sizeof *x);
    int *place = malloc((size_t)(p->n + 1) * sizeof *place), known = -1;
    tulle_fetch *fetch = NULL;
    int64_t blocks = 0, expected = 0;
    *worst = 0;
    for (int a = 0; a < p->blocks; a++)
        for (int b = 0; b < p->blocks; b++) expected += linked(p, a, b);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            TULLE_TRY(tulle_mat_get_tile(F, i, j, &fetch));
            TULLE_TRY(tulle_fetch_wait(fetch, &t));
            blocks += t.blocks;
            for (int64_t r = 0; t.rowptr && r < t.block_rows; r++) {
                int a = block_of(p, (int)t.row_block[r]);
                if (exact ? known < 0 : known != a) {
                    submatrix(p, a, x, place);
                    if (exact) {
                        struct problem full = *p;
                        full.pattern = FULL;
                        submatrix(&full, a, x, place);
                        for (int u = 0; u < p->n; u++)
                            for (int v = 0; v < p->n; v++) x->a[u][v] = entry(p, u, v);
                    }
                    dense_solve(x);
                    known = a;
                }
                for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                    int64_t c0 = t.col_block[t.colind[e]], width = t.col_block[t.colind[e] + 1] - c0;
                    double square = 0;
                    EXPECT(linked(p, a, block_of(p, (int)c0)));
                    for (int64_t u = 0; u < t.row_block[r + 1] - t.row_block[r]; u++)
                        for (int64_t v = 0; v < width; v++) {
                            int64_t at = t.offset[e] + u * width + v;
                            double got =
                                t.type == TULLE_F32 ? (double)((const float *)t.val)[at] : ((const double *)t.val)[at];
                            double want = dense_element(x, place[t.row_block[r] + u], place[c0 + v], f);
                            square += got * got;
                            if (!(fabs(got - want) <= *worst)) *worst = fabs(got - want);
                        }
                    EXPECT(fabs(square - t.norm[e]) <= 1e-5 * (1 + square));
                }
            }
            tulle_fetch_free(fetch);
            fetch = NULL;
        }
    EXPECT(blocks == expected);
    EXPECT(*worst <= tolerance);
out:
    tulle_fetch_free(fetch);
    free(x);
    free(place);
    tulle_status others = tulle_comm_agree(tulle_mat_comm(F), status);
    return status != TULLE_OK ? status : others;
}

/* ---- functions ---- */

static double f_root(double x)
{
    return cbrt(x);
}
static double f_fermi(double x)
{
    return 1 / (exp((x - .1) / .2) + 1);
}
static double f_quadratic(double x)
{
    return (x - 3) * x + 2;
}
static double user(double x, void *context)
{
    return f_quadratic(x) + *(double *)context;
}

static const struct {
    const char *text;
    double (*f)(double x);
    double shift;
} functions[] = {{"sign:mu=0.1", f_sign, 0}, {"inverse", f_inverse, 9}, {"sqrt", sqrt, 9}, {"invsqrt", f_invsqrt, 9},
    {"root:p=3", f_root, 0}, {"root:p=-2", f_invsqrt, 9}, {"exp", exp, 0}, {"fermi:mu=0.1,kT=0.2", f_fermi, 0}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static double zero;

/* The user's function without a text. */
static tulle_status function_of(
    tulle_mat *A, const char *text, const tulle_matfun_options *options, tulle_mat **F, tulle_matfun_report *report)
{
    tulle_function f = {.kind = TULLE_FUNCTION_USER, .value = user, .context = &zero};
    tulle_status status = text ? tulle_function_parse(text, &f) : TULLE_OK;
    if (status != TULLE_OK) return status;
    bool narrow = tulle_mat_type(A) == TULLE_F32 || (options && options->mixed);
    return evaluate(A, &f, options, 5, narrow ? 1e-4 : 1e-11, F, report);
}

static tulle_status test_functions(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    double *worst = arg, error;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    for (int k = 0; k < FUNCTIONS; k++)
        for (int tiles = 0; tiles < 4; tiles += 3)
            for (int type = TULLE_F64; type <= TULLE_F32; type++) {
                struct problem p;
                tulle_matfun_options options = {.combine = TULLE_NONE, .memory = tiles ? 1 : 0};
                problem_init(&p, SPARSE, BLOCKS, functions[k].shift);
                TULLE_TRY(build(comm, &p, (tulle_type)type, tiles, NONE, &A));
                TULLE_TRY(function_of(A, functions[k].text, &options, &F, &report));
                TULLE_TRY(compare(&p, F, functions[k].f, 0, type == TULLE_F64 ? 1e-11 : 2e-3, &error));
                EXPECT(report.submatrices == BLOCKS && report.inserted == 0 && report.columns == BLOCKS);
                EXPECT(report.largest <= p.n && report.least < report.most);
                if (type == TULLE_F64 && tulle_comm_rank(comm) == 0 && error > *worst) *worst = error;
                tulle_mat_free(F);
                tulle_mat_free(A);
                A = F = NULL;
            }
out:
    return status;
}

/* f64 values, f32 dense work: results between those of both types, and the report tells. */
static tulle_status test_mixed(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    double *worst = arg, error;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    for (int k = 0; k < FUNCTIONS; k++)
        for (int mixed = 0; mixed < 2; mixed++) {
            struct problem p;
            tulle_matfun_options options = {.combine = TULLE_NONE, .mixed = mixed != 0};
            problem_init(&p, SPARSE, BLOCKS, functions[k].shift);
            TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
            TULLE_TRY(function_of(A, functions[k].text, &options, &F, &report));
            TULLE_TRY(compare(&p, F, functions[k].f, 0, mixed ? 2e-3 : 1e-11, &error));
            EXPECT(mixed ? error > 1e-9 && report.rounding > 1e-8 && report.rounding < 1e-5 : report.rounding < 1e-13);
            if (tulle_comm_rank(comm) == 0 && error > *worst) *worst = error;
            tulle_mat_free(F);
            tulle_mat_free(A);
            A = F = NULL;
        }
out:
    return status;
}

/* Operations until all PEs are done, at least. */
static double makespan(const tulle_matfun_report *r, int pes)
{
    const double n = (double)r->largest;
    return fmax(r->work / pes, n * n * n);
}

/* Full and block-diagonal matrices; quadratic polynomials of any, with any columns combined. */
static tulle_status test_exact(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    static const int combine[] = {TULLE_NONE, 0, 2, 7, 1000};
    double *worst = arg, error, apart = 0;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    for (int pattern = SPARSE; pattern <= DIAGONAL; pattern++)
        for (int c = 0; c < 5; c++)
            for (int symmetric = 0; symmetric < 2; symmetric++) {
                struct problem p;
                tulle_matfun_options options = {.combine = combine[c], .symmetric = symmetric != 0};
                const char *text = pattern == SPARSE ? NULL : "exp";
                problem_init(&p, (enum pattern)pattern, BLOCKS, 0);
                TULLE_TRY(build(comm, &p, TULLE_F64, c % 2 * 2, NONE, &A));
                TULLE_TRY(function_of(A, text, &options, &F, &report));
                TULLE_TRY(compare(&p, F, text ? exp : f_quadratic, 1, 1e-10, &error));
                if (combine[c] == TULLE_NONE) apart = makespan(&report, tulle_comm_size(comm));
                /* columns are combined as far as all PEs are done earlier */
                if (combine[c] == 0) EXPECT(makespan(&report, tulle_comm_size(comm)) <= apart * (1 + 1e-12));
                if (pattern == SPARSE && combine[c] == 0) EXPECT(report.submatrices < BLOCKS);
                if (pattern == FULL && combine[c] != TULLE_NONE && combine[c] != 2 && combine[c] != 7)
                    EXPECT(report.submatrices == 1);
                if (pattern == DIAGONAL && combine[c] == 0) EXPECT(report.submatrices == BLOCKS);
                if (tulle_comm_rank(comm) == 0 && error > *worst) *worst = error;
                tulle_mat_free(F);
                tulle_mat_free(A);
                A = F = NULL;
            }
out:
    return status;
}

static double f_zero(double x)
{
    (void)x;
    return 0;
}
static double f_half(double x)
{
    (void)x;
    return .5;
}
static double f_one(double x)
{
    (void)x;
    return 1;
}
static double f_minus_one(double x)
{
    (void)x;
    return -1;
}

/* Steps at eigenvalues, beyond all of them, and so near one that eigenvectors are needed. */
static tulle_status test_steps(tulle_comm *comm, void *arg)
{
    static const struct {
        double scale;
        const char *text;
        double (*f)(double x);
    } cases[] = {{0, "sign", f_zero}, {0, "fermi", f_half}, {1, "sign:mu=-100", f_one}, {1, "sign:mu=100", f_minus_one},
        {1, "fermi:mu=-100", f_zero}, {1, "fermi:mu=100", f_one}, {0, "sign:mu=1e-3", f_minus_one}};
    tulle_status status = TULLE_OK;
    double *worst = arg, error;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int pattern = SPARSE; pattern <= DIAGONAL; pattern++) {
            struct problem p;
            problem_init(&p, (enum pattern)pattern, BLOCKS, 0);
            TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
            TULLE_TRY(tulle_mat_scale(A, cases[k].scale, NULL, NULL));
            TULLE_TRY(function_of(A, cases[k].text, NULL, &F, &report));
            TULLE_TRY(compare(&p, F, cases[k].f, 1, 1e-12, &error));
            if (tulle_comm_rank(comm) == 0 && error > *worst) *worst = error;
            tulle_mat_free(F);
            tulle_mat_free(A);
            A = F = NULL;
        }
    /* mu is an eigenvalue of a submatrix up to 1e-13 */
    struct problem p;
    char text[64];
    problem_init(&p, SPARSE, BLOCKS, 0);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    TULLE_TRY(function_of(A, "sign:mu=0.1", NULL, &F, &report));
    tulle_mat_free(F);
    EXPECT(report.below < .1 && report.above >= .1);
    snprintf(text, sizeof text, "fermi:mu=%.17g", report.above - 1e-13);
    TULLE_TRY(function_of(A, text, NULL, &F, &report));
    EXPECT(fabs(report.above - report.below) < 1);
    tulle_mat_free(F);
    tulle_mat_free(A);
out:
    return status;
}

static tulle_status test_small(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    double error;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    (void)arg;
    for (int blocks = 0; blocks < 3; blocks++) {
        struct problem p;
        problem_init(&p, SPARSE, blocks, 0);
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
        TULLE_TRY(function_of(A, "exp", NULL, &F, &report));
        TULLE_TRY(compare(&p, F, exp, 1, 1e-10, &error));
        EXPECT(report.columns == blocks);
        tulle_mat_free(F);
        tulle_mat_free(A);
        A = F = NULL;
    }
out:
    return status;
}

/* A PE alone has the bits of all PEs together, whatever they steal. */
static tulle_status test_independence(tulle_comm *comm, void *arg)
{
    static const char *const texts[] = {"sign:mu=0.1", "exp", "fermi:mu=0.1,kT=0.2"};
    tulle_status status;
    struct problem p;
    tulle_comm *alone = NULL;
    double *one = NULL, *all = NULL;
    (void)arg;
    problem_init(&p, SPARSE, BLOCKS, 0);
    one = malloc((size_t)(p.n * p.n) * sizeof *one);
    all = malloc((size_t)(p.n * p.n) * sizeof *all);
    TULLE_TRY(tulle_comm_split(comm, tulle_comm_rank(comm), 0, &alone));
    for (size_t k = 0; k < 2 * sizeof texts / sizeof *texts; k++) {
        const tulle_matfun_options options = {.combine = k % 2 ? TULLE_NONE : 0, .symmetric = k % 3 == 0};
        tulle_matfun_report report;
        for (int which = 0; which < 2; which++) {
            tulle_mat *A = NULL, *F = NULL;
            TULLE_TRY(build(which ? alone : comm, &p, TULLE_F64, 0, NONE, &A));
            TULLE_TRY(function_of(A, texts[k / 2], &options, &F, &report));
            TULLE_TRY(blocks_to_dense(F, which ? one : all));
            tulle_mat_free(F);
            tulle_mat_free(A);
        }
        EXPECT(memcmp(one, all, (size_t)(p.n * p.n) * sizeof *one) == 0);
        if (options.symmetric) EXPECT(report.asymmetry > 0 && report.asymmetry < 1);
        if (!options.symmetric) EXPECT(isnan(report.asymmetry));
    }
out:
    tulle_comm_free(alone);
    free(one);
    free(all);
    return status;
}

/* f of one PE takes long for each eigenvalue. */
static double slow(double x, void *context)
{
    int64_t end = tulle__clock_ns() + *(int64_t *)context;
    while (tulle__clock_ns() < end) {
    }
    return f_quadratic(x);
}

/*
 * Idle PEs take submatrices of one that is slow, the slower the surer; the result is right, and so
 * are those of the executions before and after.
 */
static tulle_status test_stealing(tulle_comm *comm, void *arg)
{
    enum { SLOWER_MOST = 12 };
    tulle_status status;
    struct problem p;
    double *worst = arg, error;
    int64_t delay = 0;
    bool alone = tulle_comm_size(comm) == 1 || tulle_comm_size(comm) > BLOCKS / 4 || tulle__is_virtual(comm);
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    tulle_matfun_report report = {.stolen = 0};
    const tulle_function f = {.kind = TULLE_FUNCTION_USER, .value = slow, .context = &delay};
    problem_init(&p, SPARSE, BLOCKS, 0);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    TULLE_TRY(tulle_matfun_new(A, &(tulle_matfun_options){.combine = TULLE_NONE}, &plan));
    for (int k = 0; k < (alone ? 2 : SLOWER_MOST) && !report.stolen; k++) {
        delay = tulle_comm_rank(comm) || alone ? 0 : (int64_t)50000 << k;
        TULLE_TRY(tulle_matfun_execute(plan, &f, &F, &report));
        TULLE_TRY(compare(&p, F, f_quadratic, 1, 1e-10, &error));
        EXPECT(report.stolen >= 0 && report.stolen < BLOCKS && report.busy >= 1);
        if (tulle_comm_rank(comm) == 0) *worst = fmax(*worst, error);
        tulle_mat_free(F);
    }
    if (!alone) EXPECT(report.stolen > 0);
    if (tulle_comm_size(comm) == 1) EXPECT(report.stolen == 0);
    delay = 0;
    TULLE_TRY(tulle_matfun_execute(plan, &f, &F, &report));
    TULLE_TRY(compare(&p, F, f_quadratic, 1, 1e-10, &error));
    tulle_mat_free(F);
    tulle_matfun_free(plan);
    tulle_mat_free(A);
out:
    return status;
}

/* New values, then a new pattern. */
static tulle_status test_update(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct problem p;
    double error, add = 1.5;
    tulle_mat *A = NULL, *H = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    const tulle_function f = {.kind = TULLE_FUNCTION_USER, .value = user, .context = &add};
    const tulle_function sign = {.kind = TULLE_FUNCTION_SIGN, .mu = .1};
    (void)arg;
    problem_init(&p, SPARSE, BLOCKS, 0);
    for (int way = 0; way < 4; way++) {
        TULLE_TRY(build(comm, &p, TULLE_F64, way & 1 ? 3 : 0, NONE, &A));
        if (way & 2) { /* half of it: the same */
            TULLE_TRY(tulle_mat_to_half(A, TULLE_SYMMETRIC, &H));
            tulle_mat_free(A);
            A = H;
            H = NULL;
        }
        TULLE_TRY(tulle_matfun_new(A, &(tulle_matfun_options){.combine = TULLE_NONE}, &plan));
        TULLE_TRY(tulle_matfun_execute(plan, &f, &F, NULL));
        EXPECT(compare(&p, F, f_quadratic, 1, 1e-10, &error) == TULLE_ERR_CHECK);
        EXPECT(error > 1.49 && error < 1.51);
        tulle_mat_free(F);
        TULLE_TRY(tulle_mat_scale(A, 3, NULL, NULL));
        TULLE_TRY(tulle_matfun_execute(plan, &sign, &F, NULL));
        tulle_mat_free(F);
        TULLE_TRY(tulle_mat_scale(A, 1.0 / 3, NULL, NULL));
        TULLE_TRY(tulle_matfun_execute(plan, &sign, &F, NULL));
        TULLE_TRY(compare(&p, F, f_sign, 0, 1e-10, &error));
        tulle_mat_free(F);
        TULLE_TRY(tulle_matfun_update(plan));
        TULLE_TRY(tulle_matfun_execute(plan, &sign, &F, NULL));
        TULLE_TRY(compare(&p, F, f_sign, 0, 1e-10, &error));
        tulle_matfun_free(plan);
        tulle_mat_free(F);
        tulle_mat_free(A);
        A = F = NULL;
        plan = NULL;
    }
out:
    tulle_matfun_free(plan);
    return status;
}

/* One wrong element of the result is found. */
static tulle_status test_check(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct problem p;
    double error;
    tulle_own_tile tile;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun *plan = NULL;
    const tulle_function sign = {.kind = TULLE_FUNCTION_SIGN, .mu = .1};
    (void)arg;
    problem_init(&p, SPARSE, BLOCKS, 0);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
        TULLE_TRY(tulle_matfun_new(A, &(tulle_matfun_options){.symmetric = symmetric != 0}, &plan));
        TULLE_TRY(tulle_matfun_execute(plan, &sign, &F, NULL));
        TULLE_TRY(tulle_matfun_check(plan, &sign, F, 1000, &error));
        EXPECT(error < 1e-11);
        TULLE_TRY(tulle_comm_barrier(comm));
        if (tulle_comm_rank(comm) == 0) {
            TULLE_TRY(tulle_mat_own_tile(F, 0, 0, &tile));
            ((double *)tile.val)[tile.offset[0]] += 1e-6; /* block (1, 1) */
        }
        TULLE_TRY(tulle_comm_barrier(comm));
        status = tulle_matfun_check(plan, &sign, F, 1000, &error);
        EXPECT(status == TULLE_ERR_CHECK && strstr(tulle_error_message(), "block column 1 ") && error > 9e-7);
        status = TULLE_OK;
        tulle_matfun_free(plan);
        tulle_mat_free(F);
        tulle_mat_free(A);
        plan = NULL;
        A = F = NULL;
    }
out:
    return status;
}

static tulle_status test_refusals(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    static const struct {
        enum change change;
        const char *text, *part;
    } cases[] = {{ONE_SIDED, "exp", "(4, 3) does not"}, {UNEQUAL, "exp", "block (5, 4)"},
        {NOT_FINITE, "exp", "the matrix is not finite: entry (18, 18) is nan"}, {NONE, "inverse", ""},
        {NONE, "sqrt", "sqrt is not defined"}, {NONE, "invsqrt", "invsqrt is not defined"}};
    struct problem p;
    tulle_mat *A = NULL, *F = NULL, *S = NULL;
    tulle_matfun_report report;
    (void)arg;
    problem_init(&p, SPARSE, BLOCKS, 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        TULLE_TRY(build(comm, &p, TULLE_F64, 0, cases[k].change, &A));
        status = function_of(A, cases[k].text, NULL, &F, &report);
        if (*cases[k].part) {
            TULLE_TRY(refused(status, TULLE_ERR_ARG, cases[k].part));
        } else {
            EXPECT(status == TULLE_OK);
            tulle_mat_free(F);
        }
        tulle_mat_free(A);
        F = A = NULL;
    }
    /* zeros in place of diagonal blocks; x -> x^2 is not exact there, but x -> x is */
    tulle_function f;
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NO_DIAGONAL, &A));
    TULLE_TRY(function_of(A, "fermi:kT=1", NULL, &F, &report));
    EXPECT(report.inserted == BLOCKS / 5 + 1);
    tulle_mat_free(F);
    TULLE_TRY(tulle_mat_to_csr(A, false, &S));
    TULLE_TRY(refused(function_of(S, "exp", NULL, &F, &report), TULLE_ERR_ARG, "in blocks"));
    tulle_mat_free(S);
    tulle_mat_free(A);
    static const char *const wrong[][2] = {{"sgn", "sign"}, {"root", "root needs p"}, {"root:p=0", "needs p"},
        {"fermi:kT=-1", "kT"}, {"exp:mu=1", "mu"}, {"sign:m=1", "no key 'm'"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        TULLE_TRY(refused(tulle_function_parse(wrong[k][0], &f), TULLE_ERR_ARG, wrong[k][1]));
out:
    return status;
}

int main(int argc, char **argv)
{
    double worst = 0;
    static const struct named_test tests[] = {{"functions of submatrices", test_functions},
        {"mixed precision", test_mixed}, {"exact cases", test_exact}, {"steps", test_steps}, {"small ones", test_small},
        {"independence", test_independence}, {"stealing", test_stealing}, {"updates", test_update},
        {"the check", test_check}, {"refusals", test_refusals}};
    return run_tests(argc, argv, (int)(sizeof tests / sizeof *tests), tests, &worst, &worst);
}
