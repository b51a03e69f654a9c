/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bidiagonalisation (Golub and Kahan 1965) of [A; damp I] from [b - A x; -damp x], for columns that share their passes:
 *
 *   beta u = A v - alpha u,  alpha v = A^T u - beta v
 *
 * u is kept as beta u. So a row's part of the first line and its part of A^T (beta u) come of one read of the row, and
 * beta, which only then is known, divides the sum. An iteration is one pass, and two reductions.
 *
 * A round is, for each column, either such a step, or a start, which computes r = b - A x and its gradient by the same
 * pass: at first, when the recurrence has the column solved, and at the end. A start decides whether the column stops;
 * if it does not, a new bidiagonal matrix begins with it. The lower part of u, -damp x at a start, makes damping the
 * same as more rows of A: a start from any x is right with it, too.
 *
 * Rounding. Where A^T r is the rounding of a product, as when the recurrence has the whole range of A, v would be
 * noise, which has a part in the null space of A: a step divides it by about nothing, and x grows without bounds, while
 * the recurrence's residual decreases. So numbers of that size cause a start, which ends the solve if its gradient is
 * as small; and a start that finds a larger residual than the last one had, or no progress, returns to the x of that.
 */
#include "algo/least_squares/bidiagonal.h"

#include <math.h>
#include <string.h>

#include "algo/krylov/columns/interleave.h"
#include "algo/krylov/columns/rhs_by_column.h"

enum { MOST = TULLE__TALL_MOST, STRIKES = 3 };

static tulle__fit_column *running(tulle__fit *f, int i)
{
    return &f->column[f->list[i]];
}

/* Lists the columns that run, and moves their lines of U to the front. */
static void list_running(tulle__fit *f)
{
    const size_t size = tulle_type_size(f->of_rows.type);
    int from[MOST], count = 0;
    for (int i = 0; i < f->going; i++) {
        if (running(f, i)->k.stop != TULLE_STOP_COUNT) continue;
        from[count] = i;
        f->list[count++] = f->list[i];
    }
    for (int64_t r = 0; count < f->going && r < f->of_rows.rows; r++) {
        char *line = (char *)f->U + (size_t)(r * f->columns) * size;
        for (int i = 0; i < count; i++) memmove(line + (size_t)i * size, line + (size_t)from[i] * size, size);
    }
    f->going = count;
    for (int i = 0; i < count; i++) running(f, i)->k.active = count;
}

/* U of columns that start is b, and their direction -x: A v - alpha u becomes b - A x. Collective, agreed. */
static tulle_status pass(tulle__fit *f)
{
    const void *x[MOST];
    void *y[MOST];
    double factor[MOST], keep[MOST];
    const size_t size = tulle_type_size(f->of_rows.type);
    for (int i = 0; i < f->going; i++) {
        tulle__fit_column *c = running(f, i);
        const double of_b = 1 / c->k.scale;
        if (c->starts && f->of_rows.rows)
            tulle__columns_read_some(f->B, 1, &c->k.column, &of_b, (char *)f->U + (size_t)i * size, f->columns);
        x[i] = c->starts ? c->k.x : c->v;
        factor[i] = c->starts ? -1 : 1 / c->alpha;
        keep[i] = c->starts ? 1 : -c->alpha / c->beta;
        y[i] = c->y;
        c->k.products++;
    }
    tulle__lines_pack(f->of_columns.type, f->of_columns.rows, f->of_columns.pool, f->going, x, factor, f->in, f->going);
    const int64_t start = tulle__now(f->comm);
    const tulle_status status = tulle__gram_bidiagonal(f->gram, f->in, keep, f->going, f->U, f->columns, f->out);
    tulle__part_end(f->comm, "product", start, &f->product_ns);
    f->passes++;
    if (status == TULLE_OK)
        tulle__lines_unpack(f->of_columns.type, f->of_columns.rows, f->of_columns.pool, f->going, f->out, f->going, y);
    return status;
}

