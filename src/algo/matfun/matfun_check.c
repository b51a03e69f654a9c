/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a function: whole tiles in place of the plan's ranges, LAPACK's QR iterations (dsyev; without
 * LAPACK Jacobi's rotations) in place of divide and conquer or of steps, and plain sums. Of a method with the whole
 * matrix F x is compared with f(A) x by the Lanczos method.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <tulle/algebra.h>

#include "algo/matfun/dense/function.h"
#include "algo/matfun/dense/jacobi.h"
#include "algo/matfun/dense/lanczos.h"
#include "algo/matfun/matfun_plan.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/host/blas_names.h"
#include "base/random.h"
#include "mat/fetch.h"
#include "mat/sweep/apply.h"
#include "tile/element.h"

#ifdef TULLE_HAVE_LAPACK
void dsygv_(const int *itype, const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *b,
    const int *ldb, double *w, double *work, const int *lwork, int *info);
void dsyev_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
    const int *lwork, int *info);
#endif

struct check {
    const tulle_matfun *plan;
    const tulle_function *function;
    const tulle_mat *F; /* in row tiles */
    const tulle__submatrix *sub;
    int64_t *start; /* [rows + 1]: first element of each block row of the submatrix */
    double *A, *S, *level, *value, *work;
    double *to;            /* A or S: that is gathered */
    double worst, largest; /* difference, of this submatrix, and magnitude of the function, of all */
    double unit;           /* magnitude of the function 1: the identity, or the inverse of S */
    int32_t at, column;    /* where the former is, and the difference that is most beyond what the function amplifies */
    double amplification;  /* largest of all submatrices */
    double most, excess;   /* largest difference, and that over the tolerance of its submatrix */
};

static const int32_t *rows_of(const struct check *c)
{
    return c->plan->s.index + c->sub->rows;
}

/* Position of a block row in the submatrix, -1: it has none. */
static int64_t position(const struct check *c, tulle_gidx row)
{
    for (int64_t i = 0; i < c->sub->nrows; i++)
        if (rows_of(c)[i] == row) return i;
    return -1;
}

/* Calls use(c, tile, local row, position) for the rows of the submatrix that tile i of X has. */
static tulle_status each_row(
    struct check *c, const tulle_mat *X, void (*use)(struct check *c, const tulle_tile *tile, int64_t local, int64_t i))
{
    const tulle_gidx *first = X->layout->row_blocks.first;
    for (int t = 0; t < X->layout->mt; t++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_tile tile;
        int64_t has = 0;
        for (int64_t i = 0; i < c->sub->nrows; i++) has += rows_of(c)[i] >= first[t] && rows_of(c)[i] < first[t + 1];
        if (!has || !X->directory[tulle__tile_index(X, t, 0)].place.length) continue;
        TULLE_CALL(tulle__fetch_read(X, t, 0, &fetch, &tile));
        for (int64_t i = 0; i < c->sub->nrows; i++)
            if (rows_of(c)[i] >= first[t] && rows_of(c)[i] < first[t + 1]) use(c, &tile, rows_of(c)[i] - first[t], i);
    }
    return TULLE_OK;
}

static void take(struct check *c, const tulle_tile *tile, int64_t local, int64_t i)
{
    int64_t n = c->sub->n, height = c->start[i + 1] - c->start[i];
    for (int64_t e = tile->rowptr[local]; e < tile->rowptr[local + 1]; e++) {
        int64_t k = position(c, tile->colind[e]), width = k < 0 ? 0 : c->start[k + 1] - c->start[k];
        for (int64_t r = 0; r < height; r++)
            for (int64_t q = 0; q < width; q++)
                c->to[(c->start[k] + q) * n + c->start[i] + r] =
                    tulle__tile_element(tile, tile->offset[e] + r * width + q);
    }
}

