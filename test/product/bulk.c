/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SUMMA and Cannon on grids: bulk SPEC. Right on grids that are square and that are not, with tiles that are empty,
 * with and without the next step on its way; each tile travels as often as PEs need it; Cannon says what it wants where
 * it cannot work. test/product/product.c has the types, shapes and layouts.
 */
#include <string.h>

#include "mat/mat.h"
#include "operands.h"
#include "tap.h"

struct run {
    tulle_product_alg alg;
    int rows, cols, tiles, sparse, ahead;
    int n; /* columns of a dense B */
    const char *operand;
    int64_t moved; /* bytes that the steps must copy where nothing is read in place */
    int empty;     /* tiles of A without entries */
    tulle_product_report report;
    char refusal[TULLE_MESSAGE_MAX];
};

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
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_report report;
    double error;
    tulle_product_options options = {0};
    options.alg = run->alg;
    options.lookahead = run->ahead ? 0 : TULLE_NONE;
    product_grid grid = {.m = 60,
        .k = 60,
        .n = run->sparse ? 60 : run->n,
        .rows = run->rows,
        .cols = run->cols,
        .tiles = run->tiles,
        .map = TULLE_CYCLIC};
    TULLE_TRY(grid_layouts(&grid, o.l));
    TULLE_TRY(load_operands(comm, run->operand, run->sparse ? run->operand : NULL, &o));
    status = tulle_product_new(o.A, o.B, o.C, &options, &plan);
    if (status != TULLE_OK && tulle_comm_rank(comm) == 0)
        snprintf(run->refusal, sizeof run->refusal, "%s", tulle_error_message());
    if (status != TULLE_OK) goto out;
    for (int r = 0; r < 3; r++) {
        TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
        TULLE_TRY(tulle_product_check_matrices(1, o.A, options.op_a, o.B, options.op_b, o.C, &error));
    }
    if (tulle_comm_rank(comm) == 0) {
        run->report = report;
        run->moved = needed(o.A, o.l[2], 1) + needed(o.B, o.l[2], 0);
        for (int64_t t = 0; t < (int64_t)o.A->layout->mt * o.A->layout->nt; t++) run->empty += !o.A->directory[t].nnz;
    }
out:
    if (status == TULLE_OK) tulle_product_free(plan); /* else the team frees it */
    free_operands(&o, status);
    return status;
}

static void try_grid(tulle_team *team, struct run run, int copies)
{
    tulle_status status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK, "%s %s of %d columns on %dx%d, %d tiles a PE, %s, %d tiles of A empty: %s",
        tulle_product_alg_name(run.alg), run.sparse ? "spgemm" : "spmm", run.sparse ? 60 : run.n, run.rows, run.cols,
        run.tiles * run.tiles, run.ahead ? "a step ahead" : "no step ahead", run.empty,
        status == TULLE_OK ? "right" : tulle_error_message());
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
                struct run run = {.alg = TULLE_PRODUCT_SUMMA,
                    .rows = rows,
                    .cols = cols,
                    .tiles = 1 + c % 2,
                    .sparse = sparse,
                    .n = 11,
                    .ahead = c / 2,
                    .operand = c % 2 ? "er:n=60,degree=1" : "er:n=60,degree=6"};
                try_grid(team, run, strcmp(argv[1], "threads") != 0);
                run.alg = TULLE_PRODUCT_CANNON;
                if (rows == cols) try_grid(team, run, strcmp(argv[1], "threads") != 0);
                run.alg = TULLE_PRODUCT_SUMMA;
                run.n = 6000 * cols; /* tiles of B that go down a chain if three PEs or more are to have them */
                if (!sparse) try_grid(team, run, strcmp(argv[1], "threads") != 0);
            }
        if (rows != cols) {
            struct run run = {.alg = TULLE_PRODUCT_CANNON,
                .rows = rows,
                .cols = cols,
                .tiles = 1,
                .n = 11,
                .operand = "er:n=60,degree=6"};
            ok(tulle_team_run(team, body, &run) == TULLE_ERR_UNSUPPORTED &&
                    strstr(run.refusal, "cannon wants a square grid"),
                "cannon on %dx%d: %s", rows, cols, run.refusal);
        }
        tulle_team_free(team);
    }
    return tap_done();
}
