/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for eigenpairs: its arguments and memory, and the true residuals at the end. */
#include "algo/spectrum/spectrum_plan.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/spectrum/unread.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

enum { BLOCK = 4, COUNT = 6, PASSES = 1000, FILTERED = 10000 };

/* ---- plans ---- */

void tulle__spectrum_defaults(tulle_spectrum_options *o, tulle_gidx n, tulle_type type, tulle_gidx cols, int pes)
{
    if (!o->count) o->count = n < COUNT ? (int)n : COUNT;
    if (o->tolerance == 0) o->tolerance = type == TULLE_F32 ? 1e-4 : 1e-8;
    if (!o->block) {
        const bool alone = o->chebyshev && o->count < TULLE__CHEBYSHEV_MANY && !cols && pes == 1;
        const int usual = alone ? 1 : BLOCK;
        o->block = cols && cols < usual ? (int)cols : usual;
        if (o->block > n) o->block = n ? (int)n : 1;
    }
    if (!o->max_passes)
        o->max_passes = !o->chebyshev ? PASSES : o->block < BLOCK ? FILTERED * BLOCK / o->block : FILTERED;
    if (o->passes) o->max_passes = o->passes;
    if (!o->basis) {
        const int64_t count = o->count, block = o->block, least = count + 2 * block, fixed = o->passes * block,
                      free = count + (count > 20 ? count : 20) + 4 * block,
                      basis = !o->passes      ? free
                              : fixed > least ? fixed
                                              : least;
        o->basis = basis < INT_MAX / 2 ? (int)basis : INT_MAX / 2;
    }
    if (o->basis > n) o->basis = (int)n;
}

tulle_status tulle__spectrum_check(const tulle_spectrum_options *o, tulle_gidx n, tulle_gidx cols)
{
    if (o->count < 1 || o->count > n)
        return tulle__fail(TULLE_ERR_ARG, "%d eigenpairs of a matrix of %" PRId64 " rows", o->count, n);
    if (!(o->tolerance > 0) || o->max_passes < 1)
        return tulle__fail(TULLE_ERR_ARG, "the tolerance and max_passes must be above 0, but are %g and %" PRId64,
            o->tolerance, o->max_passes);
    const tulle_gidx most = cols && cols < TULLE__TALL_MOST ? cols : TULLE__TALL_MOST;
    if (o->block < 1 || o->block > most)
        return tulle__fail(TULLE_ERR_ARG, "a block has 1 to %" PRId64 " directions, not %d", most, o->block);
    if (o->basis < n && o->basis < o->count + 2 * o->block)
        return tulle__fail(TULLE_ERR_ARG,
            "a basis of %d directions is too small: %d pairs with blocks of %d need at least %d", o->basis, o->count,
            o->block, o->count + 2 * o->block);
    if (o->basis > TULLE__BASIS_MOST)
        return tulle__fail(TULLE_ERR_ARG, "a basis of %d directions for %d pairs is too large: it has at most %d",
            o->basis, o->count, (int)TULLE__BASIS_MOST);
    if (o->chebyshev && (o->passes || o->nearest || o->end == TULLE_SPECTRUM_BOTH))
        return tulle__fail(TULLE_ERR_ARG,
            "a Chebyshev filter is for pairs of one end (SA, LA) or the largest in magnitude (LM), not %s",
            o->passes    ? "so many passes"
            : o->nearest ? "those nearest to a value"
                         : tulle_spectrum_end_name(o->end));
    if (o->passes && (int64_t)o->passes * o->block < o->count && (int64_t)o->passes * o->block < n)
        return tulle__fail(
            TULLE_ERR_ARG, "%d passes of %d directions do not span %d pairs", o->passes, o->block, o->count);
    return TULLE_OK;
}

/* The outcome is the same on all PEs. */
static tulle_status check(const tulle_operator *A, const tulle_spectrum_options *o)
{
    if (A->layout->m != A->n || A->layout->n != 1 || A->layout->nt != 1 ||
        !tulle__operator_one_tile_each(A->layout, A->comm->size))
        return tulle__fail(TULLE_ERR_ARG, "the operator's vectors must be n x 1, with at most one tile a PE");
    TULLE_CALL(tulle__spectrum_check(o, A->n, A->cols));
    return tulle__wants_values(A->comm, "a method for eigenpairs");
}