/* Blocks of F in own columns, which are rows of it, against the eigenvectors in A. */
static void compare_row(struct check *c, const tulle_tile *tile, int64_t local, int64_t i)
{
    int64_t n = c->sub->n, height = c->start[i + 1] - c->start[i];
    bool own = false;
    for (int64_t j = 0; j < c->sub->ncols; j++) own |= c->plan->s.index[c->sub->cols + j] == rows_of(c)[i];
    for (int64_t e = tile->rowptr[local]; own && e < tile->rowptr[local + 1]; e++) {
        int64_t k = position(c, tile->colind[e]), width = k < 0 ? 0 : c->start[k + 1] - c->start[k];
        if (c->plan->options.symmetric && k != i) continue;
        for (int64_t r = 0; r < height; r++)
            for (int64_t q = 0; q < width; q++) {
                double sum = 0, all = 0, got = tulle__tile_element(tile, tile->offset[e] + r * width + q);
                for (int64_t l = 0; l < n; l++) {
                    const double both = c->A[l * n + c->start[i] + r] * c->A[l * n + c->start[k] + q];
                    sum += both * c->value[l];
                    all += both;
                }
                if (c->S) c->largest = fmax(c->largest, fabs(sum)); /* eigenvectors are as large as S is singular */
                c->unit = fmax(c->unit, fabs(all));
                if (fabs(got - sum) <= c->worst) continue;
                c->worst = fabs(got - sum); /* NaN too */
                c->at = rows_of(c)[i];
            }
    }
}

#ifdef TULLE_HAVE_LAPACK
static int64_t decompose(struct check *c)
{
    int n = (int)c->sub->n, info = 1;
    const int first = 1; /* A c = x S c */
    int lwork = 3 * n;
    if (c->S)
        dsygv_(&first, "V", "L", &n, c->A, &n, c->S, &n, c->level, c->work, &lwork, &info);
    else
        dsyev_("V", "L", &n, c->A, &n, c->level, c->work, &lwork, &info);
    return info;
}
#else
static int64_t decompose(struct check *c)
{
    double *V = NULL;
    const size_t n = (size_t)c->sub->n;
    if (tulle__alloc(n * n, sizeof *V, "eigenvectors of a submatrix", &V) != TULLE_OK) return -1;
    const int64_t info = tulle__jacobi(c->sub->n, c->A, c->S, V, c->level);
    memcpy(c->A, V, n * n * sizeof *V);
    tulle__free(V);
    return info;
}
#endif

static double frobenius(const double *A, size_t n)
{
    double norm = 0;
    for (size_t i = 0; i < n * n; i++) norm = hypot(norm, A[i]);
    return norm;
}

/* The difference of a submatrix against the tolerance of its function; norms: of H and S before they were decomposed.
 */
static void judge(struct check *c, tulle__pencil_norms norms)
{
    const int64_t n = c->sub->n;
    for (int64_t l = 0; l < n; l++) { /* the work space is free again */
        c->work[l] = 0;
        for (int64_t r = 0; r < n; r++) c->work[l] += c->A[l * n + r] * c->A[l * n + r];
        norms.inverse = fmax(norms.inverse, c->work[l]);
    }
    norms.square = c->work;
    const double amplification =
        n ? tulle__function_amplification(c->function, n, c->level, c->value, c->S ? &norms : NULL) : 1;
    const double excess = c->worst / tulle__function_tolerance(tulle__dense_type(c->plan), 0, amplification);
    c->amplification = fmax(c->amplification, amplification);
    if (!(c->worst <= c->most)) c->most = c->worst; /* NaN too */
    if (excess <= c->excess) return;
    c->excess = excess;
    c->column = c->at;
}

static tulle_status check_one(struct check *c)
{
    tulle_status status;
    const tulle_gidx *cut = tulle__block_rows_cut(&c->plan->s.pattern);
    size_t n = (size_t)c->sub->n;
    TULLE_TRY(tulle__alloc((size_t)c->sub->nrows + 1, sizeof *c->start, "a submatrix", &c->start));
    TULLE_TRY(tulle__alloc_zero(n * n, sizeof *c->A, "a submatrix", &c->A));
    TULLE_TRY(tulle__alloc(n, sizeof *c->level, "eigenvalues", &c->level));
    TULLE_TRY(tulle__alloc(n, sizeof *c->value, "eigenvalues", &c->value));
    TULLE_TRY(tulle__alloc(3 * n + 1, sizeof *c->work, "work space", &c->work));
    c->start[0] = 0;
    for (int64_t i = 0; i < c->sub->nrows; i++)
        c->start[i + 1] = c->start[i] + cut[rows_of(c)[i] + 1] - cut[rows_of(c)[i]];
    c->to = c->A;
    TULLE_TRY(each_row(c, tulle__matfun_rows(c->plan), take));
    if (c->plan->S) {
        TULLE_TRY(tulle__alloc_zero(n * n, sizeof *c->S, "a submatrix", &c->S));
        c->to = c->S;
        TULLE_TRY(each_row(c, c->plan->S, take));
    }
    const tulle__pencil_norms norms = {.H = frobenius(c->A, n), .S = c->S ? frobenius(c->S, n) : 1};
    TULLE_TRY(tulle__memory_of_blas("the check of a function"));
    if (decompose(c)) TULLE_TRY(tulle__fail(TULLE_ERR_CONVERGENCE, "eigenvalues of a submatrix were not found"));
    (void)tulle__function_values(c->function, tulle__dense_type(c->plan), c->sub->n, c->level, c->value);
    for (size_t l = 0; l < n; l++) c->largest = fmax(c->largest, fabs(c->value[l]));
    c->worst = 0;
    TULLE_TRY(each_row(c, c->F, compare_row));
    judge(c, norms);
out:
    tulle__free(c->start);
    tulle__free(c->A);
    tulle__free(c->S);
    c->S = NULL;
    tulle__free(c->level);
    tulle__free(c->value);
    tulle__free(c->work);
    return status;
}

