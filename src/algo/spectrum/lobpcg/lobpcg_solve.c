/* SPDX-License-Identifier: Apache-2.0 */
/* tulle_lobpcg: arguments, memory, first vectors, the report. */
#include <inttypes.h>
#include <math.h>

#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/spectrum/lobpcg/lobpcg.h"
#include "algo/spectrum/operators/sequence.h"
#include "algo/spectrum/spectrum_plan.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

enum { COUNT = 6, STEPS = 1000 };

struct call {
    tulle__owned owned;
    tulle__lobpcg l;
    tulle_layout *square;
    tulle_mat *S;
    tulle_operator times_S;
};

static void drop(tulle__owned *object)
{
    struct call *c = (struct call *)object;
    tulle__lobpcg *l = &c->l;
    tulle__basis_fini(&l->SZ);
    tulle__basis_fini(&l->AZ);
    tulle__basis_fini(&l->Z);
    double *const workspace[] = {
        l->small_A, l->small_S, l->Y, l->Q, l->work, l->U, l->all_theta, l->theta, l->residual, l->size};
    for (size_t i = 0; i < sizeof workspace / sizeof *workspace; i++) tulle__free(workspace[i]);
    tulle_layout_free(c->square);
    tulle__free(c);
}

static void free_call(struct call *c)
{
    tulle__lobpcg *l = &c->l;
    tulle__pe_disown(&c->owned);
    if (l->times_M) l->M->unbind(l->times_M);
    if (l->times_S) l->S->unbind(l->times_S);
    if (l->times_A) l->A->unbind(l->times_A);
    tulle_mat_free(l->pre.mat);
    tulle_mat_free(l->rest.mat);
    tulle_mat_free(l->out.mat);
    tulle_mat_free(l->in.mat);
    tulle_operator_free(&c->times_S);
    tulle_mat_free(c->S);
    drop(&c->owned);
}

/* ---- arguments ---- */

/* Guards beside the wanted vectors: the last of X converges as fast as its distance to what X leaves out. */
static void set_defaults(tulle_spectrum_options *o, tulle_gidx n, tulle_type type, const tulle_mat *X)
{
    if (o->end == TULLE_SPECTRUM_MAGNITUDE) o->end = TULLE_SPECTRUM_SMALLEST;
    if (!o->count && X && X->layout->n <= n) o->count = (int)X->layout->n;
    if (!o->count) o->count = n < COUNT ? (int)n : COUNT;
    if (o->tolerance == 0) o->tolerance = type == TULLE_F32 ? 1e-4 : 1e-8;
    if (!o->max_passes) o->max_passes = STEPS;
    if (!o->block) {
        const int guards = o->count / 4 > 2 ? o->count / 4 : 2;
        o->block = o->count + guards < TULLE__TALL_MOST ? o->count + guards : TULLE__TALL_MOST;
    }
    if (o->block > n) o->block = (int)n;
}

static tulle_status check_options(const tulle_spectrum_options *o, tulle_gidx n)
{
    if (o->count < 1 || o->count > n)
        return tulle__fail(TULLE_ERR_ARG, "%d eigenpairs of a matrix of %" PRId64 " rows", o->count, n);
    if (o->count > TULLE__TALL_MOST)
        return tulle__fail(TULLE_ERR_ARG, "lobpcg finds up to %d pairs, not %d: the other methods find more",
            (int)TULLE__TALL_MOST, o->count);
    if (o->count > o->block || o->block > TULLE__TALL_MOST)
        return tulle__fail(TULLE_ERR_ARG,
            "lobpcg: a block of %d directions: it has as many as pairs, %d, or more, up to %d", o->block, o->count,
            (int)TULLE__TALL_MOST);
    if (!(o->tolerance > 0) || o->max_passes < 1)
        return tulle__fail(TULLE_ERR_ARG, "the tolerance and max_passes must be above 0, but are %g and %" PRId64,
            o->tolerance, o->max_passes);
    if (o->end != TULLE_SPECTRUM_SMALLEST && o->end != TULLE_SPECTRUM_LARGEST)
        return tulle__fail(TULLE_ERR_ARG, "lobpcg finds the smallest (SA) or the largest (LA) pairs, not %s",
            tulle_spectrum_end_name(o->end));
    if (o->nearest || o->passes || o->basis || o->chebyshev || o->degree || o->sigma != 0)
        return tulle__fail(TULLE_ERR_ARG, "lobpcg does not read %s",
            o->nearest     ? "nearest"
            : o->passes    ? "passes"
            : o->chebyshev ? "chebyshev"
            : o->degree    ? "degree"
            : o->basis     ? "basis"
                           : "sigma");
    return TULLE_OK;
}

