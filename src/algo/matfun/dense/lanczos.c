/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/dense/lanczos.h"

#include <math.h>
#include <string.h>

#include "algo/matfun/dense/function.h"
#include "algo/matfun/dense/jacobi.h"
#include "base/error.h"
#include "base/host/blas_names.h"
#include "base/random.h"
#include "mat/sweep/apply.h"

enum { STEPS_MOST = 300, STEPS_BETWEEN = 10, STEPS_CONFIRMED = 6, KEPT_MOST = 1 << 21 };

#ifdef TULLE_HAVE_LAPACK
void dstev_(const char *jobz, const int *n, double *d, double *e, double *z, const int *ldz, double *work, int *info);
#endif

struct lanczos {
    const tulle_mat *A;
    const tulle_function *function;
    int64_t n;
    int steps, most;
    int ring;                      /* vectors that stay: most + 1, or the last 3 */
    double *V;                     /* [ring][n] */
    double *diagonal, *off;        /* of T */
    double *zeros, *sums;          /* [n]: what the product with magnitudes needs */
    double *Z, *d, *e, *work;      /* of the decomposition of T */
    double *value, *weight, *last; /* f(T) e_1, and that of fewer steps */
    double amplification;          /* of f at T's eigenvalues */
};

static void fini(struct lanczos *l)
{
    void *const workspace[] = {
        l->V, l->diagonal, l->off, l->zeros, l->sums, l->Z, l->d, l->e, l->work, l->value, l->weight, l->last};
    for (size_t k = 0; k < sizeof workspace / sizeof *workspace; k++) tulle__free(workspace[k]);
}

/* Without a function many vectors are not kept: Ritz values then repeat, but their weights together stay. */
static tulle_status init(struct lanczos *l, const tulle_mat *A, const tulle_function *function, int steps)
{
    int64_t n = A->layout->m;
    *l = (struct lanczos){.A = A, .function = function, .n = n, .most = n < steps ? (int)n : steps};
    size_t most = (size_t)l->most + 1;
    l->ring = function || (int64_t)most * n <= KEPT_MOST ? (int)most : 3;
    TULLE_CALL(tulle__alloc((size_t)l->ring * (size_t)n, sizeof *l->V, "Lanczos vectors", &l->V));
    TULLE_CALL(tulle__alloc_zero((size_t)n, sizeof *l->zeros, "a vector", &l->zeros));
    TULLE_CALL(tulle__alloc_zero((size_t)n, sizeof *l->sums, "a vector", &l->sums));
    TULLE_CALL(tulle__alloc(most * most, sizeof *l->Z, "a tridiagonal matrix", &l->Z));
    double **const vector[] = {&l->diagonal, &l->off, &l->d, &l->e, &l->value, &l->weight, &l->last};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++)
        TULLE_CALL(tulle__alloc_zero(most, sizeof **vector[k], "a tridiagonal matrix", vector[k]));
    return tulle__alloc(2 * most, sizeof *l->work, "work space", &l->work);
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static double *vector(const struct lanczos *l, int k)
{
    return l->V + (int64_t)(k % l->ring) * l->n;
}

/* y += X x, of one row of blocks. */
static void apply_row(const tulle_tile *t, int64_t r, int64_t height, const tulle_gidx *cut, const double *x, double *y)
{
    for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++) {
        const int64_t first = cut[t->colind[e]], width = cut[t->colind[e] + 1] - first;
        for (int64_t i = 0; i < height; i++) {
            const int64_t at = t->offset[e] + i * width;
            double sum = 0;
            if (t->type == TULLE_F32)
                for (int64_t k = 0; k < width; k++) sum += (double)((const float *)t->val)[at + k] * x[first + k];
            else
                for (int64_t k = 0; k < width; k++) sum += ((const double *)t->val)[at + k] * x[first + k];
            y[i] += sum;
        }
    }
}

