/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from the caller's arrays, borrowed where they lie as tiles do. */
#include <inttypes.h>
#include <string.h>

#include <tulle/array.h>

#include "base/arg.h"
#include "base/attend.h"
#include "base/error.h"
#include "mat/array/array_parts.h"
#include "mat/row_ranges.h"
#include "tile/element.h"

static tulle_status check_index_bytes(const char *what, int bytes)
{
    if (bytes == 4 || bytes == 8) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s have %d bytes: only 4 and 8 are supported", what, bytes);
}

static int64_t index_at(const void *array, int bytes, int64_t at)
{
    return bytes == 8 ? ((const int64_t *)array)[at] : ((const int32_t *)array)[at];
}

/* An index that counts from `base`, from 0; the least number, which is no index, stays. */
static int64_t from_zero(int64_t index, int base)
{
    return index == INT64_MIN ? index : index - base;
}

int64_t tulle__array_entries_here(const tulle_array *a)
{
    const int64_t nnz = a->nnz > 0 ? a->nnz : 0;
    if (a->storage == TULLE_STORAGE_COO || a->base != 1 || !a->ptr || a->count < 0) return nnz;
    if (a->ptr_bytes != 4 && a->ptr_bytes != 8) return nnz;
    const int64_t end = index_at(a->ptr, a->ptr_bytes, a->count);
    return end == nnz && nnz ? nnz - 1 : nnz; /* the macros take nnz from the last pointer, before base is set */
}

/* The ends of the pointers; between them they ascend, which is checked where they are read. */
static tulle_status check_pointers(const tulle_array *a)
{
    if (!a->ptr) return tulle__fail(TULLE_ERR_ARG, "a sparse array has no pointers");
    const int64_t begin = index_at(a->ptr, a->ptr_bytes, 0), end = index_at(a->ptr, a->ptr_bytes, a->count);
    if (begin == 1 && a->base == 0)
        return tulle__fail(
            TULLE_ERR_ARG, "pointers begin at 1: set base = 1 if pointers and indices count from 1, as in Fortran");
    if (begin != a->base)
        return tulle__fail(TULLE_ERR_ARG, "pointers begin at %" PRId64 ", not at the base of %d", begin, a->base);
    if (end < begin) return tulle__fail(TULLE_ERR_ARG, "pointers descend, from %" PRId64 " to %" PRId64, begin, end);
    if (end - begin != tulle__array_entries_here(a))
        return tulle__fail(TULLE_ERR_ARG, "nnz is %" PRId64 ", but by its pointers the matrix has %" PRId64 " entries",
            a->nnz, end - begin);
    return TULLE_OK;
}

/* Numbers that only a half of a matrix has, and the base of sparse ones. */
static tulle_status check_form(const tulle_array *a)
{
    if (TULLE__OUTSIDE(a->base, 1) || TULLE__OUTSIDE(a->symmetry, TULLE_SKEW) || TULLE__OUTSIDE(a->uplo, TULLE_UPPER))
        return TULLE_ERR_ARG;
    if (a->symmetry == TULLE_GENERAL) return TULLE_OK;
    if (a->storage == TULLE_STORAGE_DENSE)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "half of a dense matrix: pass all of it, with symmetry 0");
    return a->m == a->n ? TULLE_OK
                        : tulle__fail(TULLE_ERR_ARG, "half of a matrix of %" PRId64 " x %" PRId64 ": it is not square",
                              a->m, a->n);
}

