/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands and results that stay on devices: resident PES DEVICE. Executions with several beta give what the same do on
 * the host; those after the first copy nothing over the link, to the byte; tulle_product_sync brings C back, and
 * operands that have changed are read again. What cannot stay there is refused.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "mat/mat.h"
#include "tap.h"

enum { SIZE = 66, COLS = 7 };

struct run {
    const char *device;
    int phases;                           /* of sparse products; 0: none are asked for */
    int dense, tiles, fails;              /* dense: A; fails: what is refused is tried */
    int64_t first[2], later[2], again[2]; /* out: bytes up and down of executions, of all PEs */
    double worst;                         /* out: difference from the host's C, over its largest value */
};

static tulle_status make(tulle_comm *comm, tulle_gidx n, int rows, const char *operand, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = SIZE, .n = n, .tile_rows = rows, .tile_cols = n == SIZE ? rows : 1};
    spec.map = TULLE_CYCLIC;
    spec.grid_rows = tulle_comm_size(comm);
    spec.grid_cols = 1;
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK)
        status = operand ? tulle_mat_load(comm, operand, layout, TULLE_CSR, NULL, NULL, X)
                         : tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, X);
    if (status == TULLE_OK && !operand) status = tulle_mat_fill_random(*X, (uint64_t)n);
    tulle_layout_free(layout);
    return status;
}

/* The largest difference of own values, and the largest value. */
static tulle_status compare(tulle_comm *comm, tulle_mat *C, tulle_mat *D, int tiles, double *worst)
{
    double most[2] = {0, 0};
    tulle_status status = TULLE_OK;
    for (int i = 0; i < tiles; i++) {
        tulle_own_tile c, d;
        if (tulle__layout_owner(C->layout, i, 0) != tulle_comm_rank(comm)) continue;
        TULLE_TRY(tulle_mat_own_tile(C, i, 0, &c));
        TULLE_TRY(tulle_mat_own_tile(D, i, 0, &d));
        for (int64_t e = 0; e < c.m * c.n; e++) {
            double x = ((const double *)c.val)[e], y = ((const double *)d.val)[e];
            if (!(fabs(x - y) <= most[0])) most[0] = fabs(x - y);
            if (fabs(y) > most[1]) most[1] = fabs(y);
        }
    }
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 2, most));
    *worst = fmax(*worst, most[0] / most[1]);
out:
    return status;
}

static tulle_status execute(tulle_product *plan, tulle_product *host, double alpha, double beta, int64_t *bytes)
{
    tulle_product_report report = {.seconds = 0};
    tulle_status status = tulle_product_execute(plan, alpha, beta, &report);
    if (status == TULLE_OK) status = tulle_product_execute(host, alpha, beta, NULL);
    bytes[0] = report.device.bytes[0];
    bytes[1] = report.device.bytes[1];
    return status;
}

static tulle_status refusals(const struct run *run, tulle_mat *A, tulle_mat *B, tulle_mat *C)
{
    tulle_product *plan = NULL;
    tulle_status status = TULLE_OK;
    tulle_product_devices devices = {.resident = true};
    tulle_product_options o = {.device = run->device, .devices = &devices, .alg = TULLE_PRODUCT_STATIONARY_A};
    EXPECT(tulle_product_new(A, B, C, &o, &plan) == TULLE_ERR_UNSUPPORTED &&
           strstr(tulle_error_message(), "device-resident"));
    o.alg = TULLE_PRODUCT_AUTO;
    devices.unpinned = true;
    EXPECT(tulle_product_new(A, B, C, &o, &plan) == TULLE_ERR_UNSUPPORTED);
    devices.unpinned = false;
    o.device = NULL;
    EXPECT(tulle_product_new(A, B, C, &o, &plan) == TULLE_ERR_ARG);
out:
    return status;
}

/* S = A A: operands and results stay; ranges of columns in between do not disturb. */
static tulle_status sparse_body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_mat *A = NULL, *S = NULL;
    tulle_layout *square = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report[3] = {{.seconds = 0}, {.seconds = 0}, {.seconds = 0}};
    const tulle_product_devices devices = {.resident = true};
    tulle_product_options o = {.device = run->device, .devices = &devices, .phases = run->phases};
    tulle_columns columns = {.last = run->phases == 0};
    double error;
    tulle_status status;
    TULLE_TRY(make(comm, SIZE, run->tiles, "er:n=66,degree=6", &A));
    TULLE_TRY(tulle_product_layout(A, TULLE_OP_N, A, TULLE_OP_N, &square));
    TULLE_TRY(tulle_mat_new_csr(comm, square, TULLE_F64, &S));
    TULLE_TRY(tulle_product_new(A, A, S, &o, &plan));
    for (int turn = 0; turn < 3; turn++) {
        do {
            if (run->phases) TULLE_TRY(tulle_product_next(plan, 2, &columns, &report[turn]));
            if (!run->phases) TULLE_TRY(tulle_product_execute(plan, 2, 0, &report[turn]));
            TULLE_TRY(tulle_product_check(plan, &error));
        } while (!columns.last);
    }
    for (int way = 0; way < 2 && tulle_comm_rank(comm) == 0; way++) {
        run->first[way] = report[0].device.bytes[way];
        run->later[way] = report[2].device.bytes[way];
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    tulle_layout_free(square);
    tulle_product_free(plan);
    tulle_mat_free(S);
    tulle_mat_free(A);
    return status;
}

