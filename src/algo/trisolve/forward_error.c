/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forward error of a solve with a known solution x, and a bound of it. The computed y solves
 * (op(T) + E) y = b + f exactly, |E| <= gamma |op(T)| and |f| <= gamma |op(T)| |x|, f from the
 * computation of b; so
 *   |y - x| <= |op(T)^-1| gamma |op(T)| (|x| + |y|) <= M^-1 gamma |op(T)| (|x| + |y|)
 *
 * with the comparison matrix M of op(T): |t_ii| on the diagonal, -|t_ij| off it (Higham, Accuracy
 * and Stability of Numerical Algorithms, 8.2 and 8.3). It takes one serial solve, of non-negative
 * values, which lose nothing by cancellation. The bound may be far above the error where signs
 * would have cancelled.
 */
#include <inttypes.h>
#include <math.h>

#include <tulle/trisolve.h>

#include "algo/option_values.h"
#include "algo/trisolve/residual.h"
#include "base/error.h"
#include "mat/compressed.h"
#include "mat/sweep/apply.h"
#include "tile/element.h"

/* allowance for rounding in the bound itself */
#define MARGIN 1.1

/* Copies the own tiles' part of column c of a dense matrix from a replicated vector. Local. */
static void scatter(tulle_mat *B, tulle_gidx c, const double *b)
{
    const tulle_layout *l = B->layout;
    int j = tulle__layout_find(l->col_cut, l->nt, c);
    for (int i = 0; i < l->mt; i++) {
        if (!tulle__tile_is_mine(B, i, j)) continue;
        const tulle_own_tile t = tulle__own_tile_in_place(B, i, j);
        tulle_gidx col = c - l->col_cut[j];
        for (tulle_gidx r = 0; t.nnz && r < t.m; r++)
            tulle__element_set(t.type, t.val, tulle__dense_place(t.order, t.ld, r, col), b[l->row_cut[i] + r]);
    }
}

static tulle_status check_sides(const tulle_mat *T, const tulle_mat *B, const tulle_mat *X)
{
    if (T->kind != TULLE_CSR || T->layout->m != T->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "a triangle must be sparse and square");
    if (B->kind != TULLE_DENSE || X->kind != TULLE_DENSE || B->type != T->type || X->type != T->type)
        return tulle__fail(TULLE_ERR_ARG, "solutions and right-hand sides must be dense and of the triangle's type");
    if (B->layout->m != T->layout->m || X->layout->m != T->layout->m || B->layout->n != X->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "solutions or right-hand sides do not have the rows of the triangle");
    return tulle__wants_values(T->comm, "checking a solve");
}

/* ---- a right-hand side ---- */

static tulle_status multiply(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *X, tulle_mat *B)
{
    tulle_status status;
    size_t n = (size_t)T->layout->m;
    double longest = 0, *x = NULL, *y = NULL, *z = NULL, *diagonal = NULL, *count = NULL;
    double **const vector[] = {&x, &y, &z, &diagonal, &count};
    TULLE_TRY(check_sides(T, B, X));
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        TULLE_TRY(tulle__alloc_zero(n, sizeof(double), "a known solution", vector[i]));
    if (options->diag == TULLE_DIAG_UNIT)
        for (size_t r = 0; r < n; r++) diagonal[r] = 1;
    else
        TULLE_TRY(tulle__diagonal_read(T, diagonal));
    for (tulle_gidx c = 0; c < X->layout->n; c++) {
        TULLE_TRY(tulle__column_gather(X, c, x));
        for (size_t r = 0; r < n; r++) y[r] = z[r] = 0;
        TULLE_TRY(tulle__mat_apply(T, options->op, x, x, y, z, &longest, count));
        for (size_t r = 0; r < n; r++) y[r] += diagonal[r] * x[r];
        TULLE_TRY(tulle_comm_barrier(T->comm)); /* B may be X, which other PEs still read */
        scatter(B, c, y);
    }
out:
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) tulle__free(*vector[i]);
    return status;
}

