/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/lanczos.h"

#include <math.h>
#include <string.h>

#include "algo/matfun/dense/jacobi.h"
#include "algo/matfun/function.h"
#include "base/error.h"
#include "mat/apply.h"

enum { STEPS_MOST = 300, STEPS_BETWEEN = 10 };

#ifdef TULLE_HAVE_LAPACK
void dstev_(const char *jobz, const int *n, double *d, double *e, double *z, const int *ldz, double *work, int *info);
#endif

struct lanczos {
    const tulle_mat *A;
    const tulle_function *function;
    int64_t n;
    int steps, most;
    double *V;                     /* [most + 1][n] */
    double *diagonal, *off;        /* of T */
    double *zeros, *sums;          /* [n]: what the product with magnitudes needs */
    double *Z, *d, *e, *work;      /* of the decomposition of T */
    double *value, *weight, *last; /* f(T) e_1, and that of fewer steps */
};

static void fini(struct lanczos *l)
{
    void *const room[] = {
        l->V, l->diagonal, l->off, l->zeros, l->sums, l->Z, l->d, l->e, l->work, l->value, l->weight, l->last};
    for (size_t k = 0; k < sizeof room / sizeof *room; k++) tulle__free(room[k]);
}

static tulle_status init(struct lanczos *l, const tulle_mat *A, const tulle_function *function)
{
    tulle_status status;
    int64_t n = A->layout->m;
    *l = (struct lanczos){.A = A, .function = function, .n = n, .most = n < STEPS_MOST ? (int)n : STEPS_MOST};
    size_t most = (size_t)l->most + 1;
    TULLE_TRY(tulle__alloc(most * (size_t)n, sizeof *l->V, "Lanczos vectors", &l->V));
    TULLE_TRY(tulle__alloc_zero((size_t)n, sizeof *l->zeros, "a vector", &l->zeros));
    TULLE_TRY(tulle__alloc_zero((size_t)n, sizeof *l->sums, "a vector", &l->sums));
    TULLE_TRY(tulle__alloc(most * most, sizeof *l->Z, "a tridiagonal matrix", &l->Z));
    double **const vector[] = {&l->diagonal, &l->off, &l->d, &l->e, &l->value, &l->weight, &l->last};
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++)
        TULLE_TRY(tulle__alloc_zero(most, sizeof **vector[k], "a tridiagonal matrix", vector[k]));
    TULLE_TRY(tulle__alloc(2 * most, sizeof *l->work, "work space", &l->work));
out:
    return status;
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* One step with full orthogonalisation. *over: the vectors span an invariant space. Collective. */
static tulle_status advance(struct lanczos *l, bool *over)
{
    int k = l->steps;
    double longest = 0, *v = l->V + (int64_t)k * l->n, *next = v + l->n, before = 0;
    memset(next, 0, (size_t)l->n * sizeof *next);
    tulle_status status = tulle__mat_apply(l->A, TULLE_OP_N, v, l->zeros, next, l->sums, &longest, NULL);
    if (status != TULLE_OK) return status;
    before = sqrt(dot(l->n, next, next));
    l->diagonal[k] = dot(l->n, v, next);
    for (int twice = 0; twice < 2; twice++)
        for (int j = k; j >= 0; j--) {
            const double *u = l->V + (int64_t)j * l->n;
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
    tulle_status status = tulle__alloc_zero((size_t)n * (size_t)n, sizeof *T, "a tridiagonal matrix", &T);
    if (status != TULLE_OK) return status;
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
    tulle_status status = decompose(l, n);
    if (status != TULLE_OK) return status;
    (void)tulle__function_values(l->function, TULLE_F64, n, l->d, l->value);
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

tulle_status tulle__lanczos(
    const tulle_mat *A, const tulle_function *function, const double *x, double *y, double *change)
{
    struct lanczos l;
    bool over;
    double norm = sqrt(dot(A->layout->m, x, x));
    *change = 0;
    memset(y, 0, (size_t)A->layout->m * sizeof *y);
    if (!(norm > 0)) return TULLE_OK;
    tulle_status status = tulle_comm_agree(A->comm, init(&l, A, function));
    for (int64_t i = 0; i < l.n && status == TULLE_OK; i++) l.V[i] = x[i] / norm;
    over = status != TULLE_OK;
    while (!over) {
        status = advance(&l, &over);
        bool exact = over && !(l.steps == STEPS_MOST && l.n > STEPS_MOST);
        if (status == TULLE_OK && (over || l.steps % STEPS_BETWEEN == 0)) status = evaluate(&l, change);
        if (exact) *change = 0;
        over = over || status != TULLE_OK || *change < 1e-12 * (l.steps > STEPS_BETWEEN);
    }
    for (int k = 0; status == TULLE_OK && k < l.steps; k++)
        for (int64_t i = 0; i < l.n; i++) y[i] += norm * l.weight[k] * l.V[(int64_t)k * l.n + i];
    fini(&l);
    return tulle_comm_agree(A->comm, status);
}
