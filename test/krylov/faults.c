/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of one PE fail in turn, the first, the EVERY-th after it, ...: all PEs return that
 * failure from the solve, and the same solve then succeeds: faults PES EVERY METHOD PRECOND.
 */
#include "systems.h"
#include "tap.h"

enum { EDGE = 8, MOST = 4000 };

struct attempt {
    tulle_krylov_method method;
    tulle_precond_kind precond;
    /* PE 0's: everything before succeeded; the first solve failed, and the second one did not */
    int solving, again;
    tulle_status outcome[64]; /* of the first solve */
};

static double side_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return side(i, c);
}

static tulle_status once(tulle_comm *comm, void *arg)
{
    struct attempt *a = arg;
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_krylov_options options = {0};
    int leads = tulle_comm_rank(comm) == 0;
    options.method = a->method;
    options.restart = a->method == TULLE_KRYLOV_GMRES ? 3 : 0;
    TULLE_TRY(make_layout(comm, EDGE * EDGE, a->method == TULLE_KRYLOV_BLOCK_CG ? 3 : 1, 0, 1, &layout));
    TULLE_TRY(distribute(comm, POISSON, EDGE * EDGE, 0, 1, TULLE_F64, -1, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(fill(B, side_of, NULL));
    TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
    TULLE_TRY(tulle_precond_new(A, a->precond, NULL, &M));
    if (leads) a->solving = 1;
    status = tulle_krylov_solve(&op, &M, B, X, &options, NULL);
    a->outcome[tulle_comm_rank(comm)] = status;
    if (status != TULLE_OK && tulle_krylov_solve(&op, &M, B, X, &options, NULL) == TULLE_OK && leads) a->again = 1;
out:
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(layout);
    return status;
}

int main(int argc, char **argv)
{
    struct attempt a;
    int npes = argc == 5 ? atoi(argv[1]) : 0, every = argc == 5 ? atoi(argv[2]) : 0, n = 0, met = 0, wrong = 0;
    tulle_status status = TULLE_ERR_COMM;
    if (npes < 1 || every < 1) return fprintf(stderr, "usage: %s PES EVERY METHOD PRECOND\n", argv[0]), 2;
    for (; n < MOST && status != TULLE_OK && !wrong; n += every) {
        char spec[60];
        tulle_team *team;
        tulle_team_options options = {.memory = (size_t)npes << 25, .threads = 1};
        a = (struct attempt){.solving = 0};
        if (tulle_krylov_method_parse(argv[3], &a.method) || tulle_precond_kind_parse(argv[4], &a.precond)) return 2;
        snprintf(spec, sizeof spec, "fault:op=%d,rank=%d+threads", n, npes - 1);
        status = tulle_team_new(spec, npes, &options, &team);
        if (status != TULLE_OK) break;
        status = tulle_team_run(team, once, &a);
        wrong = status != TULLE_OK && !strstr(tulle_error_message(), "as asked for");
        for (int pe = 0; a.solving && pe < npes; pe++) wrong |= a.outcome[pe] != a.outcome[0];
        wrong |= a.solving && status != TULLE_OK && !a.again;
        met += a.solving && status != TULLE_OK;
        tulle_team_free(team);
    }
    ok(status == TULLE_OK && met > 20, "%s, %s: of %d transfers every %d fails, %d of them in the solve: %s", argv[3],
        argv[4], n - every, every, met, status ? tulle_error_message() : "as it should");
    return tap_done();
}
