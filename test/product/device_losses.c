/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose device fails: device_losses PES. A device of a PE is lost at its n-th operation, or that operation
 * fails, for n = 0, 1, 2, ... until a run passes: with devices of three tiles, with panels of one row, so that partial
 * results wait for each other, and with several devices a PE. All PEs return one status and one message, which names
 * the device; nothing is left; a plan on another device is right. A run that hangs uses up its processor time.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <tulle/io.h>
#include <tulle/product.h>

#include "base/error.h"
#include "base/memory.h"
#include "body.h"
#include "comm/comm.h"
#include "tap.h"

enum { SIZE = 36, COLS = 6, TILES = 3, MOST = 8, PROCESSOR_SECONDS = 240 };

struct run {
    int gemm, devices;
    tulle_product_alg alg;
    const char *device;
    tulle_status status[MOST]; /* of the executions, a PE each */
    char message[MOST][TULLE_MESSAGE_MAX];
};

static tulle_status make(tulle_comm *comm, tulle_gidx n, int cols, int sparse, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    int size = tulle_comm_size(comm);
    tulle_layout_spec spec = {.m = SIZE,
        .n = n,
        .tile_rows = TILES,
        .tile_cols = cols,
        .map = TULLE_CYCLIC,
        .grid_rows = size,
        .grid_cols = 1};
    tulle_status status = tulle_layout_new(&spec, size, &layout);
    if (status == TULLE_OK && sparse)
        status = tulle_mat_load(comm, "er:n=36,degree=5", layout, TULLE_CSR, NULL, NULL, X);
    if (status == TULLE_OK && !sparse) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, X);
    if (status == TULLE_OK && !sparse) status = tulle_mat_fill_random(*X, (uint64_t)n + 1);
    tulle_layout_free(layout);
    return status;
}

static tulle_status run_plan(const tulle_mat *A, const tulle_mat *B, tulle_mat *C, const tulle_product_options *o)
{
    tulle_product *plan = NULL;
    double error;
    tulle_status status = tulle_product_new(A, B, C, o, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 2, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    tulle_product_free(plan);
    return status;
}

/* On the run's device, then on one that works. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_layout *l = NULL;
    int rank = tulle_comm_rank(comm);
    tulle_status status;
    const tulle_product_devices devices = {.count = run->devices};
    tulle_product_options o = {.alg = run->alg, .device = run->device, .devices = &devices};
    TULLE_TRY(make(comm, SIZE, TILES, !run->gemm, &A));
    TULLE_TRY(make(comm, COLS, TILES, 0, &B));
    TULLE_TRY(tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &l));
    TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C));
    run->status[rank] = run_plan(A, B, C, &o);
    snprintf(run->message[rank], sizeof *run->message, "%s", run->status[rank] ? tulle_error_message() : "");
    TULLE_TRY(same_everywhere(comm, run->status[rank]));
    if (run->status[rank] != TULLE_OK) {
        o.device = "limit:mem=20K+cpu";
        o.devices = NULL;
        TULLE_TRY(run_plan(A, B, C, &o));
    }
out:
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

/* Without the "PE n: " that other PEs put before the cause. */
static const char *cause(const char *message)
{
    const char *colon = strncmp(message, "PE ", 3) == 0 ? strchr(message, ':') : NULL;
    return colon ? colon + 2 : message;
}

/* The failure at each n; what: "lost" or "op"; below: what the wrapper is laid over. */
static void sweep(tulle_team *team, int npes, struct run *run, const char *what, const char *below)
{
    struct blocks before[MOST] = {{0}}, after[MOST] = {{0}};
    char spec[128];
    int struck = npes < TILES ? npes - 1 : TILES - 1, failed = 0, wrong = 0, silent = 0, differ = 0, passed = 0;
    run->device = below;
    wrong += tulle_team_run(team, body, run) != TULLE_OK || run->status[0] != TULLE_OK;
    if (wrong) printf("# without a failure: %s\n", tulle_error_message());
    tulle_team_run(team, count_blocks, before);
    for (int n = 0; !passed && !wrong && n < 1000; n++) {
        snprintf(spec, sizeof spec, "fault:%s=%d,rank=%d,device=%d+%s", what, n, struck,
            run->devices > 1 ? n % run->devices : 0, below);
        run->device = spec;
        tulle_status status = tulle_team_run(team, body, run);
        passed = status == TULLE_OK && run->status[0] == TULLE_OK;
        if (status != TULLE_OK && !wrong++) printf("# n = %d: %s\n", n, tulle_error_message());
        if (passed || status != TULLE_OK) continue;
        failed++;
        int told = run->status[0] == TULLE_ERR_COMM && strstr(run->message[struck], "operation");
        if (!told && !silent++) printf("# n = %d: %s\n", n, run->message[struck]);
        for (int r = 0; r < npes; r++) differ += strcmp(cause(run->message[r]), cause(run->message[struck])) != 0;
    }
    ok(passed && !wrong && failed > 3, "%s %s, %d devices of %s: %s at each of %d operations",
        tulle_product_alg_name(run->alg), run->gemm ? "gemm" : "spmm", run->devices ? run->devices : 1, below, what,
        failed);
    ok(!silent && !differ, "all PEs return the cause: %d do not, %d differ", silent, differ);
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "nothing is left behind");
}

int main(int argc, char **argv)
{
    if (argc != 2 || atoi(argv[1]) > MOST) return fprintf(stderr, "usage: %s PES\n", argv[0]), 2;
    int npes = atoi(argv[1]);
    struct rlimit watchdog = {PROCESSOR_SECONDS, PROCESSOR_SECONDS};
    tulle_team *team;
    /* a panel has 64 bytes: a row of a tile of C, or little more */
    tulle_team_options options = {.memory = (size_t)npes << 25, .threads = 1, .arena = 128, .panels = 2};
    setrlimit(RLIMIT_CPU, &watchdog);
    if (!ok(tulle_team_new(npes > 1 ? "threads:direct=off" : "threads", npes, &options, &team) == TULLE_OK, "open: %s",
            tulle_error_message()))
        return tap_done();
    static const tulle_product_alg algs[] = {
        TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_A, TULLE_PRODUCT_STEAL_RANDOM_A, TULLE_PRODUCT_SUMMA};
    for (size_t a = 0; a < sizeof algs / sizeof *algs; a++)
        for (int gemm = 0; gemm < 2; gemm++) {
            struct run run = {.gemm = gemm, .alg = algs[a]};
            /* of a dense product a tile of A has 1152 bytes, of B and of C 192: three tiles, and no byte more */
            sweep(team, npes, &run, "lost", gemm ? "limit:mem=1536+cpu" : "limit:mem=4K+cpu");
            if (a) continue;
            sweep(team, npes, &run, "op", gemm ? "limit:mem=1536+cpu" : "limit:mem=4K+cpu");
            run.devices = 2;
            sweep(team, npes, &run, "lost", "late:seed=3+limit:mem=4K,peer=8G+cpu");
        }
    tulle_team_free(team);
    return tap_done();
}