tulle_status tulle_trisolve_rhs(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *X, tulle_mat *B)
{
    tulle_trisolve_options own;
    if (TULLE__NULL(T) || TULLE__NULL(X) || TULLE__NULL(B) || TULLE__OPTIONS(options, &own, device) ||
        TULLE__SIDE_WRONG(options))
        return tulle__refuse(T ? T->comm : X ? X->comm : B ? B->comm : NULL);
    const tulle_status whole = tulle__mat_has_tiles(T);
    return whole == TULLE_OK ? tulle_comm_agree(T->comm, multiply(T, options, X, B)) : whole;
}

/* ---- the error ---- */

/* The comparison matrix of T; its op is that of op(T). Collective. */
static tulle_status compare_matrix(const tulle_mat *T, tulle_mat **M)
{
    const tulle_layout *l = T->layout;
    TULLE_CALL(tulle_mat_redistribute(T, l, M));
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            if (!tulle__tile_is_mine(*M, i, j)) continue;
            const tulle_own_tile t = tulle__own_tile_in_place(*M, i, j);
            for (tulle_gidx r = 0; t.nnz && r < t.m; r++)
                for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                    double x = fabs(tulle__element(t.type, t.val, e));
                    tulle__element_set(t.type, t.val, e, l->col_cut[j] + t.colind[e] == l->row_cut[i] + r ? x : -x);
                }
        }
    return TULLE_OK;
}

struct bounding {
    tulle_trisolve *solver; /* of the comparison matrix */
    tulle_mat *R;           /* a column in its layout */
    double *x, *y, *size, *diagonal, *unused, *z, *count;
};

/* z = gamma |op(T)| (|x| + |y|). Collective, without an agreement. */
static tulle_status find_rhs(const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *known,
    const tulle_mat *X, tulle_gidx c, struct bounding *b)
{
    double unit = T->type == TULLE_F32 ? 0x1p-24 : 0x1p-53, longest = 0;
    tulle_gidx n = T->layout->m;
    TULLE_CALL(tulle__column_gather(known, c, b->x));
    TULLE_CALL(tulle__column_gather(X, c, b->y));
    for (tulle_gidx r = 0; r < n; r++) {
        b->size[r] = fabs(b->x[r]) + fabs(b->y[r]);
        b->unused[r] = b->z[r] = b->count[r] = 0;
    }
    TULLE_CALL(tulle__mat_apply(T, options->op, b->size, b->size, b->unused, b->z, &longest, b->count));
    for (tulle_gidx r = 0; r < n; r++) {
        double terms = b->count[r] + 3;
        b->z[r] = terms * unit / (1 - terms * unit) * (b->z[r] + fabs(b->diagonal[r]) * b->size[r]);
    }
    scatter(b->R, 0, b->z);
    return TULLE_OK;
}

/*
 * The largest relative error of a column, its bound, and the largest ratio of an error to the bound
 * of its row.
 */
static tulle_status compare(const struct bounding *b, tulle_gidx n, tulle_gidx column, tulle_forward *forward)
{
    double most = 0, error = 0, bound = 0, share = 0;
    tulle_gidx worst = -1;
    for (tulle_gidx r = 0; r < n; r++) {
        double off = fabs(b->y[r] - b->x[r]), at_most = b->z[r] * MARGIN;
        double part = off == 0 || (isfinite(off) && !isfinite(at_most)) ? 0 : isfinite(off) ? off / at_most : INFINITY;
        if (fabs(b->x[r]) > most) most = fabs(b->x[r]);
        if (!(off <= error)) error = off;
        if (!(at_most <= bound)) bound = at_most;
        if (part <= share) continue;
        share = part;
        worst = r;
    }
    error = error == 0 ? 0 : error / most;
    bound = bound == 0 ? 0 : isnan(bound) ? INFINITY : bound / most;
    if (!(error <= forward->error)) forward->error = error;
    if (!(bound <= forward->bound)) forward->bound = bound;
    if (share > forward->share) forward->share = share;
    if (share <= 1) return TULLE_OK;
    return tulle__fail(TULLE_ERR_CHECK,
        "row " TULLE__AT " of column " TULLE__AT
        ": x is %.17g instead of %.17g, %.3g times the bound of the forward error",
        (int64_t)worst, (int64_t)column, b->y[worst], b->x[worst], share);
}

