/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSQR and LSMR of drawn matrices, in memory and in a file, against Jacobi's rotations of A^T A: drawn SPEC PES SEED
 * CASES [FIRST]. Kinds: sparse, tall, wide, low rank, equal columns, empty rows and columns, scaled columns, dense,
 * zero, some of them far from 1; with damping or without. Right-hand sides: random, in the range, across it, equal,
 * units, sizes, zero. Some A, b or guesses are not finite, and some limits are 0, so that rounding alone ends a solve.
 * SEED new: another one in each run.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "algo/matfun/dense/jacobi.h"
#include "base/error.h"
#include "base/random.h"
#include "body.h"
#include "drawn.h"
#include "drawn_array.h"
#include "tap.h"

enum { MOST = 32, COLS = 12, KINDS = 9, SIDES = 7, ITERATIONS = 5000 };
static const char *const kind_name[KINDS] = {
    "sparse", "tall", "wide", "low rank", "equal columns", "empty rows and columns", "scaled columns", "dense", "zero"};
static const char *const side_name[SIDES] = {
    "random", "in the range", "across the range", "equal", "sizes", "units", "zero"};

struct system {
    int64_t number;
    int m, n, cols, kind, side, from_file, exponent, width;
    bool guess, endless; /* endless: limits of 0 */
    tulle_least_squares_method method;
    tulle_type type;
    double damp; /* of A; that of 2^exponent A is larger */
    double A[MOST * MOST], B[MOST * COLS], X[MOST * COLS], start[MOST * COLS];
    double limit, variance[MOST * COLS]; /* of the condition; where `estimated` */
    bool estimated;
    double least[COLS], norm[COLS], best[MOST * COLS], condition, of_A;
};

static double unit(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static double rounded(tulle_type type, double x)
{
    return type == TULLE_F32 ? (double)(float)x : x;
}

static double element(const struct system *s, uint64_t seed, int i, int j)
{
    const double x = 2 * unit(seed, i, j + 1000) - 1, y = unit(seed, i + 500, j);
    double sum = 0;
    switch (s->kind) {
    case 3:
        for (int k = 0; k < 3; k++) sum += (2 * unit(seed, k, i + 2000) - 1) * (2 * unit(seed, k, j + 4000) - 1);
        return sum;
    case 4:
        return unit(seed, i, j % 3) < .6 ? 1 + unit(seed, i + 300, j % 3) : 0;
    case 5:
        return i % 3 == 0 || j % 4 == 1 ? 0 : y < .4 ? x : 0;
    case 6:
        return (y < .5 ? x : 0) * pow(10, (j % 5) / 4.);
    case 7:
        return x;
    case 8:
        return 0;
    default:
        return y < .3 ? x : 0;
    }
}

/* A x and A^T r. */
static void multiply(const struct system *s, const double *x, double *y)
{
    for (int i = 0; i < s->m; i++) {
        y[i] = 0;
        for (int j = 0; j < s->n; j++) y[i] += s->A[i * s->n + j] * x[j];
    }
}

static void multiply_transposed(const struct system *s, const double *r, double *g)
{
    for (int j = 0; j < s->n; j++) {
        g[j] = 0;
        for (int i = 0; i < s->m; i++) g[j] += s->A[i * s->n + j] * r[i];
    }
}

static double length(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum = hypot(sum, x[i]);
    return sum;
}

/* V, column by column, and the eigenvalues of A^T A; values below `least` count as 0. */
static double eigen(const struct system *s, double *V, double *lambda)
{
    static _Thread_local double G[MOST * MOST];
    const int n = s->n;
    double most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            G[i * n + j] = 0;
            for (int r = 0; r < s->m; r++) G[i * n + j] += s->A[r * n + i] * s->A[r * n + j];
        }
    (void)tulle__jacobi(n, G, NULL, V, lambda);
    for (int k = 0; k < n; k++) most = fmax(most, lambda[k]);
    return 1e-11 * most;
}

