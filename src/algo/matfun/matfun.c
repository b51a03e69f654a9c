/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "algo/matfun/dense/function.h"
#include "algo/matfun/matfun_plan.h"
#include "algo/matfun/method_estimate.h"
#include "algo/matfun/whole/row_tiles.h"
#include "algo/matfun/whole/whole_function.h"
#include "algo/option_readers.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "base/spec.h"
#include "base/words/names.h"
#include "device/cpu/dense_calls.h"
#include "mat/algebra/finite.h"
#include "mat/compressed.h"
#include "mat/context.h"
#include "mat/half/expanded.h"
#include "tile/tile_blocks.h"

TULLE__WORDS(methods, TULLE_MATFUN_METHOD_LIST);
TULLE__NAME(tulle_matfun_method, method, methods)
TULLE__PARSE(tulle_matfun_method, method, methods, "method")

/* ---- the plan ---- */

static void unmake(tulle_matfun *plan)
{
    tulle__submatrices_fini(&plan->s);
    plan->made = false;
}

static void drop(tulle__owned *object)
{
    tulle_matfun *plan = (tulle_matfun *)object;
    unmake(plan);
    tulle__mat_drop(plan->full);
    tulle__eigen_device_free(plan->device);
    tulle__free(plan->checked);
    tulle__free(plan);
}

void tulle_matfun_free(tulle_matfun *plan)
{
    if (!plan) return;
    tulle__pe_disown(&plan->owned);
    tulle_mat_free(plan->copy);
    drop(&plan->owned);
}

static const char *name_of(int method)
{
    return tulle_matfun_method_name((tulle_matfun_method)method);
}

/* Refuses options that the method does not read (AUTO may come to any), and values out of range. */
static tulle_status check_options(const tulle_matfun_options *o)
{
    enum { AUTO = 1u << TULLE_MATFUN_AUTO };
    unsigned readers = UINT_MAX;
    const tulle__option_reader rows[] = {{"combine", o->combine != 0, AUTO | 1u << TULLE_MATFUN_SUBMATRIX},
        {"mixed", o->mixed, AUTO | 1u << TULLE_MATFUN_SUBMATRIX},
        {"order", o->order > 2, AUTO | 1u << TULLE_MATFUN_NEWTON_SCHULZ}};
    TULLE_CALL(
        tulle__option_readers(rows, sizeof rows / sizeof *rows, name_of, (int)o->method, TULLE__NO_AUTO, &readers));
    if (o->combine < 0 && o->combine != TULLE_NONE)
        return tulle__fail(TULLE_ERR_ARG, "tulle_matfun_new: combine is a number, 0 or TULLE_NONE, not %d", o->combine);
    if (!(o->filter >= 0))
        return tulle__fail(TULLE_ERR_ARG, "tulle_matfun_new: filter is at least 0, not %g", o->filter);
    return TULLE_OK;
}

tulle_status tulle__mixed_check(const tulle_mat *A, bool mixed)
{
    if (!mixed || A->type == TULLE_F64) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "options.mixed is read for f64 matrices only, not for %s, whose work is in f32",
        tulle_type_name(A->type));
}

static tulle_status check(const tulle_mat *A, const tulle_matfun_options *o)
{
    const tulle_layout *l = A->layout;
    if (A->symmetry == TULLE_SKEW)
        return tulle__fail(TULLE_ERR_ARG, "a function is of a symmetric matrix, not of half of an antisymmetric one");
    if (A->kind != TULLE_VBSR)
        return tulle__fail(
            TULLE_ERR_ARG, "a function is of a matrix in blocks (vbsr), not of a %s one", tulle_kind_name(A->kind));
    if (l->m != l->n)
        return tulle__fail(
            TULLE_ERR_ARG, "a function is of a square matrix, not of one of %" PRId64 " x %" PRId64, l->m, l->n);
    if (!tulle__layout_same_cuts(
            l->row_blocks.cut, (int)l->row_blocks.count, l->col_blocks.cut, (int)l->col_blocks.count))
        return tulle__fail(TULLE_ERR_ARG, "a function is of a matrix with the same blocks of rows and of columns");
    if ((unsigned)o->method >= TULLE_MATFUN_METHOD_COUNT)
        return tulle__fail(TULLE_ERR_ARG, "there is no method number %d", (int)o->method);
    if (o->device && o->method != TULLE_MATFUN_SUBMATRIX)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a device computes submatrices: the method is submatrix then, not %s",
            methods[o->method]);
    if (o->method == TULLE_MATFUN_NEWTON_SCHULZ || o->method == TULLE_MATFUN_COUPLED_NEWTON)
        return tulle__wants_values(A->comm, "a function of a matrix");
