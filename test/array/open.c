/* SPDX-License-Identifier: Apache-2.0 */
/* A team without a body: open. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <tulle/tulle.h>

#include "tap.h"

/* Results belong to the caller: a team that was closed has not freed them. */
static void results_outlive_the_team(void)
{
    int ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1};
    double val[] = {2, -1, -1, 2}, x[] = {1, 2};
    tulle_comm *comm = NULL;
    ok(tulle_open(NULL, &comm) == TULLE_OK, "open: %s", tulle_error_message());
    tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), X = TULLE_ARRAY_DENSE(2, 1, x),
                results[] = {{.storage = TULLE_STORAGE_CSR}, {.storage = TULLE_STORAGE_COO},
                    {.storage = TULLE_STORAGE_DENSE}, {.storage = TULLE_STORAGE_DENSE}};
    ok(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &results[0], NULL, NULL) == TULLE_OK &&
            tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &results[1], NULL, NULL) == TULLE_OK &&
            tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &X, 0, &results[2], NULL, NULL) == TULLE_OK &&
            tulle_solve(comm, &A, &X, &results[3], NULL, NULL) == TULLE_OK,
        "results: %s", tulle_error_message());
    tulle_close(comm);
    ok(((double *)results[0].val)[0] == 5 && ((int *)results[0].ptr)[2] == 4 && ((double *)results[1].val)[3] == 5 &&
            ((double *)results[2].val)[1] == 3 && ((double *)results[3].val)[0] > 1.3,
        "results after the team was closed");
    tulle_open(NULL, &comm);
    ok(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &results[0], &A, 0, &results[0], NULL, NULL) == TULLE_OK &&
            ((double *)results[0].val)[0] == 14,
        "one of them is an operand of another team's, and replaced: %s", tulle_error_message());
    tulle_close(comm);
    for (int r = 0; r < 4; r++) tulle_array_free(&results[r]);
}

/* A call from another thread, in the middle of this one's. */
struct meanwhile {
    tulle_comm *comm;
    tulle_status status;
    char message[512];
    int steps;
};

static void *multiply_meanwhile(void *arg)
{
    struct meanwhile *m = arg;
    int ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1};
    double val[] = {2, -1, -1, 2}, x[] = {1, 2}, y[2];
    tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), X = TULLE_ARRAY_DENSE(2, 1, x),
                Y = TULLE_ARRAY_DENSE(2, 1, y);
    m->status = tulle_multiply(m->comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &X, 0, &Y, NULL, NULL);
    snprintf(m->message, sizeof m->message, "%s", tulle_error_message());
    return NULL;
}

static void watch(void *arg, const tulle_krylov_step *step)
{
    pthread_t thread;
    struct meanwhile *m = arg;
    (void)step;
    if (m->steps++ || pthread_create(&thread, NULL, multiply_meanwhile, m) != 0) return;
    pthread_join(thread, NULL);
}

/* One thread at a time: another one is refused, not left hanging, and each may have a comm of its own. */
static void two_threads(void)
{
    int ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1};
    double val[] = {2, -1, -1, 2}, b[] = {1, 1};
    tulle_comm *comm[2] = {NULL, NULL};
    ok(tulle_open(NULL, &comm[0]) == TULLE_OK && tulle_open(NULL, &comm[1]) == TULLE_OK, "two comms");
    for (int own = 0; own < 2; own++) {
        struct meanwhile m = {.comm = comm[own], .status = TULLE_STATUS_COUNT};
        const tulle_krylov_options krylov = {.watch = watch, .arg = &m};
        const tulle_solve_options options = {.krylov = &krylov};
        tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), B = TULLE_ARRAY_DENSE(2, 1, b),
                    X = {.storage = TULLE_STORAGE_DENSE};
        tulle_status status = tulle_solve(comm[0], &A, &B, &X, &options, NULL);
        ok(status == TULLE_OK && ((double *)X.val)[1] > 0.99, "a solve, with another thread's call: %s",
            tulle_error_message());
        ok(m.status == (own ? TULLE_OK : TULLE_ERR_STATE) && (own || strstr(m.message, "another thread")),
            "that call with %s comm: %s", own ? "another" : "the same", m.message);
        multiply_meanwhile(&m);
        ok(m.status == TULLE_OK, "and once more afterwards");
        tulle_array_free(&X);
    }
    tulle_close(comm[1]);
    tulle_close(comm[0]);
}

