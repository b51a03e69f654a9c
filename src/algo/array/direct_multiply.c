/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/array/direct_multiply.h"

#include <string.h>

#include "algo/array/multiply_entries.h"
#include "base/error.h"
#include "kernel/unchecked_csr.h"
#include "mat/array/array_parts.h"
#include "mat/array/row_ascends.h"
#include "mat/context.h"

/* True if no option asks for anything that only a plan does. */
static bool is_plain(const tulle_product_options *o)
{
    const tulle_product_options none = {.size = o->size,
        .op_a = o->op_a,
        .op_b = o->op_b,
        .deterministic = o->deterministic,
        .devices = o->devices,
        .blocks = o->blocks};
    static const tulle_product_devices no_devices;
    static const tulle_product_blocks no_blocks;
    tulle_product_devices devices = *o->devices;
    tulle_product_blocks blocks = *o->blocks;
    devices.size = blocks.size = 0;
    return !memcmp(o, &none, sizeof none) && !memcmp(&devices, &no_devices, sizeof devices) &&
           !memcmp(&blocks, &no_blocks, sizeof blocks);
}

static bool is_whole(const tulle_array *array)
{
    return array->first == 0 && array->count == (array->storage == TULLE_STORAGE_CSC ? array->n : array->m);
}

/* The rows that A's arrays are, of op(A) or, *transposed, of its transpose: columns are rows of the transpose. */
static bool rows_of(const tulle_array *A, tulle_op op, tulle__unchecked_csr *rows, bool *transposed)
{
    const bool by_rows = A->storage == TULLE_STORAGE_CSR;
    if (!by_rows && A->storage != TULLE_STORAGE_CSC) return false;
    if (A->base || A->symmetry != TULLE_GENERAL || !A->val || !A->nnz || !is_whole(A)) return false;
    *transposed = by_rows != (op == TULLE_OP_N);
    *rows = (tulle__unchecked_csr){.m = by_rows ? A->m : A->n,
        .n = by_rows ? A->n : A->m,
        .nnz = A->nnz,
        .ptr_bytes = A->ptr_bytes,
        .ind_bytes = A->ind_bytes,
        .ptr = A->ptr,
        .ind = A->ind,
        .val = A->val};
    return rows->n <= INT32_MAX;
}

static tulle_product_report report_of(int64_t ns, int64_t multiplications, int64_t elements)
{
    const double seconds = (double)ns * 1e-9;
    return (tulle_product_report){.seconds = seconds,
        .compute = {seconds, seconds},
        .load_imbalance = 1,
        .flops = 2 * multiplications,
        .units = 1,
        .largest_unit = 1,
        .nnz_c = elements,
        .phases = 1,
        .replication = 1};
}

/* Strides between rows, and between columns, of op(X) for a dense X. */
struct strides {
    int64_t row, col;
};

static struct strides strides_of(const tulle_array *X, tulle_op op)
{
    const bool by_rows = (X->order == TULLE_ROW_MAJOR) == (op == TULLE_OP_N);
    return by_rows ? (struct strides){X->ld, 1} : (struct strides){1, X->ld};
}

/* C = alpha A B + beta C for a dense B, or with A^T if `transposed`; *valid: false if A's arrays are not. */
static tulle_status multiply_dense(const tulle__context *context, const tulle__unchecked_csr *A, bool transposed,
    double alpha, const tulle_array *B, tulle_op op_b, double beta, const tulle_array *C, bool *valid)
{
    const struct strides b = strides_of(B, op_b), c = strides_of(C, TULLE_OP_N);
    const tulle__spmm_pair pair = {.B = B->val, .b_row = b.row, .b_col = b.col};
    const tulle__spmm_task task = {.type = B->type,
        .m = C->m,
        .n = C->n,
        .npairs = 1,
        .pair = &pair,
        .C = C->val,
        .c_row = c.row,
        .c_col = c.col,
        .alpha = alpha,
        .beta = beta};
    return transposed ? context->kernels->spmm_scatter(context->pool, &task, A, valid)
                      : context->kernels->spmm_unchecked(context->pool, &task, A, valid);
}

