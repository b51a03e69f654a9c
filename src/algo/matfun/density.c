/* SPDX-License-Identifier: Apache-2.0 */
/* Density matrices: the orthogonalisation, the methods, and the products of whole matrices that both need. */
#include <tulle/density.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tulle/algebra.h>

#include "algo/matfun/density_state.h"
#include "algo/matfun/levels/frontier.h"
#include "algo/matfun/whole/iterations.h"
#include "algo/matfun/whole/purify.h"
#include "algo/matfun/whole/row_tiles.h"
#include "algo/matfun/whole/whole_function.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/words/names.h"
#include "mat/algebra/block_sum.h"
#include "mat/algebra/finite.h"
#include "mat/sweep/apply.h"

TULLE__WORDS(methods, TULLE_DENSITY_METHOD_LIST);
TULLE__NAME(tulle_density_method, method, methods)
TULLE__PARSE(tulle_density_method, method, methods, "method")

/* ---- products of whole matrices ---- */

/* Fraction of the filter: products drop far less than what the filter drops afterwards. */
#define PRODUCTS .1

/* *out = X A X in tiles of rows, symmetric bit by bit. Collective, agreed. */
static tulle_status congruence(const struct tulle__density *d, const tulle_mat *A, tulle_mat **out)
{
    tulle__iterations it = {.filter = PRODUCTS * d->options.filter};
    TULLE__SCOPED_MAT tulle_mat *moved = NULL, *left = NULL, *both = NULL;
    TULLE_CALL(tulle_mat_redistribute(A, d->X->layout, &moved));
    TULLE_CALL(tulle__iterations_multiply_any(&it, d->X, moved, &left));
    tulle__mat_free_scoped(&moved);
    TULLE_CALL(tulle__iterations_multiply(&it, left, d->X, &both));
    tulle__mat_free_scoped(&left);
    return tulle_mat_redistribute(both, d->row, out);
}

/* degeneracy tr(D B) of the blocks that both have. Collective, agreed. */
static tulle_status trace_of(const struct tulle__density *d, const tulle_mat *D, const tulle_mat *B, double *trace)
{
    TULLE__SCOPED_MAT tulle_mat *moved = NULL;
    if (!tulle__layout_equal(D->layout, B->layout)) TULLE_CALL(tulle_mat_redistribute(B, D->layout, &moved));
    TULLE_CALL(tulle__inner_product(D, moved ? moved : B, trace));
    *trace *= d->options.degeneracy;
    return TULLE_OK;
}

/* ---- K ---- */

static tulle_status row_layout(const struct tulle__density *d, tulle_layout **layout)
{
    const tulle_layout *l = d->H->layout;
    if (l->nt == 1) return tulle_layout_copy(l, layout);
    const tulle_layout_spec spec = {.m = l->m,
        .n = l->n,
        .grid_rows = d->comm->size,
        .grid_cols = 1,
        .row_blocks = tulle_layout_row_blocks(l),
        .col_blocks = tulle_layout_col_blocks(l)};
    return tulle_layout_new(&spec, d->comm->size, layout);
}

/* H and S restricted to the union of their filtered patterns, in d->K and d->X. Collective, agreed. */
static tulle_status pair(struct tulle__density *d)
{
    int64_t inserted;
    const tulle_mat *const of[2] = {d->H, d->S};
    tulle_mat *moved[2] = {NULL, NULL}, *cut[2] = {NULL, NULL};
    const tulle__terms first = {.alpha = 1};
    tulle_status status = TULLE_OK;
    for (int i = 0; i < 2; i++) {
        TULLE_TRY(tulle_mat_redistribute(of[i], d->row, &moved[i]));
        TULLE_TRY(tulle__row_tiles(moved[i], d->options.filter, &cut[i], &inserted));
        d->inserted += inserted;
    }
    const tulle_mat *H = cut[0] ? cut[0] : moved[0], *S = cut[1] ? cut[1] : moved[1];
    TULLE_TRY(tulle__block_sum(&first, H, S, &d->K));
    TULLE_TRY(tulle__block_sum(&first, S, H, &d->X));
out:
    for (int i = 0; i < 2; i++) {
        tulle_mat_free(moved[i]);
        tulle_mat_free(cut[i]);
    }
    return status;
}

/* Element i of a vector of signs. */
static double sign_at(int64_t i)
{
    return tulle__random_at(19, 0, (uint64_t)i) & 1 ? 1 : -1;
}

