/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from the caller's arrays, borrowed where they lie as tiles do. */
#include <inttypes.h>
#include <string.h>

#include <tulle/array.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/array/array_parts.h"
#include "mat/row_ranges.h"

static tulle_status check_index_bytes(const char *what, int bytes)
{
    if (bytes == 4 || bytes == 8) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s have %d bytes: only 4 and 8 are supported", what, bytes);
}

tulle_status tulle__array_check(const tulle_array *a)
{
    if (TULLE__OUTSIDE(a->storage, TULLE_STORAGE_COO) || TULLE__OUTSIDE(a->type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(a->order, TULLE_COL_MAJOR) || TULLE__NEGATIVE(a->m) || TULLE__NEGATIVE(a->n) ||
        TULLE__NEGATIVE(a->nnz) || TULLE__NEGATIVE(a->first) || TULLE__NEGATIVE(a->count))
        return TULLE_ERR_ARG;
    const int by_columns = a->storage == TULLE_STORAGE_CSC;
    const tulle_gidx lines = by_columns ? a->n : a->m;
    if (a->storage != TULLE_STORAGE_COO && a->count > lines - a->first)
        return tulle__fail(TULLE_ERR_ARG, "%s %" PRId64 " to %" PRId64 " of a matrix of %" PRId64 " x %" PRId64,
            by_columns ? "columns" : "rows", a->first, a->first + a->count, a->m, a->n);
    if (a->storage == TULLE_STORAGE_DENSE) {
        const tulle_gidx line = a->order == TULLE_ROW_MAJOR ? a->n : a->count;
        const int empty = a->n == 0 || a->count == 0;
        if (a->ld < line && !empty)
            return tulle__fail(TULLE_ERR_ARG, "a leading dimension of %" PRId64 " for %s of %" PRId64, a->ld,
                a->order == TULLE_ROW_MAJOR ? "rows" : "columns", line);
        return empty || a->val ? TULLE_OK : tulle__fail(TULLE_ERR_ARG, "a dense array has no values: val is NULL");
    }
    tulle_status status = check_index_bytes("indices", a->ind_bytes);
    if (status == TULLE_OK && a->storage != TULLE_STORAGE_COO) {
        status = check_index_bytes("pointers", a->ptr_bytes);
        if (status == TULLE_OK && !a->ptr) status = tulle__fail(TULLE_ERR_ARG, "a sparse array has no pointers");
    }
    if (status == TULLE_OK && a->nnz && (!a->ind || (a->storage == TULLE_STORAGE_COO && !a->col)))
        status = tulle__fail(TULLE_ERR_ARG, "a sparse array of %" PRId64 " entries has no indices", a->nnz);
    return status;
}

tulle_status tulle__array_alike(tulle_comm *comm, const tulle_array *a)
{
    const int dense = a->storage == TULLE_STORAGE_DENSE;
    return tulle__agree_alike(comm, 5, (const int64_t[]){a->storage, a->type, a->m, a->n, dense ? a->order : 0},
        "storage, type, shape and order of a matrix");
}

tulle_status tulle__array_given(tulle_comm *comm, const tulle_array *a, int *given)
{
    int64_t some[2] = {a->val != NULL, !a->val && a->count > 0 && a->n > 0}; /* who passes one, and who does not */
    tulle_status status = tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MAX, 2, some));
    if (status == TULLE_OK && some[0] && some[1])
        status = tulle__fail(TULLE_ERR_ARG, "some PEs pass an array for the result, and others do not");
    *given = status == TULLE_OK && some[0];
    return status;
}

/* *widened: NULL, or a copy of 32-bit indices in 64 bits, which the caller frees. Returns the 64-bit array. */
static tulle_status widen(const void *from, int bytes, int64_t count, int64_t **widened, const int64_t **to)
{
    *widened = NULL;
    *to = from;
    if (bytes == 8) return TULLE_OK;
    tulle_status status = tulle__alloc((size_t)count, sizeof **widened, "indices of 64 bits", widened);
    for (int64_t i = 0; status == TULLE_OK && i < count; i++) (*widened)[i] = ((const int32_t *)from)[i];
    *to = *widened;
    return status;
}

