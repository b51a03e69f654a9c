/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thick-restarted block Lanczos. V has the vectors that stay, then blocks. A step takes the last block W of V:
 *
 *   A W = V H + Q R,   V^T Q = 0,
 *
 * H becomes the columns and rows of T = V^T A V, and Q the next block. With T = U diag(theta) U^T the Ritz vector V u
 * has the residual |R u'|, u' the part of u in the last block. A restart replaces V by the best V u, and Q stays the
 * next block: its H then has what ties it to these.
 *
 * Q has fewer columns where directions depend on others, and none where V is invariant under A: random directions,
 * which T knows nothing of, begin another block. Such a block is also the probe at the end (probe.c).
 */
#include <math.h>
#include <string.h>

#include "algo/spectrum/block_lanczos.h"
#include "algo/spectrum/small_eigen.h"
#include "base/error.h"

/* Rotations between two corrections; restarts without progress before each other one keeps a Ritz vector more. */
enum { ROTATIONS = 8, PATIENCE = 8 };

double tulle__pencil_limit(const tulle_spectrum *s, const tulle__pair *pair)
{
    const tulle__pencil *p = s->pencil;
    const double size = fabs(pair->value), rounding = 100 * tulle__spectrum_epsilon(s);
    return fmax(s->options.tolerance * size * pair->size, rounding * (p->norm + size * p->norm_of_S) * pair->length);
}

/* The same of a vector with ||S x|| = 1 that is as short as one may be. */
static double strict_limit(const tulle_spectrum *s, double theta)
{
    return fmax(s->options.tolerance * fabs(theta), 100 * tulle__spectrum_epsilon(s) * s->pencil->scale);
}

/*
 * A vector of C = (H - s S)^-1 that a last step has purified (pencil_finish.c) has a residual of at most r / mu^2, r
 * that of C. Vectors of values near to s want digits of mu, too.
 */
static double limit_of_inverse(const tulle_spectrum *s, double mu)
{
    const tulle__pencil *p = s->pencil;
    const double size = fabs(mu), scale = tulle__pencil_shifted_scale(p),
                 rounding = tulle__spectrum_epsilon(s) * fmax(1, size * scale);
    const double truly = size * strict_limit(s, tulle__pencil_value(p, mu)) * p->strictness;
    return size * fmin(truly, fmax(s->options.tolerance, rounding));
}

/* Rounding of a product of A, of that norm, with a vector; of S x, ten times less is allowed than of the rest. */
static double rounding_of(const tulle_spectrum *s, double norm)
{
    return tulle__spectrum_epsilon(s) * norm + .1 * s->noise * (sqrt(norm) + s->noise);
}

double tulle__spectrum_limit(const tulle_spectrum *s, double theta)
{
    if (s->filter.on) return tulle__chebyshev_limit(s, theta);
    if (s->pencil && s->pencil->nearest) return limit_of_inverse(s, theta);
    const double rounding = rounding_of(s, s->norm);
    if (!s->pencil) return fmax(s->options.tolerance * fabs(theta), 100 * rounding);
    /* r of C may be as long as r / strictness of H and S, whose rounding is beside another norm than C's */
    const double truly = strict_limit(s, theta) * s->pencil->strictness;
    return fmax(fmin(truly, fmax(s->options.tolerance * fabs(theta), 100 * rounding)), 10 * rounding);
}

/* ---- the projected matrix ---- */

/* True if a value is wanted before another; for BOTH see arrange. */
static bool precedes(tulle_spectrum_end end, double a, double b)
{
    switch (end) {
    case TULLE_SPECTRUM_MAGNITUDE:
        return fabs(a) > fabs(b) || (fabs(a) == fabs(b) && a > b);
    case TULLE_SPECTRUM_SMALLEST:
        return a < b;
    default:
        return a > b;
    }
}

/* order: of n ascending values. */
static void arrange(const tulle_spectrum *s, int n)
{
    int low = 0, high = n - 1;
    for (int i = 0; i < n; i++) {
        bool take_high = s->options.end == TULLE_SPECTRUM_BOTH
                             ? i % 2 == 0
                             : precedes(s->options.end, s->theta[high], s->theta[low]);
        s->order[i] = take_high ? high-- : low++;
    }
}

