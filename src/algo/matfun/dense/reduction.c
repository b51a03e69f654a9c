/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/dense/reduction.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/host/blas_names.h"
#include "base/memory.h"
#include "tile/element.h"

#ifdef TULLE_HAVE_LAPACK
void dstebz_(const char *range, const char *order, const int *n, const double *vl, const double *vu, const int *il,
    const int *iu, const double *abstol, const double *d, const double *e, int *m, int *nsplit, double *w, int *iblock,
    int *isplit, double *work, int *iwork, int *info);
void dstein_(const int *n, const double *d, const double *e, const int *m, const double *w, const int *iblock,
    const int *isplit, double *z, const int *ldz, double *work, int *iwork, int *ifail, int *info);
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
    const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc);
#endif

/* ---- keeping ---- */

static size_t packed(int64_t n)
{
    return (size_t)n * (size_t)(n + 1) / 2;
}

size_t tulle__reduction_bytes(const tulle__eigen *x, int64_t n, int64_t b, bool reflectors)
{
    size_t lines = (size_t)n * (size_t)(2 + b * (x->S ? 3 : 2)) * sizeof(double);
    size_t triangles = tulle_type_size(x->type) * (packed(n) * (x->S ? 2 : 1) + (size_t)n);
    return lines + (reflectors ? triangles : 0);
}

/* Columns of the lower triangle, to `to` or from it. */
static void pack(char *full, char *to, int64_t n, size_t size, bool back)
{
    for (int64_t j = 0; j < n; j++) {
        size_t bytes = (size_t)(n - j) * size;
        char *column = full + (size_t)(j * n + j) * size;
        memcpy(back ? column : to, back ? to : column, bytes);
        to += bytes;
    }
}

tulle_status tulle__reduction_init(tulle__reduction *r, const tulle__eigen *x, int64_t n, int64_t b, bool reflectors)
{
    size_t rows = (size_t)n, columns = (size_t)(n * b), size = tulle_type_size(x->type);
    *r = (tulle__reduction){.n = n, .b = b};
    TULLE_CALL(tulle__alloc(rows, sizeof *r->d, "a tridiagonal matrix", &r->d));
    TULLE_CALL(tulle__alloc(rows, sizeof *r->e, "a tridiagonal matrix", &r->e));
    TULLE_CALL(tulle__alloc(columns, sizeof *r->Y, "columns of a tridiagonal matrix", &r->Y));
    if (x->S) TULLE_CALL(tulle__alloc(columns, sizeof *r->W, "columns of a tridiagonal matrix", &r->W));
    memcpy(r->d, x->diagonal, rows * sizeof *r->d);
    if (n > 1) memcpy(r->e, x->off, (rows - 1) * sizeof *r->e);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++) r->Y[i * b + c] = tulle__element(x->type, x->X, c * n + i);
    if (x->S) memcpy(r->W, x->W, columns * sizeof *r->W);
    if (!reflectors) return TULLE_OK;
    TULLE_CALL(tulle__alloc(packed(n), size, "reflectors", &r->A));
    TULLE_CALL(tulle__alloc(rows, size, "reflectors", &r->tau));
    if (x->S) TULLE_CALL(tulle__alloc(packed(n), size, "a Cholesky factor", &r->S));
    pack(x->A, r->A, n, size, false);
    if (x->S) pack(x->S, r->S, n, size, false);
    memcpy(r->tau, x->tau, rows * size);
    return TULLE_OK;
}

void tulle__reduction_fini(tulle__reduction *r)
{
    void *const workspace[] = {r->d, r->e, r->Y, r->W, r->A, r->S, r->tau, r->Z, r->level, r->vector};
    for (size_t i = 0; i < sizeof workspace / sizeof *workspace; i++) tulle__free(workspace[i]);
    *r = (tulle__reduction){.d = NULL};
}

