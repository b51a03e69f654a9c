/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices into arrays of the caller's, or arrays that the caller frees. */
#include <inttypes.h>
#include <string.h>

#include "base/arg.h"
#include "base/attend.h"
#include "base/error.h"
#include "mat/array/array_parts.h"
#include "mat/array/array_result.h"
#include "mat/axis.h"
#include "mat/overlap.h"
#include "mat/row_ranges.h"
#include "tile/element.h"

static tulle_status check_wish(const tulle_mat *A, int root, const tulle_array *out)
{
    if (TULLE__OUTSIDE(out->storage, TULLE_STORAGE_COO) || TULLE__OUTSIDE(out->order, TULLE_COL_MAJOR))
        return TULLE_ERR_ARG;
    if (root != TULLE_AUTO && (root < 0 || root >= A->comm->size))
        return tulle__fail(TULLE_ERR_ARG, "there is no PE %d to receive a matrix", root);
    if ((out->ptr_bytes && out->ptr_bytes != 4 && out->ptr_bytes != 8) ||
        (out->ind_bytes && out->ind_bytes != 4 && out->ind_bytes != 8))
        return tulle__fail(TULLE_ERR_ARG, "pointers of %d and indices of %d bytes: 0, 4 and 8 are supported",
            out->ptr_bytes, out->ind_bytes);
    if (!out->val) return TULLE_OK;
    const tulle_gidx m = A->layout->m, n = A->layout->n;
    if (out->type != A->type)
        return tulle__fail(TULLE_ERR_ARG, "the caller's array is of %s, the matrix of %s", tulle_type_name(out->type),
            tulle_type_name(A->type));
    if (out->m != m || out->n != n)
        return tulle__fail(TULLE_ERR_ARG,
            "the caller's array is %" PRId64 " x %" PRId64 ", the matrix %" PRId64 " x %" PRId64, out->m, out->n, m, n);
    return tulle__array_check(out);
}

/* The layout that puts on each PE what it receives. by_columns: A is the transpose of what is asked for. */
static tulle_status receiving_layout(const tulle_mat *A, int root, const tulle_array *out, tulle_layout **layout)
{
    const int npes = A->comm->size;
    int64_t rows = out->count;
    tulle_layout_spec spec = {.m = A->layout->m, .n = A->layout->n, .grid_rows = npes, .grid_cols = 1};
    if (root != TULLE_AUTO) {
        spec.tile_rows = spec.tile_cols = 1;
        spec.owner = &root;
        return tulle_layout_new(&spec, npes, layout);
    }
    TULLE_CALL(tulle_comm_reduce_int(A->comm, TULLE_SUM, 1, &rows));
    if (rows == spec.m || (out->storage == TULLE_STORAGE_DENSE && out->val))
        return tulle__layout_of_ranges(A->comm, "rows", spec.m, spec.n, out->first, out->count, layout);
    return tulle_layout_new(&spec, npes, layout);
}

/* Bytes of an index: as asked, or the fewest that hold `most`. 0: it does not fit. */
static int index_bytes(int asked, int64_t most)
{
    const int fits = most <= INT32_MAX;
    return asked ? (asked == 8 || fits ? asked : 0) : (fits ? 4 : 8);
}

static void set_index(void *array, int bytes, int64_t at, int64_t value)
{
    if (bytes == 4)
        ((int32_t *)array)[at] = (int32_t)value;
    else
        ((int64_t *)array)[at] = value;
}

static int64_t row_begin(const tulle_tile *tile, tulle_gidx r)
{
    return tile->rowptr ? tile->rowptr[r] : 0;
}

static int64_t count_entries(const tulle_tile *tile)
{
    if (tile->kind == TULLE_CSR) return tile->nnz;
    int64_t count = 0;
    for (tulle_gidx r = 0; r < tile->m; r++)
        for (tulle_gidx c = 0; c < tile->n; c++) count += tulle__dense_element(tile, r, c) != 0;
    return count;
}

/* Allocates ptr (CSR, CSC) in the asked width. */
static tulle_status make_pointers(tulle_array *out)
{
    out->ptr_bytes = index_bytes(out->ptr_bytes, out->nnz);
    if (!out->ptr_bytes)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%" PRId64 " entries do not fit 32-bit pointers", out->nnz);
    return tulle__alloc((size_t)out->count + 1, (size_t)out->ptr_bytes, "pointers", &out->ptr);
}