double tulle__lanczos_residual(const tulle_spectrum *s, int i, int coupled)
{
    double square = 0;
    const double *u = s->U + (int64_t)s->order[i] * s->solved + s->solved - s->width;
    for (int r = 0; r < coupled; r++) {
        double sum = 0;
        for (int c = 0; c < s->width; c++) sum += s->share[r][c] * u[c];
        square += sum * sum;
    }
    return sqrt(square);
}

/* Counts the wanted pairs that have converged, by the rows of R. */
static void judge(tulle_spectrum *s, int coupled)
{
    s->converged = 0;
    s->worst = s->solved < s->options.count ? INFINITY : 0;
    for (int i = 0; i < s->options.count && i < s->solved; i++) {
        const double residual = tulle__lanczos_residual(s, i, coupled);
        /* a quarter of the limit: the true residual has its rounding, and those of pairs that a probe mixes add up */
        const double over = residual == 0 ? 0 : 4 * residual / tulle__spectrum_limit(s, s->theta[s->order[i]]);
        s->converged += over <= 1;
        s->worst = fmax(s->worst, s->norm > 0 ? over : 0);
    }
}

tulle_status tulle__lanczos_project(tulle_spectrum *s, int coupled)
{
    const int ld = s->basis.capacity, n = s->basis.columns - s->locked;
    for (int j = 0; j < n; j++)
        memcpy(s->work + (int64_t)j * n, s->T + (int64_t)(s->locked + j) * ld + s->locked, (size_t)n * sizeof *s->T);
    TULLE_CALL(tulle__small_eigen_of_all(s->comm, n, s->work, s->U, s->theta));
    s->solved = n;
    arrange(s, n);
    if (n) s->norm = fmax(s->norm, fmax(fabs(s->theta[0]), fabs(s->theta[n - 1])));
    if (!s->locked) judge(s, coupled);
    return TULLE_OK;
}

/* ---- steps ---- */

tulle_status tulle__spectrum_pass(tulle_spectrum *s, void *bound, int columns)
{
    const int64_t start = tulle__now(s->comm);
    const tulle_status status = s->A->apply(bound);
    s->passes++;
    s->columns += columns;
    tulle__part_end(s->comm, "product", start, &s->product_ns);
    return status;
}

void tulle__lanczos_watch(const tulle_spectrum *s)
{
    if (!s->options.watch || s->comm->rank) return;
    const tulle_spectrum_step step = {.pass = s->passes,
        .restarts = s->restarts,
        .wanted = s->options.count,
        .converged = s->converged,
        .worst = s->worst,
        .seconds = (double)(tulle__now(s->comm) - s->begun) * 1e-9};
    s->options.watch(s->options.arg, &step);
}

/*
 * u^T A v and v^T A u of the first two blocks, before and after A, which are the same but for rounding if A is
 * symmetric. before: A's coupling of the first block to the second, [width x former] of s->work. The outcome is the
 * same on all PEs.
 */
static tulle_status check_symmetry(const tulle_spectrum *s, int at, int width, int former)
{
    /* some roots of the rounding: short directions beside long ones have their Gram matrix's errors */
    const double most = (s->A->type == TULLE_F32 ? 1e-3 : 1e-6);
    double off = 0, size = 0;
    for (int r = 0; r < width; r++)
        for (int c = 0; c < width; c++) {
            off = fmax(off, fabs(s->H[at + r][c] - s->H[at + c][r]));
            size = fmax(size, fabs(s->H[at + r][c]));
        }
    for (int r = 0; r < width; r++)
        for (int c = 0; c < former; c++) {
            off = fmax(off, fabs(s->H[at - former + c][r] - s->work[r * former + c]));
            size = fmax(size, fmax(fabs(s->H[at - former + c][r]), fabs(s->work[r * former + c])));
        }
    size = fmax(size, s->norm); /* which the first pass has not found yet */
    if (off <= fmax(most * size, 100 * rounding_of(s, size))) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "the matrix is not symmetric: u^T A v and v^T A u differ by %.3g for two of the vectors, which is %.2g of them",
        off, off / size);
}