void tulle__reduction_restore(const tulle__reduction *r, tulle__eigen *x)
{
    int64_t n = r->n, b = r->b;
    size_t size = tulle_type_size(x->type);
    bool narrow = x->type == TULLE_F32;
    pack(x->A, r->A, n, size, true);
    if (x->S) pack(x->S, r->S, n, size, true);
    memcpy(x->tau, r->tau, (size_t)n * size);
    for (int64_t i = 0; i < n; i++) {
        double off = i + 1 < n ? r->e[i] : 0;
        x->diagonal[i] = r->d[i];
        x->off[i] = off;
        if (narrow) {
            ((float *)x->d)[i] = (float)r->d[i];
            ((float *)x->e)[i] = (float)off;
        } else {
            ((double *)x->d)[i] = r->d[i];
            ((double *)x->e)[i] = off;
        }
        for (int64_t c = 0; c < b; c++) {
            if (narrow)
                ((float *)x->X)[c * n + i] = (float)r->Y[i * b + c];
            else
                ((double *)x->X)[c * n + i] = r->Y[i * b + c];
        }
    }
    if (x->S) memcpy(x->W, r->W, (size_t)(n * b) * sizeof *r->W);
}

/* ---- traces and levels ---- */

int64_t tulle__reduction_below(const tulle__reduction *r, double x)
{
    return tulle__levels_below(r->n, r->d, r->e, x);
}

double tulle__reduction_last_below(const tulle__reduction *r, double x, double best)
{
    int64_t below = tulle__reduction_below(r, x);
    if (!below || (!isinf(best) && tulle__reduction_below(r, best) == below)) return best;
    return fmax(best, tulle__gap_of(r->n, r->d, r->e, x).below);
}

double tulle__reduction_first_above(const tulle__reduction *r, double x, double best)
{
    int64_t below = tulle__reduction_below(r, x);
    if (below == r->n || (!isinf(best) && tulle__reduction_below(r, best) == below)) return best;
    return fmin(best, tulle__gap_of(r->n, r->d, r->e, x).above);
}

/* Z = the step at mu of Y, and sums. */
static bool take_step(
    const tulle__reduction *r, double mu, const tulle__gap *gap, double *Z, double *workspace, double sums[2])
{
    if (!tulle__step_apply(r->n, r->d, r->e, mu, gap, r->b, r->Y, Z, workspace)) return false;
    for (int64_t k = 0; k < r->n * r->b; k++) Z[k] = .5 * r->Y[k] - .5 * Z[k];
    tulle__step_sums(r->n, r->d, r->e, r->b, r->W ? r->W : r->Y, Z, sums);
    return true;
}

bool tulle__reduction_sums(const tulle__reduction *r, double mu, double *workspace, double sums[2])
{
    tulle__gap gap = tulle__gap_of(r->n, r->d, r->e, mu);
    return take_step(r, mu, &gap, workspace, workspace + r->n * r->b, sums);
}

/* A place between the levels next to mu. */
static double cut_of(const tulle__gap *gap, double mu)
{
    return isinf(gap->below) || isinf(gap->above) ? mu : gap->below + (gap->above - gap->below) / 2;
}

tulle_status tulle__reduction_step(tulle__reduction *r, tulle__eigen *x, double mu, bool *done)
{
    *done = false;
    if (!r->n) return TULLE_OK;
    if (!r->Z) TULLE_CALL(tulle__alloc((size_t)(r->n * r->b), sizeof *r->Z, "columns of a step", &r->Z));
    x->gap = r->gap = tulle__gap_of(r->n, r->d, r->e, mu);
    double near = 1e-10 * fmax(fabs(r->gap.least), fabs(r->gap.most));
    *done = mu - r->gap.below > near && r->gap.above - mu > near &&
            take_step(r, cut_of(&r->gap, mu), &r->gap, r->Z, x->workspace, x->sums);
    return TULLE_OK;
}

#ifdef TULLE_HAVE_LAPACK
static tulle_status find(
    const tulle__reduction *r, double low, double high, int64_t most, double *level, int64_t *count, double **vectors)
{
    tulle_status status;
    int n = (int)r->n, zero = 0, m = 0, blocks, info, *block = NULL;
    double *w = NULL, *work = NULL, tolerance = 2 * DBL_MIN;
    TULLE_TRY(tulle__alloc((size_t)r->n, 6 * sizeof *block, "work space of levels", &block));
    TULLE_TRY(tulle__alloc((size_t)r->n, 6 * sizeof *work, "work space of levels", &work));
    int *split = block + n, *iwork = split + n, *failed = iwork + 3 * (size_t)n;
    w = work + 5 * (size_t)n;
    dstebz_("V", "B", &n, &low, &high, &zero, &zero, &tolerance, r->d, r->e, &m, &blocks, w, block, split, work, iwork,
        &info);
    if (info)
        status =
            tulle__fail(TULLE_ERR_CONVERGENCE, "LAPACK's bisection of the levels of %d rows failed (info %d)", n, info);
    *count = m < most ? m : most;
    if (status != TULLE_OK || !*count) goto out;
    TULLE_TRY(tulle__alloc((size_t)n * (size_t)*count, sizeof **vectors, "vectors of levels", vectors));
    m = (int)*count;
    dstein_(&n, r->d, r->e, &m, w, block, split, *vectors, &n, work, iwork, failed, &info);
    if (info)
        status = tulle__fail(
            TULLE_ERR_CONVERGENCE, "LAPACK's inverse iteration of %d levels of %d rows failed (info %d)", m, n, info);
    memcpy(level, w, (size_t)m * sizeof *level);
out:
    tulle__free(block);
    tulle__free(work);
    return status;
}

