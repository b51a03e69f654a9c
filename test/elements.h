/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of either type, and dense matrices in any layout: filled by a formula, and seen whole. */
#ifndef TULLE_TEST_ELEMENTS_H
#define TULLE_TEST_ELEMENTS_H

#include <tulle/mat.h>

static void put(void *val, tulle_type type, int64_t at, double x)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)x;
    else
        ((double *)val)[at] = x;
}

static double get(const void *val, tulle_type type, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

/* Place of an element of a dense tile. */
static int64_t place_in(tulle_order order, int64_t ld, int64_t r, int64_t c)
{
    return order == TULLE_ROW_MAJOR ? r * ld + c : c * ld + r;
}

/* Element (i, c) is value(arg, i, c). */
__attribute__((unused)) static tulle_status fill(
    tulle_mat *B, double (*value)(const void *arg, int64_t i, int64_t c), const void *arg)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(B);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_own_tile tile;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(B))) continue;
            status = tulle_mat_own_tile(B, i, j, &tile);
            for (int64_t r = 0; status == TULLE_OK && r < tile.m; r++)
                for (int64_t c = 0; c < tile.n; c++)
                    put(tile.val, tile.type, place_in(tile.order, tile.ld, r, c),
                        value(arg, tulle_layout_row_cut(l)[i] + r, tulle_layout_col_cut(l)[j] + c));
        }
    return tulle_comm_agree(tulle_mat_comm(B), status);
}

/* x[i * cols + c]: all of a dense matrix, on every PE. */
__attribute__((unused)) static tulle_status collect(tulle_mat *X, double *x)
{
    tulle_status status = tulle_comm_barrier(tulle_mat_comm(X));
    const tulle_layout *l = tulle_mat_layout(X);
    int64_t cols = tulle_layout_cols(l);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_fetch *fetch;
            tulle_tile tile;
            status = tulle_mat_get_tile(X, i, j, &fetch);
            if (status != TULLE_OK) return status;
            status = tulle_fetch_wait(fetch, &tile);
            for (int64_t r = 0; status == TULLE_OK && r < tile.m; r++)
                for (int64_t c = 0; c < tile.n; c++)
                    x[(tulle_layout_row_cut(l)[i] + r) * cols + tulle_layout_col_cut(l)[j] + c] =
                        get(tile.val, tile.type, place_in(tile.order, tile.ld, r, c));
            tulle_fetch_free(fetch);
        }
    return status;
}

#endif
