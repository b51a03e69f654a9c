/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's copies to and from devices are those of a run on `limit`: devices SPEC. SpMM and SpGEMM by the algorithms
 * whose owners of C multiply, on several grids, with one and several devices a PE, peers or not, to the byte where
 * nothing makes room; else within a factor of two.
 */
#include <string.h>

#include <tulle/model.h>

#include "mat/mat.h"
#include "product/operands.h"
#include "tap.h"

struct run {
    const char *operand;
    tulle_product_alg alg;
    int rows, cols, tiles, cols_b; /* cols_b 0: SpGEMM */
    int devices, peers, in_place;
    double memory;
    tulle_device_prediction said;
    tulle_prediction host;
    tulle_product_report was;
    int suits;
    tulle_status refused;
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_mat *rows = NULL;
    tulle_counts *counts = NULL;
    tulle_machine machine;
    char spec[96];
    struct run mine = *run;
    const tulle_model_options model = {.threads = 1, .transfers = TULLE_TRANSFERS_WHOLE};
    const tulle_device_model devices = {
        .devices = run->devices, .memory = run->memory, .link = 1e11, .peer = run->peers ? 1e11 : 0};
    TULLE_TRY(tulle_machine_find("dgx2", 1, &machine));
    machine.in_place = run->in_place;
    TULLE_TRY(tulle_mat_load(comm, run->operand, NULL, TULLE_CSR, NULL, NULL, &rows));
    product_grid grid = {.m = tulle_mat_rows(rows),
        .k = tulle_mat_cols(rows),
        .n = run->cols_b ? run->cols_b : tulle_mat_cols(rows),
        .rows = run->rows,
        .cols = run->cols,
        .tiles = run->tiles,
        .map = run->tiles > 1 ? TULLE_CYCLIC : TULLE_BLOCK};
    TULLE_TRY(grid_layouts(&grid, o.l));
    const tulle_counts_spec counting = {.a = o.l[0],
        .b = o.l[1],
        .c = o.l[2],
        .pes = tulle_comm_size(comm),
        .type = TULLE_F64,
        .counting = TULLE_COUNT_RESULT,
        .in_place = run->in_place};
    TULLE_TRY(tulle_counts_new(rows, run->cols_b ? NULL : rows, &counting, &counts));
    TULLE_TRY(tulle_predict(counts, &machine, &model, run->alg, &mine.host));
    mine.refused = tulle_predict_devices(counts, &mine.host, &devices, &mine.said);
    TULLE_TRY(load_operands(comm, run->operand, run->cols_b ? NULL : run->operand, &o));
    snprintf(spec, sizeof spec, "limit:mem=%.0f,link=100G%s+cpu", run->memory, run->peers ? ",peer=100G" : "");
    const tulle_product_devices count = {.count = run->devices};
    const tulle_product_options options = {.alg = run->alg, .device = spec, .devices = &count};
    status = report_product(o.A, o.B, o.C, &options, 1, &mine.suits, &mine.was);
    if (status == TULLE_ERR_LIMIT && mine.refused == TULLE_ERR_LIMIT) status = TULLE_OK;
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) *run = mine;
out:
    tulle_counts_free(counts);
    if (status == TULLE_OK) tulle_mat_free(rows);
    free_operands(&o, status);
    return status;
}

static void try(tulle_team *team, struct run *run)
{
    char what[160];
    snprintf(what, sizeof what, "%s, %s, %s, %d x %d PEs, %d tiles, %d devices%s, %.0f KB", run->operand,
        run->cols_b ? "SpMM" : "SpGEMM", tulle_product_alg_name(run->alg), run->rows, run->cols, run->tiles,
        run->devices, run->peers ? " that are peers" : "", run->memory / 1e3);
    tulle_status status = tulle_team_run(team, body, run);
    if (!ok(status == TULLE_OK, "%s: %s", what, status == TULLE_OK ? "runs" : tulle_error_message())) return;
    if (!run->suits || run->refused == TULLE_ERR_LIMIT) return;
    const tulle_device_prediction *p = &run->said;
    const tulle_device_work *d = &run->was.device;
    int far = 0, equal = 1;
    for (int way = 0; way < 3; way++) {
        equal = equal && p->bytes[way] == d->bytes[way];
        far |= way < 2 && !(p->bytes[way] <= 2 * d->bytes[way] && d->bytes[way] <= 2 * p->bytes[way]);
    }
    ok(p->suits && (p->exact ? equal : !far), "%s: %s%lld up, %lld down, %lld between; a run: %lld, %lld, %lld", what,
        p->exact ? "" : "about ", (long long)p->bytes[0], (long long)p->bytes[1], (long long)p->bytes[2],
        (long long)d->bytes[0], (long long)d->bytes[1], (long long)d->bytes[2]);
    int must = run->memory > 1e6 && (run->cols_b || run->alg == TULLE_PRODUCT_STATIONARY_C);
    ok(!must || p->exact, "%s: exact", what);
    ok(p->memory > 0 && (double)p->memory <= run->memory && p->seconds >= p->copy_seconds[0] && p->copy_seconds[0] > 0,
        "%s: %lld bytes of a device, %g s", what, (long long)p->memory, p->seconds);
}