/* y = A x of a matrix in blocks, all of which is stored: tulle__mat_apply goes by entries. Collective. */
static tulle_status apply(const struct lanczos *l, const double *x, double *y)
{
    enum { PIECE = 1 << 18 }; /* values that are reduced at a time */
    const tulle_mat *A = l->A;
    const tulle_layout *layout = A->layout;
    const tulle_gidx *cut = layout->row_blocks.cut;
    double longest = 0;
    tulle_status status = TULLE_OK;
    memset(y, 0, (size_t)l->n * sizeof *y);
    if (A->kind != TULLE_VBSR || A->symmetry != TULLE_GENERAL)
        return tulle__mat_apply(A, TULLE_OP_N, x, l->zeros, y, l->sums, &longest, NULL);
    TULLE__EACH_OWN_TILE(A, i, j) {
        if (!A->directory[tulle__tile_index(A, i, j)].place.length) continue;
        tulle_tile t = tulle__tile_in_place(A, i, j);
        t.type = A->type;
        for (int64_t r = 0; r < tulle__tile_block_rows(A, i); r++) {
            const int64_t b = layout->row_blocks.first[i] + r;
            apply_row(&t, r, cut[b + 1] - cut[b], cut + layout->col_blocks.first[j], x, y + cut[b]);
        }
    }
    for (int64_t at = 0; at < l->n && status == TULLE_OK; at += PIECE)
        status = tulle_comm_reduce_real(A->comm, TULLE_SUM, (int)(l->n - at < PIECE ? l->n - at : PIECE), y + at);
    return status;
}

/*
 * One step, orthogonal to the vectors that stay. *over: the vectors span an invariant space, or are as many as are
 * taken. Collective.
 */
static tulle_status advance(struct lanczos *l, bool *over)
{
    int k = l->steps, first = l->ring > l->most ? 0 : k > 0 ? k - 1 : 0;
    double *v = vector(l, k), *next = vector(l, k + 1), before = 0;
    TULLE_CALL(apply(l, v, next));
    before = sqrt(dot(l->n, next, next));
    l->diagonal[k] = dot(l->n, v, next);
    for (int twice = 0; twice < 2; twice++)
        for (int j = k; j >= first; j--) {
            const double *u = vector(l, j);
            double part = dot(l->n, u, next);
            for (int64_t i = 0; i < l->n; i++) next[i] -= part * u[i];
        }
    l->off[k] = sqrt(dot(l->n, next, next));
    l->steps++;
    *over = !(l->off[k] > 1e-13 * before) || l->steps == l->most;
    if (!*over)
        for (int64_t i = 0; i < l->n; i++) next[i] /= l->off[k];
    return TULLE_OK;
}

/* T's eigenvectors to Z, its eigenvalues to d. */
#ifdef TULLE_HAVE_LAPACK
static tulle_status decompose(struct lanczos *l, int n)
{
    int info = 1;
    dstev_("V", &n, l->d, l->e, l->Z, &n, l->work, &info);
    if (!info) return TULLE_OK;
    return tulle__fail(TULLE_ERR_CONVERGENCE, "LAPACK's QR iterations of a tridiagonal matrix failed");
}
#else
static tulle_status decompose(struct lanczos *l, int n)
{
    double *T = NULL;
    TULLE_CALL(tulle__alloc_zero((size_t)n * (size_t)n, sizeof *T, "a tridiagonal matrix", &T));
    for (int i = 0; i < n; i++) {
        T[i * n + i] = l->d[i];
        if (i + 1 < n) T[i * n + i + 1] = l->e[i];
    }
    const int64_t info = tulle__jacobi(n, T, NULL, l->Z, l->d);
    tulle__free(T);
    return info ? tulle__fail(TULLE_ERR_CONVERGENCE, "Jacobi's rotations of a tridiagonal matrix failed") : TULLE_OK;
}
#endif

/* weight = f(T) e_1; *change: relative to the weights before. */
static tulle_status evaluate(struct lanczos *l, double *change)
{
    int n = l->steps;
    double square = 0, rest = 0;
    memcpy(l->d, l->diagonal, (size_t)n * sizeof *l->d);
    memcpy(l->e, l->off, (size_t)n * sizeof *l->e);
    TULLE_CALL(decompose(l, n));
    (void)tulle__function_values(l->function, TULLE_F64, n, l->d, l->value);
    l->amplification = tulle__function_amplification(l->function, n, l->d, l->value, NULL);
    memcpy(l->last, l->weight, (size_t)n * sizeof *l->last);
    memset(l->weight, 0, (size_t)n * sizeof *l->weight);
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n; i++) l->weight[i] += l->Z[c * n + i] * l->value[c] * l->Z[c * n];
    for (int i = 0; i < n; i++) {
        square += l->weight[i] * l->weight[i];
        rest += (l->weight[i] - l->last[i]) * (l->weight[i] - l->last[i]);
    }
    *change = square > 0 ? sqrt(rest / square) : sqrt(rest);
    return TULLE_OK;
}

/* True if f is the same at all of T's eigenvalues: a step has not been seen yet, if there is one. */
static bool constant(const struct lanczos *l)
{
    for (int i = 1; i < l->steps; i++)
        if (l->value[i] != l->value[0]) return false;
    return true;
}