tulle_status tulle__lanczos_expand(tulle_spectrum *s, int width, int *next)
{
    bool finite;
    const int n = s->basis.columns, ld = s->basis.capacity, at = n - width;
    tulle__block_of_columns W = {s->in.val, s->options.block, width}, Q = {s->out.val, s->options.block, width};
    const tulle_gidx left = s->A->n - n;
    const int former = s->passes == 1 ? s->width : 0;
    /* of an inverse, the norm is that of one vector in the basis: others are small beside it, not rounding */
    const double scale = s->pencil && s->pencil->nearest ? 0 : rounding_of(s, s->norm) / tulle__spectrum_epsilon(s);
    for (int r = 0; r < width; r++)
        for (int c = 0; c < former; c++) s->work[r * former + c] = s->share[r][c];
    *next = 0;
    if (width == s->options.block) /* the last block is in `out` still, where it lies closer */
        memcpy(W.val, Q.val, (size_t)s->basis.multi.space.rows * (size_t)width * tulle_type_size(s->A->type));
    else
        tulle__basis_extract(&s->basis, at, width, &W);
    TULLE_CALL(s->filter.on ? tulle__chebyshev_pass(s, width) : tulle__spectrum_pass(s, s->bound, width));
    if (s->passes == 1) TULLE_CALL(tulle__basis_check_range(&s->basis, &Q));
    TULLE_CALL(tulle__basis_orthonormalise(
        &s->basis, &Q, width + s->tied, scale, left < width ? (int)left : width, s->H, s->share, &finite));
    s->dropped = hypot(s->dropped, s->basis.dropped);
    if (!finite)
        return tulle__fail(
            TULLE_ERR_ARG, "the matrix times a vector is not finite: it has nan, inf or too large values");
    if (s->passes <= 2 && !s->pencil) TULLE_CALL(check_symmetry(s, at, width, former));
    for (int c = 0; c < width; c++)
        for (int r = 0; r < n; r++) {
            const double h = r < at ? s->H[r][c] : (s->H[r][c] + s->H[at + c][r - at]) / 2;
            s->T[(int64_t)(at + c) * ld + r] = s->T[(int64_t)r * ld + at + c] = h;
        }
    for (int i = n; i < ld; i++)
        for (int r = 0; r < ld; r++) s->T[(int64_t)i * ld + r] = s->T[(int64_t)r * ld + i] = 0;
    s->width = s->tied = width;
    *next = Q.columns;
    return TULLE_OK;
}

void tulle__lanczos_append(tulle_spectrum *s, int width)
{
    const tulle__block_of_columns Q = {s->out.val, s->options.block, width};
    tulle__basis_append(&s->basis, &Q);
}

tulle_status tulle__lanczos_begin(tulle_spectrum *s, int *width)
{
    bool finite;
    const tulle_gidx left = s->A->n - s->basis.columns;
    tulle__block_of_columns Q = {s->out.val, s->options.block, s->options.block};
    if (Q.columns > left) Q.columns = (int)left;
    tulle__basis_random(&s->basis, s->options.seed, s->stream++, &Q);
    const tulle_status status = tulle__basis_orthonormalise(&s->basis, &Q, 0, 0, Q.columns, NULL, NULL, &finite);
    if (status == TULLE_OK) tulle__lanczos_append(s, Q.columns);
    *width = Q.columns;
    s->width = s->tied = 0; /* no block of T is tied to it */
    return status;
}

/* The rows of T that belong to what is locked, times the first `keep` of its eigenvectors; and their values. */
static void rotate_projected(tulle_spectrum *s, int keep)
{
    const int n = s->solved, ld = s->basis.capacity, locked = s->locked;
    for (int l = 0; l < locked; l++) {
        double *row = s->work;
        for (int k = 0; k < keep; k++) {
            const double *u = s->U + (int64_t)s->order[k] * n;
            row[k] = 0;
            for (int r = 0; r < n; r++) row[k] += s->T[(int64_t)(locked + r) * ld + l] * u[r];
        }
        for (int k = 0; k < n; k++)
            s->T[(int64_t)(locked + k) * ld + l] = s->T[(int64_t)l * ld + locked + k] = k < keep ? row[k] : 0;
    }
    for (int k = 0; k < n; k++) {
        memset(s->T + (int64_t)(locked + k) * ld + locked, 0, (size_t)n * sizeof *s->T);
        if (k < keep) s->T[(int64_t)(locked + k) * ld + locked + k] = s->theta[s->order[k]];
    }
}

