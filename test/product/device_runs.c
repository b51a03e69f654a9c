/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on devices: device_runs PES. What is copied, to the byte; tiles that are used again; a device that is too
 * small. The n-th operation of a PE's device fails, for every n, in products of all kinds; so does the n-th allocation:
 * all PEs return the same failure, nothing leaks, and the same plan is right afterwards.
 */
#include <stdio.h>
#include <string.h>

#include <tulle/device.h>
#include <tulle/io.h>
#include <tulle/product.h>

#include "base/error.h"
#include "base/memory.h"
#include "body.h"
#include "comm/comm.h"
#include "dealt_matrix.h"
#include "tap.h"

enum family { SPMM, SPGEMM, GEMM, BLOCKS, BLOCKS_SPMM, FAMILIES };
static const char *const families[] = {"spmm", "spgemm", "gemm", "spgemm of blocks", "spmm of blocks"};

enum { SIZE = 60, COLS = 7, BLOCK = 4 };

struct run {
    enum family family;
    tulle_product_alg alg;
    const char *device;
    int rows;    /* of tiles of A, B and C */
    int cols;    /* of tiles of B and C; 0: 1 */
    int devices; /* of each PE; 0: 1 */
    bool unpinned;
    double filter;
    int rank;                        /* whose allocation fails */
    int64_t n;                       /* which; < 0: none */
    int done;                        /* nothing has failed */
    int64_t nnz;                     /* of A */
    int64_t blocks, blocks_c, nnz_c; /* of A and C, of one PE with one tile */
    tulle_status first;
    char message[256];
    tulle_product_report report, second;
};

static tulle_status make(tulle_comm *comm, tulle_gidx n, int rows, int cols, enum family family, tulle_mat **X)
{
    const bool blocks = family == BLOCKS || family == BLOCKS_SPMM;
    const char *const generator = family == GEMM || n != SIZE ? NULL : blocks ? "er:n=60,degree=2" : "er:n=60,degree=6";
    return dealt_matrix(comm, SIZE, n, rows, cols, generator, blocks ? BLOCK : 0, X);
}

/* Execute twice, with the failure anywhere in between; then once more, which must be right. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    int mine = tulle_comm_rank(comm) == run->rank, leads = tulle_comm_rank(comm) == 0;
    const int sparse = run->family == SPGEMM || run->family == BLOCKS;
    tulle_gidx n = sparse ? SIZE : COLS;
    tulle_tile tile;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report = {.seconds = 0}, second = {.seconds = 0};
    tulle_layout *l = NULL;
    const tulle_product_devices devices = {.count = run->devices, .unpinned = run->unpinned};
    tulle_product_options o = {.alg = run->alg, .device = run->device, .devices = &devices, .filter = run->filter};
    double error;
    tulle_status status = make(comm, SIZE, run->rows, run->rows, run->family, &A);
    if (status == TULLE_OK) status = make(comm, n, run->rows, run->cols ? run->cols : 1, run->family, &B);
    if (status == TULLE_OK) status = tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &l);
    if (status == TULLE_OK)
        status = run->family == SPGEMM   ? tulle_mat_new_csr(comm, l, TULLE_F64, &C)
                 : run->family == BLOCKS ? tulle_mat_new_vbsr(comm, l, TULLE_F64, &C)
                                         : tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status != TULLE_OK) goto out;
    status = tulle_comm_barrier(comm);
    if (mine && run->n >= 0) tulle__account_fail_after(comm->pe->account, run->n);
    if (status == TULLE_OK) status = tulle_product_new(A, B, C, &o, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, &report);
    if (leads) run->report = report;
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, &second);
    if (leads) run->second = second;
    if (mine) {
        tulle__account_fail_after(comm->pe->account, -1);
        run->done = status == TULLE_OK;
        run->first = status;
        run->nnz = tulle_mat_nnz(A);
        run->nnz_c = tulle_mat_nnz(C);
        snprintf(run->message, sizeof run->message, "%s", status == TULLE_OK ? "" : tulle_error_message());
        run->blocks = tulle_mat_tile(A, 0, 0, &tile) == TULLE_OK ? tile.blocks : -1;
        run->blocks_c = tulle_mat_tile(C, 0, 0, &tile) == TULLE_OK ? tile.blocks : -1;
    }
    tulle_status meet = same_everywhere(comm, status);
    if (meet != TULLE_OK) {
        status = meet;
        goto out;
    }
    if (status != TULLE_OK && status != TULLE_ERR_MEMORY && status != TULLE_ERR_COMM) goto out;
    status = plan ? TULLE_OK : tulle_product_new(A, B, C, &o, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_check(plan, &error);
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

/* Every n from 0 until nothing fails any more; device: a format with one %d for the operation, or allocations fail. */
static void sweep(tulle_team *team, int npes, enum family family, tulle_product_alg alg, const char *device, int by_op)
{
    struct blocks before[8] = {{0}}, after[8] = {{0}};
    struct run run = {.family = family, .alg = alg, .rows = 3, .rank = npes - 1, .n = -1, .device = "cpu"};
    char spec[96];
    int64_t failed = 0, wrong = 0, silent = 0, n = 0;
    if (tulle_team_run(team, body, &run) != TULLE_OK) wrong++; /* what a team makes once is there */
    tulle_team_run(team, count_blocks, before);
    for (run.done = 0; !run.done && n < 3000; n++) {
        snprintf(spec, sizeof spec, device, (int)n, run.rank);
        run.device = spec;
        run.n = by_op ? -1 : n;
        tulle_status status = tulle_team_run(team, body, &run);
        if (run.done) break; /* the operation is one of the last execution, or there is none */
        if (status != TULLE_OK && !wrong++) printf("# n = %d: %s\n", (int)n, tulle_error_message());
        failed++;
        silent += by_op ? !strstr(run.message, "operation") : run.first != TULLE_ERR_MEMORY;
    }
    ok(!wrong && !silent && failed > 3, "%s %s on %s: %s, each of %d: %d without their cause, %d wrong afterwards",
        tulle_product_alg_name(alg), families[family], device, by_op ? "operations" : "allocations", (int)failed,
        (int)silent, (int)wrong);
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "nothing is left behind");
}