/* The least residuals, and the shortest x that have them. */
static void find_best(struct system *s)
{
    static _Thread_local double V[MOST * MOST], lambda[MOST];
    const int m = s->m, n = s->n;
    const double zero = eigen(s, V, lambda);
    double small = INFINITY, large = 0;
    s->of_A = 0;
    for (int i = 0; i < m * n; i++) s->of_A = hypot(s->of_A, s->A[i]);
    for (int k = 0; k < n; k++)
        if (lambda[k] > zero) small = fmin(small, lambda[k]), large = fmax(large, lambda[k]);
    s->condition = large > 0 ? sqrt(large / small) : 1;
    for (int c = 0; c < s->cols; c++) {
        double b[MOST], g[MOST], r[MOST], *x = s->best + c * n;
        memset(x, 0, (size_t)n * sizeof *x);
        for (int i = 0; i < m; i++) b[i] = s->B[i * s->cols + c];
        s->norm[c] = length(b, m);
        multiply_transposed(s, b, g);
        for (int k = 0; k < n; k++) {
            double part = 0;
            if (lambda[k] <= zero || lambda[k] == 0) continue;
            for (int i = 0; i < n; i++) part += V[k * n + i] * g[i];
            for (int i = 0; i < n; i++) x[i] += V[k * n + i] * part / (lambda[k] + s->damp * s->damp);
        }
        multiply(s, x, r);
        for (int i = 0; i < m; i++) r[i] -= b[i];
        s->least[c] = hypot(length(r, m), s->damp * length(x, n));
    }
}

/* b - A A^+ b */
static void make_across(struct system *s, int c)
{
    static _Thread_local double V[MOST * MOST], lambda[MOST];
    const double zero = eigen(s, V, lambda);
    double b[MOST], y[MOST], x[MOST] = {0}, g[MOST];
    for (int i = 0; i < s->m; i++) b[i] = s->B[i * s->cols + c];
    multiply_transposed(s, b, g);
    for (int k = 0; k < s->n; k++) {
        double part = 0;
        if (lambda[k] <= zero || lambda[k] == 0) continue;
        for (int i = 0; i < s->n; i++) part += V[k * s->n + i] * g[i];
        for (int i = 0; i < s->n; i++) x[i] += V[k * s->n + i] * part / lambda[k];
    }
    multiply(s, x, y);
    for (int i = 0; i < s->m; i++) s->B[i * s->cols + c] = rounded(s->type, b[i] - y[i]);
}

static void draw_sides(struct system *s, uint64_t seed)
{
    for (int c = 0; c < s->cols; c++) {
        double x[MOST], y[MOST];
        for (int j = 0; j < s->n; j++) x[j] = 2 * unit(seed, j, 700 + c) - 1;
        multiply(s, x, y);
        for (int i = 0; i < s->m; i++) {
            double b = 2 * unit(seed, i, 300 + c) - 1;
            if (s->side == 1) b = y[i];
            if (s->side == 3) b = ldexp(unit(seed, i, 300), c);
            if (s->side == 4)
                b *= pow(10, (s->type == TULLE_F32 ? 5 : 30) * (c % 5) - (s->type == TULLE_F32 ? 10 : 60));
            if (s->side == 5) b = i == c % s->m;
            if (s->side == 6) b = c % 2 ? b : 0;
            if (s->number % 29 == 28 && c == 1 && i == s->m - 1) b = NAN;
            s->B[i * s->cols + c] = rounded(s->type, b);
        }
        if (s->side == 2 && s->number % 29 != 28) make_across(s, c);
        for (int j = 0; j < s->n; j++) s->start[j * s->cols + c] = s->guess ? rounded(s->type, x[(j + 1) % s->n]) : 0;
        if (s->guess && s->number % 4 == 3 && c == 2)
            s->start[(s->n / 2) * s->cols + c] = s->number % 8 < 4 ? NAN : -INFINITY;
    }
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->number = number;
    s->kind = (int)(number % KINDS);
    s->side = (int)(number / KINDS % SIDES);
    s->m = 1 + (int)(unit(seed, 0, 9000) * MOST);
    s->n = 1 + (int)(unit(seed, 1, 9000) * MOST);
    if ((s->kind == 1 && s->m < s->n) || (s->kind == 2 && s->m > s->n)) {
        const int m = s->m;
        s->m = s->n, s->n = m;
    }
    s->cols = (int)(unit(seed, 2, 9000) * (COLS + 1));
    s->type = unit(seed, 3, 9000) < .25 ? TULLE_F32 : TULLE_F64;
    s->method = number % 2 ? TULLE_LEAST_SQUARES_LSMR : TULLE_LEAST_SQUARES_LSQR;
    s->from_file = number % 3 == 1;
    s->guess = number % 5 == 2 && s->side != 2 && s->side != 4; /* beside a guess that is far larger b is rounding */
    s->width = number % 4 ? 0 : 1 + (int)(number % 3);
    s->damp = unit(seed, 4, 9000) < .3 ? .05 + unit(seed, 5, 9000) : 0;
    s->exponent = (number % 7 == 3 ? 1 : number % 7 == 4 ? -1 : 0) * (s->type == TULLE_F32 ? 40 : 530);
    if (s->side == 4) s->exponent = 0;
    s->limit = number % 6 == 1 ? 3 : 0;
    s->estimated = number % 4 == 1 && s->exponent == 0;
    s->endless = number % 8 == 5 && !s->limit;
    memset(s->A, 0, sizeof s->A);
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) s->A[i * s->n + j] = rounded(s->type, element(s, seed, i, j));
    draw_sides(s, seed);
    find_best(s);
    if (number % 37 == 36) s->A[number % (s->m * s->n)] = number % 2 ? NAN : INFINITY;
}