tulle_status tulle__lanczos_restart(tulle_spectrum *s, int keep)
{
    const int n = s->solved, locked = s->locked, all = locked + n;
    double off;
    rotate_projected(s, keep);
    s->tied = keep;
    memset(s->work, 0, (size_t)all * (size_t)(locked + keep) * sizeof *s->work);
    for (int i = 0; i < locked; i++) s->work[(int64_t)i * all + i] = 1;
    for (int i = 0; i < keep; i++)
        memcpy(
            s->work + (int64_t)(locked + i) * all + locked, s->U + (int64_t)s->order[i] * n, (size_t)n * sizeof *s->U);
    TULLE_CALL(tulle_comm_agree(s->comm, tulle__basis_rotate(&s->basis, s->work, locked + keep)));
    return ++s->restarts % ROTATIONS == 0 ? tulle__basis_correct(&s->basis, &off) : TULLE_OK;
}

int tulle__lanczos_kept(const tulle_spectrum *s)
{
    const int wanted = s->locked ? 0 : s->options.count, most = s->most - s->locked - 2 * s->options.block;
    int keep = wanted + (s->solved - wanted) / 2 + (wanted && s->stuck > PATIENCE ? s->stuck - PATIENCE : 0);
    if (keep > most) keep = most;
    if (keep < wanted) keep = wanted;
    return keep < s->solved ? keep : s->solved;
}

/*
 * True if T is worth a decomposition now: beside a step's work with vectors it is small, and smaller still where the
 * last one has left pairs far from converged.
 */
static bool worth(const tulle_spectrum *s, int n)
{
    const double rows = (double)s->A->n / s->comm->size, step = 8 * rows * n * s->options.block;
    return n >= s->options.count && 10. * n * n * n < step / (s->worst < 1e4 ? 2 : 50);
}

/* Blocks until T says that all pairs have converged, V is full or invariant, or `steps` were taken. *next as above. */
static tulle_status fill(tulle_spectrum *s, int width, int64_t steps, int *next)
{
    tulle_status status = TULLE_OK;
    *next = width;
    for (bool over = false; !over && status == TULLE_OK;) {
        status = tulle__lanczos_expand(s, width, next);
        if (status != TULLE_OK) break;
        const int n = s->basis.columns;
        over = *next == 0 || n + *next > s->most || --steps == 0 || s->passes >= s->allowed;
        if (over || worth(s, n)) {
            status = tulle__lanczos_project(s, *next);
            over |= status == TULLE_OK && s->converged == s->options.count && !s->options.passes;
        }
        tulle__lanczos_watch(s);
        if (!over && status == TULLE_OK) {
            tulle__lanczos_append(s, *next);
            width = *next;
        }
    }
    return status;
}

/* ---- the whole ---- */

static bool all_converged(const tulle_spectrum *s)
{
    return s->solved >= s->options.count && s->converged == s->options.count;
}

/* The wanted vectors become V's first columns, and their values theta's. Collective, agreed. */
static tulle_status finish(tulle_spectrum *s)
{
    tulle_status status = TULLE_OK;
    const int found = s->solved < s->options.count ? s->solved : s->options.count;
    if (s->locked) {
        s->basis.columns = s->found = s->locked;
        s->locked = 0;
        return TULLE_OK;
    }
    for (int i = 0; i < found; i++) s->wanted[i] = s->theta[s->order[i]];
    status = tulle__lanczos_restart(s, found);
    s->found = found;
    return status;
}

/*
 * Counts restarts that bring no progress: a part of a cluster that a restart drops, and a few steps bring back, may be
 * what the others wait for. Those that keep all there is room for begin again with half.
 */
static void note_progress(tulle_spectrum *s)
{
    s->stuck = s->worst < .9 * s->least || s->stuck > PATIENCE + s->most ? 0 : s->stuck + 1;
    s->least = fmin(s->least, s->worst);
}

/* Room for Q, *next columns of it in `out`, which becomes the last block, or for random directions where there is none.
 * Collective, agreed.
 */
