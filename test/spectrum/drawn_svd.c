/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Singular values of drawn matrices, in memory and in a file, against Jacobi's rotations of S^T S: drawn_svd SPEC PES
 * SEED CASES [FIRST]. S is the matrix, or its columns without means, divided by deviations or not. Kinds: sparse, tall,
 * wide, low rank, equal rows, empty rows and columns, ratings with large means, dense, one row over and
 * over, some of them far from 1. SEED new: another one in each run.
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

enum { MOST = 40, KINDS = 9 };
static const char *const kind_name[KINDS] = {
    "sparse", "tall", "wide", "low rank", "equal rows", "empty rows and columns", "large means", "dense", "one row"};

struct system {
    int64_t number;
    int m, n, kind, count, block, from_file;
    bool centre, scale, scores;
    tulle_type type;
    int exponent; /* the matrix is 2^exponent A */
    double A[MOST * MOST], S[MOST * MOST], truth[MOST];
};

static double unit(uint64_t seed, int64_t i, int64_t j)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, (uint64_t)j));
}

static double element(const struct system *s, uint64_t seed, int i, int j)
{
    const double x = 2 * unit(seed, i, j + 1000) - 1, y = unit(seed, i + 500, j);
    double sum = 0;
    switch (s->kind) {
    case 3:
        for (int k = 0; k < 3; k++) sum += (k + 1) * unit(seed, k, i + 2000) * (2 * unit(seed, k, j + 4000) - 1);
        return sum;
    case 4:
        return unit(seed, i % 3, j) < .5 ? 1 + j % 4 : 0;
    case 5:
        return i % 3 == 0 || j % 4 == 1 ? 0 : y < .4 ? x : 0;
    case 6: { /* beside which deviations are small, with digits left */
        const double digits = !s->centre ? 0 : s->type == TULLE_F32 ? 2.7 : 5;
        return pow(10, 2 + digits * unit(seed, 10, 9000)) * (1 + .1 * (j % 3)) + x;
    }
    case 7:
        return x;
    case 8: /* many times: nothing is left of it without means */
        return 10 * (2 * unit(seed, 0, j + 1000) - 1);
    default:
        return y < .25 ? x : 0;
    }
}

/* The standard deviation of column j of A, 0 where it is rounding, and *mean. */
static double deviation_of(const struct system *s, int j, double *mean)
{
    const int m = s->m, n = s->n;
    double square = 0;
    *mean = 0;
    for (int i = 0; i < m; i++) *mean += s->A[i * n + j] / m;
    for (int i = 0; i < m; i++) square += (s->A[i * n + j] - *mean) * (s->A[i * n + j] - *mean);
    return m > 1 && square > 1e-20 * *mean * *mean ? sqrt(square / (m - 1)) : 0;
}

