/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies a solve independently of its method. For a row with n entries off the diagonal, summed
 * in any order, |b - op(T) x| <= gamma_(n + 3) (|op(T)| |x| + |b|) (Higham, Accuracy and Stability
 * of Numerical Algorithms, theorem 8.5; three more roundings for the inverse pivot, its product and
 * the last difference). Both sides are computed in double precision from the tiles, by plain loops.
 */
#include <inttypes.h>
#include <math.h>

#include <tulle/trisolve.h>

#include "algo/option_values.h"
#include "algo/trisolve/residual.h"
#include "base/error.h"
#include "mat/sweep/apply.h"
#include "tile/element.h"

struct vectors {
    double *b, *x, *size; /* x and |x| */
    double *diagonal;     /* of op(T); ones if it is unit */
    double *y, *z, *count;
};

tulle_status tulle__diagonal_read(const tulle_mat *T, double *diagonal)
{
    const tulle_layout *l = T->layout;
    TULLE__EACH_OWN_TILE(T, i, j) {
        tulle_tile t = tulle__tile_in_place(T, i, j);
        for (tulle_gidx r = 0; t.nnz && r < t.m; r++)
            for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++)
                if (l->col_cut[j] + t.colind[e] == l->row_cut[i] + r)
                    diagonal[l->row_cut[i] + r] = tulle__element(t.type, t.val, e);
    }
    tulle_status status = TULLE_OK;
    enum { PIECE = 1 << 18 };
    for (tulle_gidx at = 0; at < l->m && status == TULLE_OK; at += PIECE)
        status =
            tulle_comm_reduce_real(T->comm, TULLE_SUM, (int)(l->m - at < PIECE ? l->m - at : PIECE), diagonal + at);
    return status;
}

/* TULLE_ERR_CHECK for a row whose residual exceeds its bound, or is no number. */
static tulle_status refuse(const struct vectors *v, tulle_gidx row, tulle_gidx column, double ratio)
{
    const double y = v->y[row] + v->diagonal[row] * v->x[row];
    if (!isfinite(ratio) && !isfinite(v->b[row] - y))
        return tulle__fail(TULLE_ERR_CHECK,
            "row " TULLE__AT " of column " TULLE__AT ": b is %g, and op(T) x %g: the residual is not finite",
            (int64_t)row, (int64_t)column, v->b[row], y);
    return tulle__fail(TULLE_ERR_CHECK,
        "row " TULLE__AT " of column " TULLE__AT ": b is %.17g, but op(T) x is %.17g, %.3g times the rounding bound",
        (int64_t)row, (int64_t)column, v->b[row], y, ratio);
}

/* *error: the largest of this column and the previous ones. */
static tulle_status compare(const struct vectors *v, tulle_gidx n, tulle_type type, tulle_gidx column, double *error)
{
    const double unit = type == TULLE_F32 ? 0x1p-24 : 0x1p-53, least = type == TULLE_F32 ? 0x1p-149 : 0x1p-1074;
    double largest = *error;
    tulle_gidx worst = -1;
    for (tulle_gidx r = 0; r < n; r++) {
        double terms = v->count[r] + 3, y = v->y[r] + v->diagonal[r] * v->x[r];
        double z = v->z[r] + fabs(v->diagonal[r]) * v->size[r] + fabs(v->b[r]);
        double gamma = terms * unit / (1 - terms * unit) + 2 * terms * 0x1p-53;
        double ratio = tulle__error_ratio(v->b[r] - y, gamma * z + least);
        if (ratio <= largest) continue;
        largest = ratio;
        worst = r;
    }
    *error = largest;
    return largest <= 1 || worst < 0 ? TULLE_OK : refuse(v, worst, column, largest);
}

static tulle_status check(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *B, const tulle_mat *X, double *error)
{
    tulle_status status;
    struct vectors v = {.b = NULL};
    size_t n = (size_t)T->layout->m;
    double longest = 0, **const vector[] = {&v.b, &v.x, &v.size, &v.diagonal, &v.y, &v.z, &v.count};
    if (B->layout->m != T->layout->m || X->layout->m != T->layout->m || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "B and X do not have the rows of the triangle");
    TULLE_TRY(tulle__wants_values(T->comm, "checking a solve"));
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        TULLE_TRY(tulle__alloc_zero(n, sizeof(double), "check", vector[i]));
    if (options->diag == TULLE_DIAG_UNIT)
        for (size_t r = 0; r < n; r++) v.diagonal[r] = 1;
    else
        TULLE_TRY(tulle__diagonal_read(T, v.diagonal));
    for (tulle_gidx c = 0; c < X->layout->n; c++) {
        TULLE_TRY(tulle__column_gather(B, c, v.b));
        TULLE_TRY(tulle__column_gather(X, c, v.x));
        for (size_t r = 0; r < n; r++) {
            v.size[r] = fabs(v.x[r]);
            v.y[r] = v.z[r] = v.count[r] = 0;
        }
        TULLE_TRY(tulle__mat_apply(T, options->op, v.x, v.size, v.y, v.z, &longest, v.count));
        TULLE_TRY(compare(&v, T->layout->m, X->type, c, error));
    }
out:
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) tulle__free(*vector[i]);
    return status;
}

tulle_status tulle_trisolve_check(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *B, const tulle_mat *X, double *error)
{
    tulle_trisolve_options own;
    if (TULLE__NULL(T) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__NULL(error) ||
        TULLE__OPTIONS(options, &own, device) || TULLE__SIDE_WRONG(options))
        return tulle__refuse(T ? T->comm : B ? B->comm : X ? X->comm : NULL);
    double found = 0;
    tulle_status status = tulle_comm_agree(T->comm, check(T, options, B, X, &found));
    *error = found;
    return status;
}
