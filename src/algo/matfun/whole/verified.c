/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/whole/verified.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <tulle/algebra.h>

#include "algo/matfun/dense/function.h"
#include "algo/matfun/dense/lanczos.h"
#include "base/error.h"
#include "base/random.h"
#include "mat/sweep/apply.h"

enum { STEPS = 40, ROUNDING = 64 };

static tulle_status fail(tulle__iterations *it, tulle_comm *comm, double error, const char *hint)
{
    it->residual = error;
    return tulle__iterations_fail(it, comm, hint);
}

static bool right(double error, double spectral, double tolerance)
{
    return error <= tolerance && spectral <= fmin(tulle__function_tolerance(TULLE_F64, 0, INFINITY), 10 * tolerance);
}

/*
 * The error of a power of A, and a bound of its spectral norm, which is that of `defect`: its largest Ritz value is
 * nearer. What A's condition amplifies counts where a perfect condition does not explain the error. Agreed.
 */
static tulle_status judge(
    tulle__iterations *it, const tulle_mat *A, double error, double bound, const tulle_mat *defect)
{
    tulle_status status;
    tulle__ritz of_defect, ritz;
    double tolerance = tulle__function_tolerance(A->type, it->filter, 1);
    if (right(error, bound, tolerance)) return TULLE_OK;
    if (defect && error < bound) {
        TULLE_TRY(tulle__lanczos_bounds(defect, 0, STEPS / 4, &of_defect));
        bound = fmin(bound, fmax(fabs(of_defect.low), fabs(of_defect.high)));
    }
    if (right(error, bound, tolerance)) return TULLE_OK;
    TULLE_TRY(tulle__lanczos_bounds(A, 0, STEPS, &ritz));
    tolerance = tulle__function_tolerance(A->type, it->filter, ritz.nearest > 0 ? ritz.high / ritz.nearest : INFINITY);
    if (!right(error, bound, tolerance))
        status = fail(it, A->comm, fmax(error, bound),
            " of the result; the matrix is too ill-conditioned for the method, or for the filter");
out:
    return status;
}

tulle_status tulle__verify_root(tulle__iterations *it, const tulle_mat *A, int p, const tulle_mat *X)
{
    double norm = 0, row = 0;
    TULLE__SCOPED_MAT tulle_mat *power = NULL, *product = NULL;
    TULLE_CALL(tulle__power_of(it, X, p, &power));
    TULLE_CALL(tulle__iterations_multiply(it, power, A, &product));
    TULLE_CALL(tulle__add_to(&product, 1, 0, product, -1));
    TULLE_CALL(tulle_mat_norm(product, TULLE_NORM_FROBENIUS, &norm));
    TULLE_CALL(tulle_mat_norm(product, TULLE_NORM_INFINITY, &row));
    return judge(it, A, norm / sqrt((double)A->layout->m + (A->layout->m == 0)), fmin(norm, row), product);
}

/* y = A x. Agreed. */
static tulle_status apply(const tulle_mat *A, const double *x, double *y, double *zeros, double *sums)
{
    double longest = 0;
    memset(y, 0, (size_t)A->layout->m * sizeof *y);
    return tulle_comm_agree(A->comm, tulle__mat_apply(A, TULLE_OP_N, x, zeros, y, sums, &longest, NULL));
}

/* Five vectors, the first of random signs. Agreed. */
static tulle_status vectors(const tulle_mat *A, double *v[5])
{
    const size_t n = (size_t)A->layout->m;
    v[0] = NULL;
    tulle_status status = tulle_comm_agree(A->comm, tulle__alloc_zero(5 * n + 1, sizeof **v, "vectors", &v[0]));
    for (size_t k = 1; k < 5 && status == TULLE_OK; k++) v[k] = v[k - 1] + n;
    for (size_t i = 0; i < n && status == TULLE_OK; i++) v[0][i] = tulle__random_at(23, 0, (uint64_t)i) & 1 ? 1 : -1;
    if (status != TULLE_OK) tulle__free(v[0]);
    return status;
}

tulle_status tulle__verify_product(
    tulle__iterations *it, const tulle_mat *A, int p, const tulle_mat *X, const tulle_mat *F)
{
    double *v[5], off = 0, all = 0;
    const int64_t n = A->layout->m;
    tulle_status status = TULLE_OK;
    TULLE_CALL(vectors(A, v));
    TULLE_TRY(apply(F, v[0], v[1], v[3], v[4]));
    for (int k = 0; k < p; k++) {
        TULLE_TRY(apply(k + 1 < p ? X : A, v[0], v[2], v[3], v[4]));
        memcpy(v[0], v[2], (size_t)n * sizeof *v[0]);
    }
    for (int64_t i = 0; i < n; i++) {
        off += (v[1][i] - v[2][i]) * (v[1][i] - v[2][i]);
        all += v[2][i] * v[2][i];
    }
    const double error = all > 0 ? sqrt(off / all) : sqrt(off);
    status = judge(it, A, error, error, NULL);
out:
    tulle__free(v[0]);
    return status;
}

tulle_status tulle__verify_step(
    tulle__iterations *it, const tulle_mat *A, double mu, double below, double above, double enough, const tulle_mat *F)
{
    double *v[5];
    const int64_t n = A->layout->m;
    tulle__ritz up, down;
    tulle_status status = TULLE_OK;
    TULLE_CALL(vectors(A, v));
    TULLE_TRY(apply(F, v[0], v[1], v[3], v[4]));
    for (int64_t i = 0; i < n; i++) {
        v[1][i] = (v[1][i] - below * v[0][i]) / (above - below);
        v[2][i] = v[0][i] - v[1][i];
    }
    const double least = fmax(enough, tulle__function_tolerance(A->type, it->filter, 1));
    TULLE_TRY(tulle__lanczos_ritz(A, mu, STEPS, least * least / 8, v[1], &up));
    TULLE_TRY(tulle__lanczos_ritz(A, mu, STEPS, least * least / 8, v[2], &down));
    double error = 0, nearest = INFINITY, size = 0;
    const tulle__ritz *const part[] = {&up, &down};
    for (int k = 0; k < 2; k++) {
        if (!(part[k]->square > 0)) continue;
        error += part[k]->square * (k ? part[k]->above : part[k]->below);
        nearest = fmin(nearest, part[k]->nearest);
        size = fmax(size, fmax(fabs(part[k]->low - mu), fabs(part[k]->high - mu)));
    }
    error = 2 * sqrt(error / (double)(n + (n == 0)));
    if (up.square > 0 && down.square > 0 && up.over - down.under <= ROUNDING * DBL_EPSILON * size)
        TULLE_TRY(fail(it, A->comm, error, " of the result, but a level at mu is filled in part: there is no gap"));
    const double amplification = nearest > 0 ? size / nearest : INFINITY;
    if (!(error <= fmax(enough, tulle__function_tolerance(A->type, it->filter, amplification))))
        TULLE_TRY(fail(it, A->comm, error,
            it->filter > 0 ? " of the result; is there a gap at mu, wide enough for the filter?"
                           : " of the result; is there a gap?"));
out:
    tulle__free(v[0]);
    return status;
}