/* S of A, and the eigenvalues of S^T S. */
static void solve(struct system *s)
{
    static _Thread_local double G[MOST * MOST], V[MOST * MOST], lambda[MOST];
    const int m = s->m, n = s->n;
    memcpy(s->S, s->A, sizeof s->S);
    for (int j = 0; j < n && (s->centre || s->scale); j++) {
        double mean;
        const double deviation = deviation_of(s, j, &mean);
        for (int i = 0; i < m; i++) {
            if (s->centre) s->S[i * n + j] -= mean;
            if (s->scale && deviation > 0) s->S[i * n + j] /= deviation;
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            G[i * n + j] = 0;
            for (int r = 0; r < m; r++) G[i * n + j] += s->S[r * n + i] * s->S[r * n + j];
        }
    (void)tulle__jacobi(n, G, NULL, V, lambda);
    for (int i = 0; i < n; i++) s->truth[i] = sqrt(fmax(lambda[n - 1 - i], 0));
}

/* True if the square of value c may drown in the rounding of the largest one's, without being zero to it. */
static bool drowns(const struct system *s, int c)
{
    const double part = s->truth[c] / s->truth[0];
    return s->type == TULLE_F64 && part > 1e-6 && part < 1e-4;
}

/*
 * True if rounding of products with the means may be as large as S, or make its last value by way of the squares: a
 * plan may refuse these then, as columns of two rows that differ by their last digit. Three times what makes it refuse.
 */
static bool means_may_drown(const struct system *s)
{
    const double eps = s->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON, norm = s->truth[0],
                 last = s->truth[s->count - 1];
    double mean, noise = 0;
    if (!s->centre) return false;
    for (int j = 0; j < s->n; j++) {
        const double deviation = deviation_of(s, j, &mean);
        noise = hypot(noise, s->scale && deviation > 0 ? mean / deviation : mean);
    }
    noise *= eps * sqrt(s->m);
    return norm <= 6 * noise || last * last < noise * norm / 3;
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->number = number;
    s->kind = (int)(number % KINDS);
    s->m = 1 + (int)(unit(seed, 0, 9000) * MOST);
    s->n = 1 + (int)(unit(seed, 1, 9000) * MOST);
    if ((s->kind == 1 && s->m < s->n) || (s->kind == 2 && s->m > s->n)) {
        const int m = s->m;
        s->m = s->n, s->n = m;
    }
    const int least = s->m < s->n ? s->m : s->n, far = number % 5 == 3 ? 1 : number % 5 == 4 ? -1 : 0;
    s->centre = unit(seed, 3, 9000) < (s->kind == 6 ? .7 : .4);
    s->type = unit(seed, 2, 9000) < (s->kind != 6 ? .25 : s->centre ? .6 : 0) ? TULLE_F32 : TULLE_F64;
    s->scale = s->centre && unit(seed, 4, 9000) < .4;
    s->scores = unit(seed, 5, 9000) < .2;
    s->exponent = s->centre ? 0 : far * (s->type == TULLE_F32 ? 50 : 530);
    s->from_file = number % 3 == 1;
    s->count = 1 + (int)(unit(seed, 6, 9000) * (least < 5 ? least : 5));
    s->block = 1 + (int)(unit(seed, 7, 9000) * 5);
    if (s->block > s->n) s->block = s->n;
    if (s->block > least) s->block = least; /* a wide one's vectors are those of the rows */
    memset(s->A, 0, sizeof s->A);
    for (int i = 0; i < s->m; i++)
        for (int j = 0; j < s->n; j++) {
            const double x = element(s, seed, i, j);
            s->A[i * s->n + j] = s->type == TULLE_F32 ? (double)(float)x : x;
        }
    solve(s);
    while (s->count > 1 && drowns(s, s->count - 1)) s->count--;
}

static double orthogonality(const double *X, int rows, int count)
{
    double worst = 0;
    for (int c = 0; c < count; c++)
        for (int d = 0; d <= c; d++) {
            double dot = 0;
            for (int i = 0; i < rows; i++) dot += X[i * count + c] * X[i * count + d];
            worst = fmax(worst, fabs(dot - (c == d)));
        }
    return worst;
}

/* Values, both residuals and orthogonality; an empty text if they are right. */
static void judge(
    const struct system *s, const double *sigma, const double *U, const double *V, char *text, size_t size)
{
    const double eps = s->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON, tolerance = s->type == TULLE_F32 ? 1e-4 : 1e-8;
    const double norm = s->truth[0], noise = sqrt(eps) * norm;
    const int m = s->m, n = s->n, count = s->count;
    double scale = 0; /* of what means were subtracted from */
    for (int j = 0; j < n && s->centre; j++) {
        double mean, deviation = deviation_of(s, j, &mean);
        for (int i = 0; i < m; i++)
            scale = fmax(scale, fabs(s->A[i * n + j]) / (s->scale && deviation > 0 ? deviation : 1));
    }
    *text = 0;
    for (int c = 0; c < count && !*text; c++) {
        const double of_means = 20 * eps * scale * sqrt((double)m * n), by = s->scores ? 1 : sigma[c];
        const double most = 2 * tolerance * sigma[c] + 1000 * eps * norm + of_means;
        double off = 0, back = 0;
        const double rough = s->truth[c] > 30 * noise ? noise * noise / s->truth[c] : 60 * noise; /* of the truth */
        if (!(fabs(sigma[c] - s->truth[c]) <= most + rough))
            snprintf(text, size, "value %d is %.17g instead of %.17g", c + 1, sigma[c], s->truth[c]);
        for (int i = 0; i < m; i++) {
            double r = -by * U[i * count + c];
            for (int j = 0; j < n; j++) r += s->S[i * n + j] * V[j * count + c];
            off = hypot(off, r);
        }
        for (int j = 0; j < n; j++) {
            double r = -sigma[c] * V[j * count + c] * (s->scores ? sigma[c] : 1);
            for (int i = 0; i < m; i++) r += s->S[i * n + j] * U[i * count + c];
            back = hypot(back, r);
        }
        if (s->scores && sigma[c] > 0) back /= fmax(sigma[c], 1e3 * eps * norm);
        if (!*text && !(off <= most + (sigma[c] < 1e3 * eps * norm ? noise : 0)))
            snprintf(text, size, "S v - sigma u of %d is %.3g, more than %.3g", c + 1, off, most);
        if (!*text && !(back <= most))
            snprintf(text, size, "S^T u - sigma v of %d is %.3g, more than %.3g", c + 1, back, most);
    }
    const double right = orthogonality(V, n, count), left = s->scores ? 0 : orthogonality(U, m, count);
    if (!*text && !(fmax(left, right) <= 40 * eps * sqrt(count)))
        snprintf(text, size, "vectors are not orthonormal: U %.3g, V %.3g", left, right);
}

static tulle_status side(tulle_comm *comm, const struct system *s, int rows, tulle_order order, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    const tulle_layout_spec spec = {.m = rows, .n = s->count, .tile_rows = tulle_comm_size(comm), .tile_cols = 1};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, s->type, order, X);
    tulle_layout_free(layout);
    return status;
}

