/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preconditioned MINRES (Paige and Saunders, SIAM J. Numer. Anal. 12, 1975) for symmetric A, indefinite or singular,
 * and symmetric positive definite M: x_k has the least residual, in the norm of M^-1, of all vectors of the Krylov
 * space. Each column has a recurrence of its own; a product, a preconditioner and two reductions serve all columns that
 * run.
 *
 * Lanczos vectors are r2 / beta, with y = M^-1 r2, beta^2 = r2^T y. A round is, for each column, either a step, whose
 * product is A y / beta, or a start from the true residual, whose product is A x: at first, when the recurrence has the
 * residual within the limit, and when the system seems inconsistent. The norm of b - A x follows from the recurrence
 * without M; with M the residual is carried on:
 *
 *   r_k = s_k^2 r_(k-1) - phibar_k c_k r2_(k+1) / beta_(k+1)
 *
 * A singular, inconsistent system. ||A r_(k-1)|| = phibar_(k-1) hypot(gbar_k, dbar_(k+1)). Where this is small beside
 * ||A|| ||r_(k-1)||, x_(k-1) may be a solution of least squares. From there on rounding would pretend further progress
 * (Lanczos vectors lose their orthogonality, and a null vector is found again). So the true residual is computed, and
 * if the first step from it shows the same, some steps are made on trial. If the true residual is not smaller then, but
 * for rounding, the solve ends with x as it was. ||A|| is the largest column of the tridiagonal matrices so
 * far, and at first, without M, that of a product with a random vector; with M the first step of all has nothing to be
 * compared with, and the second one undoes it if need be.
 */
#include "algo/krylov/minres.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/krylov/columns/interleave.h"
#include "algo/krylov/columns/rhs_by_column.h"
#include "base/error.h"
#include "base/random.h"
#include "tile/element.h"

enum { VECTORS = 8, BESIDE = 3, MOST = TULLE__TALL_MOST, TRIAL = 20 };

struct column {
    tulle__krylov k; /* x, b, its figures, why it stopped */
    char *vectors;
    void *r1, *r2, *t, *w, *before; /* r1: of the last step; w: the last direction, and the one before */
    void *saved;                    /* x of the last start */
    void *y, *last, *r;             /* with M: M^-1 r2, that of the last step, and the residual */
    double beta, last_beta;         /* of r2 and r1 */
    double alfa, dbar, epsilon, cosine, sine, phi, phibar;
    double pivot, norm, dull; /* of the last step; ||A|| so far; beside it ||A r|| / ||r|| is rounding */
    int64_t steps;            /* since the last start */
    bool starts, due;         /* due: at the start the residual should be within the limit */
    double tried;             /* the residual before steps on trial; 0: they are none */
    tulle_stop ends;          /* why the column stops at the start; TULLE_STOP_COUNT: it need not */
    tulle__krylov_strikes strikes;
};

struct minres {
    tulle_comm *comm;
    const tulle_operator *A, *M;
    const tulle_krylov_options *options;
    tulle__space space;
    struct column *column;
    int columns, going, list[MOST]; /* of those that run */
    int ld;
    tulle__vector in, out, rest, pre; /* lines */
    void *bound_A, *bound_M;
    int64_t product_ns, precond_ns;
};

static const double progress = 1e-4; /* the part of a residual by which it becomes smaller, at least */

/* ---- vectors ---- */

static void unbind(struct minres *m)
{
    if (m->bound_M) m->M->unbind(m->bound_M);
    if (m->bound_A) m->A->unbind(m->bound_A);
    tulle_mat_free(m->pre.mat);
    tulle_mat_free(m->rest.mat);
    tulle_mat_free(m->out.mat);
    tulle_mat_free(m->in.mat);
    m->bound_A = m->bound_M = NULL;
    m->in = m->out = m->rest = m->pre = (tulle__vector){.mat = NULL};
}

