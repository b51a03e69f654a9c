/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix with a complete diagonal: missing entries become zeros. */
#include <string.h>

#include "algo/factor/eliminate.h"
#include "base/error.h"

/* The number of entries of row r of the tile before column i; *there: column i is the next. */
static int64_t before(const tulle_tile *tile, int64_t r, int64_t i, int *there)
{
    int64_t first = tile->rowptr ? tile->rowptr[r] : 0, end = tile->rowptr ? tile->rowptr[r + 1] : 0, e = first;
    while (e < end && tile->colind[e] < i) e++;
    *there = e < end && tile->colind[e] == i;
    return e - first;
}

static int64_t count_missing(const tulle_tile *tile, tulle_gidx row)
{
    int64_t missing = 0;
    for (int64_t r = 0; r < tile->m; r++) {
        int there;
        (void)before(tile, r, row + r, &there);
        missing += !there;
    }
    return missing;
}

static void copy_entries(const tulle_tile *from, int64_t e, int64_t count, const tulle_own_tile *to, int64_t at)
{
    size_t size = tulle_type_size(from->type);
    if (!count) return;
    memcpy(to->colind + at, from->colind + e, (size_t)count * sizeof *to->colind);
    memcpy((char *)to->val + (size_t)at * size, (const char *)from->val + (size_t)e * size, (size_t)count * size);
}

static void fill_tile(const tulle_tile *from, tulle_gidx row, const tulle_own_tile *to)
{
    size_t size = tulle_type_size(from->type);
    int64_t *rowptr = to->rowptr, at = 0;
    rowptr[0] = 0;
    for (int64_t r = 0; r < from->m; r++) {
        int there;
        int64_t first = from->rowptr ? from->rowptr[r] : 0, end = from->rowptr ? from->rowptr[r + 1] : 0;
        int64_t left = before(from, r, row + r, &there);
        copy_entries(from, first, left, to, at);
        at += left;
        if (!there) {
            (to->colind)[at] = (tulle_lidx)(row + r);
            memset((char *)to->val + (size_t)at * size, 0, size);
            at++;
        }
        copy_entries(from, first + left, end - first - left, to, at);
        at += end - first - left;
        rowptr[r + 1] = at;
    }
}

static tulle_status fill_tiles(const tulle_mat *A, tulle_mat *W)
{
    for (int t = 0; t < A->layout->mt; t++) {
        tulle_tile from;
        tulle_own_tile to;
        tulle_gidx row = A->layout->row_cut[t];
        if (!tulle__tile_is_mine(A, t, 0)) continue;
        TULLE_CALL(tulle_mat_tile(A, t, 0, &from));
        TULLE_CALL(tulle__mat_place(W, t, 0, from.nnz + count_missing(&from, row), &to));
        fill_tile(&from, row, &to);
    }
    return TULLE_OK;
}

tulle_status tulle__factor_whole_diagonal(const tulle_mat *A, tulle_mat **whole)
{
    tulle_mat *W = NULL;
    int64_t missing = 0;
    tulle_status status = TULLE_OK;
    *whole = NULL;
    for (int t = 0; t < A->layout->mt && status == TULLE_OK; t++) {
        tulle_tile tile;
        if (!tulle__tile_is_mine(A, t, 0)) continue;
        status = tulle_mat_tile(A, t, 0, &tile);
        if (status == TULLE_OK) missing += count_missing(&tile, A->layout->row_cut[t]);
    }
    if (status == TULLE_OK) status = tulle_comm_reduce_int(A->comm, TULLE_SUM, 1, &missing);
    status = tulle_comm_agree(A->comm, status);
    if (status != TULLE_OK || !missing) return status;
    status = tulle__mat_make(A->comm, A->layout, TULLE_CSR, A->type, TULLE_ROW_MAJOR, &W);
    if (status == TULLE_OK) status = fill_tiles(A, W);
    if (status == TULLE_OK) status = tulle__mat_publish(W);
    return tulle__mat_or_drop(tulle_comm_agree(A->comm, status), W, whole);
}