static void drop(tulle__owned *object)
{
    tulle_spectrum *s = (tulle_spectrum *)object;
    tulle__basis_fini(&s->basis);
    tulle__free(s->T);
    tulle__free(s->work);
    tulle__free(s->U);
    tulle__free(s->theta);
    tulle__free(s->order);
    tulle__free(s->H);
    tulle__free(s->share);
    tulle__free(s->wanted);
    tulle__free(s->pair);
    if (s->pencil) tulle_layout_free(s->pencil->square);
    tulle__free(s->pencil);
    tulle__free(s);
}

void tulle_spectrum_free(tulle_spectrum *s)
{
    if (!s) return;
    tulle__pe_disown(&s->owned);
    tulle__chebyshev_fini(s);
    if (s->bound) s->A->unbind(s->bound);
    tulle_mat_free(s->out.mat);
    tulle_mat_free(s->in.mat);
    if (s->pencil) tulle__pencil_fini(s->pencil);
    drop(&s->owned);
}

size_t tulle_spectrum_memory(
    const tulle_spectrum_options *options, tulle_gidx n, tulle_gidx rows, tulle_type type, int pes)
{
    enum { FIXED = 1 << 20 }; /* what bindings of a product take */
    tulle_spectrum_options own;
    if (TULLE__OPTIONS(options, &own, guess) || TULLE__NEGATIVE(n) || TULLE__NEGATIVE(rows) ||
        TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NEGATIVE(pes))
        return 0;
    tulle__spectrum_defaults(&own, n, type, 0, pes);
    if (own.block < 1 || own.block > TULLE__TALL_MOST || own.count < 1 || own.basis < 1) return 0;
    const size_t capacity = (size_t)(own.basis + own.block), line = (size_t)rows * tulle_type_size(type);
    /* in and out; X and its product at the end, without the basis; T, its copy and its vectors */
    return tulle__basis_bytes(rows, type, (int)capacity, own.block, pes) +
           (own.chebyshev ? 4 : 2) * (size_t)own.block * line + (size_t)own.count * line +
           6 * capacity * capacity * sizeof(double) + FIXED;
}

/* Collective, agreed. */
static tulle_status init(tulle_spectrum *s)
{
    tulle_status status;
    const tulle_spectrum_options *o = &s->options;
    const size_t count = (size_t)o->count, capacity = (size_t)(o->basis + o->block);
    const size_t lines = (capacity + TULLE__TALL_MOST - 1) / TULLE__TALL_MOST * TULLE__TALL_MOST;
    s->most = o->basis;
    TULLE_TRY(tulle__basis_init(s->comm, s->A->layout, s->A->type, (int)capacity, o->block, &s->basis));
    TULLE_TRY(tulle__alloc_zero(capacity * capacity, sizeof *s->T, "the projected matrix", &s->T));
    TULLE_TRY(tulle__alloc(capacity * capacity, sizeof *s->work, "the projected matrix", &s->work));
    TULLE_TRY(tulle__alloc(capacity * capacity, sizeof *s->U, "the projected matrix", &s->U));
    TULLE_TRY(tulle__alloc(capacity, sizeof *s->theta, "values", &s->theta));
    TULLE_TRY(tulle__alloc(capacity, sizeof *s->order, "values", &s->order));
    TULLE_TRY(tulle__alloc(lines, sizeof *s->H, "inner products", &s->H));
    TULLE_TRY(tulle__alloc((size_t)TULLE__TALL_MOST, sizeof *s->share, "inner products", &s->share));
    TULLE_TRY(tulle__alloc(count, sizeof *s->wanted, "values", &s->wanted));
    TULLE_TRY(tulle__alloc(count, sizeof *s->pair, "values", &s->pair));
out:
    status = tulle_comm_agree(s->comm, status);
    if (status == TULLE_OK) status = tulle__vector_new(s->A, o->block, &s->in);
    if (status == TULLE_OK) status = tulle__vector_new(s->A, o->block, &s->out);
    if (status == TULLE_OK) status = s->A->bind(s->A->context, s->in.mat, s->out.mat, &s->bound);
    return status == TULLE_OK && o->chebyshev ? tulle__chebyshev_init(s) : status;
}