/* Lines of so many columns. Collective, agreed. */
static tulle_status bind(struct minres *m, int width)
{
    unbind(m);
    m->ld = width;
    TULLE_CALL(tulle__vector_new(m->A, width, &m->in));
    TULLE_CALL(tulle__vector_new(m->A, width, &m->out));
    TULLE_CALL(m->A->bind(m->A->context, m->in.mat, m->out.mat, &m->bound_A));
    if (!m->M) return TULLE_OK;
    TULLE_CALL(tulle__vector_new(m->A, width, &m->rest));
    TULLE_CALL(tulle__vector_new(m->A, width, &m->pre));
    return m->M->bind(m->M->context, m->rest.mat, m->pre.mat, &m->bound_M);
}

static void fini(struct minres *m)
{
    unbind(m);
    for (int j = 0; m->column && j < m->columns; j++) tulle__free(m->column[j].vectors);
    tulle__free(m->column);
    tulle__space_fini(&m->space);
}

static void arrange(struct minres *m, struct column *c, size_t bytes)
{
    char *at = c->vectors;
    void **const place[VECTORS + BESIDE] = {
        &c->k.x, &c->k.b, &c->r1, &c->r2, &c->t, &c->w, &c->before, &c->saved, &c->y, &c->last, &c->r};
    for (int v = 0; v < (m->M ? VECTORS + BESIDE : VECTORS); v++, at += bytes) *place[v] = at;
}

/* Collective, agreed. */
static tulle_status init(struct minres *m, tulle_gidx first)
{
    tulle_status status =
        tulle__space_init(m->comm, m->A->layout, m->A->type, 3 * m->columns, 3 * m->columns, &m->space);
    const size_t bytes = (size_t)m->space.rows * tulle_type_size(m->A->type);
    if (status == TULLE_OK)
        status = tulle__alloc_zero((size_t)m->columns, sizeof *m->column, "columns of MINRES", &m->column);
    for (int j = 0; status == TULLE_OK && j < m->columns; j++) {
        struct column *c = &m->column[j];
        status = tulle__alloc_zero(m->M ? VECTORS + BESIDE : VECTORS, bytes, "vectors of MINRES", &c->vectors);
        if (status != TULLE_OK) break;
        arrange(m, c, bytes);
        c->k.comm = m->comm;
        c->k.A = m->A;
        c->k.M = m->M;
        c->k.options = *m->options;
        c->k.space = m->space;
        c->k.column = first + j;
        c->k.stop = TULLE_STOP_COUNT;
        c->k.start = j ? m->column[0].k.start : tulle__now(m->comm); /* seconds are those of all */
        c->k.width = m->columns;
        c->starts = true;
        c->ends = TULLE_STOP_COUNT;
        c->dull = sqrt(tulle__krylov_epsilon(&c->k));
    }
    TULLE_TRY(tulle_comm_agree(m->comm, status));
    status = bind(m, m->columns);
out:
    return status;
}

/* ---- rounds ---- */

static struct column *running(struct minres *m, int i)
{
    return &m->column[m->list[i]];
}

/* Lists the columns that run, in narrower lines if these are much wider. Collective, agreed. */
static tulle_status list_running(struct minres *m)
{
    m->going = 0;
    for (int j = 0; j < m->columns; j++)
        if (m->column[j].k.stop == TULLE_STOP_COUNT) m->list[m->going++] = j;
    for (int i = 0; i < m->going; i++) running(m, i)->k.active = m->going;
    return m->going && m->going <= m->ld - (m->ld + 3) / 4 ? bind(m, m->going) : TULLE_OK;
}

/* t = A x, or A y / beta. Collective, agreed. */
static tulle_status multiply(struct minres *m)
{
    const void *x[MOST];
    void *t[MOST];
    double factor[MOST];
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        x[i] = c->starts ? c->k.x : m->M ? c->y : c->r2;
        factor[i] = c->starts ? 1 : 1 / c->beta;
        t[i] = c->t;
        c->k.products++;
    }
    tulle__lines_pack(m->space.type, m->space.rows, m->space.pool, m->going, x, factor, m->in.val, m->ld);
    const int64_t start = tulle__now(m->comm);
    const tulle_status status = m->A->apply(m->bound_A);
    tulle__part_end(m->comm, "product", start, &m->product_ns);
    if (status == TULLE_OK)
        tulle__lines_unpack(m->space.type, m->space.rows, m->space.pool, m->going, m->out.val, m->ld, t);
    return status;
}

