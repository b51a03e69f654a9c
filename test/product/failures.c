/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that fail half-way: failures PES [ALGORITHM]. On one PE the n-th allocation fails, for every n; the n-th
 * transfer fails, for every n. All PEs return the same failure, nothing leaks, and the next product is right.
 */
#include <string.h>

#include <tulle/io.h>
#include <tulle/product.h>

#include "base/error.h"
#include "base/memory.h"
#include "body.h"
#include "comm/comm.h"
#include "star.h"
#include "tap.h"

struct run {
    tulle_product_alg alg;
    int sparse, rank;
    int star;          /* a matrix of which rows are given away */
    int mixed, layers; /* cuts do not match; 2.5D layers */
    int selects;       /* C keeps some entries, in ranges of columns */
    int64_t n;         /* allocation that fails, < 0: none */
    int done;
    int64_t covers;
};

/* Plan, execute, execute again with the failure anywhere in between; then once without. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    int size = tulle_comm_size(comm), mine = tulle_comm_rank(comm) == run->rank;
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_options o = {0};
    tulle_read_options reading = {0};
    tulle_product_report report;
    double error;
    o.alg = run->alg;
    o.replication = run->layers;
    const tulle_selection selection = {.by_rank = true, .top = 3, .cosine = true};
    if (run->selects)
        o = (tulle_product_options){.size = sizeof o, .alg = run->alg, .selection = &selection, .phases = 3};
    tulle_layout_spec square = {.m = 60, .n = 60, .tile_rows = 3, .tile_cols = 3, .map = TULLE_CYCLIC};
    tulle_layout_spec thin = {.m = 60,
        .n = run->sparse ? 60
             : run->star ? 70
                         : 7,
        .tile_rows = run->mixed ? 4 : 3,
        .tile_cols = 2,
        .map = TULLE_CYCLIC};
    if (run->star) {
        o.transfers = TULLE_TRANSFERS_COVER;
        square.map = thin.map = TULLE_BLOCK;
        square.grid_rows = thin.grid_rows = size;
        square.grid_cols = thin.grid_cols = 1;
    }
    tulle_status status = tulle_layout_new(&square, size, &la);
    if (status == TULLE_OK) status = tulle_layout_new(&thin, size, &lb);
    if (status == TULLE_OK && run->star) status = new_star(comm, la, TULLE_F64, 60, &A);
    if (status == TULLE_OK && !run->star)
        status = tulle_mat_load(comm, "er:n=60,degree=6", la, TULLE_CSR, &reading, NULL, &A);
    if (status == TULLE_OK && run->sparse)
        status = tulle_mat_load(comm, "er:n=60,degree=6", lb, TULLE_CSR, &reading, NULL, &B);
    if (status == TULLE_OK && !run->sparse) status = tulle_mat_new_dense(comm, lb, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK && !run->sparse) status = tulle_mat_fill_random(B, 1);
    tulle_layout_spec other = {.m = 60, .n = thin.n, .tile_rows = 2, .tile_cols = 3};
    if (status == TULLE_OK)
        status = run->mixed ? tulle_layout_new(&other, size, &lc) : tulle_product_layout(A, o.op_a, B, o.op_b, &lc);
    if (status == TULLE_OK && run->sparse) status = tulle_mat_new_csr(comm, lc, TULLE_F64, &C);
    if (status == TULLE_OK && !run->sparse) status = tulle_mat_new_dense(comm, lc, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status != TULLE_OK) goto out;
    status = tulle_comm_barrier(comm);
    if (mine && run->n >= 0) tulle__account_fail_after(comm->pe->account, run->n);
    if (status == TULLE_OK) status = tulle_product_new(A, B, C, &o, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (mine) {
        tulle__account_fail_after(comm->pe->account, -1);
        run->done = status == TULLE_OK;
    }
    tulle_status meet = same_everywhere(comm, status);
    if (meet != TULLE_OK) {
        status = meet;
        goto out;
    }
    if (status != TULLE_OK && status != TULLE_ERR_MEMORY && status != TULLE_ERR_COMM) goto out;
    /* the same plan, if it could be made, works now */
    status = plan ? TULLE_OK : tulle_product_new(A, B, C, &o, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, &report);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) run->covers = report.cover_pairs;
    if (status == TULLE_OK)
        status = run->selects ? tulle_product_check(plan, &error)
                              : tulle_product_check_matrices(1, A, o.op_a, B, o.op_b, C, &error);
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(la);
    tulle_layout_free(lb);
    tulle_layout_free(lc);
    return status;
}