static tulle_status make_sparse_arrays(tulle_array *out)
{
    const int64_t most = out->m > out->n ? out->m : out->n;
    out->ind_bytes = index_bytes(out->ind_bytes, most);
    if (!out->ind_bytes) return tulle__fail(TULLE_ERR_OVERFLOW, "indices up to %" PRId64 " do not fit 32 bits", most);
    if (out->storage == TULLE_STORAGE_COO) {
        TULLE_CALL(tulle__alloc((size_t)out->nnz, (size_t)out->ind_bytes, "row indices", &out->ind));
        TULLE_CALL(tulle__alloc((size_t)out->nnz, (size_t)out->ind_bytes, "column indices", &out->col));
    } else {
        TULLE_CALL(make_pointers(out));
        TULLE_CALL(tulle__alloc((size_t)out->nnz, (size_t)out->ind_bytes, "indices", &out->ind));
    }
    return tulle__alloc((size_t)out->nnz, tulle_type_size(out->type), "values", &out->val);
}

static void add_entry(tulle_array *out, int64_t e, tulle_gidx row, tulle_gidx col, double value)
{
    const int coo = out->storage == TULLE_STORAGE_COO;
    set_index(out->ind, out->ind_bytes, e, coo ? out->first + row : col);
    if (coo) set_index(out->col, out->ind_bytes, e, col);
    tulle__element_set(out->type, out->val, e, value);
}

static void add_dense_row(const tulle_tile *tile, tulle_gidx r, tulle_array *out, int64_t *e)
{
    if (out->ptr) set_index(out->ptr, out->ptr_bytes, r, *e);
    for (tulle_gidx c = 0; c < tile->n; c++) {
        const double value = tulle__dense_element(tile, r, c);
        if (value != 0) add_entry(out, (*e)++, r, c, value);
    }
}

/* Columns and values of entries from .. to - 1, as they lie in the tile. */
static void copy_entries(const tulle_tile *tile, tulle_array *out, int64_t from, int64_t to)
{
    void *columns = out->storage == TULLE_STORAGE_COO ? out->col : out->ind;
    const size_t count = (size_t)(to - from), size = tulle_type_size(tile->type);
    if (!count) return;
    if (out->ind_bytes == sizeof *tile->colind)
        memcpy((tulle_lidx *)columns + from, tile->colind + from, count * sizeof *tile->colind);
    else
        for (int64_t e = from; e < to; e++) set_index(columns, out->ind_bytes, e, tile->colind[e]);
    if (out->type == tile->type)
        memcpy((char *)out->val + (size_t)from * size, (const char *)tile->val + (size_t)from * size, count * size);
    else
        for (int64_t e = from; e < to; e++) tulle__element_set(out->type, out->val, e, tulle__tile_element(tile, e));
}

static void add_sparse_rows(const tulle_tile *tile, tulle_gidx from, tulle_gidx to, tulle_array *out)
{
    for (tulle_gidx r = from; out->ptr && r < to; r++) set_index(out->ptr, out->ptr_bytes, r, row_begin(tile, r));
    for (tulle_gidx r = from; out->storage == TULLE_STORAGE_COO && r < to; r++)
        for (int64_t e = row_begin(tile, r); e < row_begin(tile, r + 1); e++)
            set_index(out->ind, out->ind_bytes, e, out->first + r);
    copy_entries(tile, out, row_begin(tile, from), row_begin(tile, to));
}

static tulle_status fill_sparse(const tulle_tile *tile, tulle_array *out)
{
    enum { TOGETHER = 64 }; /* rows */
    int64_t e = 0;
    out->nnz = count_entries(tile);
    TULLE_CALL(make_sparse_arrays(out));
    for (tulle_gidx r = 0, next; r < tile->m; r = next) {
        next = r + TOGETHER < tile->m ? r + TOGETHER : tile->m;
        if (tile->kind != TULLE_DENSE) add_sparse_rows(tile, r, next, out);
        for (tulle_gidx line = r; tile->kind == TULLE_DENSE && line < next; line++) add_dense_row(tile, line, out, &e);
        if (next - r == TOGETHER) TULLE_CALL(tulle__attend());
    }
    if (out->ptr) set_index(out->ptr, out->ptr_bytes, out->count, out->nnz);
    return TULLE_OK;
}

