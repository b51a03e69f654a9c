/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenpairs nearest to a value, and those of H x = theta S x, by factors or LOBPCG, against dense Cholesky's factor
 * and Jacobi's rotations: drawn_pencil SPEC PES SEED CASES [FIRST]. Matrices are those of drawn.c; S is none, diagonal,
 * a chain or a graph; sigma lies inside the spectrum, near a value, outside, far outside, at 0, or is an eigenvalue.
 * SEED new: another one in each run.
 */
#include <float.h>
#include <stdlib.h>

#include "body.h"
#include "drawn.h"
#include "drawn_array.h"
#include "drawn_symmetric.h"
#include "tap.h"

struct pencil {
    struct system A, S;
    bool general, nearest, lobpcg, precond;
    double sigma, norm;
    double wanted[MOST]; /* values in order */
};

/* C = G^-1 H G^-T with S = G G^T, both n x n and row-major. */
static void reduce(int n, const double *H, const double *S, double *C)
{
    static _Thread_local double G[MOST * MOST];
    memset(G, 0, sizeof G);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double x = S[i * n + j];
            for (int k = 0; k < j; k++) x -= G[i * n + k] * G[j * n + k];
            G[i * n + j] = i == j ? sqrt(x) : x / G[j * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i * n + j] = H[i * n + j];
            for (int k = 0; k < i; k++) C[i * n + j] -= G[i * n + k] * C[k * n + j];
            C[i * n + j] /= G[i * n + i];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < j; k++) C[i * n + j] -= G[j * n + k] * C[i * n + k];
            C[i * n + j] /= G[j * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) C[i * n + j] = C[j * n + i] = (C[i * n + j] + C[j * n + i]) / 2;
}

static double row_sums(int n, const double *A)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += fabs(A[i * n + j]);
        most = fmax(most, sum);
    }
    return most;
}

static void draw_S(struct pencil *p, uint64_t seed)
{
    const int n = p->A.n, which = (int)(unit(seed, 10, 200) * 4);
    p->general = which > 0;
    p->S.n = n;
    p->S.type = p->A.type;
    memset(p->S.A, 0, sizeof p->S.A);
    for (int i = 0; i < n; i++) p->S.A[i * n + i] = p->general ? .3 + 3 * unit(seed, i, 201) : 1;
    for (int i = 0; i < n && which > 1; i++) {
        couple(&p->S, i, i + 1, .4 * unit(seed, i, 202));
        if (which == 3) couple(&p->S, i, (int)(unit(seed, i, 203) * n), .3);
    }
    for (int i = 0; i < n * n && p->A.type == TULLE_F32; i++) p->S.A[i] = (double)(float)p->S.A[i];
}

/* LOBPCG; its preconditioner, S's diagonal, is not A's, but no method may depend on that. */
static tulle_status by_lobpcg(
    const struct pencil *p, const tulle_mat *H, const tulle_mat *S, double *value, tulle_mat *X)
{
    const struct system *s = &p->A;
    const int guards = s->count + s->block;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    const tulle_spectrum_options options = {
        .end = s->end, .count = s->count, .block = s->basis ? guards < s->n ? guards : s->n : 0, .max_passes = 100000};
    tulle_status status = tulle_operator_of_mat(H, NULL, &op);
    if (status == TULLE_OK && p->precond && S) status = tulle_precond_new(S, TULLE_PRECOND_JACOBI, NULL, &M);
    if (status == TULLE_OK) status = tulle_lobpcg(&op, S, &M, &options, value, NULL, X, NULL);
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    return status;
}

/* A number by which values are in order: it has their digits, too, where sigma lies far beyond them. */
static double rank_of(const struct pencil *p, double value)
{
    const double *truth = p->A.truth, low = truth[0], high = truth[p->A.n - 1];
    if (p->nearest && p->sigma > high) return high - value;
    if (p->nearest && p->sigma < low) return value - low;
    if (p->nearest) return fabs(value - p->sigma);
    if (p->A.end == TULLE_SPECTRUM_MAGNITUDE) return -fabs(value);
    return p->A.end == TULLE_SPECTRUM_SMALLEST ? value : -value;
}

