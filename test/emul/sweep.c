/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep PES SLABS KIND [STRIDE [each]]: streams a small matrix through the emulated GPU and lets one CUDA call after
 * the other fail: the n-th of a run, for each n (or each STRIDE-th). KIND `fail`: the call fails, once; `lose`: the
 * device is lost with it. SLABS -1, -2, -3: a triangle is solved by the devices of all PEs instead, by push, zerocopy,
 * unified; -4: they compute a function of a matrix and a density matrix; -5: the device of PE 0 solves a triangle, by
 * auto. Each run ends with a status and a message, or is right; it leaves nothing on the device, and threads the
 * contexts that they had; and the run behind it is right. SLABS 0: the matrix stays on the device. each: each buffer of
 * the device is an allocation, so that the n-th call is more often one of these.
 */
#include <inttypes.h>

#include <tulle/density.h>

#include "emulation.h"
#include "matfun/problem.h"
#include "stream/streams.h"
#include "tap.h"

static emulation emul;
static const char *on_gpu = "cuda", *wide_levels = "cuda:wide=8";

/* Matrix that a run streams, and whether it was right; written by PE 0. */
struct run {
    int slabs;
    int64_t wrong;
    int moved; /* PEs whose thread has another context afterwards */
};

/* Three times Y = A X through one stream: the second time what stays is there, the third has other columns. */
static tulle_status multiply(tulle_comm *comm, void *arg)
{
    enum { N = 24, COLS = 2 };
    struct run *run = arg;
    int size = tulle_comm_size(comm);
    tulle_layout_spec spec = {.m = N, .n = N, .tile_rows = size, .tile_cols = 1, .grid_rows = size, .grid_cols = 1};
    tulle_layout *la = NULL, *lx = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_stream *stream = NULL;
    tulle_stream_options options = {0};
    tulle_status status;
    int64_t wrong = 0;
    options.device = on_gpu;
    options.cols = COLS;
    options.slabs = run->slabs;
    TULLE_TRY(tulle_layout_new(&spec, size, &la));
    TULLE_TRY(make_matrix(comm, SCATTERED, la, TULLE_F64, &A));
    TULLE_TRY(tulle_stream_new(A, &options, &stream));
    for (int turn = 0; turn < 3; turn++) {
        tulle_gidx cols = turn == 2 ? 1 : COLS;
        spec.n = cols;
        tulle_mat_free(X);
        tulle_mat_free(Y);
        X = Y = NULL;
        tulle_layout_free(lx);
        TULLE_TRY(tulle_layout_new(&spec, size, &lx));
        TULLE_TRY(tulle_mat_new_dense(comm, lx, TULLE_F64, TULLE_ROW_MAJOR, &X));
        TULLE_TRY(make_y(comm, tulle_stream_layout(stream), cols, TULLE_F64, &Y));
        TULLE_TRY(fill_x(X, turn));
        TULLE_TRY(spoil(Y));
        TULLE_TRY(tulle_stream_multiply(stream, X, Y, NULL));
        wrong += wrong_of(SCATTERED, Y, N, turn);
    }
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &wrong));
    if (tulle_comm_rank(comm) == 0) run->wrong = wrong;
out:
    tulle_stream_free(stream);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(A);
    tulle_layout_free(la);
    tulle_layout_free(lx);
    return status;
}

/* X = T^-1 B by the devices of all PEs, or one, twice, the second time with values that come anew; T is the lower
 * triangle of a small matrix. */