/* *error = |Z S Z v - v| / |v| of a vector of signs, Z = d->X. Collective, agreed. */
static tulle_status measure_root(const struct tulle__density *d, double *error)
{
    const tulle_mat *const factor[] = {d->X, d->S, d->X};
    const int64_t n = d->H->layout->m;
    TULLE__SCOPED double *workspace = NULL;
    double longest = 0, sum = 0;
    TULLE_CALL(
        tulle_comm_agree(d->comm, tulle__alloc_zero(4 * (size_t)n + 1, sizeof *workspace, "vectors", &workspace)));
    double *x = workspace, *y = workspace + n, *zeros = workspace + 2 * n, *sums = workspace + 3 * n;
    tulle_status status = TULLE_OK;
    for (int64_t i = 0; i < n; i++) x[i] = sign_at(i);
    for (int k = 0; k < 3 && status == TULLE_OK; k++) {
        for (int64_t i = 0; i < n; i++) y[i] = 0;
        status = tulle__mat_apply(factor[k], TULLE_OP_N, x, zeros, y, sums, &longest, NULL);
        double *swap = x;
        x = y;
        y = swap;
    }
    for (int64_t i = 0; i < n; i++) sum += (x[i] - sign_at(i)) * (x[i] - sign_at(i));
    *error = n ? sqrt(sum / (double)n) : 0;
    return tulle_comm_agree(d->comm, status);
}

/* *root = S^(-1/2) by the method. Collective, agreed. */
static tulle_status invert_root(struct tulle__density *d, tulle_matfun_method method, tulle_mat **root)
{
    tulle_matfun *plan = NULL;
    const bool submatrices = method == TULLE_MATFUN_SUBMATRIX;
    const tulle_matfun_options options = {.combine = d->options.combine,
        .filter = d->options.filter,
        .symmetric = true,
        .method = method,
        .mixed = submatrices && d->options.mixed,
        .device = submatrices ? d->options.device : NULL};
    const tulle_function invsqrt = {.kind = TULLE_FUNCTION_INVSQRT};
    TULLE_CALL(tulle_matfun_new(d->S, &options, &plan));
    const tulle_status status = tulle_matfun_execute(plan, &invsqrt, root, &d->report.overlap);
    tulle_matfun_free(plan);
    return status;
}

/* d->X = S^(-1/2) by the method, in square tiles as products have them, and its error. Collective, agreed. */
static tulle_status find_root(struct tulle__density *d, tulle_matfun_method method)
{
    TULLE__SCOPED_LAYOUT tulle_layout *square = NULL;
    TULLE__SCOPED_MAT tulle_mat *root = NULL;
    tulle__mat_free_scoped(&d->X);
    TULLE_CALL(invert_root(d, method, &root));
    TULLE_CALL(tulle_comm_agree(d->comm, tulle__square_layout(d->S, &square)));
    TULLE_CALL(tulle_mat_redistribute(root, square, &d->X));
    tulle__mat_free_scoped(&root);
    return measure_root(d, &d->report.overlap_error);
}

/* Without S^(-1/2). Collective, agreed. */
static tulle_status use_pair(struct tulle__density *d)
{
    tulle__mat_free_scoped(&d->X);
    d->options.nonorthogonal = true;
    TULLE_CALL(tulle__check_symmetric(d->S, d->row));
    return pair(d);
}

/*
 * K, and S^(-1/2) of submatrices, which is measured: where it is not that of S, submatrices use the pairs H, S, which
 * do without, and other methods an S^(-1/2) by iterations with the whole matrix. Collective, agreed.
 */
static tulle_status orthogonalise(struct tulle__density *d)
{
    /*
     * filters alone take it, in units of the filter, to 1 (1e-2) to 26 (1e-7) in 64 molecules of water, 1 (1e-3) to 18
     * (1e-6) in 256, and 50 in crystals: at a limit of 10 these would compute S^(-1/2) in vain
     */
    const double most = fmax(100 * d->options.filter, d->S->type == TULLE_F32 ? 1e-3 : 1e-6);
    const bool can = d->options.method == TULLE_DENSITY_SUBMATRIX || d->options.method == TULLE_DENSITY_AUTO;
    TULLE_CALL(find_root(d, TULLE_MATFUN_SUBMATRIX));
    const bool off = !(d->report.overlap_error <= most);
    const double exact = d->S->type == TULLE_F32 ? 1e-5 : 1e-10;
    if (off && can) return use_pair(d);
    /* iterations are exact without a filter, if S^(-1/2) is */
    const bool loose = !can && !(d->options.filter > 0) && !(d->report.overlap_error <= exact);
    if (off || loose) TULLE_CALL(find_root(d, TULLE_MATFUN_COUPLED_NEWTON));
    if (!(d->report.overlap_error <= fmax(most, 1e-3)))
        return tulle_comm_agree(d->comm,
            tulle__fail(TULLE_ERR_CONVERGENCE,
                "S^(-1/2) = Z is off: |Z S Z v - v| is %.3g |v|, more than %.3g; the method submatrix does without it "
                "(nonorthogonal)",
                d->report.overlap_error, fmax(most, 1e-3)));
    return congruence(d, d->H, &d->K);
}

