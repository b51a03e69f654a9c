/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of products of blocks is exact: block_counts SPEC. Bytes, messages and partial results of
 * every static algorithm, multiplications and entries of C are those of a run, as in counts.c; under a
 * filter also what norms that come first leave to be moved. AUTO is near the algorithm that moves least.
 */
#include <string.h>

#include <tulle/model.h>

#include "mat/mat.h"
#include "product/operands.h"
#include "tap.h"

enum { ARENA = 8192, PANELS = 8, ALGS = 5 };

static const tulle_product_alg algs[ALGS] = {TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_A,
    TULLE_PRODUCT_STATIONARY_B, TULLE_PRODUCT_SUMMA, TULLE_PRODUCT_CANNON};

struct run {
    const char *operand;
    int sizes[2]; /* of blocks, in turn */
    int rows, cols, tiles, in_place;
    double filter;
    bool bsr;
    int suits[ALGS];
    tulle_prediction said[ALGS];
    tulle_product_report was[ALGS];
    double flops, entries;
    tulle_product_alg best;
};

static tulle_machine machine_of(const struct run *run)
{
    tulle_machine machine;
    (void)tulle_machine_find("dgx2", 1, &machine);
    machine.in_place = run->in_place;
    machine.node_pes = run->rows * run->cols;
    return machine;
}

static tulle_status cuts_of(tulle_gidx n, const struct run *run, tulle_block_cuts *cuts, tulle_gidx **workspace)
{
    tulle_gidx count = 0;
    tulle_status status = tulle__alloc((size_t)n + 1, sizeof **workspace, "cuts", workspace);
    if (status != TULLE_OK) return status;
    (*workspace)[0] = 0;
    for (; (*workspace)[count] < n; count++) {
        const tulle_gidx end = (*workspace)[count] + run->sizes[count % 2];
        (*workspace)[count + 1] = end < n ? end : n;
    }
    *cuts = (tulle_block_cuts){count, *workspace};
    return TULLE_OK;
}

static tulle_status into_blocks(tulle_comm *comm, const struct run *run, const tulle_layout *layout, tulle_mat **blocks)
{
    tulle_mat *entries = NULL;
    tulle_status status = tulle_mat_load(comm, run->operand, layout, TULLE_CSR, NULL, NULL, &entries);
    if (status == TULLE_OK)
        status = run->bsr ? tulle_mat_to_bsr(entries, run->sizes[0], run->sizes[0], blocks)
                          : tulle_mat_to_vbsr(entries, layout, blocks);
    tulle_mat_free(entries);
    return status;
}

static tulle_status execute(tulle_comm *comm, struct run *run, tulle_mat *A, tulle_mat *B, const tulle_layout *c, int a)
{
    tulle_status status;
    tulle_mat *C = NULL;
    const bool fetches = algs[a] != TULLE_PRODUCT_SUMMA && algs[a] != TULLE_PRODUCT_CANNON;
    const tulle_product_options options = {.alg = algs[a],
        .filter = run->filter,
        .transfers = run->filter > 0 && fetches ? TULLE_TRANSFERS_COVER : TULLE_TRANSFERS_WHOLE};
    TULLE_TRY(tulle_mat_new_vbsr(comm, c, TULLE_F64, &C));
    /* the first one also counts the blocks of rows */
    status = report_product(A, B, C, &options, run->filter > 0 ? 2 : 1, &run->suits[a], &run->was[a]);
out:
    tulle_mat_free(C);
    return status;
}

static tulle_status predict(tulle_comm *comm, struct run *run, const tulle_counts *counts)
{
    tulle_status status = TULLE_OK;
    tulle_prediction best;
    const tulle_machine machine = machine_of(run);
    const tulle_model_options o = {.threads = 1,
        .panel = ARENA / PANELS,
        .transfers = run->filter > 0 ? TULLE_TRANSFERS_COVER : TULLE_TRANSFERS_WHOLE};
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    for (int a = 0; a < ALGS; a++) TULLE_TRY(tulle_predict(counts, &machine, &o, algs[a], &run->said[a]));
    TULLE_TRY(tulle_predict_best(counts, &machine, &o, &best));
    run->best = best.alg;
    run->flops = tulle_counts_flops(counts);
    run->entries = tulle_counts_entries(counts);
    double by_size[TULLE_BLOCK_SIZES], sum = 0;
    tulle_counts_block_flops(counts, by_size);
    for (int s = 0; s < TULLE_BLOCK_SIZES; s++) sum += by_size[s];
    EXPECT(sum == run->flops && by_size[0] == 0);
    EXPECT(run->sizes[0] != run->sizes[1] || by_size[2] == sum); /* cubes of 4 and of 6 */
out:
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    tulle_layout *even[3] = {NULL}, *l[3] = {NULL}, *whole = NULL, *single = NULL;
    tulle_mat *rows = NULL, *A = NULL, *B = NULL, *all = NULL;
    tulle_counts *counts = NULL;
    tulle_block_cuts cuts;
    tulle_gidx *workspace = NULL;
    TULLE_TRY(tulle_mat_load(comm, run->operand, NULL, TULLE_CSR, NULL, NULL, &rows));
    const product_grid grid = {.m = tulle_mat_rows(rows),
        .k = tulle_mat_rows(rows),
        .n = tulle_mat_rows(rows),
        .rows = run->rows,
        .cols = run->cols,
        .tiles = run->tiles};
    TULLE_TRY(cuts_of(grid.m, run, &cuts, &workspace));
    TULLE_TRY(grid_layouts(&grid, even));
    for (int x = 0; x < 3; x++) TULLE_TRY(tulle_layout_in_blocks(even[x], &cuts, &cuts, &l[x]));
    /* needed values are exact where no PEs share the rows of a tile */
    const tulle_layout_spec one = {.m = grid.m, .n = grid.m, .tile_rows = 1, .tile_cols = 1};
    if (run->filter > 0) TULLE_TRY(tulle_layout_new(&one, tulle_comm_size(comm), &single));
    TULLE_TRY(tulle_layout_in_blocks(single ? single : tulle_mat_layout(rows), &cuts, &cuts, &whole));
    TULLE_TRY(into_blocks(comm, run, whole, &all));
    const tulle_counts_spec spec = {.a = l[0],
        .b = l[1],
        .c = l[2],
        .pes = tulle_comm_size(comm),
        .type = TULLE_F64,
        .counting = TULLE_COUNT_RESULT,
        .in_place = run->in_place,
        .filter = run->filter};
    tulle_counts_spec other = spec;
    other.c = even[2];
    EXPECT(tulle_counts_new(all, all, &other, &counts) == TULLE_ERR_ARG);
    EXPECT(tulle_counts_new(rows, all, &spec, &counts) == TULLE_ERR_ARG);
    TULLE_TRY(tulle_counts_new(all, all, &spec, &counts));
    TULLE_TRY(predict(comm, run, counts));
    TULLE_TRY(into_blocks(comm, run, l[0], &A));
    TULLE_TRY(into_blocks(comm, run, l[1], &B));
    for (int a = 0; a < ALGS; a++) TULLE_TRY(execute(comm, run, A, B, l[2], a));
    /* from the factors as they lie */
    tulle_counts_free(counts);
    counts = NULL;
    other = spec;
    other.counting = TULLE_COUNT_FLOPS;
    TULLE_TRY(tulle_counts_new(A, B, &other, &counts));
    EXPECT(tulle_comm_rank(comm) || tulle_counts_flops(counts) == run->flops);
out:
    tulle_counts_free(counts);
    tulle_mat_free(rows);
    tulle_mat_free(all);
    tulle_mat_free(A);
    tulle_mat_free(B);
    for (int x = 0; x < 3; x++) {
        tulle_layout_free(even[x]);
        tulle_layout_free(l[x]);
    }
    tulle_layout_free(whole);
    tulle_layout_free(single);
    tulle__free(workspace);
    return status;
}