/* On one PE: what moves. */
static void figures(tulle_team *team)
{
    struct run run = {.family = SPMM, .alg = TULLE_PRODUCT_STATIONARY_C, .rows = 1, .n = -1, .device = "limit+cpu"};
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "one tile of each: %s", tulle_error_message());
    const tulle_device_work *d = &run.report.device;
    int64_t a = (SIZE + 1) * 8 + run.nnz * 12, b = SIZE * COLS * 8;
    ok(d->bytes[0] == a + b && d->copies[0] == 4, "%d bytes up: row pointers, columns, values of A; B",
        (int)d->bytes[0]);
    ok(d->bytes[1] == b && d->copies[1] == 1 && d->kernels == 1 && !d->hits, "%d bytes down: C", (int)d->bytes[1]);
    run.rows = 3;
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "three tile rows: %s", tulle_error_message());
    a = 9 * (SIZE / 3 + 1) * 8 + run.nnz * 12;
    ok(d->bytes[0] == a + b && d->hits == 6 && d->bytes[1] == b,
        "%d bytes up, as tiles of B stay for the next tile row", (int)d->bytes[0]);
    run.family = GEMM;
    run.device = "limit:mem=8000+cpu"; /* a tile of A 3200, of B and of C 1120 */
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "in a memory of one triple and little more: %s",
        tulle_error_message());
    ok(d->bytes[0] == SIZE * SIZE * 8 + b && d->bytes[1] == b, "%d bytes up: B stays while tiles of A pass",
        (int)d->bytes[0]);
    run.device = "limit:mem=5440+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "in a memory of three tiles: %s", tulle_error_message());
    run.device = "limit:mem=5439+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_LIMIT && strstr(tulle_error_message(), "takes 5440"),
        "one byte less: %s", tulle_error_message());
    run.device = "limit+cpyou";
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_ARG, "no device: %s", tulle_error_message());
}

/* The same in blocks, with their norms. */
static void figures_of_block_values(tulle_team *team, const char *device)
{
    struct run run = {.family = BLOCKS, .alg = TULLE_PRODUCT_STATIONARY_C, .rows = 1, .n = -1, .device = device};
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "tiles in blocks on %s: %s", device, tulle_error_message());
    const tulle_device_work *first = &run.report.device, *d = &run.second.device;
    ok(run.second.reused && d->bytes[1] == 8 * (run.nnz_c + run.blocks_c) && d->bytes[1] < first->bytes[1],
        "%s: %d bytes down for %d values and %d norms of blocks, of %d with their structure", device, (int)d->bytes[1],
        (int)run.nnz_c, (int)run.blocks_c, (int)first->bytes[1]);
}