/* y = M^-1 r2. Collective, agreed. */
static tulle_status precondition(struct minres *m)
{
    const void *x[MOST];
    void *y[MOST];
    double factor[MOST];
    if (!m->M) return TULLE_OK;
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        void *last = c->last;
        c->last = c->y;
        c->y = last;
        x[i] = c->r2;
        y[i] = c->y;
        factor[i] = 1;
    }
    tulle__lines_pack(m->space.type, m->space.rows, m->space.pool, m->going, x, factor, m->rest.val, m->ld);
    const int64_t start = tulle__now(m->comm);
    const tulle_status status = m->M->apply(m->bound_M);
    tulle__part_end(m->comm, "precondition", start, &m->precond_ns);
    if (status == TULLE_OK)
        tulle__lines_unpack(m->space.type, m->space.rows, m->space.pool, m->going, m->pre.val, m->ld, y);
    return status;
}

/* A random vector of own rows. */
static void draw(const tulle__space *space, void *x)
{
    enum { SEED = 17 };
    for (int64_t r = 0; r < space->rows; r++) {
        const double value = 2 * tulle__random_unit(tulle__random_at(SEED, 0, (uint64_t)(space->first + r))) - 1;
        tulle__element_set(space->type, x, r, value);
    }
}

/* ||A||, or rather less, by one product, after the start of all: r1 and t are free. Collective, agreed. */
static tulle_status probe(struct minres *m)
{
    struct column *c = running(m, 0);
    const double one = 1;
    const void *x[2] = {c->r1, c->t};
    double square[2];
    if (m->M) return TULLE_OK;
    draw(&m->space, c->r1);
    tulle__lines_pack(m->space.type, m->space.rows, m->space.pool, 1, x, &one, m->in.val, m->ld);
    const int64_t start = tulle__now(m->comm);
    TULLE_CALL(m->A->apply(m->bound_A));
    tulle__part_end(m->comm, "product", start, &m->product_ns);
    tulle__lines_unpack(m->space.type, m->space.rows, m->space.pool, 1, m->out.val, m->ld, &c->t);
    TULLE_CALL(tulle__space_dots(&m->space, 2, x, x, square));
    for (int i = 0; i < m->going; i++) {
        running(m, i)->norm = isfinite(square[1]) && square[0] > 0 ? sqrt(square[1] / square[0]) : 0;
        running(m, i)->k.products++;
    }
    return TULLE_OK;
}

/* Orthogonalises t against r1 and r2, and makes it the next r2; of a start r2 = b - t. Collective, agreed. */
static tulle_status next_vectors(struct minres *m)
{
    const void *x[MOST], *y[MOST];
    double alfa[MOST];
    int count = 0;
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        const void *r1 = c->r1;
        const double by = -c->beta / c->last_beta;
        if (c->starts) continue;
        if (c->steps) tulle__space_combine(&m->space, 1, &by, &r1, 1, c->t);
        x[count] = m->M ? c->y : c->r2;
        y[count++] = c->t;
    }
    if (count) TULLE_CALL(tulle__space_dots(&m->space, count, x, y, alfa));
    count = 0;
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        const void *other = c->starts ? c->k.b : c->r2;
        if (!c->starts) c->alfa = alfa[count++] / c->beta;
        const double by = c->starts ? 1 : -c->alfa / c->beta;
        tulle__space_combine(&m->space, 1, &by, &other, c->starts ? -1 : 1, c->t);
        void *oldest = c->r1;
        c->r1 = c->r2;
        c->r2 = c->t;
        c->t = oldest;
    }
    return TULLE_OK;
}

