/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SUMMA and Cannon on grids: bulk SPEC. Right on grids that are square and that are not, with tiles that are empty,
 * with and without the next step on its way; each tile travels as often as PEs need it; Cannon says what it wants where
 * it cannot work. test/product/product.c has the types, shapes and layouts.
 */
#include <string.h>

#include <tulle/io.h>
#include <tulle/product.h>

#include "body.h"
#include "mat/mat.h"
#include "tap.h"

struct run {
    tulle_alg alg;
    int rows, cols, tiles, sparse, lookahead;
    const char *operand;
    int64_t moved; /* bytes that the steps must copy where nothing is read in place */
    int empty;     /* tiles of A without entries */
    tulle_report report;
    char refusal[TULLE_MESSAGE_MAX];
};

static tulle_status make_layouts(const struct run *run, tulle_layout *l[3])
{
    int size = run->rows * run->cols, M = run->rows * run->tiles, N = run->cols * run->tiles, K = M > N ? M : N;
    int64_t n = run->sparse ? 60 : 11;
    tulle_layout_spec spec = {.grid_rows = run->rows, .grid_cols = run->cols, .map = TULLE_CYCLIC};
    int64_t rows[] = {60, 60, 60}, cols[] = {60, n, n};
    int tile_rows[] = {M, K, M}, tile_cols[] = {K, N, N};
    for (int x = 0; x < 3; x++) {
        spec.m = rows[x];
        spec.n = cols[x];
        spec.tile_rows = tile_rows[x];
        spec.tile_cols = tile_cols[x];
        tulle_status status = tulle_layout_new(&spec, size, &l[x]);
        if (status != TULLE_OK) return status;
    }
    return TULLE_OK;
}

/* Bytes of the tiles of X, each once for every PE but its owner that has C tiles in its tile row or column. */
static int64_t needed(const tulle_mat *X, const tulle_layout *c, int by_row)
{
    int64_t bytes = 0;
    int mt = tulle_layout_tile_rows(c), nt = tulle_layout_tile_cols(c);
    for (int i = 0; i < X->layout->mt; i++)
        for (int j = 0; j < X->layout->nt; j++) {
            char seen[64] = {0};
            seen[tulle_layout_owner(X->layout, i, j)] = 1;
            for (int t = 0; t < (by_row ? nt : mt); t++) {
                int pe = by_row ? tulle_layout_owner(c, i, t) : tulle_layout_owner(c, t, j);
                if (!seen[pe]) bytes += (int64_t)X->directory[tulle__tile_index(X, i, j)].place.length;
                seen[pe] = 1;
            }
        }
    return bytes;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_plan *plan = NULL;
    tulle_report report;
    double error;
    tulle_product_options options = TULLE_PRODUCT_DEFAULT;
    options.alg = run->alg;
    options.lookahead = run->lookahead;
    TULLE_TRY(make_layouts(run, l));
    TULLE_TRY(tulle_mat_load(comm, run->operand, l[0], TULLE_CSR, NULL, NULL, &A));
    if (run->sparse) {
        TULLE_TRY(tulle_mat_load(comm, run->operand, l[1], TULLE_CSR, NULL, NULL, &B));
        TULLE_TRY(tulle_mat_new_csr(comm, l[2], TULLE_F64, &C));
    } else {
        TULLE_TRY(tulle_mat_new_dense(comm, l[1], TULLE_F64, TULLE_ROW_MAJOR, &B));
        TULLE_TRY(tulle_mat_fill_random(B, 1));
        TULLE_TRY(tulle_mat_new_dense(comm, l[2], TULLE_F64, TULLE_ROW_MAJOR, &C));
    }
    status = tulle_plan_new(A, B, C, &options, &plan);
    if (status != TULLE_OK && tulle_comm_rank(comm) == 0)
        snprintf(run->refusal, sizeof run->refusal, "%s", tulle_error_message());
    if (status != TULLE_OK) goto out;
    for (int r = 0; r < 3; r++) {
        TULLE_TRY(tulle_plan_execute(plan, &report));
        TULLE_TRY(tulle_product_check(A, B, C, &options, &error));
    }
    if (tulle_comm_rank(comm) == 0) {
        run->report = report;
        run->moved = needed(A, l[2], 1) + needed(B, l[2], 0);
        for (int64_t t = 0; t < (int64_t)A->layout->mt * A->layout->nt; t++) run->empty += !A->directory[t].nnz;
    }
out:
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_plan_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    return TULLE_OK;
}

static void try_grid(tulle_team *team, struct run run, int copies)
{
    tulle_status status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK, "%s %s on %dx%d, %d tiles a PE, lookahead %d, %d tiles of A empty: %s",
        tulle_alg_name(run.alg), run.sparse ? "spgemm" : "spmm", run.rows, run.cols, run.tiles * run.tiles,
        run.lookahead, run.empty, status == TULLE_OK ? "right" : tulle_error_message());
    ok(run.report.partials == 0 && run.report.stolen == 0, "who owns C multiplies");
    /* what the meetings and the report themselves move is a few words a PE and round */
    if (copies && status == TULLE_OK)
        ok(run.report.bytes_moved >= run.moved && run.report.bytes_moved <= run.moved + (1 << 16),
            "%d bytes moved for tiles of %d", (int)run.report.bytes_moved, (int)run.moved);
}

int main(int argc, char **argv)
{
    static const int grids[][2] = {{1, 1}, {1, 7}, {2, 3}, {3, 2}, {2, 2}, {3, 3}};
    if (argc != 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        int rows = grids[g][0], cols = grids[g][1], npes = rows * cols;
        tulle_team *team;
        tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
        if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open")) return tap_done();
        for (int sparse = 0; sparse < 2; sparse++)
            for (int c = 0; c < 4; c++) {
                struct run run = {.alg = TULLE_ALG_SUMMA,
                    .rows = rows,
                    .cols = cols,
                    .tiles = 1 + c % 2,
                    .sparse = sparse,
                    .lookahead = c / 2 * 2,
                    .operand = c % 2 ? "er:n=60,degree=1" : "er:n=60,degree=6"};
                try_grid(team, run, strcmp(argv[1], "threads") != 0);
                run.alg = TULLE_ALG_CANNON;
                if (rows == cols) try_grid(team, run, strcmp(argv[1], "threads") != 0);
            }
        if (rows != cols) {
            struct run run = {
                .alg = TULLE_ALG_CANNON, .rows = rows, .cols = cols, .tiles = 1, .operand = "er:n=60,degree=6"};
            ok(tulle_team_run(team, body, &run) == TULLE_ERR_UNSUPPORTED &&
                    strstr(run.refusal, "cannon wants a square grid"),
                "cannon on %dx%d: %s", rows, cols, run.refusal);
        }
        tulle_team_free(team);
    }
    return tap_done();
}