/* P [count * b], rows: V^T Y of vectors V. */
static void project(const double *V, int64_t count, const double *Y, int64_t n, int64_t b, double *P)
{
    const int rows = (int)n, columns = (int)b, vectors = (int)count;
    const double one = 1, zero = 0;
    dgemm_("N", "N", &columns, &vectors, &rows, &one, Y, &columns, V, &rows, &zero, P, &columns);
}

/* Z += V P. */
static void add_projected(const double *V, int64_t count, const double *P, int64_t n, int64_t b, double *Z)
{
    const int rows = (int)n, columns = (int)b, vectors = (int)count;
    const double one = 1;
    dgemm_("N", "T", &columns, &rows, &vectors, &one, P, &columns, V, &rows, &one, Z, &columns);
}
#else
static void project(const double *V, int64_t count, const double *Y, int64_t n, int64_t b, double *P)
{
    (void)V, (void)count, (void)Y, (void)n, (void)b, (void)P;
}
static void add_projected(const double *V, int64_t count, const double *P, int64_t n, int64_t b, double *Z)
{
    (void)V, (void)count, (void)P, (void)n, (void)b, (void)Z;
}
static tulle_status find(
    const tulle__reduction *r, double low, double high, int64_t most, double *level, int64_t *count, double **vectors)
{
    (void)r, (void)low, (void)high, (void)most, (void)level, (void)count, (void)vectors;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "functions of matrices need LAPACK, without which Tulle was built here");
}
#endif

tulle_status tulle__reduction_levels(const tulle__reduction *r, double low, double high, int64_t most, double *level,
    double *weight, int64_t *count, double **vectors)
{
    TULLE__SCOPED double *found = NULL, *P = NULL;
    *count = 0;
    if (!r->n || !(low < high)) return TULLE_OK;
    TULLE_CALL(find(r, low, high, most, level, count, &found));
    TULLE_CALL(tulle__alloc((size_t)(*count * r->b), 2 * sizeof *P, "columns of levels", &P));
    const double *with = r->W ? P + *count * r->b : P;
    if (*count) project(found, *count, r->Y, r->n, r->b, P);
    if (*count && r->W) project(found, *count, r->W, r->n, r->b, P + *count * r->b);
    for (int64_t i = 0; i < *count; i++) {
        weight[i] = 0;
        for (int64_t c = i * r->b; c < (i + 1) * r->b; c++) weight[i] += P[c] * with[c];
    }
    if (vectors) {
        *vectors = found;
        found = NULL;
    }
    return TULLE_OK;
}

void tulle__reduction_drop_levels(tulle__reduction *r)
{
    tulle__free(r->level);
    tulle__free(r->vector);
    r->level = r->vector = NULL;
    r->found = 0;
}

void tulle__reduction_keep_levels(tulle__reduction *r, const double *level, int64_t count, double *vectors)
{
    size_t rows = (size_t)r->n, more = (size_t)count, all = (size_t)r->found + more;
    if (r->found && !r->vector) goto out; /* some are missing */
    if (!count) goto out;
    if (tulle__realloc(all, sizeof *r->level, "levels", &r->level) != TULLE_OK) goto lost;
    memcpy(r->level + r->found, level, more * sizeof *level);
    if (!r->vector) {
        r->vector = vectors;
        vectors = NULL;
    } else {
        if (tulle__realloc(rows * all, sizeof *r->vector, "vectors of levels", &r->vector) != TULLE_OK) goto lost;
        memcpy(r->vector + rows * (size_t)r->found, vectors, rows * more * sizeof *vectors);
    }
    goto out;
lost:
    tulle__free(r->vector);
    r->vector = NULL;
out:
    r->found += count;
    tulle__free(vectors);
}