static tulle_status from_compressed(tulle_comm *comm, const tulle_array *a, tulle_mat **A)
{
    int64_t *widened = NULL;
    const int64_t *ptr = NULL;
    tulle_status status = tulle_comm_agree(comm, widen(a->ptr, a->ptr_bytes, a->count + 1, &widened, &ptr));
    const tulle_csr_rows rows = {.first = a->first,
        .count = a->count,
        .rowptr = ptr,
        .colind = a->ind,
        .colind_bytes = a->ind_bytes,
        .val = a->val,
        .borrow = true};
    if (status == TULLE_OK)
        status = a->storage == TULLE_STORAGE_CSR ? tulle_mat_from_csr(comm, a->m, a->n, a->type, &rows, A)
                                                 : tulle_mat_from_csc(comm, a->m, a->n, a->type, &rows, A);
    if (status == TULLE_OK && (*A)->borrowed)
        (*A)->arrays.widened = widened;
    else
        tulle__free(widened);
    return status;
}

static tulle_status from_coo(tulle_comm *comm, const tulle_array *a, tulle_mat **A)
{
    int64_t *widened[2] = {NULL, NULL};
    const int64_t *row = NULL, *col = NULL;
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = a->m, .n = a->n, .grid_rows = comm->size, .grid_cols = 1};
    tulle_status status = widen(a->ind, a->ind_bytes, a->nnz, &widened[0], &row);
    if (status == TULLE_OK) status = widen(a->col, a->ind_bytes, a->nnz, &widened[1], &col);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, comm->size, &layout);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(comm, layout, a->type, a->nnz, row, col, a->val, TULLE_DUPLICATES_SUM, A);
    tulle_layout_free(layout);
    tulle__free(widened[0]);
    tulle__free(widened[1]);
    return status;
}

void tulle__array_copy_dense(const tulle_tile *from, const tulle_tile *to)
{
    const size_t size = tulle_type_size(from->type);
    const int by_row = to->order == TULLE_ROW_MAJOR;
    const tulle_gidx lines = by_row ? to->m : to->n, length = by_row ? to->n : to->m;
    /* distances within `from` of an element from the next line's, and from the next of its line */
    const int64_t step = from->order == to->order ? from->ld : 1, next = from->order == to->order ? 1 : from->ld;
    for (tulle_gidx l = 0; l < lines; l++) {
        const char *source = (const char *)from->val + (size_t)(l * step) * size;
        char *target = (char *)(uintptr_t)to->val + (size_t)(l * to->ld) * size;
        if (next == 1)
            memcpy(target, source, (size_t)length * size);
        else if (size == sizeof(double))
            for (tulle_gidx e = 0; e < length; e++) ((double *)target)[e] = ((const double *)source)[e * next];
        else
            for (tulle_gidx e = 0; e < length; e++) ((float *)target)[e] = ((const float *)source)[e * next];
    }
}

tulle_tile tulle__array_tile(const tulle_array *a)
{
    return (tulle_tile){.kind = TULLE_DENSE,
        .type = a->type,
        .order = a->order,
        .m = a->count,
        .n = a->n,
        .ld = a->ld,
        .nnz = a->count * a->n,
        .val = a->val};
}

static tulle_status from_dense(tulle_comm *comm, const tulle_array *a, tulle_mat **A)
{
    tulle_layout *layout = NULL;
    tulle_mat *made = NULL;
    const tulle_tile given = tulle__array_tile(a);
    tulle_status status =
        tulle_comm_agree(comm, tulle__layout_of_ranges(comm, a->m, a->n, a->first, a->count, &layout));
    if (status == TULLE_OK && comm->size == 1) {
        status = tulle__mat_borrow(comm, layout, &given, A);
    } else if (status == TULLE_OK) {
        status = tulle_mat_new_dense_undefined(comm, layout, a->type, a->order, &made);
        if (status == TULLE_OK && given.nnz) {
            const tulle_tile own = tulle__tile_in_place(made, comm->rank, 0);
            tulle__array_copy_dense(&given, &own);
        }
        if (status == TULLE_OK) *A = made;
    }
    tulle_layout_free(layout);
    return status;
}

tulle_status tulle_mat_from_array(tulle_comm *comm, const tulle_array *array, tulle_mat **A)
{
    tulle_array own;
    if (TULLE__NULL(comm) || TULLE__NULL(array) || TULLE__OPTIONS(array, &own, held) || TULLE__NULL(A))
        return tulle__refuse(comm);
    tulle_status status = tulle_comm_agree(comm, tulle__array_check(array));
    if (status == TULLE_OK) status = tulle__array_alike(comm, array);
    if (status != TULLE_OK) return status;
    if (array->storage == TULLE_STORAGE_DENSE) return from_dense(comm, array, A);
    return array->storage == TULLE_STORAGE_COO ? from_coo(comm, array, A) : from_compressed(comm, array, A);
}