tulle_status tulle__array_check(const tulle_array *a)
{
    static const int64_t bytes_most = INT64_MAX / 4;
    if (TULLE__OUTSIDE(a->storage, TULLE_STORAGE_COO) || TULLE__OUTSIDE(a->type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(a->order, TULLE_COL_MAJOR) || TULLE__NEGATIVE(a->m) || TULLE__NEGATIVE(a->n) ||
        TULLE__NEGATIVE(a->nnz) || TULLE__NEGATIVE(a->first) || TULLE__NEGATIVE(a->count))
        return TULLE_ERR_ARG;
    TULLE_CALL(check_form(a));
    if (a->nnz > bytes_most / (int64_t)sizeof(double))
        return tulle__fail(TULLE_ERR_OVERFLOW, "a sparse array of %" PRId64 " entries", a->nnz);
    const int by_columns = a->storage == TULLE_STORAGE_CSC;
    const tulle_gidx lines = by_columns ? a->n : a->m;
    if (a->storage != TULLE_STORAGE_COO && a->count > lines - a->first)
        return tulle__fail(TULLE_ERR_ARG, "%s %" PRId64 " to %" PRId64 " of a matrix of %" PRId64 " x %" PRId64,
            by_columns ? "columns" : "rows", a->first,
            a->first > INT64_MAX - a->count ? INT64_MAX : a->first + a->count, a->m, a->n);
    if (a->storage == TULLE_STORAGE_DENSE) {
        const tulle_gidx line = a->order == TULLE_ROW_MAJOR ? a->n : a->count;
        const int empty = a->n == 0 || a->count == 0;
        if (!empty && a->ld > bytes_most / (int64_t)sizeof(double) / (a->order == TULLE_ROW_MAJOR ? a->count : a->n))
            return tulle__fail(TULLE_ERR_OVERFLOW,
                "a leading dimension of %" PRId64 " for a matrix of %" PRId64 " x %" PRId64, a->ld, a->m, a->n);
        if (a->ld < line && !empty)
            return tulle__fail(TULLE_ERR_ARG, "a leading dimension of %" PRId64 " for %s of %" PRId64, a->ld,
                a->order == TULLE_ROW_MAJOR ? "rows" : "columns", line);
        return empty || a->val ? TULLE_OK : tulle__fail(TULLE_ERR_ARG, "a dense array has no values: val is NULL");
    }
    TULLE_CALL(check_index_bytes("indices", a->ind_bytes));
    if (a->storage != TULLE_STORAGE_COO) TULLE_CALL(check_index_bytes("pointers", a->ptr_bytes));
    if (a->nnz && (!a->ind || (a->storage == TULLE_STORAGE_COO && !a->col)))
        return tulle__fail(TULLE_ERR_ARG, "a sparse array of %" PRId64 " entries has no indices", a->nnz);
    if (a->storage != TULLE_STORAGE_COO) TULLE_CALL(check_pointers(a));
    return TULLE_OK;
}

/* Collective: whether storage, type, shape and order are the same on all PEs. */
static tulle_status array_alike(tulle_comm *comm, const tulle_array *a)
{
    const int dense = a->storage == TULLE_STORAGE_DENSE;
    return tulle__agree_alike(comm, 6,
        (const int64_t[]){a->storage, a->type, a->m, a->n, dense ? a->order : 0, a->symmetry},
        "storage, type, shape, order and symmetry of a matrix");
}

tulle_status tulle__array_given(tulle_comm *comm, const tulle_array *a, int *given)
{
    int64_t some[2] = {a->val != NULL, !a->val && a->count > 0 && a->n > 0}; /* who passes one, and who does not */
    *given = 0;
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MAX, 2, some)));
    if (some[0] && some[1])
        return tulle__fail(TULLE_ERR_ARG, "some PEs pass an array for the result, and others do not");
    *given = some[0] != 0;
    return TULLE_OK;
}

/* *made: NULL, or a copy in 64 bits, from 0, which the caller frees, also after a failure. Returns such an array. */
static tulle_status widen(
    const tulle_array *a, const void *from, int bytes, int64_t count, int64_t **made, const int64_t **to)
{
    *to = from;
    if (bytes == 8 && !a->base) return TULLE_OK;
    enum { AT_ONCE = 1 << 16 };
    TULLE_CALL(tulle__alloc((size_t)count, sizeof **made, "indices of 64 bits", made));
    *to = *made;
    for (int64_t i = 0, end; i < count; i = end) {
        end = count - i < AT_ONCE ? count : i + AT_ONCE;
        for (int64_t j = i; j < end; j++) (*made)[j] = from_zero(index_at(from, bytes, j), a->base);
        TULLE_CALL(tulle__attend());
    }
    return TULLE_OK;
}

/* Pointers of compressed storage, and indices that do not count from 0. */
static tulle_status widen_compressed(const tulle_array *a, int64_t *made[2], const int64_t **ptr, const int64_t **ind)
{
    TULLE_CALL(widen(a, a->ptr, a->ptr_bytes, a->count + 1, &made[0], ptr));
    return a->base ? widen(a, a->ind, a->ind_bytes, (*ptr)[a->count], &made[1], ind) : TULLE_OK;
}

static tulle_status widen_coordinates(const tulle_array *a, int64_t *made[2], const int64_t **row, const int64_t **col)
{
    TULLE_CALL(widen(a, a->ind, a->ind_bytes, a->nnz, &made[0], row));
    return widen(a, a->col, a->ind_bytes, a->nnz, &made[1], col);
}

