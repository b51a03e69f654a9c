/* SPDX-License-Identifier: Apache-2.0 */
/* A solve: its arguments, its vectors, and the chosen method, column by column. */
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/krylov/block.h"
#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/krylov/krylov.h"
#include "algo/krylov/minres.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "algo/option_readers.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "mat/overlap.h"
#include "tile/element.h"

/* ---- creation and destruction ---- */

static tulle_status make_vector(tulle__krylov *k, tulle__vector *v)
{
    const tulle_layout *l = k->A->layout;
    TULLE_CALL(tulle_mat_new_dense(k->comm, l, k->A->type, TULLE_ROW_MAJOR, &v->mat));
    for (int i = 0; i < l->mt; i++)
        if (tulle__tile_is_mine(v->mat, i, 0) && tulle__tile_rows(v->mat, i))
            v->val = tulle__own_tile_in_place(v->mat, i, 0).val;
    return TULLE_OK;
}

/* Collective. */
static void fini(tulle__krylov *k)
{
    tulle__resident_close(k->resident);
    if (k->bound_M) k->M->unbind(k->bound_M);
    if (k->bound_A) k->A->unbind(k->bound_A);
    tulle_mat_free(k->pre.mat);
    tulle_mat_free(k->rest.mat);
    tulle_mat_free(k->out.mat);
    tulle_mat_free(k->in.mat);
    tulle__space_fini(&k->space);
    tulle__free(k->x);
    tulle__free(k->b);
    tulle__free(k->stored);
    tulle__free(k->small);
}

/* Vectors on the operator's device, if it has one. Collective, agreed. */
static tulle_status enter_device(tulle__krylov *k, const tulle__krylov_workspace *workspace)
{
    size_t one = (size_t)k->space.rows * tulle_type_size(k->A->type);
    const tulle__resident_range range[TULLE__RESIDENT_RANGES] = {{k->x, one, NULL}, {k->b, one, NULL},
        {k->in.val, one, NULL}, {k->out.val, one, NULL}, {k->rest.val, one, NULL},
        {k->stored, (size_t)workspace->vectors * one, NULL}, {k->pre.val, k->pre.val ? one : 0, NULL}};
    const tulle__resident_rows own = {k->space.type, k->space.first, k->space.rows, k->space.block};
    return tulle__resident_open(
        k->A, k->M, k->bound_M, &own, range, TULLE__RESIDENT_RANGES, workspace->dots, &k->resident);
}

static tulle_status make_own(tulle__krylov *k, const tulle__krylov_workspace *workspace)
{
    const size_t size = tulle_type_size(k->A->type);
    TULLE_CALL(tulle__space_init(k->comm, k->A->layout, k->A->type, workspace->dots, workspace->dots, &k->space));
    const size_t rows = (size_t)k->space.rows;
    TULLE_CALL(tulle__alloc(rows, size, "x", &k->x));
    TULLE_CALL(tulle__alloc(rows, size, "b", &k->b));
    TULLE_CALL(tulle__alloc((size_t)workspace->vectors * rows, size, "vectors of the method", &k->stored));
    return tulle__alloc_zero((size_t)workspace->small, sizeof *k->small, "the small system", &k->small);
}

/* GMRES has M write where A reads. */
static tulle_status init(tulle__krylov *k)
{
    int gmres = k->options.method == TULLE_KRYLOV_GMRES;
    tulle__krylov_workspace workspace =
        gmres ? tulle__gmres_workspace(&k->options) : (tulle__krylov_workspace){1, 0, 2};
    TULLE_CALL(tulle_comm_agree(k->comm, make_own(k, &workspace)));
    TULLE_CALL(make_vector(k, &k->in));
    TULLE_CALL(make_vector(k, &k->out));
    TULLE_CALL(make_vector(k, &k->rest));
    TULLE_CALL(k->A->bind(k->A->context, k->in.mat, k->out.mat, &k->bound_A));
    if (k->M && !gmres) TULLE_CALL(make_vector(k, &k->pre));
    if (k->M) TULLE_CALL(k->M->bind(k->M->context, k->rest.mat, gmres ? k->in.mat : k->pre.mat, &k->bound_M));
    return enter_device(k, &workspace);
}