/* The lower part of u, and what it adds to A^T u; its squares are added to those of U. Collective, agreed. */
static tulle_status damp(tulle__fit *f, double *square)
{
    const void *d[MOST];
    double sums[MOST];
    if (f->damp == 0) return TULLE_OK;
    for (int i = 0; i < f->going; i++) {
        tulle__fit_column *c = running(f, i);
        const void *x = c->starts ? c->k.x : c->v;
        const double by = c->starts ? -f->damp : f->damp / c->alpha, keep = c->starts ? 0 : -c->alpha / c->beta;
        tulle__space_combine(&f->of_columns, 1, &by, &x, keep, c->d);
        d[i] = c->d;
        tulle__space_combine(&f->of_columns, 1, &f->damp, &d[i], 1, c->y);
    }
    TULLE_CALL(tulle__space_dots(&f->of_columns, f->going, d, d, sums));
    for (int i = 0; i < f->going; i++) square[i] += sums[i];
    return TULLE_OK;
}

/* ---- a column ---- */

/* ||A^T u|| for a unit vector u, or alpha and beta, that may be rounding: the errors of min(m, n) sums in f64. */
static double noise_of(const tulle__fit *f, const tulle__fit_column *c)
{
    const double rank = (double)(f->rows->m < f->rows->n ? f->rows->m : f->rows->n);
    return tulle__krylov_epsilon(&c->k) * (8 + (f->of_rows.type == TULLE_F64 ? sqrt(rank) : 0)) * c->norm;
}

/* True for numbers that rounding prevents from becoming smaller: of r = b - A x, or of A^T r. */
static bool is_rounding(const tulle__fit *f, const tulle__fit_column *c, double residual, double gradient)
{
    return gradient <= noise_of(f, c) * residual ||
           residual <= 8 * tulle__krylov_epsilon(&c->k) * (c->k.norm + c->norm * c->solution);
}

static void copy_x(tulle__fit *f, const void *from, void *to)
{
    tulle__space_scale(&f->of_columns, 1, from, to);
}

/* x of the last start takes the place of a worse one. */
static void restore(tulle__fit *f, tulle__fit_column *c)
{
    copy_x(f, c->saved, c->k.x);
    c->k.true_residual = c->saved_residual;
    c->gradient = c->saved_gradient;
    c->plain = c->saved_plain;
}

static void save(tulle__fit *f, tulle__fit_column *c)
{
    copy_x(f, c->k.x, c->saved);
    c->saved_residual = c->k.true_residual;
    c->saved_gradient = c->gradient;
    c->saved_plain = c->plain;
}

/* True if the steps since the last start have made x worse, or not better, as far as rounding lets tell. */
static bool is_worse(const tulle__fit_column *c)
{
    const tulle__krylov *k = &c->k;
    const double eps = tulle__krylov_epsilon(k), r = k->true_residual;
    if (!(r <= c->saved_residual + 64 * eps * k->norm)) return true;
    return r > c->saved_residual * (1 - 8 * eps) && c->gradient > c->saved_gradient / 2;
}

/* The larger one of both ways in which it is not solved; at most 1: it is. */
static double distance(const tulle__fit *f, const tulle__fit_column *c, double residual, double gradient)
{
    const double bound = f->options->gradient * c->norm * residual;
    const double of_r = residual <= c->k.limit ? 1 : residual / c->k.limit,
                 of_g = gradient <= bound ? 1 : gradient / bound;
    return fmin(of_r, of_g);
}

static void judge(tulle__fit *f, tulle__fit_column *c)
{
    tulle__krylov *k = &c->k;
    const double away = distance(f, c, k->true_residual, c->gradient);
    if (!isfinite(k->true_residual) || !isfinite(c->gradient)) {
        tulle__krylov_stop(k, TULLE_STOP_NOT_FINITE, "the residual is not finite");
    } else if (k->true_residual <= k->limit) {
        tulle__krylov_stop(k, TULLE_STOP_CONVERGED, " ");
    } else if (away <= 1) {
        tulle__krylov_stop(k, TULLE_STOP_LEAST_SQUARES, " ");
    } else if (is_rounding(f, c, k->true_residual, c->gradient)) {
        tulle__krylov_stop(k, TULLE_STOP_STAGNATED,
            "the true residual is %.3g, and ||A^T r|| %.3g of ||A|| ||r||: the precision of the type is used up",
            k->true_residual * k->scale, c->gradient / (c->norm * k->true_residual));
    } else if (c->limited) {
        tulle__krylov_stop(k, TULLE_STOP_CONDITION, "the estimate of the condition is %.3g, above %.3g", c->condition,
            f->options->max_condition);
    } else if (k->iteration >= k->options.max_iterations) {
        tulle__krylov_stop(k, TULLE_STOP_ITERATIONS,
            "the residual is %.3g, not yet %.3g, and ||A^T r|| %.3g of ||A|| ||r||, not yet %.3g",
            k->true_residual * k->scale, k->limit * k->scale, c->gradient / (c->norm * k->true_residual),
            f->options->gradient);
    } else if (c->due) {
        if (c->strikes.before > 0 && away > c->strikes.before / 2) c->strikes.count++;
        c->strikes.before = away;
        if (c->strikes.count >= STRIKES)
            tulle__krylov_stop(k, TULLE_STOP_STAGNATED,
                "the true residual stays at %.3g, and ||A^T r|| at %.3g of ||A|| ||r||: the precision of the type is "
                "used "
                "up",
                k->true_residual * k->scale, c->gradient / (c->norm * k->true_residual));
    }
}