static tulle_status check_result(const tulle_matfun *plan, const tulle_function *function, const tulle_mat *F)
{
    TULLE_CALL(tulle__function_check(function));
    TULLE_CALL(tulle__wants_full(F));
    if (F->kind != TULLE_VBSR || F->layout->m != plan->A->layout->m)
        return tulle__fail(TULLE_ERR_ARG, "the matrix to check is not a result of this plan");
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status is_result(const tulle_matfun *plan, const tulle_function *function, const tulle_mat *F)
{
    return tulle_comm_agree(plan->A->comm, check_result(plan, function, F));
}

/* ---- whole matrices ---- */

/* As compare_whole, in five vectors of zeros that begin at x. Collective. */
static tulle_status compare_vectors(const tulle_mat *A, const tulle_function *function, double enough,
    const tulle_mat *F, double *x, double *error, double *change, double *amplification)
{
    int64_t n = A->layout->m;
    double longest = 0, worst = 0, largest = 0, size = 0;
    double *expected = x + n, *got = expected + n, *zeros = got + n, *sums = zeros + n;
    for (int64_t i = 0; i < n; i++) x[i] = tulle__random_at(17, 0, (uint64_t)i) & 1 ? 1 : -1;
    TULLE_CALL(tulle__lanczos(A, function, enough, x, expected, change, amplification));
    TULLE_CALL(tulle__mat_apply(F, TULLE_OP_N, x, zeros, got, sums, &longest, NULL));
    TULLE_CALL(tulle_mat_norm(F, TULLE_NORM_FROBENIUS, &size));
    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - expected[i]) <= worst)) worst = fabs(got[i] - expected[i]);
        largest = fmax(largest, fabs(expected[i]));
    }
    *error = largest > 0 ? worst / fmax(largest, size / sqrt((double)n)) : worst;
    return TULLE_OK;
}

/*
 * Difference of F x and f(A) x for one vector x of random signs, relative to the latter, or where F cancels signs, as
 * equal pairs do, to the magnitude that F gives such vectors in the mean, |F|_F / sqrt(n); itself where f(A) x is 0.
 * *change: of f(A) x by the last Lanczos steps, until it is below `enough`. Collective, agreed.
 */
static tulle_status compare_whole(const tulle_mat *A, const tulle_function *function, double enough, const tulle_mat *F,
    double *error, double *change, double *amplification)
{
    TULLE__SCOPED double *workspace = NULL;
    TULLE_CALL(tulle_comm_agree(
        A->comm, tulle__alloc_zero(5 * (size_t)A->layout->m, sizeof *workspace, "vectors", &workspace)));
    return tulle_comm_agree(A->comm, compare_vectors(A, function, enough, F, workspace, error, change, amplification));
}

tulle_status tulle__matfun_check_whole(const tulle_mat *A, const tulle_function *function, double filter,
    const tulle_mat *F, double *error, tulle__checked *checked)
{
    double change = 0, amplification = 1;
    TULLE_CALL(compare_whole(A, function, 1e-12, F, error, &change, &amplification));
    const double most = tulle__function_tolerance(A->type, 0, INFINITY);
    const double tolerance = fmin(most, tulle__function_tolerance(A->type, filter, amplification) + 10 * change);
    if (checked) *checked = (tulle__checked){tolerance, amplification};
    tulle_status status = TULLE_OK;
    if (!(*error <= tolerance))
        status = tulle__fail(TULLE_ERR_CHECK,
            "the function times a vector differs by %.3g from the Lanczos method's, more than %.3g", *error, tolerance);
    return tulle_comm_agree(A->comm, status);
}