/* Products that are not modelled, or do not fit, say so. */
static tulle_status limits(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle_mat *A = NULL;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_counts *counts = NULL;
    tulle_machine machine;
    tulle_prediction p;
    tulle_device_prediction d;
    tulle_device_model devices = {.memory = 1e6};
    const product_grid grid = {.m = 90, .k = 90, .n = 5, .rows = tulle_comm_size(comm), .cols = 1, .tiles = 1};
    (void)arg;
    TULLE_TRY(tulle_machine_find("dgx2", 1, &machine));
    TULLE_TRY(tulle_mat_load(comm, "er:n=90,degree=2", NULL, TULLE_CSR, NULL, NULL, &A));
    TULLE_TRY(grid_layouts(&grid, l));
    const tulle_counts_spec spec = {
        .a = l[0], .b = l[1], .c = l[2], .pes = tulle_comm_size(comm), .type = TULLE_F64, .in_place = 1};
    TULLE_TRY(tulle_counts_new(A, NULL, &spec, &counts));
    TULLE_TRY(tulle_predict(counts, &machine, NULL, TULLE_PRODUCT_STATIONARY_A, &p));
    TULLE_TRY(tulle_predict_devices(counts, &p, &devices, &d));
    EXPECT(!d.suits && !d.bytes[0]);
    TULLE_TRY(tulle_predict(counts, &machine, NULL, TULLE_PRODUCT_STATIONARY_C, &p));
    devices.memory = 500;
    EXPECT(tulle_predict_devices(counts, &p, &devices, &d) == TULLE_ERR_LIMIT);
    devices.memory = 0;
    EXPECT(tulle_predict_devices(counts, &p, &devices, &d) == TULLE_ERR_ARG);
    devices = (tulle_device_model){.memory = 1e6, .flops = 1e6};
    TULLE_TRY(tulle_predict_devices(counts, &p, &devices, &d));
    EXPECT(d.seconds >= tulle_counts_flops(counts) / tulle_comm_size(comm) / 1e6);
out:
    tulle_counts_free(counts);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    tulle_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    static const tulle_product_alg algs[] = {TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_SUMMA, TULLE_PRODUCT_CANNON};
    static const int shapes[][3] = {{1, 1, 1}, {1, 1, 3}, {2, 2, 2}, {3, 1, 2}};
    static const char *const operands[] = {"rmat:scale=7,edgefactor=6", "stencil2d:n=9"};
    if (argc != 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        tulle_team *team;
        const tulle_team_options one = {.threads = 1};
        int pes = shapes[s][0] * shapes[s][1];
        if (!ok(tulle_team_new(argv[1], pes, &one, &team) == TULLE_OK, "open: %s", tulle_error_message())) break;
        for (size_t a = 0; a < sizeof algs / sizeof *algs; a++)
            for (int cols = 0; cols <= 21; cols += 21)
                for (int devices = 1; devices <= 2; devices++)
                    for (int small = 0; small < 2; small++) {
                        struct run run = {.operand = operands[(s + a) % 2],
                            .alg = algs[a],
                            .rows = shapes[s][0],
                            .cols = shapes[s][1],
                            .tiles = shapes[s][2],
                            .cols_b = cols,
                            .devices = devices,
                            .in_place = !strstr(argv[1], "direct=off"),
                            .peers = devices == 2 && a != 1,
                            .memory = small ? 3e4 : 1e8};
                        if (small && (devices > 1 || a)) continue;
                        try(team, &run);
                    }
        tulle_status status = tulle_team_run(team, limits, NULL);
        ok(status == TULLE_OK, "limits: %s", status == TULLE_OK ? "told" : tulle_error_message());
        tulle_team_free(team);
    }
    return tap_done();
}