static void solve(struct pencil *p, uint64_t seed)
{
    static _Thread_local double C[MOST * MOST], V[MOST * MOST];
    const int n = p->A.n;
    double *truth = p->A.truth;
    reduce(n, p->A.A, p->S.A, C);
    (void)tulle__jacobi(n, C, NULL, V, truth);
    const double low = truth[0], high = truth[n - 1], where = unit(seed, 11, 200);
    const double far = pow(10, (p->A.type == TULLE_F32 ? 20 : 100) * unit(seed, 13, 200)) * (high - low);
    p->sigma = where < .2   ? 0
               : where < .4 ? truth[(int)(unit(seed, 12, 200) * n)]
               : where < .55
                   ? truth[(int)(unit(seed, 12, 200) * n)] - (high - low) * pow(10, -1 - 5 * unit(seed, 14, 200))
               : where < .7 ? low + (high - low) * unit(seed, 13, 200)
               : where < .8 ? high + (high - low)
               : where < .9 ? (unit(seed, 12, 200) < .5 ? high + far : low - far)
                            : low - .01 * (high - low);
    /* lobpcg's is that of its projections */
    p->norm = p->lobpcg ? fmax(fabs(low), fabs(high)) : row_sums(n, p->A.A) / row_sums(n, p->S.A);
    memcpy(p->wanted, truth, sizeof p->wanted);
    for (int i = 1; i < n; i++)
        for (int j = i; j && rank_of(p, p->wanted[j]) < rank_of(p, p->wanted[j - 1]); j--) {
            const double x = p->wanted[j];
            p->wanted[j] = p->wanted[j - 1];
            p->wanted[j - 1] = x;
        }
}

static void draw(struct pencil *p, uint64_t seed, int64_t number)
{
    struct system *s = &p->A;
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->number = number;
    s->n = 1 + (int)(unit(seed, 0, 200) * MOST);
    s->kind = (int)(number % KINDS);
    s->type = unit(seed, 1, 200) < .25 ? TULLE_F32 : TULLE_F64;
    s->end = (tulle_spectrum_end)(unit(seed, 2, 200) * TULLE_SPECTRUM_BOTH);
    s->count = 1 + (int)(unit(seed, 3, 200) * (number % 3 ? s->n < 6 ? s->n : 6 : s->n));
    s->block = 1 + (int)(unit(seed, 4, 200) * 5);
    s->basis = number % 2 ? 0 : s->count + 3 * s->block + 3 + (int)(unit(seed, 5, 200) * 8);
    draw_matrix(s, seed);
    draw_S(p, seed);
    p->lobpcg = unit(seed, 15, 200) < .35;
    p->precond = p->lobpcg && unit(seed, 16, 200) < .5;
    p->nearest = !p->lobpcg && (!p->general || unit(seed, 14, 200) < .6);
    if (p->lobpcg) s->end = unit(seed, 17, 200) < .6 ? TULLE_SPECTRUM_SMALLEST : TULLE_SPECTRUM_LARGEST;
    if (p->nearest) s->end = TULLE_SPECTRUM_MAGNITUDE;
    solve(p, seed);
}

static double dot_S(const struct pencil *p, const double *X, int c, int d)
{
    const int n = p->A.n, count = p->A.count;
    double dot = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) dot += X[i * count + c] * p->S.A[i * n + j] * X[j * count + d];
    return dot;
}

/* ||H x - value S x||, *size ||S x|| and *length ||x||. */
static double residual_of(const struct pencil *p, const double *X, int c, double value, double *size, double *length)
{
    const int n = p->A.n, count = p->A.count;
    double off = 0;
    *size = *length = 0;
    for (int i = 0; i < n; i++) {
        double Hx = 0, Sx = 0;
        for (int j = 0; j < n; j++) {
            Hx += p->A.A[i * n + j] * X[j * count + c];
            Sx += p->S.A[i * n + j] * X[j * count + c];
        }
        off = hypot(off, Hx - value * Sx);
        *size = hypot(*size, Sx);
        *length = hypot(*length, X[i * count + c]);
    }
    return off;
}

