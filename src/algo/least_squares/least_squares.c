/* SPDX-License-Identifier: Apache-2.0 */
/* A solve of least squares around its iterations: arguments, batches of columns, scaling, reports. */
#include "algo/least_squares/least_squares.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/least_squares/bidiagonal.h"
#include "algo/spectrum/spectrum_plan.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "mat/overlap.h"
#include "tile/element.h"

enum { VECTORS = 8 }; /* of a column: x, that of the last start, v, y, d, two of the method; variances, if wanted */

static size_t vectors_of(const tulle_least_squares_options *o)
{
    return o->variance ? VECTORS : VECTORS - 1;
}

void tulle__least_squares_defaults(tulle_least_squares_options *o, tulle_type type)
{
    o->tolerance = tulle__krylov_tolerance(o->tolerance, type);
    o->gradient = tulle__krylov_tolerance(o->gradient, type);
    o->max_iterations = o->max_iterations == 0 ? 10000 : o->max_iterations == TULLE_NONE ? 0 : o->max_iterations;
}

size_t tulle_least_squares_memory(
    const tulle_least_squares_options *options, tulle_gidx m, tulle_gidx n, tulle_type type, int columns, int pes)
{
    enum { FIXED = 1 << 20, SLICES = 16, PIECES = 64 << 20, PARTS = 96 };
    tulle_least_squares_options own;
    if (TULLE__OPTIONS(options, &own, variance) || TULLE__NEGATIVE(m) || TULLE__NEGATIVE(n) ||
        TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NEGATIVE(columns) || pes < 1)
        return 0;
    const size_t size = tulle_type_size(type), w = (size_t)(columns > 1 ? columns : 1), lines = (size_t)(n + 1) * w,
                 parts = (size_t)(n / pes + 1);
    /* sums of slices, whole X and Y in double precision; own rows of vectors and lines; U */
    return lines * (sizeof(double) + (SLICES + 3) * size) + parts * w * (vectors_of(&own) + 2) * size +
           (size_t)(m / pes + 1) * w * size + w * PARTS * sizeof(double) * (size_t)(pes + 16) + PIECES + FIXED;
}

/* ---- a group of columns ---- */

static void fini(tulle__fit *f)
{
    for (int j = 0; f->column && j < f->columns; j++) tulle__free(f->column[j].vectors);
    tulle__free(f->column);
    tulle__free(f->U);
    tulle__free(f->in);
    tulle__free(f->out);
    tulle__space_fini(&f->of_rows);
    tulle__space_fini(&f->of_columns);
}

static void arrange(tulle__fit_column *c, size_t vectors, size_t bytes)
{
    void **const place[VECTORS] = {&c->k.x, &c->saved, &c->v, &c->y, &c->d, &c->w, &c->bar, &c->variance};
    for (size_t i = 0; i < vectors; i++) *place[i] = c->vectors + i * bytes;
    c->h = c->w;
}

static tulle_krylov_options krylov_options(const tulle_least_squares_options *o)
{
    return (tulle_krylov_options){.tolerance = o->tolerance,
        .absolute = o->absolute,
        .max_iterations = o->max_iterations,
        .watch = o->watch,
        .arg = o->arg,
        .history = o->history,
        .history_capacity = o->history_capacity};
}

/* Collective, agreed. */
static tulle_status init(tulle__fit *f, tulle_gidx first)
{
    const tulle_type type = f->rows->type;
    const size_t size = tulle_type_size(type), w = (size_t)f->columns;
    const int dots = 3 * f->columns;
    tulle_status status;
    TULLE_TRY(tulle__space_init(f->comm, f->rows->layout, type, dots, dots, &f->of_rows));
    TULLE_TRY(tulle__space_init(f->comm, f->gram->layout, type, dots, dots, &f->of_columns));
    const size_t m = (size_t)f->of_rows.rows, n = (size_t)f->of_columns.rows;
    TULLE_TRY(tulle__alloc_zero(w, sizeof *f->column, "columns of least squares", &f->column));
    TULLE_TRY(tulle__alloc_zero(m * w, size, "residuals of least squares", &f->U));
    TULLE_TRY(tulle__alloc(n * w, size, "directions", &f->in));
    TULLE_TRY(tulle__alloc(n * w, size, "gradients", &f->out));
    for (int j = 0; j < f->columns; j++) {
        tulle__fit_column *c = &f->column[j];
        TULLE_TRY(tulle__alloc_zero(vectors_of(f->options), n * size, "vectors of least squares", &c->vectors));
        arrange(c, vectors_of(f->options), n * size);
        c->k.comm = f->comm;
        c->k.options = krylov_options(f->options);
        c->k.space.type = type;
        c->k.space.rows = f->of_columns.rows;
        c->k.column = first + j;
        c->k.width = f->columns;
        c->k.stop = c->ends = TULLE_STOP_COUNT;
        c->k.start = j ? f->column[0].k.start : tulle__now(f->comm); /* seconds are those of all */
    }
out:
    return tulle_comm_agree(f->comm, status);
}