/* The second execution makes values alone. kept: the device keeps the structure of C, else it comes from the host. */
static void figures_of_values(tulle_team *team, const char *device, int kept)
{
    struct run run = {.family = SPGEMM, .alg = TULLE_PRODUCT_STATIONARY_C, .rows = 1, .n = -1, .device = device};
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "sparse tiles on %s: %s", device, tulle_error_message());
    const tulle_device_work *first = &run.report.device, *d = &run.second.device;
    const int64_t width = kept ? 4 : 8, pointers = (SIZE + 1) * width;
    ok(first->bytes[1] == pointers + run.nnz_c * 12 && first->bytes[0] == 2 * (pointers + run.nnz * 12),
        "%s: %d bytes up and %d down for a result", device, (int)first->bytes[0], (int)first->bytes[1]);
    ok(run.second.reused && d->bytes[1] == run.nnz_c * 8, "%s: %d bytes down for its values", device, (int)d->bytes[1]);
    ok(d->bytes[0] == first->bytes[0] + (kept ? 0 : pointers + run.nnz_c * 4), "%s: its structure %s", device,
        kept ? "is there" : "goes up");
}

/* The same of blocks. */
static void figures_of_blocks(tulle_team *team)
{
    struct run run = {.family = BLOCKS, .alg = TULLE_PRODUCT_STATIONARY_C, .rows = 1, .n = -1, .device = "limit+cpu"};
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "one tile of blocks: %s", tulle_error_message());
    const tulle_device_work *d = &run.report.device;
    const int64_t lines = SIZE / BLOCK + 1;
    int64_t a = 3 * lines * 8 + run.blocks * 12 + 8 + run.nnz * 8;
    int64_t c = lines * 8 + run.blocks_c * 20 + 8 + run.nnz_c * 8;
    ok(d->bytes[0] == 2 * a && d->copies[0] == 12, "%d bytes up: A and B with cuts, all arrays but norms",
        (int)d->bytes[0]);
    ok(d->bytes[1] == c && d->copies[1] == 5 && d->kernels == 1, "%d bytes down: C with its norms", (int)d->bytes[1]);
    run.filter = 1e-30;
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "the same with a filter: %s", tulle_error_message());
    ok(d->bytes[0] == 2 * (a + run.blocks * 8) + (lines - 1) * 8 && d->copies[0] == 15,
        "%d bytes up: the filter reads norms, and bounds of rows", (int)d->bytes[0]);
    run.filter = 0;
    run.devices = 2;
    run.rows = run.cols = 3;
    run.device = "limit:peer=8G+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_OK && d->bytes[2] > 0, "%d bytes between two devices: %s",
        (int)d->bytes[2], tulle_error_message());
    run.device = "limit:mem=2K+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_LIMIT, "too small: %s", tulle_error_message());
}

/* Blocks times dense. */
static void figures_of_blocks_times_dense(tulle_team *team)
{
    struct run run = {
        .family = BLOCKS_SPMM, .alg = TULLE_PRODUCT_STATIONARY_C, .rows = 1, .n = -1, .device = "limit+cpu"};
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "one tile of blocks times a dense one: %s", tulle_error_message());
    const tulle_device_work *d = &run.report.device;
    const int64_t b = SIZE * COLS * 8, a = 3 * (SIZE / BLOCK + 1) * 8 + run.blocks * 12 + 8 + run.nnz * 8;
    ok(d->bytes[0] == a + b && d->copies[0] == 7, "%d bytes up: all arrays of A but norms, and B", (int)d->bytes[0]);
    ok(d->bytes[1] == b && d->copies[1] == 1 && d->kernels == 1, "%d bytes down: C", (int)d->bytes[1]);
    run.device = "limit:mem=4K+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_LIMIT && strstr(tulle_error_message(), "a product of two tiles"),
        "too small: %s", tulle_error_message());
}

