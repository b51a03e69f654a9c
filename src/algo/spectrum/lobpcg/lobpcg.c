/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOBPCG with an orthonormal basis Z of what X, the preconditioned residuals W and the former directions P span, whose
 * products A Z and S Z follow by the same combinations (Duersch, Shao, Yang, Gu, SIAM J. Sci. Comput. 40, 2018): so
 * dependent directions are dropped, and the small problem Y^T (Z^T S Z) Y = I is as well-conditioned as S.
 *
 * A step has in Z the columns X P, then W. The Ritz pairs of all give X' = Z Y, and P' = Z Y without Y's rows of X;
 * both are made orthonormal as coefficients.
 */
#include <math.h>
#include <string.h>

#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/krylov/krylov.h"
#include "algo/spectrum/lobpcg/lobpcg.h"
#include "algo/spectrum/small_eigen.h"
#include "base/error.h"

/* Steps between products that are made anew. */
enum { REFRESH = 12 };

static double *entry(const tulle__lobpcg *l, double *M, int row, int column)
{
    return M + (int64_t)column * l->capacity + row;
}

static double epsilon(const tulle__lobpcg *l)
{
    return l->A->type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

/* ---- products ---- */

/* Columns from `at` on of A Z and S Z. Collective, agreed. */
static tulle_status multiply(tulle__lobpcg *l, int at)
{
    tulle_status status = TULLE_OK;
    const int columns = l->Z.columns;
    const tulle__block_of_columns in = {l->in.val, l->width, 0}, out = {l->out.val, l->width, 0};
    l->AZ.columns = l->SZ.columns = at;
    for (; at < columns && status == TULLE_OK; at += l->width) {
        const int n = columns - at < l->width ? columns - at : l->width;
        tulle__block_of_columns x = in, y = out;
        x.columns = y.columns = n;
        tulle__basis_extract(&l->Z, at, n, &x);
        const int64_t start = tulle__now(l->comm);
        status = l->A->apply(l->times_A);
        l->passes++;
        l->columns += n;
        if (status == TULLE_OK && l->passes == 1) status = tulle__basis_check_range(&l->Z, &y);
        if (status == TULLE_OK) tulle__basis_append(&l->AZ, &y);
        if (status == TULLE_OK && l->S) status = l->S->apply(l->times_S);
        if (status == TULLE_OK && l->S) tulle__basis_append(&l->SZ, &y);
        tulle__part_end(l->comm, "product", start, &l->product_ns);
    }
    return status;
}

/* M = Z^T Y, symmetric. Collective, agreed. */
static tulle_status project(tulle__lobpcg *l, const tulle__basis *Y, double *M)
{
    const int n = l->Z.columns;
    tulle_status status = TULLE_OK;
    for (int at = 0; at < n && status == TULLE_OK; at += l->width) {
        const int cols = n - at < l->width ? n - at : l->width;
        char *from = (char *)Y->V + (size_t)at * tulle_type_size(l->A->type);
        const tulle__block_of_columns W = {from, Y->capacity, cols};
        status = tulle__basis_project(&l->Z, &W);
        for (int c = 0; c < cols && status == TULLE_OK; c++)
            for (int r = 0; r < n; r++) *entry(l, M, r, at + c) = l->Z.h[r][c];
    }
    for (int c = 0; c < n; c++)
        for (int r = 0; r < c; r++)
            *entry(l, M, r, c) = *entry(l, M, c, r) = (*entry(l, M, r, c) + *entry(l, M, c, r)) / 2;
    return status;
}

/* ---- the small problem ---- */

/* small.S = G G^T, in its lower half; false: not positive definite. */
static bool cholesky(const tulle__lobpcg *l, int n, double *S)
{
    for (int j = 0; j < n; j++) {
        double pivot = *entry(l, S, j, j);
        for (int k = 0; k < j; k++) pivot -= *entry(l, S, j, k) * *entry(l, S, j, k);
        if (!(pivot > 0)) return false;
        *entry(l, S, j, j) = sqrt(pivot);
        for (int i = j + 1; i < n; i++) {
            double x = *entry(l, S, i, j);
            for (int k = 0; k < j; k++) x -= *entry(l, S, i, k) * *entry(l, S, j, k);
            *entry(l, S, i, j) = x / *entry(l, S, j, j);
        }
    }
    return true;
}

/* x = G^-1 x, or G^-T x. */
static void solve(const tulle__lobpcg *l, int n, double *G, bool transposed, double *x, int stride)
{
    for (int s = 0; s < n; s++) {
        const int i = transposed ? n - 1 - s : s;
        double sum = x[(int64_t)i * stride];
        for (int k = transposed ? i + 1 : 0; k < (transposed ? n : i); k++)
            sum -= (transposed ? *entry(l, G, k, i) : *entry(l, G, i, k)) * x[(int64_t)k * stride];
        x[(int64_t)i * stride] = sum / *entry(l, G, i, i);
    }
}

/* Y: coefficients of the `width` best Ritz vectors, theta: their values, the best first. Collective, agreed. */
static tulle_status ritz(tulle__lobpcg *l)
{
    const int n = l->Z.columns;
    TULLE_CALL(project(l, &l->AZ, l->small_A));
    if (l->S) TULLE_CALL(project(l, &l->SZ, l->small_S));
    for (int c = 0; c < n; c++)
        for (int r = 0; r < n; r++)
            if (!isfinite(*entry(l, l->small_A, r, c)))
                return tulle__fail(TULLE_ERR_ARG, "the matrix times a vector is not finite");
    for (int c = 0; l->S && c < n; c++)
        if (!isfinite(*entry(l, l->small_S, c, c))) return tulle__fail(TULLE_ERR_ARG, "S times a vector is not finite");
    if (l->S && !cholesky(l, n, l->small_S))
        return tulle__fail(TULLE_ERR_ARG, "S is not positive definite: x^T S x <= 0 for some x");
    for (int c = 0; c < n && l->S; c++) solve(l, n, l->small_S, false, entry(l, l->small_A, 0, c), 1);
    for (int r = 0; r < n && l->S; r++) solve(l, n, l->small_S, false, entry(l, l->small_A, r, 0), l->capacity);
    for (int c = 0; c < n; c++)
        for (int r = 0; r < n; r++)
            l->work[(int64_t)c * n + r] = (*entry(l, l->small_A, r, c) + *entry(l, l->small_A, c, r)) / 2;
    TULLE_CALL(tulle__small_eigen_of_all(l->comm, n, l->work, l->U, l->all_theta));
    l->norm = fmax(l->norm, fmax(fabs(l->all_theta[0]), fabs(l->all_theta[n - 1])));
    l->solved = n < l->width ? n : l->width;
    for (int i = 0; i < l->solved; i++) {
        const int from = l->largest ? n - 1 - i : i;
        l->theta[i] = l->all_theta[from];
        memcpy(entry(l, l->Y, 0, i), l->U + (int64_t)from * n, (size_t)n * sizeof *l->Y);
        if (l->S) solve(l, n, l->small_S, true, entry(l, l->Y, 0, i), 1);
    }
    return TULLE_OK;
}

/* ---- coefficients ---- */

/* Column `at` of Q, orthogonal to those before it; false: it depends on them. */
static bool orthonormalise(const tulle__lobpcg *l, int n, int at)
{
    double *q = entry(l, l->Q, 0, at), before = 0, size = 0;
    for (int r = 0; r < n; r++) before = hypot(before, q[r]);
    for (int twice = 0; twice < 2; twice++) {
        for (int c = 0; c < at; c++) {
            const double *other = entry(l, l->Q, 0, c);
            double dot = 0;
            for (int r = 0; r < n; r++) dot += other[r] * q[r];
            for (int r = 0; r < n; r++) q[r] -= dot * other[r];
        }
        size = 0;
        for (int r = 0; r < n; r++) size = hypot(size, q[r]);
        if (!(size > 1e-12 * before)) return false;
        for (int r = 0; r < n; r++) q[r] /= size;
        before = 1;
    }
    return true;
}

/* Z becomes X P in an orthonormal basis, of which X are the first columns, and Y the coefficients of X in these.
 * Agreed.
 */
static tulle_status recombine(tulle__lobpcg *l)
{
    const int n = l->Z.columns, wanted = l->solved;
    int columns = 0;
    for (int i = 0; i < wanted; i++) {
        memcpy(entry(l, l->Q, 0, columns), entry(l, l->Y, 0, i), (size_t)n * sizeof *l->Q);
        columns += orthonormalise(l, n, columns);
    }
    const int first = columns;
    for (int i = 0; i < wanted && l->former < n; i++) {
        double *q = entry(l, l->Q, 0, columns);
        memcpy(q, entry(l, l->Y, 0, i), (size_t)n * sizeof *q);
        memset(q, 0, (size_t)l->former * sizeof *q);
        columns += orthonormalise(l, n, columns);
    }
    for (int i = 0; i < wanted; i++) {
        for (int c = 0; c < columns; c++) {
            l->all_theta[c] = 0;
            for (int r = 0; r < n; r++) l->all_theta[c] += *entry(l, l->Q, r, c) * *entry(l, l->Y, r, i);
        }
        memcpy(entry(l, l->Y, 0, i), l->all_theta, (size_t)columns * sizeof *l->Y);
    }
    for (int c = 0; c < columns; c++) memcpy(l->work + (int64_t)c * n, entry(l, l->Q, 0, c), (size_t)n * sizeof *l->Q);
    l->former = first;
    TULLE_CALL(tulle_comm_agree(l->comm, tulle__basis_rotate(&l->Z, l->work, columns)));
    TULLE_CALL(tulle_comm_agree(l->comm, tulle__basis_rotate(&l->AZ, l->work, columns)));
    if (l->S) TULLE_CALL(tulle_comm_agree(l->comm, tulle__basis_rotate(&l->SZ, l->work, columns)));
    return TULLE_OK;
}

/* ---- residuals ---- */

/* to = the first columns of a basis, times `factor` Y, times theta if scaled. Local. */
static void combine(tulle__lobpcg *l, const tulle__basis *V, bool scaled, double factor, int add, void *to)
{
    const int k = l->former;
    for (int r = 0; r < k; r++)
        for (int c = 0; c < l->solved; c++) l->Z.turn[r][c] = *entry(l, l->Y, r, c) * (scaled ? l->theta[c] : 1);
    const tulle__multi_term term = {V->V, V->capacity, k, l->solved, factor, l->Z.turn};
    tulle__multi_tsmm(&l->Z.multi, 1, &term, l->solved, add, to, l->width);
}

static tulle_status lengths(tulle__lobpcg *l, const void *X, double *length)
{
    const tulle__multi_tsmttsm gram = {X, l->width, X, l->width, l->solved, l->solved, 1, l->Z.gram};
    TULLE_CALL(tulle__multi_tsmttsm_all(&l->Z.multi, 1, &gram));
    for (int i = 0; i < l->solved; i++) length[i] = sqrt(fmax(l->Z.gram[i][i], 0));
    return TULLE_OK;
}

double tulle__lobpcg_limit(const tulle__lobpcg *l, int i)
{
    return l->size[i] * fmax(l->tolerance * fabs(l->theta[i]), 100 * epsilon(l) * l->norm);
}

/* rest = A X - S X theta, its columns' lengths, and those of S X. Collective, agreed. */
static tulle_status residuals(tulle__lobpcg *l)
{
    const tulle__basis *SZ = l->S ? &l->SZ : &l->Z;
    combine(l, SZ, false, 1, 0, l->rest.val);
    tulle_status status = lengths(l, l->rest.val, l->size);
    combine(l, &l->AZ, false, 1, 0, l->rest.val);
    combine(l, SZ, true, -1, 1, l->rest.val);
    if (status == TULLE_OK) status = lengths(l, l->rest.val, l->residual);
    l->converged = 0;
    l->worst = l->solved < l->count ? INFINITY : 0;
    for (int i = 0; i < l->count && i < l->solved; i++) {
        const double limit = tulle__lobpcg_limit(l, i), over = l->residual[i] > 0 ? l->residual[i] / limit : 0;
        l->converged += over <= 1;
        l->worst = fmax(l->worst, over);
    }
    return status;
}

/* ---- steps ---- */

/* The columns of `rest` that have not converged, first: their number. Local. */
static int pack_active(tulle__lobpcg *l)
{
    int active = 0;
    for (int i = 0; i < l->solved; i++) {
        /* guards that are no better than rounding would only spoil the basis */
        if (l->residual[i] <= .1 * tulle__lobpcg_limit(l, i)) continue;
        const size_t size = tulle_type_size(l->A->type), line = (size_t)l->width * size;
        char *row = l->rest.val;
        for (int64_t r = 0; r < l->Z.multi.space.rows; r++, row += line)
            memmove(row + (size_t)active * size, row + (size_t)i * size, size);
        active++;
    }
    return active;
}

/* pre = M rest, and a look at the sign of r^T M r. Collective, agreed. */
static tulle_status precondition(tulle__lobpcg *l, int active)
{
    const tulle__multi_tsmttsm gram = {l->rest.val, l->width, l->pre.val, l->width, active, active, 1, l->Z.gram};
    TULLE_CALL(l->M->apply(l->times_M));
    TULLE_CALL(tulle__multi_tsmttsm_all(&l->Z.multi, 1, &gram));
    for (int i = 0; i < active; i++) l->indefinite |= l->Z.gram[i][i] < 0;
    return TULLE_OK;
}

/* W, orthonormal, behind Z; random directions where there is none. *width: its columns. Collective, agreed. */
static tulle_status extend(tulle__lobpcg *l, int active, int *width)
{
    bool finite = true;
    tulle_status status = TULLE_OK;
    const tulle_gidx left = l->A->n - l->Z.columns;
    tulle__block_of_columns W = {l->M ? l->pre.val : l->rest.val, l->width, active};
    if (l->M && active) status = precondition(l, active);
    const int most = left < l->width ? (int)left : l->width;
    if (status == TULLE_OK) status = tulle__basis_orthonormalise(&l->Z, &W, 0, 0, most, NULL, NULL, &finite);
    if (status == TULLE_OK && !finite)
        return tulle__fail(TULLE_ERR_ARG, "the preconditioner, or the matrix, times a vector is not finite");
    if (status == TULLE_OK && W.columns == 0 && most) {
        W.columns = most;
        tulle__basis_random(&l->Z, l->seed, l->stream++, &W);
        status = tulle__basis_orthonormalise(&l->Z, &W, 0, 0, most, NULL, NULL, &finite);
    }
    *width = W.columns;
    if (status == TULLE_OK && W.columns) tulle__basis_append(&l->Z, &W);
    return status;
}

/* X alone in a basis that is orthonormal to rounding again, with products that are no combinations. Agreed. */
static tulle_status refresh(tulle__lobpcg *l)
{
    double off;
    l->Z.columns = l->former;
    TULLE_CALL(tulle__basis_correct(&l->Z, &off));
    TULLE_CALL(multiply(l, 0));
    TULLE_CALL(ritz(l));
    TULLE_CALL(recombine(l));
    return residuals(l);
}

/* Z becomes the Ritz vectors themselves. *off: the largest element of |X^T S X - I|. Collective, agreed. */
static tulle_status finish(tulle__lobpcg *l, double *off)
{
    tulle__basis *SZ = l->S ? &l->SZ : &l->Z;
    memset(l->work, 0, (size_t)l->capacity * (size_t)l->capacity * sizeof *l->work);
    for (int c = 0; c < l->solved; c++)
        memcpy(l->work + (int64_t)c * l->former, entry(l, l->Y, 0, c), (size_t)l->former * sizeof *l->work);
    l->Z.columns = l->SZ.columns = l->former;
    *off = 0;
    TULLE_CALL(tulle_comm_agree(l->comm, tulle__basis_rotate(&l->Z, l->work, l->solved)));
    if (l->S) TULLE_CALL(tulle_comm_agree(l->comm, tulle__basis_rotate(&l->SZ, l->work, l->solved)));
    TULLE_CALL(project(l, SZ, l->small_S));
    for (int c = 0; c < l->solved; c++)
        for (int r = 0; r < l->solved; r++) *off = fmax(*off, fabs(*entry(l, l->small_S, r, c) - (r == c)));
    return tulle__basis_check_orthonormal(l->solved, *off);
}

tulle_status tulle__lobpcg_iterate(tulle__lobpcg *l, double *off)
{
    bool fresh = true;
    l->former = 0;
    TULLE_CALL(multiply(l, 0));
    for (l->steps = 0;; l->steps++) {
        int width = 0;
        TULLE_CALL(ritz(l));
        TULLE_CALL(recombine(l));
        TULLE_CALL(residuals(l));
        const bool over = l->steps >= l->max_steps;
        if (!fresh && (over || l->converged == l->count || l->steps % REFRESH == 0)) {
            TULLE_CALL(refresh(l));
            fresh = true;
        }
        if (l->watch) l->watch(l);
        if (over || l->converged == l->count) break;
        const int at = l->Z.columns;
        TULLE_CALL(extend(l, pack_active(l), &width));
        if (!width) break; /* Z is the whole space */
        TULLE_CALL(multiply(l, at));
        fresh = false;
    }
    if (!fresh) TULLE_CALL(refresh(l));
    return finish(l, off);
}
