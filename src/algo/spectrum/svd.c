/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Singular values by the eigenpairs of S^T S. The pass for the residuals of these leaves S V, whose columns are sigma
 * U: they are made orthonormal to rounding by Newton's step, and those of values that are zero are replaced by random
 * directions, orthogonal to the others.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "algo/spectrum/svd_plan.h"
#include "algo/spectrum/unread.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

/* ---- plans ---- */

static void drop(tulle__owned *object)
{
    tulle_svd *s = (tulle_svd *)object;
    tulle__basis_fini(&s->left);
    tulle__gram_fini(&s->gram);
    tulle__row_passes_drop(&s->rows);
    tulle__free(s->factor);
    tulle__free(s->deviation);
    tulle__free(s->mean);
    tulle__free(s);
}

void tulle_svd_free(tulle_svd *s)
{
    if (!s) return;
    tulle__pe_disown(&s->owned);
    tulle_spectrum_free(s->spectrum);
    tulle__row_passes_fini(&s->rows);
    tulle_mat_free(s->transposed);
    drop(&s->owned);
}

static tulle_spectrum_options spectrum_options(const tulle_svd_options *o)
{
    return (tulle_spectrum_options){.end = TULLE_SPECTRUM_LARGEST,
        .count = o->count,
        .tolerance = o->tolerance,
        .block = o->block,
        .basis = o->basis,
        .max_passes = o->max_passes,
        .seed = o->seed,
        .watch = o->watch,
        .arg = o->arg,
        .passes = o->passes};
}

/* A random method's block spans the wanted directions and some; one that iterates is that of eigenpairs. */
static void set_defaults(tulle_svd_options *o, tulle_gidx m, tulle_gidx n)
{
    enum { COUNT = 6, BESIDE = 10 };
    const tulle_gidx least = m < n ? m : n;
    if (!o->count) o->count = least < COUNT ? (int)least : COUNT;
    if (!o->block && o->passes) {
        o->block = o->count < TULLE__TALL_MOST - BESIDE ? o->count + BESIDE : TULLE__TALL_MOST;
        if (o->block > n) o->block = n ? (int)n : 1;
    }
}

static int last_width(const tulle_spectrum_options *o)
{
    const int last = o->count < TULLE__TALL_MOST ? o->count : TULLE__TALL_MOST;
    return last > o->block ? last : o->block;
}

size_t tulle_svd_memory(const tulle_svd_options *options, tulle_gidx m, tulle_gidx n, tulle_type type, int pes)
{
    tulle_svd_options own;
    if (TULLE__OPTIONS(options, &own, arg) || TULLE__NEGATIVE(m) || TULLE__NEGATIVE(n) ||
        TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || pes < 1)
        return 0;
    enum { SLICES = 16, PIECES = 64 << 20 };
    set_defaults(&own, m, n);
    tulle_spectrum_options o = spectrum_options(&own);
    const size_t spectrum = tulle_spectrum_memory(&o, n, n / pes + 1, type, pes), size = tulle_type_size(type);
    if (!spectrum) return 0;
    tulle__spectrum_defaults(&o, n, type, 0, 1);
    const size_t width = (size_t)last_width(&o), block = (size_t)(n + 1) * width,
                 padded = ((size_t)own.count + width - 1) / width * width;
    return spectrum + block * (sizeof(double) + (SLICES + 3) * size) + 3 * (size_t)n * sizeof(double) +
           (size_t)(m / pes + 1) * (padded + TULLE__SVD_DIRECTIONS) * size + PIECES;
}

/* The outcome is the same on all PEs. */
static tulle_status check(const tulle_svd_options *o, tulle_gidx m, tulle_gidx n)
{
    const tulle_gidx least = m < n ? m : n;
    if (o->count < 1 || o->count > least)
        return tulle__fail(TULLE_ERR_ARG, "%d singular values of a matrix of %" PRId64 " rows and %" PRId64 " columns",
            o->count, m, n);
    return tulle__spectrum_passes_alone(o->passes, o->tolerance, o->max_passes);
}

/*
 * Factors of columns: 1 over the deviations, with scale; 0 where equal values leave nothing without their mean, so that
 * no product rounds beside it. Without both there are none. Collective, agreed.
 */
static tulle_status weigh_columns(tulle_svd *s)
{
    const bool centre = s->options.centre, scale = s->options.scale;
    const size_t n = (size_t)s->rows.n;
    bool equal = false;
    for (size_t c = 0; c < n && centre; c++) equal |= s->deviation[c] == 0 && s->mean[c] != 0;
    if (!scale && !equal) return TULLE_OK;
    TULLE_CALL(tulle_comm_agree(s->rows.comm, tulle__alloc(n, sizeof *s->factor, "factors of columns", &s->factor)));
    if (scale) s->variance = 0;
    for (size_t c = 0; c < n; c++) {
        const bool varies = s->deviation[c] > 0;
        s->factor[c] = !varies ? !centre : scale ? 1 / s->deviation[c] : 1;
        if (scale) s->variance += varies;
    }
    return TULLE_OK;
}

