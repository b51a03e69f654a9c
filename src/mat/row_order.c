/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the rows of a sparse matrix that a product left unordered (options.unordered). */
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/compressed.h"

/* Sorts keys in ascending order by Shell's method: most rows are short. */
static void sort_keys(uint64_t *key, int64_t count)
{
    static const int64_t gaps[] = {109147, 46214, 19568, 8286, 3509, 1486, 629, 266, 113, 48, 20, 9, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int64_t gap = gaps[g], i = gap; i < count; i++) {
            uint64_t item = key[i];
            int64_t at = i;
            for (; at >= gap && key[at - gap] > item; at -= gap) key[at] = key[at - gap];
            key[at] = item;
        }
}

/* Sorts a row of at most INT32_MAX entries. A key is the column and the index of its value. */
static void order_row(int32_t *col, char *val, int64_t count, size_t size, uint64_t *key, char *values)
{
    int ascends = 1;
    for (int64_t e = 0; e < count; e++) {
        key[e] = (uint64_t)(uint32_t)col[e] << 32 | (uint64_t)e;
        ascends = ascends && (e == 0 || col[e] > col[e - 1]);
    }
    if (ascends) return;
    sort_keys(key, count);
    memcpy(values, val, (size_t)count * size);
    for (int64_t e = 0; e < count; e++) {
        col[e] = (int32_t)(key[e] >> 32);
        memcpy(val + (size_t)e * size, values + (size_t)(uint32_t)key[e] * size, size);
    }
}

static tulle_status order_tile(const tulle_own_tile *tile, int64_t rows, size_t size)
{
    tulle__csr_result C = tulle__tile_csr_result(tile, tile->nnz);
    int64_t most = 0;
    TULLE__SCOPED uint64_t *key = NULL;
    TULLE__SCOPED char *values = NULL;
    for (int64_t r = 0; r < rows; r++)
        if (C.rowptr[r + 1] - C.rowptr[r] > most) most = C.rowptr[r + 1] - C.rowptr[r];
    TULLE_CALL(tulle__alloc((size_t)most, sizeof *key, "columns of a row to sort", &key));
    TULLE_CALL(tulle__alloc((size_t)most, size, "values of a row to sort", &values));
    for (int64_t r = 0; r < rows; r++)
        order_row(C.colind + C.rowptr[r], (char *)C.val + (size_t)C.rowptr[r] * size, C.rowptr[r + 1] - C.rowptr[r],
            size, key, values);
    return TULLE_OK;
}

static tulle_status order_tiles(tulle_mat *A)
{
    if (tulle__is_shape_only(A->comm)) return TULLE_OK;
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_own_tile tile;
        TULLE_CALL(tulle_mat_own_tile(A, i, j, &tile));
        if (tile.nnz) TULLE_CALL(order_tile(&tile, tulle__tile_rows(A, i), tulle_type_size(A->type)));
    }
    return TULLE_OK;
}

tulle_status tulle__mat_order(const tulle_mat *A)
{
    if (A->symmetry != TULLE_GENERAL) return tulle__wants_full(A);
    if (A->compressed) return tulle__compressed_expand((tulle_mat *)(uintptr_t)A); /* logically const, as below */
    if (!A->unordered) return TULLE_OK;                                            /* the flag is the same on all PEs */
    tulle_mat *same = (tulle_mat *)(uintptr_t)A; /* logically const: only the order of entries within rows changes */
    TULLE_CALL(tulle_comm_agree(A->comm, order_tiles(same)));
    same->unordered = 0;
    return TULLE_OK;
}

tulle_status tulle__wants_full(const tulle_mat *A)
{
    if (A->symmetry == TULLE_GENERAL) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "half of a%s matrix, where all of it is needed: tulle_mat_to_full",
        A->symmetry == TULLE_SKEW ? "n antisymmetric" : " symmetric");
}

tulle_status tulle_mat_order(tulle_mat *A)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (A->symmetry != TULLE_GENERAL) return TULLE_OK; /* rows of blocks always ascend */
    return tulle__mat_order(A->compressed ? A->compressed->inner : A);
}

bool tulle_mat_ordered(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return 0;
    return A->compressed ? !A->compressed->inner->unordered : !A->unordered;
}