/* True if what is not finite decides why column c stops; a text if it is not named. */
static bool judge_not_finite(
    const struct system *s, int c, const tulle_least_squares_report *report, char *text, size_t size)
{
    bool of_guess = false, of_A = false;
    for (int j = 0; j < s->n; j++) of_guess |= !isfinite(s->start[j * s->cols + c]);
    for (int i = 0; i < s->m * s->n; i++) of_A |= !isfinite(s->A[i]);
    const tulle_stop stop = !isfinite(s->norm[c]) ? TULLE_STOP_RHS_NOT_FINITE
                            : of_guess            ? TULLE_STOP_GUESS_NOT_FINITE
                            : of_A && s->norm[c]  ? TULLE_STOP_NOT_FINITE
                                                  : TULLE_STOP_COUNT;
    if (stop == TULLE_STOP_COUNT) return of_A;
    if (report->stop != stop)
        snprintf(text, size, "%s is expected, and %s", tulle_stop_name(stop), tulle_stop_name(report->stop));
    else if (isfinite(report->true_residual) || isfinite(report->plain_residual) || isfinite(report->gradient))
        snprintf(text, size, "%s, and finite figures", tulle_stop_name(stop));
    return true;
}

/* An empty text if column c is right; X is of A here, not of 2^exponent A. */
static void judge(const struct system *s, int c, const tulle_least_squares_report *report, char *text, size_t size)
{
    const double eps = s->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON, limit = s->type == TULLE_F32 ? 1.5e-4 : 1.5e-8,
                 norm = s->norm[c], least = s->least[c], of_A = hypot(s->of_A, s->damp);
    double x[MOST], r[MOST], g[MOST], off[MOST];
    const int m = s->m, n = s->n;
    *text = 0;
    if (judge_not_finite(s, c, report, text, size)) return;
    for (int j = 0; j < n; j++) x[j] = s->X[j * s->cols + c];
    multiply(s, x, r);
    for (int i = 0; i < m; i++) r[i] = s->B[i * s->cols + c] - r[i];
    multiply_transposed(s, r, g);
    for (int j = 0; j < n; j++) {
        g[j] -= s->damp * s->damp * x[j];
        off[j] = x[j] - s->best[c * n + j];
    }
    const double residual = hypot(length(r, m), s->damp * length(x, n)), gradient = length(g, n),
                 rough = 200 * eps * (norm + of_A * length(x, n));
    for (int j = 0; j < n && s->estimated; j++)
        if (!(s->variance[j * s->cols + c] >= 0) || !isfinite(s->variance[j * s->cols + c]))
            snprintf(text, size, "a variance of %g", s->variance[j * s->cols + c]);
    if (*text) return;
    if (s->limit > 0 && report->stop == TULLE_STOP_CONDITION) {
        if (!(report->condition > s->limit)) snprintf(text, size, "the condition is %g only", report->condition);
        return;
    }
    const bool at_rounding = report->stop == TULLE_STOP_STAGNATED && (residual <= rough || gradient <= rough * of_A);
    if (at_rounding && !s->endless) return;
    if (!at_rounding && report->stop != TULLE_STOP_CONVERGED && report->stop != TULLE_STOP_LEAST_SQUARES)
        snprintf(text, size, "%s after %d iterations, at %.3g of %.3g, gradient %.3g", tulle_stop_name(report->stop),
            (int)report->iterations, residual, least, gradient);
    else if (!(fabs(report->true_residual - residual) <= rough))
        snprintf(text, size, "the residual is said to be %.6g, and is %.6g", report->true_residual, residual);
    else if (!(fabs(report->plain_residual - length(r, m)) <= rough))
        snprintf(text, size, "||b - A x|| is said to be %.6g, and is %.6g", report->plain_residual, length(r, m));
    else if (!(fabs(ldexp(report->gradient, -s->exponent) - gradient) <= rough * of_A))
        snprintf(text, size, "the gradient is said to be %.6g, and is %.6g", ldexp(report->gradient, -s->exponent),
            gradient);
    else if (report->stop == TULLE_STOP_CONVERGED && !(residual <= limit * norm + rough))
        snprintf(text, size, "converged at %.3g of %.3g", residual, norm);
    else if (report->stop == TULLE_STOP_LEAST_SQUARES && !(gradient <= limit * of_A * residual + rough * of_A))
        snprintf(text, size, "least squares with a gradient of %.3g of %.3g", gradient, of_A * residual);
    else if (!(residual <= least * (1 + 1e-6) + (s->condition + 1) * limit * norm + rough))
        snprintf(text, size, "a residual of %.9g, and the least is %.9g", residual, least);
    else if (!s->guess &&
             !(length(off, n) <= 40 * s->condition * s->condition *
                                     (limit * (residual + norm) / fmax(s->of_A, DBL_MIN) + 100 * eps * length(x, n))))
        snprintf(text, size, "x is off by %.3g of %.3g, condition %.3g", length(off, n), length(x, n), s->condition);
}