/* made: the arrays that widen made; those that the matrix has become NULL. */
static tulle_status from_widened(tulle_comm *comm, const tulle_array *a, int64_t *made[2], tulle_mat **A)
{
    const int64_t *ptr = NULL, *ind = a->ind;
    TULLE_CALL(tulle_comm_agree(comm, widen_compressed(a, made, &ptr, &ind)));
    const tulle_csr_rows rows = {.first = a->first,
        .count = a->count,
        .rowptr = ptr,
        .colind = ind,
        .colind_bytes = a->base ? 8 : a->ind_bytes, /* those of 64 bits are narrowed in a copy */
        .val = a->val,
        .borrow = true};
    TULLE_CALL(a->storage == TULLE_STORAGE_CSR ? tulle_mat_from_csr(comm, a->m, a->n, a->type, &rows, A)
                                               : tulle_mat_from_csc(comm, a->m, a->n, a->type, &rows, A));
    if (!(*A)->borrowed) return TULLE_OK;
    (*A)->arrays.widened = made[0];
    made[0] = NULL;
    return TULLE_OK;
}

static tulle_status from_compressed(tulle_comm *comm, const tulle_array *a, tulle_mat **A)
{
    int64_t *made[2] = {NULL, NULL};
    const tulle_status status = from_widened(comm, a, made, A);
    tulle__free(made[0]);
    tulle__free(made[1]);
    return status;
}

/* A matrix from any entries, in even numbers of rows. Takes the status of what came before on this PE. */
static tulle_status from_entries(tulle_comm *comm, const tulle_array *a, tulle_status status, int64_t count,
    const int64_t *row, const int64_t *col, const void *val, tulle_mat **A)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = a->m, .n = a->n, .grid_rows = comm->size, .grid_cols = 1};
    if (status == TULLE_OK) status = tulle_layout_new(&spec, comm->size, &layout);
    TULLE_CALL(tulle_comm_agree(comm, status));
    return tulle_mat_from_entries(comm, layout, a->type, count, row, col, val, TULLE_DUPLICATES_SUM, A);
}

static tulle_status from_coo(tulle_comm *comm, const tulle_array *a, tulle_mat **A)
{
    int64_t *made[2] = {NULL, NULL};
    const int64_t *row = NULL, *col = NULL;
    const tulle_status widened = widen_coordinates(a, made, &row, &col);
    const tulle_status status = from_entries(comm, a, widened, a->nnz, row, col, a->val, A);
    tulle__free(made[0]);
    tulle__free(made[1]);
    return status;
}

/* Entries of a whole matrix, made of its half. */
struct expanded {
    int64_t count;
    int64_t *row, *col;
    void *val;
};

static double half_value(const tulle_array *a, int64_t e)
{
    if (!a->val) return 1;
    return tulle__element(a->type, a->val, e);
}

static void add_entry(struct expanded *x, tulle_type type, int64_t row, int64_t col, double value)
{
    x->row[x->count] = row;
    x->col[x->count] = col;
    tulle__element_set(type, x->val, x->count++, value);
}

/* An entry of the stored triangle, and its image. */
static tulle_status expand_entry(const tulle_array *a, int64_t e, int64_t row, int64_t col, struct expanded *x)
{
    const double value = half_value(a, e);
    if (a->uplo == TULLE_LOWER ? col > row : col < row)
        return tulle__fail(TULLE_ERR_ARG,
            "entry (" TULLE__AT ", " TULLE__AT
            ") lies %s the diagonal, but uplo says that the %s triangle is passed" TULLE__COUNTED,
            row, col, col > row ? "above" : "below", a->uplo == TULLE_LOWER ? "lower" : "upper");
    if (a->symmetry == TULLE_SKEW && row == col && value != 0)
        return tulle__fail(TULLE_ERR_ARG,
            "entry (" TULLE__AT ", " TULLE__AT ") is %g: the diagonal of an antisymmetric matrix is 0" TULLE__COUNTED,
            row, col, value);
    add_entry(x, a->type, row, col, value);
    if (row != col) add_entry(x, a->type, col, row, a->symmetry == TULLE_SKEW ? -value : value);
    return TULLE_OK;
}