/* ---- the function of K ---- */

/* *P by iterations with whole matrices, its energy, states and error. Collective, agreed. */
static tulle_status purify(
    struct tulle__density *d, tulle__purification *method, tulle__iterations *it, double *states, tulle_mat **P)
{
    TULLE__SCOPED_MAT tulle_mat *rows = NULL, *filtered = NULL, *square = NULL;
    int64_t inserted, start = tulle__now(d->comm);
    TULLE_CALL(tulle_mat_redistribute(d->K ? d->K : d->H, d->row, &rows));
    TULLE_CALL(tulle__row_tiles(rows, d->options.filter, &filtered, &inserted));
    const tulle_mat *cut = filtered ? filtered : rows;
    TULLE_CALL(tulle__purify(method, it, cut, rows, &square));
    TULLE_CALL(tulle_mat_redistribute(square, d->row, P));
    TULLE_CALL(trace_of(d, *P, cut, &d->report.energy));
    TULLE_CALL(tulle__trace(*P, states));
    d->report.function.seconds = (double)(tulle__now(d->comm) - start) * 1e-9;
    if (!d->options.check) return TULLE_OK;
    const tulle_function step = {.kind = TULLE_FUNCTION_FERMI, .mu = method->mu};
    return tulle__matfun_check_whole(cut, &step, d->options.filter, *P, &d->report.error, NULL);
}

/* The same, with the report. Collective, agreed. */
static tulle_status iterate(struct tulle__density *d, tulle_mat **P)
{
    const tulle_mat *K = d->K ? d->K : d->H;
    double states = 0, degeneracy = d->options.degeneracy, n = (double)K->layout->m;
    bool sign = d->report.method == TULLE_DENSITY_NEWTON_SCHULZ;
    tulle__purification method = {
        .method = d->report.method, .order = d->options.order, .states = d->states, .mu = d->mu};
    tulle__iterations it = {.filter = d->options.filter,
        .tolerance = fmax(d->options.filter, K->type == TULLE_F32 ? 1e-5 : 1e-12),
        .offset = sign ? degeneracy * n / 2 : 0,
        .scale = sign ? -degeneracy / 2 : degeneracy,
        .history = d->options.history,
        .capacity = d->options.history_capacity};
    const tulle_status status = purify(d, &method, &it, &states, P);
    d->report.electrons = degeneracy * states;
    d->report.mu = method.mu;
    d->report.below = d->report.above = NAN;
    d->report.iterations = it.count;
    d->report.residual = it.residual;
    d->report.flops = it.flops;
    return status;
}

/* *P = f(K) by the method given or chosen. Collective, agreed. */
static tulle_status function_of(struct tulle__density *d, tulle_mat **P)
{
    tulle_matfun *plan = NULL;
    tulle_density_method *method = &d->report.method;
    *method = d->options.method;
    const bool whole = d->states < 0 || tulle__is_whole(d->states);
    bool either = *method == TULLE_DENSITY_AUTO && d->options.kT <= 0 && !d->options.nonorthogonal && whole;
    bool direct = d->options.nonorthogonal;
    const tulle_matfun_options options = {.combine = d->options.combine,
        .filter = direct ? 0 : d->options.filter,
        .mixed = d->options.mixed,
        .device = d->options.device,
        .method = either ? TULLE_MATFUN_AUTO : TULLE_MATFUN_SUBMATRIX};
    if (*method == TULLE_DENSITY_AUTO) *method = TULLE_DENSITY_SUBMATRIX;
    if (*method != TULLE_DENSITY_SUBMATRIX) return iterate(d, P);
    tulle_status status = tulle_matfun_new(d->K ? d->K : d->H, &options, &plan);
    if (status != TULLE_OK) return status;
    if (direct) {
        plan->S = d->X;
        plan->inserted = d->inserted;
    }
    d->report.estimate[0] = plan->estimate.submatrices;
    d->report.estimate[1] = plan->estimate.sign;
    if (either && plan->estimate.sign < plan->estimate.submatrices) {
        *method = d->states < 0 ? TULLE_DENSITY_NEWTON_SCHULZ : TULLE_DENSITY_TRS4;
        status = iterate(d, P);
        if (status != TULLE_ERR_CONVERGENCE) goto out;
        *method = TULLE_DENSITY_SUBMATRIX; /* there may be no gap */
        tulle__mat_free_scoped(P);
    }
    status = tulle__density_by_submatrices(d, plan, P);
out:
    tulle_matfun_free(plan);
    return status;
}

