/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenpairs of drawn symmetric matrices against Jacobi's rotations: drawn SPEC PES SEED CASES [FIRST]. Drawn are kinds
 * that single out a Krylov method's mistakes (multiple eigenvalues beyond the width of a block, decoupled parts, zero
 * and equal rows, clusters, both signs, huge and tiny values), counts to n, blocks of 1 to 5, small and whole bases.
 * SEED new: another one in each run.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "algo/matfun/dense/jacobi.h"
#include "base/random.h"
#include "body.h"
#include "drawn.h"
#include "drawn_array.h"
#include "drawn_symmetric.h"
#include "tap.h"

/* truth[order[i]]: the values in the order that is asked for. */
static void solve(struct system *s)
{
    static _Thread_local double copy[MOST * MOST], V[MOST * MOST];
    memcpy(copy, s->A, sizeof copy);
    (void)tulle__jacobi(s->n, copy, NULL, V, s->truth);
    int low = 0, high = s->n - 1;
    for (int i = 0; i < s->n; i++) {
        const double a = s->truth[low], b = s->truth[high];
        const bool top = s->end == TULLE_SPECTRUM_LARGEST || (s->end == TULLE_SPECTRUM_BOTH && i % 2 == 0) ||
                         (s->end == TULLE_SPECTRUM_MAGNITUDE && fabs(b) >= fabs(a));
        s->order[i] = top ? high-- : low++;
    }
}

/* Few, any number, or nearly all: there the basis fills the space, and what is left of a direction is rounding. */
static int draw_count(int n, double kind, double x)
{
    if (kind < .25 && n > 5) return n - (int)(x * 5);
    return 1 + (int)(x * (kind < .5 || n < 6 ? n : 6));
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->number = number;
    s->n = 1 + (int)(unit(seed, 0, 200) * MOST);
    s->kind = (int)(number % KINDS);
    s->type = unit(seed, 1, 200) < .4 ? TULLE_F32 : TULLE_F64;
    s->end = (tulle_spectrum_end)(unit(seed, 2, 200) * TULLE_SPECTRUM_END_COUNT);
    s->count = draw_count(s->n, unit(seed, 6, 200), unit(seed, 3, 200));
    s->block = 1 + (int)(unit(seed, 4, 200) * 5);
    s->basis = unit(seed, 7, 200) < .5 ? 0 : s->count + 3 * s->block + 3 + (int)(unit(seed, 5, 200) * 8);
    draw_matrix(s, seed);
    solve(s);
}

/* Values, residuals and orthogonality; an empty text if they are right. */
static void judge(const struct system *s, const double *value, const double *X, char *text, size_t size)
{
    const double eps = s->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON, tolerance = s->type == TULLE_F32 ? 1e-4 : 1e-8;
    const double norm = fmax(fabs(s->truth[0]), fabs(s->truth[s->n - 1])), count = s->count;
    *text = 0;
    for (int c = 0; c < s->count; c++) {
        const double right = s->truth[s->order[c]], most = 2 * tolerance * fabs(right) + 110 * eps * norm;
        double off = 0, worst = 0,
               apart = s->end == TULLE_SPECTRUM_MAGNITUDE ? fabs(value[c]) - fabs(right) : value[c] - right;
        if (!(fabs(apart) <= most)) snprintf(text, size, "value %d is %.17g instead of %.17g", c + 1, value[c], right);
        for (int i = 0; i < s->n; i++) {
            double r = -value[c] * X[i * s->count + c];
            for (int j = 0; j < s->n; j++) r += s->A[i * s->n + j] * X[j * s->count + c];
            off = hypot(off, r);
        }
        if (!*text && !(off <= most)) snprintf(text, size, "residual %d is %.3g, more than %.3g", c + 1, off, most);
        for (int d = 0; d <= c; d++) {
            double dot = 0;
            for (int i = 0; i < s->n; i++) dot += X[i * s->count + c] * X[i * s->count + d];
            worst = fmax(worst, fabs(dot - (c == d)));
        }
        if (!*text && !(worst <= 30 * eps * sqrt(count)))
            snprintf(text, size, "vector %d is not orthonormal: %.3g", c + 1, worst);
    }
}

static tulle_status pairs_of(tulle_comm *comm, const struct system *s, const tulle_array *a, double *value, double *X,
    tulle_spectrum_report *report)
{
    tulle_mat *A = NULL, *vectors = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_spectrum *plan = NULL;
    tulle_layout *layout = NULL;
    const tulle_layout_spec spec = {.m = s->n, .n = s->count, .tile_rows = tulle_comm_size(comm), .tile_cols = 1};
    const tulle_spectrum_options options = {.end = s->end,
        .count = s->count,
        .block = s->block < s->n ? s->block : s->n,
        .basis = s->basis,
        .max_passes = 100000};
    tulle_status status = tulle_mat_from_array(comm, a, &A);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, s->type, TULLE_COL_MAJOR, &vectors);
    if (status == TULLE_OK) status = tulle_spectrum_new(&op, &options, &plan);
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, value, NULL, vectors, report);
    if (status == TULLE_OK) status = collect_rows(comm, vectors, s->n, s->count, X);
    tulle_spectrum_free(plan);
    tulle_mat_free(vectors);
    tulle_layout_free(layout);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status = TULLE_OK;
    struct system *s = malloc(sizeof *s);
    int64_t ptr[MOST + 1];
    int *col = malloc(MOST * MOST * sizeof *col);
    double *val = malloc(MOST * MOST * sizeof *val), *X = malloc(MOST * MOST * sizeof *X), value[MOST];
    for (int64_t number = run->from; number < run->from + run->cases && status == TULLE_OK; number++) {
        tulle_array a;
        tulle_spectrum_report report;
        char text[200];
        draw(s, run->seed, number);
        describe_rows(s->A, s->n, s->n, 0, s->type, tulle_comm_rank(comm), tulle_comm_size(comm), &a, ptr, col, val);
        status = pairs_of(comm, s, &a, value, X, &report);
        if (status == TULLE_OK)
            judge(s, value, X, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", tulle_error_message());
        if (*text)
            status = tulle__fail(TULLE_ERR_CHECK,
                "case %d: %s, %d rows, %s, %d of %s, block %d, basis %d: %s (%d passes, %d restarts, orth %g)",
                (int)number, kind_name[s->kind], s->n, tulle_type_name(s->type), s->count,
                tulle_spectrum_end_name(s->end), s->block, s->basis, text, (int)report.passes, (int)report.restarts,
                report.orthogonality);
    }
    free(X);
    free(val);
    free(col);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    run_drawn(argc, argv, 1, body, "eigenpairs are those of Jacobi's rotations", &run);
    return tap_done();
}