static tulle_status advance(tulle_spectrum *s, int next, int *width)
{
    const tulle_gidx left = s->A->n - s->basis.columns;
    const int more = next ? next : left < s->options.block ? (int)left : s->options.block;
    if (s->basis.columns + more > s->most) {
        note_progress(s);
        TULLE_CALL(tulle__lanczos_restart(s, tulle__lanczos_kept(s)));
    }
    if (!next) return tulle__lanczos_begin(s, width);
    tulle__lanczos_append(s, next);
    *width = next;
    return TULLE_OK;
}

/* From a last block of `width` columns. Collective, agreed. */
static tulle_status go_on(tulle_spectrum *s, int width)
{
    int next = 0;
    for (bool done = false; !done;) {
        TULLE_CALL(fill(s, width, INT64_MAX, &next));
        const bool whole = s->basis.columns == s->A->n;
        bool over = whole, found = false;
        s->missed = !whole;
        if (!whole && !s->options.passes && all_converged(s)) {
            TULLE_CALL(tulle__lanczos_probe(s, next, &found, &width));
            over = !found;
        }
        const bool ended = s->passes >= s->allowed && !(s->options.passes && s->basis.columns < s->options.count);
        done = over || ended || tulle__chebyshev_misses(s) || tulle__pencil_drowned(s);
        /* the basis is full, or invariant, or so many passes span too few directions: T is decomposed */
        if (!done && !found) TULLE_CALL(advance(s, next, &width));
    }
    return finish(s);
}

tulle_status tulle__spectrum_iterate(tulle_spectrum *s)
{
    int width = 0;
    TULLE_CALL(tulle__lanczos_begin(s, &width));
    return go_on(s, width);
}

/* ---- beside a filter ---- */

void tulle__spectrum_clear(tulle_spectrum *s)
{
    s->norm = s->worst = 0;
    s->least = INFINITY;
    s->stuck = 0;
    s->basis.columns = s->solved = s->converged = s->locked = s->found = 0;
    s->restarts = 0;
    memset(s->T, 0, (size_t)s->basis.capacity * (size_t)s->basis.capacity * sizeof *s->T);
}

tulle_status tulle__spectrum_sample(tulle_spectrum *s, int64_t steps, int *width, int *next)
{
    const int passes = s->options.passes;
    s->options.passes = (int)steps; /* whatever has converged */
    tulle_status status = tulle__lanczos_begin(s, width);
    if (status == TULLE_OK) status = fill(s, *width, steps, next);
    s->options.passes = passes;
    return status;
}

tulle_status tulle__spectrum_settle(tulle_spectrum *s, int64_t passes, int *next)
{
    int width = 0;
    while (*next && s->passes < passes && s->passes < s->allowed && !all_converged(s)) {
        TULLE_CALL(advance(s, *next, &width));
        TULLE_CALL(fill(s, width, passes - s->passes, next));
    }
    return TULLE_OK;
}

tulle_status tulle__spectrum_resume(tulle_spectrum *s, int next)
{
    int width = 0;
    TULLE_CALL(advance(s, next, &width));
    return go_on(s, width);
}

tulle_status tulle__spectrum_rayleigh(tulle_spectrum *s)
{
    const int n = s->basis.columns = s->found, width = s->options.block, ld = s->basis.capacity;
    for (int at = 0; at < n; at += width) {
        const int some = n - at < width ? n - at : width;
        const tulle__block_of_columns x = {s->in.val, width, some}, y = {s->out.val, width, some};
        tulle__basis_extract(&s->basis, at, some, &x);
        TULLE_CALL(tulle__spectrum_pass(s, s->bound, some));
        TULLE_CALL(tulle__basis_project(&s->basis, &y));
        for (int c = 0; c < some; c++)
            for (int r = 0; r < n; r++) s->T[(int64_t)(at + c) * ld + r] = s->basis.h[r][c];
    }
    for (int c = 0; c < n; c++)
        for (int r = 0; r < c; r++) s->T[(int64_t)r * ld + c] = s->T[(int64_t)c * ld + r];
    s->width = 0;
    TULLE_CALL(tulle__lanczos_project(s, 0));
    return finish(s);
}