/* Means, deviations, and factors of columns. Collective, agreed. */
static tulle_status look_at_columns(tulle_svd *s)
{
    const size_t n = (size_t)s->rows.n;
    tulle_status status = TULLE_OK;
    if (!s->options.centre && !s->options.scale) return TULLE_OK;
    TULLE_TRY(tulle__alloc(n, sizeof *s->mean, "means of columns", &s->mean));
    TULLE_TRY(tulle__alloc(n, sizeof *s->deviation, "deviations of columns", &s->deviation));
out:
    status = tulle_comm_agree(s->rows.comm, status);
    if (status == TULLE_OK) status = tulle__column_moments(&s->rows, s->mean, s->deviation, &s->variance);
    if (status == TULLE_OK && !isfinite(s->variance))
        status = tulle__fail(TULLE_ERR_ARG, "the deviations of columns are not finite: the matrix has nan, inf or too "
                                            "large values");
    return status == TULLE_OK ? weigh_columns(s) : status;
}

/* Rounding of products with the means. */
static double noise_of(const tulle_svd *s)
{
    double norm = 0; /* of the means, whose squares may be no numbers */
    for (tulle_gidx c = 0; c < s->rows.n && s->options.centre; c++)
        norm = hypot(norm, s->factor ? s->mean[c] * s->factor[c] : s->mean[c]);
    return tulle__svd_epsilon(s) * norm * sqrt((double)s->rows.m);
}

/* Collective, agreed. */
static tulle_status prepare(tulle_svd *s)
{
    TULLE_CALL(look_at_columns(s));
    tulle_spectrum_options o = spectrum_options(&s->options), chosen = o;
    tulle__spectrum_defaults(&chosen, s->rows.n, s->rows.type, 0, 1);
    s->width = last_width(&chosen);
    TULLE_CALL(tulle__gram_init(&s->rows, s->options.centre ? s->mean : NULL, s->factor, s->width, &s->gram));
    s->op = tulle__gram_operator(&s->gram);
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle_spectrum_new(&s->op, &o, &s->spectrum));
    s->spectrum->noise = noise_of(s);
    s->spectrum->last_pass = tulle__svd_keep_product;
    s->spectrum->last_arg = s;
    return status;
}

static tulle_status begin(tulle_comm *comm, const tulle_svd_options *o, tulle_gidx m, tulle_gidx n, tulle_svd **made)
{
    tulle_svd *s = NULL;
    tulle_svd_options own = *o;
    set_defaults(&own, m, n);
    tulle_status status = check(&own, m, n);
    if (status == TULLE_OK) status = tulle__alloc_zero(1, sizeof *s, "a plan for singular values", &s);
    status = tulle_comm_agree(comm, status);
    if (status != TULLE_OK) {
        tulle__free(s);
        return status;
    }
    s->options = own;
    s->rows.comm = comm;
    tulle__pe_own(comm->pe, &s->owned, drop);
    *made = s;
    return TULLE_OK;
}

/* True if the pairs of a matrix in memory are those of A A^T. */
static bool is_transposed(const tulle_svd_options *o, tulle_gidx m, tulle_gidx n)
{
    return m < n && !o->centre && !o->scale;
}

static bool wrong(const tulle_svd_options *o)
{
    return TULLE__NEGATIVE(o->count) || TULLE__NEGATIVE(o->passes) || TULLE__NEGATIVE(o->block) ||
           TULLE__NEGATIVE(o->basis) || TULLE__NEGATIVE(o->max_passes);
}

tulle_status tulle_svd_choose(const tulle_svd_options *options, tulle_gidx m, tulle_gidx n, tulle_spectrum_sizes *sizes)
{
    tulle_svd_options own;
    if (TULLE__NULL(sizes) || TULLE__NEGATIVE(m) || TULLE__NEGATIVE(n) || TULLE__OPTIONS(options, &own, arg) ||
        wrong(options))
        return TULLE_ERR_ARG;
    set_defaults(&own, m, n);
    TULLE_CALL(check(&own, m, n));
    const tulle_spectrum_options o = spectrum_options(&own);
    return tulle_spectrum_choose(&o, is_transposed(&own, m, n) ? m : n, sizes);
}

