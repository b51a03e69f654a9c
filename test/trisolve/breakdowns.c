/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures of solves over a network: breakdowns PES. The n-th transfer of a PE fails, for many n:
 * all PEs return the same failure, and without a failure the solve is right. A row waits beyond the
 * limit: the solve fails and names it.
 */
#include <string.h>

#include "tap.h"
#include "triangles.h"

static const tulle_trisolve_method methods[] = {TULLE_TRISOLVE_PUSH, TULLE_TRISOLVE_UNIFIED,
    TULLE_TRISOLVE_UNIFIED_TASKS, TULLE_TRISOLVE_SHMEM, TULLE_TRISOLVE_ZEROCOPY};
enum { METHODS = sizeof methods / sizeof *methods };

struct run {
    tulle_trisolve_method method;
    struct triangle t;
};

static tulle_status make(tulle_comm *comm, const struct run *run, tulle_mat **T, tulle_mat **B, tulle_mat **X)
{
    int size = tulle_comm_size(comm);
    tulle_layout *square = NULL, *thin = NULL;
    tulle_layout_spec spec = {.m = run->t.n, .n = run->t.n, .grid_rows = size, .grid_cols = 1, .tile_cols = 1};
    spec.tile_rows = size;
    tulle_status status = tulle_layout_new(&spec, size, &square);
    spec.n = 2;
    if (status == TULLE_OK) status = tulle_layout_new(&spec, size, &thin);
    if (status == TULLE_OK) status = distribute_triangle(comm, &run->t, square, TULLE_F64, T);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, thin, TULLE_F64, TULLE_ROW_MAJOR, B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, thin, TULLE_F64, TULLE_ROW_MAJOR, X);
    if (status == TULLE_OK) status = fill_sides(*B);
    tulle_layout_free(square);
    tulle_layout_free(thin);
    return status;
}

/* Set-up, two solves and a check, with a failure anywhere; the team frees the rest. */
/* True if the method reads options.tasks. */
static bool in_tasks(tulle_trisolve_method method)
{
    return method == TULLE_TRISOLVE_PUSH || method == TULLE_TRISOLVE_UNIFIED_TASKS || method == TULLE_TRISOLVE_ZEROCOPY;
}

static tulle_status solve(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_mat *T = NULL, *B = NULL, *X = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_options options = {
        .method = run->method, .uplo = TULLE_LOWER, .patience = 20, .tasks = in_tasks(run->method) ? 3 : 0};
    double error = 0;
    tulle_status status = make(comm, run, &T, &B, &X);
    if (status == TULLE_OK) status = tulle_trisolve_new(T, &options, &solver);
    for (int i = 0; i < 2 && status == TULLE_OK; i++) status = tulle_trisolve_execute(solver, B, X, NULL);
    if (status == TULLE_OK) status = tulle_trisolve_check(T, &options, B, X, &error);
    if (status != TULLE_OK) return status;
    tulle_trisolve_free(solver);
    tulle_mat_free(T);
    tulle_mat_free(B);
    tulle_mat_free(X);
    return TULLE_OK;
}

/* A run ends with every failure, and the last one has none. */
static void break_transfers(tulle_trisolve_method method, int npes)
{
    struct run run = {.method = method, .t = {.n = 40, .structure = RANDOM}};
    int failures = 0, wrong = 0;
    tulle_status status = TULLE_ERR_COMM;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    for (int n = 0, step = 1; n < 100000; n += step) {
        char spec[64];
        tulle_team *team;
        snprintf(spec, sizeof spec, "fault:op=%d,rank=%d+threads", n, npes - 1);
        if (tulle_team_new(spec, npes, &options, &team) != TULLE_OK) {
            wrong++;
            break;
        }
        status = tulle_team_run(team, solve, &run);
        if (status != TULLE_OK && !strstr(tulle_error_message(), "as asked for")) wrong++;
        tulle_team_free(team);
        if (status == TULLE_OK) break;
        failures++;
        step = 1 + n / 16; /* about equally many everywhere */
    }
    ok(status == TULLE_OK && !wrong && failures > 20, "%s: %d transfers that fail, %d wrong: %s",
        tulle_trisolve_method_name(method), failures, wrong, tulle_error_message());
}

/*
 * A chain that alternates between PEs: a solve ends with the row's name, on all PEs, and the next
 * one is right.
 */
static tulle_status lose_patience(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_mat *T = NULL, *B = NULL, *X = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_options options = {
        .method = run->method, .uplo = TULLE_LOWER, .patience = 1e-9, .tasks = in_tasks(run->method) ? 50 : 0};
    tulle_status status, met = TULLE_OK;
    TULLE_TRY(make(comm, run, &T, &B, &X));
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    for (int tries = 0, done = 0; tries < 500 && !done; tries++) { /* a late PE need not wait */
        met = tulle_trisolve_execute(solver, B, X, NULL);
        TULLE_TRY(same_everywhere(comm, met));
        done = met != TULLE_OK;
    }
    EXPECT(met == TULLE_ERR_STATE && strstr(tulle_error_message(), "row ") && strstr(tulle_error_message(), "waited"));
    tulle_trisolve_free(solver);
    solver = NULL;
    options.patience = 20;
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
    TULLE_TRY(tulle_trisolve_check(T, &options, B, X, &(double){0}));
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(T);
    tulle_mat_free(B);
    tulle_mat_free(X);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: %s PES\n", argv[0]), 2;
    int npes = atoi(argv[1]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 27, .threads = 1};
    for (int m = 0; m < METHODS; m++) break_transfers(methods[m], npes);
    /* atomics that take a round trip make waits certain */
    if (!ok(tulle_team_new("net:latency=20us,bw=1G+threads", npes, &options, &team) == TULLE_OK, "open: %s",
            tulle_error_message()))
        return tap_done();
    for (int m = 0; m < METHODS; m++) {
        struct run run = {.method = methods[m], .t = {.n = 600, .structure = CHAIN}};
        ok(tulle_team_run(team, lose_patience, &run) == TULLE_OK, "%s: a row that waits too long: %s",
            tulle_trisolve_method_name(methods[m]), tulle_error_message());
    }
    tulle_team_free(team);
    return tap_done();
}