static tulle_status multiply_with_dense(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha,
    const tulle_array *A, const tulle_array *B, double beta, const tulle_array *C, tulle_product_report *report,
    bool *done)
{
    tulle__unchecked_csr rows;
    tulle__context *context;
    bool transposed;
    if (!C->val || !C->n || !rows_of(A, op_a, &rows, &transposed) || !is_whole(B) || !is_whole(C)) return TULLE_OK;
    const int64_t start = tulle__now(comm);
    tulle_status status = tulle__context_get(comm, &context);
    *done = true;
    if (status == TULLE_OK) status = multiply_dense(context, &rows, transposed, alpha, B, op_b, beta, C, done);
    if (status == TULLE_OK && report) *report = report_of(tulle__now(comm) - start, rows.nnz * C->n, C->m * C->n);
    return status;
}

/* The description of a dense result with new arrays, that of C if it has some; the caller's until it takes it. */
static tulle_status make_dense(const tulle_array *C, tulle_type type, tulle_gidx m, tulle_gidx n, tulle_array *made)
{
    *made = *C;
    if (C->val) return TULLE_OK;
    made->type = type;
    made->m = made->count = m;
    made->n = n;
    made->first = 0;
    made->ld = C->order == TULLE_ROW_MAJOR ? n : m;
    made->owned = true;
    return tulle__alloc((size_t)(m * n), tulle_type_size(type), "a dense result", &made->val);
}

/* The same for entries in any order, also into a new array. */
static tulle_status multiply_entries_with_dense(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha,
    const tulle_array *A, const tulle_array *B, double beta, tulle_array *C, tulle_product_report *report, bool *done)
{
    const bool turned = op_a != TULLE_OP_N;
    const tulle__coo entries = {.m = turned ? A->n : A->m,
        .n = turned ? A->m : A->n,
        .nnz = A->nnz,
        .index_bytes = A->ind_bytes,
        .row = turned ? A->col : A->ind,
        .col = turned ? A->ind : A->col,
        .val = A->val};
    const tulle_gidx columns = op_b == TULLE_OP_N ? B->n : B->m, inner = op_b == TULLE_OP_N ? B->m : B->n;
    tulle__context *context;
    tulle_array made;
    if (C->storage != TULLE_STORAGE_DENSE || A->base || A->symmetry != TULLE_GENERAL || !A->val || !A->nnz)
        return TULLE_OK;
    if (!is_whole(B) || (C->val && !is_whole(C)) || (!C->val && beta != 0)) return TULLE_OK;
    if (A->type != B->type || inner != entries.n || !columns || !tulle__coo_inside(&entries)) return TULLE_OK;
    if (C->val && (C->type != A->type || C->m != entries.m || C->n != columns)) return TULLE_OK;
    const int64_t start = tulle__now(comm);
    TULLE_CALL(tulle__context_get(comm, &context));
    TULLE_CALL(make_dense(C, A->type, entries.m, columns, &made));
    const struct strides b = strides_of(B, op_b), c = strides_of(&made, TULLE_OP_N);
    const tulle_status status = tulle__multiply_coo(context->pool, A->type, &entries, columns, alpha,
        &(tulle__strided){B->val, b.row, b.col}, beta, &(tulle__strided){made.val, c.row, c.col});
    if (status != TULLE_OK && !C->val) tulle__free(made.val);
    TULLE_CALL(status);
    *C = made;
    *done = true;
    if (report) *report = report_of(tulle__now(comm) - start, A->nnz * columns, entries.m * columns);
    return TULLE_OK;
}

/* ---- two dense matrices ---- */

/* Two arrays as the BLAS takes them. */
static tulle_status multiply_two_dense(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha,
    const tulle_array *A, const tulle_array *B, double beta, const tulle_array *C, tulle_product_report *report,
    bool *done)
{
    tulle__context *context;
    if (!C->val || !is_whole(A) || !is_whole(B) || !is_whole(C)) return TULLE_OK;
    const struct strides a = strides_of(A, op_a), b = strides_of(B, op_b), c = strides_of(C, TULLE_OP_N);
    const int64_t k = op_a == TULLE_OP_N ? A->n : A->m, start = tulle__now(comm);
    const tulle__gemm_pair pair = {
        .k = k, .A = A->val, .a_row = a.row, .a_col = a.col, .B = B->val, .b_row = b.row, .b_col = b.col};
    const tulle__gemm_task task = {.type = A->type,
        .m = C->m,
        .n = C->n,
        .npairs = 1,
        .pair = &pair,
        .C = C->val,
        .c_row = c.row,
        .c_col = c.col,
        .alpha = alpha,
        .beta = beta};
    tulle_status status = tulle__context_get(comm, &context);
    *done = true;
    if (status == TULLE_OK) {
        context->kernels->alone();
        status = context->kernels->gemm(context->pool, &task);
    }
    if (status == TULLE_OK && report) *report = report_of(tulle__now(comm) - start, C->m * k * C->n, C->m * C->n);
    return status;
}