/* True with a message: numbers that no call takes. */
#define OPTIONS_WRONG(options)                                                                                         \
    (TULLE__OUTSIDE((options)->end, TULLE_SPECTRUM_END_COUNT - 1) || TULLE__NEGATIVE((options)->count) ||              \
        TULLE__NEGATIVE((options)->block) || TULLE__NEGATIVE((options)->max_passes))

tulle_status tulle_lobpcg_choose(const tulle_spectrum_options *options, tulle_gidx n, tulle_spectrum_sizes *sizes)
{
    tulle_spectrum_options own;
    if (TULLE__NULL(sizes) || TULLE__NEGATIVE(n) || TULLE__OPTIONS(options, &own, guess) || OPTIONS_WRONG(options))
        return TULLE_ERR_ARG;
    set_defaults(&own, n, TULLE_F64, NULL);
    TULLE_CALL(check_options(&own, n));
    *sizes = (tulle_spectrum_sizes){own.count, own.block, 3 * own.block};
    return TULLE_OK;
}

/* The outcome is the same on all PEs. */
static tulle_status check(const tulle_operator *A, const tulle_mat *S, const tulle_operator *M,
    const tulle_spectrum_options *o, const tulle_mat *X)
{
    const tulle_operator *const operators[] = {A, M};
    if (A->layout->m != A->n || A->layout->n != 1 || A->layout->nt != 1 ||
        !tulle__operator_one_tile_each(A->layout, A->comm->size))
        return tulle__fail(TULLE_ERR_ARG, "the operator's vectors must be n x 1, with at most one tile a PE");
    TULLE_CALL(check_options(o, A->n));
    for (int i = 0; i < 2; i++)
        if (operators[i] && operators[i]->cols && operators[i]->cols < o->block)
            return tulle__fail(TULLE_ERR_ARG, "an operator takes %" PRId64 " columns, but a block has %d",
                operators[i]->cols, o->block);
    if (M && (M->comm != A->comm || M->n != A->n || M->type != A->type))
        return tulle__fail(TULLE_ERR_ARG, "the preconditioner is of another team, size or type than the matrix");
    if (S && (S->comm != A->comm || S->kind != TULLE_CSR || S->type != A->type || S->layout->m != A->n ||
                 S->layout->n != A->n))
        return tulle__fail(TULLE_ERR_ARG, "S must be sparse, %s, %" PRId64 " x %" PRId64 ", of the matrix's team",
            tulle_type_name(A->type), A->n, A->n);
    if (X && (X->comm != A->comm || X->kind != TULLE_DENSE || X->type != A->type || X->layout->m != A->n ||
                 X->layout->n != o->count))
        return tulle__fail(
            TULLE_ERR_ARG, "X must be dense, %s, %" PRId64 " x %d", tulle_type_name(A->type), A->n, o->count);
    if (o->guess && !X) return tulle__fail(TULLE_ERR_ARG, "guess wants X, which holds the first vectors");
    return tulle__wants_values(A->comm, "a method for eigenpairs");
}

/* ---- memory ---- */

/* S with rows and columns cut as vectors are. Collective, agreed. */
static tulle_status place_S(struct call *c, const tulle_mat *S)
{
    const tulle_layout *rows = c->l.A->layout;
    tulle_status status = tulle__layout_square_of(rows, c->l.comm, &c->square);
    if (status == TULLE_OK) status = tulle_mat_redistribute(S, c->square, &c->S);
    if (status == TULLE_OK) status = tulle_operator_of_mat(c->S, NULL, &c->times_S);
    c->l.S = &c->times_S;
    return status;
}