static tulle_status fill_dense(const tulle_tile *tile, tulle_array *out)
{
    int64_t passed = 0;
    out->nnz = 0;
    if (!out->val) {
        size_t size = tulle_type_size(out->type), count;
        out->ld = out->order == TULLE_ROW_MAJOR ? out->n : out->count;
        if (__builtin_mul_overflow((size_t)out->count, (size_t)out->n, &count))
            return tulle__fail(TULLE_ERR_OVERFLOW, "a dense array of %" PRId64 " x %" PRId64, out->count, out->n);
        TULLE_CALL(tulle__alloc(count, size, "a dense array", &out->val));
    }
    const tulle_tile to = tulle__array_tile(out);
    if (tile->kind == TULLE_DENSE) {
        if (to.nnz) tulle__array_copy_dense(tile, &to);
        return TULLE_OK;
    }
    const int by_row = out->order == TULLE_ROW_MAJOR;
    for (tulle_gidx l = 0; l < (by_row ? to.m : to.n); l++)
        memset((char *)out->val + (size_t)(l * out->ld) * tulle_type_size(out->type), 0,
            (size_t)(by_row ? to.n : to.m) * tulle_type_size(out->type));
    for (tulle_gidx r = 0; r < tile->m; r++) {
        TULLE_CALL(tulle__attend_each(64, &passed));
        for (int64_t e = row_begin(tile, r); e < row_begin(tile, r + 1); e++) {
            const int64_t at = by_row ? r * out->ld + tile->colind[e] : (int64_t)tile->colind[e] * out->ld + r;
            tulle__element_set(out->type, out->val, at, tulle__tile_element(tile, e));
        }
    }
    return TULLE_OK;
}

static int64_t get_index(const void *array, int bytes, int64_t e)
{
    return bytes == 4 ? ((const int32_t *)array)[e] : ((const int64_t *)array)[e];
}

/* Coordinates that are positions, rows from out->first, become those of the stored lines. */
static void number_entries(const tulle_gidx *rows, const tulle_gidx *cols, tulle_array *out)
{
    for (int64_t e = 0; e < out->nnz; e++) {
        set_index(out->ind, out->ind_bytes, e, rows[get_index(out->ind, out->ind_bytes, e) - out->first]);
        set_index(out->col, out->ind_bytes, e, cols[get_index(out->col, out->ind_bytes, e)]);
    }
}

/* Fills `out` from this PE's only tile, (i, 0), if it has one. */
static tulle_status receive(const tulle_mat *A, int root, tulle_array *out)
{
    const int i = root == TULLE_AUTO ? A->comm->rank : 0;
    const int mine = tulle__tile_is_mine(A, i, 0);
    const tulle__compressed *c = A->compressed;
    const tulle_mat *X = c ? c->inner : A;
    tulle_tile tile = {.kind = A->kind, .type = A->type, .n = A->layout->n};
    if (mine) tile = tulle__tile_in_place(X, i, 0);
    out->first = mine ? A->layout->row_cut[i] : 0;
    out->count = mine ? tulle__tile_rows(A, i) : 0;
    if (out->storage == TULLE_STORAGE_DENSE) return fill_dense(&tile, out);
    TULLE_CALL(fill_sparse(&tile, out));
    if (c && mine) number_entries(c->rows.number + X->layout->row_cut[i], c->cols.number, out);
    return TULLE_OK;
}

/* Rows ascend; all of them are there, unless entries with their rows are asked for. Collective, agreed. */
static tulle_status order_for(const tulle_array *out, const tulle_mat *A)
{
    return tulle__mat_order(A->compressed && out->storage == TULLE_STORAGE_COO ? A->compressed->inner : A);
}

static void replace(const tulle_mat **at, tulle_mat **made, tulle_mat *next)
{
    tulle_mat_free(*made);
    *at = *made = next;
}

/*
 * A, or its transpose if columns are asked for, in the layout in which PEs receive it; *made: to be freed, also after a
 * failure. Collective, agreed.
 */
static tulle_status bring(const tulle_mat *A, int root, const tulle_array *out, const tulle_mat **at, tulle_mat **made)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_mat *next = NULL;
    *at = A;
    TULLE_CALL(order_for(out, A));
    if (A->format->in_blocks) {
        TULLE_CALL(tulle_mat_to_csr(A, false, &next));
        replace(at, made, next);
    }
    if (out->storage == TULLE_STORAGE_CSC) {
        TULLE_CALL(tulle_mat_transpose(*at, &next));
        replace(at, made, next);
    }
    TULLE_CALL(tulle_comm_agree(A->comm, receiving_layout(*at, root, out, &layout)));
    if (tulle__layout_equal((*at)->layout, layout)) return TULLE_OK;
    TULLE_CALL(tulle_mat_redistribute(*at, layout, &next));
    replace(at, made, next);
    return TULLE_OK;
}

static tulle_status bring_and_receive(const tulle_mat *A, int root, tulle_array *own)
{
    const tulle_mat *at = NULL;
    TULLE__SCOPED_MAT tulle_mat *made = NULL;
    TULLE_CALL(bring(A, root, own, &at, &made));
    return tulle_comm_agree(A->comm, receive(at, root, own));
}

