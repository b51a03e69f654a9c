/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves on a device, and a new analysis of values, while the n-th allocation of PE 0 fails, for every n:
 * device_failures PES DEVICE. All PEs return the same failure, nothing is left behind, and what was made is right
 * afterwards.
 */
#include <stdio.h>
#include <string.h>

#include <tulle/device.h>
#include <tulle/io.h>
#include <tulle/trisolve.h>

#include "base/memory.h"
#include "body.h"
#include "comm/comm.h"
#include "tap.h"

enum { SOLVES = 8, MOST = 2000 }; /* more solves than auto compares by */

struct run {
    const char *device;
    tulle_trisolve_method method;
    int64_t n; /* allocation that fails; < 0: none */
    int done;  /* out: nothing has failed */
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    const int leads = tulle_comm_rank(comm) == 0;
    const tulle_trisolve_options options = {.method = run->method, .device = run->device};
    tulle_layout_spec spec = {.n = 2, .tile_rows = 1, .tile_cols = 1, .grid_rows = 1, .grid_cols = 1};
    tulle_layout *one = NULL;
    tulle_mat *A = NULL, *T = NULL, *B = NULL, *X = NULL;
    tulle_trisolve *solver = NULL;
    tulle_status status, outcome;
    double error;
    TULLE_TRY(tulle_mat_load(comm, "fem:nodes=4,dof=1", NULL, TULLE_CSR, NULL, NULL, &A));
    spec.m = tulle_mat_rows(A);
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &one));
    TULLE_TRY(tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, &T));
    TULLE_TRY(tulle_mat_new_dense(comm, one, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, one, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_fill_random(B, 3));
    if (leads && run->n >= 0) tulle__account_fail_after(comm->pe->account, run->n);
    outcome = tulle_trisolve_new(T, &options, &solver);
    for (int k = 0; k < SOLVES && outcome == TULLE_OK; k++) outcome = tulle_trisolve_execute(solver, B, X, NULL);
    const int updates = outcome == TULLE_OK;
    if (updates) outcome = tulle_trisolve_update(solver);
    if (leads) tulle__account_fail_after(comm->pe->account, -1);
    if (leads) run->done = outcome == TULLE_OK;
    TULLE_TRY(same_everywhere(comm, outcome));
    EXPECT(outcome == TULLE_OK || outcome == TULLE_ERR_MEMORY);
    if (!solver) TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    if (updates && outcome != TULLE_OK) { /* without values until an update succeeds */
        EXPECT(tulle_trisolve_execute(solver, B, X, NULL) == TULLE_ERR_STATE);
        TULLE_TRY(tulle_trisolve_update(solver));
    }
    TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
    TULLE_TRY(tulle_trisolve_check(T, &options, B, X, &error));
    EXPECT(error <= 1);
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(T);
    tulle_mat_free(A);
    tulle_layout_free(one);
    return status;
}

static void sweep(tulle_team *team, int npes, struct run run)
{
    struct blocks before[8] = {{0}}, after[8] = {{0}};
    tulle_status status;
    run.n = -1;
    status = tulle_team_run(team, body, &run); /* what a team makes once is there */
    tulle_team_run(team, count_blocks, before);
    for (run.done = 0, run.n = 0; status == TULLE_OK && !run.done && run.n < MOST; run.n++)
        status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK && run.done && run.n > 10, "%s on %s, each of %d allocations fails: %s",
        tulle_trisolve_method_name(run.method), run.device, (int)run.n - 1,
        status == TULLE_OK ? "agreed, and right afterwards" : tulle_error_message());
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "nothing is left behind");
}

int main(int argc, char **argv)
{
    tulle_device_facts facts;
    if (argc != 3) return fprintf(stderr, "usage: %s PES DEVICE\n", argv[0]), 2;
    const int npes = atoi(argv[1]), gpu = strstr(argv[2], "cuda") != NULL;
    if (gpu && tulle_device_probe(argv[2], &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    const tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    tulle_team *team;
    if (!ok(tulle_team_new("threads", npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    static const tulle_trisolve_method methods[] = {
        TULLE_TRISOLVE_AUTO, TULLE_TRISOLVE_SERIAL, TULLE_TRISOLVE_LEVELS, TULLE_TRISOLVE_PUSH};
    for (int m = 0; m < (gpu ? 4 : 2); m++) sweep(team, npes, (struct run){.device = argv[2], .method = methods[m]});
    tulle_team_free(team);
    return tap_done();
}