/* Z += change of each level, whose vectors are rows; workspace [count * b]. */
static void add_levels(
    const tulle__reduction *r, int64_t count, const double *change, const double *vectors, double *Z, double *workspace)
{
    if (!count) return;
    project(vectors, count, r->Y, r->n, r->b, workspace);
    for (int64_t l = 0; l < count; l++)
        for (int64_t c = l * r->b; c < (l + 1) * r->b; c++) workspace[c] *= change[l];
    add_projected(vectors, count, workspace, r->n, r->b, Z);
}

void tulle__reduction_change(const tulle__reduction *r, tulle__eigen *x, const double *change)
{
    memcpy(x->Y, r->Z, (size_t)(r->n * r->b) * sizeof *r->Z);
    add_levels(r, r->found, change, r->vector, x->Y, x->workspace);
    x->gap = r->gap;
    tulle__eigen_from_rows(x, r->n, r->b, x->Y);
}

/* With workspace [tulle__step_workspace]. */
static bool columns_of(const tulle__reduction *r, tulle__eigen *x, double mu, int64_t count, const double *change,
    const double *vectors, double *workspace)
{
    int64_t n = r->n, b = r->b;
    double *Z = x->Y;
    if (!n) return false;
    x->gap = tulle__gap_of(n, r->d, r->e, mu);
    if (!tulle__step_apply(n, r->d, r->e, mu, &x->gap, b, r->Y, Z, workspace)) return false;
    for (int64_t k = 0; k < n * b; k++) Z[k] = .5 * r->Y[k] - .5 * Z[k];
    add_levels(r, count, change, vectors, Z, workspace);
    tulle__eigen_from_rows(x, n, b, Z);
    return true;
}

bool tulle__reduction_columns(
    const tulle__reduction *r, tulle__eigen *x, double mu, int64_t count, const double *change, const double *vectors)
{
    return columns_of(r, x, mu, count, change, vectors, x->workspace);
}

/* ---- Fermi's function ---- */

/*
 * Share of levels that are found one by one: each takes 50 to 80 us of the 5 and 13 ms that LAPACK's
 * decomposition of T takes with 282 and 498 rows.
 */
#define SHARE .1

bool tulle__eigen_is_cold(const tulle__eigen *x, int64_t n, double mu, double kT)
{
    double beyond = TULLE__BEYOND * kT;
    int64_t levels = tulle__levels_below(n, x->diagonal, x->off, mu + beyond) -
                     tulle__levels_below(n, x->diagonal, x->off, mu - beyond);
    return (double)levels <= SHARE * (double)n;
}

tulle_status tulle__eigen_fermi(tulle__eigen *x, int64_t n, int64_t b, double mu, double kT, bool *done)
{
    TULLE__SCOPED double *level = NULL, *change = NULL, *vectors = NULL;
    double *workspace = x->workspace + n * b;
    int64_t count;
    *done = false;
    if (!n || !tulle__eigen_is_cold(x, n, mu, kT)) return TULLE_OK;
    tulle__eigen_to_rows(x, n, b, x->workspace);
    const tulle__reduction r = {
        .n = n, .b = b, .d = x->diagonal, .e = x->off, .Y = x->workspace, .W = x->S ? x->W : NULL};
    tulle__gap gap = tulle__gap_of(n, r.d, r.e, mu);
    double low = mu - TULLE__BEYOND * kT, high = mu + TULLE__BEYOND * kT, cut = cut_of(&gap, mu);
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *level, "levels", &level));
    TULLE_CALL(tulle__alloc((size_t)n, sizeof *change, "levels", &change));
    TULLE_CALL(tulle__reduction_levels(&r, fmin(low, cut), fmax(high, cut), n, level, change, &count, &vectors));
    for (int64_t i = 0; i < count; i++) change[i] = tulle__fermi(level[i], mu, kT) - (level[i] < cut);
    *done = columns_of(&r, x, cut, count, change, vectors, workspace);
    if (*done) tulle__step_sums(n, r.d, r.e, b, r.W ? r.W : r.Y, x->Y, x->sums);
    x->gap = gap;
    return TULLE_OK;
}