static tulle_status expand(const tulle_array *a, struct expanded *x)
{
    int64_t passed = 0;
    const int64_t nnz = tulle__array_entries_here(a);
    TULLE_CALL(tulle__alloc((size_t)nnz, 2 * sizeof *x->row, "rows of a whole matrix", &x->row));
    TULLE_CALL(tulle__alloc((size_t)nnz, 2 * sizeof *x->col, "columns of a whole matrix", &x->col));
    TULLE_CALL(tulle__alloc((size_t)nnz, 2 * tulle_type_size(a->type), "values of a whole matrix", &x->val));
    if (a->storage == TULLE_STORAGE_COO) {
        for (int64_t e = 0; e < nnz; e++) {
            TULLE_CALL(tulle__attend_each(1 << 16, &passed));
            TULLE_CALL(expand_entry(a, e, from_zero(index_at(a->ind, a->ind_bytes, e), a->base),
                from_zero(index_at(a->col, a->ind_bytes, e), a->base), x));
        }
        return TULLE_OK;
    }
    for (int64_t l = 0, e = 0; l < a->count; l++) {
        const int64_t end = from_zero(index_at(a->ptr, a->ptr_bytes, l + 1), a->base), line = a->first + l;
        if (end < e || end > nnz) {
            return tulle__fail(TULLE_ERR_ARG, "the row pointers descend at row " TULLE__AT TULLE__COUNTED, line);
        }
        for (; e < end; e++) {
            const int64_t other = from_zero(index_at(a->ind, a->ind_bytes, e), a->base);
            const int by_row = a->storage == TULLE_STORAGE_CSR;
            TULLE_CALL(tulle__attend_each(1 << 16, &passed));
            TULLE_CALL(expand_entry(a, e, by_row ? line : other, by_row ? other : line, x));
        }
    }
    return TULLE_OK;
}

/* All lines must come from some PE, as those of a whole matrix. Collective, agreed. */
static tulle_status check_lines(tulle_comm *comm, const tulle_array *a)
{
    TULLE__SCOPED_LAYOUT tulle_layout *parts = NULL;
    if (a->storage == TULLE_STORAGE_COO) return TULLE_OK;
    return tulle_comm_agree(comm, tulle__layout_of_ranges(comm, a->storage == TULLE_STORAGE_CSC ? "columns" : "rows",
                                      a->m, a->n, a->first, a->count, &parts));
}

static tulle_status from_half(tulle_comm *comm, const tulle_array *a, tulle_mat **A)
{
    struct expanded x = {.count = 0};
    TULLE_CALL(check_lines(comm, a));
    const tulle_status expanded = expand(a, &x);
    const tulle_status made = from_entries(comm, a, expanded, x.count, x.row, x.col, x.val, A);
    tulle__free(x.row);
    tulle__free(x.col);
    tulle__free(x.val);
    return made;
}

void tulle__array_copy_dense(const tulle_tile *from, const tulle_tile *to)
{
    const size_t size = tulle_type_size(from->type);
    const int by_row = to->order == TULLE_ROW_MAJOR;
    const tulle_gidx lines = by_row ? to->m : to->n, length = by_row ? to->n : to->m;
    int64_t passed = 0;
    /* distances within `from` of an element from the next line's, and from the next of its line */
    const int64_t step = from->order == to->order ? from->ld : 1, next = from->order == to->order ? 1 : from->ld;
    for (tulle_gidx l = 0; l < lines; l++) {
        (void)tulle__attend_each(64, &passed); /* an interruption is met by the operation */
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
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_mat *made = NULL;
    const tulle_tile given = tulle__array_tile(a);
    TULLE_CALL(tulle_comm_agree(comm, tulle__layout_of_ranges(comm, "rows", a->m, a->n, a->first, a->count, &layout)));
    if (comm->size == 1) return tulle__mat_borrow(comm, layout, &given, A);
    TULLE_CALL(tulle_mat_new_dense_undefined(comm, layout, a->type, a->order, &made));
    if (given.nnz) {
        const tulle_tile own = tulle__tile_in_place(made, comm->rank, 0);
        tulle__array_copy_dense(&given, &own);
    }
    *A = made;
    return TULLE_OK;
}

tulle_status tulle_mat_from_array(tulle_comm *comm, const tulle_array *array, tulle_mat **A)
{
    tulle_array own;
    if (TULLE__NULL(comm) || TULLE__NULL(array) || TULLE__OPTIONS(array, &own, uplo) || TULLE__NULL(A))
        return tulle__refuse(comm);
    TULLE__ENTER(comm);
    TULLE_CALL(tulle_comm_agree(comm, tulle__array_check(array)));
    TULLE_CALL(array_alike(comm, array));
    if (array->storage == TULLE_STORAGE_DENSE) return from_dense(comm, array, A);
    if (array->symmetry != TULLE_GENERAL) return from_half(comm, array, A);
    return array->storage == TULLE_STORAGE_COO ? from_coo(comm, array, A) : from_compressed(comm, array, A);
}
