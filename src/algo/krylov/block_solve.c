/* SPDX-License-Identifier: Apache-2.0 */
/* A block method around its iterations: batches of columns, scaling, vectors, reports. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/krylov/block.h"
#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "base/error.h"
#include "tile/element.h"

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* ---- a batch of columns ---- */

/* x = 0 for a column that is not iterated. */
static void clear(tulle__block *b, int j)
{
    for (int64_t r = 0; r < b->multi.space.rows; r++)
        tulle__element_set(b->multi.space.type, b->x, r * b->columns + j, 0);
}

/* Stops a column whose b or x0 is not finite, or whose b is 0. */
static void stop_trivial(tulle__block *b, int j, double norm, double of_guess)
{
    tulle__block_column *c = &b->column[j];
    const char *why;
    c->stop = tulle__krylov_not_finite(norm, of_guess, &why);
    if (c->stop != TULLE_STOP_COUNT) {
        c->residual = c->true_residual = NAN;
        if (!*b->why)
            snprintf(b->why, sizeof b->why, "column " TULLE__AT ", iteration 0: %.100s", (int64_t)(b->first + j), why);
    } else if (norm == 0) { /* whatever the initial guess */
        c->stop = TULLE_STOP_CONVERGED;
    }
    c->active = c->stop == TULLE_STOP_COUNT;
}

/*
 * Divides b_j and x_j by a power of two, so that the norm of b, or the largest number of x if that is
 * larger, is about 1, and its square is representable.
 */
static tulle_status begin_columns(tulle__block *b, const tulle_mat *X)
{
    tulle__block_vectors *p = &b->vectors;
    const tulle_krylov_options *o = b->options;
    double most[2 * TULLE__TALL_MOST], factor[TULLE__TALL_MOST];
    tulle_gidx from[TULLE__TALL_MOST];
    int n = b->columns;
    for (int j = 0; j < n; j++) from[j] = b->first + j, factor[j] = 1;
    memset(b->x, 0, (size_t)(b->multi.space.rows * n) * tulle_type_size(b->multi.space.type));
    tulle__columns_read_some(b->B, n, from, factor, p->rest.val, p->ld);
    if (o->guess) tulle__columns_read_some(X, n, from, factor, b->x, n);
    const tulle__space *space = &b->multi.space;
    const size_t size = tulle_type_size(space->type);
    for (int j = 0; j < n; j++) {
        const size_t at = (size_t)j * size;
        most[j] = tulle__largest_magnitude(space->type, (const char *)p->rest.val + at, space->rows, p->ld);
        most[n + j] = tulle__largest_magnitude(space->type, b->x + at, space->rows, n);
    }
    TULLE_CALL(tulle_comm_agree(b->comm, tulle_comm_reduce_real(b->comm, TULLE_MAX, 2 * n, most)));
    for (int j = 0; j < n; j++) factor[j] = 1 / tulle__power_of_two(most[j]);
    tulle__columns_read_some(b->B, n, from, factor, p->rest.val, p->ld);
    tulle__multi_tsmttsm gram = {p->rest.val, p->ld, p->rest.val, p->ld, n, n, 1, b->small->G};
    TULLE_CALL(tulle__multi_tsmttsm_all(&b->multi, 1, &gram));
    for (int j = 0; j < n; j++) {
        tulle__block_column *c = &b->column[j];
        const double norm = sqrt(b->small->G[j][j]), of_b = tulle__power_of_two(most[j]),
                     scale = tulle__power_of_two(fmax(of_b * tulle__power_of_two(norm) / 2, most[n + j]));
        *c =
            (tulle__block_column){.scale = scale, .norm = norm * (of_b / scale), .stop = TULLE_STOP_COUNT, .active = 1};
        if (norm > 0) c->norm = fmax(c->norm, DBL_MIN);
        c->limit = fmax(o->tolerance * c->norm, o->absolute / c->scale);
        factor[j] = 1 / c->scale;
        stop_trivial(b, j, norm, most[n + j]);
    }
    if (o->guess) tulle__columns_read_some(X, n, from, factor, b->x, n);
    for (int j = 0; j < n; j++)
        if (!b->column[j].active) clear(b, j);
    return TULLE_OK;
}