/* True with a message that names the function and the field: numbers that no plan takes. */
#define OPTIONS_WRONG(options)                                                                                         \
    (TULLE__OUTSIDE((options)->end, TULLE_SPECTRUM_END_COUNT - 1) || TULLE__NEGATIVE((options)->count) ||              \
        TULLE__NEGATIVE((options)->block) || TULLE__NEGATIVE((options)->basis) ||                                      \
        TULLE__NEGATIVE((options)->max_passes) || TULLE__NEGATIVE((options)->passes) ||                                \
        TULLE__NEGATIVE((options)->degree))

tulle_status tulle_spectrum_choose(const tulle_spectrum_options *options, tulle_gidx n, tulle_spectrum_sizes *sizes)
{
    tulle_spectrum_options own;
    if (TULLE__NULL(sizes) || TULLE__NEGATIVE(n) || TULLE__OPTIONS(options, &own, guess) || OPTIONS_WRONG(options))
        return TULLE_ERR_ARG;
    TULLE_CALL(tulle__spectrum_unread(&own));
    tulle__spectrum_defaults(&own, n, TULLE_F64, 0, 1);
    TULLE_CALL(tulle__spectrum_check(&own, n, 0));
    *sizes = (tulle_spectrum_sizes){own.count, own.block, own.basis};
    return TULLE_OK;
}

tulle_status tulle__spectrum_presence(tulle_comm *comm, const void *given, const char *name)
{
    int64_t there[2] = {given != NULL, given == NULL};
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_MAX, 2, there);
    if (status == TULLE_OK && there[0] && there[1])
        status = tulle__fail(TULLE_ERR_ARG, "%s is given on some PEs, and on others not", name);
    return tulle_comm_agree(comm, status);
}

/* A plan for an operator, which is the pencil's that it has then, or the caller's. Collective, agreed. */
static tulle_status plan_of(
    const tulle_operator *A, tulle__pencil *pencil, const tulle_spectrum_options *options, tulle_spectrum **plan)
{
    tulle_spectrum *s = NULL;
    tulle_spectrum_options own = *options;
    tulle__spectrum_defaults(&own, A->n, A->type, A->cols, A->comm->size);
    if (pencil) own.end = pencil->end;
    tulle_status status = tulle__spectrum_unread(options);
    if (status == TULLE_OK) status = check(A, &own);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *s, "a plan for eigenpairs", &s);
    status = tulle_comm_agree(A->comm, status);
    if (status != TULLE_OK) {
        tulle__free(s);
        if (pencil) tulle__pencil_fini(pencil);
        tulle__free(pencil);
        return status;
    }
    s->comm = A->comm;
    s->op = *A;
    s->A = &s->op;
    s->pencil = pencil;
    s->options = own;
    tulle__pe_own(s->comm->pe, &s->owned, drop);
    status = init(s);
    if (status == TULLE_OK)
        *plan = s;
    else
        tulle_spectrum_free(s);
    return status;
}

tulle_status tulle_spectrum_new(const tulle_operator *A, const tulle_spectrum_options *options, tulle_spectrum **plan)
{
    tulle_spectrum_options own;
    tulle_operator op;
    if (TULLE__NULL(A) || TULLE__NULL(A->comm) || TULLE__NULL(A->layout) || TULLE__NULL(A->bind) ||
        TULLE__NULL(A->apply) || TULLE__NULL(A->unbind) || TULLE__NULL(plan) || TULLE__OPTIONS(A, &op, cols) ||
        TULLE__OPTIONS(options, &own, guess) || OPTIONS_WRONG(options))
        return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    if (own.nearest)
        return tulle_comm_agree(A->comm,
            tulle__fail(TULLE_ERR_ARG, "pairs nearest to a value want a matrix, which is factorised, not an operator"));
    return plan_of(&op, NULL, &own, plan);
}