/* Begins with x, which is not 0. Agreed. */
static tulle_status begin(
    struct lanczos *l, const tulle_mat *A, const tulle_function *function, int steps, const double *x, double norm)
{
    TULLE_CALL(tulle_comm_agree(A->comm, init(l, A, function, steps)));
    for (int64_t i = 0; i < l->n; i++) l->V[i] = x[i] / norm;
    return TULLE_OK;
}

tulle_status tulle__lanczos(const tulle_mat *A, const tulle_function *function, double enough, const double *x,
    double *y, double *change, double *amplification)
{
    struct lanczos l;
    bool over;
    double norm = sqrt(dot(A->layout->m, x, x));
    *change = 0;
    *amplification = 1;
    memset(y, 0, (size_t)A->layout->m * sizeof *y);
    if (!(norm > 0)) return TULLE_OK;
    tulle_status status = begin(&l, A, function, STEPS_MOST, x, norm);
    over = status != TULLE_OK;
    while (!over) {
        status = advance(&l, &over);
        bool exact = over && !(l.steps == STEPS_MOST && l.n > STEPS_MOST),
             looked = over || l.steps % STEPS_BETWEEN == 0;
        if (status == TULLE_OK && looked) status = evaluate(&l, change);
        if (exact) *change = 0;
        const bool settled = looked && l.steps > STEPS_BETWEEN && *change < enough && !constant(&l);
        over = over || status != TULLE_OK || settled;
    }
    for (int k = 0; status == TULLE_OK && k < l.steps; k++)
        for (int64_t i = 0; i < l.n; i++) y[i] += norm * l.weight[k] * l.V[(int64_t)k * l.n + i];
    if (status == TULLE_OK) *amplification = l.amplification;
    fini(&l);
    return tulle_comm_agree(A->comm, status);
}

/* ---- the spectrum ---- */

/*
 * The smallest singular value of T - mu I with the row below it: Rayleigh and Ritz's lowest value of (A - mu I)^2,
 * never below the distance of mu from the spectrum. By R of its QR decomposition and inverse iterations.
 */
static double nearest_to(const struct lanczos *l, double mu, double *workspace)
{
    enum { STEPS = 12 };
    const int n = l->steps;
    double *r = workspace, *s = r + n, *t = s + n, *z = t + n, size = 0;
    double a = l->diagonal[0] - mu, b = n > 1 ? l->off[0] : 0; /* of the row that is eliminated into */
    for (int k = 0; k < n; k++) {
        const double low = l->off[k], next = k + 1 < n ? l->diagonal[k + 1] - mu : 0,
                     far = k + 2 < n ? l->off[k + 1] : 0;
        const double length = hypot(a, low), c = length > 0 ? a / length : 1, d = length > 0 ? low / length : 0;
        r[k] = fmax(length, 1e-300);
        s[k] = c * b + d * next;
        t[k] = d * far;
        a = -d * b + c * next;
        b = c * far;
    }
    for (int k = 0; k < n; k++) z[k] = 1 / sqrt((double)n);
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < n; k++) {
            if (k > 0) z[k] -= s[k - 1] * z[k - 1];
            if (k > 1) z[k] -= t[k - 2] * z[k - 2];
            z[k] /= r[k];
        }
        for (int k = n - 1; k >= 0; k--) {
            if (k + 1 < n) z[k] -= s[k] * z[k + 1];
            if (k + 2 < n) z[k] -= t[k] * z[k + 2];
            z[k] /= r[k];
        }
        size = sqrt(dot(n, z, z));
        if (!(size > 0) || !isfinite(size)) return 0;
        for (int k = 0; k < n; k++) z[k] /= size;
    }
    return 1 / sqrt(size);
}

/* Weights on the two sides of mu after the last steps: a ring. */
struct weights {
    double below[STEPS_CONFIRMED], above[STEPS_CONFIRMED];
    int count;
};

static double most(const double *weight, int count)
{
    double greatest = 0;
    for (int k = 0; k < STEPS_CONFIRMED && k < count; k++) greatest = fmax(greatest, weight[k]);
    return greatest;
}

/* The spectrum by the steps so far. `below` and `above` are the greatest of a few steps, and the least of such;
 * `exact`, as the steps span an invariant space: the last's. */