#ifndef TULLE_HAVE_LAPACK
    if (!o->device)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "functions of matrices by submatrices need LAPACK, without which Tulle was built here, or a device: cuda "
            "has cuSOLVER; the methods %s and %s need neither",
            methods[TULLE_MATFUN_NEWTON_SCHULZ], methods[TULLE_MATFUN_COUPLED_NEWTON]);
#endif
#ifdef TULLE_HAVE_CBLAS
    if (!tulle__blas_by_threads())
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "functions of matrices need a BLAS that several threads may call at a time");
#endif
    return tulle__wants_values(A->comm, "a function of a matrix");
}

/* Sets A to the given matrix, or to both halves of it. Collective, agreed. */
static tulle_status renew_full(tulle_matfun *plan)
{
    int64_t copied = 0;
    plan->A = plan->given;
    if (plan->given->symmetry == TULLE_GENERAL) return TULLE_OK;
    TULLE_CALL(tulle__expanded_renew(plan->given, TULLE_OP_N, &plan->full, &plan->full_of, &copied));
    plan->A = plan->full;
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status make(tulle_matfun *plan)
{
    tulle_comm *comm = plan->given->comm;
    int64_t start = tulle__now(comm);
    tulle_status status;
    TULLE_TRY(renew_full(plan));
    TULLE_TRY(tulle__row_tiles(plan->A, plan->options.filter, &plan->copy, &plan->inserted));
    bool either = plan->options.method == TULLE_MATFUN_AUTO;
    if (either || plan->options.method == TULLE_MATFUN_SUBMATRIX)
        TULLE_TRY(tulle__submatrices_init(&plan->s, tulle__matfun_rows(plan), plan->options.combine));
    if (either) TULLE_TRY(tulle__matfun_estimate(&plan->s, plan->options.filter, &plan->estimate));
out:
    status = tulle_comm_agree(comm, status);
    plan->structure = plan->given->structure;
    plan->plan_seconds = (double)(tulle__now(comm) - start) * 1e-9;
    plan->made = status == TULLE_OK;
    if (!plan->made) unmake(plan);
    return status;
}

/* Checks what a PE can check by itself, and allocates the plan. */
static tulle_status begin(const tulle_mat *A, tulle_matfun_options *options, tulle_matfun **plan)
{
    TULLE_CALL(tulle__mat_has_tiles(A));
    TULLE_CALL(check(A, options));
    TULLE_CALL(tulle__order_check(&options->order));
    TULLE_CALL(check_options(options));
    TULLE_CALL(tulle__mixed_check(A, options->mixed));
    TULLE_CALL(tulle__alloc_zero(1, sizeof **plan, "a plan", plan));
    (*plan)->given = (*plan)->A = A;
    (*plan)->options = *options;
    return tulle__alloc_zero(1, sizeof *(*plan)->checked, "a plan", &(*plan)->checked);
}

/* *plan is the caller's also after a failure. Collective, agreed. */
static tulle_status build(const tulle_mat *A, tulle_matfun_options *o, tulle_matfun **plan)
{
    TULLE_CALL(tulle_comm_agree(A->comm, begin(A, o, plan)));
    const int64_t same[] = {o->combine, o->symmetric, (int64_t)o->method, o->order, o->mixed, o->device != NULL};
    TULLE_CALL(tulle__agree_alike(A->comm, 6, same, "options of a function"));
    tulle__pe_own(A->comm->pe, &(*plan)->owned, drop);
    if (o->device) TULLE_CALL(tulle_comm_agree(A->comm, tulle__eigen_device_new(A->comm, o->device, &(*plan)->device)));
    return make(*plan);
}

tulle_status tulle_matfun_new(const tulle_mat *A, const tulle_matfun_options *options, tulle_matfun **plan)
{
    tulle_matfun_options copy;
    if (TULLE__NULL(A) || TULLE__NULL(plan) || TULLE__OPTIONS(options, &copy, device))
        return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    tulle_matfun *made = NULL;
    const tulle_status status = build(A, &copy, &made);
    if (status != TULLE_OK)
        tulle_matfun_free(made);
    else
        *plan = made;
    return status;
}

tulle_status tulle_matfun_update(tulle_matfun *plan)
{
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    TULLE__ENTER(plan->A->comm);
    if (plan->made && plan->structure == plan->given->structure) return TULLE_OK;
    unmake(plan);
    tulle_mat_free(plan->copy);
    plan->copy = NULL;
    return make(plan);
}

/*
 * Before a sweep: the copy's values are A's. TULLE_ERR_STATE if the pattern has changed.
 * Collective, agreed.
 */
static tulle_status matfun_renew(tulle_matfun *plan)
{
    tulle_status status = TULLE_OK;
    if (!plan->made || plan->structure != plan->given->structure)
        status = tulle__fail(TULLE_ERR_STATE,
            "the pattern of the matrix has changed since the plan was made: tulle_matfun_update makes it anew");
    TULLE_CALL(tulle_comm_agree(plan->A->comm, status));
    TULLE_CALL(renew_full(plan));
    return plan->copy ? tulle__row_tiles_refill(plan->A, plan->copy) : TULLE_OK;
}

tulle_matfun_method tulle__matfun_method_for(const tulle_matfun *plan)
{
    return plan->options.method == TULLE_MATFUN_AUTO ? plan->used : plan->options.method;
}

/* ---- results ---- */

static void renew_norms(tulle_mat *F)
{
    for (int i = 0; i < F->layout->mt; i++) {
        if (!tulle__tile_is_mine(F, i, 0) || !F->directory[tulle__tile_index(F, i, 0)].place.length) continue;
        tulle_own_tile tile = tulle__own_tile_in_place(F, i, 0);
        tulle__blocks_renew_norms(&tile);
    }
}

/*
 * After the last sweep: symmetry, if asymmetry is not NULL, norms of F's blocks, A's layout. *F is the caller's also
 * after a failure. Collective, agreed.
 */
static tulle_status matfun_finish(const tulle_matfun *plan, tulle_mat **F, double *asymmetry)
{
    tulle_mat *moved = NULL;
    if (asymmetry) TULLE_CALL(tulle__symmetrise(F, asymmetry));
    renew_norms(*F);
    TULLE_CALL(tulle_comm_agree(plan->A->comm, TULLE_OK));
    if (tulle__layout_equal((*F)->layout, plan->A->layout)) return TULLE_OK;
    TULLE_CALL(tulle_mat_redistribute(*F, plan->A->layout, &moved));
    tulle_mat_free(*F);
    *F = moved;
    return TULLE_OK;
}

tulle_status tulle__matfun_report(
    const tulle_matfun *plan, const tulle__sweep *sweep, double seconds, tulle_matfun_report *report)
{
    tulle_comm *comm = plan->A->comm;
    const tulle__submatrices *s = &plan->s;
    const tulle_device_work *d = &sweep->device;
    int64_t sum[12] = {s->count, sweep->bytes + s->pattern.bytes, 0, sweep->stolen, sweep->wide, sweep->on_device,
        d->copies[0], d->copies[1], d->bytes[0], d->bytes[1], d->kernels, sweep->off_device},
            most[2] = {0, sweep->waves};
    double sums[6] = {
        s->rows_sum, sweep->dense, sweep->transfers, d->copy_seconds[0], d->copy_seconds[1], d->kernel_seconds};
    double largest[7] = {
        seconds, plan->plan_seconds, s->own_work, -sweep->least, sweep->most, sweep->dense, sweep->rounding};
    tulle__context *context = NULL;
    TULLE_CALL(tulle__context_get(comm, &context));
    int threads = tulle__pool_size(context->pool);
    for (int64_t k = 0; k < s->count; k++)
        if (s->sub[k].n > most[0]) most[0] = s->sub[k].n;
    for (int64_t k = 0; k < s->count; k++)
        for (int64_t c = 0; c < s->sub[k].ncols; c++)
            sum[2] += tulle__block_row_of(&s->pattern, s->index[s->sub[k].cols + c])->count;
    TULLE_CALL(tulle_comm_reduce_int(comm, TULLE_SUM, 12, sum));
    TULLE_CALL(tulle_comm_reduce_int(comm, TULLE_MAX, 2, most));
    TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, 6, sums));
    TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_MAX, 7, largest));
    double time = largest[0] * threads * comm->size;
    *report = (tulle_matfun_report){.columns = plan->A->layout->row_blocks.count,
        .blocks = sum[2],
        .submatrices = sum[0],
        .largest = most[0],
        .mean = sum[0] ? sums[0] / (double)sum[0] : 0,
        .work = s->work,
        .imbalance = s->work > 0 ? largest[2] * comm->size / s->work : 1,
        .inserted = plan->inserted,
        .waves = most[1],
        .bytes = sum[1],
        .plan_seconds = largest[1],
        .seconds = largest[0],
        .dense = sums[1] / comm->size,
        .outside = tulle__is_virtual(comm) || !(time > 0) ? NAN : fmax(0, 1 - (sums[1] + sums[2] * threads) / time),
        .stolen = sum[3],
        .wide = sum[4],
        .busy = sums[1] > 0 ? largest[5] * comm->size / sums[1] : 1,
        .rounding = largest[6],
        .asymmetry = NAN,
        .least = -largest[3],
        .most = largest[4],
        .on_device = sum[5],
        .off_device = sum[11]};
    if (plan->device)
        report->device = (tulle_device_work){.devices = 1,
            .copies = {sum[6], sum[7]},
            .bytes = {sum[8], sum[9]},
            .kernels = sum[10],
            .copy_seconds = {sums[3], sums[4]},
            .kernel_seconds = sums[5]};
    return TULLE_OK;
}

