/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MINRES of drawn symmetric systems against Jacobi's rotations: drawn_minres SPEC PES SEED CASES [FIRST]. Matrices are
 * indefinite, of saddle points, singular (graphs, low rank, zero), dense, and far from 1; right-hand sides lie in the
 * range or not, in the null space, are equal, zero, units, of very different size, or not finite. A system that has a
 * solution converges. One that has none ends as `least-squares`, with the least residual. SEED new: another one in each
 * run.
 */
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

enum { MOST = 32, COLS = 20, MATRICES = 9, SIDES = 7, ITERATIONS = 4000 };
static const char *const matrix_name[MATRICES] = {
    "signs", "chain", "saddle point", "graph", "low rank", "zero", "dense", "shifted grid", "few values"};
static const char *const side_name[SIDES] = {"random", "in the range", "null space", "equal", "sizes", "units", "sums"};
static const double tolerance = 1e-8;

struct system {
    int64_t number;
    int n, cols, kind, side, exponent;
    double A[MOST * MOST], B[MOST * COLS], X[MOST * COLS], least[COLS], norm[COLS];
};

static double unit(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static void set(struct system *s, int i, int j, double x)
{
    if (i < s->n && j < s->n) s->A[i * s->n + j] = s->A[j * s->n + i] = x;
}

static void draw_matrix(struct system *s, uint64_t seed)
{
    const int n = s->n, half = (n + 1) / 2;
    memset(s->A, 0, sizeof s->A);
    for (int i = 0; i < n; i++) {
        const double x = 2 * unit(seed, i, 0) - 1;
        if (s->kind == 0) set(s, i, i, x < 0 ? x - .1 : x + .1);
        if (s->kind == 1) set(s, i, i, x > 0 ? 3 : -3), set(s, i, i + 1, 1);
        if (s->kind == 2 && i < half)
            set(s, i, i, 1 + unit(seed, i, 1)), set(s, i, half + i, 1), set(s, i, half + i + 1, .5);
        if (s->kind == 7) set(s, i, i, 2 - 3 * unit(seed, 0, 9)), set(s, i, i + 1, -1), set(s, i, i + 5, -1);
        if (s->kind == 8) set(s, i, i, i % 3 - 1);
    }
    for (int i = 0; i < n && s->kind == 3; i++) { /* a Laplacian: constants on each component are its null space */
        const int j = (int)(unit(seed, i, 2) * n);
        const double w = 1 + unit(seed, i, 3);
        if (i == j) continue;
        s->A[i * n + j] -= w, s->A[j * n + i] -= w;
        s->A[i * n + i] += w, s->A[j * n + j] += w;
    }
    for (int i = 0; i < n && (s->kind == 4 || s->kind == 6); i++)
        for (int j = 0; j <= i; j++) {
            double x = 2 * unit(seed, i, j + 100) - 1;
            for (int k = 0; k < 3 && s->kind == 4; k++)
                x = (k ? x : 0) + (k - 1.5) * (2 * unit(seed, k, i + 200) - 1) * (2 * unit(seed, k, j + 200) - 1);
            set(s, i, j, x);
        }
}

static void draw_sides(struct system *s, uint64_t seed)
{
    const int n = s->n;
    for (int c = 0; c < s->cols; c++)
        for (int i = 0; i < n; i++) {
            double *b = &s->B[i * s->cols + c];
            *b = 2 * unit(seed, i, 300 + c) - 1;
            if (s->side == 1) {
                *b = 0;
                for (int j = 0; j < n; j++) *b += s->A[i * n + j] * unit(seed, j, 300 + c);
            }
            if (s->side == 2) *b = c % 2 ? 1 : i == n - 1;
            if (s->side == 3) *b = c % 3 == 2 ? 0 : ldexp(unit(seed, i, 300), c);
            if (s->side == 4) *b *= pow(10, 40 * (c % 5) - 80);
            if (s->side == 5) *b = i == c % n;
            if (s->side == 6) *b = i <= c;
            if (s->number % 23 == 22 && c == 1 && i == 0) *b = NAN;
        }
}

/* The norms of right-hand sides, and of their parts in the null space. */
static void find_least(struct system *s)
{
    static _Thread_local double G[MOST * MOST], V[MOST * MOST], lambda[MOST];
    const int n = s->n;
    double most = 0;
    memcpy(G, s->A, sizeof G);
    (void)tulle__jacobi(n, G, NULL, V, lambda);
    for (int k = 0; k < n; k++) most = fmax(most, fabs(lambda[k]));
    for (int c = 0; c < s->cols; c++) {
        s->least[c] = s->norm[c] = 0;
        for (int i = 0; i < n; i++) s->norm[c] = hypot(s->norm[c], s->B[i * s->cols + c]);
        for (int k = 0; k < n; k++) {
            double part = 0;
            if (fabs(lambda[k]) > 1e-11 * most) continue;
            for (int i = 0; i < n; i++) part += V[k * n + i] * s->B[i * s->cols + c];
            s->least[c] = hypot(s->least[c], part);
        }
    }
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->number = number;
    s->n = 1 + (int)(unit(seed, 0, 900) * MOST);
    s->cols = (int)(unit(seed, 1, 900) * (COLS + 1));
    s->kind = (int)(number % MATRICES);
    s->side = (int)(number / MATRICES % SIDES);
    s->exponent = number % 6 == 4 ? 400 : number % 6 == 5 ? -400 : 0;
    draw_matrix(s, seed);
    draw_sides(s, seed);
    find_least(s);
    for (int i = 0; i < s->n * s->n; i++) s->A[i] = ldexp(s->A[i], s->exponent);
}

/* This PE's rows of A and B. */
static void describe(
    const struct system *s, int rank, int npes, tulle_array *a, tulle_array *b, int64_t *ptr, int *col, double *val)
{
    describe_rows(s->A, s->n, s->n, 0, TULLE_F64, rank, npes, a, ptr, col, val);
    *b = TULLE_ARRAY_DENSE(s->n, s->cols, (double *)s->B + a->first * s->cols);
    b->first = a->first;
    b->count = a->count;
}

/* An empty text if column c is right. */
static void judge(
    const struct system *s, int c, bool preconditioned, const tulle_krylov_report *r, char *text, size_t size)
{
    const double norm = s->norm[c], least = s->least[c];
    double off = 0;
    *text = 0;
    for (int i = 0; i < s->n; i++) {
        double residual = s->B[i * s->cols + c];
        for (int j = 0; j < s->n; j++) residual -= s->A[i * s->n + j] * s->X[j * s->cols + c];
        off = hypot(off, residual);
    }
    if (!isfinite(norm)) {
        if (r->stop != TULLE_STOP_RHS_NOT_FINITE)
            snprintf(text, size, "b is not finite, and %s", tulle_stop_name(r->stop));
        return;
    }
    if (!(fabs(r->true_residual - off) <= 1e-9 * norm)) /* also of steps that were rounding */
        snprintf(text, size, "the true residual is said to be %.3g, and is %.3g", r->true_residual, off);
    else if (r->stop != TULLE_STOP_CONVERGED && r->stop != TULLE_STOP_LEAST_SQUARES)
        snprintf(text, size, "%s after %d iterations, at %.3g of %.3g", tulle_stop_name(r->stop), (int)r->iterations,
            off, least);
    else if (r->stop == TULLE_STOP_CONVERGED && !(off <= 2 * tolerance * norm))
        snprintf(text, size, "converged at %.3g of %.3g", off, norm);
    else if (r->stop == TULLE_STOP_LEAST_SQUARES && least <= tolerance / 2 * norm)
        snprintf(text, size, "least squares at %.3g of %.3g, and there is a solution", off, norm);
    else if (r->stop == TULLE_STOP_LEAST_SQUARES && !preconditioned && !(off <= least * 1.0001))
        snprintf(text, size, "least squares at %.6g, but %.6g is the least", off, least);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status = TULLE_OK;
    struct system *s = calloc(1, sizeof *s);
    int64_t *ptr = malloc((MOST + 1) * sizeof *ptr);
    int *col = malloc(MOST * MOST * sizeof *col);
    double *val = malloc(MOST * MOST * sizeof *val);
    tulle_krylov_report report[COLS];
    char text[200];
    for (int64_t number = run->from; number < run->from + run->cases && status == TULLE_OK; number++) {
        tulle_array a, b, X = {.storage = TULLE_STORAGE_DENSE};
        draw(s, run->seed, number);
        describe(s, tulle_comm_rank(comm), tulle_comm_size(comm), &a, &b, ptr, col, val);
        const tulle_krylov_options krylov = {.method = TULLE_KRYLOV_MINRES,
            .tolerance = tolerance,
            .max_iterations = ITERATIONS,
            .width = number % 4 ? 0 : 1 + (int)(number % 3)};
        const bool preconditioned = number % 5 == 4 && s->kind == 7 && s->A[0] > 0;
        const tulle_solve_options options = {
            .krylov = &krylov, .precond = preconditioned ? TULLE_PRECOND_JACOBI : TULLE_PRECOND_NONE};
        status = tulle_solve(comm, &a, &b, &X, &options, report);
        const bool ended = status == TULLE_OK || status == TULLE_ERR_CONVERGENCE;
        if (ended) status = TULLE_OK;
        memset(s->X, 0, sizeof s->X);
        for (tulle_gidx i = 0; ended && i < X.count && s->cols; i++)
            memcpy(s->X + (X.first + i) * s->cols, (double *)X.val + i * X.ld, (size_t)s->cols * sizeof(double));
        if (ended && s->cols) status = tulle_comm_reduce_real(comm, TULLE_SUM, s->n * s->cols, s->X);
        tulle_array_free(&X);
        if (!ended)
            status = tulle__fail(TULLE_ERR_CHECK, "case %d: %s, %d rows: %s", (int)number, matrix_name[s->kind], s->n,
                tulle_error_message());
        for (int c = 0; c < s->cols && status == TULLE_OK; c++) {
            judge(s, c, preconditioned, &report[c], text, sizeof text);
            if (*text)
                status = tulle__fail(TULLE_ERR_CHECK, "case %d: %s, %d rows, %s, column %d of %d: %s", (int)number,
                    matrix_name[s->kind], s->n, side_name[s->side], c + 1, s->cols, text);
        }
    }
    free(val);
    free(col);
    free(ptr);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    run_drawn(argc, argv, 1, body, "MINRES of drawn systems", &run);
    return tap_done();
}