/* Operands that are multiplied. */
enum kind { PLAIN, STAR, MIXED, LAYERS, SELECTED };

static void allocations(tulle_team *team, int npes, tulle_product_alg alg, int sparse, enum kind kind)
{
    struct blocks before[64], after[64];
    static const char *const kinds[] = {"", " with rows given away", ", cuts that do not match",
        ", cuts that do not match, 2 layers", ", a selection in ranges"};
    struct run run = {.alg = alg,
        .sparse = sparse,
        .star = kind == STAR,
        .mixed = kind >= MIXED,
        .layers = kind == LAYERS ? 2 : 1,
        .selects = kind == SELECTED,
        .rank = npes - 1,
        .n = -1};
    tulle_status status = tulle_team_run(team, body, &run);
    if (!ok(status == TULLE_OK, "%s %s without a failure: %s", tulle_product_alg_name(alg), sparse ? "spgemm" : "spmm",
            tulle_error_message()))
        return;
    tulle_team_run(team, count_blocks, before);
    for (run.n = 0, run.done = 0; !run.done && run.n < 5000 && status == TULLE_OK; run.n++)
        status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK && run.done && (kind != STAR || run.covers > 0),
        "%s %s%s: each of %d allocations of one PE fails in turn: %s", tulle_product_alg_name(alg),
        sparse ? "spgemm" : "spmm", kinds[kind], (int)run.n - 1,
        status == TULLE_OK ? "all PEs return" : tulle_error_message());
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "nothing leaks");
}

/* Leaves everything to the team, a plan with a transposed operand among it. */
static tulle_status leave_all(tulle_comm *comm, void *arg)
{
    tulle_status status;
    (void)arg;
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = 60, .n = 60, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_mat *A, *C;
    tulle_product *plan;
    tulle_product_options o = {0};
    o.op_a = TULLE_OP_T;
    spec.tile_rows = spec.tile_cols = tulle_comm_size(comm);
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_load(comm, "er:n=60,degree=6", layout, TULLE_CSR, NULL, NULL, &A));
    TULLE_TRY(tulle_mat_new_csr(comm, layout, TULLE_F64, &C));
    TULLE_TRY(tulle_product_new(A, A, C, &o, &plan));
    for (int r = 0; r < 2; r++) TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    status = tulle__fail(TULLE_ERR_STATE, "left");
out:
    tulle_layout_free(layout);
    return status;
}

static void left(int npes)
{
    tulle_team *team;
    int64_t blocks = tulle__account_blocks(tulle__account_current());
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new("threads", npes, &options, &team) == TULLE_OK, "open")) return;
    tulle_status status = tulle_team_run(team, leave_all, NULL);
    ok(status == TULLE_ERR_STATE && strstr(tulle_error_message(), "left"), "a body leaves its plan: %s",
        tulle_error_message());
    tulle_team_free(team);
    ok(tulle__account_blocks(tulle__account_current()) == blocks, "the team frees it, once");
}