/* ---- all ---- */

/* True if the method is the sign by iterations, or AUTO that may come to it. */
static bool may_find_sign(const tulle_density_options *o, double states)
{
    return o->method == TULLE_DENSITY_NEWTON_SCHULZ ||
           (o->method == TULLE_DENSITY_AUTO && states < 0 && !(o->kT > 0) && !o->nonorthogonal);
}

static tulle_status check(const tulle_mat *H, const tulle_mat *S, const tulle_density_options *o, double states)
{
    const tulle_layout *h = H->layout, *s = S ? S->layout : NULL;
    if (H->kind != TULLE_VBSR || (S && S->kind != TULLE_VBSR))
        return tulle__fail(TULLE_ERR_ARG, "a density matrix is of matrices in blocks (vbsr)");
    if (S && (S->comm != H->comm || S->type != H->type))
        return tulle__fail(TULLE_ERR_ARG, "H and S differ in their team or type");
    if (S && !tulle__layout_same_cuts(
                 h->row_blocks.cut, (int)h->row_blocks.count, s->row_blocks.cut, (int)s->row_blocks.count))
        return tulle__fail(TULLE_ERR_ARG,
            "H has %" PRId64 " rows in %" PRId64 " blocks, S %" PRId64 " in %" PRId64
            "; they must have the same blocks",
            h->m, (int64_t)h->row_blocks.count, s->m, (int64_t)s->row_blocks.count);
    if ((unsigned)o->method >= TULLE_DENSITY_METHOD_COUNT)
        return tulle__fail(TULLE_ERR_ARG, "there is no method number %d", (int)o->method);
    if (!(o->filter >= 0) || !(o->kT >= 0) || !(o->degeneracy >= 0))
        return tulle__fail(
            TULLE_ERR_ARG, "filter, kT and degeneracy are at least 0, not %g, %g, %g", o->filter, o->kT, o->degeneracy);
    if (o->kT > 0 && !isfinite(o->kT)) return tulle__fail(TULLE_ERR_ARG, "kT is not finite");
    bool whole = o->method != TULLE_DENSITY_SUBMATRIX && o->method != TULLE_DENSITY_AUTO;
    bool counts = o->method == TULLE_DENSITY_TC2 || o->method == TULLE_DENSITY_TRS4;
    if (whole && o->kT > 0) return tulle__fail(TULLE_ERR_ARG, "%s is for kT = 0", methods[o->method]);
    if (whole && counts != (states >= 0))
        return tulle__fail(
            TULLE_ERR_ARG, "%s is for a given %s", methods[o->method], states >= 0 ? "mu" : "number of electrons");
    if (o->order > 2 && !may_find_sign(o, states))
        return tulle__fail(TULLE_ERR_ARG, "options.order is read by %s only, for a given mu, not by %s%s",
            methods[TULLE_DENSITY_NEWTON_SCHULZ], methods[o->method],
            o->method != TULLE_DENSITY_AUTO ? ""
            : states >= 0                   ? " for a number of electrons"
                                            : " with kT or nonorthogonal, which is submatrix then");
    if (o->combine && whole && !S) /* with S it is for S^(-1/2) */
        return tulle__fail(TULLE_ERR_ARG, "options.combine is read by %s, and with S, not by %s",
            methods[TULLE_DENSITY_SUBMATRIX], methods[o->method]);
    if (o->device && whole && !S)
        return tulle__fail(TULLE_ERR_ARG, "options.device is read by %s, and with S, not by %s",
            methods[TULLE_DENSITY_SUBMATRIX], methods[o->method]);
    if (o->mixed && whole)
        return tulle__fail(
            TULLE_ERR_ARG, "options.mixed: mixed precision is for the method %s", methods[TULLE_DENSITY_SUBMATRIX]);
    TULLE_CALL(tulle__mixed_check(H, o->mixed));
    if (o->nonorthogonal && (whole || !S))
        return tulle__fail(
            TULLE_ERR_ARG, "nonorthogonal is for S, and the method %s", methods[TULLE_DENSITY_SUBMATRIX]);
    double degeneracy = o->degeneracy > 0 ? o->degeneracy : 2;
    if (counts && !tulle__is_whole(states))
        return tulle__fail(TULLE_ERR_ARG,
            "%s fills whole states: %.9g electrons of %g a state do not; the method %s or kT > 0 fills a level in part",
            methods[o->method], states * degeneracy, degeneracy, methods[TULLE_DENSITY_SUBMATRIX]);
    if (states > (double)h->m)
        return tulle__fail(TULLE_ERR_ARG, "%.9g electrons are more than the %" PRId64 " states of %g electrons hold",
            states * degeneracy, h->m, degeneracy);
    return TULLE_OK;
}

