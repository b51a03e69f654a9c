/* SPDX-License-Identifier: Apache-2.0 */
/* A product of the caller's arrays in one call. */
#include <inttypes.h>

#include <tulle/array.h>

#include "algo/array/direct_multiply.h"
#include "algo/option_values.h"
#include "base/arg.h"
#include "base/error.h"
#include "mat/array/array_parts.h"
#include "mat/array/array_result.h"

static tulle_status check_shapes(const tulle_comm *comm, tulle_op op_a, tulle_op op_b, const tulle_array *A,
    const tulle_array *B, double beta, const tulle_array *C)
{
    const tulle_gidx m = op_a == TULLE_OP_N ? A->m : A->n, k = op_a == TULLE_OP_N ? A->n : A->m,
                     kb = op_b == TULLE_OP_N ? B->m : B->n, n = op_b == TULLE_OP_N ? B->n : B->m;
    const int dense_a = A->storage == TULLE_STORAGE_DENSE, dense_b = B->storage == TULLE_STORAGE_DENSE,
              dense_c = C->storage == TULLE_STORAGE_DENSE;
    if (k != kb)
        return tulle__fail(TULLE_ERR_ARG,
            "op(A) is %" PRId64 " x %" PRId64 " and op(B) %" PRId64 " x %" PRId64 ": %" PRId64 " columns and %" PRId64
            " rows do not match",
            m, k, kb, n, k, kb);
    if (A->type != B->type)
        return tulle__fail(TULLE_ERR_ARG, "A is of %s and B of %s: convert one of them", tulle_type_name(A->type),
            tulle_type_name(B->type));
    if (!dense_c && (dense_a || dense_b))
        return tulle__fail(TULLE_ERR_ARG, "C is dense if A or B is: ask for a dense array");
    if (dense_a && !dense_b && comm->size > 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a dense A times a sparse B on several PEs, whose rows these are: multiply the transposes, C^T = op(B)^T "
            "op(A)^T, instead");
    if (dense_c && !dense_a && !dense_b)
        return tulle__fail(TULLE_ERR_ARG, "C of two sparse matrices is sparse: ask for CSR, CSC or COO");
    if (beta != 0 && !C->val) return tulle__fail(TULLE_ERR_ARG, "beta is %g, but C has no values", beta);
    if (C->val && (C->m != m || C->n != n))
        return tulle__fail(TULLE_ERR_ARG, "C is %" PRId64 " x %" PRId64 ", but op(A) op(B) is %" PRId64 " x %" PRId64,
            C->m, C->n, m, n);
    return C->val && C->type != A->type ? tulle__fail(TULLE_ERR_ARG, "C is of %s, A and B are of %s",
                                              tulle_type_name(C->type), tulle_type_name(A->type))
                                        : TULLE_OK;
}

/* C as a matrix: the caller's array, which is borrowed on one PE, or a new one. */
static tulle_status make_result(const tulle_mat *A, tulle_op op_a, const tulle_mat *B, tulle_op op_b, int read,
    const tulle_array *array, tulle_mat **C)
{
    tulle_comm *comm = A->comm;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    int given = 0;
    TULLE_CALL(tulle__array_given(comm, array, &given));
    if (given && (comm->size == 1 || read)) return tulle_mat_from_array(comm, array, C);
    TULLE_CALL(tulle_comm_agree(comm, tulle_product_layout(A, op_a, B, op_b, &layout)));
    return B->kind == TULLE_DENSE ? tulle_mat_new_dense_undefined(comm, layout, A->type, array->order, C)
                                  : tulle_mat_new_csr(comm, layout, A->type, C);
}

/* True if a dense array is all of a matrix, on one PE. */
static tulle_status check_whole(const char *name, const tulle_array *array)
{
    TULLE_CALL(tulle__array_check(array));
    if (array->count == array->m && (!array->first || !array->count)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "%s passes %" PRId64 " rows with first = %" PRId64 ", but has %" PRId64 ", and there is one PE", name,
        array->count, array->first, array->m);
}

/* The transpose of a dense matrix that one PE has: the same values in the other order. */
static tulle_array transposed(const tulle_array *array)
{
    tulle_array t = *array;
    t.m = array->n;
    t.n = array->m;
    t.first = 0;
    t.count = t.m;
    t.order = array->order == TULLE_ROW_MAJOR ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR;
    return t;
}

