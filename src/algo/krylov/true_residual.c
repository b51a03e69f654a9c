/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a solve independently of its method: x as it is returned; and the residual by plain loops in double
 * precision. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "algo/krylov/columns/rhs_by_column.h"
#include "algo/krylov/krylov.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

struct vectors {
    double *b, *x, *size; /* x and |x| */
    double *y, *z;        /* A x and |A| |x| */
};

/* |b - A x|| over its bound: the tolerance, and the rounding in a sum of `longest` terms. */
static double ratio_of(
    const struct vectors *v, tulle_gidx n, double longest, tulle_type type, double tolerance, double absolute)
{
    double off = 0, norm = 0, rounding = 0, unit = type == TULLE_F32 ? 0x1p-24 : 0x1p-53;
    double gamma = (longest + 2) * (unit + 0x1p-53);
    for (tulle_gidx r = 0; r < n; r++) {
        double bound = gamma * (v->z[r] + fabs(v->b[r]));
        off = hypot(off, v->b[r] - v->y[r]);
        norm = hypot(norm, v->b[r]);
        rounding = hypot(rounding, bound);
    }
    return tulle__error_ratio(off, fmax(tolerance * norm, absolute) + rounding);
}

static tulle_status check(const tulle__operand *A, tulle_gidx rows, tulle_gidx cols, const tulle_mat *B,
    const tulle_mat *X, const tulle_krylov_options *options, double *error)
{
    tulle_status status;
    struct vectors v = {.b = NULL};
    size_t n = (size_t)rows;
    double longest = 0, **const vector[] = {&v.b, &v.x, &v.size, &v.y, &v.z};
    if (rows != cols || B->layout->m != rows || X->layout->m != rows || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "B and X do not have the rows of the matrix");
    TULLE_TRY(tulle__wants_values(B->comm, "checking a solve"));
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        TULLE_TRY(tulle__alloc_zero(n, sizeof(double), "check", vector[i]));
    for (tulle_gidx c = 0; c < X->layout->n; c++) {
        TULLE_TRY(tulle__column_gather(B, c, v.b));
        TULLE_TRY(tulle__column_gather(X, c, v.x));
        for (size_t r = 0; r < n; r++) {
            v.size[r] = fabs(v.x[r]);
            v.y[r] = v.z[r] = 0;
        }
        TULLE_TRY(tulle__operand_apply(A, TULLE_OP_N, false, v.x, v.size, v.y, v.z, &longest));
        /* each PE knows the longest of its own rows */
        TULLE_TRY(tulle_comm_reduce_real(B->comm, TULLE_MAX, 1, &longest));
        double ratio = ratio_of(&v, rows, longest, X->type, options->tolerance, options->absolute);
        *error = fmax(*error, ratio);
        if (!isfinite(ratio))
            status = tulle__fail(TULLE_ERR_CHECK, "column " TULLE__AT ": the residual is not finite", (int64_t)c);
        else if (ratio > 1)
            status = tulle__fail(
                TULLE_ERR_CHECK, "column " TULLE__AT ": the residual is %.3g times its bound", (int64_t)c, ratio);
        if (status != TULLE_OK) goto out;
    }
out:
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) tulle__free(*vector[i]);
    return status;
}

tulle_status tulle_krylov_check(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *X, const tulle_krylov_options *options, double *error)
{
    tulle_krylov_options chosen;
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__OPTIONS(options, &chosen, history_capacity) ||
        TULLE__NULL(error))
        return tulle__refuse(A ? A->comm : B ? B->comm : X ? X->comm : NULL);
    return tulle__krylov_check_factor(&(tulle__operand){.mat = A}, B, X, &chosen, error);
}

tulle_status tulle__krylov_check_factor(
    const tulle__operand *A, const tulle_mat *B, const tulle_mat *X, const tulle_krylov_options *options, double *error)
{
    tulle_krylov_options chosen = *options;
    double found = 0;
    const tulle_gidx m = A->mat ? A->mat->layout->m : A->rows->m, n = A->mat ? A->mat->layout->n : A->rows->n;
    tulle__krylov_defaults(&chosen, X->type);
    tulle_status status = tulle_comm_agree(B->comm, check(A, m, n, B, X, &chosen, &found));
    *error = found;
    return status;
}

