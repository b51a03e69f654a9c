/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/method_estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/algebra.h>

#include "algo/matfun/dense/lanczos.h"
#include "algo/matfun/whole/iterations.h"
#include "base/error.h"
#include "tile/element.h"

/* Seconds of one core of 2024. */
#define CUBE 7e-11
#define SQUARE 2.2e-8
#define COLUMN 2e-10 /* the columns through the reflectors, twice */
#define SOLVES 1.5e-7
#define SUBMATRIX 1e-5
#define PAIR 1.6e-8 /* of a block product, and a flop of it */
#define FLOP 3.7e-11
#define ENTRY 1e-7 /* of a block of the matrices of a product, in sums, norms and copies, and a value of it */
#define VALUE 2e-9
#define PRODUCT 1.5e-3 /* of a product beside that */
#define BISECTION 3e-5 /* of a submatrix of a step function */
#define TRIANGLE .55   /* of a symmetric product is multiplied */
#define WORTH .8       /* of the time of submatrices: what is uncertain goes to these, whose time is foreseen better */
#define USUAL_GAP .05
#define EASY_GAP .3
#define FILTER_MOST .01 /* beyond, the verification of iterates with eigenvalues up to 1 seldom passes */
#define LEFT .65        /* of the blocks of powers, whose iterate M becomes I: what a filter leaves on average */
#define DECAY 3.        /* logarithm of norms over a distance of one link */

enum { SAMPLE = 12, VISITS_MOST = 200000, LANCZOS_STEPS = 12 };

/* ---- the pattern ---- */

struct sample {
    int32_t *seen, *queue; /* [block columns]: the number of the row that has seen it; columns in order of distance */
    double *norm;          /* [block columns] */
    double reach[TULLE__REACH_MOST], rows, depth, mapped;
};