/* r2^T y of each column, and with M r2^T r2 and r^T r2. Collective, agreed. */
static tulle_status measure(struct minres *m, double (*dots)[3])
{
    const void *x[3 * MOST], *y[3 * MOST];
    double sums[3 * MOST];
    const int each = m->M ? 3 : 1;
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        for (int d = 0; d < each; d++) {
            y[each * i + d] = c->r2;
            x[each * i + d] = d == 2 ? c->r : d == 0 && m->M ? c->y : c->r2;
        }
    }
    TULLE_CALL(tulle__space_dots(&m->space, each * m->going, x, y, sums));
    for (int i = 0; i < m->going; i++)
        for (int d = 0; d < 3; d++) dots[i][d] = sums[each * i + (d < each ? d : 0)];
    return TULLE_OK;
}

/* ||A|| ||x|| over the former residual, of columns whose trial ends; w is free. Collective, agreed. */
static tulle_status measure_trials(struct minres *m, double *length)
{
    const void *x[MOST];
    double square[MOST];
    int count = 0;
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        if (!c->starts || !(c->tried > 0)) continue;
        tulle__space_scale(&m->space, c->norm / c->tried, c->k.x, c->w);
        x[count++] = c->w;
    }
    const tulle_status status = count ? tulle__space_dots(&m->space, count, x, x, square) : TULLE_OK;
    count = 0;
    for (int i = 0; status == TULLE_OK && i < m->going; i++)
        length[i] = running(m, i)->starts && running(m, i)->tried > 0 ? sqrt(square[count++]) : 0;
    return status;
}

/* ---- a column ---- */

/* beta of the new r2; 0 if the column stops here. */
static int take_beta(struct column *c, double square)
{
    if (!isfinite(square))
        tulle__krylov_stop(&c->k, TULLE_STOP_NOT_FINITE, "r^T M^-1 r is not finite");
    else if (square < 0)
        tulle__krylov_stop(&c->k, TULLE_STOP_PRECOND_INDEFINITE,
            "r^T M^-1 r is %.3g: the preconditioner is not positive definite", square);
    c->last_beta = c->beta;
    c->beta = sqrt(square);
    return c->k.stop == TULLE_STOP_COUNT;
}

/* The steps on trial have not made the residual smaller. */
static void end_trial(struct minres *m, struct column *c)
{
    tulle__krylov *k = &c->k;
    tulle__space_scale(&m->space, 1, c->saved, k->x);
    k->residual = k->true_residual = c->tried;
    tulle__krylov_stop(k, TULLE_STOP_LEAST_SQUARES,
        "the matrix is singular, and b is not in its range: the least residual is %.3g", k->true_residual * k->scale);
}

/* True if the residual is smaller than before the trial, by more than what rounding makes of a product with x. */
static bool has_gained(const struct column *c, double length)
{
    enum { ROUNDINGS = 16 };
    const tulle__krylov *k = &c->k;
    const double gain = c->tried - k->true_residual, noise = ROUNDINGS * tulle__krylov_epsilon(k) * c->tried * length;
    if (noise > c->tried / 2) return false; /* whatever it is computed as */
    return k->true_residual <= k->limit || gain > fmax(progress * c->tried, noise);
}

/* True if the column stops with the true residual that r2 has now become. */
static int stops_at_start(struct minres *m, struct column *c, double length)
{
    tulle__krylov *k = &c->k;
    const bool due = c->due;
    c->due = false;
    if (c->ends != TULLE_STOP_COUNT)
        k->stop = c->ends;
    else if (!k->iteration && !tulle__krylov_step(k, k->true_residual))
        return 1;
    else if (c->tried > 0 && !has_gained(c, length))
        end_trial(m, c);
    else if (due || k->true_residual <= k->limit || !isfinite(k->true_residual))
        (void)tulle__krylov_verdict(k, &c->strikes);
    if (k->stop == TULLE_STOP_COUNT && k->iteration >= k->options.max_iterations)
        tulle__krylov_stop(k, TULLE_STOP_ITERATIONS, "the residual is %.3g, not yet %.3g", k->true_residual * k->scale,
            k->limit * k->scale);
    return k->stop != TULLE_STOP_COUNT;
}