static void compare(const struct run *run, const char *what, int a, double *least, double *chosen)
{
    const tulle_prediction *p = &run->said[a];
    const tulle_product_report *r = &run->was[a];
    const char *name = tulle_product_alg_name(algs[a]);
    if (!ok(p->suits == run->suits[a], "%s, %s: %s", what, name, p->suits ? "suits" : "does not suit") || !p->suits)
        return;
    ok(p->bytes_moved == (double)r->bytes_moved && p->messages == (double)r->messages &&
            p->partials == (double)r->partials,
        "%s, %s: %.0f bytes in %.0f messages, %.0f partial results said; %lld, %lld, %lld", what, name, p->bytes_moved,
        p->messages, p->partials, (long long)r->bytes_moved, (long long)r->messages, (long long)r->partials);
    ok(run->flops == (double)r->flops && p->load_imbalance == r->load_imbalance &&
            (run->filter > 0 ? run->entries >= (double)r->nnz_c : run->entries == (double)r->nnz_c),
        "%s, %s: %.0f flops of %lld, %.0f entries of %lld", what, name, run->flops, (long long)r->flops, run->entries,
        (long long)r->nnz_c);
    ok(p->seconds > 0 && p->compute.max <= p->seconds && p->communicate.max <= p->seconds, "%s, %s: %g s", what, name,
        p->seconds);
    if (p->seconds < *least || *least == 0) *least = p->seconds;
    if (algs[a] == run->best) *chosen = p->seconds;
}

static void try(const char *spec, struct run *run)
{
    tulle_team *team = NULL;
    char what[256];
    double least = 0, chosen = 0;
    const tulle_team_options options = {.threads = 1, .arena = ARENA, .panels = PANELS};
    snprintf(what, sizeof what, "%s, blocks of %d and %d%s, %d x %d PEs, %d tiles, filter %g", run->operand,
        run->sizes[0], run->sizes[1], run->bsr ? " (bsr)" : "", run->rows, run->cols, run->tiles, run->filter);
    run->in_place = strcmp(spec, "threads") == 0;
    tulle_status status = tulle_team_new(spec, run->rows * run->cols, &options, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, run);
    tulle_team_free(team);
    if (!ok(status == TULLE_OK, "%s: %s", what, status == TULLE_OK ? "runs" : tulle_error_message())) return;
    for (int a = 0; a < ALGS; a++) compare(run, what, a, &least, &chosen);
    ok(chosen == 0 || chosen <= 1.1 * least, "%s: auto is %s, %g s, the least %g s", what,
        tulle_product_alg_name(run->best), chosen, least);
}

int main(int argc, char **argv)
{
    static const int shapes[][3] = {{2, 2, 1}, {2, 2, 2}, {5, 1, 1}, {1, 3, 2}, {1, 1, 1}};
    if (argc != 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct run run = {.rows = shapes[s][0], .cols = shapes[s][1], .tiles = shapes[s][2]};
        run.operand = "blocks:n=30,size=4,degree=3";
        run.sizes[0] = run.sizes[1] = 4;
        try(argv[1], &run);
        run.bsr = true;
        try(argv[1], &run);
        run.bsr = false;
        run.sizes[0] = 7;
        run.sizes[1] = 2;
        try(argv[1], &run);
        run.operand = "water:n=3,cutoff=8";
        run.sizes[0] = run.sizes[1] = 6;
        run.filter = 3e-3;
        try(argv[1], &run);
        run.filter = 1e-7;
        try(argv[1], &run);
    }
    return tap_done();
}
