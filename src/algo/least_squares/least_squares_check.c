/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies least squares independently of their method: residuals and gradients by plain loops in double precision. */
#include <inttypes.h>
#include <math.h>

#include "algo/least_squares/least_squares.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "mat/sweep/apply.h"

/* Vectors of m and n values; those of sizes are bounds of what rounding may change. */
struct sums {
    const double *x, *r; /* read */
    double *of_rows, *of_columns;
    double *size_of_rows, *size_of_columns;
    double square; /* of all entries */
};

static void multiply(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    struct sums *s = context;
    s->of_rows[row] += value * s->x[col];
    s->size_of_rows[row] += fabs(value * s->x[col]);
    s->square = hypot(s->square, value);
}

static void multiply_transposed(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    struct sums *s = context;
    s->of_columns[col] += value * s->r[row];
    s->size_of_columns[col] += fabs(value) * (fabs(s->r[row]) + s->size_of_rows[row]);
}

/* Sums over all PEs, in parts. */
static tulle_status add_up(tulle_comm *comm, tulle_gidx n, double *x)
{
    enum { AT_ONCE = 1 << 20 };
    for (tulle_gidx i = 0; i < n; i += AT_ONCE)
        TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, (int)(n - i < AT_ONCE ? n - i : AT_ONCE), x + i));
    return TULLE_OK;
}

/* ||r|| and ||g|| over their bounds, the smaller one. r: b, then b - A x. */
static tulle_status ratio_of(tulle_comm *comm, const tulle__operand *A, tulle_gidx m, tulle_gidx n, struct sums *s,
    double *r, const tulle_least_squares_options *o, tulle_type type, double *ratio)
{
    const double unit = type == TULLE_F32 ? 0x1p-24 : 0x1p-53, gamma = 2 * ((double)(m + n) + 2) * (unit + 0x1p-53);
    double norm = 0, residual = 0, rough = 0, gradient = 0, rough_gradient = 0;
    for (tulle_gidx i = 0; i < m; i++) s->of_rows[i] = s->size_of_rows[i] = 0;
    for (tulle_gidx j = 0; j < n; j++) s->of_columns[j] = s->size_of_columns[j] = 0;
    s->square = 0;
    TULLE_CALL(tulle__operand_visit(A, TULLE_OP_N, multiply, s));
    s->square *= s->square;
    TULLE_CALL(add_up(comm, 1, &s->square));
    TULLE_CALL(add_up(comm, m, s->of_rows));
    TULLE_CALL(add_up(comm, m, s->size_of_rows));
    for (tulle_gidx i = 0; i < m; i++) {
        norm = hypot(norm, r[i]);
        s->size_of_rows[i] = gamma * (s->size_of_rows[i] + fabs(r[i]));
        r[i] -= s->of_rows[i];
        residual = hypot(residual, r[i]);
        rough = hypot(rough, s->size_of_rows[i]);
    }
    TULLE_CALL(tulle__operand_visit(A, TULLE_OP_N, multiply_transposed, s));
    TULLE_CALL(add_up(comm, n, s->of_columns));
    TULLE_CALL(add_up(comm, n, s->size_of_columns));
    for (tulle_gidx j = 0; j < n; j++) {
        residual = hypot(residual, o->damp * s->x[j]);
        gradient = hypot(gradient, s->of_columns[j] - o->damp * o->damp * s->x[j]);
        rough_gradient = hypot(rough_gradient, gamma * (s->size_of_columns[j] + o->damp * o->damp * fabs(s->x[j])));
    }
    const double of_A = hypot(sqrt(s->square), o->damp), of_r = fmax(o->tolerance * norm, o->absolute) + rough,
                 of_g = o->gradient * of_A * residual + rough_gradient + rough * of_A;
    *ratio = fmin(tulle__error_ratio(residual, of_r), tulle__error_ratio(gradient, of_g));
    return TULLE_OK;
}

static tulle_status check(const tulle__operand *A, tulle_gidx m, tulle_gidx n, const tulle_mat *B, const tulle_mat *X,
    const tulle_least_squares_options *o, double *error)
{
    struct sums s = {.square = 0};
    double *x = NULL, *r = NULL;
    tulle_status status = TULLE_OK;
    if (B->layout->m != m || X->layout->m != n || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "B and X do not have the rows and columns of the matrix");
    TULLE_TRY(tulle__wants_values(B->comm, "checking least squares"));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *x, "check", &x));
    TULLE_TRY(tulle__alloc((size_t)m, sizeof *r, "check", &r));
    TULLE_TRY(tulle__alloc((size_t)m, sizeof *r, "check", &s.of_rows));
    TULLE_TRY(tulle__alloc((size_t)m, sizeof *r, "check", &s.size_of_rows));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *x, "check", &s.of_columns));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *x, "check", &s.size_of_columns));
    s.x = x;
    s.r = r;
    for (tulle_gidx c = 0; c < X->layout->n; c++) {
        double ratio = 0;
        TULLE_TRY(tulle__column_gather(B, c, r));
        TULLE_TRY(tulle__column_gather(X, c, x));
        TULLE_TRY(ratio_of(B->comm, A, m, n, &s, r, o, X->type, &ratio));
        *error = fmax(*error, ratio);
        if (!isfinite(ratio))
            status = tulle__fail(TULLE_ERR_CHECK, "column " TULLE__AT ": the residual is not finite", (int64_t)c);
        else if (ratio > 1)
            status = tulle__fail(TULLE_ERR_CHECK,
                "column " TULLE__AT ": both the residual and ||A^T r|| exceed their bounds, by %.3g at least",
                (int64_t)c, ratio);
        if (status != TULLE_OK) goto out;
    }
out:
    tulle__free(s.size_of_columns);
    tulle__free(s.of_columns);
    tulle__free(s.size_of_rows);
    tulle__free(s.of_rows);
    tulle__free(r);
    tulle__free(x);
    return status;
}

tulle_status tulle_least_squares_check(const tulle_mat *A, const tulle_mat *B, const tulle_mat *X,
    const tulle_least_squares_options *options, double *error)
{
    tulle_least_squares_options own;
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__OPTIONS(options, &own, variance) ||
        TULLE__NULL(error))
        return tulle__refuse(A ? A->comm : B ? B->comm : X ? X->comm : NULL);
    double found = 0;
    tulle__least_squares_defaults(&own, A->type);
    const tulle_status status =
        tulle_comm_agree(B->comm, check(&(tulle__operand){.mat = A}, A->layout->m, A->layout->n, B, X, &own, &found));
    *error = found;
    return status;
}

tulle_status tulle_least_squares_check_rows(
    tulle_rows *rows, const tulle_mat *B, const tulle_mat *X, const tulle_least_squares_options *options, double *error)
{
    tulle_least_squares_options own;
    if (TULLE__NULL(rows) || TULLE__NULL(B) || TULLE__NULL(X) || TULLE__OPTIONS(options, &own, variance) ||
        TULLE__NULL(error))
        return tulle__refuse(rows ? rows->comm : B ? B->comm : X ? X->comm : NULL);
    double found = 0;
    tulle__least_squares_defaults(&own, rows->type);
    const tulle_status status =
        tulle_comm_agree(B->comm, check(&(tulle__operand){.rows = rows}, rows->m, rows->n, B, X, &own, &found));
    *error = found;
    return status;
}