int main(void)
{
    int ptr[] = {0, 2, 4}, col[] = {0, 1, 0, 1};
    double val[] = {2, -1, -1, 2}, x[] = {1, 2}, y[2] = {0};
    tulle_comm *comm = NULL, *other = NULL;
    tulle_team_options small = {.memory = (size_t)64 << 20, .threads = 2};
    tulle_open_options options = {.spec = "check+threads:direct=off", .team = &small};
    ok(tulle_open(NULL, &comm) == TULLE_OK, "open: %s", tulle_error_message());
    ok(tulle_open(&options, &other) == TULLE_OK, "another beside it: %s", tulle_error_message());
    ok(tulle_comm_size(comm) == 1 && tulle_comm_size(other) == 1, "one PE each");
    for (int round = 0; round < 3; round++) {
        tulle_comm *at = round % 2 ? other : comm;
        tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), X = TULLE_ARRAY_DENSE(2, 1, x),
                    Y = TULLE_ARRAY_DENSE(2, 1, y), C = {.storage = TULLE_STORAGE_CSR};
        tulle_status status = tulle_multiply(at, TULLE_OP_N, TULLE_OP_N, 1, &A, &X, 0, &Y, NULL, NULL);
        ok(status == TULLE_OK && y[0] == 0 && y[1] == 3, "y = A x: %g %g", y[0], y[1]);
        ok(tulle_multiply(at, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &C, NULL, NULL) == TULLE_OK && C.nnz == 4 &&
                C.ptr_bytes == 4 && ((const double *)C.val)[0] == 5,
            "C = A A");
        tulle_array_free(&C);
        tulle_mat *missing = NULL;
        ok(tulle_mat_load(at, "/nowhere/there.mtx", NULL, TULLE_CSR, NULL, NULL, &missing) == TULLE_ERR_IO,
            "a failing call: %s", tulle_error_message());
    }
    tulle_mat *kept = NULL;
    ok(tulle_mat_load(comm, "band:n=100,lower=2", NULL, TULLE_CSR, NULL, NULL, &kept) == TULLE_OK && kept,
        "a matrix that the team frees");
    tulle_close(comm);
    tulle_close(other);
    tulle_close(NULL);
    results_outlive_the_team();
    two_threads();
    /* products of this team are made on a device, whose kernels are counted; one that there is not says so */
    char device[] = "limit:mem=1M+cpu";
    options = (tulle_open_options){.device = device};
    ok(tulle_open(&options, &comm) == TULLE_OK, "with a device: %s", tulle_error_message());
    memset(device, 'x', 5);
    for (int own = 0; own < 2; own++) {
        const tulle_product_devices two = {.count = 2};
        const tulle_product_options there = {.device = "cpu", .devices = &two};
        tulle_product_report report;
        tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), C = {.storage = TULLE_STORAGE_CSR};
        tulle_status status =
            tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &C, own ? &there : NULL, &report);
        ok(status == TULLE_OK && report.device.devices == 1 + own && report.device.kernels == 1, "%d devices of %s: %s",
            report.device.devices, own ? "the product" : "the team", tulle_error_message());
        tulle_array_free(&C);
    }
    tulle_close(comm);
    options = (tulle_open_options){.device = "nonesuch"};
    if (ok(tulle_open(&options, &comm) == TULLE_OK, "%s", tulle_error_message())) {
        tulle_array A = TULLE_ARRAY_CSR(2, 2, ptr, col, val), C = {.storage = TULLE_STORAGE_CSR};
        ok(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &A, 0, &C, NULL, NULL) != TULLE_OK &&
                strstr(tulle_error_message(), "nonesuch"),
            "%s", tulle_error_message());
        tulle_close(comm);
    }
    options = (tulle_open_options){.spec = "sim:platform=summit"};
    tulle_status status = tulle_engine_usable("sim") ? tulle_open(&options, &comm) : TULLE_ERR_UNSUPPORTED;
    ok(status == TULLE_ERR_UNSUPPORTED, "a simulation has bodies: %s", tulle_error_message());
    options = (tulle_open_options){.spec = "nonesuch"};
    ok(tulle_open(&options, &comm) != TULLE_OK, "%s", tulle_error_message());
    return tap_done();
}
