/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's transfers are those of a run: counts SPEC. Bytes, messages and partial results of
 * every static algorithm, multiplications and entries of C, for SpMM and SpGEMM, on square and
 * other grids, with one and several tiles a PE, and with panels smaller than partial results. With
 * balanced loads the same holds for stealing algorithms, which then do not steal.
 */
#include <string.h>

#include <tulle/model.h>

#include "mat/mat.h"
#include "product/operands.h"
#include "tap.h"

enum { ARENA = 8192, PANELS = 8 };

static const tulle_product_alg algs[] = {TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_A,
    TULLE_PRODUCT_STATIONARY_B, TULLE_PRODUCT_SUMMA, TULLE_PRODUCT_CANNON, TULLE_PRODUCT_STEAL_LOCAL_C,
    TULLE_PRODUCT_STEAL_LOCAL_A, TULLE_PRODUCT_STEAL_RANDOM_A};
enum { ALGS = sizeof algs / sizeof *algs, STATIC = 5 };
static const int fallback[] = {0, 1, 1}; /* the static fallback of each stealing algorithm */

struct run {
    const char *operand;
    int rows, cols, tiles, cols_b; /* cols_b 0: SpGEMM */
    tulle_map map;
    int in_place;
    int suits[ALGS];
    tulle_prediction said[ALGS];
    tulle_product_report was[ALGS];
    double flops, entries, multiplications, bytes; /* sums over PEs of what tulle_predict_loads says of stationary A */
    tulle_product_alg chosen, expected;
};

static tulle_machine machine_of(const struct run *run)
{
    tulle_machine machine;
    (void)tulle_machine_find("dgx2", 1, &machine);
    machine.in_place = run->in_place;
    machine.node_pes = run->rows * run->cols;
    return machine;
}

static tulle_status execute(tulle_comm *comm, struct run *run, tulle_mat *A, tulle_mat *B, const tulle_layout *c, int a)
{
    tulle_status status;
    tulle_mat *C = NULL;
    tulle_product_options options = {0};
    options.alg = algs[a];
    options.transfers = TULLE_TRANSFERS_WHOLE; /* the transfers that the model counts */
    TULLE_TRY(new_result(comm, c, !run->cols_b, &C));
    status = report_product(A, B, C, &options, 1, &run->suits[a], &run->was[a]);
out:
    tulle_mat_free(C);
    return status;
}