/* Values, residuals and orthogonality; an empty text if they are right. */
static void judge(const struct pencil *p, const double *value, const double *X, char *text, size_t size)
{
    const struct system *s = &p->A;
    const double eps = s->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON, tolerance = s->type == TULLE_F32 ? 1e-4 : 1e-8;
    *text = 0;
    for (int c = 0; c < s->count && !*text; c++) {
        const double right = p->wanted[c], most = tolerance * fabs(right) + 100 * eps * p->norm;
        const double apart = fabs(rank_of(p, value[c]) - rank_of(p, right));
        double size_of_S, length, off = residual_of(p, X, c, value[c], &size_of_S, &length);
        const double limit = fmax(most * size_of_S, 100 * eps * row_sums(s->n, s->A) * length);
        if (!(apart <= 4 * most))
            snprintf(text, size, "value %d is %.17g instead of %.17g", c + 1, value[c], right);
        else if (!(off <= 1.2 * limit))
            snprintf(text, size, "residual %d is %.3g, more than %.3g", c + 1, off, limit);
        for (int d = 0; d <= c && !*text; d++) {
            const double dot = fabs(dot_S(p, X, c, d) - (c == d));
            if (!(dot <= 300 * eps * sqrt(s->count)))
                snprintf(text, size, "vectors %d and %d are not S-orthonormal: %.3g", d + 1, c + 1, dot);
        }
    }
}

struct arrays {
    int64_t ptr[MOST + 1];
    int col[MOST * MOST];
    double val[MOST * MOST];
};

static tulle_status load(tulle_comm *comm, const struct system *s, tulle_mat **A)
{
    static _Thread_local struct arrays workspace;
    tulle_array a;
    tulle_mat *borrowed = NULL;
    describe_rows(s->A, s->n, s->n, 0, s->type, tulle_comm_rank(comm), tulle_comm_size(comm), &a, workspace.ptr,
        workspace.col, workspace.val);
    tulle_status status = tulle_mat_from_array(comm, &a, &borrowed);
    if (status == TULLE_OK) status = tulle_mat_add(1, borrowed, 0, borrowed, A);
    tulle_mat_free(borrowed);
    return status;
}

static tulle_status pairs_of(tulle_comm *comm, const struct pencil *p, double *value, double *X)
{
    const struct system *s = &p->A;
    tulle_mat *H = NULL, *S = NULL, *vectors = NULL;
    tulle_spectrum *plan = NULL;
    tulle_layout *layout = NULL;
    const tulle_layout_spec spec = {.m = s->n, .n = s->count, .tile_rows = tulle_comm_size(comm), .tile_cols = 1};
    const tulle_spectrum_options options = {.end = s->end,
        .count = s->count,
        .block = s->block < s->n ? s->block : s->n,
        .basis = s->basis,
        .max_passes = 100000,
        .nearest = p->nearest,
        .sigma = p->nearest ? p->sigma : 0};
    tulle_status status = load(comm, s, &H);
    if (status == TULLE_OK && p->general) status = load(comm, &p->S, &S);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, s->type, TULLE_COL_MAJOR, &vectors);
    if (status == TULLE_OK && p->lobpcg) status = by_lobpcg(p, H, S, value, vectors);
    if (status == TULLE_OK && !p->lobpcg) status = tulle_spectrum_of_mat(H, S, &options, &plan);
    if (status == TULLE_OK && !p->lobpcg) status = tulle_spectrum_execute(plan, value, NULL, vectors, NULL);
    if (status == TULLE_OK) status = collect_rows(comm, vectors, s->n, s->count, X);
    tulle_spectrum_free(plan);
    tulle_mat_free(vectors);
    tulle_layout_free(layout);
    tulle_mat_free(S);
    tulle_mat_free(H);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status = TULLE_OK;
    struct pencil *p = malloc(sizeof *p);
    double *X = malloc(MOST * MOST * sizeof *X), value[MOST];
    for (int64_t number = run->from; number < run->from + run->cases && status == TULLE_OK; number++) {
        char text[300];
        draw(p, run->seed, number);
        status = pairs_of(comm, p, value, X);
        if (status == TULLE_OK)
            judge(p, value, X, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", tulle_error_message());
        if (*text)
            status = tulle__fail(TULLE_ERR_CHECK,
                "case %d: %s, %d rows, %s, %d of %s, sigma %.17g, block %d, basis %d%s%s: %s", (int)number,
                kind_name[p->A.kind], p->A.n, tulle_type_name(p->A.type), p->A.count,
                p->nearest ? "those nearest" : tulle_spectrum_end_name(p->A.end), p->sigma, p->A.block, p->A.basis,
                p->general ? ", with S" : "", p->lobpcg ? ", lobpcg" : "", text);
    }
    free(X);
    free(p);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    if (!tulle_direct_usable(NULL)) {
        skip("direct factors: %s", tulle_error_message());
        return tap_done();
    }
    run_drawn(argc, argv, 1, body, "eigenpairs are those of Jacobi's rotations", &run);
    return tap_done();
}