tulle_status tulle_svd_new(const tulle_mat *A, const tulle_svd_options *options, tulle_svd **plan)
{
    tulle_svd_options own;
    if (TULLE__NULL(A) || TULLE__NULL(plan) || TULLE__OPTIONS(options, &own, arg) || wrong(options))
        return tulle__refuse(A ? A->comm : NULL);
    TULLE__ENTER(A->comm);
    tulle_svd *s = NULL;
    tulle_status status = TULLE_OK;
    if (A->kind != TULLE_CSR)
        status = tulle__fail(TULLE_ERR_ARG, "singular values are those of a sparse matrix of single entries (CSR)");
    status = tulle_comm_agree(A->comm, status);
    if (status == TULLE_OK) status = begin(A->comm, &own, A->layout->m, A->layout->n, &s);
    if (status != TULLE_OK) return status;
    if (is_transposed(&own, A->layout->m, A->layout->n)) status = tulle_mat_transpose(A, &s->transposed);
    if (status == TULLE_OK) status = tulle__row_passes_of_mat(s->transposed ? s->transposed : A, &s->rows);
    if (status == TULLE_OK) status = prepare(s);
    if (status == TULLE_OK)
        *plan = s;
    else
        tulle_svd_free(s);
    return status;
}

tulle_status tulle_svd_of_rows(tulle_rows *rows, const tulle_svd_options *options, tulle_svd **plan)
{
    tulle_svd_options own;
    if (TULLE__NULL(rows) || TULLE__NULL(plan) || TULLE__OPTIONS(options, &own, arg) || wrong(options))
        return tulle__refuse(rows ? rows->comm : NULL);
    TULLE__ENTER(rows->comm);
    tulle_svd *s = NULL;
    TULLE_CALL(begin(rows->comm, &own, rows->m, rows->n, &s));
    tulle_status status = tulle__row_passes_of_rows(rows, &s->rows);
    if (status == TULLE_OK) status = prepare(s);
    if (status == TULLE_OK)
        *plan = s;
    else
        tulle_svd_free(s);
    return status;
}

int tulle_svd_count(const tulle_svd *plan)
{
    return plan ? plan->options.count : 0;
}

const double *tulle_svd_means(const tulle_svd *plan)
{
    return plan ? plan->mean : NULL;
}

const double *tulle_svd_deviations(const tulle_svd *plan)
{
    return plan ? plan->deviation : NULL;
}

/* ---- execution ---- */

/* Sides are there on all PEs or on none, and fit. Collective, agreed. */
static tulle_status check_side(const tulle_svd *s, const tulle_mat *X, tulle_gidx rows, const char *name)
{
    int64_t given[2] = {X != NULL, X == NULL};
    tulle_status status = tulle_comm_reduce_int(s->rows.comm, TULLE_MAX, 2, given);
    if (status == TULLE_OK && given[0] && given[1])
        status = tulle__fail(TULLE_ERR_ARG, "%s is given on some PEs, and on others not", name);
    else if (status == TULLE_OK && X && X->comm != s->rows.comm)
        status = tulle__fail(TULLE_ERR_ARG, "%s belongs to another team, or to a part of this one", name);
    else if (status == TULLE_OK && X &&
             (X->kind != TULLE_DENSE || X->type != s->rows.type || X->layout->m != rows ||
                 X->layout->n != s->options.count))
        status = tulle__fail(TULLE_ERR_ARG, "%s must be dense, %s, %" PRId64 " x %d", name,
            tulle_type_name(s->rows.type), rows, s->options.count);
    return tulle_comm_agree(s->rows.comm, status);
}

/*
 * Eigenpairs of S^T S. Where squares are no numbers, too large or too small, S is multiplied by a power of 2 that
 * brings its largest value to about 1. Collective, agreed.
 */
static tulle_status find_pairs(tulle_svd *s, double *theta, double *residual, tulle_spectrum_report *report)
{
    const double least = s->rows.type == TULLE_F32 ? 0x1p-60f : 0x1p-500;
    double most;
    tulle_status status = tulle_spectrum_execute(s->spectrum, theta, residual, NULL, report);
    if (s->gram.unit != 1 || s->options.scale ||
        (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE && status != TULLE_ERR_ARG) ||
        (status != TULLE_ERR_ARG && report->norm > least && report->norm < 1 / least))
        return status;
    const tulle_status looked = tulle__largest_value(&s->rows, &most);
    if (looked != TULLE_OK || !(most > 0)) return looked == TULLE_OK ? status : looked;
    const double normal = s->rows.type == TULLE_F32 ? (double)FLT_MIN : DBL_MIN;
    if (most < normal)
        return tulle__fail(TULLE_ERR_ARG,
            "the largest value of the matrix is %.3g, and smaller than %.3g numbers have few digits: scale it", most,
            normal);
    const double unit = ldexp(1, -ilogb(most));
    TULLE_CALL(tulle_comm_agree(s->rows.comm, tulle__gram_set_unit(&s->gram, unit)));
    s->spectrum->noise *= unit;
    return tulle_spectrum_execute(s->spectrum, theta, residual, NULL, report);
}