/* Columns of B, times their factors, to U. */
static void read_b(tulle__fit *f, const double *factor)
{
    tulle_gidx from[TULLE__TALL_MOST];
    for (int j = 0; j < f->columns; j++) from[j] = f->column[j].k.column;
    if (f->of_rows.rows) tulle__columns_read_some(f->B, f->columns, from, factor, f->U, f->columns);
}

/* The largest magnitudes in b and, behind them, in initial guesses, of all PEs. Collective, agreed. */
static tulle_status find_largest(tulle__fit *f, double *most)
{
    double ones[TULLE__TALL_MOST];
    const size_t size = tulle_type_size(f->of_rows.type);
    for (int j = 0; j < f->columns; j++) ones[j] = 1;
    read_b(f, ones);
    for (int j = 0; j < f->columns; j++) {
        tulle__krylov *k = &f->column[j].k;
        const char *b = (const char *)f->U + (size_t)j * size;
        most[j] = tulle__largest_magnitude(f->of_rows.type, b, f->of_rows.rows, f->columns);
        if (f->options->guess) tulle__columns_read(f->X, k->column, 1, k->x);
        most[f->columns + j] = tulle__largest_magnitude(f->of_columns.type, k->x, f->of_columns.rows, 1);
    }
    return tulle_comm_agree(f->comm, tulle_comm_reduce_real(f->comm, TULLE_MAX, 2 * f->columns, most));
}

/* The norms of b, divided by the power of two of its largest value, and what is solved by them. Collective, agreed. */
static tulle_status measure_b(tulle__fit *f)
{
    double factor[TULLE__TALL_MOST], most[2 * TULLE__TALL_MOST], square[TULLE__TALL_MOST];
    TULLE_CALL(find_largest(f, most));
    for (int j = 0; j < f->columns; j++) factor[j] = 1 / (f->column[j].k.scale = tulle__power_of_two(most[j]));
    read_b(f, factor);
    TULLE_CALL(tulle__space_squares(&f->of_rows, f->columns, f->U, f->columns, square));
    for (int j = 0; j < f->columns; j++) {
        tulle__fit_column *c = &f->column[j];
        tulle__krylov *k = &c->k;
        k->norm = sqrt(square[j]);
        k->of_guess = most[f->columns + j];
        k->limit = fmax(f->options->tolerance * k->norm, f->options->absolute / k->scale);
        if (tulle__krylov_is_trivial(k) && k->stop != TULLE_STOP_CONVERGED) c->plain = c->gradient = c->solution = NAN;
    }
    return TULLE_OK;
}

static bool is_solved(const tulle__krylov *k)
{
    return k->stop == TULLE_STOP_CONVERGED || k->stop == TULLE_STOP_LEAST_SQUARES;
}

/*
 * Writes X, and variances; columns of X of which this lost a part are judged anew, as X has them, by a start.
 * Collective, agreed.
 */