/* As tulle_mat_to_array, into a result that has begun. */
static tulle_status fill(const tulle_mat *A, int root, tulle_array *own)
{
    TULLE_CALL(tulle__agree_alike(A->comm, 3,
        (const int64_t[]){root, own->storage, own->storage == TULLE_STORAGE_DENSE ? own->order : 0},
        "the root, storage and order of a result"));
    const tulle_array asked = *own;
    own->type = A->type;
    own->m = A->layout->m;
    own->n = A->layout->n;
    if (!own->val) own->owned = true;
    own->held = NULL;
    own->base = 0;
    own->symmetry = TULLE_GENERAL;
    own->uplo = TULLE_LOWER;
    const tulle_status status = bring_and_receive(A, root, own);
    if (status != TULLE_OK) {
        if (!asked.val) tulle_array_free(own);
        *own = asked;
    }
    return status;
}

/* The caller's arrays that A borrows, as an input of the call that writes A out. */
static tulle_status check_source(const tulle_mat *A, const tulle_array *out)
{
    tulle__window x[TULLE__WINDOWS], y[TULLE__WINDOWS];
    if (!tulle__window_lists_overlap(x, tulle__mat_windows(A, x), y, tulle__array_windows(out, y))) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "the result and the matrix, which borrows its arrays, have memory in common");
}

static tulle_status begin(const tulle_mat *A, int root, tulle__array_result *result)
{
    TULLE_CALL(check_source(A, &result->array));
    TULLE_CALL(tulle__array_result_begin(result, 0, NULL, 0));
    return check_wish(A, root, &result->array);
}

tulle_status tulle_mat_to_array(const tulle_mat *A, int root, tulle_array *out)
{
    tulle__array_result result = {.given = out, .name = "the result"};
    const tulle_array *given = out;
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__NULL(out) || TULLE__OPTIONS(given, &result.array, uplo)) return tulle__refuse(A->comm);
    TULLE__ENTER(A->comm);
    TULLE_CALL(tulle_comm_agree(A->comm, begin(A, root, &result)));
    TULLE_CALL(fill(A, root, &result.array));
    tulle__array_result_end(&result);
    return TULLE_OK;
}

/* True if the only tile's arrays are what is asked for. */
static int can_hold(const tulle_mat *A, const tulle_array *out)
{
    if (!tulle__team_can_hold(A->comm->pe) || A->borrowed || A->layout->mt != 1 || A->layout->nt != 1 || out->val ||
        !A->nnz)
        return 0;
    if (A->kind == TULLE_DENSE) return out->storage == TULLE_STORAGE_DENSE && A->order == out->order;
    return A->kind == TULLE_CSR && out->storage == TULLE_STORAGE_CSR && out->ind_bytes != 8;
}

static tulle_status hold(tulle_mat *A, tulle_array *out)
{
    const tulle_tile tile = tulle__tile_in_place(A, 0, 0);
    tulle_array own = {.size = out->size,
        .storage = out->storage,
        .type = A->type,
        .m = tile.m,
        .n = tile.n,
        .count = tile.m,
        .nnz = A->kind == TULLE_CSR ? tile.nnz : 0,
        .ptr_bytes = out->ptr_bytes,
        .ind_bytes = A->kind == TULLE_CSR ? (int)sizeof(tulle_lidx) : 0,
        .ind = (void *)(uintptr_t)tile.colind,
        .val = (void *)(uintptr_t)tile.val,
        .order = tile.order,
        .ld = tile.ld,
        .owned = true,
        .held = A};
    if (A->kind == TULLE_CSR) {
        TULLE_CALL(make_pointers(&own));
        for (tulle_gidx r = 0; r <= tile.m; r++) set_index(own.ptr, own.ptr_bytes, r, tile.rowptr[r]);
    }
    tulle__team_hold(A->comm->pe);
    *out = own;
    return TULLE_OK;
}

/* *A is NULL if `out` holds the matrix. */
static tulle_status take(tulle_mat **A, int root, tulle_array *out)
{
    TULLE_CALL(check_wish(*A, root, out));
    TULLE_CALL(order_for(out, *A));
    if (!can_hold(*A, out)) return fill(*A, root, out);
    TULLE_CALL(hold(*A, out));
    *A = NULL;
    return TULLE_OK;
}

tulle_status tulle__array_take(tulle_mat *A, int root, tulle_array *out)
{
    const tulle_status status = take(&A, root, out);
    tulle_mat_free(A);
    return status;
}

void tulle_array_free(tulle_array *array)
{
    if (!array) return;
    if (array->owned) {
        tulle__free(array->ptr);
        if (!array->held) {
            tulle__free(array->ind);
            tulle__free(array->col);
            tulle__free(array->val);
        }
        tulle_team *team = array->held ? array->held->comm->pe->team : NULL;
        tulle_mat_free(array->held);
        tulle_team_free(team);
    }
    array->ptr = array->ind = array->col = array->val = NULL;
    array->owned = false;
    array->held = NULL;
}