static tulle_status measure(const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *known,
    const tulle_mat *X, tulle_mat **M, struct bounding *b, tulle_forward *forward)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    size_t n = (size_t)T->layout->m;
    double **const vector[] = {&b->x, &b->y, &b->size, &b->diagonal, &b->unused, &b->z, &b->count};
    tulle_trisolve_options serial = *options;
    serial.method = TULLE_TRISOLVE_SERIAL;
    serial.chunk = serial.tasks = serial.fanout = 0; /* it reads none of those of the method */
    serial.relax = 0;
    status = check_sides(T, known, X);
    for (size_t i = 0; i < sizeof vector / sizeof *vector && status == TULLE_OK; i++)
        status = tulle__alloc_zero(n, sizeof(double), "a known solution", vector[i]);
    TULLE_TRY(tulle_comm_agree(T->comm, status));
    TULLE_TRY(compare_matrix(T, M));
    TULLE_TRY(tulle_trisolve_new(*M, &serial, &b->solver));
    TULLE_TRY(tulle_comm_agree(T->comm, tulle_trisolve_layout(b->solver, 1, &layout)));
    TULLE_TRY(tulle_mat_new_dense(T->comm, layout, T->type, TULLE_ROW_MAJOR, &b->R));
    if (options->diag == TULLE_DIAG_UNIT)
        for (size_t r = 0; r < n; r++) b->diagonal[r] = 1;
    else
        status = tulle__diagonal_read(T, b->diagonal);
    TULLE_TRY(tulle_comm_agree(T->comm, status));
    for (tulle_gidx c = 0; c < X->layout->n; c++) {
        TULLE_TRY(tulle_comm_agree(T->comm, find_rhs(T, options, known, X, c, b)));
        TULLE_TRY(tulle_trisolve_execute(b->solver, b->R, b->R, NULL));
        TULLE_TRY(tulle_comm_agree(T->comm, tulle__column_gather(b->R, 0, b->z)));
        TULLE_TRY(compare(b, T->layout->m, c, forward)); /* the same outcome on all PEs */
    }
out:
    tulle_layout_free(layout);
    return status;
}

tulle_status tulle_trisolve_forward(const tulle_mat *T, const tulle_trisolve_options *options, const tulle_mat *known,
    const tulle_mat *X, tulle_forward *forward)
{
    tulle_trisolve_options own;
    if (TULLE__NULL(T) || TULLE__NULL(known) || TULLE__NULL(X) || TULLE__NULL(forward) ||
        TULLE__OPTIONS(options, &own, device) || TULLE__SIDE_WRONG(options))
        return tulle__refuse(T ? T->comm : known ? known->comm : X ? X->comm : NULL);
    struct bounding b = {.solver = NULL};
    tulle_mat *M = NULL;
    tulle_forward found = {.error = 0};
    double **const vector[] = {&b.x, &b.y, &b.size, &b.diagonal, &b.unused, &b.z, &b.count};
    tulle_status status = tulle_comm_agree(T->comm, measure(T, options, known, X, &M, &b, &found));
    tulle_trisolve_free(b.solver);
    tulle_mat_free(b.R);
    tulle_mat_free(M);
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) tulle__free(*vector[i]);
    if (status == TULLE_OK || status == TULLE_ERR_CHECK) *forward = found;
    return status;
}
