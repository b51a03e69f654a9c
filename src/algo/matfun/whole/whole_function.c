/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/whole/whole_function.h"

#include <math.h>
#include <stdlib.h>

#include <tulle/algebra.h>

#include "algo/matfun/whole/verified.h"
#include "base/error.h"

enum { ROOT_MOST = 64 };

tulle_matfun_method tulle__whole_method(const tulle_function *f)
{
    switch (f->kind) {
    case TULLE_FUNCTION_SIGN:
        return TULLE_MATFUN_NEWTON_SCHULZ;
    case TULLE_FUNCTION_FERMI:
        return f->kT <= 0 ? TULLE_MATFUN_NEWTON_SCHULZ : TULLE_MATFUN_SUBMATRIX;
    case TULLE_FUNCTION_INVERSE:
    case TULLE_FUNCTION_SQRT:
    case TULLE_FUNCTION_INVSQRT:
        return TULLE_MATFUN_COUPLED_NEWTON;
    case TULLE_FUNCTION_ROOT:
        return f->p <= ROOT_MOST && f->p >= -ROOT_MOST ? TULLE_MATFUN_COUPLED_NEWTON : TULLE_MATFUN_SUBMATRIX;
    default:
        return TULLE_MATFUN_SUBMATRIX;
    }
}

tulle_status tulle__whole_supports(tulle_matfun_method method, const tulle_function *function)
{
    tulle_matfun_method suits = tulle__whole_method(function);
    if (method == suits || method == TULLE_MATFUN_SUBMATRIX || method == TULLE_MATFUN_AUTO) return TULLE_OK;
    if (function->kind == TULLE_FUNCTION_ROOT && method == TULLE_MATFUN_COUPLED_NEWTON)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "root with p beyond %d does not come by %s", (int)ROOT_MOST,
            tulle_matfun_method_name(method));
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s%s does not come by %s; the method for it is %s",
        tulle_function_name(function->kind), function->kT > 0 ? " with kT > 0" : "", tulle_matfun_method_name(method),
        tulle_matfun_method_name(suits));
}

tulle_status tulle__order_check(int *order)
{
    if (*order == 0) *order = 2;
    if (*order < 2 || *order > TULLE__ORDER_MOST)
        return tulle__fail(TULLE_ERR_ARG, "order is 2 to %d, or 0, which is 2, not %d", (int)TULLE__ORDER_MOST, *order);
    return TULLE_OK;
}

/* *F = sign(A - mu I), or the step (I - sign) / 2. */
static tulle_status step_of(tulle__iterations *it, int order, const tulle_function *f, const tulle_mat *A,
    const tulle_mat *given, tulle_mat **F)
{
    double row = 0;
    tulle_mat *X = NULL;
    TULLE_CALL(tulle_mat_norm(A, TULLE_NORM_INFINITY, &row));
    double beyond = row + fabs(f->mu) > 0 ? row + fabs(f->mu) : 1, factor = 1 / beyond;
    tulle_status status;
    TULLE_TRY(tulle__combination(1, &factor, &A, -f->mu / beyond, &X));
    TULLE_TRY(tulle__newton_schulz(it, order, f->mu, &X));
    TULLE_TRY(tulle__verify_step(it, given, f->mu, -1, 1, 0, X));
    if (f->kind == TULLE_FUNCTION_FERMI) TULLE_TRY(tulle__add_to(&X, -.5, 0, X, .5));
out:
    return tulle__mat_or_free(status, X, F);
}

/* A^(1/p) = A X^(p - 1) for X = A^(-1/p). */
static tulle_status root_of(tulle__iterations *it, int p, const tulle_mat *A, const tulle_mat *given, tulle_mat **F)
{
    tulle_mat *X = NULL, *next = NULL, *made = NULL;
    const double one = 1;
    if (p == 1) return tulle__combination(1, &one, &A, 0, F);
    tulle_status status = tulle__coupled_newton(it, A, abs(p), &X);
    if (status == TULLE_OK) status = tulle__verify_root(it, given, abs(p), X);
    if (status != TULLE_OK) {
        tulle_mat_free(X);
        return status;
    }
    if (p > 0) {
        for (int k = 1; k < p && status == TULLE_OK; k++) {
            status = tulle__iterations_multiply(it, made ? made : A, X, &next);
            tulle_mat_free(made);
            made = next;
            next = NULL;
        }
        if (status == TULLE_OK) status = tulle__verify_product(it, given, p, X, made);
        tulle_mat_free(X);
        X = made;
    }
    return tulle__mat_or_free(status, X, F);
}

tulle_status tulle__whole_function(tulle__iterations *it, int order, const tulle_function *function, const tulle_mat *A,
    const tulle_mat *given, tulle_mat **F)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE__SCOPED_MAT tulle_mat *moved = NULL, *all = NULL;
    static const int power[TULLE_FUNCTION_COUNT] = {
        [TULLE_FUNCTION_INVERSE] = -1, [TULLE_FUNCTION_SQRT] = 2, [TULLE_FUNCTION_INVSQRT] = -2};
    int p = function->kind == TULLE_FUNCTION_ROOT ? function->p : power[function->kind];
    TULLE_CALL(tulle_comm_agree(A->comm, tulle__square_layout(A, &layout)));
    TULLE_CALL(tulle_mat_redistribute(A, layout, &moved));
    if (given != A) TULLE_CALL(tulle_mat_redistribute(given, layout, &all));
    return p ? root_of(it, p, moved, all ? all : moved, F) : step_of(it, order, function, moved, all ? all : moved, F);
}