/* degeneracy tr(D S) to the report. Collective, agreed. */
static tulle_status stored_electrons(struct tulle__density *d, const tulle_mat *D)
{
    if (d->S) return trace_of(d, D, d->S, &d->report.stored);
    const tulle_status status = tulle__trace(D, &d->report.stored);
    d->report.stored *= d->options.degeneracy;
    return status;
}

/* Electrons found and stored against those asked for, and against each other: no wrong number is a result. */
static tulle_status verify(const struct tulle__density *d)
{
    const tulle_density_report *r = &d->report;
    const bool single = d->H->type == TULLE_F32 || d->options.mixed;
    const double asked = d->states >= 0 ? d->states * d->options.degeneracy : r->electrons, most = fmax(asked, 1);
    const double error = most * fmin(1e-3, (single ? 1e-4 : 1e-7) + 10 * d->options.filter);
    if (!(fabs(r->electrons - asked) <= error))
        return tulle__fail(TULLE_ERR_CONVERGENCE,
            "%s found %.12g electrons of %.12g: there may be no gap there, or a level that is filled in part",
            methods[r->method], r->electrons, asked);
    if (!(fabs(r->stored - asked) <= 1e-3 * most))
        return tulle__fail(TULLE_ERR_CONVERGENCE, "D holds %.12g electrons of %.12g: %s%s%s", r->stored, asked,
            d->options.filter > 0 ? "the filter removes too much of it" : "its pattern is too small for it",
            d->S && !r->nonorthogonal ? "; nonorthogonal does without S^(-1/2)" : "",
            d->options.combine ? "" : "; larger submatrices (combine, blocks) hold more");
    return TULLE_OK;
}

/* Argument of the function: K, or the pair H, S. Collective, agreed. */
static tulle_status prepare(struct tulle__density *d)
{
    TULLE_CALL(tulle_comm_agree(d->comm, row_layout(d, &d->row)));
    if (!d->S) return TULLE_OK;
    TULLE_CALL(tulle__check_symmetric(d->H, d->row));
    if (d->options.nonorthogonal) TULLE_CALL(tulle__check_symmetric(d->S, d->row));
    TULLE_CALL(d->options.nonorthogonal ? pair(d) : orthogonalise(d));
    d->report.nonorthogonal = d->options.nonorthogonal; /* it may have been chosen */
    return TULLE_OK;
}

/* *P becomes X P X, filtered. Collective, agreed. */
static tulle_status return_from_K(const struct tulle__density *d, tulle_mat **P)
{
    int64_t inserted;
    TULLE__SCOPED_MAT tulle_mat *wide = NULL;
    TULLE_CALL(congruence(d, *P, &wide));
    tulle__mat_free_scoped(P);
    if (d->options.filter > 0) TULLE_CALL(tulle__row_tiles(wide, d->options.filter, P, &inserted));
    if (*P) return TULLE_OK;
    *P = wide;
    wide = NULL;
    return TULLE_OK;
}

