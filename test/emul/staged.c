/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of products between the host and an emulated GPU: staged SPEC PES DEVICE [there]. Run with EMUL_PAGEABLE, with
 * which the emulation complains of large copies of memory that is not pinned. Tiles of tens of kilobytes to megabytes,
 * with and without gaps, of this PE, of its neighbours and got from others; sparse results and their values; a dense,
 * device-resident C that is added to. there: what other PEs send lands on the GPU itself.
 */
#include <stdio.h>
#include <string.h>

#include <tulle/io.h>
#include <tulle/product.h>

#include "body.h"
#include "dealt_matrix.h"
#include "tap.h"

enum kind { SPMM, GEMM, SPGEMM, BLOCKS, RESIDENT, KINDS };
static const char *const kinds[] = {"spmm", "gemm", "spgemm", "spgemm of blocks", "resident gemm"};

struct run {
    enum kind kind;
    tulle_product_alg alg;
    const char *device;
    int devices;
    int apart;  /* A's columns and B's rows are cut in different places */
    int64_t up; /* bytes that went up in the first execution, of all PEs */
    double error;
};

enum { ROWS = 6000, COLS = 130, SIZE = 300 };

static tulle_status make_operands(tulle_comm *comm, const struct run *run, tulle_mat **A, tulle_mat **B)
{
    const int tiles = tulle_comm_size(comm);
    const char *const sparse = run->kind == BLOCKS ? "er:n=6000,degree=1" : "er:n=6000,degree=4";
    const int block = run->kind == BLOCKS ? 4 : 0;
    tulle_status status;
    if (run->kind == GEMM || run->kind == RESIDENT) {
        const int other = run->apart ? tiles + 1 : tiles;
        TULLE_TRY(dealt_matrix(comm, SIZE, SIZE, tiles, tiles, NULL, 0, A));
        TULLE_TRY(dealt_matrix(comm, SIZE, SIZE, other, run->apart ? 2 : 1, NULL, 0, B));
    } else {
        TULLE_TRY(dealt_matrix(comm, ROWS, ROWS, tiles, tiles, sparse, block, A));
        if (run->kind == SPMM)
            TULLE_TRY(dealt_matrix(comm, ROWS, COLS, run->apart ? tiles + 1 : tiles, 1, NULL, 0, B));
        else
            TULLE_TRY(dealt_matrix(comm, ROWS, ROWS, tiles, tiles, sparse, block, B));
    }
out:
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_layout *l = NULL;
    tulle_product *plan = NULL;
    tulle_product_report first, second;
    const tulle_product_devices devices = {.count = run->devices, .resident = run->kind == RESIDENT};
    const tulle_product_options o = {.alg = run->alg, .device = run->device, .devices = &devices};
    double error;
    tulle_status status;
    TULLE_TRY(make_operands(comm, run, &A, &B));
    TULLE_TRY(tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &l));
    if (run->kind == SPGEMM)
        TULLE_TRY(tulle_mat_new_csr(comm, l, TULLE_F64, &C));
    else if (run->kind == BLOCKS)
        TULLE_TRY(tulle_mat_new_vbsr(comm, l, TULLE_F64, &C));
    else
        TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &o, &plan));
    if (run->kind == RESIDENT) { /* what it adds to comes from the host once */
        TULLE_TRY(tulle_mat_fill_random(C, 1));
        TULLE_TRY(tulle_product_execute(plan, 0, 1, &first));
    } else {
        TULLE_TRY(tulle_product_execute(plan, 1, 0, &first));
    }
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &second));
    if (run->kind == RESIDENT) TULLE_TRY(tulle_product_sync(plan));
    TULLE_TRY(tulle_product_check(plan, &error));
    if (tulle_comm_rank(comm) == 0) {
        run->error = error;
        run->up = first.device.bytes[0];
    }
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) return fprintf(stderr, "usage: %s SPEC PES DEVICE [there]\n", argv[0]), 2;
    const int npes = atoi(argv[2]), there = argc == 5;
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 29, .threads = 2};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    static const tulle_product_alg algs[] = {TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_SUMMA};
    struct blocks before[8] = {{0}}, after[8] = {{0}};
    const int counted = strncmp(argv[1], "mpi", 3) != 0; /* of processes each knows its own alone */
    for (enum kind k = SPMM; k < KINDS; k++)
        for (int apart = 0; apart <= (k == SPMM || k == GEMM); apart++)
            for (int a = 0; a < (k == RESIDENT || apart ? 1 : 2); a++)
                for (int devices = 1; devices <= (k == RESIDENT || a || npes > 2 ? 1 : 2); devices++) {
                    struct run run = {.kind = k, .alg = algs[a], .device = argv[3], .devices = devices, .apart = apart};
                    if (counted) tulle_team_run(team, count_blocks, before);
                    tulle_status status = tulle_team_run(team, body, &run);
                    if (counted) tulle_team_run(team, count_blocks, after);
                    ok(status == TULLE_OK, "%s %s%s, %d devices: check %.1e %s", tulle_product_alg_name(algs[a]),
                        kinds[k], apart ? ", cut apart" : "", devices, run.error,
                        status == TULLE_OK ? "" : tulle_error_message());
                    if (counted && (k || a || devices > 1)) /* what a team makes once is there */
                        ok(!memcmp(before, after, (size_t)npes * sizeof *after), "nothing is left behind");
                    if (k != GEMM || a || apart || devices > 1 || npes != 2) continue;
                    const int64_t up = (int64_t)SIZE * SIZE * 8 * (there ? 2 : 3);
                    if (tulle_team_leads(team))
                        ok(run.up == up, "%lld bytes went up, of each PE its rows of A and %s of B", (long long)run.up,
                            there ? "its own" : "all");
                }
    tulle_team_free(team);
    return tap_done();
}