/* In several tiles, dealt out to the PEs. */
static tulle_status deal(const struct system *s, tulle_mat **X)
{
    const bool sparse = tulle_mat_kind(*X) == TULLE_CSR;
    return deal_tiles(X, 1 + (int)(s->number % 5), sparse && s->number % 4 == 3 ? 2 : 1);
}

static tulle_status side(tulle_comm *comm, const struct system *s, int rows, const double *values, int exponent,
    tulle_order order, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    const tulle_layout_spec spec = {.m = rows, .n = s->cols, .tile_rows = tulle_comm_size(comm), .tile_cols = 1};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, s->type, order, X);
    for (int i = 0; status == TULLE_OK && i < tulle_layout_tile_rows(layout); i++) {
        tulle_own_tile t;
        if (tulle_layout_owner(layout, i, 0) != tulle_comm_rank(comm)) continue;
        status = tulle_mat_own_tile(*X, i, 0, &t);
        const tulle_gidx first = tulle_layout_row_cut(layout)[i];
        for (tulle_gidx r = 0; status == TULLE_OK && r < t.m; r++)
            for (tulle_gidx c = 0; c < t.n; c++) {
                const double x = ldexp(values[(first + r) * s->cols + c], exponent);
                const int64_t at = order == TULLE_ROW_MAJOR ? r * t.ld + c : c * t.ld + r;
                if (s->type == TULLE_F32)
                    ((float *)t.val)[at] = (float)x;
                else
                    ((double *)t.val)[at] = x;
            }
    }
    tulle_layout_free(layout);
    return status;
}