tulle_status tulle_spectrum_of_mat(
    const tulle_mat *H, const tulle_mat *S, const tulle_spectrum_options *options, tulle_spectrum **plan)
{
    tulle_spectrum_options own;
    if (TULLE__NULL(H) || TULLE__NULL(plan) || TULLE__OPTIONS(options, &own, guess) || OPTIONS_WRONG(options))
        return tulle__refuse(H ? H->comm : NULL);
    TULLE__ENTER(H->comm);
    tulle__pencil *pencil = NULL;
    TULLE_CALL(tulle__spectrum_presence(H->comm, S, "S"));
    tulle_status status =
        tulle_comm_agree(H->comm, tulle__alloc_zero(1, sizeof *pencil, "a plan for eigenpairs", &pencil));
    if (status == TULLE_OK) status = tulle__pencil_init(H, S, &own, pencil);
    if (status == TULLE_OK) return plan_of(&pencil->C, pencil, &own, plan);
    if (pencil && pencil->comm) tulle__pencil_fini(pencil);
    tulle__free(pencil);
    return status;
}

int tulle_spectrum_count(const tulle_spectrum *plan)
{
    return plan ? plan->options.count : 0;
}

/* ---- true residuals ---- */

/* Columns of X that go through the operator at a time, and what they take. */
struct last {
    tulle__vector in, out;
    void *bound;
    int width;
};

static tulle_status last_init(tulle_spectrum *s, struct last *last)
{
    const int count = s->options.count;
    last->width = s->options.block;
    if (count <= last->width) { /* those of the method */
        last->in = s->in;
        last->out = s->out;
        last->bound = s->bound;
        return TULLE_OK;
    }
    last->width = count < TULLE__TALL_MOST ? count : TULLE__TALL_MOST;
    if (s->A->cols && s->A->cols < last->width) last->width = (int)s->A->cols;
    TULLE_CALL(tulle__vector_new(s->A, last->width, &last->in));
    TULLE_CALL(tulle__vector_new(s->A, last->width, &last->out));
    return s->A->bind(s->A->context, last->in.mat, last->out.mat, &last->bound);
}

static void last_fini(tulle_spectrum *s, struct last *last)
{
    if (last->in.mat == s->in.mat) return;
    if (last->bound) s->A->unbind(last->bound);
    tulle_mat_free(last->out.mat);
    tulle_mat_free(last->in.mat);
}

/* ||A x - theta x|| of columns at .. at + n - 1. Collective, agreed. */
static tulle_status residuals_of(
    tulle_spectrum *s, struct last *last, int at, int n, const double *value, double *residual)
{
    tulle__multi *multi = &s->basis.multi;
    const tulle__block_of_columns X = {last->in.val, last->width, n};
    tulle__basis_extract(&s->basis, at, n, &X);
    if (s->last_pass) s->last_pass(s->last_arg, at);
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__spectrum_pass(s, last->bound, n));
    for (int i = 0; i < n; i++) {
        memset(s->basis.turn[i], 0, sizeof *s->basis.turn);
        s->basis.turn[i][i] = -value[i];
    }
    const tulle__multi_term term = {last->in.val, last->width, n, n, 1, s->basis.turn};
    tulle__multi_tsmm(multi, 1, &term, n, 1, last->out.val, last->width);
    for (int i = 0; i < n && status == TULLE_OK; i++) {
        double square = 0;
        const tulle_gidx size = (tulle_gidx)tulle_type_size(s->A->type);
        const char *r = (const char *)last->out.val + (size_t)(i * size);
        const tulle__multi_tsmttsm gram = {r, last->width, r, last->width, 1, 1, 1, s->basis.gram};
        status = tulle__multi_tsmttsm_all(multi, 1, &gram);
        square = s->basis.gram[0][0];
        residual[i] = square > 0 ? sqrt(square) : square == 0 ? 0 : NAN;
    }
    return status;
}