static tulle_status allocate(tulle__lobpcg *l)
{
    const size_t capacity = (size_t)l->capacity, width = (size_t)l->width;
    double **const square[] = {&l->small_A, &l->small_S, &l->Y, &l->Q, &l->work, &l->U};
    double **const line[] = {&l->theta, &l->residual, &l->size};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        TULLE_CALL(tulle__alloc_zero(capacity * capacity, sizeof **square[i], "the projected matrix", square[i]));
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        TULLE_CALL(tulle__alloc_zero(width, sizeof **line[i], "values", line[i]));
    TULLE_CALL(tulle__alloc(capacity, sizeof *l->all_theta, "values", &l->all_theta));
    TULLE_CALL(tulle__basis_init(l->comm, l->A->layout, l->A->type, l->capacity, l->width, &l->Z));
    TULLE_CALL(tulle__basis_init(l->comm, l->A->layout, l->A->type, l->capacity, l->width, &l->AZ));
    if (l->S) TULLE_CALL(tulle__basis_init(l->comm, l->A->layout, l->A->type, l->capacity, l->width, &l->SZ));
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status init(struct call *c, const tulle_mat *S)
{
    tulle__lobpcg *l = &c->l;
    if (S) TULLE_CALL(place_S(c, S));
    TULLE_CALL(tulle_comm_agree(l->comm, allocate(l)));
    TULLE_CALL(tulle__vector_new(l->A, l->width, &l->in));
    TULLE_CALL(tulle__vector_new(l->A, l->width, &l->out));
    TULLE_CALL(tulle__vector_new(l->A, l->width, &l->rest));
    TULLE_CALL(l->A->bind(l->A->context, l->in.mat, l->out.mat, &l->times_A));
    if (l->S) TULLE_CALL(l->S->bind(l->S->context, l->in.mat, l->out.mat, &l->times_S));
    if (!l->M) return TULLE_OK;
    TULLE_CALL(tulle__vector_new(l->A, l->width, &l->pre));
    return l->M->bind(l->M->context, l->rest.mat, l->pre.mat, &l->times_M);
}

/* Z: X's columns if they are a guess, and random ones. Collective, agreed. */
static tulle_status begin(tulle__lobpcg *l, const tulle_mat *X)
{
    bool finite = true;
    tulle_mat *staged = NULL;
    tulle_status status = TULLE_OK;
    tulle__block_of_columns W = {l->rest.val, l->width, l->width};
    tulle__basis_random(&l->Z, l->seed, l->stream++, &W);
    if (X && l->options->guess) {
        status = tulle__columns_stage(X, l->A->layout, 1, &staged);
        for (tulle_gidx i = 0; i < l->count && status == TULLE_OK; i++) {
            const double one = 1;
            char *to = (char *)l->rest.val + (size_t)i * tulle_type_size(l->A->type);
            tulle__columns_read_some(staged ? staged : X, 1, &i, &one, to, l->width);
        }
        tulle_mat_free(staged);
    }
    while (status == TULLE_OK && l->Z.columns < l->width) {
        status = tulle__basis_orthonormalise(&l->Z, &W, 0, 0, W.columns, NULL, NULL, &finite);
        if (status == TULLE_OK && !finite) return tulle__fail(TULLE_ERR_ARG, "the first vectors in X are not finite");
        if (status == TULLE_OK && W.columns) tulle__basis_append(&l->Z, &W);
        W.columns = l->width - l->Z.columns;
        if (W.columns) tulle__basis_random(&l->Z, l->seed, l->stream++, &W);
    }
    return status;
}

/* ---- results ---- */

static void watch(const tulle__lobpcg *l)
{
    if (!l->options->watch || l->comm->rank) return;
    const tulle_spectrum_step step = {.pass = l->passes,
        .wanted = l->count,
        .converged = l->converged,
        .worst = l->worst,
        .seconds = (double)(tulle__now(l->comm) - l->begun) * 1e-9};
    l->options->watch(l->options->arg, &step);
}

/* Collective, agreed. */
static tulle_status write_vectors(const tulle__lobpcg *l, tulle_mat *X)
{
    TULLE__SCOPED_MAT tulle_mat *staged = NULL;
    tulle_status status = tulle__columns_stage(X, l->A->layout, 0, &staged);
    for (tulle_gidx c = 0; c < l->count && status == TULLE_OK; c++) {
        const double one = 1;
        const char *from = (const char *)l->Z.V + (size_t)c * tulle_type_size(l->A->type);
        tulle__columns_write_some(staged ? staged : X, 1, &c, &one, from, l->Z.capacity);
    }
    TULLE_CALL(tulle_comm_agree(l->comm, status));
    if (staged) TULLE_CALL(tulle__columns_return(staged, X));
    return TULLE_OK;
}

static tulle_status report_totals(const tulle__lobpcg *l, tulle_spectrum_report *report)
{
    double most[4], sum[4];
    int64_t vectors = l->Z.multi.space.vectors_ns + l->AZ.multi.space.vectors_ns;
    if (l->S) vectors += l->SZ.multi.space.vectors_ns;
    const int64_t ns[4] = {tulle__now(l->comm) - l->begun, l->product_ns, l->Z.multi.space.dots_ns, vectors};
    for (int i = 0; i < 4; i++) most[i] = sum[i] = (double)ns[i] * 1e-9;
    tulle_status status = tulle_comm_reduce_real(l->comm, TULLE_MAX, 4, most);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(l->comm, TULLE_SUM, 4, sum);
    for (int i = 0; i < 4; i++) sum[i] /= l->comm->size;
    report->passes = l->passes;
    report->columns = l->columns;
    report->reductions = l->Z.multi.space.reductions;
    report->block = l->width;
    report->basis = l->capacity;
    report->norm = l->norm;
    report->missed = 1;
    report->converged = 0;
    for (int i = 0; i < l->count; i++) {
        const double size = l->size[i] * fmax(fabs(l->theta[i]), 0x1p-52 * l->norm);
        report->converged += l->residual[i] <= tulle__lobpcg_limit(l, i);
        if (l->residual[i] > 0) report->residual = fmax(report->residual, l->residual[i] / size);
    }
    report->seconds = most[0];
    report->product = (tulle_imbalance){most[1], sum[1]};
    report->dots = (tulle_imbalance){most[2], sum[2]};
    report->vectors = (tulle_imbalance){most[3], sum[3]};
    return tulle_comm_agree(l->comm, status);
}

/* Collective, agreed. */
static tulle_status run(
    struct call *c, const tulle_mat *S, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report)
{
    tulle__lobpcg *l = &c->l;
    TULLE_CALL(init(c, S));
    TULLE_CALL(begin(l, X));
    TULLE_CALL(tulle__lobpcg_iterate(l, &report->orthogonality));
    TULLE_CALL(tulle__basis_orient(&l->Z, NULL));
    if (X) TULLE_CALL(write_vectors(l, X));
    TULLE_CALL(report_totals(l, report));
    for (int i = 0; i < l->count; i++) value[i] = l->theta[i];
    for (int i = 0; i < l->count && residual; i++) residual[i] = l->residual[i];
    return TULLE_OK;
}

tulle_status tulle_lobpcg(const tulle_operator *A, const tulle_mat *S, const tulle_operator *M,
    const tulle_spectrum_options *options, double *value, double *residual, tulle_mat *X, tulle_spectrum_report *report)
{
    tulle_spectrum_options own;
    tulle_spectrum_report unasked;
    tulle_operator op, precond = {.comm = NULL};
    if (TULLE__NULL(A) || TULLE__NULL(A->comm) || TULLE__NULL(A->layout) || TULLE__NULL(A->bind) ||
        TULLE__NULL(A->apply) || TULLE__NULL(A->unbind) || TULLE__NULL(value) || TULLE__OPTIONS(A, &op, cols) ||
        TULLE__OPTIONS(options, &own, guess) || OPTIONS_WRONG(options) || (M && TULLE__OPTIONS(M, &precond, cols)))
        return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    struct call *c = NULL;
    tulle_spectrum_report *r = report ? report : &unasked;
    *r = (tulle_spectrum_report){.passes = 0};
    if (M && !M->comm) M = NULL; /* no preconditioner */
    set_defaults(&own, A->n, A->type, X);
    TULLE_CALL(tulle__spectrum_presence(A->comm, X, "X"));
    TULLE_CALL(tulle__spectrum_presence(A->comm, S, "S"));
    TULLE_CALL(tulle__spectrum_presence(A->comm, M, "M"));
    TULLE_CALL(tulle_comm_agree(A->comm, check(A, S, M, &own, X)));
    tulle_status status = tulle_comm_agree(A->comm, tulle__alloc_zero(1, sizeof *c, "a solve for eigenpairs", &c));
    if (status != TULLE_OK) {
        tulle__free(c);
        return status;
    }
    tulle__pe_own(A->comm->pe, &c->owned, drop);
    c->l = (tulle__lobpcg){.comm = A->comm,
        .A = &op,
        .M = M,
        .count = own.count,
        .width = own.block,
        .capacity = 3 * own.block,
        .largest = own.end == TULLE_SPECTRUM_LARGEST,
        .tolerance = own.tolerance,
        .seed = own.seed,
        .max_steps = own.max_passes,
        .watch = watch,
        .options = &own,
        .begun = tulle__now(A->comm)};
    status = run(c, S, value, residual, X, r);
    const bool indefinite = c->l.indefinite;
    free_call(c);
    if (status == TULLE_OK && r->converged < own.count)
        status = tulle__fail(TULLE_ERR_CONVERGENCE, "%d of %d eigenpairs have converged in %" PRId64 " passes%s",
            r->converged, own.count, r->passes,
            indefinite ? ": r^T M r < 0 for residuals r, so that the preconditioner M is not positive definite" : "");
    return status;
}