static tulle_status solve(tulle_comm *comm, void *arg)
{
    static const tulle_trisolve_method methods[] = {
        TULLE_TRISOLVE_PUSH, TULLE_TRISOLVE_ZEROCOPY, TULLE_TRISOLVE_UNIFIED, 0, TULLE_TRISOLVE_AUTO};
    struct run *run = arg;
    tulle_layout *one = NULL;
    tulle_mat *T = NULL, *X = NULL, *B = NULL;
    tulle_trisolve *solver = NULL;
    tulle_trisolve_options options = {.method = methods[-1 - run->slabs], .device = wide_levels, .patience = 20};
    tulle_layout_spec spec = {.n = 1, .tile_rows = 1, .tile_cols = 1, .grid_rows = 1, .grid_cols = 1};
    double error = 0;
    tulle_status status;
    TULLE_TRY(tulle_mat_load(comm, "fem:nodes=4,dof=1", NULL, TULLE_CSR, NULL, NULL, &X));
    spec.m = tulle_mat_rows(X);
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &one));
    TULLE_TRY(tulle_mat_triangle(X, TULLE_LOWER, TULLE_DIAG_STORED, &T));
    tulle_mat_free(X);
    X = NULL;
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    TULLE_TRY(tulle_mat_new_dense(comm, one, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_new_dense(comm, one, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_fill_random(B, 3));
    TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
    TULLE_TRY(tulle_trisolve_update(solver));
    TULLE_TRY(tulle_trisolve_execute(solver, B, X, NULL));
    status = tulle_trisolve_check(T, &options, B, X, &error);
    if (tulle_comm_rank(comm) == 0) run->wrong = !(error <= 1);
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_mat_free(T);
    tulle_layout_free(one);
    return status;
}

/* e^A by submatrices, checked, and the density matrix of a pair. */
static tulle_status function(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    struct problem p, q;
    tulle_mat *A = NULL, *S = NULL, *F = NULL, *D = NULL;
    tulle_matfun *plan = NULL;
    tulle_status status;
    double error = 1;
    const tulle_function f = {.kind = TULLE_FUNCTION_EXP};
    const tulle_matfun_options options = {.combine = 3, .device = on_gpu};
    const tulle_density_options pairs = {.nonorthogonal = true, .combine = 3, .check = 2, .device = on_gpu};
    problem_init(&p, SPARSE, 7, 0);
    problem_init(&q, SPARSE, 7, 9);
    TULLE_TRY(build(comm, &p, TULLE_F64, 0, NONE, &A));
    TULLE_TRY(build(comm, &q, TULLE_F64, 0, NONE, &S));
    TULLE_TRY(tulle_matfun_new(A, &options, &plan));
    TULLE_TRY(tulle_matfun_execute(plan, &f, &F, NULL));
    TULLE_TRY(tulle_matfun_check(plan, &f, F, 3, &error));
    TULLE_TRY(tulle_density_of_mu(A, S, .1, &pairs, &D, NULL));
    if (tulle_comm_rank(comm) == 0) run->wrong = !(error <= 1e-10);
out:
    tulle_matfun_free(plan);
    tulle_mat_free(F);
    tulle_mat_free(D);
    tulle_mat_free(A);
    tulle_mat_free(S);
    return status;
}

static tulle_status do_work(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    int slabs = run->slabs;
    emul.choose(-1);
    tulle_status status = slabs == -4 ? function(comm, arg) : slabs < 0 ? solve(comm, arg) : multiply(comm, arg);
    if (emul.context() != -1) __atomic_fetch_add(&run->moved, 1, __ATOMIC_RELAXED);
    return status;
}

/* Outcome of the runs. */
struct outcome {
    int64_t runs, failed, survived, silent, wrong, left, sick, moved, open;
};

/* A team of its own: the failures of opening the GPU are among the runs'. */
static void run_one(int pes, struct run *run, int lose, int64_t n, struct outcome *o)
{
    tulle_team *team = NULL;
    run->wrong = 0;
    if (tulle_team_new("threads", pes, &(tulle_team_options){.threads = 1}, &team) != TULLE_OK) {
        o->sick++;
        return;
    }
    if (lose)
        emul.break_at(n);
    else
        emul.fail_at(n);
    tulle_status status = tulle_team_run(team, do_work, run);
    o->runs++;
    o->failed += status != TULLE_OK;
    o->survived += status == TULLE_OK;
    o->silent += status != TULLE_OK && !*tulle_error_message();
    o->wrong += status == TULLE_OK && run->wrong;
    if (status == TULLE_OK && run->wrong) printf("# call %" PRId64 ": %" PRId64 " wrong\n", n, run->wrong);
    if (lose && status != TULLE_OK && !strstr(tulle_error_message(), "cannot be used any more")) {
        printf("# call %" PRId64 ": %s\n", n, tulle_error_message());
        o->silent++;
    }
    emul.repair();
    o->left += emul.blocks() != 0;
    run->wrong = 0;
    o->sick += tulle_team_run(team, do_work, run) != TULLE_OK || run->wrong;
    if (run->moved) printf("# call %" PRId64 ": %d threads have another context\n", n, run->moved);
    o->moved += run->moved;
    run->moved = 0;
    tulle_team_free(team);
    o->open += emulation_all_open(&emul) != 0 || emul.held() != 0;
}

int main(int argc, char **argv)
{
    int pes = argc > 1 ? atoi(argv[1]) : 1, lose = argc > 3 && !strcmp(argv[3], "lose");
    int stride = argc > 4 ? atoi(argv[4]) : 1;
    if (argc > 5 && !strcmp(argv[5], "each")) {
        on_gpu = "cuda:piece=0";
        wide_levels = "cuda:wide=8,piece=0";
    }
    struct run run = {.slabs = argc > 2 ? atoi(argv[2]) : 0};
    struct outcome o = {0};
    tulle_team *team = NULL;
    if (!ok(emulation_find(&emul), "the emulated module: %s", tulle_error_message())) return tap_done();
    ok(tulle_team_new("threads", pes, &(tulle_team_options){.threads = 1}, &team) == TULLE_OK, "a team");
    emul.fail_at(-1);
    ok(tulle_team_run(team, do_work, &run) == TULLE_OK && !run.wrong, "right if no call fails: %s",
        tulle_error_message());
    int64_t calls = emul.calls();
    tulle_team_free(team);
    ok(calls > 100, "%" PRId64 " calls can fail", calls);
    for (int64_t n = 0; n < calls; n += stride) run_one(pes, &run, lose, n, &o);
    ok(o.silent == 0, "each of %" PRId64 " failures has its message (%" PRId64 " have not)", o.failed, o.silent);
    ok(o.wrong == 0, "a run that goes on is right (%" PRId64 " went on, %" PRId64 " wrong)", o.survived, o.wrong);
    ok(o.failed > o.survived / 4, "most failures are told: %" PRId64 " of %" PRId64, o.failed, o.runs);
    ok(o.left == 0, "nothing is left on the device (%" PRId64 " times)", o.left);
    ok(o.open == 0, "nor is memory, or are handles of libraries, behind its team (%" PRId64 " times)", o.open);
    ok(o.sick == 0, "the run behind each is right (%" PRId64 " are not)", o.sick);
    ok(o.moved == 0, "no thread has another context than before (%" PRId64 " have)", o.moved);
    return tap_done();
}
