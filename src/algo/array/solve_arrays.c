/* SPDX-License-Identifier: Apache-2.0 */
/* Solves with the caller's arrays in one call. */
#include <inttypes.h>

#include <tulle/array.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/array/array_parts.h"
#include "mat/array/array_result.h"

static tulle_status check_system(const tulle_array *A, const tulle_array *B, const tulle_array *X)
{
    if (A->storage == TULLE_STORAGE_DENSE || B->storage != TULLE_STORAGE_DENSE || X->storage != TULLE_STORAGE_DENSE)
        return tulle__fail(TULLE_ERR_ARG, "a solve takes a sparse matrix and dense right-hand sides and solutions");
    if (A->m != A->n || B->m != A->n)
        return tulle__fail(TULLE_ERR_ARG,
            "a matrix of %" PRId64 " x %" PRId64 " and right-hand sides of %" PRId64 " rows", A->m, A->n, B->m);
    if (A->type != B->type || (X->val && X->type != A->type))
        return tulle__fail(TULLE_ERR_ARG, "the matrix is of %s, right-hand sides of %s, solutions of %s",
            tulle_type_name(A->type), tulle_type_name(B->type), tulle_type_name(X->type));
    if (X->val && (X->m != B->m || X->n != B->n))
        return tulle__fail(TULLE_ERR_ARG,
            "solutions of %" PRId64 " x %" PRId64 " for right-hand sides of %" PRId64 " x %" PRId64, X->m, X->n, B->m,
            B->n);
    return TULLE_OK;
}

/* Operands of a solve. X is in the caller's array if `borrowed`. */
struct system {
    tulle_mat *A, *B, *X;
};

/* in_place: X may be exactly B's array. */
static tulle_status open_system(tulle_comm *comm, const tulle_array *A, const tulle_array *B,
    tulle__array_result *result, int guess, bool in_place, struct system *s)
{
    int given = 0;
    const tulle_array *X = &result->array;
    const tulle__array_input inputs[] = {{A, "the matrix", false}, {B, "B", in_place}};
    tulle_status status = tulle__array_result_begin(result, guess, inputs, 2);
    if (status == TULLE_OK) status = check_system(A, B, X);
    TULLE_CALL(tulle_comm_agree(comm, status));
    TULLE_CALL(tulle__agree_alike(
        comm, 2, (const int64_t[]){X->order, guess != 0}, "X's order, and whether it has an initial guess,"));
    TULLE_CALL(tulle__array_given(comm, X, &given));
    if (guess && !given) return tulle__fail(TULLE_ERR_ARG, "an initial guess is announced, but X has no values");
    TULLE_CALL(tulle_mat_from_array(comm, A, &s->A));
    TULLE_CALL(tulle_mat_from_array(comm, B, &s->B));
    if (given) return tulle_mat_from_array(comm, X, &s->X);
    return tulle_mat_new_dense(comm, s->B->layout, A->type, X->order, &s->X);
}

/* Frees the system; its solution goes to the result in any case if `solved`. Returns the worse status. */
static tulle_status close_system(struct system *s, tulle_status status, int solved, tulle__array_result *result)
{
    tulle_mat_free(s->A);
    tulle_mat_free(s->B);
    if (!solved || s->X->borrowed) {
        tulle_mat_free(s->X);
        return status;
    }
    tulle_status taken = tulle__array_take(s->X, TULLE_AUTO, &result->array);
    if (taken == TULLE_OK) tulle__array_result_end(result);
    return status > taken ? status : taken;
}

tulle_status tulle_solve(tulle_comm *comm, const tulle_array *A, const tulle_array *B, tulle_array *X,
    const tulle_solve_options *options, tulle_krylov_report *report)
{
    tulle_solve_options own;
    tulle__array_result result = {.given = X, .name = "X"};
    const tulle_array *given = X;
    if (TULLE__NULL(comm) || TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(X) ||
        TULLE__OPTIONS(given, &result.array, uplo) || TULLE__OPTIONS(options, &own, precond_options) ||
        TULLE__OUTSIDE(options->precond, TULLE_PRECOND_KIND_COUNT - 1))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    struct system s = {.A = NULL};
    tulle_operator of_A = {.comm = NULL}, M = {.comm = NULL};
    tulle_status status = open_system(comm, A, B, &result, options->krylov && options->krylov->guess, false, &s);
    if (status == TULLE_OK) status = tulle_operator_of_mat(s.A, NULL, &of_A);
    if (status == TULLE_OK && (options->precond != TULLE_PRECOND_NONE || options->precond_options))
        status = tulle_precond_new(s.A, options->precond, options->precond_options, &M);
    int ready = status == TULLE_OK;
    if (ready) status = tulle_krylov_solve(&of_A, M.comm ? &M : NULL, s.B, s.X, options->krylov, report);
    tulle_operator_free(&M);
    tulle_operator_free(&of_A);
    return close_system(&s, status, ready && (status == TULLE_OK || status == TULLE_ERR_CONVERGENCE), &result);
}

tulle_status tulle_solve_triangular(
    tulle_comm *comm, const tulle_array *T, const tulle_array *B, tulle_array *X, const tulle_trisolve_options *options)
{
    tulle_trisolve_options own;
    tulle__array_result result = {.given = X, .name = "X"};
    const tulle_array *given = X;
    if (TULLE__NULL(comm) || TULLE__NULL(T) || TULLE__NULL(B) || TULLE__NULL(X) ||
        TULLE__OPTIONS(given, &result.array, uplo) || TULLE__OPTIONS(options, &own, device) ||
        TULLE__OUTSIDE(options->uplo, TULLE_UPPER) || TULLE__OUTSIDE(options->diag, TULLE_DIAG_UNIT))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    struct system s = {.A = NULL};
    tulle_mat *triangle = NULL;
    tulle_trisolve *solver = NULL;
    const bool counts = own.method == TULLE_TRISOLVE_AUTO
                            ? !own.tasks && !own.fanout
                            : own.method == TULLE_TRISOLVE_SERIAL || own.method == TULLE_TRISOLVE_CHUNKED;
    if (!own.solves && counts) own.solves = 1; /* the analysis is dropped afterwards */
    tulle_status status = open_system(comm, T, B, &result, 0, true, &s);
    if (status == TULLE_OK) status = tulle_mat_triangle(s.A, own.uplo, own.diag, &triangle);
    if (status == TULLE_OK) status = tulle_trisolve_new(triangle, &own, &solver);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, s.B, s.X, NULL);
    tulle_trisolve_free(solver);
    tulle_mat_free(triangle);
    return close_system(&s, status, status == TULLE_OK, &result);
}
