/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every method and function over condition numbers, filters, spectra and scales: the result is right within the
 * stated error, or the call fails: conditions SPEC PES [scales].
 */
#include <float.h>

#include <tulle/algebra.h>
#include <tulle/matfun.h>

#include "base/random.h"
#include "blocks.h"
#include "body.h"
#include "dense_function.h"
#include "run_tests.h"

enum { BLOCKS = 9, REFLECTORS = 3 };

/* Blocks of 1 to 5 rows. */
static const tulle_gidx block_cut[BLOCKS + 1] = {0, 3, 4, 9, 11, 12, 16, 19, 23, 25};
enum { ROWS = 25 };

static double f_sign0(double x)
{
    return x < 0 ? -1 : 1;
}
static double f_step(double x)
{
    return x < 0;
}
static double f_inverse(double x)
{
    return 1 / x;
}
static double f_invsqrt(double x)
{
    return 1 / sqrt(x);
}
static double f_fourth(double x)
{
    return pow(x, .25);
}
static double f_third(double x)
{
    return 1 / cbrt(x);
}

/* In (1 / condition, 1); of both signs for the first two functions. */
enum spectrum { GEOMETRIC, ONE_SMALL, ONE_LARGE, EQUAL, SPECTRA };

struct kind {
    const char *text;
    double (*f)(double x);
    bool both; /* of eigenvalues of both signs */
};

static const struct kind kinds[] = {{"sign:mu=0", f_sign0, true}, {"fermi:mu=0", f_step, true},
    {"inverse", f_inverse, false}, {"sqrt", sqrt, false}, {"invsqrt", f_invsqrt, false}, {"root:p=4", f_fourth, false},
    {"root:p=-3", f_third, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct given {
    const struct kind *kind;
    enum spectrum spectrum;
    double condition, filter, scale;
    bool banded;
};

static double level(const struct given *g, int i, int n)
{
    double part = (double)i / (n - 1), least = 1 / g->condition, x = 1;
    switch (g->spectrum) {
    case GEOMETRIC:
        x = pow(least, part);
        break;
    case ONE_SMALL:
        x = i == n / 2 ? least : 1 - .5 * part;
        break;
    case ONE_LARGE:
        x = i == n / 2 ? 1 : least * (1 + part);
        break;
    default:
        x = i < n / 2 ? least : 1;
    }
    return g->scale * (g->kind->both && i % 2 ? -x : x);
}

/* Q diag(levels) Q^T by reflections, of neighbouring rows alone if the matrix is banded. */
static void fill(const struct given *g, struct dense *x)
{
    int n = x->n;
    memset(x->a, 0, sizeof x->a);
    for (int i = 0; i < n; i++) x->a[i][i] = level(g, i, n);
    for (int r = 0; r < (g->banded ? n - 1 : REFLECTORS); r++) {
        double v[DENSE_MOST] = {0}, square = 0, w[DENSE_MOST] = {0}, vw = 0;
        for (int i = g->banded ? r : 0; i < (g->banded ? r + 2 : n); i++) {
            v[i] = tulle__random_unit(tulle__random_at(31, (uint64_t)r, (uint64_t)i)) - (g->banded ? .2 : .5);
            square += v[i] * v[i];
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) w[i] += x->a[i][j] * v[j] * 2 / square;
        for (int i = 0; i < n; i++) vw += v[i] * w[i] / square;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) x->a[i][j] += -w[i] * v[j] - v[i] * w[j] + 2 * vw * v[i] * v[j];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) x->a[i][j] = x->a[j][i];
    }
}

static tulle_status matrix_of(tulle_comm *comm, const struct dense *x, tulle_mat **A)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *entries = NULL;
    int npes = tulle_comm_size(comm), count = 0;
    int64_t *rows = malloc((size_t)(ROWS * ROWS) * 8), *cols = malloc((size_t)(ROWS * ROWS) * 8);
    double *vals = malloc((size_t)(ROWS * ROWS) * 8);
    const tulle_layout_spec spec = {.m = ROWS,
        .n = ROWS,
        .grid_rows = npes,
        .grid_cols = 1,
        .row_blocks = {BLOCKS, block_cut},
        .col_blocks = {BLOCKS, block_cut}};
    TULLE_TRY(tulle_layout_new(&spec, npes, &layout));
    for (int i = tulle_comm_rank(comm); i < ROWS; i += npes)
        for (int j = 0; j < ROWS; j++) {
            if (x->a[i][j] == 0) continue;
            rows[count] = i;
            cols[count] = j;
            vals[count++] = x->a[i][j];
        }
    TULLE_TRY(
        tulle_mat_from_entries(comm, layout, TULLE_F64, count, rows, cols, vals, TULLE_DUPLICATES_ERROR, &entries));
    status = tulle_mat_to_vbsr(entries, layout, A);
out:
    free(rows);
    free(cols);
    free(vals);
    tulle_mat_free(entries);
    tulle_layout_free(layout);
    return status;
}

/* |F - f(A)| / |f(A)|, Frobenius norms, for the decomposition x of A. */
static tulle_status error_of(const tulle_mat *F, const struct dense *x, double (*f)(double x), double *error)
{
    double off = 0, all = 0, *found = malloc(DENSE_MOST * DENSE_MOST * sizeof *found);
    const tulle_status status = blocks_to_dense(F, found);
    for (int i = 0; i < x->n && status == TULLE_OK; i++)
        for (int j = 0; j < x->n; j++) {
            const double right = dense_element(x, i, j, f), rest = right - found[i * x->n + j];
            all += right * right;
            off += rest * rest;
        }
    *error = off <= DBL_MAX ? sqrt(off / all) : INFINITY;
    free(found);
    return status;
}