size_t tulle_krylov_memory(const tulle_krylov_options *options, tulle_gidx rows, tulle_type type, int columns, int pes)
{
    tulle_krylov_options own;
    /* what bindings of a product or a preconditioner take; subtrees of sums (multivector.c) */
    enum { FIXED = 1 << 20, PARTS = 160 };
    if (TULLE__OPTIONS(options, &own, history_capacity) ||
        TULLE__OUTSIDE(options->method, TULLE_KRYLOV_METHOD_COUNT - 1) || TULLE__NEGATIVE(rows) ||
        TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NEGATIVE(columns) || TULLE__NEGATIVE(pes))
        return 0;
    tulle__krylov_defaults(&own, type);
    const tulle_krylov_options chosen = own;
    size_t n = (size_t)rows * tulle_type_size(type), w = (size_t)(columns > 1 ? columns : 1);
    if (chosen.method == TULLE_KRYLOV_MINRES) return TULLE__MINRES_VECTORS * n * w + FIXED;
    if (chosen.method != TULLE_KRYLOV_BLOCK_CG) {
        size_t vectors = chosen.method == TULLE_KRYLOV_GMRES ? (size_t)tulle__gmres_workspace(&chosen).vectors : 1;
        return (vectors + 6) * n + FIXED; /* x, b, and four operands of operators */
    }
    /* x and four panels; up to two more while the width changes (block_vectors.c) */
    size_t sums = 3 * w * w * sizeof(double) * (PARTS + (size_t)pes);
    return (w > 1 ? 7 : 5) * n * w + sums + FIXED;
}

/* The outcome is the same on all PEs. */
static tulle_status check(const tulle_operator *A, const tulle_operator *M, const tulle_mat *B, const tulle_mat *X,
    const tulle_krylov_options *o)
{
    if (!A->apply || !A->bind || !A->unbind || !A->layout || A->layout->m != A->n || A->layout->n != 1 ||
        A->layout->nt != 1 || !tulle__operator_one_tile_each(A->layout, A->comm->size))
        return tulle__fail(TULLE_ERR_ARG, "the operator's vectors must be n x 1, with at most one tile a PE");
    if (B->comm != A->comm || X->comm != A->comm || (M && M->comm != A->comm))
        return tulle__fail(TULLE_ERR_ARG, "the operators, B and X belong to different teams, or parts of one");
    if (M && (M->n != A->n || M->type != A->type))
        return tulle__fail(TULLE_ERR_ARG,
            "the preconditioner has %" PRId64 " rows of %s, but the matrix %" PRId64 " of %s", M->n,
            tulle_type_name(M->type), A->n, tulle_type_name(A->type));
    if (B->kind != TULLE_DENSE || X->kind != TULLE_DENSE || B->type != A->type || X->type != A->type)
        return tulle__fail(
            TULLE_ERR_ARG, "B and X must be dense and of the matrix's type, %s", tulle_type_name(A->type));
    if (B->layout->m != A->n || X->layout->m != A->n || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG,
            "the shapes do not match: the matrix has %" PRId64 " rows, B is %" PRId64 " x %" PRId64 ", X %" PRId64
            " x %" PRId64,
            A->n, B->layout->m, B->layout->n, X->layout->m, X->layout->n);
    if (o->method < 0 || o->method >= TULLE_KRYLOV_METHOD_COUNT || !(o->tolerance >= 0) || !(o->absolute >= 0) ||
        o->max_iterations < 0 || (o->method == TULLE_KRYLOV_GMRES && o->restart < 1))
        return tulle__fail(TULLE_ERR_ARG,
            "tolerances and max_iterations must be at least 0 and restart at least 1, but are %g, %g, %" PRId64 ", %d",
            o->tolerance, o->absolute, o->max_iterations, o->restart);
    if (o->width < 0 || o->width > TULLE__TALL_MOST)
        return tulle__fail(TULLE_ERR_ARG, "a block has at most %d columns, not %d", TULLE__TALL_MOST, o->width);
    TULLE_CALL(tulle__mat_check_apart(X, "X", B, "B"));
    return tulle__wants_values(A->comm, "a Krylov method");
}

/* ---- a column ---- */

/* 1, or the power of two of x where its square would overflow or underflow. */
static double scale_of(double x)
{
    enum { TAME = 300 };
    const double power = tulle__power_of_two(x);
    return power > ldexp(1, TAME) || power < ldexp(1, -TAME) ? power : 1;
}