/*
 * True if the means are so large that rounding of products with them may have made a value: as large as all are, or, by
 * way of the squares, beside the largest one. Rounding is random: a tenth of the worst it may do is not met.
 */
static bool drowns(const tulle_svd *s, double sigma, double largest)
{
    const double noise = s->spectrum->noise, zero = tulle__svd_zero(s, largest);
    return noise > 0 && (largest <= zero || (sigma > zero && noise * largest > 10 * sigma * sigma));
}

/* The cause that values have not converged. */
static const char *cause_of(const tulle_svd *s, const tulle_spectrum_report *r, bool drowned)
{
    if (drowned) return "; the means of columns are so large that their rounding drowns the others";
    if (r->passes >= s->spectrum->options.max_passes) return "";
    return "; below about 1e-4 of the largest (1e-2 for f32) their squares drown in rounding";
}

/* Collective, agreed. */
static tulle_status run(
    tulle_svd *s, double *sigma, double *residual, tulle_mat *left, tulle_mat *right, tulle_svd_report *report)
{
    const int count = s->options.count, padded = (count + s->width - 1) / s->width * s->width;
    tulle_spectrum_report *r = &report->spectrum;
    tulle_status status = tulle__basis_init(s->rows.comm, s->rows.layout, s->rows.type, padded, s->width, &s->left);
    status = tulle_comm_agree(s->rows.comm, status);
    if (status == TULLE_OK) status = find_pairs(s, sigma, residual, r);
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status;
    const int found = s->spectrum->found;
    if (!found && status != TULLE_OK) { /* nothing is known */
        if (left) TULLE_CALL(tulle__svd_write(s, &s->left, s->rows.layout, 0, NULL, left));
        if (right) TULLE_CALL(tulle__svd_write(s, &s->spectrum->basis, s->gram.layout, 0, NULL, right));
        return status;
    }
    const double *scores = s->options.scores ? sigma : NULL;
    status = tulle__svd_triplets(s, found, sigma, residual, &report->orthogonality);
    bool any = false;
    r->norm = found ? sigma[0] : 0;
    r->converged = 0;
    r->residual = 0;
    for (int i = 0; i < found; i++) {
        const bool drowned = drowns(s, sigma[i], r->norm);
        r->converged += residual[i] <= tulle__svd_limit(s, sigma[i], r->norm) && !drowned;
        any |= drowned;
        if (residual[i] != 0)
            r->residual = fmax(r->residual, residual[i] / fmax(sigma[i], tulle__svd_epsilon(s) * r->norm));
    }
    for (int i = 0; i < found; i++) {
        sigma[i] /= s->gram.unit;
        residual[i] /= s->gram.unit;
    }
    if (left && status == TULLE_OK)
        status = tulle__svd_write(s, &s->left, s->rows.layout, found, s->transposed ? NULL : scores, left);
    if (right && status == TULLE_OK)
        status = tulle__svd_write(s, &s->spectrum->basis, s->gram.layout, found, s->transposed ? scores : NULL, right);
    r->norm /= s->gram.unit;
    report->variance = s->variance;
    r->passes = s->spectrum->passes;
    report->passes = r->passes + (s->mean != NULL);
    if (status == TULLE_OK && r->converged < count && (any || !s->options.passes))
        status = tulle__fail(TULLE_ERR_CONVERGENCE, "%d of %d singular values have converged in %" PRId64 " passes%s",
            r->converged, count, r->passes, cause_of(s, r, any));
    return status;
}

tulle_status tulle_svd_execute(
    tulle_svd *plan, double *sigma, double *residual, tulle_mat *U, tulle_mat *V, tulle_svd_report *report)
{
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    if (TULLE__NULL(sigma)) return tulle__refuse(plan->rows.comm);
    TULLE__ENTER(plan->rows.comm);
    tulle_svd_report unasked;
    tulle_svd_report *r = report ? report : &unasked;
    double *own = NULL;
    tulle_mat *left = plan->transposed ? V : U, *right = plan->transposed ? U : V;
    *r = (tulle_svd_report){.passes = 0};
    tulle_status status = check_side(plan, left, plan->rows.m, plan->transposed ? "V" : "U");
    if (status == TULLE_OK) status = check_side(plan, right, plan->rows.n, plan->transposed ? "U" : "V");
    if (status != TULLE_OK) return status;
    if (!residual) status = tulle__alloc((size_t)plan->options.count, sizeof *own, "residuals", &own);
    status = tulle_comm_agree(plan->rows.comm, status);
    if (status == TULLE_OK) status = run(plan, sigma, residual ? residual : own, left, right, r);
    tulle__basis_fini(&plan->left);
    plan->left = (tulle__basis){.V = NULL};
    tulle__free(own);
    return status;
}