tulle_status tulle_matfun_truncation(
    const tulle_matfun *plan, const tulle_function *function, const tulle_mat *F, double *error)
{
    static const double enough = 1e-6, converged = .01;
    double change = 0, amplification;
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    tulle_comm *comm = plan->A->comm;
    if (TULLE__NULL(function) || TULLE__NULL(F) || TULLE__NULL(error)) return tulle__refuse(comm);
    tulle_status status = TULLE_OK;
    TULLE_CALL(is_result(plan, function, F));
    TULLE_CALL(compare_whole(plan->A, function, enough, F, error, &change, &amplification));
    if (!(change <= converged)) {
        *error = NAN;
        return TULLE_OK;
    }
    const double most = tulle__function_tolerance(plan->A->type, 0, INFINITY);
    if (!(*error <= most))
        status = tulle__fail(TULLE_ERR_CHECK,
            "the blocks that the pattern and the filter cut matter: the function times a vector is off by %.3g, more "
            "than %.3g",
            *error, most);
    return tulle_comm_agree(comm, status);
}

/* Some own submatrices. Local. */
static tulle_status check_samples(struct check *c, int samples)
{
    const int size = c->plan->A->comm->size;
    int64_t mine = ((int64_t)samples + size - 1) / size, count = c->plan->s.count;
    if (mine > count) mine = count;
    for (int64_t k = 0; k < mine; k++) {
        c->sub = &c->plan->s.sub[k * count / mine];
        TULLE_CALL(check_one(c));
    }
    return TULLE_OK;
}

tulle_status tulle_matfun_check(
    const tulle_matfun *plan, const tulle_function *function, const tulle_mat *F, int samples, double *error)
{
    if (TULLE__NULL(plan)) return tulle__refuse(NULL);
    tulle_comm *comm = plan->A->comm;
    if (TULLE__NULL(function) || TULLE__NULL(F) || TULLE__NULL(error) || TULLE__NEGATIVE(samples))
        return tulle__refuse(comm);
    TULLE__SCOPED_MAT tulle_mat *moved = NULL;
    const tulle_mat *rows = tulle__matfun_rows(plan);
    struct check c = {.plan = plan, .function = function, .F = F, .column = -1, .amplification = 1};
    TULLE_CALL(is_result(plan, function, F));
    if (tulle__matfun_method_for(plan) != TULLE_MATFUN_SUBMATRIX)
        return tulle__matfun_check_whole(rows, function, plan->options.filter, F, error, plan->checked);
    if (!tulle__layout_equal(F->layout, rows->layout)) {
        TULLE_CALL(tulle_mat_redistribute(F, rows->layout, &moved));
        c.F = moved;
    }
    TULLE_CALL(tulle_comm_agree(comm, check_samples(&c, samples)));
    /* differences of occupations are those of rounding below 1e-14 or so of a filled level */
    if (function->kind == TULLE_FUNCTION_FERMI) c.largest = fmax(c.largest, 1e-6 * c.unit);
    double found[3] = {c.most, c.largest, c.amplification};
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_real(comm, TULLE_MAX, 3, found)));
    *error = found[1] > 0 ? found[0] / found[1] : found[0];
    if (plan->checked)
        *plan->checked = (tulle__checked){tulle__function_tolerance(tulle__dense_type(plan), 0, found[2]), found[2]};
    bool bad = !(c.excess <= found[1]);
    return tulle_comm_agree(comm, bad ? tulle__fail(TULLE_ERR_CHECK,
                                            "block column " TULLE__AT TULLE__COUNTED
                                            " of the function differs by %.3g from another computation of it",
                                            (int64_t)c.column, c.most)
                                      : TULLE_OK);
}

tulle_status tulle_matfun_checked(const tulle_matfun *plan, double *tolerance, double *amplification)
{
    if (TULLE__NULL(plan) || TULLE__NULL(tolerance) || TULLE__NULL(amplification)) return TULLE_ERR_ARG;
    *tolerance = plan->checked ? plan->checked->tolerance : 0;
    *amplification = plan->checked ? plan->checked->amplification : 0;
    return TULLE_OK;
}
