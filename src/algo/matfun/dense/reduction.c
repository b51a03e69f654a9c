/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/dense/reduction.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#ifdef TULLE_HAVE_LAPACK
void dstebz_(const char *range, const char *order, const int *n, const double *vl, const double *vu, const int *il,
    const int *iu, const double *abstol, const double *d, const double *e, int *m, int *nsplit, double *w, int *iblock,
    int *isplit, double *work, int *iwork, int *info);
void dstein_(const int *n, const double *d, const double *e, const int *m, const double *w, const int *iblock,
    const int *isplit, double *z, const int *ldz, double *work, int *iwork, int *ifail, int *info);
#endif

/* ---- keeping ---- */

static size_t packed(int64_t n)
{
    return (size_t)n * (size_t)(n + 1) / 2;
}

size_t tulle__reduction_bytes(const tulle__eigen *x, int64_t n, int64_t b, bool reflectors)
{
    size_t lines = (size_t)n * (size_t)(2 + b * (x->S ? 2 : 1)) * sizeof(double);
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
    tulle_status status;
    size_t rows = (size_t)n, columns = (size_t)(n * b), size = tulle_type_size(x->type);
    *r = (tulle__reduction){.n = n, .b = b};
    TULLE_TRY(tulle__alloc(rows, sizeof *r->d, "a tridiagonal matrix", &r->d));
    TULLE_TRY(tulle__alloc(rows, sizeof *r->e, "a tridiagonal matrix", &r->e));
    TULLE_TRY(tulle__alloc(columns, sizeof *r->Y, "columns of a tridiagonal matrix", &r->Y));
    if (x->S) TULLE_TRY(tulle__alloc(columns, sizeof *r->W, "columns of a tridiagonal matrix", &r->W));
    memcpy(r->d, x->diagonal, rows * sizeof *r->d);
    if (n > 1) memcpy(r->e, x->off, (rows - 1) * sizeof *r->e);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++)
            r->Y[i * b + c] =
                x->type == TULLE_F32 ? (double)((const float *)x->X)[c * n + i] : ((const double *)x->X)[c * n + i];
    if (x->S) memcpy(r->W, x->W, columns * sizeof *r->W);
    if (!reflectors) goto out;
    TULLE_TRY(tulle__alloc(packed(n), size, "reflectors", &r->A));
    TULLE_TRY(tulle__alloc(rows, size, "reflectors", &r->tau));
    if (x->S) TULLE_TRY(tulle__alloc(packed(n), size, "a Cholesky factor", &r->S));
    pack(x->A, r->A, n, size, false);
    if (x->S) pack(x->S, r->S, n, size, false);
    memcpy(r->tau, x->tau, rows * size);
out:
    return status;
}

void tulle__reduction_fini(tulle__reduction *r)
{
    void *const room[] = {r->d, r->e, r->Y, r->W, r->A, r->S, r->tau};
    for (size_t i = 0; i < sizeof room / sizeof *room; i++) tulle__free(room[i]);
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

bool tulle__reduction_sums(const tulle__reduction *r, double mu, double *room, double sums[2])
{
    double *Z = room;
    int64_t values = r->n * r->b;
    tulle__gap gap = tulle__gap_of(r->n, r->d, r->e, mu);
    if (!tulle__step_apply(r->n, r->d, r->e, mu, &gap, r->b, r->Y, Z, room + values)) return false;
    for (int64_t k = 0; k < values; k++) Z[k] = .5 * r->Y[k] - .5 * Z[k];
    tulle__step_sums(r->n, r->d, r->e, r->b, r->W ? r->W : r->Y, Z, sums);
    return true;
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
#else
static tulle_status find(
    const tulle__reduction *r, double low, double high, int64_t most, double *level, int64_t *count, double **vectors)
{
    (void)r, (void)low, (void)high, (void)most, (void)level, (void)count, (void)vectors;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "functions of matrices need LAPACK, without which Tulle was built here");
}
#endif

/* v^T column c of Y. */
static double inner(const double *v, const double *Y, int64_t n, int64_t b, int64_t c)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i] * Y[i * b + c];
    return sum;
}

