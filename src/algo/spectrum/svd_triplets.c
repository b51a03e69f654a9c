/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From eigenpairs of S^T S to triplets. The pass for the residuals of these leaves W = S V. One-sided rotations make
 * W's columns orthogonal: a value far below the largest is as accurate then as S allows, which its square is not.
 * Columns of W over their lengths are U, but of values that are zero to rounding: there U is completed by directions
 * orthogonal to the others, and ||S^T u - sigma v|| measured in a pass of its own.
 */
#include <math.h>
#include <string.h>

#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/matfun/dense/jacobi.h"
#include "algo/spectrum/svd_plan.h"
#include "base/error.h"

double tulle__svd_limit(const tulle_svd *s, double sigma, double largest)
{
    const double rounding = 1e3 * tulle__svd_epsilon(s) * largest + 10 * s->spectrum->noise;
    return fmax(s->spectrum->options.tolerance * sigma, rounding);
}

void tulle__svd_keep_product(void *arg, int at)
{
    tulle_svd *s = arg;
    s->gram.Z = (char *)s->left.V + (size_t)at * tulle_type_size(s->rows.type);
    s->gram.ldz = s->left.capacity;
}

/* ---- orthogonal columns of W ---- */

/* Rotations of pairs that are not orthogonal to rounding, relative to their lengths; false: there was none. */
static bool sweep(int64_t n, double epsilon, double *G, double *Q)
{
    bool rotated = false;
    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            const double off = G[q * n + p], a = G[p * n + p], b = G[q * n + q];
            if (!(fabs(off) > epsilon * sqrt(fmax(a, 0)) * sqrt(fmax(b, 0))) || a <= 0 || b <= 0) continue;
            const double t = (b - a) / (2 * off), r = (t < 0 ? -1 : 1) / (fabs(t) + sqrt(1 + t * t));
            const double c = 1 / sqrt(1 + r * r), d = r * c;
            tulle__jacobi_rotate(n, G + p * n, G + q * n, 1, c, d);
            tulle__jacobi_rotate(n, G + p, G + q, n, c, d);
            tulle__jacobi_rotate(n, Q + p * n, Q + q * n, 1, c, d);
            G[q * n + p] = G[p * n + q] = 0;
            rotated = true;
        }
    return rotated;
}

/* V = V Q and W = W Q, the longest column of W first. Collective, agreed. */
static tulle_status rotate(tulle_svd *s, int found)
{
    enum { SWEEPS = 30 };
    tulle_comm *comm = s->rows.comm;
    double *G = NULL, *Q = NULL, *length = NULL;
    const int64_t n = found;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)(n * n), sizeof *G, "inner products", &G));
    TULLE_TRY(tulle__alloc_zero((size_t)(n * n), sizeof *Q, "rotations", &Q));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *length, "lengths", &length));
out:
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle__basis_gram(&s->left, G);
    if (status == TULLE_OK) {
        for (int64_t i = 0; i < n; i++) Q[i * n + i] = 1;
        for (int i = 0; i < SWEEPS && sweep(n, 10 * tulle__svd_epsilon(s), G, Q); i++) {
        }
        for (int64_t i = 0; i < n; i++) length[i] = -G[i * n + i];
        tulle__jacobi_sort(n, Q, length);
        status = tulle_comm_agree(comm, tulle__basis_rotate(&s->left, Q, found));
    }
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle__basis_rotate(&s->spectrum->basis, Q, found));
    tulle__free(length);
    tulle__free(Q);
    tulle__free(G);
    return status;
}

/* ---- U ---- */

/* The length of column i of W. Collective. */
static tulle_status length_of(tulle_svd *s, int i, double *length)
{
    tulle__basis *b = &s->left;
    const char *column = (const char *)b->V + (size_t)i * tulle_type_size(s->rows.type);
    const tulle__multi_tsmttsm gram = {column, b->capacity, column, b->capacity, 1, 1, 1, b->gram};
    const tulle_status status = tulle__multi_tsmttsm_all(&b->multi, 1, &gram);
    *length = b->gram[0][0] > 0 ? sqrt(b->gram[0][0]) : b->gram[0][0] == 0 ? 0 : NAN;
    return status;
}

static void scale_column(const tulle_svd *s, int i, double factor)
{
    const tulle__basis *b = &s->left;
    for (int64_t r = 0; r < s->rows.count; r++)
        if (s->rows.type == TULLE_F32)
            ((float *)b->V)[r * b->capacity + i] = (float)((double)((float *)b->V)[r * b->capacity + i] * factor);
        else
            ((double *)b->V)[r * b->capacity + i] *= factor;
}

/* Random directions, orthogonal to the first columns, up to `count` of them. Collective, agreed. */
static tulle_status complete(tulle_svd *s, int count)
{
    tulle__basis *b = &s->left;
    TULLE__SCOPED void *workspace = NULL;
    if (b->columns == count) return TULLE_OK;
    const int width = b->width < TULLE__SVD_DIRECTIONS ? b->width : TULLE__SVD_DIRECTIONS;
    const tulle_status status =
        tulle__alloc((size_t)s->rows.count * (size_t)width, tulle_type_size(s->rows.type), "directions", &workspace);
    TULLE_CALL(tulle_comm_agree(s->rows.comm, status));
    for (uint64_t stream = 1ull << 32; b->columns < count; stream++) {
        bool finite;
        tulle__block_of_columns Q = {workspace, width, count - b->columns < width ? count - b->columns : width};
        tulle__basis_random(b, s->options.seed, stream, &Q);
        TULLE_CALL(tulle__basis_orthonormalise(b, &Q, 0, 0, Q.columns, NULL, NULL, &finite));
        tulle__basis_append(b, &Q);
    }
    return TULLE_OK;
}

