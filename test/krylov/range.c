/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves at the ends of the range of numbers: range SPEC PES STRIDE. A = 2^a T and b = 2^b s, for a and b from the
 * least to the largest exponents of both types, by every method, one column and three, from 0 and from guesses near and
 * far. Wanted is that a solve which says it has converged has: by the residual of X as it is returned, in long double;
 * that where A, b and x are far from the ends it does; and that no X overflows or vanishes under another name than an
 * error. STRIDE: each which case.
 */
#include "base/error.h"
#include "systems.h"
#include "tap.h"

enum { N = 6, COLS = 3, METHODS = TULLE_KRYLOV_METHOD_COUNT + TULLE_LEAST_SQUARES_METHOD_COUNT, GUESSES = 3 };

static const int far64[] = {-1070, -1000, -670, -500, -330, 0, 330, 500, 670, 1000},
                 far32[] = {-146, -126, -100, -60, 0, 60, 100, 122};

struct system {
    tulle_type type;
    int a, b, method, cols, guess;
};

static double of_A(const struct system *s, int64_t i, int64_t j)
{
    return rounded(s->type, ldexp(i == j ? 4 : i - j == 1 || j - i == 1 ? -1 : 0, s->a));
}

static double of_B(const void *arg, int64_t i, int64_t c)
{
    const struct system *s = arg;
    return rounded(s->type, ldexp(side(i, c) + 2, s->b));
}

static double of_guess(const void *arg, int64_t i, int64_t c)
{
    const struct system *s = arg;
    (void)i, (void)c;
    return s->guess < 2 ? 1 : ldexp(1, s->type == TULLE_F32 ? 70 : 670);
}

/* ||b - A x|| / ||b|| of a column, in numbers that neither overflow nor underflow. */
static double residual_of(const struct system *s, const double *x, int c)
{
    long double off = 0, norm = 0;
    for (int i = 0; i < N; i++) {
        long double r = of_B(s, i, c);
        norm += r * r;
        for (int j = 0; j < N; j++) r -= (long double)of_A(s, i, j) * (long double)x[j * s->cols + c];
        off += r * r;
    }
    return (double)sqrtl(off / norm);
}

static double tolerance_of(tulle_type type)
{
    return type == TULLE_F32 ? 1e-4 : 1e-8;
}

static tulle_status make(tulle_comm *comm, const struct system *s, tulle_mat **A, tulle_mat **B, tulle_mat **X)
{
    tulle_status status;
    tulle_layout *layout = NULL, *sides = NULL;
    int64_t row[3 * N], col[3 * N], count = 0;
    double val[3 * N];
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            if (j < i - 1 || j > i + 1 || i % tulle_comm_size(comm) != tulle_comm_rank(comm)) continue;
            row[count] = i;
            col[count] = j;
            put(val, s->type, count++, of_A(s, i, j));
        }
    TULLE_TRY(make_layout(comm, N, N, 0, 1, &layout));
    TULLE_TRY(make_layout(comm, N, s->cols, 0, 1, &sides));
    TULLE_TRY(tulle_mat_from_entries(comm, layout, s->type, count, row, col, val, TULLE_DUPLICATES_ERROR, A));
    TULLE_TRY(tulle_mat_new_dense(comm, sides, s->type, TULLE_ROW_MAJOR, B));
    TULLE_TRY(tulle_mat_new_dense(comm, sides, s->type, TULLE_ROW_MAJOR, X));
    TULLE_TRY(fill(*B, of_B, s));
    TULLE_TRY(fill(*X, of_guess, s));
out:
    tulle_layout_free(layout);
    tulle_layout_free(sides);
    return status;
}