/* ||A|| is at least ||A x|| / ||x||, and ||A x|| at least ||b|| - ||b - A x||, where that is not rounding. */
static void bound_norm(tulle__fit_column *c)
{
    const double product = c->k.norm - c->plain;
    if (c->solution > 0 && product > 1e-3 * c->k.norm) c->norm = fmax(c->norm, product / c->solution);
}

/* The residual has been computed from x: beta, and alpha v of its gradient. */
static void begin(tulle__fit *f, tulle__fit_column *c, double rows_square, double square)
{
    tulle__krylov *k = &c->k;
    c->plain = sqrt(rows_square);
    k->true_residual = sqrt(square);
    c->gradient = c->alpha * (c->beta = k->true_residual);
    if (!k->iteration) (void)tulle__krylov_take(k, k->true_residual);
    if (!k->iteration) tulle__krylov_report(k, false);
    if (c->ends != TULLE_STOP_COUNT) k->stop = c->ends;
    bound_norm(c);
    const bool worse = k->iteration && is_worse(c);
    if (worse) restore(f, c);
    if (k->stop == TULLE_STOP_COUNT) judge(f, c);
    c->due = c->starts = false;
    if (worse && k->stop == TULLE_STOP_COUNT)
        tulle__krylov_stop(k, TULLE_STOP_STAGNATED,
            "the true residual stays at %.3g, and ||A^T r|| at %.3g of ||A|| ||r||: the precision of the type is used "
            "up",
            k->true_residual * k->scale, c->gradient / (c->norm * k->true_residual));
    if (k->stop != TULLE_STOP_COUNT) return;
    save(f, c);
    tulle__fit_begin(f, c);
}

static void advance(tulle__fit *f, tulle__fit_column *c, double last_alpha)
{
    tulle__krylov *k = &c->k;
    tulle__fit_step(f, c, last_alpha);
    k->iteration++;
    const double residual = tulle__fit_residual(f, c), gradient = tulle__fit_gradient(f, c), noise = noise_of(f, c);
    const int finite = tulle__krylov_take(k, residual);
    tulle__krylov_report(k, false);
    c->due = distance(f, c, residual, gradient) <= 1 || c->alpha <= noise || c->beta <= noise ||
             is_rounding(f, c, residual, gradient);
    c->limited = f->options->max_condition > 0 && c->condition > f->options->max_condition;
    c->starts = c->due || c->limited || k->iteration >= k->options.max_iterations;
    if (finite) return;
    c->ends = k->stop; /* when its true residual is known */
    k->stop = TULLE_STOP_COUNT;
    c->starts = true;
}

/* alpha v, and the squares of it, of x, and of LSQR's w. Collective, agreed. */
static tulle_status next_directions(tulle__fit *f, const double *square, double *dots)
{
    const void *x[3 * MOST];
    const int parts = f->options->method == TULLE_LEAST_SQUARES_LSQR ? 3 : 2;
    for (int i = 0; i < f->going; i++) {
        tulle__fit_column *c = running(f, i);
        const double beta = sqrt(square[i]), by = beta > 0 ? 1 / beta : 0;
        const void *y = c->y;
        tulle__space_combine(&f->of_columns, 1, &by, &y, c->starts ? 0 : -beta / c->alpha, c->v);
        x[i] = c->v;
        x[f->going + i] = c->k.x;
        x[2 * f->going + i] = c->w;
        if (!c->starts) c->beta = beta;
    }
    return tulle__space_dots(&f->of_columns, parts * f->going, x, x, dots);
}