/* ---- execution ---- */

struct execution {
    const tulle_matfun *plan;
    const tulle_function *function;
    double *below, *above; /* [count]: the eigenvalues next to mu, by submatrix */
    int64_t count;
};

static tulle_status reserve(void *context, const tulle__submatrices *more)
{
    struct execution *e = context;
    int64_t submatrices = e->count + more->count;
    TULLE_CALL(tulle__realloc((size_t)submatrices, sizeof *e->below, "gaps", &e->below));
    TULLE_CALL(tulle__realloc((size_t)submatrices, sizeof *e->above, "gaps", &e->above));
    for (int64_t k = e->count; k < submatrices; k++) {
        e->below[k] = -INFINITY;
        e->above[k] = INFINITY;
    }
    e->count = submatrices;
    return TULLE_OK;
}

static tulle_status visit(void *context, const tulle__submatrix *sub, int64_t k, tulle__eigen *x, bool *wanted)
{
    struct execution *e = context;
    int64_t n = sub->n, bad = tulle__function_values(e->function, x->type, n, x->lambda, x->value);
    if (bad >= 0)
        return tulle__fail(TULLE_ERR_ARG,
            "%s is not defined for the eigenvalue %.9g (or is no finite number) of the submatrix of block "
            "column " TULLE__AT TULLE__COUNTED,
            tulle_function_name(e->function->kind), x->lambda[bad], (int64_t)sub->column);
    e->below[k] = -INFINITY;
    e->above[k] = INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (x->lambda[i] < e->function->mu)
            e->below[k] = x->lambda[i];
        else if (isinf(e->above[k]))
            e->above[k] = x->lambda[i];
    }
    *wanted = true;
    return TULLE_OK;
}

