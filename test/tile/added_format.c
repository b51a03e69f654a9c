/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product with a matrix of a format that the library does not know (ellpack.c): added_format SPEC PES. Every
 * algorithm, with bands, stealing and an independent check, goes by the table of formats alone. This program's own
 * table has one row more.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tulle/product.h>

#include "base/error.h"
#include "base/random.h"
#include "ellpack.h"
#include "mat/mat.h"
#include "tap.h"

enum { ROWS = 53, COLS = 47, N = 6, WIDTH = 3, TILES = 3 };

/* Rows of the first tile column are long: PEs have unlike shares of the work. */
static int64_t width_of(int i, int64_t cols)
{
    int64_t width = i == 0 ? 10 * WIDTH : WIDTH;
    return width < cols ? width : cols;
}

static tulle_status fill(tulle_mat *A)
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            tulle_own_tile tile;
            tulle_gidx m = tulle__tile_rows(A, i), n = tulle__tile_cols(A, j);
            if (!tulle__tile_is_mine(A, i, j)) continue;
            int64_t width = width_of(i, n);
            tulle_status status = tulle__mat_place(A, i, j, m * width, &tile);
            if (status != TULLE_OK) return status;
            for (int64_t e = 0; e < m * width; e++) {
                tile.colind[e] = (tulle_lidx)(e % width * n / width);
                ((double *)tile.val)[e] = (double)(tulle__random_at(3, (uint64_t)(i * 10 + j), (uint64_t)e) % 7) - 3;
            }
        }
    return TULLE_OK;
}

static tulle_status layout_of(tulle_comm *comm, tulle_gidx m, tulle_gidx n, int rows, int cols, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = m, .n = n, .tile_rows = rows, .tile_cols = cols, .map = TULLE_CYCLIC};
    spec.grid_rows = tulle_comm_size(comm);
    spec.grid_cols = 1;
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const tulle_product_options *options = arg;
    tulle_status status;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    double error;
    TULLE_TRY(layout_of(comm, ROWS, COLS, TILES, TILES, &l[0]));
    TULLE_TRY(layout_of(comm, COLS, N, TILES, 1, &l[1]));
    TULLE_TRY(layout_of(comm, ROWS, N, TILES, 1, &l[2]));
    TULLE_TRY(tulle__mat_make_empty(comm, l[0], ELLPACK, TULLE_F64, TULLE_ROW_MAJOR, &A));
    TULLE_TRY(fill(A));
    TULLE_TRY(tulle_mat_renew(A));
    TULLE_TRY(tulle_mat_new_dense(comm, l[1], TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_fill_random(B, 5));
    TULLE_TRY(tulle_mat_new_dense_undefined(comm, l[2], TULLE_F64, TULLE_ROW_MAJOR, &C));
    status = tulle_product_new(A, B, C, options, &plan);
    if (status == TULLE_ERR_UNSUPPORTED && options->alg == TULLE_PRODUCT_CANNON) {
        status = TULLE_OK;
        goto out;
    }
    for (int turn = 0; turn < 2 && status == TULLE_OK; turn++) {
        status = tulle_product_execute(plan, 1 + turn, 0, NULL);
        if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    }
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    ok(tulle__tile_format_of(ELLPACK) == &ellpack, "the table has the format");
    for (int alg = TULLE_PRODUCT_AUTO; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
        for (int deterministic = 0; deterministic < 2; deterministic++) {
            tulle_product_options options = {.alg = (tulle_product_alg)alg, .deterministic = deterministic};
            tulle_status status = tulle_team_run(team, body, &options);
            ok(status == TULLE_OK, "%s%s: %s", tulle_product_alg_name((tulle_product_alg)alg),
                deterministic ? ", deterministic" : "", status == TULLE_OK ? "right" : tulle_error_message());
        }
    tulle_team_free(team);
    return tap_done();
}