/* The error that is stated for f(A) with A's condition: tulle/matfun.h, tulle_matfun_check. */
static double stated(const struct given *g)
{
    const double amplification = (g->kind->both ? 2 : 1) * g->condition;
    return fmin(.1, 1e-8 + 100 * g->filter + (1000 * DBL_EPSILON + g->filter) * amplification);
}

struct tally {
    int right, refused;
    double worst;
};

static tulle_status wrong(const struct given *g, tulle_matfun_method method, const char *what, double error)
{
    return tulle__fail(TULLE_ERR_CHECK, "%s by %s, spectrum %d%s, condition %g, filter %g, scale %g: %s, error %.3g",
        g->kind->text, tulle_matfun_method_name(method), (int)g->spectrum, g->banded ? ", banded" : "", g->condition,
        g->filter, g->scale, what, error);
}

/* f(A) by a method: right, or refused. x: the decomposition of A, also of what the filter removes. */
static tulle_status one_case(
    const struct given *g, const tulle_mat *A, const struct dense *x, tulle_matfun_method method, struct tally *tally)
{
    tulle_status status;
    tulle_mat *F = NULL;
    tulle_matfun *plan = NULL;
    tulle_function f;
    tulle_matfun_report report;
    double error = 0, checked = 0, tolerance = 0, amplification = 0;
    const tulle_matfun_options options = {.method = method, .filter = g->filter};
    TULLE_TRY(tulle_function_parse(g->kind->text, &f));
    TULLE_TRY(tulle_matfun_new(A, &options, &plan));
    status = tulle_matfun_execute(plan, &f, &F, &report);
    if (status == TULLE_ERR_CONVERGENCE || status == TULLE_ERR_ARG) {
        tally->refused++;
        status = g->filter > 0 ? TULLE_OK : wrong(g, method, "refused without a filter", 0);
        goto out;
    }
    if (status != TULLE_OK) goto out;
    TULLE_TRY(error_of(F, x, g->kind->f, &error));
    const tulle_status check = tulle_matfun_check(plan, &f, F, 8, &checked);
    TULLE_TRY(tulle_matfun_checked(plan, &tolerance, &amplification));
    /* submatrices of a pattern that is not full have the truncation's error, which the check leaves aside */
    const bool truncated = report.method == TULLE_MATFUN_SUBMATRIX && (g->banded || g->filter > 0);
    if (!truncated && !(error <= stated(g))) status = wrong(g, method, "a wrong result", error);
    if (!truncated && check == TULLE_OK && !(error <= .1)) status = wrong(g, method, "a check that passed", error);
    if (check != TULLE_OK && (truncated || g->filter <= 0)) status = wrong(g, method, "a check that failed", checked);
    if (!(amplification >= 1 && tolerance > 0 && tolerance <= .1)) status = wrong(g, method, "tolerance", tolerance);
    tally->right++;
    if (!truncated) tally->worst = fmax(tally->worst, error / stated(g));
out:
    tulle_matfun_free(plan);
    tulle_mat_free(F);
    return status;
}

static tulle_status one_matrix(tulle_comm *comm, const struct given *g, struct tally *tally)
{
    tulle_status status;
    tulle_mat *A = NULL;
    const tulle_matfun_method whole = g->kind->both ? TULLE_MATFUN_NEWTON_SCHULZ : TULLE_MATFUN_COUPLED_NEWTON;
    struct dense *x = malloc(sizeof *x);
    x->n = ROWS;
    fill(g, x);
    TULLE_TRY(matrix_of(comm, x, &A));
    dense_solve(x);
    TULLE_TRY(one_case(g, A, x, whole, tally));
    TULLE_TRY(one_case(g, A, x, TULLE_MATFUN_SUBMATRIX, tally));
    TULLE_TRY(one_case(g, A, x, TULLE_MATFUN_AUTO, tally));
out:
    tulle_mat_free(A);
    free(x);
    return status;
}

static int scales = 1; /* 1: of the table that line in four which differs in all of them, scales in turn */

static tulle_status test_table(tulle_comm *comm, void *arg)
{
    static const double filters[] = {0, 1e-6, 1e-3}, scale[] = {1, 1e-3, 1e3};
    enum { CONDITIONS = 5, FILTERS = 3 };
    tulle_status status = TULLE_OK;
    double *worst = arg;
    for (int k = 0; k < KINDS; k++) {
        struct tally tally = {0};
        for (int i = 0; i < SPECTRA * CONDITIONS * FILTERS * scales * 2; i++) {
            const int s = i % SPECTRA, c = i / SPECTRA % CONDITIONS, e = i / (SPECTRA * CONDITIONS) % FILTERS;
            const int z = i / (SPECTRA * CONDITIONS * FILTERS);
            if (scales == 1 && (s + c + e + z) % 4) continue;
            const struct given g = {.kind = &kinds[k],
                .spectrum = (enum spectrum)s,
                .condition = pow(10, 2 * c + 2),
                .filter = filters[e],
                .scale = scale[scales == 1 ? (c + k) % 3 : z / 2],
                .banded = z % 2};
            TULLE_TRY(one_matrix(comm, &g, &tally));
        }
        EXPECT(tally.right > tally.refused);
        if (tulle_comm_rank(comm) == 0) {
            printf("# %s: %d right, %d refused\n", kinds[k].text, tally.right, tally.refused);
            *worst = fmax(*worst, tally.worst);
        }
    }
out:
    return status;
}

int main(int argc, char **argv)
{
    double worst = 0;
    static const struct named_test tests[] = {
        {"conditions, filters and spectra; errors over those stated", test_table}};
    if (argc == 4 && strcmp(argv[3], "scales") == 0) scales = 3, argc = 3;
    return run_tests(argc, argv, (int)(sizeof tests / sizeof *tests), tests, &worst, &worst);
}