tulle_status tulle__krylov_begin_column(tulle__krylov *k, const tulle_mat *B, const tulle_mat *X)
{
    double most[2] = {0, 0}, square;
    const void *b = k->b;
    tulle__columns_read(B, k->column, 1, k->b);
    most[0] = tulle__largest_magnitude(k->space.type, k->b, k->space.rows, 1);
    if (k->options.guess)
        tulle__columns_read(X, k->column, 1, k->x);
    else
        memset(k->x, 0, (size_t)k->space.rows * tulle_type_size(k->space.type));
    if (k->options.guess) most[1] = tulle__largest_magnitude(k->space.type, k->x, k->space.rows, 1);
    TULLE_CALL(tulle_comm_agree(k->comm, tulle_comm_reduce_real(k->comm, TULLE_MAX, 2, most)));
    k->of_guess = most[1];
    const double of_b = scale_of(most[0]);
    if (of_b != 1) tulle__columns_read(B, k->column, 1 / of_b, k->b);
    TULLE_CALL(tulle__space_dots(&k->space, 1, &b, &b, &square));
    k->scale = scale_of(fmax(most[0], most[1]));
    k->norm = sqrt(square) * (of_b / k->scale);
    if (square > 0) k->norm = fmax(k->norm, DBL_MIN); /* 0 is for b = 0 */
    k->limit = fmax(k->options.tolerance * k->norm, k->options.absolute / k->scale);
    if (k->scale != of_b) tulle__columns_read(B, k->column, 1 / k->scale, k->b);
    if (k->options.guess && k->scale != 1) tulle__columns_read(X, k->column, 1 / k->scale, k->x);
    return TULLE_OK;
}

bool tulle__krylov_is_trivial(tulle__krylov *k)
{
    const char *why;
    const tulle_stop stop = tulle__krylov_not_finite(k->norm, k->of_guess, &why);
    if (stop != TULLE_STOP_COUNT) {
        tulle__krylov_stop(k, stop, "%s", why);
        k->residual = k->true_residual = NAN;
    } else if (k->norm == 0) { /* whatever the initial guess */
        memset(k->x, 0, (size_t)k->space.rows * tulle_type_size(k->space.type));
        tulle__krylov_stop(k, TULLE_STOP_CONVERGED, " ");
        (void)tulle__krylov_step(k, 0);
    }
    return stop != TULLE_STOP_COUNT || k->norm == 0;
}