/* Solves; stop of each column. */
static tulle_status solve(
    const struct system *s, const tulle_mat *A, const tulle_mat *B, tulle_mat *X, tulle_stop *stop)
{
    tulle_krylov_report report[COLS];
    tulle_least_squares_report fit[COLS];
    tulle_status status;
    tulle_operator op = {.comm = NULL};
    if (s->method >= TULLE_KRYLOV_METHOD_COUNT) {
        const tulle_least_squares_options options = {
            .method = (tulle_least_squares_method)(s->method - TULLE_KRYLOV_METHOD_COUNT),
            .tolerance = tolerance_of(s->type),
            .guess = s->guess > 0};
        status = tulle_least_squares(A, B, X, &options, fit);
    } else {
        const tulle_krylov_options options = {.method = (tulle_krylov_method)s->method,
            .tolerance = tolerance_of(s->type),
            .max_iterations = 200,
            .guess = s->guess > 0};
        TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
        status = tulle_krylov_solve(&op, NULL, B, X, &options, report);
        tulle_operator_free(&op);
    }
    const bool krylov = s->method < TULLE_KRYLOV_METHOD_COUNT;
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) goto out;
    for (int c = 0; c < s->cols; c++) stop[c] = krylov ? report[c].stop : fit[c].stop;
    bool all = true;
    for (int c = 0; c < s->cols; c++)
        all &= stop[c] == TULLE_STOP_CONVERGED || (!krylov && stop[c] == TULLE_STOP_LEAST_SQUARES);
    if (all != (status == TULLE_OK)) return tulle__fail(TULLE_ERR_CHECK, "the status is not that of the columns");
    status = TULLE_OK;
out:
    return status;
}

/* T and its inverse change sizes by less than 2^6; squares of A, b and x are numbers, and their products. */
static bool is_plain(const struct system *s)
{
    const int most = s->type == TULLE_F32 ? 40 : 240;
    return !s->guess && abs(s->a) <= most && abs(s->b) <= most && abs(s->b - s->a) <= most;
}

static tulle_status judge(const struct system *s, const double *x, const tulle_stop *stop)
{
    for (int c = 0; c < s->cols; c++) {
        const double residual = residual_of(s, x, c);
        const bool solved = residual <= 1.5 * tolerance_of(s->type),
                   claims = stop[c] == TULLE_STOP_CONVERGED ||
                            (s->method >= TULLE_KRYLOV_METHOD_COUNT && stop[c] == TULLE_STOP_LEAST_SQUARES);
        if (claims ? !solved : is_plain(s))
            return tulle__fail(TULLE_ERR_CHECK,
                "%s, method %d, A of 2^%d, b of 2^%d, guess %d, column %d of %d: %s, and the residual is %.3g of ||b||",
                tulle_type_name(s->type), s->method, s->a, s->b, s->guess, c, s->cols, tulle_stop_name(stop[c]),
                residual);
    }
    return TULLE_OK;
}

static tulle_status try_one(tulle_comm *comm, const struct system *s)
{
    tulle_status status;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    double x[N * COLS];
    tulle_stop stop[COLS];
    TULLE_TRY(make(comm, s, &A, &B, &X));
    TULLE_TRY(solve(s, A, B, X, stop));
    TULLE_TRY(collect(X, x));
    TULLE_TRY(judge(s, x, stop));
out:
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    return status;
}

struct run {
    tulle_type type;
    int method, stride;
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    const bool f32 = run->type == TULLE_F32;
    const int *far = f32 ? far32 : far64, count = f32 ? sizeof far32 / sizeof *far32 : sizeof far64 / sizeof *far64;
    tulle_status status = TULLE_OK;
    for (int n = 0; n < count * count * 2 * GUESSES && status == TULLE_OK; n += run->stride) {
        const struct system s = {.type = run->type,
            .a = far[n / (2 * GUESSES) % count],
            .b = far[n / (2 * GUESSES) / count],
            .method = run->method,
            .cols = n % 2 ? COLS : 1,
            .guess = n / 2 % GUESSES};
        status = try_one(comm, &s);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: %s SPEC PES STRIDE\n", argv[0]), 2;
    tulle_team *team;
    const tulle_team_options options = {.threads = 1};
    if (!ok(tulle_team_new(argv[1], atoi(argv[2]), &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (int n = 0; n < 2 * METHODS; n++) {
        struct run run = {.type = n % 2 ? TULLE_F32 : TULLE_F64, .method = n / 2, .stride = atoi(argv[3])};
        const tulle_status status = tulle_team_run(team, body, &run);
        ok(status == TULLE_OK, "method %d, %s: %s", run.method, tulle_type_name(run.type),
            status == TULLE_OK ? "what converges has" : tulle_error_message());
    }
    tulle_team_free(team);
    return tap_done();
}