/* *P and the report; *P is the caller's also after a failure. Collective, agreed. */
static tulle_status compute(struct tulle__density *d, tulle_mat **P)
{
    int64_t time[4] = {tulle__now(d->comm), 0, 0, 0};
    TULLE_CALL(prepare(d));
    time[1] = tulle__now(d->comm);
    TULLE_CALL(function_of(d, P));
    d->report.gap = d->report.above - d->report.below;
    if (d->options.kT <= 0 && isfinite(d->report.gap)) TULLE_CALL(tulle__density_coupling(d));
    time[2] = tulle__now(d->comm);
    if (d->S && !d->options.nonorthogonal) TULLE_CALL(return_from_K(d, P));
    TULLE_CALL(trace_of(d, *P, d->H, &d->report.stored_energy));
    TULLE_CALL(stored_electrons(d, *P));
    TULLE_CALL(tulle_comm_agree(d->comm, verify(d)));
    if (d->options.check) TULLE_CALL(tulle__density_truncation(d, *P));
    time[3] = tulle__now(d->comm);
    for (int t = 0; t < 3; t++) d->report.seconds[t] = (double)(time[t + 1] - time[t]) * 1e-9;
    return tulle_comm_agree(d->comm, tulle_comm_reduce_real(d->comm, TULLE_MAX, 3, d->report.seconds));
}

/* *X: of a half all of it, which is *made. Collective, agreed. */
static tulle_status all_of(const tulle_mat **X, tulle_mat **made)
{
    if ((*X)->symmetry == TULLE_GENERAL) return TULLE_OK;
    TULLE_CALL(tulle_mat_to_full(*X, made));
    *X = *made;
    return TULLE_OK;
}

/* Checks what a PE can check by itself. */
static tulle_status check_call(struct tulle__density *d)
{
    if (!isfinite(d->mu)) return tulle__fail(TULLE_ERR_ARG, "mu is not finite");
    TULLE_CALL(check(d->H, d->S, &d->options, d->states));
    TULLE_CALL(tulle__order_check(&d->options.order));
    if (d->options.check < 0)
        return tulle__fail(TULLE_ERR_ARG, "check is a number of samples, not %d", d->options.check);
    return tulle__wants_values(d->comm, "a density matrix");
}

static tulle_status density(const tulle_mat *H, const tulle_mat *S, double mu, double electrons,
    const tulle_density_options *options, tulle_mat **D, tulle_density_report *report)
{
    struct tulle__density d = {.comm = H->comm, .H = H, .S = S, .options = *options, .mu = mu, .states = -1};
    double degeneracy = options->degeneracy > 0 ? options->degeneracy : 2;
    if (electrons >= 0) d.states = electrons / degeneracy;
    TULLE_CALL(tulle_comm_agree(H->comm, check_call(&d)));
    TULLE_CALL(tulle__agree_alike(H->comm, 5,
        (const int64_t[]){S != NULL, options->method, options->nonorthogonal, options->check, d.states < 0},
        "S, the method, and whether mu is given"));
    d.options.degeneracy = degeneracy;
    TULLE__SCOPED_MAT tulle_mat *full_H = NULL, *full_S = NULL;
    TULLE_CALL(all_of(&d.H, &full_H));
    if (S) TULLE_CALL(all_of(&d.S, &full_S));
    TULLE_CALL(tulle__wants_finite(d.H, "H"));
    if (S) TULLE_CALL(tulle__wants_finite(d.S, "S"));
    tulle_mat *P = NULL;
    tulle_status status = compute(&d, &P);
    status = tulle__mat_or_free(status, P, D);
    tulle_mat_free(d.K);
    tulle_mat_free(d.X);
    tulle_layout_free(d.row);
    if (status == TULLE_OK && report) *report = d.report;
    return status;
}

tulle_status tulle_density_of_mu(const tulle_mat *H, const tulle_mat *S, double mu,
    const tulle_density_options *options, tulle_mat **D, tulle_density_report *report)
{
    tulle_density_options copy;
    if (TULLE__NULL(H) || TULLE__NULL(D) || TULLE__OPTIONS(options, &copy, device))
        return tulle__refuse(H ? H->comm : NULL);
    return density(H, S, mu, -1, options, D, report);
}

tulle_status tulle_density_of_electrons(const tulle_mat *H, const tulle_mat *S, double electrons,
    const tulle_density_options *options, tulle_mat **D, tulle_density_report *report)
{
    tulle_density_options copy;
    if (TULLE__NULL(H) || TULLE__NULL(D) || TULLE__OPTIONS(options, &copy, device))
        return tulle__refuse(H ? H->comm : NULL);
    if (!(electrons >= 0)) {
        tulle__fail(TULLE_ERR_ARG, "tulle_density_of_electrons: electrons is at least 0, not %g", electrons);
        return tulle__refuse(H->comm);
    }
    return density(H, S, 0, electrons, options, D, report);
}