/* Residuals of the `found` first columns of the basis. Agreed. */
static tulle_status true_residuals(tulle_spectrum *s, int found, const double *value, double *residual)
{
    struct last last = {.bound = NULL};
    tulle_status status;
    TULLE_TRY(last_init(s, &last));
    for (int at = 0; at < found; at += last.width) {
        const int n = found - at < last.width ? found - at : last.width;
        TULLE_TRY(residuals_of(s, &last, at, n, value + at, residual + at));
    }
out:
    status = tulle_comm_agree(s->comm, status);
    last_fini(s, &last);
    return status;
}

/* X: the `found` first columns of the basis; the others are zeros. Agreed. */
static tulle_status write_vectors(const tulle_spectrum *s, int found, tulle_mat *X)
{
    tulle_status status;
    tulle_mat *staged = NULL;
    TULLE_TRY(tulle__columns_stage(X, s->A->layout, 0, &staged));
    tulle_mat *to = staged ? staged : X;
    for (tulle_gidx c = 0; c < s->options.count; c++) {
        const double factor = c < found;
        const char *from = (const char *)s->basis.V + (c < found ? (size_t)c * tulle_type_size(s->A->type) : 0);
        tulle__columns_write_some(to, 1, &c, &factor, from, s->basis.capacity);
    }
    TULLE_TRY(tulle_comm_agree(s->comm, TULLE_OK)); /* all have written */
    if (staged) TULLE_TRY(tulle__columns_return(staged, X));
out:
    status = tulle_comm_agree(s->comm, status);
    tulle_mat_free(staged);
    return status;
}

/* ---- execution ---- */