static tulle_status triplets_of(tulle_comm *comm, const struct run *run, const struct system *s, const tulle_array *a,
    double *sigma, double *U, double *V, tulle_svd_report *report)
{
    tulle_mat *A = NULL, *left = NULL, *right = NULL;
    tulle_rows *rows = NULL;
    tulle_svd *plan = NULL;
    const tulle_svd_options options = {.count = s->count,
        .block = s->block,
        .max_passes = 100000,
        .centre = s->centre,
        .scale = s->scale,
        .scores = s->scores};
    tulle_status status = tulle_mat_from_array(comm, a, &A);
    if (status == TULLE_OK && s->number % 5 < 2) /* some are copied */
        status = deal_tiles(&A, 1 + (int)(s->number % 4), 1 + (int)(s->number % 2));
    if (status == TULLE_OK && s->from_file) status = tulle_mat_save(A, run->path);
    if (status == TULLE_OK && s->from_file) status = tulle_rows_open(comm, run->path, &rows);
    if (status == TULLE_OK)
        status = rows ? tulle_svd_of_rows(rows, &options, &plan) : tulle_svd_new(A, &options, &plan);
    if (status == TULLE_OK) status = side(comm, s, s->m, TULLE_COL_MAJOR, &left);
    if (status == TULLE_OK) status = side(comm, s, s->n, TULLE_ROW_MAJOR, &right);
    if (status == TULLE_OK) status = tulle_svd_execute(plan, sigma, NULL, left, right, report);
    if (status == TULLE_OK) status = collect_rows(comm, left, s->m, s->count, U);
    if (status == TULLE_OK) status = collect_rows(comm, right, s->n, s->count, V);
    tulle_svd_free(plan);
    tulle_rows_free(rows);
    tulle_mat_free(right);
    tulle_mat_free(left);
    tulle_mat_free(A);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg, shared = *run; /* PE 0's folder */
    tulle_status status = tulle_comm_broadcast(comm, 0, shared.path, sizeof shared.path);
    run = &shared;
    struct system *s = malloc(sizeof *s);
    int64_t ptr[MOST + 1];
    int *col = malloc(MOST * MOST * sizeof *col);
    double *val = malloc(MOST * MOST * sizeof *val), *U = malloc(MOST * MOST * sizeof *U),
           *V = malloc(MOST * MOST * sizeof *V), sigma[MOST];
    for (int64_t number = run->from; number < run->from + run->cases && status == TULLE_OK; number++) {
        tulle_array a;
        tulle_svd_report report = {.passes = 0};
        char text[200];
        draw(s, run->seed, number);
        describe_rows(
            s->A, s->m, s->n, s->exponent, s->type, tulle_comm_rank(comm), tulle_comm_size(comm), &a, ptr, col, val);
        status = triplets_of(comm, run, s, &a, sigma, U, V, &report);
        for (int c = 0; c < s->count && status == TULLE_OK; c++) sigma[c] = ldexp(sigma[c], -s->exponent);
        for (int i = 0; i < s->m * s->count && s->scores; i++) U[i] = ldexp(U[i], -s->exponent);
        const bool refused = status == TULLE_ERR_CONVERGENCE && strstr(tulle_error_message(), "drowns the others");
        if (status == TULLE_OK)
            judge(s, sigma, U, V, text, sizeof text);
        else if (refused && means_may_drown(s)) {
            *text = 0;
            status = TULLE_OK;
        } else
            snprintf(text, sizeof text, "%s", tulle_error_message());
        if (*text)
            status =
                tulle__fail(TULLE_ERR_CHECK, "case %d: %s, %d x %d, %s, %d values, block %d%s%s%s%s: %s (%d passes)",
                    (int)number, kind_name[s->kind], s->m, s->n, tulle_type_name(s->type), s->count, s->block,
                    s->from_file ? ", from a file" : "", s->centre ? ", centred" : "", s->scale ? ", scaled" : "",
                    s->scores ? ", scores" : "", text, (int)report.passes);
    }
    free(V);
    free(U);
    free(val);
    free(col);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    run_drawn(argc, argv, 2, body, "triplets are those of Jacobi's rotations", &run);
    return tap_done();
}