/* ---- two sparse matrices ---- */

/* The result, in arrays that become the caller's; the kernel fills rowptr. */
struct sparse_result {
    tulle_array *C;
    int64_t *rowptr;
    int64_t capacity; /* entries that the arrays have place for */
};

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__csr_result *made)
{
    struct sparse_result *result = context;
    tulle_array *C = result->C;
    /* it may be called again, for more */
    tulle__free(result->rowptr);
    tulle__free(C->ind);
    tulle__free(C->val);
    result->rowptr = NULL;
    C->ind = C->val = NULL;
    result->capacity = nnz;
    TULLE_CALL(tulle__alloc((size_t)m + 1, sizeof *result->rowptr, "row pointers", &result->rowptr));
    TULLE_CALL(tulle__alloc((size_t)nnz, sizeof(tulle_lidx), "columns of C", &C->ind));
    TULLE_CALL(tulle__alloc((size_t)nnz, tulle_type_size(C->type), "values of C", &C->val));
    made->nnz = nnz;
    made->rowptr = result->rowptr;
    made->colind = C->ind;
    made->val = C->val;
    return TULLE_OK;
}

/* From a place with room for much more into arrays of their size. */
static tulle_status trim(void *context, int64_t m, int64_t nnz, tulle__csr_result *made)
{
    struct sparse_result *result = context;
    tulle_array *C = result->C;
    const size_t size = tulle_type_size(C->type);
    tulle_lidx *ind = NULL;
    char *val = NULL;
    tulle_status status;
    (void)m;
    if (result->capacity - nnz <= nnz / 8) return TULLE_OK;
    TULLE_TRY(tulle__alloc((size_t)nnz, sizeof *ind, "columns of C", &ind));
    TULLE_TRY(tulle__alloc((size_t)nnz, size, "values of C", &val));
    if (nnz) memcpy(ind, C->ind, (size_t)nnz * sizeof *ind);
    if (nnz) memcpy(val, C->val, (size_t)nnz * size);
    tulle__free(C->ind);
    tulle__free(C->val);
    made->colind = C->ind = ind;
    made->val = C->val = val;
    return TULLE_OK;
out:
    tulle__free(ind);
    tulle__free(val);
    return status;
}

/* The pointers of C in the asked width, which the kernel's are given up for. */
static tulle_status take_pointers(struct sparse_result *result)
{
    tulle_array *C = result->C;
    if (C->ptr_bytes == 8) {
        C->ptr = result->rowptr;
        result->rowptr = NULL;
        return TULLE_OK;
    }
    int32_t *narrow = NULL;
    TULLE_CALL(tulle__alloc((size_t)C->m + 1, sizeof *narrow, "pointers", &narrow));
    for (int64_t r = 0; r <= C->m; r++) narrow[r] = (int32_t)result->rowptr[r];
    C->ptr = narrow;
    C->ptr_bytes = 4;
    return TULLE_OK;
}

/* Multiplications of a product of checked matrices. */
static int64_t multiplications_of(const tulle__csr *A, const tulle__csr *B)
{
    int64_t count = 0;
    for (int64_t e = 0; e < A->rowptr[A->m]; e++) count += B->rowptr[A->colind[e] + 1] - B->rowptr[A->colind[e]];
    return count;
}

/* A copy of the pointers in 64 bits, if the rows are those of a tile: *rows with m rows, else with none. */
static tulle_status check_rows(const tulle_array *array, tulle__csr *rows, int64_t **made)
{
    tulle__unchecked_csr given;
    bool transposed;
    *rows = (tulle__csr){.m = 0};
    if (!rows_of(array, TULLE_OP_N, &given, &transposed) || transposed || given.ind_bytes != 4) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)given.m + 1, sizeof **made, "row pointers", made));
    int64_t *ptr = *made;
    for (int64_t r = 0; r <= given.m; r++)
        ptr[r] = given.ptr_bytes == 8 ? ((const int64_t *)given.ptr)[r] : ((const int32_t *)given.ptr)[r];
    for (int64_t r = 0; r < given.m; r++) /* the ends were checked: 0 and nnz */
        if (ptr[r + 1] < ptr[r]) return TULLE_OK;
    if (!tulle__rows_ascend(given.ind, ptr, given.m, given.n)) return TULLE_OK;
    *rows = (tulle__csr){.m = given.m, .n = given.n, .rowptr = ptr, .colind = given.ind, .val = given.val};
    return TULLE_OK;
}