static void stepped(void *context, int64_t k, const tulle__eigen *x)
{
    struct execution *e = context;
    e->below[k] = x->gap.below;
    e->above[k] = x->gap.above;
}

/* Functions that need no eigenvectors. */
static void take_shortcut(const tulle_function *f, tulle__visitor *visitor)
{
    static const tulle__power powers[TULLE_FUNCTION_COUNT] = {[TULLE_FUNCTION_INVERSE] = TULLE__INVERSE,
        [TULLE_FUNCTION_SQRT] = TULLE__SQRT,
        [TULLE_FUNCTION_INVSQRT] = TULLE__INVSQRT};
    bool sign = f->kind == TULLE_FUNCTION_SIGN, step = sign || f->kind == TULLE_FUNCTION_FERMI;
    visitor->power = powers[f->kind];
    if (f->kind == TULLE_FUNCTION_ROOT && f->p == 2) visitor->power = TULLE__SQRT;
    if (f->kind == TULLE_FUNCTION_ROOT && f->p == -2) visitor->power = TULLE__INVSQRT;
    if (step || visitor->power != TULLE__POWER_NONE) visitor->stepped = stepped;
    visitor->mu = f->mu;
    visitor->kT = f->kind == TULLE_FUNCTION_FERMI ? f->kT : 0;
    visitor->below = sign ? -1 : 1;
    visitor->above = sign ? 1 : 0;
}