static tulle_status return_columns(tulle__fit *f, tulle_mat *X)
{
    double most[2 * TULLE__TALL_MOST];
    bool judged[TULLE__TALL_MOST];
    for (int j = 0; j < f->columns; j++) {
        const tulle__krylov *k = &f->column[j].k;
        const double unit = f->gram->unit;
        if (f->variance) (void)tulle__columns_write_back(f->variance, k->column, unit * unit, f->column[j].variance, 1);
        most[j] = tulle__columns_write_back(X, k->column, k->scale * unit, k->x, 1);
        most[f->columns + j] = tulle__columns_largest(X, k->column);
    }
    TULLE_CALL(tulle_comm_agree(f->comm, tulle_comm_reduce_real(f->comm, TULLE_MAX, 2 * f->columns, most)));
    for (int j = 0; j < f->columns; j++) judged[j] = most[j] > 0 && is_solved(&f->column[j].k);
    TULLE_CALL(tulle__fit_judge(f, judged));
    for (int j = 0; j < f->columns; j++)
        if (judged[j] && !is_solved(&f->column[j].k))
            tulle__krylov_leaves_range(&f->column[j].k, X->type, most[f->columns + j]);
    return TULLE_OK;
}

/* Seconds of all PEs, and what all columns share. Collective, agreed. */
static tulle_status report_totals(tulle__fit *f, tulle_least_squares_report *report)
{
    const double unit = f->gram->unit;
    const int64_t ns[4] = {tulle__now(f->comm) - f->column[0].k.start, f->product_ns,
        f->of_rows.dots_ns + f->of_columns.dots_ns, f->of_rows.vectors_ns + f->of_columns.vectors_ns};
    double most[4], sum[4];
    for (int i = 0; i < 4; i++) most[i] = sum[i] = (double)ns[i] * 1e-9;
    tulle_status status = tulle_comm_reduce_real(f->comm, TULLE_MAX, 4, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(f->comm, TULLE_SUM, 4, sum);
    for (int i = 0; i < 4; i++) sum[i] /= f->comm->size;
    for (int j = 0; report && j < f->columns; j++) {
        const tulle__fit_column *c = &f->column[j];
        const double scale = c->k.scale;
        report[j] = (tulle_least_squares_report){.stop = c->k.stop,
            .iterations = c->k.iteration,
            .passes = f->passes,
            .reductions = f->of_rows.reductions + f->of_columns.reductions,
            .norm = c->k.norm * scale,
            .residual = c->k.residual * scale,
            .true_residual = c->k.true_residual * scale,
            .plain_residual = c->plain * scale,
            .gradient = c->gradient / unit * scale,
            .operator_norm = c->norm / unit,
            .condition = c->condition,
            .solution = c->solution * scale * unit,
            .seconds = most[0],
            .product = {most[1], sum[1]},
            .dots = {most[2], sum[2]},
            .vectors = {most[3], sum[3]},
            .width = f->columns};
    }
    return tulle_comm_agree(f->comm, status);
}

static void name_failure(const tulle__fit *f, char *failed)
{
    for (int j = 0; j < f->columns && !*failed; j++) {
        const tulle__krylov *k = &f->column[j].k;
        if (is_solved(k)) continue;
        snprintf(failed, TULLE_MESSAGE_MAX, "%s, column " TULLE__AT ", iteration %" PRId64 ": %s",
            tulle_least_squares_method_name(f->options->method), k->column, k->iteration, k->why);
    }
}

static tulle_status solve_group(
    tulle__fit *f, tulle_mat *X, tulle_gidx first, tulle_least_squares_report *report, char *failed)
{
    tulle_status status;
    TULLE_TRY(init(f, first));
    TULLE_TRY(measure_b(f));
    TULLE_TRY(tulle__fit_run(f));
    TULLE_TRY(return_columns(f, X));
    TULLE_TRY(report_totals(f, report));
    name_failure(f, failed);
out:
    fini(f);
    return status;
}

/* ---- all columns ---- */

/* As many columns at a time as the least free memory of a PE allows. Collective, agreed. */
static tulle_status choose_width(
    const tulle__row_passes *rows, const tulle_least_squares_options *o, tulle_gidx columns, int *width)
{
    int64_t most = o->width ? o->width : TULLE__TALL_MOST;
    const size_t left = tulle__memory_left();
    if (columns < most) most = columns > 1 ? columns : 1;
    while (most > 1 && tulle_least_squares_memory(o, rows->m, rows->n, rows->type, (int)most, rows->comm->size) > left)
        most--;
    const tulle_status status = tulle_comm_agree(rows->comm, tulle_comm_reduce_int(rows->comm, TULLE_MIN, 1, &most));
    *width = (int)most;
    return status;
}

/* Solves with B and X in the layouts of rows and columns. Collective, agreed. */
static tulle_status solve_columns(tulle__row_passes *rows, tulle__gram *gram, int width, const tulle_mat *B,
    tulle_mat *X, tulle_mat *variance, const tulle_least_squares_options *o, tulle_least_squares_report *report,
    char *failed)
{
    const tulle_gidx count = X->layout->n;
    tulle_status status = TULLE_OK;
    for (tulle_gidx first = 0; first < count && status == TULLE_OK;) {
        const tulle_gidx groups = (count - first + width - 1) / width, columns = (count - first + groups - 1) / groups;
        tulle__fit f = {.comm = rows->comm,
            .options = o,
            .rows = rows,
            .gram = gram,
            .columns = (int)columns,
            .B = B,
            .X = X,
            .variance = variance,
            .damp = o->damp * gram->unit};
        status = solve_group(&f, X, first, report ? report + first : NULL, failed);
        first += columns;
    }
    return status;
}

static tulle_status solve(tulle__row_passes *rows, const tulle_mat *B, tulle_mat *X,
    const tulle_least_squares_options *o, tulle_least_squares_report *report, char *failed)
{
    tulle_mat *staged_B = NULL, *staged_X = NULL, *staged = NULL, *variance = o->variance;
    tulle__gram gram = {.comm = NULL};
    int width;
    tulle_status status;
    TULLE_TRY(choose_width(rows, o, X->layout->n, &width));
    TULLE_TRY(tulle__gram_init(rows, NULL, NULL, width, &gram));
    TULLE_TRY(tulle__columns_stage(B, rows->layout, 1, &staged_B));
    TULLE_TRY(tulle__columns_stage(X, gram.layout, o->guess, &staged_X));
    if (variance) TULLE_TRY(tulle__columns_stage(variance, gram.layout, 0, &staged));
    TULLE_TRY(solve_columns(rows, &gram, width, staged_B ? staged_B : B, staged_X ? staged_X : X,
        staged ? staged : variance, o, report, failed));
    if (staged) TULLE_TRY(tulle__columns_return(staged, variance));
    TULLE_TRY(staged_X ? tulle__columns_return(staged_X, X) : tulle_comm_agree(rows->comm, TULLE_OK));
out:
    tulle_mat_free(staged);
    tulle_mat_free(staged_X);
    tulle_mat_free(staged_B);
    tulle__gram_fini(&gram);
    return status;
}

/* ---- arguments ---- */

/* The outcome is the same on all PEs, but for arrays that overlap. */
static tulle_status check_variance(const tulle_mat *variance, const tulle_mat *B, const tulle_mat *X)
{
    if (variance->comm != X->comm)
        return tulle__fail(TULLE_ERR_ARG, "variance and X belong to different teams, or parts of one");
    if (variance->kind != TULLE_DENSE || variance->type != X->type || variance->layout->m != X->layout->m ||
        variance->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG,
            "variance must be dense and of X's type and shape, %s, %" PRId64 " x %" PRId64, tulle_type_name(X->type),
            X->layout->m, X->layout->n);
    const tulle_status status = tulle__mat_check_apart(variance, "variance", X, "X");
    return status == TULLE_OK ? tulle__mat_check_apart(variance, "variance", B, "B") : status;
}

/* The outcome is the same on all PEs. */
static tulle_status check(tulle_comm *comm, tulle_gidx m, tulle_gidx n, tulle_type type, const tulle_mat *B,
    const tulle_mat *X, const tulle_least_squares_options *o)
{
    if (B->comm != comm || X->comm != comm)
        return tulle__fail(TULLE_ERR_ARG, "A, B and X belong to different teams, or parts of one");
    if (B->kind != TULLE_DENSE || X->kind != TULLE_DENSE || B->type != type || X->type != type)
        return tulle__fail(TULLE_ERR_ARG, "B and X must be dense and of the matrix's type, %s", tulle_type_name(type));
    if (B->layout->m != m || X->layout->m != n || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG,
            "the shapes do not match: the matrix is %" PRId64 " x %" PRId64 ", B %" PRId64 " x %" PRId64 ", X %" PRId64
            " x %" PRId64,
            m, n, B->layout->m, B->layout->n, X->layout->m, X->layout->n);
    if (!(o->tolerance >= 0) || !(o->absolute >= 0) || !(o->gradient >= 0) || !(o->damp >= 0) || !isfinite(o->damp) ||
        o->max_iterations < 0)
        return tulle__fail(TULLE_ERR_ARG,
            "tolerances, damp and max_iterations must be at least 0, but are %g, %g, %g, %g, %" PRId64, o->tolerance,
            o->absolute, o->gradient, o->damp, o->max_iterations);
    if (!(o->max_condition >= 0))
        return tulle__fail(TULLE_ERR_ARG, "max_condition must be at least 0, but is %g", o->max_condition);
    if (o->width < 0 || o->width > TULLE__TALL_MOST)
        return tulle__fail(TULLE_ERR_ARG, "a batch has at most %d columns, not %d", TULLE__TALL_MOST, o->width);
    TULLE_CALL(tulle__mat_check_apart(X, "X", B, "B"));
    if (o->variance) TULLE_CALL(check_variance(o->variance, B, X));
    return tulle__wants_values(comm, "least squares");
}

static tulle_status end(tulle__row_passes *rows, tulle_status status, const char *failed)
{
    tulle__row_passes_fini(rows);
    if (status == TULLE_OK && *failed) return tulle__fail(TULLE_ERR_CONVERGENCE, "%s", failed);
    return status;
}

tulle_status tulle_least_squares(const tulle_mat *A, const tulle_mat *B, tulle_mat *X,
    const tulle_least_squares_options *options, tulle_least_squares_report *report)
{
    tulle_least_squares_options own;
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__OPTIONS(options, &own, variance) ||
        TULLE__OUTSIDE(options->method, TULLE_LEAST_SQUARES_METHOD_COUNT - 1))
        return tulle__refuse(A ? A->comm : B ? B->comm : X ? X->comm : NULL);
    TULLE__ENTER(A->comm);
    TULLE_CALL(tulle__spectrum_presence(A->comm, own.variance, "variance"));
    char failed[TULLE_MESSAGE_MAX] = "";
    tulle__row_passes rows = {.comm = NULL};
    tulle_status status = TULLE_OK;
    if (A->kind != TULLE_CSR)
        status = tulle__fail(TULLE_ERR_ARG, "least squares are those of a sparse matrix of single entries (CSR)");
    tulle__least_squares_defaults(&own, A->type);
    if (status == TULLE_OK) status = check(A->comm, A->layout->m, A->layout->n, A->type, B, X, &own);
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    status = tulle__row_passes_of_mat(A, &rows);
    if (status == TULLE_OK) status = solve(&rows, B, X, &own, report, failed);
    return end(&rows, status, failed);
}

tulle_status tulle_least_squares_of_rows(tulle_rows *given, const tulle_mat *B, tulle_mat *X,
    const tulle_least_squares_options *options, tulle_least_squares_report *report)
{
    tulle_least_squares_options own;
    if (TULLE__NULL_AS(given, "rows") || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__OPTIONS(options, &own, variance) ||
        TULLE__OUTSIDE(options->method, TULLE_LEAST_SQUARES_METHOD_COUNT - 1))
        return tulle__refuse(given ? given->comm : B ? B->comm : X ? X->comm : NULL);
    TULLE__ENTER(given->comm);
    TULLE_CALL(tulle__spectrum_presence(given->comm, own.variance, "variance"));
    char failed[TULLE_MESSAGE_MAX] = "";
    tulle__row_passes rows = {.comm = NULL};
    tulle__least_squares_defaults(&own, given->type);
    tulle_status status = check(given->comm, given->m, given->n, given->type, B, X, &own);
    TULLE_CALL(tulle_comm_agree(given->comm, status));
    status = tulle__row_passes_of_rows(given, &rows);
    if (status == TULLE_OK) status = solve(&rows, B, X, &own, report, failed);
    return end(&rows, status, failed);
}