/* After r2 has become the true residual. */
static void begin_recurrence(struct minres *m, struct column *c, const double *dots, double length)
{
    tulle__krylov *k = &c->k;
    k->true_residual = sqrt(dots[1]);
    if (stops_at_start(m, c, length) || !take_beta(c, dots[0])) return;
    if (c->beta == 0) {
        tulle__krylov_stop(
            k, TULLE_STOP_PRECOND_INDEFINITE, "r^T M^-1 r is 0: the preconditioner is not positive definite");
        return;
    }
    if (m->M) tulle__space_scale(&m->space, 1, c->r2, c->r);
    k->residual = k->true_residual;
    c->starts = false;
    c->steps = 0;
    c->tried = 0;
    c->phibar = c->beta;
    c->dbar = c->epsilon = c->sine = 0;
    c->cosine = -1;
}

/* x += phi w, of the direction that the new rotation gives. */
static void move(struct minres *m, struct column *c, double delta, double pivot, double last_epsilon)
{
    const bool any = pivot > 0;
    const void *const terms[2] = {m->M ? c->last : c->r1, c->w}, *const step = c->before;
    const double coef[2] = {any ? 1 / (pivot * c->last_beta) : 0, any ? -delta / pivot : 0};
    tulle__space_combine(
        &m->space, c->steps ? 2 : 1, coef, terms, c->steps > 1 && any ? -last_epsilon / pivot : 0, c->before);
    void *spare = c->w;
    c->w = c->before;
    c->before = spare;
    tulle__space_combine(&m->space, 1, &c->phi, &step, 1, c->k.x);
}

/* The residual of the recurrence; with M from its parts, and carried on. */
static double carry_residual(struct minres *m, struct column *c, const double *dots)
{
    tulle__krylov *k = &c->k;
    if (!m->M) return c->phibar;
    const double keep = c->sine * c->sine, by = c->beta > 0 ? -c->phibar * c->cosine / c->beta : 0;
    const void *r2 = c->r2;
    const double square = keep * keep * k->residual * k->residual + 2 * keep * by * dots[2] + by * by * dots[1];
    tulle__space_combine(&m->space, 1, &by, &r2, keep, c->r);
    return square > 0 ? sqrt(square) : 0;
}

/* The rotation and the step that a new Lanczos vector makes possible. */
static void step(struct minres *m, struct column *c, double delta, double gbar, const double *dots)
{
    tulle__krylov *k = &c->k;
    const double last_epsilon = c->epsilon, noise = tulle__krylov_epsilon(k) * c->norm;
    c->epsilon = c->sine * c->beta;
    c->pivot = hypot(gbar, c->beta);
    c->cosine = c->pivot > 0 ? gbar / c->pivot : 1;
    c->sine = c->pivot > 0 ? c->beta / c->pivot : 0;
    c->phi = c->cosine * c->phibar;
    c->phibar *= c->sine;
    if (!c->steps) tulle__space_scale(&m->space, 1, k->x, c->saved);
    move(m, c, delta, c->pivot, last_epsilon);
    c->steps++;
    k->iteration++;
    if (!tulle__krylov_step(k, carry_residual(m, c, dots))) return;
    c->due = k->residual <= k->limit || c->beta <= noise;
    c->starts = c->due || (c->tried > 0 && c->steps >= TRIAL) || k->iteration == k->options.max_iterations;
}

/* After a new Lanczos vector: a step, or none if x may be a solution of least squares. */
static void advance(struct minres *m, struct column *c, const double *dots)
{
    tulle__krylov *k = &c->k;
    if (!take_beta(c, dots[0])) {
        k->iteration++; /* in which it ends */
        return;
    }
    const double delta = c->cosine * c->dbar + c->sine * c->alfa, gbar = c->sine * c->dbar - c->cosine * c->alfa,
                 before = c->norm;
    c->norm = fmax(c->norm, hypot(hypot(c->alfa, c->beta), c->steps ? c->last_beta : 0));
    if (c->steps == 1 && k->iteration == 1 && c->pivot <= c->dull * c->norm) { /* the first step was rounding */
        tulle__space_scale(&m->space, 1, c->saved, k->x);
        c->starts = true;
        return;
    }
    const double next = -c->cosine * c->beta;
    const bool dull = hypot(gbar, next) <= c->dull * c->norm && (before > 0 || c->norm == 0) && !(c->tried > 0);
    if (dull && c->steps) {
        c->starts = true;
        return;
    }
    if (dull) {
        c->dull /= 16; /* for what comes if it was none */
        c->tried = k->true_residual;
    }
    step(m, c, delta, gbar, dots);
    c->dbar = next;
}