/* C^T = alpha op(B)^T op(A)^T + beta C^T, for a dense A and a sparse B on one PE. */
static tulle_status multiply_transposed(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha,
    const tulle_array *A, const tulle_array *B, double beta, tulle_array *C, const tulle_product_options *options,
    tulle_product_report *report)
{
    TULLE_CALL(check_whole("A", A));
    if (TULLE__OUTSIDE(C->order, TULLE_COL_MAJOR)) return TULLE_ERR_ARG;
    if (C->val) TULLE_CALL(check_whole("C", C));
    const tulle_array a = op_a == TULLE_OP_N ? transposed(A) : *A;
    tulle_array c = transposed(C);
    TULLE_CALL(tulle_multiply(
        comm, op_b == TULLE_OP_N ? TULLE_OP_T : TULLE_OP_N, TULLE_OP_N, alpha, B, &a, beta, &c, options, report));
    *C = transposed(&c);
    return TULLE_OK;
}

tulle_status tulle_multiply(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha, const tulle_array *A,
    const tulle_array *B, double beta, tulle_array *C, const tulle_product_options *options,
    tulle_product_report *report)
{
    tulle__product_choice own;
    tulle__array_result result = {.given = C, .name = "C"};
    const tulle_array *given = C;
    if (TULLE__NULL(comm) || TULLE__OUTSIDE(op_a, TULLE_OP_T) || TULLE__OUTSIDE(op_b, TULLE_OP_T) || TULLE__NULL(A) ||
        TULLE__NULL(B) || TULLE__NULL(C) || TULLE__OPTIONS(given, &result.array, uplo) ||
        TULLE__PRODUCT_OPTIONS(options, &own))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    if (!own.options.device) own.options.device = comm->pe->device;
    tulle_mat *a = NULL, *b = NULL, *c = NULL;
    tulle_product *product = NULL;
    tulle_product_report made; /* by all PEs together, even if some have no use for it */
    const tulle__array_input inputs[] = {{A, "A", false}, {B, "B", false}};
    tulle_status status = tulle__array_result_begin(&result, beta != 0, inputs, 2);
    if (status == TULLE_OK) status = check_shapes(comm, op_a, op_b, A, B, beta, &result.array);
    TULLE_CALL(tulle_comm_agree(comm, status));
    if (A->storage == TULLE_STORAGE_DENSE && B->storage != TULLE_STORAGE_DENSE) {
        TULLE_CALL(multiply_transposed(comm, op_a, op_b, alpha, A, B, beta, &result.array, &own.options, report));
        tulle__array_result_end(&result);
        return TULLE_OK;
    }
    TULLE_CALL(tulle__agree_alike(comm, 6,
        (const int64_t[]){op_a, op_b, beta != 0, A == B, result.array.storage,
            result.array.storage == TULLE_STORAGE_DENSE ? result.array.order : 0},
        "the operations, whether beta is 0, and C's storage and order"));
    if (tulle__multiply_direct(comm, op_a, op_b, alpha, A, B, beta, &result.array, options, report, &status)) {
        TULLE_CALL(status);
        if (result.array.owned) tulle__array_result_end(&result);
        return TULLE_OK;
    }
    own.options.op_a = op_a;
    own.options.op_b = op_b;
    TULLE_TRY(tulle_mat_from_array(comm, A, &a));
    b = a;
    if (B != A) TULLE_TRY(tulle_mat_from_array(comm, B, &b));
    TULLE_TRY(make_result(a, op_a, b, op_b, beta != 0, &result.array, &c));
    TULLE_TRY(tulle_product_new(a, b, c, &own.options, &product));
    TULLE_TRY(tulle_product_execute(product, alpha, beta, &made));
    if (report) *report = made;
out:
    tulle_product_free(product);
    if (b != a) tulle_mat_free(b);
    tulle_mat_free(a);
    if (status != TULLE_OK || c->borrowed) { /* a borrowed C is complete in its place */
        tulle_mat_free(c);
        return status;
    }
    TULLE_CALL(tulle__array_take(c, TULLE_AUTO, &result.array));
    tulle__array_result_end(&result);
    return TULLE_OK;
}