/* Figures common to all columns: seconds of all PEs. */
static tulle_status report_totals(const tulle__block *b, tulle_krylov_report *report)
{
    const tulle__space *space = &b->multi.space;
    const int64_t ns[5] = {
        tulle__now(b->comm) - b->start, b->product_ns, b->precond_ns, space->dots_ns, space->vectors_ns};
    double most[5], sum[5];
    for (int i = 0; i < 5; i++) most[i] = sum[i] = seconds(ns[i]);
    tulle_status status = tulle_comm_reduce_real(b->comm, TULLE_MAX, 5, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(b->comm, TULLE_SUM, 5, sum);
    for (int i = 0; i < 5; i++) sum[i] /= b->comm->size;
    for (int j = 0; report && j < b->columns; j++) {
        const tulle__block_column *c = &b->column[j];
        report[j] = (tulle_krylov_report){.stop = c->stop,
            .iterations = c->iterations,
            .products = c->products,
            .reductions = space->reductions,
            .norm = c->norm * c->scale,
            .residual = c->residual * c->scale,
            .true_residual = c->true_residual * c->scale,
            .seconds = most[0],
            .product = {most[1], sum[1]},
            .precond = {most[2], sum[2]},
            .dots = {most[3], sum[3]},
            .vectors = {most[4], sum[4]},
            .width = b->columns,
            .deflated = b->deflated,
            .deflated_at = b->deflated_at};
    }
    return tulle_comm_agree(b->comm, status);
}

static void fini(tulle__block *b)
{
    tulle__block_vectors_free(b, &b->vectors);
    tulle__resident_close(b->resident);
    for (int l = 0; l < b->nkept; l++) {
        tulle_mat_free(b->former[l].D.mat);
        tulle_mat_free(b->former[l].AD.mat);
    }
    tulle__multi_fini(&b->multi);
    tulle__free(b->small);
    tulle__free(b->x);
}

static tulle_status init(tulle__block *b)
{
    int n = b->columns;
    tulle_status status = tulle__multi_init(b->comm, b->A->layout, b->A->type, n * (n + 1) + 2 * n * n, &b->multi);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *b->small, "small matrices", &b->small);
    if (status == TULLE_OK)
        status = tulle__alloc((size_t)b->multi.space.rows * (size_t)n, tulle_type_size(b->A->type), "x", &b->x);
    TULLE_CALL(tulle_comm_agree(b->comm, status));
    return tulle__block_vectors_new(b, n, &b->vectors);
}

/* Agreed. */
static tulle_status fetch_x(tulle__block *b)
{
    size_t bytes = (size_t)(b->multi.space.rows * b->columns) * tulle_type_size(b->multi.space.type);
    return tulle_comm_agree(b->comm, tulle__resident_fetch(b->resident, b->x, bytes));
}

/* Writes a column, and judges it as it is then. Collective, agreed. */
static tulle_status return_column(tulle__block *b, int j, tulle_mat *X)
{
    tulle__block_column *c = &b->column[j];
    const char *x = b->x + (size_t)j * tulle_type_size(X->type);
    const bool lost = tulle__columns_write_back(X, b->first + j, c->scale, x, b->columns);
    tulle__krylov k = {.comm = b->comm,
        .A = b->A,
        .options = *b->options,
        .space = b->multi.space,
        .column = b->first + j,
        .scale = c->scale,
        .norm = c->norm,
        .stop = c->stop,
        .true_residual = c->true_residual};
    const tulle_status status = tulle__krylov_judge_returned(&k, b->B, X, lost);
    c->true_residual = k.true_residual;
    c->products += k.products;
    if (k.stop != c->stop) tulle__block_stop_column(b, j, k.stop, "%s", k.why);
    return status;
}

static tulle_status solve_group(tulle__block *b, tulle_mat *X, tulle_krylov_report *report, char *failed)
{
    tulle_status status;
    b->start = tulle__now(b->comm);
    b->deflated_at = -1;
    TULLE_TRY(init(b));
    TULLE_TRY(begin_columns(b, X));
    TULLE_TRY(tulle__block_enter_device(b));
    TULLE_TRY(tulle__block_cg(b, !b->options->guess));
    if (b->resident) TULLE_TRY(fetch_x(b));
    for (int j = 0; j < b->columns; j++) TULLE_TRY(return_column(b, j, X));
    TULLE_TRY(report_totals(b, report));
    if (*b->why && !*failed)
        snprintf(failed, TULLE_MESSAGE_MAX, "%s, %s", tulle_krylov_method_name(b->options->method), b->why);
out:
    fini(b);
    return status;
}

tulle_status tulle__block_width(
    const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options, int *width)
{
    int64_t rows = 0, most = options->width ? options->width : TULLE__TALL_MOST;
    for (int i = 0; i < A->layout->mt; i++)
        if (tulle__layout_owner(A->layout, i, 0) == A->comm->rank)
            rows += A->layout->row_cut[i + 1] - A->layout->row_cut[i];
    if (A->cols && A->cols < most) most = A->cols;
    if (M && M->cols && M->cols < most) most = M->cols;
    size_t left = tulle__memory_left();
    while (most > 1 && tulle_krylov_memory(options, rows, A->type, (int)most, A->comm->size) > left) most--;
    tulle_status status = tulle_comm_agree(A->comm, tulle_comm_reduce_int(A->comm, TULLE_MIN, 1, &most));
    *width = (int)most;
    return status;
}

tulle_status tulle__block_solve(const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options,
    int width, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed)
{
    tulle_gidx count = X->layout->n;
    tulle_status status = TULLE_OK;
    for (tulle_gidx first = 0; first < count && status == TULLE_OK;) {
        tulle_gidx groups = (count - first + width - 1) / width, columns = (count - first + groups - 1) / groups;
        tulle__block b = {
            .comm = A->comm, .A = A, .M = M, .options = options, .B = B, .first = first, .columns = (int)columns};
        status = solve_group(&b, X, report ? report + first : NULL, failed);
        first += columns;
    }
    return status;
}
