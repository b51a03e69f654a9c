/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle_comm_interrupt: an operation that would go on for hours ends on all PEs, by another thread
 * or a signal handler of one of them, and everything can be used afterwards.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <tulle/tulle.h>

#include "body.h"
#include "tap.h"

static tulle_comm *interrupted_by_signal;

static void on_signal(int number)
{
    (void)number;
    tulle_comm_interrupt(interrupted_by_signal, true);
}

/* Interrupts the team after three iterations: itself, by another thread, or in a signal handler. */
struct watch {
    tulle_comm *comm;
    int by, calls;
};

static void *other_thread(void *comm)
{
    tulle_comm_interrupt(comm, true);
    return NULL;
}

static void watch(void *arg, const tulle_krylov_step *step)
{
    struct watch *w = arg;
    pthread_t thread;
    (void)step;
    if (++w->calls != 3) return;
    switch (w->by) {
    case 0:
        tulle_comm_interrupt(w->comm, true);
        break;
    case 1:
        if (pthread_create(&thread, NULL, other_thread, w->comm) == 0) pthread_join(thread, NULL);
        break;
    default:
        interrupted_by_signal = w->comm;
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    }
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const tulle_krylov_method *method = arg;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_product *product = NULL;
    tulle_layout *layout = NULL;
    tulle_status status;
    tulle_operator op = {0};
    TULLE_TRY(tulle_mat_load(comm, "stencil3d:n=10", NULL, TULLE_CSR, NULL, NULL, &A));
    const int pes = tulle_comm_size(comm);
    const tulle_layout_spec spec = {.m = tulle_mat_rows(A), .n = 2, .grid_rows = pes, .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&spec, pes, &layout));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_fill_random(B, 5));
    TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
    for (int by = 0; by < 3; by++) {
        struct watch w = {.comm = comm, .by = by};
        /* no residual is small enough: only the interruption ends it */
        tulle_krylov_options options = {
            .method = *method, .tolerance = TULLE_NONE, .max_iterations = 1 << 30, .watch = watch, .arg = &w};
        tulle_status ended = tulle_krylov_solve(&op, NULL, B, X, &options, NULL);
        EXPECT(ended == TULLE_ERR_INTERRUPTED);
        EXPECT(tulle_comm_rank(comm) != 0 || w.calls <= 4);
        options = (tulle_krylov_options){.method = *method};
        TULLE_TRY(tulle_krylov_solve(&op, NULL, B, X, &options, NULL));
    }
    /* one PE's wish ends everybody's next operation, once; or is taken back */
    TULLE_TRY(tulle_product_new(A, B, X, NULL, &product));
    if (tulle_comm_rank(comm) == pes - 1) tulle_comm_interrupt(comm, true);
    EXPECT(tulle_product_execute(product, 1, 0, NULL) == TULLE_ERR_INTERRUPTED);
    TULLE_TRY(tulle_product_execute(product, 1, 0, NULL));
    tulle_comm_interrupt(comm, true);
    tulle_comm_interrupt(comm, false);
    TULLE_TRY(tulle_product_execute(product, 1, 0, NULL));
out:
    tulle_product_free(product);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(layout);
    return status;
}

int main(int argc, char **argv)
{
    static tulle_krylov_method methods[] = {TULLE_KRYLOV_CG, TULLE_KRYLOV_BLOCK_CG, TULLE_KRYLOV_GMRES};
    const int pes = argc > 2 ? atoi(argv[2]) : 1;
    tulle_team *team = NULL;
    char spec[128];
    if (argc < 3) return EXIT_FAILURE;
    snprintf(spec, sizeof spec, "%s", argv[1]);
    ok(tulle_team_new(spec, pes, NULL, &team) == TULLE_OK, "%s, %d PEs", spec, pes);
    for (int m = 0; m < 3; m++) {
        tulle_status status = tulle_team_run(team, body, &methods[m]);
        ok(status == TULLE_OK, "%s ends early and can be used again: %s", tulle_krylov_method_name(methods[m]),
            status ? tulle_error_message() : "");
    }
    tulle_team_free(team);
    return tap_done();
}