static double norm_of(const tulle__submatrices *s, const tulle__block_row *row, int64_t e)
{
    double sum = 0;
    for (int64_t k = row->offset[e]; k < row->offset[e + 1]; k++) {
        const double x = tulle__element(s->pattern.A->type, row->val, k);
        sum += x * x;
    }
    return sqrt(sum);
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The logarithm of a small block of row i off the diagonal over the filter, if its values are mapped. */
static void add_depth(const tulle__submatrices *s, tulle_gidx i, double filter, struct sample *x)
{
    const tulle__block_row *row = tulle__block_row_of(&s->pattern, i);
    int64_t off = 0;
    if (!row->val || !(filter > 0)) return;
    for (int64_t e = 0; e < row->count; e++)
        if (row->col[e] != i) x->norm[off++] = norm_of(s, row, e);
    qsort(x->norm, (size_t)off, sizeof *x->norm, ascending);
    if (off) x->depth += fmax(0, log(fmax(x->norm[off / 10], 1e-300) / filter));
    x->mapped++;
}

/* Breadth-first search from block row i through the rows that are known here. */
static void add_row(const tulle__submatrices *s, int32_t number, tulle_gidx i, struct sample *x)
{
    int64_t head = 0, tail = 0, visits = 0;
    double growth = 1, most = (double)s->pattern.A->layout->row_blocks.count, last = 1;
    x->seen[i] = number;
    x->queue[tail++] = (int32_t)i;
    for (int d = 0; d < TULLE__REACH_MOST; d++) {
        const int64_t end = tail;
        const bool searched = visits < VISITS_MOST;
        bool complete = searched;
        for (; head < end && searched; head++) {
            if (s->pattern.slot[x->queue[head]] < 0) {
                complete = false;
                continue;
            }
            const tulle__block_row *row = tulle__block_row_of(&s->pattern, x->queue[head]);
            visits += row->count;
            for (int64_t e = 0; e < row->count; e++) {
                if (x->seen[row->col[e]] == number) continue;
                x->seen[row->col[e]] = number;
                x->queue[tail++] = row->col[e];
            }
        }
        /* beyond what is known: as it has grown */
        const double now = complete ? (double)tail : fmin(most, fmax((double)tail, last * growth));
        growth = fmax(1, now / last);
        last = now;
        x->reach[d] += now;
    }
    x->rows++;
}

static tulle_status measure_reach(const tulle__submatrices *s, double filter, tulle__method_estimate *estimate)
{
    tulle_status status;
    struct sample x = {.seen = NULL};
    const int64_t columns = s->pattern.A->layout->row_blocks.count, step = s->count / SAMPLE + 1;
    TULLE_TRY(tulle__alloc_zero((size_t)columns + 1, sizeof *x.seen, "a search of the pattern", &x.seen));
    TULLE_TRY(tulle__alloc((size_t)columns + 1, sizeof *x.queue, "a search of the pattern", &x.queue));
    TULLE_TRY(tulle__alloc((size_t)columns + 1, sizeof *x.norm, "norms of a block row", &x.norm));
    for (int64_t k = 0; k < s->count; k += step) {
        add_row(s, (int32_t)(k / step) + 1, s->sub[k].column, &x);
        add_depth(s, s->sub[k].column, filter, &x);
    }
out:
    tulle__free(x.seen);
    tulle__free(x.queue);
    tulle__free(x.norm);
    double sums[TULLE__REACH_MOST + 3] = {x.rows};
    memcpy(sums + 1, x.reach, sizeof x.reach);
    sums[TULLE__REACH_MOST + 1] = x.mapped;
    sums[TULLE__REACH_MOST + 2] = x.depth;
    if (status == TULLE_OK) status = tulle_comm_reduce_real(s->pattern.A->comm, TULLE_SUM, TULLE__REACH_MOST + 3, sums);
    const double mapped = sums[TULLE__REACH_MOST + 1];
    estimate->distance = filter > 0 && mapped > 0 ? 1 + sums[TULLE__REACH_MOST + 2] / mapped / DECAY : INFINITY;
    estimate->links = 1;
    for (int d = 0; d < TULLE__REACH_MOST; d++) {
        estimate->reach[d] = sums[0] > 0 ? sums[d + 1] / sums[0] : 0;
        if (d && estimate->reach[d] > estimate->reach[d - 1]) estimate->links = d + 1;
    }
    return status;
}

/* ---- an iteration ---- */

/* Blocks of a row of a polynomial of A of that degree. */
static double blocks_of(const tulle__method_estimate *e, double degree)
{
    if (degree >= e->links) return e->reach[e->links - 1];
    if (degree <= 1) return e->reach[0];
    const int below = (int)degree;
    return e->reach[below - 1] + (degree - below) * (e->reach[below] - e->reach[below - 1]);
}

/* Seconds of a step with that number of products of matrices with `blocks` a row. */
static double step_seconds(const tulle__method_estimate *e, double products, double blocks)
{
    const double pairs = TRIANGLE * e->columns * blocks * blocks;
    const double stored = 2 * e->columns * blocks;
    return products *
           (PRODUCT + pairs * (PAIR + FLOP * 2 * e->block) + stored * (ENTRY + VALUE * pow(e->block, 2. / 3)));
}

/* The iteration as it is for one eigenvalue. */
struct scalar {
    bool sign;
    int order, p;
    double products, degree; /* of a step: its products, and how often it multiplies the degree in A */
    double x;                /* of the approximation, or of M */
};

static struct scalar scalar_of(const tulle_function *f, int order)
{
    static const int products[TULLE__ORDER_MOST + 1] = {0, 0, 2, 3, 4, 4, 5, 5};
    static const int power[TULLE_FUNCTION_COUNT] = {
        [TULLE_FUNCTION_INVERSE] = 1, [TULLE_FUNCTION_SQRT] = 2, [TULLE_FUNCTION_INVSQRT] = 2};
    struct scalar s = {.sign = f->kind == TULLE_FUNCTION_SIGN || f->kind == TULLE_FUNCTION_FERMI, .order = order};
    if (s.sign) {
        s.products = products[order];
        s.degree = 2 * order - 1;
        return s;
    }
    s.p = f->kind == TULLE_FUNCTION_ROOT ? abs(f->p) : power[f->kind];
    if (!s.p) s.p = 1; /* no iteration: a number for the report */
    s.products = 2;
    for (int bits = s.p; bits > 1; bits >>= 1) s.products += 1 + (bits & 1);
    s.degree = s.p + 1;
    return s;
}

/* One step; whether it was the last for a defect below the tolerance. */
static bool advance(struct scalar *s, double tolerance)
{
    if (!s->sign) {
        const double defect = fabs(1 - s->x);
        s->x *= pow((s->p + 1 - s->x) / s->p, s->p);
        return (s->p + 1) / 2. * defect * defect < tolerance;
    }
    const double y = 1 - s->x * s->x;
    double term = 1, sum = 1;
    for (int j = 1; j < s->order; j++) {
        term *= y * (2 * j - 1) / (2 * j);
        sum += term;
    }
    s->x *= sum;
    return pow(y, s->order) < tolerance;
}

/* Links at which blocks of a function have decayed to the filter, if it resolves the smallest eigenvalue x of 1. */
static double decay(const struct scalar *s, double x, double filter)
{
    if (!(filter > 0)) return INFINITY;
    const double rate = s->sign ? x : 2 * sqrt(x);
    return 1 + fmax(0, log(1 / filter)) / fmax(rate, 1e-9);
}

/* Forecast if the eigenvalue nearest to mu is at `start` of a bound of the spectrum, and `gap` of its half width. */
static void predict(const tulle__method_estimate *e, struct scalar s, double start, double gap, double filter,
    double tolerance, tulle__forecast *forecast)
{
    double degree = 1, resolved = 1;
    forecast->seconds = 0;
    forecast->steps = 0;
    s.x = start;
    for (bool last = false; !last && forecast->steps < TULLE__ITERATIONS_MOST; forecast->steps++) {
        degree *= s.degree;
        resolved = fmax(gap, resolved / (s.sign ? 1.5 : 2));
        const double links = fmin(fmin(degree, e->distance), decay(&s, resolved, filter));
        forecast->step[forecast->steps] =
            step_seconds(e, s.products, (s.sign || !(filter > 0) ? 1 : LEFT) * blocks_of(e, links));
        forecast->seconds += forecast->step[forecast->steps];
        last = advance(&s, tolerance);
    }
    if (forecast->steps) forecast->seconds += forecast->step[forecast->steps - 1]; /* the result is verified */
}

tulle_status tulle__matfun_estimate(const tulle__submatrices *s, double filter, tulle__method_estimate *estimate)
{
    const tulle_layout *l = s->pattern.A->layout;
    double sums[2] = {0, (double)s->count}, largest = 0, cubes = 0;
    for (int64_t k = 0; k < s->count; k++) {
        const double n = (double)s->sub[k].n, b = (double)s->sub[k].b;
        const double seconds = CUBE * n * n * n + (SQUARE + COLUMN * b) * n * n + SOLVES * n * b + SUBMATRIX;
        sums[0] += seconds;
        largest = fmax(largest, seconds);
    }
    for (int64_t i = 0; i < l->row_blocks.count; i++)
        cubes += pow((double)(l->row_blocks.cut[i + 1] - l->row_blocks.cut[i]), 3);
    tulle_comm *comm = s->pattern.A->comm;
    tulle_status status = tulle_comm_reduce_real(comm, TULLE_SUM, 2, sums);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(comm, TULLE_MAX, 1, &largest);
    *estimate = (tulle__method_estimate){.submatrices = fmax(sums[0], comm->size * largest),
        .count = sums[1],
        .columns = (double)l->row_blocks.count,
        .block = l->row_blocks.count ? cubes / (double)l->row_blocks.count : 0};
    if (status == TULLE_OK) status = measure_reach(s, filter, estimate);
    tulle__forecast forecast = {.other = 0};
    const tulle_function sign = {.kind = TULLE_FUNCTION_SIGN};
    predict(estimate, scalar_of(&sign, 2), USUAL_GAP / 2, USUAL_GAP, filter, fmax(filter, 1e-12), &forecast);
    estimate->sign = forecast.seconds;
    return status;
}

/* Seconds of the submatrices of a function: steps have a bisection each. */
static double submatrix_seconds(const tulle__method_estimate *e, const tulle_function *f)
{
    const bool step = f->kind == TULLE_FUNCTION_SIGN || (f->kind == TULLE_FUNCTION_FERMI && f->kT <= 0);
    return e->submatrices + (step ? BISECTION * e->count : 0);
}

tulle_status tulle__matfun_forecast(const tulle__method_estimate *e, const tulle_mat *A, const tulle_function *function,
    double filter, int order, tulle__forecast *forecast)
{
    tulle__ritz ritz;
    double norm = 0;
    const double tolerance = fmax(filter, A->type == TULLE_F32 ? 1e-5 : 1e-12);
    const struct scalar s = scalar_of(function, order);
    const double mu = s.sign ? function->mu : 0;
    *forecast = (tulle__forecast){.other = submatrix_seconds(e, function)};
    predict(e, s, EASY_GAP, EASY_GAP, filter, tolerance, forecast);
    if (filter >= FILTER_MOST) forecast->seconds = fmax(forecast->seconds, 2 * forecast->other);
    if (!tulle__matfun_worth_a_try(forecast) || e->columns <= 0) return TULLE_OK;
    TULLE_CALL(tulle_mat_norm(A, TULLE_NORM_INFINITY, &norm));
    TULLE_CALL(tulle__lanczos_bounds(A, mu, LANCZOS_STEPS, &ritz));
    const double most = s.sign ? norm + fabs(mu) : norm > 0 ? 2 * norm / (s.p + 1) : 1;
    const double width = fmax(fabs(ritz.low - mu), fabs(ritz.high - mu)), gap = width > 0 ? ritz.nearest / width : 0;
    predict(e, s, most > 0 ? ritz.nearest / most : 0, gap, filter, tolerance, forecast);
    return TULLE_OK;
}

bool tulle__matfun_worth_a_try(const tulle__forecast *forecast)
{
    return forecast->seconds < WORTH * forecast->other;
}