tulle_status tulle__krylov_totals(const tulle__krylov *k, tulle_krylov_report *report)
{
    const int64_t ns[5] = {
        tulle__now(k->comm) - k->start, k->product_ns, k->precond_ns, k->space.dots_ns, k->space.vectors_ns};
    double most[5], sum[5];
    for (int i = 0; i < 5; i++) most[i] = sum[i] = (double)ns[i] * 1e-9;
    tulle_status status = tulle_comm_reduce_real(k->comm, TULLE_MAX, 5, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(k->comm, TULLE_SUM, 5, sum);
    for (int i = 0; i < 5; i++) sum[i] /= k->comm->size;
    *report = (tulle_krylov_report){.stop = k->stop,
        .iterations = k->iteration,
        .products = k->products,
        .reductions = k->space.reductions,
        .norm = k->norm * k->scale,
        .residual = k->residual * k->scale,
        .true_residual = k->true_residual * k->scale,
        .seconds = most[0],
        .product = {most[1], sum[1]},
        .precond = {most[2], sum[2]},
        .dots = {most[3], sum[3]},
        .vectors = {most[4], sum[4]},
        .width = k->width,
        .deflated_at = -1};
    return tulle_comm_agree(k->comm, status);
}

/* Runs the method, with its vectors on the operator's device if there is one. */
static tulle_status run_method(tulle__krylov *k)
{
    size_t bytes = (size_t)k->space.rows * tulle_type_size(k->space.type);
    int zero = !k->options.guess;
    tulle_status status = TULLE_OK;
    if (k->resident) TULLE_TRY(tulle_comm_agree(k->comm, tulle__resident_send(k->resident, k->b, bytes)));
    if (k->resident) TULLE_TRY(tulle_comm_agree(k->comm, tulle__resident_send(k->resident, k->x, bytes)));
    k->space.resident = k->resident;
    status = k->options.method == TULLE_KRYLOV_GMRES ? tulle__gmres(k, zero) : tulle__cg(k, zero);
    k->space.resident = NULL;
    if (status == TULLE_OK && k->resident)
        status = tulle_comm_agree(k->comm, tulle__resident_fetch(k->resident, k->x, bytes));
out:
    return status;
}

static tulle_status solve_column(tulle__krylov *k, const tulle_mat *B, tulle_mat *X)
{
    k->start = tulle__now(k->comm);
    k->product_ns = k->precond_ns = k->products = k->iteration = 0;
    k->space.reductions = k->space.dots_ns = k->space.vectors_ns = 0;
    k->residual = k->true_residual = 0;
    TULLE_CALL(tulle__krylov_begin_column(k, B, X));
    if (!tulle__krylov_is_trivial(k)) TULLE_CALL(run_method(k));
    TULLE_CALL(tulle__krylov_judge_returned(k, B, X, tulle__columns_write_back(X, k->column, k->scale, k->x, 1)));
    return tulle__krylov_totals(k, k->report);
}

/* Agreed at each step; *failed: a column did not converge, and the message names it. */
static tulle_status solve_columns(
    tulle__krylov *k, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed)
{
    tulle_krylov_report unasked;
    tulle_status status = init(k);
    for (k->column = 0; k->column < X->layout->n && status == TULLE_OK; k->column++) {
        k->report = report ? &report[k->column] : &unasked;
        status = solve_column(k, B, X);
        if (status != TULLE_OK || k->stop == TULLE_STOP_CONVERGED || *failed) continue;
        snprintf(failed, TULLE_MESSAGE_MAX, "%s, column " TULLE__AT ", iteration %" PRId64 ": %s",
            tulle_krylov_method_name(k->options.method), k->column, k->iteration, k->why);
    }
    fini(k);
    return status;
}

static tulle_status solve(tulle__krylov *k, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed)
{
    int width = 1;
    TULLE__SCOPED_MAT tulle_mat *staged_B = NULL, *staged_X = NULL;
    TULLE_CALL(tulle__columns_stage(B, k->A->layout, 1, &staged_B));
    TULLE_CALL(tulle__columns_stage(X, k->A->layout, k->options.guess, &staged_X));
    const tulle_mat *from = staged_B ? staged_B : B;
    tulle_mat *to = staged_X ? staged_X : X;
    if (k->options.method == TULLE_KRYLOV_BLOCK_CG || k->options.method == TULLE_KRYLOV_MINRES)
        TULLE_CALL(tulle__block_width(k->A, k->M, &k->options, &width));
    TULLE_CALL(k->options.method == TULLE_KRYLOV_BLOCK_CG
                   ? tulle__block_solve(k->A, k->M, &k->options, width, from, to, report, failed)
               : k->options.method == TULLE_KRYLOV_MINRES
                   ? tulle__minres_solve(k->A, k->M, &k->options, width, from, to, report, failed)
                   : solve_columns(k, from, to, report, failed));
    if (staged_X)
        TULLE_CALL(tulle__columns_return(staged_X, X));
    else
        TULLE_CALL(tulle_comm_agree(k->comm, TULLE_OK));
    return TULLE_OK;
}

static const char *name_of(int method)
{
    return tulle_krylov_method_name((tulle_krylov_method)method);
}

/* Refuses options that the method does not read. */
static tulle_status check_options(const tulle_krylov_options *o)
{
    unsigned readers = UINT_MAX;
    const tulle__option_reader rows[] = {{"restart", o->restart != 0, 1u << TULLE_KRYLOV_GMRES},
        {"width", o->width != 0, 1u << TULLE_KRYLOV_BLOCK_CG | 1u << TULLE_KRYLOV_MINRES}};
    return tulle__option_readers(rows, sizeof rows / sizeof *rows, name_of, (int)o->method, TULLE__NO_AUTO, &readers);
}

tulle_status tulle_krylov_solve(const tulle_operator *A, const tulle_operator *M, const tulle_mat *B, tulle_mat *X,
    const tulle_krylov_options *options, tulle_krylov_report *report)
{
    tulle_krylov_options own;
    tulle_operator a, m = {.comm = NULL};
    char failed[TULLE_MESSAGE_MAX] = "";
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__NULL(A->comm) || TULLE__NULL(A->layout) ||
        TULLE__NULL(A->bind) || TULLE__NULL(A->apply) || TULLE__NULL(A->unbind) ||
        (M && M->apply && (TULLE__NULL(M->bind) || TULLE__NULL(M->unbind))) || TULLE__OPTIONS(A, &a, cols) ||
        (M && TULLE__OPTIONS(M, &m, cols)) || TULLE__OPTIONS(options, &own, history_capacity) ||
        TULLE__OUTSIDE(options->method, TULLE_KRYLOV_METHOD_COUNT - 1))
        return tulle__refuse(A && A->comm ? A->comm : B ? B->comm : X ? X->comm : NULL);
    TULLE__ENTER(A->comm);
    tulle_status status = check_options(options);
    tulle__krylov_defaults(&own, X->type);
    tulle__krylov k = {.comm = A->comm, .A = A, .M = M && M->apply ? M : NULL, .options = own, .width = 1, .active = 1};
    TULLE_CALL(tulle_comm_agree(A->comm, status == TULLE_OK ? check(A, k.M, B, X, &k.options) : status));
    TULLE_CALL(solve(&k, B, X, report, failed));
    if (*failed) return tulle__fail(TULLE_ERR_CONVERGENCE, "%s", failed);
    return TULLE_OK;
}