tulle_status tulle__reduction_levels(const tulle__reduction *r, double low, double high, int64_t most, double *level,
    double *weight, int64_t *count, double **vectors)
{
    double *found = NULL;
    *count = 0;
    if (!r->n || !(low < high)) return TULLE_OK;
    tulle_status status = find(r, low, high, most, level, count, &found);
    for (int64_t i = 0; i < *count && status == TULLE_OK; i++) {
        const double *v = found + i * r->n;
        weight[i] = 0;
        for (int64_t c = 0; c < r->b; c++) {
            double y = inner(v, r->Y, r->n, r->b, c);
            weight[i] += y * (r->W ? inner(v, r->W, r->n, r->b, c) : y);
        }
    }
    if (vectors && status == TULLE_OK)
        *vectors = found;
    else
        tulle__free(found);
    return status;
}

/* With room [tulle__step_room]. */
static bool columns_of(const tulle__reduction *r, tulle__eigen *x, double mu, int64_t count, const double *change,
    const double *vectors, double *room)
{
    int64_t n = r->n, b = r->b;
    double *Z = x->Y;
    if (!n) return false;
    x->gap = tulle__gap_of(n, r->d, r->e, mu);
    if (!tulle__step_apply(n, r->d, r->e, mu, &x->gap, b, r->Y, Z, room)) return false;
    for (int64_t k = 0; k < n * b; k++) Z[k] = .5 * r->Y[k] - .5 * Z[k];
    for (int64_t l = 0; l < count; l++) {
        const double *v = vectors + l * n;
        for (int64_t c = 0; c < b; c++) {
            double factor = change[l] * inner(v, r->Y, n, b, c);
            for (int64_t i = 0; i < n; i++) Z[i * b + c] += factor * v[i];
        }
    }
    tulle__eigen_from_rows(x, n, b, Z);
    return true;
}

bool tulle__reduction_columns(
    const tulle__reduction *r, tulle__eigen *x, double mu, int64_t count, const double *change, const double *vectors)
{
    return columns_of(r, x, mu, count, change, vectors, x->room);
}

/* ---- Fermi's function ---- */

/*
 * Of all levels, those that are found one by one: each takes 50 to 80 us of the 5 and 13 ms that LAPACK's
 * decomposition of T takes with 282 and 498 rows.
 */
#define SHARE .1
#define BEYOND 38. /* of kT: occupations differ from 0 and 1 by 3e-17 */

tulle_status tulle__eigen_fermi(tulle__eigen *x, int64_t n, int64_t b, double mu, double kT, bool *done)
{
    tulle_status status = TULLE_OK;
    double *level = NULL, *change = NULL, *vectors = NULL, *room = x->room + n * b;
    int64_t count;
    *done = false;
    if (!n) return TULLE_OK;
    tulle__eigen_to_rows(x, n, b, x->room);
    const tulle__reduction r = {.n = n, .b = b, .d = x->diagonal, .e = x->off, .Y = x->room, .W = x->S ? x->W : NULL};
    tulle__gap gap = tulle__gap_of(n, r.d, r.e, mu);
    double low = mu - BEYOND * kT, high = mu + BEYOND * kT;
    double cut = isinf(gap.below) || isinf(gap.above) ? mu : gap.below + (gap.above - gap.below) / 2;
    if ((double)(tulle__reduction_below(&r, high) - tulle__reduction_below(&r, low)) > SHARE * (double)n)
        return TULLE_OK;
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *level, "levels", &level));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *change, "levels", &change));
    TULLE_TRY(tulle__reduction_levels(&r, fmin(low, cut), fmax(high, cut), n, level, change, &count, &vectors));
    for (int64_t i = 0; i < count; i++) change[i] = tulle__fermi(level[i], mu, kT) - (level[i] < cut);
    *done = columns_of(&r, x, cut, count, change, vectors, room);
    if (*done) tulle__step_sums(n, r.d, r.e, b, r.W ? r.W : r.Y, x->Y, x->sums);
    x->gap = gap;
out:
    tulle__free(level);
    tulle__free(change);
    tulle__free(vectors);
    return status;
}