/* On one PE with several devices, where all tiles fit (case (a) of the model): what moves, and between whom. */
static void several(tulle_team *team, tulle_product_alg alg, int devices)
{
    struct run run = {.family = GEMM, .alg = alg, .rows = 3, .cols = 3, .devices = devices, .n = -1};
    const tulle_device_work *d = &run.report.device;
    const char *name = tulle_product_alg_name(alg);
    int64_t a = SIZE * SIZE * 8, b = SIZE * COLS * 8, c = b;
    run.device = "limit:peer=8G+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_OK && d->devices == devices, "%s on %d devices: %s", name, devices,
        tulle_error_message());
    ok(d->bytes[0] == a + b && d->copies[0] == 18, "%d bytes up: A and B once, whatever the devices are",
        (int)d->bytes[0]);
    ok(d->bytes[1] == c && d->copies[1] == 9, "%d bytes down in %d copies: C once", (int)d->bytes[1],
        (int)d->copies[1]);
    ok(d->bytes[2] == (devices - 1) * a && d->copies[2] == (devices - 1) * 9,
        "%d bytes from sisters: A for each device but one, nothing of B", (int)d->bytes[2]);
    run.device = "limit+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_OK && d->bytes[0] == devices * a + b && !d->bytes[2],
        "no peers: %d bytes up, A for each device", (int)d->bytes[0]);
    run.unpinned = true;
    run.device = "limit:peer=8G+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_OK, "not pinned: %s", tulle_error_message());
    ok(d->bytes[0] == a + b && d->bytes[1] >= c, "not pinned: %d bytes up, %d down", (int)d->bytes[0],
        (int)d->bytes[1]);
    if (devices == 2 && alg == TULLE_PRODUCT_STATIONARY_C)
        ok(d->bytes[2] == a + b && d->bytes[1] == c, "not pinned: %d bytes from sisters, of A and B", (int)d->bytes[2]);
}

/* Several devices with little memory, whose work is late: results are right. */
static void crowded(tulle_team *team, enum family family, tulle_product_alg alg, bool unpinned)
{
    static const char *const specs[] = {"limit:mem=9K,peer=1G+cpu", "late:seed=5+limit:mem=14K,peer=1G+cpu",
        "late+limit:mem=30K+cpu", "limit:mem=1M,peer=1G+ref"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (int devices = 1; devices <= 3; devices++) {
            struct run run = {.family = family,
                .alg = alg,
                .device = specs[s],
                .rows = 3,
                .cols = family == SPGEMM || family == BLOCKS ? 3 : 4,
                .devices = devices,
                .unpinned = unpinned,
                .n = -1};
            if ((family == SPGEMM && s < 2) || (family == BLOCKS && s < 3)) continue; /* a sparse result wants more */
            ok(tulle_team_run(team, body, &run) == TULLE_OK, "%s %s, %d devices %s%s: %s", tulle_product_alg_name(alg),
                families[family], devices, specs[s], unpinned ? ", not pinned" : "", tulle_error_message());
        }
}

int main(int argc, char **argv)
{
    tulle_device_facts facts;
    if (argc != 2 && argc != 3) return fprintf(stderr, "usage: %s PES [cuda]\n", argv[0]), 2;
    if (argc == 3 && tulle_device_probe(argv[2], &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    int npes = atoi(argv[1]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(npes > 1 ? "threads:direct=off" : "threads", npes, &options, &team) == TULLE_OK, "open: %s",
            tulle_error_message()))
        return tap_done();
    if (npes == 1) figures(team);
    if (npes == 1) figures_of_blocks(team);
    if (npes == 1) figures_of_blocks_times_dense(team);
    if (npes == 1) figures_of_values(team, "limit+cpu", 0);
    if (npes == 1) figures_of_block_values(team, "limit+cpu");
    if (npes == 1 && argc == 3) { /* that has memory of its own */
        figures_of_values(team, argv[2], 1);
        figures_of_block_values(team, argv[2]);
        tulle_team_free(team);
        return tap_done();
    }
    for (int devices = 1; devices <= 3 && npes == 1; devices++) {
        several(team, TULLE_PRODUCT_STATIONARY_C, devices);
        several(team, TULLE_PRODUCT_SUMMA, devices);
    }
    static const tulle_product_alg algs[] = {
        TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_B, TULLE_PRODUCT_STEAL_RANDOM_A, TULLE_PRODUCT_SUMMA};
    for (size_t a = 0; a < sizeof algs / sizeof *algs; a++)
        for (enum family f = SPMM; f < FAMILIES; f++) {
            crowded(team, f, algs[a], false);
            crowded(team, f, algs[a], true);
            if (f == BLOCKS && algs[a] != TULLE_PRODUCT_STATIONARY_C) continue;
            sweep(team, npes, f, algs[a], "fault:op=%d,rank=%d+limit:mem=60K+cpu", 1);
            if (algs[a] == TULLE_PRODUCT_STATIONARY_C) sweep(team, npes, f, algs[a], "fault:op=%d,rank=%d+late+cpu", 1);
            if (algs[a] == TULLE_PRODUCT_STATIONARY_C) sweep(team, npes, f, algs[a], "limit:mem=60K+cpu", 0);
        }
    tulle_team_free(team);
    return tap_done();
}