/* The gap at mu, of all PEs. */
static tulle_status find_gap(const struct execution *e, tulle_matfun_report *report)
{
    double gap[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < e->count; k++) {
        gap[0] = fmax(gap[0], e->below[k]);
        gap[1] = fmax(gap[1], -e->above[k]);
    }
    tulle_status status = tulle_comm_reduce_real(e->plan->A->comm, TULLE_MAX, 2, gap);
    report->below = gap[0];
    report->above = -gap[1];
    return status;
}

/* Values and gaps. */
static tulle_status sweep_values(struct execution *e, tulle_matfun *plan, tulle_mat *F, tulle__sweep *sweep)
{
    tulle__visitor visitor = {.visit = visit, .context = e, .reserve = reserve};
    take_shortcut(e->function, &visitor);
    TULLE_CALL(reserve(e, &plan->s));
    return tulle__matfun_sweep(plan, &visitor, F, sweep);
}

/* The same, with the report. Collective. */
static tulle_status measure(
    struct execution *e, tulle_matfun *plan, tulle_mat *F, tulle_matfun_report *report, int64_t start)
{
    tulle__sweep sweep;
    tulle_comm *comm = plan->A->comm;
    TULLE_CALL(tulle_comm_agree(comm, sweep_values(e, plan, F, &sweep)));
    TULLE_CALL(tulle__matfun_report(plan, &sweep, (double)(tulle__now(comm) - start) * 1e-9, report));
    return find_gap(e, report);
}

/* *F in A's layout by submatrices; it is the caller's also after a failure. Collective, agreed. */
static tulle_status dense_functions(
    tulle_matfun *plan, const tulle_function *function, tulle_mat **F, tulle_matfun_report *report, int64_t start)
{
    struct execution e = {.plan = plan, .function = function};
    TULLE_CALL(tulle__like(tulle__matfun_rows(plan), F));
    const tulle_status status = tulle_comm_agree(plan->A->comm, measure(&e, plan, *F, report, start));
    tulle__free(e.below);
    tulle__free(e.above);
    TULLE_CALL(status);
    return matfun_finish(plan, F, plan->options.symmetric ? &report->asymmetry : NULL);
}

/* *F, its blocks, its asymmetry and the time. Collective, agreed. */
static tulle_status run_iterations(tulle_matfun *plan, const tulle_function *function, tulle__iterations *it,
    tulle_mat **F, tulle_matfun_report *report, int64_t start)
{
    TULLE__SCOPED_MAT tulle_mat *square = NULL, *made = NULL;
    const tulle_mat *rows = tulle__matfun_rows(plan);
    tulle_comm *comm = plan->A->comm;
    TULLE_CALL(tulle__check_symmetric(rows, rows->layout));
    TULLE_CALL(tulle__whole_function(it, plan->options.order, function, rows, plan->A, &square));
    if (plan->options.symmetric) TULLE_CALL(tulle__symmetrise(&square, &report->asymmetry));
    report->blocks = llround(tulle__occupation_of(square) * (double)report->columns * (double)report->columns);
    TULLE_CALL(tulle_mat_redistribute(square, plan->A->layout, &made));
    tulle__mat_free_scoped(&square);
    report->seconds = (double)(tulle__now(comm) - start) * 1e-9;
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 1, &report->seconds)));
    *F = made;
    made = NULL;
    return TULLE_OK;
}