/*
 * Multiplies A, if its squares are no numbers, by a power of 2 that brings its largest value to about 1, and divides x
 * by it. Collective, agreed; *again: the first round is made again.
 */
static tulle_status choose_unit(tulle__fit *f, const double *square, const double *dots, bool *again)
{
    const double least = f->of_rows.type == TULLE_F32 ? 0x1p-40 : 0x1p-400;
    double best = 0, most = 0;
    bool wrong = false;
    for (int i = 0; i < f->going; i++) {
        wrong |= !isfinite(square[i]) || !isfinite(dots[i]);
        best = fmax(best, sqrt(dots[i]) * sqrt(square[i]) / running(f, i)->k.norm);
    }
    *again = false;
    if (!wrong && best > least && best < 1 / least) return TULLE_OK;
    tulle_status status = tulle__largest_value(f->rows, &most);
    f->passes++;
    most = fmax(most, f->damp);
    if (status != TULLE_OK || !(most > 0)) return status;
    const double unit = ldexp(1, -ilogb(most));
    *again = unit != 1;
    f->damp *= unit;
    return *again ? tulle_comm_agree(f->comm, tulle__gram_set_unit(f->gram, unit)) : TULLE_OK;
}

/* x = X in the units of the solve: by one of them after the other, as their product may be no number. */
static void read_x(tulle__fit *f, tulle__krylov *k)
{
    tulle__columns_read(f->X, k->column, 1 / k->scale, k->x);
    tulle__space_scale(&f->of_columns, 1 / f->gram->unit, k->x, k->x);
}

/* x of all columns that can be iterated, which start. */
static void begin_all(tulle__fit *f)
{
    f->going = 0;
    for (int j = 0; j < f->columns; j++) {
        tulle__fit_column *c = &f->column[j];
        if (c->k.stop != TULLE_STOP_COUNT) continue;
        if (f->options->guess) read_x(f, &c->k);
        c->starts = true;
        f->list[f->going++] = j;
    }
    for (int i = 0; i < f->going; i++) running(f, i)->k.active = f->going;
}

/* Collective, agreed. */
static tulle_status round_of_all(tulle__fit *f)
{
    double rows_square[MOST], square[MOST], dots[3 * MOST] = {0};
    bool again = false;
    TULLE_CALL(pass(f));
    TULLE_CALL(tulle__space_squares(&f->of_rows, f->going, f->U, f->columns, rows_square));
    memcpy(square, rows_square, sizeof square);
    TULLE_CALL(damp(f, square));
    TULLE_CALL(next_directions(f, square, dots));
    if (f->passes == 1) TULLE_CALL(choose_unit(f, square, dots, &again));
    if (again) {
        begin_all(f);
        return TULLE_OK;
    }
    for (int i = 0; i < f->going; i++) {
        tulle__fit_column *c = running(f, i);
        const double last = c->alpha;
        c->alpha = sqrt(dots[i]);
        c->solution = sqrt(dots[f->going + i]);
        c->w_square = dots[2 * f->going + i];
        c->starts ? begin(f, c, rows_square[i], square[i]) : advance(f, c, last);
    }
    list_running(f);
    return TULLE_OK;
}

tulle_status tulle__fit_run(tulle__fit *f)
{
    begin_all(f);
    while (f->going) TULLE_CALL(round_of_all(f));
    return TULLE_OK;
}

tulle_status tulle__fit_judge(tulle__fit *f, const bool *chosen)
{
    f->going = 0;
    for (int j = 0; j < f->columns; j++) {
        tulle__krylov *k = &f->column[j].k;
        if (!chosen[j]) continue;
        read_x(f, k);
        k->stop = TULLE_STOP_COUNT;
        f->column[j].starts = true;
        f->column[j].saved_residual = INFINITY; /* X alone is judged */
        f->list[f->going++] = j;
    }
    return f->going ? round_of_all(f) : TULLE_OK;
}
