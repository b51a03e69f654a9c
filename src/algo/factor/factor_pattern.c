/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "algo/factor/eliminate.h"
#include "base/bisect.h"
#include "base/error.h"

static int positive(const tulle_tile *A, int64_t entry)
{
    return A->type == TULLE_F32 ? ((const float *)A->val)[entry] > 0 : ((const double *)A->val)[entry] > 0;
}

/* The diagonal entry of row r, global row i; -1: none. */
static int64_t find_diagonal(const tulle_tile *A, int64_t r, int64_t i)
{
    int64_t low = A->rowptr ? A->rowptr[r] : 0, end = A->rowptr ? A->rowptr[r + 1] : 0, high = end;
    TULLE__PARTITION_POINT(low, high, middle, A->colind[middle] < i);
    return low < end && A->colind[low] == i ? low : -1;
}

/* Appends one row's columns. */
static void append(const tulle_own_tile *to, int64_t r, const tulle_lidx *col, int64_t count)
{
    int64_t *rowptr = to->rowptr;
    memcpy(to->colind + rowptr[r], col, (size_t)count * sizeof *col);
    rowptr[r + 1] = rowptr[r] + count;
}

/*
 * Splits the rows of A's tile i into those of L and U; diagonal[r] is known. With `own`, L has the
 * diagonal, and there is no U.
 */
static tulle_status split_tile(const tulle_mat *A, tulle_mat *L, tulle_mat *U, int i, const int64_t *diagonal)
{
    tulle_tile from;
    tulle_own_tile lower, upper;
    int64_t below = 0, own = U == NULL;
    TULLE_CALL(tulle_mat_tile(A, i, 0, &from));
    for (int64_t r = 0; r < from.m; r++) below += diagonal[r] - from.rowptr[r] + own;
    TULLE_CALL(tulle__mat_place(L, i, 0, below, &lower));
    lower.rowptr[0] = 0;
    if (U) {
        TULLE_CALL(tulle__mat_place(U, i, 0, from.nnz - below, &upper));
        upper.rowptr[0] = 0;
    }
    for (int64_t r = 0; r < from.m; r++) {
        int64_t first = from.rowptr[r], end = from.rowptr[r + 1];
        append(&lower, r, from.colind + first, diagonal[r] - first + own);
        if (U) append(&upper, r, from.colind + diagonal[r], end - diagonal[r]);
    }
    return TULLE_OK;
}

tulle_status tulle__factor_patterns(const tulle_mat *A, tulle_mat *L, tulle_mat *U, int64_t *missing, int64_t *longest)
{
    TULLE__SCOPED int64_t *diagonal = NULL;
    *missing = INT64_MAX;
    *longest = 0;
    for (int t = 0; t < A->layout->mt; t++) {
        tulle_tile tile;
        if (!tulle__tile_is_mine(A, t, 0)) continue;
        TULLE_CALL(tulle_mat_tile(A, t, 0, &tile));
        TULLE_CALL(tulle__realloc((size_t)tile.m, sizeof *diagonal, "places of diagonals", &diagonal));
        for (int64_t r = 0; r < tile.m; r++) {
            int64_t row = A->layout->row_cut[t] + r;
            diagonal[r] = find_diagonal(&tile, r, row);
            if ((diagonal[r] < 0 || (!U && !positive(&tile, diagonal[r]))) && row < *missing) *missing = row;
            if (tile.rowptr && tile.rowptr[r + 1] - tile.rowptr[r] > *longest)
                *longest = tile.rowptr[r + 1] - tile.rowptr[r];
        }
        if (*missing == INT64_MAX && tile.m) TULLE_CALL(split_tile(A, L, U, t, diagonal));
    }
    return TULLE_OK;
}