/* ---- x as it is returned ---- */

/* Numbers whose squares, and those of a residual beside them, are far from the ends of the range. */
static bool is_tame(tulle_type type, double x)
{
    const int exponent = type == TULLE_F32 ? 60 : 150;
    return x > ldexp(1, -exponent) && x < ldexp(1, exponent);
}

void tulle__krylov_leaves_range(tulle__krylov *k, tulle_type type, double largest)
{
    const bool f32 = type == TULLE_F32;
    const double most = f32 ? (double)FLT_MAX : DBL_MAX, least = f32 ? (double)FLT_MIN : DBL_MIN;
    if (largest > most)
        tulle__krylov_stop(k, TULLE_STOP_RANGE, "x leaves the range of %s, with values above %.3g: scale A or b",
            tulle_type_name(type), most);
    else
        tulle__krylov_stop(k, TULLE_STOP_RANGE,
            "x or its residual leaves the range of %s, with values below %.3g: scale A or b, or start from 0",
            tulle_type_name(type), least);
}

/* ||b - A x|| and ||b||, both divided by `unit`, in vectors and sums of its own, on the host. Collective, agreed. */
static tulle_status measure(
    tulle__krylov *k, const tulle_mat *B, const tulle_mat *X, double unit, double *residual, double *norm)
{
    tulle__vector x = {.mat = NULL}, r = {.mat = NULL};
    tulle__space space;
    void *bound = NULL;
    double square[2];
    tulle_status status = tulle__space_init(k->comm, k->A->layout, k->A->type, 1, 1, &space);
    TULLE_TRY(tulle_comm_agree(k->comm, status));
    TULLE_TRY(tulle__vector_new(k->A, 1, &x));
    TULLE_TRY(tulle__vector_new(k->A, 1, &r));
    TULLE_TRY(k->A->bind(k->A->context, x.mat, r.mat, &bound));
    tulle__columns_read(X, k->column, 1 / unit, x.val);
    TULLE_TRY(k->A->apply(bound));
    k->products++;
    tulle__columns_read(B, k->column, 1 / unit, x.val);
    const void *b = x.val, *difference = r.val;
    tulle__space_combine(&space, 1, (const double[]){1}, &b, -1, r.val);
    TULLE_TRY(tulle__space_dots(&space, 1, &b, &b, &square[0]));
    TULLE_TRY(tulle__space_dots(&space, 1, &difference, &difference, &square[1]));
    *norm = sqrt(square[0]);
    *residual = sqrt(square[1]);
out:
    if (bound) k->A->unbind(bound);
    tulle_mat_free(r.mat);
    tulle_mat_free(x.mat);
    tulle__space_fini(&space);
    return status;
}

tulle_status tulle__krylov_judge_returned(tulle__krylov *k, const tulle_mat *B, const tulle_mat *X, bool lost)
{
    enum { ROUNDINGS = 16 };
    const tulle_type type = k->space.type;
    double most[3] = {tulle__columns_largest(B, k->column), tulle__columns_largest(X, k->column), lost}, residual = 0,
           norm = 0;
    if (k->stop != TULLE_STOP_CONVERGED || k->norm == 0) return TULLE_OK;
    TULLE_CALL(tulle_comm_agree(k->comm, tulle_comm_reduce_real(k->comm, TULLE_MAX, 3, most)));
    if (most[2] == 0 && is_tame(type, k->scale) && is_tame(type, most[0]) && is_tame(type, most[1])) return TULLE_OK;
    /* the larger one of b and the absolute tolerance is about 1 then, but for x that would nearly be no numbers */
    const double unit =
        fmax(tulle__power_of_two(fmax(most[0], k->options.absolute)), tulle__power_of_two(most[1]) * 0x1p-900);
    TULLE_CALL(measure(k, B, X, unit, &residual, &norm));
    const double limit = fmax(k->options.tolerance * norm, k->options.absolute / unit);
    k->true_residual = residual * (unit / k->scale);
    if (!(residual <= limit + ROUNDINGS * tulle__krylov_epsilon(k) * norm))
        tulle__krylov_leaves_range(k, type, most[1]);
    return TULLE_OK;
}
