/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose factor gets another structure: made for an empty A, executed again once A has tiles with entries. */
#include <tulle/io.h>
#include <tulle/product.h>

#include "body.h"
#include "changes.h"
#include "star.h"
#include "tap.h"

struct run {
    tulle_alg alg;
    int sparse, star;
    int64_t covers;
    int64_t units[2];
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    tulle_layout *square = NULL, *thin = NULL;
    tulle_mat *A = NULL, *X = NULL, *B = NULL, *C = NULL;
    tulle_plan *plan = NULL;
    tulle_report report;
    double error;
    tulle_product_options options = TULLE_PRODUCT_DEFAULT;
    options.alg = run->alg;
    tulle_layout_spec spec = {.m = 40, .n = 40, .tile_rows = 4, .tile_cols = 4, .map = TULLE_CYCLIC};
    if (run->star) { /* rows of A are given away from the second structure on */
        options.transfers = TULLE_TRANSFERS_COVER;
        spec.grid_rows = tulle_comm_size(comm);
        spec.grid_cols = 1;
    }
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &square));
    spec.n = run->star ? 60 : 6;
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &thin));
    TULLE_TRY(tulle_mat_new_csr(comm, square, TULLE_F64, &A));
    if (run->star)
        TULLE_TRY(new_star(comm, square, TULLE_F64, 40, &X));
    else
        TULLE_TRY(tulle_mat_load(comm, "er:n=40,degree=2", square, TULLE_CSR, NULL, NULL, &X));
    if (run->sparse) {
        TULLE_TRY(
            tulle_mat_load(comm, run->star ? "dense:n=40" : "er:n=40,degree=3", square, TULLE_CSR, NULL, NULL, &B));
        TULLE_TRY(tulle_mat_new_csr(comm, square, TULLE_F64, &C));
    } else {
        TULLE_TRY(tulle_mat_new_dense(comm, thin, TULLE_F64, TULLE_ROW_MAJOR, &B));
        TULLE_TRY(tulle_mat_fill_random(B, 1));
        TULLE_TRY(tulle_mat_new_dense(comm, thin, TULLE_F64, TULLE_ROW_MAJOR, &C));
    }
    TULLE_TRY(tulle_plan_new(A, B, C, &options, &plan));
    for (int r = 0; r < 2; r++) {
        if (r) TULLE_TRY(take_over(A, X));
        for (int again = 0; again < 2; again++) {
            TULLE_TRY(tulle_plan_execute(plan, &report));
            TULLE_TRY(tulle_product_check(A, B, C, &options, &error));
        }
        if (tulle_comm_rank(comm) == 0) run->units[r] = report.units, run->covers = report.cover_pairs;
    }
out:
    tulle_layout_free(square);
    tulle_layout_free(thin);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_plan_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_mat_free(A);
    return TULLE_OK;
}

int main(void)
{
    tulle_team *team;
    if (!ok(tulle_team_new("threads:direct=off", 4, NULL, &team) == TULLE_OK, "open")) return tap_done();
    for (int alg = TULLE_ALG_STATIONARY_C; alg < TULLE_ALG_COUNT; alg++)
        for (int kind = 0; kind < (alg <= TULLE_ALG_STATIONARY_A ? 4 : 2); kind++) {
            int sparse = kind % 2, star = kind / 2;
            struct run run = {.alg = (tulle_alg)alg, .sparse = sparse, .star = star};
            tulle_status status = tulle_team_run(team, body, &run);
            ok(status == TULLE_OK && run.units[0] == 0 && run.units[1] > 0 && (run.covers > 0) == star,
                "%s %s%s: %d units, then %d: %s", tulle_alg_name(run.alg), sparse ? "spgemm" : "spmm",
                star ? " with rows given away" : "", (int)run.units[0], (int)run.units[1],
                status == TULLE_OK ? "right" : tulle_error_message());
        }
    tulle_team_free(team);
    return tap_done();
}