static tulle_status weigh(struct lanczos *l, double mu, bool exact, struct weights *w, tulle__ritz *ritz)
{
    const int n = l->steps, at = w->count++ % STEPS_CONFIRMED;
    memcpy(l->d, l->diagonal, (size_t)n * sizeof *l->d);
    memcpy(l->e, l->off, (size_t)n * sizeof *l->e);
    TULLE_CALL(decompose(l, n));
    ritz->low = ritz->over = INFINITY;
    ritz->high = ritz->under = -INFINITY;
    w->below[at] = w->above[at] = 0;
    for (int i = 0; i < n; i++) {
        ritz->low = fmin(ritz->low, l->d[i]);
        ritz->high = fmax(ritz->high, l->d[i]);
        if (l->d[i] < mu)
            ritz->under = fmax(ritz->under, l->d[i]);
        else
            ritz->over = fmin(ritz->over, l->d[i]);
        *(l->d[i] < mu ? &w->below[at] : &w->above[at]) += l->Z[i * n] * l->Z[i * n];
    }
    if (!exact && w->count < STEPS_CONFIRMED) return TULLE_OK;
    ritz->below = fmin(ritz->below, exact ? w->below[at] : most(w->below, w->count));
    ritz->above = fmin(ritz->above, exact ? w->above[at] : most(w->above, w->count));
    return TULLE_OK;
}

/* Steps that resolve a gap at mu: an error falls by exp(-6) in 3 (size / distance)^(1/2) of them. */
static int steps_wanted(const struct lanczos *l, double mu, int steps, const tulle__ritz *ritz, double *workspace)
{
    const double size = fmax(fabs(ritz->low - mu), fabs(ritz->high - mu)), nearest = nearest_to(l, mu, workspace);
    const double wanted = nearest > 0 ? 3 * sqrt(size / nearest) : STEPS_MOST;
    return wanted > steps ? (int)fmin(wanted, STEPS_MOST / 2) : steps;
}

tulle_status tulle__lanczos_ritz(
    const tulle_mat *A, double mu, int steps, double enough, const double *x, tulle__ritz *ritz)
{
    struct lanczos l;
    struct weights w = {.count = 0};
    const bool sides = enough < 1;
    bool over;
    int wanted = steps, look = steps; /* steps after which the last few are looked at */
    double *workspace = NULL, square = dot(A->layout->m, x, x);
    *ritz = (tulle__ritz){.square = square};
    if (!(square > 0)) return TULLE_OK;
    ritz->below = ritz->above = 1;
    tulle_status status = begin(&l, A, NULL, sides ? STEPS_MOST : steps, x, sqrt(square));
    if (status == TULLE_OK)
        status = tulle__alloc(4 * (size_t)l.most, sizeof *workspace, "a tridiagonal matrix", &workspace);
    over = tulle_comm_agree(A->comm, status) != TULLE_OK;
    while (!over) {
        status = advance(&l, &over);
        over |= status != TULLE_OK;
        if (status == TULLE_OK && (over || l.steps > look - STEPS_CONFIRMED))
            status = tulle_comm_agree(A->comm, weigh(&l, mu, over, &w, ritz));
        over |= status != TULLE_OK;
        if (over || l.steps < look) continue;
        if (l.steps == steps && sides) wanted = steps_wanted(&l, mu, steps, ritz, workspace);
        if (l.steps < wanted) ritz->below = ritz->above = 1;
        over = l.steps >= wanted && (fmin(ritz->below, ritz->above) <= enough || l.steps >= 2 * wanted);
        look = l.steps < wanted ? wanted : l.steps + (wanted > 4 * STEPS_CONFIRMED ? wanted / 4 : STEPS_CONFIRMED);
        w.count = 0;
    }
    if (status == TULLE_OK) {
        if (l.steps == l.n) l.off[l.steps - 1] = 0;
        ritz->nearest = nearest_to(&l, mu, workspace);
    }
    tulle__free(workspace);
    fini(&l);
    return tulle_comm_agree(A->comm, status);
}

tulle_status tulle__lanczos_bounds(const tulle_mat *A, double mu, int steps, tulle__ritz *ritz)
{
    const int64_t n = A->layout->m;
    TULLE__SCOPED double *x = NULL;
    TULLE_CALL(tulle_comm_agree(A->comm, tulle__alloc((size_t)n + 1, sizeof *x, "a vector", &x)));
    for (int64_t i = 0; i < n; i++) x[i] = tulle__random_at(19, 0, (uint64_t)i) & 1 ? 1 : -1;
    return tulle__lanczos_ritz(A, mu, steps, 1, x, ritz);
}