/* *F in A's layout by iterations with the whole matrix. Collective, agreed. */
static tulle_status iterate(tulle_matfun *plan, const tulle_function *function, const tulle__forecast *forecast,
    tulle_mat **F, tulle_matfun_report *report, int64_t start)
{
    const tulle_matfun_options *o = &plan->options;
    tulle__iterations it = {.filter = o->filter,
        .tolerance = fmax(o->filter, plan->A->type == TULLE_F32 ? 1e-5 : 1e-12),
        .scale = 1,
        .history = o->history,
        .capacity = o->history_capacity,
        .forecast = forecast};
    *report = (tulle_matfun_report){.columns = plan->A->layout->row_blocks.count,
        .imbalance = 1,
        .inserted = plan->inserted,
        .plan_seconds = plan->plan_seconds,
        .outside = NAN,
        .least = NAN,
        .most = NAN,
        .below = NAN,
        .above = NAN,
        .asymmetry = NAN};
    const tulle_status status = run_iterations(plan, function, &it, F, report, start);
    if (status != TULLE_OK) {
        report->abandoned = it.count;
        report->abandoned_seconds = (double)(tulle__now(plan->A->comm) - start) * 1e-9;
    }
    report->iterations = it.count;
    report->residual = it.residual;
    report->flops = it.flops;
    return status;
}

/*
 * AUTO: submatrices, or an iteration that is worth a try, and in its place submatrices if it is given up or has no
 * result. *F is the caller's also after a failure. Collective, agreed.
 */
static tulle_status execute_auto(
    tulle_matfun *plan, const tulle_function *function, tulle_mat **F, tulle_matfun_report *report, int64_t start)
{
    const tulle_matfun_method whole = tulle__whole_method(function);
    const tulle_matfun_options *o = &plan->options;
    tulle__forecast forecast;
    tulle_matfun_report tried = {.columns = 0};
    tulle_status status = TULLE_ERR_CONVERGENCE; /* until something converges */
    plan->used = TULLE_MATFUN_SUBMATRIX;
    TULLE_CALL(
        tulle__matfun_forecast(&plan->estimate, tulle__matfun_rows(plan), function, o->filter, o->order, &forecast));
    if (whole != TULLE_MATFUN_SUBMATRIX && tulle__matfun_worth_a_try(&forecast)) {
        status = iterate(plan, function, &forecast, F, &tried, start);
        *report = tried;
        plan->used = whole;
    }
    if (status == TULLE_ERR_CONVERGENCE) {
        plan->used = TULLE_MATFUN_SUBMATRIX;
        status = dense_functions(plan, function, F, report, start);
    }
    report->abandoned = tried.abandoned;
    report->abandoned_seconds = tried.abandoned_seconds;
    report->estimate[0] = forecast.other;
    report->estimate[1] = forecast.seconds;
    return status;
}

static tulle_status check_function(const tulle_matfun *plan, const tulle_function *function)
{
    TULLE_CALL(tulle__function_check(function));
    return tulle__whole_supports(plan->options.method, function);
}

/* *F is the caller's also after a failure. Collective, agreed. */
static tulle_status execute(
    tulle_matfun *plan, const tulle_function *function, tulle_mat **F, tulle_matfun_report *report)
{
    const int64_t start = tulle__now(plan->A->comm);
    TULLE_CALL(tulle_comm_agree(plan->A->comm, check_function(plan, function)));
    TULLE_CALL(matfun_renew(plan));
    TULLE_CALL(tulle__wants_finite(plan->A, "the matrix"));
    if (plan->options.method == TULLE_MATFUN_AUTO) return execute_auto(plan, function, F, report, start);
    if (plan->options.method == TULLE_MATFUN_SUBMATRIX) return dense_functions(plan, function, F, report, start);
    return iterate(plan, function, NULL, F, report, start);
}

tulle_status tulle_matfun_execute(
    tulle_matfun *plan, const tulle_function *function, tulle_mat **F, tulle_matfun_report *report)
{
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    if (TULLE__NULL(function) || TULLE__NULL(F)) return tulle__refuse(plan->A->comm);
    TULLE__ENTER(plan->A->comm);
    tulle_mat *made = NULL;
    tulle_matfun_report facts = {.columns = 0};
    tulle_status status = execute(plan, function, &made, &facts);
    facts.method = tulle__matfun_method_for(plan);
    status = tulle__mat_or_free(status, made, F);
    if (status == TULLE_OK && report) *report = facts;
    return status;
}