static void transfers(int npes, tulle_product_alg alg, int sparse, int star)
{
    char spec[64];
    tulle_team_options options = {.memory = (size_t)npes << 26, .arena = 4096, .panels = 2, .threads = 1};
    int tried = 0, failed = 0, wrong = 0;
    for (int op = 0; op < 2000; op++) {
        tulle_team *team;
        struct run run = {.alg = alg, .sparse = sparse, .star = star, .rank = 0, .n = -1};
        snprintf(spec, sizeof spec, "fault:op=%d,rank=%d+threads", op, npes - 1);
        if (tulle_team_new(spec, npes, &options, &team) != TULLE_OK) break;
        tulle_status status = tulle_team_run(team, body, &run);
        tried++;
        /* the fault may strike while the operands are made: then the run ends with it */
        if ((status == TULLE_ERR_COMM || status == TULLE_ERR_PEER) && strstr(tulle_error_message(), "as asked for"))
            failed++; /* the run ends with the cause, whoever tells it */
        else if (status != TULLE_OK) {
            wrong++;
            printf("# %s: %s: %s\n", spec, tulle_status_name(status), tulle_error_message());
        } else if (run.done) {
            tulle_team_free(team);
            break; /* fewer transfers than that */
        }
        tulle_team_free(team);
    }
    ok(!wrong && tried > 1,
        "%s %s%s: each of %d transfers of one PE fails in turn (%d ended the run, the others the product)",
        tulle_product_alg_name(alg), sparse ? "spgemm" : "spmm", star ? " with rows given away" : "", tried - 1,
        failed);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) return fprintf(stderr, "usage: %s PES [ALGORITHM]\n", argv[0]), 2;
    int npes = atoi(argv[1]), first = TULLE_PRODUCT_STATIONARY_C, last = TULLE_PRODUCT_ALG_COUNT;
    tulle_product_alg only;
    if (argc == 3) {
        if (tulle_product_alg_parse(argv[2], &only) != TULLE_OK)
            return fprintf(stderr, "%s\n", tulle_error_message()), 2;
        first = (int)only;
        last = first + 1;
    }
    tulle_team_options options = {.memory = (size_t)npes << 26, .arena = 4096, .panels = 2, .threads = 2};
    static const char *const specs[] = {"threads:direct=off", "threads", "threads:node=2"};
    left(npes);
    for (int sparse = 0; sparse < 2; sparse++)
        for (int alg = first; alg < last; alg++) {
            if (alg == TULLE_PRODUCT_CANNON && npes == 2) continue; /* it wants a square grid */
            /* one PE moves nothing: whether it could read in place makes a difference to its jobs only */
            const int ways = npes == 4 && alg == TULLE_PRODUCT_STATIONARY_C       ? 3
                             : npes == 1 && alg > (int)TULLE_PRODUCT_STATIONARY_A ? 1
                                                                                  : 2;
            for (int direct = 0; direct < ways; direct++) {
                tulle_team *team;
                if (!ok(tulle_team_new(specs[direct], npes, &options, &team) == TULLE_OK, "open")) return tap_done();
                int covers = !direct && npes == 2 && alg <= TULLE_PRODUCT_STATIONARY_A;
                allocations(team, npes, (tulle_product_alg)alg, sparse, PLAIN);
                if (covers) allocations(team, npes, (tulle_product_alg)alg, sparse, STAR);
                /* others go the same ways */
                if (!direct && alg == TULLE_PRODUCT_STATIONARY_C)
                    allocations(team, npes, (tulle_product_alg)alg, sparse, MIXED);
                if (!direct && alg == TULLE_PRODUCT_STATIONARY_A && npes > 1)
                    allocations(team, npes, (tulle_product_alg)alg, sparse, LAYERS);
                if (!direct && alg <= TULLE_PRODUCT_STATIONARY_A && sparse)
                    allocations(team, npes, (tulle_product_alg)alg, sparse, SELECTED);
                tulle_team_free(team);
                for (int star = 0; star <= covers && !direct && npes > 1; star++)
                    transfers(npes, (tulle_product_alg)alg, sparse, star);
            }
        }
    return tap_done();
}