static tulle_status solve(
    tulle_comm *comm, const struct run *run, struct system *s, const tulle_array *a, tulle_least_squares_report *report)
{
    tulle_mat *A = NULL, *B = NULL, *X = NULL, *V = NULL;
    tulle_rows *rows = NULL;
    double error = 0;
    tulle_least_squares_options options = {.method = s->method,
        .damp = ldexp(s->damp, s->exponent),
        .tolerance = s->endless             ? TULLE_NONE
                     : s->type == TULLE_F32 ? 1e-4
                                            : 0,
        .gradient = s->endless ? TULLE_NONE : 0,
        .max_iterations = ITERATIONS,
        .width = s->width,
        .max_condition = s->limit,
        .guess = s->guess};
    tulle_status status = tulle_mat_from_array(comm, a, &A);
    if (status == TULLE_OK && s->number % 2) status = deal(s, &A);
    if (status == TULLE_OK && s->from_file) status = tulle_mat_save(A, run->path);
    if (status == TULLE_OK && s->from_file) status = tulle_rows_open(comm, run->path, &rows);
    if (status == TULLE_OK) status = side(comm, s, s->m, s->B, 0, TULLE_COL_MAJOR, &B);
    if (status == TULLE_OK) status = side(comm, s, s->n, s->start, -s->exponent, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK && s->number % 3) status = deal(s, &B);
    if (status == TULLE_OK && s->number % 5 > 2) status = deal(s, &X);
    if (status == TULLE_OK && s->estimated) status = side(comm, s, s->n, s->start, 0, TULLE_COL_MAJOR, &V);
    options.variance = V;
    if (status == TULLE_OK)
        status = rows ? tulle_least_squares_of_rows(rows, B, X, &options, report)
                      : tulle_least_squares(A, B, X, &options, report);
    const bool failed = status == TULLE_ERR_CONVERGENCE; /* as reports say */
    if (failed) status = TULLE_OK;
    if (status == TULLE_OK && !failed && s->exponent == 0 && s->number % 37 != 36)
        status = rows ? tulle_least_squares_check_rows(rows, B, X, &options, &error)
                      : tulle_least_squares_check(A, B, X, &options, &error);
    if (status == TULLE_OK) status = s->cols ? collect_rows(comm, X, s->n, s->cols, s->X) : TULLE_OK;
    if (status == TULLE_OK && V && s->cols) status = collect_rows(comm, V, s->n, s->cols, s->variance);
    tulle_rows_free(rows);
    tulle_mat_free(V);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(A);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg, shared = *run; /* PE 0's folder */
    tulle_status status = tulle_comm_broadcast(comm, 0, shared.path, sizeof shared.path);
    run = &shared;
    struct system *s = calloc(1, sizeof *s);
    int64_t ptr[MOST + 1];
    int *col = malloc(MOST * MOST * sizeof *col);
    double *val = malloc(MOST * MOST * sizeof *val);
    for (int64_t number = run->from; number < run->from + run->cases && status == TULLE_OK; number++) {
        tulle_array a;
        tulle_least_squares_report report[COLS];
        char text[200] = "";
        int c = 0;
        draw(s, run->seed, number);
        describe_rows(
            s->A, s->m, s->n, s->exponent, s->type, tulle_comm_rank(comm), tulle_comm_size(comm), &a, ptr, col, val);
        status = solve(comm, run, s, &a, report);
        if (status != TULLE_OK) snprintf(text, sizeof text, "%s", tulle_error_message());
        for (; c < s->cols && status == TULLE_OK && !*text; c++) {
            for (int j = 0; j < s->n; j++) s->X[j * s->cols + c] = ldexp(s->X[j * s->cols + c], s->exponent);
            judge(s, c, &report[c], text, sizeof text);
        }
        if (*text)
            status =
                tulle__fail(TULLE_ERR_CHECK, "case %d: %s, %s, %d x %d, %s, %s, damp %.3g%s%s, column %d of %d: %s",
                    (int)number, tulle_least_squares_method_name(s->method), kind_name[s->kind], s->m, s->n,
                    side_name[s->side], tulle_type_name(s->type), s->damp, s->from_file ? ", from a file" : "",
                    s->guess ? ", a guess" : "", c, s->cols, text);
    }
    free(val);
    free(col);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    run_drawn(argc, argv, 2, body, "least squares are those of Jacobi's rotations", &run);
    return tap_done();
}