/* Small: a plan would take longer. A product of more multiplications is made with one, in ranges if memory requires. */
enum { SMALL_ENTRIES = 1 << 14, SMALL_PRODUCT = 1 << 15 };

static tulle_status multiply_checked(
    tulle_comm *comm, double alpha, const tulle__csr *A, const tulle__csr *B, tulle_array *C)
{
    struct sparse_result result = {.C = C};
    tulle__context *context;
    tulle__csr_result made;
    tulle_status status;
    const tulle__spgemm_pair pair = {.A = *A, .B = *B, .scale = alpha};
    const tulle__spgemm_task task = {.type = C->type, .m = A->m, .n = B->n, .npairs = 1, .pair = &pair, .trim = trim};
    C->m = C->count = A->m;
    C->n = B->n;
    TULLE_TRY(tulle__context_get(comm, &context));
    TULLE_TRY(context->kernels->spgemm(NULL, &task, place, &result, &made));
    TULLE_TRY(take_pointers(&result));
    C->nnz = made.nnz;
    C->ind_bytes = sizeof(tulle_lidx);
    C->owned = true;
out:
    tulle__free(result.rowptr);
    if (status != TULLE_OK) {
        tulle__free(C->ptr);
        tulle__free(C->ind);
        tulle__free(C->val);
        C->ptr = C->ind = C->val = NULL;
    }
    return status;
}

static tulle_status multiply_sparse(tulle_comm *comm, double alpha, const tulle_array *A, const tulle_array *B,
    tulle_array *C, tulle_product_report *report, bool *done)
{
    tulle__csr a, b;
    TULLE__SCOPED int64_t *a_ptr = NULL, *b_ptr = NULL;
    if (A->nnz + A->m > SMALL_ENTRIES || B->nnz + B->m > SMALL_ENTRIES) return TULLE_OK;
    if (C->storage != TULLE_STORAGE_CSR || C->val || C->ind_bytes == 8) return TULLE_OK;
    const int64_t start = tulle__now(comm);
    TULLE_CALL(check_rows(A, &a, &a_ptr));
    b = a;
    if (a.m && A != B) TULLE_CALL(check_rows(B, &b, &b_ptr));
    if (!a.m || !b.m) return TULLE_OK;
    const int64_t multiplications = multiplications_of(&a, &b);
    if (!multiplications || multiplications > SMALL_PRODUCT) return TULLE_OK;
    *done = true;
    C->type = A->type;
    TULLE_CALL(multiply_checked(comm, alpha, &a, &b, C));
    if (report) *report = report_of(tulle__now(comm) - start, multiplications, C->nnz);
    return TULLE_OK;
}

bool tulle__multiply_direct(tulle_comm *comm, tulle_op op_a, tulle_op op_b, double alpha, const tulle_array *A,
    const tulle_array *B, double beta, tulle_array *C, const tulle_product_options *options,
    tulle_product_report *report, tulle_status *status)
{
    bool done = false;
    if (comm->size > 1 || tulle__is_virtual(comm) || tulle__is_shape_only(comm) || comm->pe->timeline) return false;
    if (alpha == 0 || !is_plain(options)) return false;
    if (tulle__array_check(A) != TULLE_OK || tulle__array_check(B) != TULLE_OK ||
        (C->val && tulle__array_check(C) != TULLE_OK))
        return false;
    if (A->storage == TULLE_STORAGE_DENSE)
        *status = multiply_two_dense(comm, op_a, op_b, alpha, A, B, beta, C, report, &done);
    else if (B->storage == TULLE_STORAGE_DENSE && A->storage == TULLE_STORAGE_COO)
        *status = multiply_entries_with_dense(comm, op_a, op_b, alpha, A, B, beta, C, report, &done);
    else if (B->storage == TULLE_STORAGE_DENSE)
        *status = multiply_with_dense(comm, op_a, op_b, alpha, A, B, beta, C, report, &done);
    else if (op_a == TULLE_OP_N && op_b == TULLE_OP_N)
        *status = multiply_sparse(comm, alpha, A, B, C, report, &done);
    *status = tulle_comm_agree(comm, *status);
    return done || *status != TULLE_OK;
}