static void test_sparse(tulle_team *team, const char *device, int tiles)
{
    struct run run = {.device = device, .tiles = tiles}, phases = run;
    phases.phases = 3;
    tulle_status status = tulle_team_run(team, sparse_body, &run);
    ok(status == TULLE_OK && run.later[0] == 0, "spgemm: operands stay (%d bytes up, at first %d): %s",
        (int)run.later[0], (int)run.first[0], status == TULLE_OK ? "ok" : tulle_error_message());
    ok(run.first[1] > 0 && run.later[1] == 0, "the structure comes once (%d bytes)", (int)run.first[1]);
    status = tulle_team_run(team, sparse_body, &phases);
    ok(status == TULLE_OK, "in ranges of columns: %s", status == TULLE_OK ? "right" : tulle_error_message());
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg, mine = *run;
    tulle_mat *A = NULL, *B = NULL, *C = NULL, *D = NULL;
    tulle_product *plan = NULL, *host = NULL;
    const tulle_product_devices devices = {.resident = true};
    tulle_product_options o = {.device = run->device, .devices = &devices};
    const tulle_product_options plain = {.alg = TULLE_PRODUCT_STATIONARY_C};
    tulle_status status;
    TULLE_TRY(make(comm, SIZE, run->tiles, run->dense ? NULL : "er:n=66,degree=6", &A));
    TULLE_TRY(make(comm, COLS, run->tiles, NULL, &B));
    TULLE_TRY(make(comm, COLS, run->tiles, NULL, &C));
    TULLE_TRY(make(comm, COLS, run->tiles, NULL, &D));
    if (run->fails) {
        status = refusals(run, A, B, C);
        goto out;
    }
    TULLE_TRY(tulle_product_new(A, B, C, &o, &plan));
    TULLE_TRY(tulle_product_new(A, B, D, &plain, &host));
    mine.worst = 0;
    TULLE_TRY(execute(plan, host, 2, 0.5, mine.first)); /* C comes, too */
    TULLE_TRY(execute(plan, host, 1, 1, mine.later));
    EXPECT(mine.later[1] == 0);
    TULLE_TRY(execute(plan, host, -1, 3, mine.later));
    TULLE_TRY(tulle_product_sync(plan));
    TULLE_TRY(compare(comm, C, D, run->tiles, &mine.worst));
    TULLE_TRY(tulle_mat_fill_random(B, 77));
    TULLE_TRY(execute(plan, host, 1, 0, mine.again));
    TULLE_TRY(execute(plan, host, 1, 0, mine.later));
    TULLE_TRY(tulle_product_sync(plan));
    TULLE_TRY(tulle_product_sync(host));
    TULLE_TRY(compare(comm, C, D, run->tiles, &mine.worst));
    if (tulle_comm_rank(comm) == 0) *run = mine;
out:
    tulle_product_free(plan);
    tulle_product_free(host);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    tulle_mat_free(D);
    return status;
}

static void test_home(tulle_team *team, const char *device, int dense, int tiles)
{
    struct run run = {.device = device, .dense = dense, .tiles = tiles};
    tulle_status status = tulle_team_run(team, body, &run);
    const int64_t c = SIZE * COLS * (int64_t)sizeof(double);
    ok(status == TULLE_OK && run.worst <= 1e-13, "%s, %d x %d tiles: as on the host (%.2g): %s",
        dense ? "gemm" : "spmm", tiles, tiles, run.worst, status == TULLE_OK ? "ok" : tulle_error_message());
    ok(run.later[0] == 0 && run.later[1] == 0 && run.first[1] == 0 && run.again[1] == 0,
        "executions after the first copy nothing (%d up, %d down)", (int)run.later[0], (int)run.later[1]);
    ok(run.first[0] == run.again[0] + c && run.again[0] > 0,
        "the first brings operands, and C where it is added to: %d", (int)run.first[0]);
}

int main(int argc, char **argv)
{
    tulle_team *team;
    tulle_device_facts facts;
    if (argc < 3) return 2;
    int pes = atoi(argv[1]);
    const char *device = argv[2];
    if (strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (!ok(tulle_team_new("threads", pes, NULL, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (int dense = 0; dense < 2; dense++)
        for (int tiles = pes; tiles < pes + 3; tiles += 2) test_home(team, device, dense, tiles);
    test_sparse(team, device, pes);
    test_sparse(team, device, pes + 2);
    for (int dense = 0; dense < 2; dense++) {
        struct run run = {.device = device, .dense = dense, .tiles = pes, .fails = 1};
        ok(tulle_team_run(team, body, &run) == TULLE_OK, "what cannot stay there is refused: %s",
            tulle_error_message());
    }
    if (strcmp(device, "limit+cpu") == 0) {
        struct run run = {.device = "limit:mem=9K+cpu", .dense = 1, .tiles = 3 * pes}, tiny = run;
        tiny.device = "limit:mem=3K+cpu";
        tulle_status status = tulle_team_run(team, body, &run);
        ok(status == TULLE_OK && run.worst <= 1e-13 && run.later[0] > 0 && run.later[1] == 0,
            "operands that do not fit beside C are copied again (%d bytes)", (int)run.later[0]);
        status = tulle_team_run(team, body, &tiny);
        ok(status == TULLE_ERR_LIMIT, "a device without room for C says so: %s", tulle_error_message());
    }
    tulle_team_free(team);
    return tap_done();
}
