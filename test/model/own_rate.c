/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that are timed on a product's own rows: own_rate SPEC. All PEs get the same rate, operands stay as they are,
 * predictions take it, and what has no such kernel, or no pair of tiles, has none.
 */
#include <math.h>

#include <tulle/algebra.h>
#include <tulle/model.h>

#include "mat/mat.h"
#include "product/operands.h"
#include "tap.h"

struct run {
    const char *a, *b; /* b: NULL, or a sparse operand */
    int rows, cols, tiles;
    tulle_gidx n; /* columns of a dense B */
    tulle_order order;
    size_t memory; /* of the team; 0: what there is */
    double kernel;
};

static tulle_status norms(const tulle_mat *A, const tulle_mat *B, double norm[2])
{
    const tulle_status status = tulle_mat_norm(A, TULLE_NORM_FROBENIUS, &norm[0]);
    return status == TULLE_OK ? tulle_mat_norm(B, TULLE_NORM_FROBENIUS, &norm[1]) : status;
}

/* On one PE the kernel's seconds are the flops at that rate, under any algorithm. */
static tulle_status predicted(const tulle_mat *A, const product_operands *o, bool dense, tulle_machine *machine)
{
    tulle_status status;
    tulle_counts *counts = NULL;
    tulle_prediction p;
    const tulle_counts_spec spec = {.a = o->l[0], .b = o->l[1], .c = o->l[2], .pes = 1, .type = TULLE_F64};
    TULLE_TRY(tulle_counts_new(A, dense ? NULL : o->B, &spec, &counts));
    TULLE_TRY(tulle_predict(counts, machine, NULL, TULLE_PRODUCT_STATIONARY_C, &p));
    const double seconds = tulle_counts_flops(counts) / machine->kernel;
    EXPECT(fabs(p.compute.max - seconds) <= 1e-9 * seconds);
    machine->simulated = true; /* kernels of another machine do not take this one's time */
    TULLE_TRY(tulle_predict(counts, machine, NULL, TULLE_PRODUCT_STATIONARY_C, &p));
    EXPECT(p.compute.max != seconds);
out:
    tulle_counts_free(counts);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct run *run = arg;
    product_operands o = {.A = NULL};
    tulle_mat *A = NULL;
    tulle_machine machine = {.threads = 1};
    double before[2], after[2], most;
    TULLE_TRY(tulle_mat_load(comm, run->a, NULL, TULLE_CSR, NULL, NULL, &A));
    const product_grid grid = {.m = tulle_mat_rows(A),
        .k = tulle_mat_cols(A),
        .n = run->b ? tulle_mat_cols(A) : run->n,
        .rows = run->rows,
        .cols = run->cols,
        .tiles = run->tiles};
    TULLE_TRY(grid_layouts(&grid, o.l));
    TULLE_TRY(tulle_machine_find("dgx2", 1, &machine));
    machine.kernel = 7; /* is replaced */
    TULLE_TRY(load_factors(comm, run->a, run->b, &o));
    if (!run->b && run->order == TULLE_COL_MAJOR) {
        tulle_mat_free(o.B);
        o.B = NULL;
        TULLE_TRY(tulle_mat_new_dense(comm, o.l[1], TULLE_F64, TULLE_COL_MAJOR, &o.B));
        TULLE_TRY(tulle_mat_fill_random(o.B, 1));
    }
    TULLE_TRY(norms(o.A, o.B, before));
    TULLE_TRY(tulle_machine_time_product(o.A, o.B, &machine));
    TULLE_TRY(norms(o.A, o.B, after));
    EXPECT(before[0] == after[0] && before[1] == after[1]);
    most = machine.kernel;
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 1, &most));
    EXPECT(most == machine.kernel);
    if (tulle_comm_rank(comm) == 0) run->kernel = most;
    if (tulle_comm_size(comm) == 1 && most > 0) TULLE_TRY(predicted(A, &o, !run->b, &machine));
out:
    if (status == TULLE_OK) tulle_mat_free(A);
    free_operands(&o, status);
    return status;
}

static void try(const char *spec, struct run run, bool timed)
{
    tulle_team *team = NULL;
    tulle_status status =
        tulle_team_new(spec, run.rows * run.cols, &(tulle_team_options){.threads = 1, .memory = run.memory}, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, &run);
    tulle_team_free(team);
    ok(status == TULLE_OK && (timed ? run.kernel > 0 && isfinite(run.kernel) : run.kernel == 0),
        "%s x %s, %d x %d PEs, %d tiles: %.3g flops a second%s%s", run.a, run.b ? run.b : "dense", run.rows, run.cols,
        run.tiles, run.kernel, status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
}

/* Refused on all PEs: another type. Not timed: blocks. */
static tulle_status others(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle_mat *A = NULL, *B = NULL, *S = NULL;
    tulle_layout *square = NULL;
    tulle_machine machine = {.kernel = 7};
    bool *right = arg;
    const tulle_layout_spec spec = {.m = 90, .n = 90, .tile_rows = 3, .tile_cols = 3};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &square));
    TULLE_TRY(tulle_mat_load(comm, "er:n=90,degree=4", square, TULLE_CSR, NULL, NULL, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, square, TULLE_F32, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_to_bsr(A, 3, 3, &S));
    EXPECT(tulle_machine_time_product(A, B, &machine) == TULLE_ERR_ARG);
    TULLE_TRY(tulle_machine_time_product(S, S, &machine));
    EXPECT(machine.kernel == 0);
    if (tulle_comm_rank(comm) == 0) *right = true;
out:
    if (status == TULLE_OK) {
        tulle_mat_free(A);
        tulle_mat_free(B);
        tulle_mat_free(S);
    }
    tulle_layout_free(square);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const operands[] = {"er:n=300,degree=4", "rmat:scale=8,edgefactor=8", "stencil2d:n=30"};
    static const int grids[][3] = {{1, 1, 1}, {1, 1, 3}, {2, 1, 1}, {2, 2, 2}, {7, 1, 1}, {1, 5, 1}};
    if (argc != 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (size_t o = 0; o < sizeof operands / sizeof *operands; o++) {
            const struct run run = {
                .a = operands[o], .rows = grids[g][0], .cols = grids[g][1], .tiles = grids[g][2], .n = 17};
            struct run sparse = run, by_columns = run;
            sparse.b = run.a;
            by_columns.order = TULLE_COL_MAJOR;
            try(argv[1], run, true);
            try(argv[1], sparse, true);
            try(argv[1], by_columns, true);
        }
    try(argv[1], (struct run){.a = "er:n=50,degree=0", .b = "er:n=50,degree=0", .rows = 2, .cols = 1, .tiles = 1},
        false);
    /* C of a whole range of rows, which has rows and columns that are full, would take 190 MB or more */
    const struct run hubs = {.a = "circuit:n=4000,dense=2",
        .b = "circuit:n=4000,dense=2",
        .rows = 1,
        .cols = 1,
        .tiles = 1,
        .memory = 160 << 20};
    try(argv[1], hubs, true);
    bool right = false;
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new(argv[1], 3, NULL, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, others, &right);
    tulle_team_free(team);
    ok(status == TULLE_OK && right, "other types are refused, blocks are not timed%s%s", status == TULLE_OK ? "" : ": ",
        status == TULLE_OK ? "" : tulle_error_message());
    return tap_done();
}
