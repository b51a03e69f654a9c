/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block CG converges wherever CG does: drawn_blocks SPEC PES SEED CASES. Drawn are symmetric positive
 * definite matrices of kinds in which Krylov spaces end early (decoupled, few eigenvalues, grids,
 * chains, powers of ten on the diagonal), and right-hand sides that depend on one another (units, equal,
 * zero, of very different size), as many as rows and more. SEED new: another one in each run. The first
 * failing case is printed, to be repeated by its SEED, 1 case and its number as FIRST.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
#include "drawn.h"
#include "drawn_array.h"
#include "tap.h"

enum { MOST = 40, COLS = 64, MATRICES = 8, SIDES = 7, ITERATIONS = 2000 };
static const char *const matrix_name[] = {
    "diagonal", "few values", "chain", "decoupled blocks", "grid", "graph", "dense", "scaled"};
static const char *const side_name[] = {"random", "units", "equal", "few directions", "sizes", "sums", "near"};

struct system {
    int64_t number;
    int n, cols, kind, side;
    double A[MOST * MOST], B[MOST * COLS];
};

static double unit(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static void couple(struct system *s, int i, int j, double x)
{
    if (i == j || i < 0 || j < 0 || i >= s->n || j >= s->n) return;
    s->A[i * s->n + j] -= x;
    s->A[j * s->n + i] -= x;
    s->A[i * s->n + i] += x;
    s->A[j * s->n + j] += x;
}

/* A sum of positive couplings and a positive diagonal; or Q^T D Q by rotations. */
static void draw_matrix(struct system *s, uint64_t seed)
{
    const int n = s->n, edge = (int)sqrt((double)n);
    memset(s->A, 0, sizeof s->A);
    for (int i = 0; i < n; i++)
        s->A[i * n + i] = s->kind == 1 ? 1 + i % 3 : s->kind == 0 ? 1 + 9 * unit(seed, i, i) : 0.3;
    for (int i = 0; i < n; i++) {
        if (s->kind == 2 || s->kind == 7) couple(s, i, i + 1, 1);
        if (s->kind == 3 && i % 4 != 3) couple(s, i, i + 1, 1 + (s->number % 2 ? i % 4 : 0));
        if (s->kind == 4 && i % edge != edge - 1) couple(s, i, i + 1, 1);
        if (s->kind == 4) couple(s, i, i + edge, 1);
        if (s->kind == 5) couple(s, i, (int)(unit(seed, i, 77) * n), 1);
    }
    if (s->kind == 6) {
        for (int i = 0; i < n; i++) s->A[i * n + i] = pow(10, -4 * unit(seed, i, 1));
        for (int r = 0; r < 3 * n; r++) {
            const int p = (int)(unit(seed, r, 2) * n), q = (int)(unit(seed, r, 3) * n);
            const double c = cos(6 * unit(seed, r, 4)), t = sin(6 * unit(seed, r, 4));
            if (p == q) continue;
            for (int k = 0; k < n; k++) {
                const double x = s->A[p * n + k], y = s->A[q * n + k];
                s->A[p * n + k] = c * x - t * y;
                s->A[q * n + k] = t * x + c * y;
            }
            for (int k = 0; k < n; k++) {
                const double x = s->A[k * n + p], y = s->A[k * n + q];
                s->A[k * n + p] = c * x - t * y;
                s->A[k * n + q] = t * x + c * y;
            }
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++) s->A[i * n + j] = s->A[j * n + i];
    }
    for (int i = 0; i < n && s->kind == 7; i++) /* D A D, D from 1 to 100 */
        for (int j = 0; j < n; j++) s->A[i * n + j] *= pow(10, 2.0 * (i % 5) / 4) * pow(10, 2.0 * (j % 5) / 4);
}

static void draw_sides(struct system *s, uint64_t seed)
{
    for (int i = 0; i < s->n; i++)
        for (int c = 0; c < s->cols; c++) {
            double *b = &s->B[i * s->cols + c];
            *b = 2 * unit(seed, i, 100 + c) - 1;
            if (s->side == 1) *b = i == c % s->n;
            if (s->side == 2) *b = c % 3 == 2 ? 0 : ldexp(unit(seed, i, 100), c);
            if (s->side == 3) *b = (c % 4 + 1) * unit(seed, i, 100) + (c % 5 - 2) * unit(seed, i, 101);
            if (s->side == 4) *b *= pow(10, 3 * (c % 7) - 9);
            if (s->side == 5) *b = i <= c;
            if (s->side == 6) *b = unit(seed, i, 100) + 1e-9 * c * *b;
        }
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    s->number = number;
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->n = 1 + (int)(unit(seed, 0, 200) * MOST);
    s->cols = 1 + (int)(unit(seed, 1, 200) * (number % 3 ? s->n + 5 : 12));
    if (s->cols > COLS) s->cols = COLS;
    s->kind = (int)(number % MATRICES);
    s->side = (int)(number / MATRICES % SIDES);
    draw_matrix(s, seed);
    draw_sides(s, seed);
}

/* This PE's rows of A and B. */
static void describe(
    const struct system *s, int rank, int npes, tulle_array *a, tulle_array *b, int64_t *ptr, int *col, double *val)
{
    describe_rows(s->A, s->n, s->n, 0, TULLE_F64, rank, npes, a, ptr, col, val);
    *b = TULLE_ARRAY_DENSE(s->n, s->cols, s->B + a->first * s->cols);
    b->first = a->first;
    b->count = a->count;
}

/* True if all columns of X solve the system to 4 times the tolerance; the first that does not, or -1. */
static int wrong_column(tulle_comm *comm, const struct system *s, const tulle_array *X, double tolerance)
{
    double all[MOST * COLS] = {0};
    for (tulle_gidx i = 0; i < X->count; i++)
        memcpy(all + (X->first + i) * s->cols, (double *)X->val + i * X->ld, (size_t)s->cols * sizeof(double));
    if (tulle_comm_reduce_real(comm, TULLE_SUM, s->n * s->cols, all) != TULLE_OK) return 0;
    for (int c = 0; c < s->cols; c++) {
        double off = 0, norm = 0;
        for (int i = 0; i < s->n; i++) {
            double r = s->B[i * s->cols + c];
            norm = hypot(norm, r);
            for (int j = 0; j < s->n; j++) r -= s->A[i * s->n + j] * all[j * s->cols + c];
            off = hypot(off, r);
        }
        if (!(off <= 4 * tolerance * norm)) return c;
    }
    return -1;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    static const double tolerance = 1e-8;
    tulle_status status = TULLE_OK;
    struct system *s = malloc(sizeof *s);
    int64_t *ptr = malloc((MOST + 1) * sizeof *ptr);
    int *col = malloc(MOST * MOST * sizeof *col);
    double *val = malloc(MOST * MOST * sizeof *val);
    tulle_array X = {.storage = TULLE_STORAGE_DENSE};
    tulle_krylov_report report[COLS];
    for (int64_t number = run->from; number < run->from + run->cases; number++) {
        tulle_array a, b;
        draw(s, run->seed, number);
        describe(s, tulle_comm_rank(comm), tulle_comm_size(comm), &a, &b, ptr, col, val);
        tulle_krylov_options krylov = {.tolerance = tolerance, .max_iterations = ITERATIONS};
        const tulle_solve_options options = {
            .krylov = &krylov, .precond = number % 5 == 4 ? TULLE_PRECOND_JACOBI : TULLE_PRECOND_NONE};
        status = tulle_solve(comm, &a, &b, &X, &options, NULL);
        if (status == TULLE_ERR_CONVERGENCE) continue; /* of CG */
        if (status != TULLE_OK) goto out;
        krylov.method = TULLE_KRYLOV_BLOCK_CG;
        if (number % 7 == 3) krylov.width = 1 + (int)(number % 11);
        status = tulle_solve(comm, &a, &b, &X, &options, report);
        const int wrong = status == TULLE_OK ? wrong_column(comm, s, &X, tolerance) : 0;
        if (status != TULLE_OK || wrong >= 0) {
            status = tulle__fail(TULLE_ERR_CHECK, "case %d: %s, %d rows, %s, %d columns: %s, column %d", (int)number,
                matrix_name[s->kind], s->n, side_name[s->side], s->cols,
                status == TULLE_OK ? "converged, but wrong" : tulle_error_message(), wrong + 1);
            goto out;
        }
        if (tulle_team_leads(run->team) == (tulle_comm_rank(comm) == 0)) run->solved++; /* once a process */
    }
    status = TULLE_OK;
out:
    tulle_array_free(&X);
    free(val);
    free(col);
    free(ptr);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    if (run_drawn(argc, argv, 1, body, "block CG converges where CG does", &run))
        ok(run.solved * 10 >= run.cases * 9, "CG converges: %d of %d", (int)run.solved, (int)run.cases);
    return tap_done();
}