/* Collective, agreed. */
static tulle_status round_of_all(struct minres *m, bool zero)
{
    double dots[MOST][3], length[MOST];
    if (!zero) TULLE_CALL(multiply(m)); /* t is 0 else */
    TULLE_CALL(next_vectors(m));
    TULLE_CALL(precondition(m));
    TULLE_CALL(measure(m, dots));
    TULLE_CALL(measure_trials(m, length));
    for (int i = 0; i < m->going; i++) {
        struct column *c = running(m, i);
        tulle__krylov *k = &c->k;
        const bool started = c->starts;
        if (started)
            begin_recurrence(m, c, dots[i], length[i]);
        else
            advance(m, c, dots[i]);
        if (k->stop == TULLE_STOP_COUNT || started || !k->iteration) continue;
        c->ends = k->stop; /* when its true residual is known */
        k->stop = TULLE_STOP_COUNT;
        c->starts = true;
    }
    return list_running(m);
}

/* Agreed. */
static tulle_status finish(
    struct minres *m, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed)
{
    tulle_status status = TULLE_OK;
    tulle_krylov_report unasked;
    for (int j = 0; j < m->columns && status == TULLE_OK; j++) {
        tulle__krylov *k = &m->column[j].k;
        const bool lost = tulle__columns_write_back(X, k->column, k->scale, k->x, 1);
        TULLE_TRY(tulle__krylov_judge_returned(k, B, X, lost));
        k->product_ns = m->product_ns;
        k->precond_ns = m->precond_ns;
        k->space.reductions = m->space.reductions;
        k->space.dots_ns = m->space.dots_ns;
        k->space.vectors_ns = m->space.vectors_ns;
        status = tulle__krylov_totals(k, report ? &report[k->column] : &unasked);
        if (k->stop != TULLE_STOP_CONVERGED && !*failed)
            snprintf(failed, TULLE_MESSAGE_MAX, "%s, column " TULLE__AT ", iteration %" PRId64 ": %s",
                tulle_krylov_method_name(m->options->method), k->column, k->iteration, k->why);
    }
out:
    return status;
}

static tulle_status solve_group(
    struct minres *m, const tulle_mat *B, tulle_mat *X, tulle_gidx first, tulle_krylov_report *report, char *failed)
{
    tulle_status status = init(m, first);
    for (int j = 0; j < m->columns && status == TULLE_OK; j++)
        if ((status = tulle__krylov_begin_column(&m->column[j].k, B, X)) == TULLE_OK)
            (void)tulle__krylov_is_trivial(&m->column[j].k);
    if (status == TULLE_OK) status = list_running(m);
    if (status == TULLE_OK && m->going) status = round_of_all(m, !m->options->guess);
    if (status == TULLE_OK && m->going) status = probe(m);
    while (status == TULLE_OK && m->going) status = round_of_all(m, false);
    if (status == TULLE_OK) status = finish(m, B, X, report, failed);
    fini(m);
    return status;
}

tulle_status tulle__minres_solve(const tulle_operator *A, const tulle_operator *M, const tulle_krylov_options *options,
    int width, const tulle_mat *B, tulle_mat *X, tulle_krylov_report *report, char *failed)
{
    const tulle_gidx count = X->layout->n;
    tulle_status status = TULLE_OK;
    for (tulle_gidx first = 0; first < count && status == TULLE_OK;) {
        const tulle_gidx groups = (count - first + width - 1) / width, columns = (count - first + groups - 1) / groups;
        struct minres m = {.comm = A->comm, .A = A, .M = M, .options = options, .columns = (int)columns};
        status = solve_group(&m, B, X, first, report, failed);
        first += columns;
    }
    return status;
}