static tulle_status report_totals(const tulle_spectrum *s, tulle_spectrum_report *report)
{
    const int64_t ns[4] = {
        tulle__now(s->comm) - s->begun, s->product_ns, s->basis.multi.space.dots_ns, s->basis.multi.space.vectors_ns};
    double most[4], sum[4];
    for (int i = 0; i < 4; i++) most[i] = sum[i] = (double)ns[i] * 1e-9;
    tulle_status status = tulle_comm_reduce_real(s->comm, TULLE_MAX, 4, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(s->comm, TULLE_SUM, 4, sum);
    for (int i = 0; i < 4; i++) sum[i] /= s->comm->size;
    report->passes = s->passes;
    report->columns = s->columns;
    report->restarts = s->restarts;
    report->probes = s->probes;
    report->reductions = s->basis.multi.space.reductions;
    report->block = s->options.block;
    report->basis = s->most;
    report->degree = s->filter.degree;
    report->norm = s->norm;
    report->missed = s->missed;
    report->seconds = most[0];
    report->product = (tulle_imbalance){most[1], sum[1]};
    report->dots = (tulle_imbalance){most[2], sum[2]};
    report->vectors = (tulle_imbalance){most[3], sum[3]};
    return tulle_comm_agree(s->comm, status);
}

static tulle_status check_vectors(const tulle_spectrum *s, const tulle_mat *X)
{
    if (!X) return TULLE_OK;
    if (X->comm != s->comm) return tulle__fail(TULLE_ERR_ARG, "X belongs to another team, or to a part of this one");
    if (X->kind != TULLE_DENSE || X->type != s->A->type || X->layout->m != s->A->n || X->layout->n != s->options.count)
        return tulle__fail(TULLE_ERR_ARG, "X must be dense, %s, %" PRId64 " x %d", tulle_type_name(s->A->type), s->A->n,
            s->options.count);
    return TULLE_OK;
}

/* Pairs by a filter or without one, and their residuals. Collective, agreed. */
static tulle_status find(
    tulle_spectrum *s, bool filtered, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report)
{
    const int count = s->options.count;
    s->filter.degree = 0;
    tulle__spectrum_clear(s);
    TULLE_CALL((filtered ? tulle__chebyshev_iterate : tulle__spectrum_iterate)(s));
    const int found = s->basis.columns = s->found;
    TULLE_CALL(tulle__basis_finish(&s->basis, &report->orthogonality));
    for (int i = 0; i < found; i++) value[i] = s->wanted[i];
    if (s->pencil) {
        s->norm = s->pencil->scale;
        TULLE_CALL(tulle__pencil_pairs(s, found, s->pair, &report->orthogonality));
    } else {
        TULLE_CALL(tulle__basis_orient(&s->basis, NULL));
        TULLE_CALL(true_residuals(s, found, value, residual));
    }
    if (X) TULLE_CALL(write_vectors(s, s->basis.columns, X)); /* a pencil's other plan may have found fewer */
    for (int i = 0; i < count; i++) {
        tulle__pair *pair = &s->pair[i];
        if (!s->pencil) *pair = (tulle__pair){value[i], residual[i], 1, 1};
        value[i] = pair->value;
        residual[i] = pair->residual;
        const double least = tulle__spectrum_epsilon(s) * s->norm,
                     relative = residual[i] / (pair->size * fmax(fabs(value[i]), least)),
                     limit = s->pencil ? tulle__pencil_limit(s, pair) : tulle__spectrum_limit(s, value[i]);
        report->converged += residual[i] <= limit;
        if (residual[i] != 0 && !(relative <= report->residual)) report->residual = relative; /* nan, too */
    }
    return TULLE_OK;
}

/* The same; what a failure has left unknown is nan, and zeros in X. Collective, agreed. */
static tulle_status find_or_clear(
    tulle_spectrum *s, bool filtered, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report)
{
    report->converged = 0;
    report->residual = 0;
    for (int i = 0; i < s->options.count; i++) {
        value[i] = residual[i] = NAN;
        s->pair[i] = (tulle__pair){NAN, NAN, 1, 1};
    }
    const tulle_status status = find(s, filtered, value, residual, X, report);
    if (status == TULLE_OK) return TULLE_OK;
    report->converged = s->found = 0;
    for (int i = 0; i < s->options.count; i++) value[i] = residual[i] = NAN;
    if (X && status == TULLE_ERR_CONVERGENCE) TULLE_CALL(write_vectors(s, 0, X));
    return status;
}

/* Collective, agreed. */
static tulle_status run(tulle_spectrum *s, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report)
{
    s->begun = tulle__now(s->comm);
    s->passes = s->columns = s->restarts = s->probes = s->product_ns = 0;
    s->basis.multi.space.reductions = s->basis.multi.space.dots_ns = s->basis.multi.space.vectors_ns = 0;
    s->stream = 0;
    s->allowed = s->options.max_passes;
    tulle_status status = find_or_clear(s, s->options.chebyshev, value, residual, X, report);
    /* where p's rounding has left a residual that the method without it need not have */
    if ((status == TULLE_OK || status == TULLE_ERR_CONVERGENCE) && s->filter.degree &&
        report->converged < s->options.count)
        status = find_or_clear(s, false, value, residual, X, report);
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status;
    TULLE_CALL(report_totals(s, report));
    return status;
}

tulle_status tulle_spectrum_execute(
    tulle_spectrum *plan, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report)
{
    tulle_spectrum_report unasked = {.passes = 0};
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    if (TULLE__NULL(value)) return tulle__refuse(plan->comm);
    TULLE__ENTER(plan->comm);
    double *own = NULL;
    tulle_spectrum_report *r = report ? report : &unasked;
    *r = (tulle_spectrum_report){.passes = 0};
    TULLE_CALL(tulle__spectrum_presence(plan->comm, X, "X"));
    tulle_status status = check_vectors(plan, X);
    if (status == TULLE_OK && !residual)
        status = tulle__alloc((size_t)plan->options.count, sizeof *own, "residuals", &own);
    status = tulle_comm_agree(plan->comm, status);
    if (status == TULLE_OK) status = run(plan, value, residual ? residual : own, X, r);
    tulle__free(own);
    if (status == TULLE_OK && r->converged < plan->options.count && !plan->options.passes)
        status = tulle__fail(TULLE_ERR_CONVERGENCE, "%d of %d eigenpairs have converged in %" PRId64 " passes%s",
            r->converged, plan->options.count, r->passes,
            r->passes >= plan->options.max_passes ? "" : "; the rounding of the matrix allows no smaller residuals");
    return status;
}
