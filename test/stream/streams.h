/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices and vectors of integers for the tests of streams: sums are exact in any order. */
#ifndef TULLE_TEST_STREAMS_H
#define TULLE_TEST_STREAMS_H

#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
#include "elements.h"
#include "mat/mat.h"

enum shape { SCATTERED, DENSE_ROW, EMPTY, TRAILING, SYMMETRIC };

/* 0: there is no entry. */
static double entry_at(enum shape shape, int64_t i, int64_t j)
{
    int64_t low = i < j ? i : j, high = i < j ? j : i;
    uint64_t r = shape == SYMMETRIC ? tulle__random_at(11, (uint64_t)low, (uint64_t)high)
                                    : tulle__random_at(11, (uint64_t)i, (uint64_t)j);
    double v = (double)(r % 9) - 4;
    if (v == 0) v = 5;
    switch (shape) {
    case SCATTERED:
        return r / 16 % 5 == 0 ? v : 0;
    case DENSE_ROW:
        return i == 2 || r / 16 % 11 == 0 ? v : 0;
    case SYMMETRIC: /* in blocks of 3, some entries missing; far above the diagonal and near it */
        return tulle__random_at(12, (uint64_t)(low / 3), (uint64_t)(high / 3)) % 6 == 0 && r % 16 ? v : 0;
    case TRAILING: /* most rows have none */
        return i % 7 == 6 && r / 16 % 2 == 0 ? v : 0;
    default:
        return 0;
    }
}

static double x_at(int64_t i, int64_t c, int turn)
{
    return (double)((i * 7 + c * 3 + turn * 5) % 13) - 6;
}

/* All PEs contribute entries cyclically. */
__attribute__((unused)) static tulle_status make_matrix(
    tulle_comm *comm, enum shape shape, const tulle_layout *layout, tulle_type type, tulle_mat **A)
{
    int64_t m = tulle_layout_rows(layout), n = tulle_layout_cols(layout), count = 0;
    size_t most = (size_t)(m * n) + 1;
    tulle_gidx *row = malloc(most * sizeof *row), *col = malloc(most * sizeof *col);
    double *val = malloc(most * sizeof *val);
    for (int64_t i = tulle_comm_rank(comm); i < m; i += tulle_comm_size(comm))
        for (int64_t j = 0; j < n; j++) {
            double v = entry_at(shape, i, j);
            if (v == 0) continue;
            row[count] = i;
            col[count] = j;
            put(val, type, count++, v);
        }
    tulle_status status = tulle_mat_from_entries(comm, layout, type, count, row, col, val, TULLE_DUPLICATES_ERROR, A);
    free(row);
    free(col);
    free(val);
    return status;
}

static double x_of(const void *turn, int64_t i, int64_t c)
{
    return x_at(i, c, *(const int *)turn);
}

__attribute__((unused)) static tulle_status fill_x(tulle_mat *X, int turn)
{
    return fill(X, x_of, &turn);
}

static double wild_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    (void)i;
    (void)c;
    return 1e30;
}

__attribute__((unused)) static tulle_status spoil(tulle_mat *Y)
{
    return fill(Y, wild_of, NULL);
}

/* The number of wrong elements in this PE's rows of Y = A X. */
__attribute__((unused)) static int64_t wrong_of(enum shape shape, tulle_mat *Y, int64_t n, int turn)
{
    int64_t wrong = 0;
    for (int i = 0; i < Y->layout->mt; i++) {
        if (!tulle__tile_is_mine(Y, i, 0)) continue;
        tulle_tile tile = tulle__tile_in_place(Y, i, 0);
        for (int64_t r = 0; r < tile.m; r++)
            for (int64_t c = 0; c < tile.n; c++) {
                double want = 0;
                for (int64_t k = 0; k < n; k++)
                    want += entry_at(shape, Y->layout->row_cut[i] + r, k) * x_at(k, c, turn);
                wrong += get(tile.val, tile.type, place_in(tile.order, tile.ld, r, c)) != want;
            }
    }
    return wrong;
}

/* Y for a stream. */
__attribute__((unused)) static tulle_status make_y(
    tulle_comm *comm, const tulle_layout *rows, tulle_gidx cols, tulle_type type, tulle_mat **Y)
{
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {
        .m = rows->m, .n = cols, .tile_rows = rows->mt, .tile_cols = 1, .row_cut = rows->row_cut, .owner = rows->owner};
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, type, TULLE_ROW_MAJOR, Y);
    tulle_layout_free(layout);
    return status;
}

#endif