/* AUTO is the model's choice for the counts that it is given. */
static tulle_status choose(tulle_comm *comm, struct run *run, tulle_mat *A, tulle_mat *B, const tulle_layout *c,
    const tulle_counts *counts, const tulle_machine *machine)
{
    tulle_status status;
    tulle_mat *C = NULL;
    tulle_product *plan = NULL;
    tulle_prediction best;
    tulle_product_report report;
    tulle_product_options options = {0};
    tulle_model_options o = {0};
    options.machine = machine;
    options.counts = counts;
    o.threads = 1;
    o.panel = ARENA / PANELS;
    TULLE_TRY(new_result(comm, c, !run->cols_b, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    TULLE_TRY(tulle_predict_best(counts, machine, &o, &best));
    EXPECT(report.predicted_seconds == best.seconds && best.seconds > 0);
    if (tulle_comm_rank(comm) == 0) {
        run->chosen = tulle_product_alg_of(plan);
        run->expected = best.alg;
    }
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    return status;
}

static tulle_status predict(tulle_comm *comm, struct run *run, const tulle_counts *counts, const tulle_machine *machine)
{
    tulle_status status = TULLE_OK;
    double work[16], bytes[16];
    tulle_model_options o = {.threads = 1, .panel = ARENA / PANELS, .transfers = TULLE_TRANSFERS_WHOLE};
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    const int pes = run->rows * run->cols;
    tulle_machine crowded = *machine;
    crowded.crowd = pes; /* all on one core: as if the work were spread evenly */
    for (int a = 0; a < ALGS; a++) {
        tulle_prediction p;
        TULLE_TRY(tulle_predict(counts, machine, &o, algs[a], &run->said[a]));
        TULLE_TRY(tulle_predict(counts, &crowded, &o, algs[a], &p));
        EXPECT(p.seconds <= run->said[a].seconds && p.seconds * pes >= run->said[a].seconds * (1 - 1e-12));
        EXPECT(p.compute.max == run->said[a].compute.max);
        EXPECT(run->said[a].communicate.max > 0 || !(run->said[a].compute.max > 1.1 * run->said[a].compute.mean) ||
               p.seconds < run->said[a].seconds);
    }
    TULLE_TRY(tulle_predict_loads(counts, machine, &o, TULLE_PRODUCT_STATIONARY_A, work, bytes));
    for (int pe = 0; pe < pes; pe++) run->multiplications += work[pe], run->bytes += bytes[pe];
    run->flops = tulle_counts_flops(counts);
    run->entries = tulle_counts_entries(counts);
out:
    return status;
}

/*
 * Counted from the factors as the product has them, in tiles of any columns, multiplications are
 * the same.
 */
static tulle_status count_again(
    tulle_comm *comm, struct run *run, tulle_mat *A, tulle_mat *B, tulle_counts_spec spec, const tulle_machine *machine)
{
    tulle_status status;
    tulle_counts *counts = NULL;
    tulle_prediction p;
    EXPECT(tulle_counts_new(A, A, &spec, &counts) == TULLE_ERR_ARG || A->layout->nt == 1);
    tulle_counts_free(counts);
    counts = NULL;
    spec.counting = TULLE_COUNT_FLOPS;
    TULLE_TRY(tulle_counts_new(A, run->cols_b ? NULL : B, &spec, &counts));
    for (int a = 0; a < STATIC; a++) {
        TULLE_TRY(tulle_predict(counts, machine, NULL, algs[a], &p));
        EXPECT(tulle_comm_rank(comm) || p.load_imbalance == run->said[a].load_imbalance);
    }
    EXPECT(tulle_comm_rank(comm) || tulle_counts_flops(counts) == run->flops);
out:
    tulle_counts_free(counts);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_mat *rows = NULL;
    tulle_counts *counts = NULL;
    tulle_machine machine = machine_of(run);
    TULLE_TRY(tulle_mat_load(comm, run->operand, NULL, TULLE_CSR, NULL, NULL, &rows));
    product_grid grid = {.m = tulle_mat_rows(rows),
        .k = tulle_mat_cols(rows),
        .n = run->cols_b ? run->cols_b : tulle_mat_cols(rows),
        .rows = run->rows,
        .cols = run->cols,
        .tiles = run->tiles,
        .map = run->map};
    TULLE_TRY(grid_layouts(&grid, o.l));
    tulle_counts_spec spec = {.a = o.l[0],
        .b = o.l[1],
        .c = o.l[2],
        .pes = tulle_comm_size(comm),
        .type = TULLE_F64,
        .counting = TULLE_COUNT_RESULT,
        .in_place = run->in_place};
    TULLE_TRY(tulle_counts_new(rows, run->cols_b ? NULL : rows, &spec, &counts));
    TULLE_TRY(predict(comm, run, counts, &machine));
    TULLE_TRY(load_factors(comm, run->operand, run->cols_b ? NULL : run->operand, &o));
    TULLE_TRY(count_again(comm, run, o.A, o.B, spec, &machine));
    for (int a = 0; a < ALGS; a++) TULLE_TRY(execute(comm, run, o.A, o.B, o.l[2], a));
    TULLE_TRY(choose(comm, run, o.A, o.B, o.l[2], counts, &machine));
out:
    tulle_counts_free(counts);
    if (status == TULLE_OK) tulle_mat_free(rows);
    free_operands(&o, status);
    return status;
}

static void compare(const struct run *run, const char *what, int a)
{
    const tulle_prediction *p = &run->said[a];
    const tulle_product_report *r = &run->was[a];
    const char *name = tulle_product_alg_name(algs[a]);
    if (!ok(p->suits == run->suits[a], "%s, %s: %s", what, name, p->suits ? "suits" : "does not suit") || !p->suits)
        return;
    ok(p->bytes_moved == (double)r->bytes_moved, "%s, %s: %.0f bytes said, %lld moved", what, name, p->bytes_moved,
        (long long)r->bytes_moved);
    ok(p->messages == (double)r->messages, "%s, %s: %.0f messages said, %lld sent", what, name, p->messages,
        (long long)r->messages);
    ok(p->partials == (double)r->partials, "%s, %s: %.0f partial results said, %lld sent", what, name, p->partials,
        (long long)r->partials);
    ok(run->flops == (double)r->flops && run->entries == (double)r->nnz_c && p->load_imbalance == r->load_imbalance,
        "%s, %s: %.0f flops of %lld, %.0f entries of %lld, imbalance %.17g of %.17g", what, name, run->flops,
        (long long)r->flops, run->entries, (long long)r->nnz_c, p->load_imbalance, r->load_imbalance);
    ok(p->seconds > 0 && p->compute.max <= p->seconds && p->communicate.max <= p->seconds, "%s, %s: %g s", what, name,
        p->seconds);
}

/* Returns whether nothing is to be stolen, according to the model. */
static int compare_stealing(const struct run *run, const char *what, int a)
{
    const tulle_prediction *p = &run->said[a], *other = &run->said[fallback[a - STATIC]];
    const tulle_product_report *r = &run->was[a];
    int alike = p->seconds == other->seconds && p->bytes_moved == other->bytes_moved;
    ok(run->suits[a] && run->flops == (double)r->flops && run->entries == (double)r->nnz_c, "%s, %s: the product", what,
        tulle_product_alg_name(algs[a]));
    if (!alike) return 0;
    compare(run, what, a);
    ok(r->stolen == 0 && r->units == run->was[fallback[a - STATIC]].units, "%s, %s: %d units, %d stolen", what,
        tulle_product_alg_name(algs[a]), (int)r->units, (int)r->stolen);
    return 1;
}

static void try(const char *spec, struct run *run, int *alike)
{
    tulle_team *team = NULL;
    char what[256];
    tulle_team_options options = {.threads = 1, .arena = ARENA, .panels = PANELS};
    snprintf(what, sizeof what, "%s, %s, %d x %d PEs, %d tiles%s", run->operand, run->cols_b ? "SpMM" : "SpGEMM",
        run->rows, run->cols, run->tiles, run->map == TULLE_CYCLIC ? " cyclic" : "");
    run->in_place = strcmp(spec, "threads") == 0;
    tulle_status status = tulle_team_new(spec, run->rows * run->cols, &options, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, run);
    tulle_team_free(team);
    if (!ok(status == TULLE_OK, "%s: %s", what, status == TULLE_OK ? "runs" : tulle_error_message())) return;
    for (int a = 0; a < STATIC; a++) compare(run, what, a);
    for (int a = STATIC; a < ALGS; a++) alike[compare_stealing(run, what, a)]++;
    ok(2 * run->multiplications == run->flops && run->bytes == run->said[1].bytes_moved, "%s: the PEs' loads add up",
        what);
    ok(run->chosen == run->expected, "%s: auto becomes %s, the model says %s", what,
        tulle_product_alg_name(run->chosen), tulle_product_alg_name(run->expected));
}

int main(int argc, char **argv)
{
    static const char *const operands[] = {"rmat:scale=7,edgefactor=6", "er:n=90,degree=2", "stencil2d:n=9"};
    static const int shapes[][3] = {{2, 2, 1}, {2, 2, 3}, {7, 1, 1}, {1, 7, 1}, {4, 1, 2}, {1, 4, 1}, {7, 1, 2}};
    int alike[2] = {0, 0};
    if (argc != 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    for (size_t o = 0; o < sizeof operands / sizeof *operands; o++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int cols = 0; cols <= 21; cols += 21) {
                struct run run = {.operand = operands[o],
                    .rows = shapes[s][0],
                    .cols = shapes[s][1],
                    .tiles = shapes[s][2],
                    .cols_b = cols,
                    .map = o == 1 ? TULLE_CYCLIC : TULLE_BLOCK};
                try(argv[1], &run, alike);
            }
    /* tiles of B that go down a chain in segments */
    struct run large = {.operand = "rmat:scale=11,edgefactor=2", .rows = 4, .cols = 1, .tiles = 1, .cols_b = 100};
    try(argv[1], &large, alike);
    ok(alike[0] > 10 && alike[1] > 10, "shares of the work are alike in %d cases, not in %d", alike[1], alike[0]);
    return tap_done();
}