/* Lengths become sigma, and columns U. *good: those that are not zero to rounding. Collective, agreed. */
static tulle_status normalise(tulle_svd *s, int found, double *sigma, int *good, double *orthogonality)
{
    tulle__basis *b = &s->left;
    for (int i = 0; i < found; i++) TULLE_CALL(length_of(s, i, &sigma[i]));
    for (b->columns = 0; b->columns < found && sigma[b->columns] > tulle__svd_zero(s, sigma[0]); b->columns++)
        scale_column(s, b->columns, 1 / sigma[b->columns]);
    *good = b->columns;
    TULLE_CALL(tulle__basis_finish(b, orthogonality));
    return complete(s, found);
}

/* ---- residuals ---- */

/* ||S^T u - sigma v|| of column i, with S^T U's columns in Y, ld apart. Collective, agreed. */
static tulle_status residual_of(tulle_svd *s, int i, double sigma, void *Y, int ld, double *residual)
{
    tulle__basis *v = &s->spectrum->basis;
    const tulle_type type = s->rows.type;
    const void *x = (const char *)v->V + (size_t)i * tulle_type_size(type);
    v->turn[0][0] = -sigma;
    const tulle__multi_term term = {x, v->capacity, 1, 1, 1, v->turn};
    tulle__multi_tsmm(&v->multi, 1, &term, 1, 1, Y, ld);
    const tulle__multi_tsmttsm gram = {Y, ld, Y, ld, 1, 1, 1, v->gram};
    const tulle_status status = tulle__multi_tsmttsm_all(&v->multi, 1, &gram);
    *residual = v->gram[0][0] > 0 ? sqrt(v->gram[0][0]) : v->gram[0][0] == 0 ? 0 : NAN;
    return status;
}

/* Residuals of columns `from` and after, in a pass for each `width` of them. Collective, agreed. */
static tulle_status measure(tulle_svd *s, int from, int found, const double *sigma, double *residual)
{
    tulle_status status = TULLE_OK;
    const size_t size = tulle_type_size(s->rows.type);
    void *Y = NULL;
    status = tulle__alloc((size_t)s->gram.count * (size_t)s->width, size, "products with U", &Y);
    status = tulle_comm_agree(s->rows.comm, status);
    for (int at = from; at < found && status == TULLE_OK; at += s->width) {
        const int n = found - at < s->width ? found - at : s->width;
        status = tulle__gram_transposed(&s->gram, (char *)s->left.V + (size_t)at * size, s->left.capacity, n, Y);
        s->spectrum->passes++;
        for (int i = 0; i < n && status == TULLE_OK; i++)
            status = residual_of(s, at + i, sigma[at + i], (char *)Y + (size_t)i * size, n, &residual[at + i]);
    }
    tulle__free(Y);
    return status;
}

/* The first column whose residual is to be measured, or `found`: those of S^T S over sigma will do for others. */
static int first_unknown(const tulle_svd *s, int good, const double *sigma, double *residual)
{
    int first = good;
    for (int i = good; i-- > 0;) {
        residual[i] /= sigma[i];
        if (!s->options.passes && !(residual[i] <= tulle__svd_limit(s, sigma[i], sigma[0]))) first = i;
    }
    return first;
}

tulle_status tulle__svd_triplets(tulle_svd *s, int found, double *sigma, double *residual, double *orthogonality)
{
    int good = 0;
    double *sign = NULL;
    *orthogonality = 0;
    s->left.columns = found;
    tulle_status status = tulle__alloc((size_t)found, sizeof *sign, "signs", &sign);
    status = tulle_comm_agree(s->rows.comm, status);
    if (status == TULLE_OK) status = rotate(s, found);
    if (status == TULLE_OK) status = normalise(s, found, sigma, &good, orthogonality);
    if (status == TULLE_OK) status = tulle__basis_orient(&s->spectrum->basis, sign);
    for (int i = 0; i < found && status == TULLE_OK; i++)
        if (sign[i] < 0) scale_column(s, i, -1);
    tulle__free(sign);
    const int from = status == TULLE_OK ? first_unknown(s, good, sigma, residual) : found;
    return status == TULLE_OK ? measure(s, from, found, sigma, residual) : status;
}

/* ---- results ---- */

tulle_status tulle__svd_write(const tulle_svd *s, const tulle__basis *basis, const tulle_layout *layout, int found,
    const double *factor, tulle_mat *X)
{
    TULLE__SCOPED_MAT tulle_mat *staged = NULL;
    TULLE_CALL(tulle__columns_stage(X, layout, 0, &staged));
    tulle_mat *to = staged ? staged : X;
    for (tulle_gidx c = 0; c < s->options.count; c++) {
        const double by = c >= found ? 0 : factor ? factor[c] : 1;
        const char *from = (const char *)basis->V + (c < found ? (size_t)c * tulle_type_size(s->rows.type) : 0);
        tulle__columns_write_some(to, 1, &c, &by, from, basis->capacity);
    }
    TULLE_CALL(tulle_comm_agree(s->rows.comm, TULLE_OK)); /* all have written */
    if (staged) TULLE_CALL(tulle__columns_return(staged, X));
    return TULLE_OK;
}
