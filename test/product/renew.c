/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan whose factor gets another structure: made for an empty A, executed again once A has tiles with entries, and
 * again with others; or made for an A that needs other rows of B than the one that comes next.
 */
#include <tulle/io.h>
#include <tulle/product.h>

#include "body.h"
#include "changes.h"
#include "star.h"
#include "tap.h"

enum { STRUCTURES = 3 };

/* Data that moves: as chosen; the rows of B that A names; of a star, also rows of A to be multiplied elsewhere. */
enum kind { CHOSEN, ROWS, STAR };
static const char *const kinds[] = {"", " of needed rows", " with rows given away"};

struct run {
    tulle_product_alg alg;
    int sparse;
    enum kind kind;
    int64_t covers, rows; /* pairs of tiles, of the second structure */
    int64_t units[STRUCTURES];
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    tulle_layout *square = NULL, *thin = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL, *B = NULL, *C = NULL;
    int star = run->kind == STAR;
    tulle_product *plan = NULL;
    tulle_product_report report;
    double error;
    tulle_product_options options = {0};
    options.alg = run->alg;
    tulle_layout_spec spec = {.m = 40, .n = 40, .tile_rows = 4, .tile_cols = 4, .map = TULLE_CYCLIC};
    if (run->kind == ROWS) options.transfers = TULLE_TRANSFERS_ROWS;
    if (star) { /* rows of A are given away from the second structure on */
        options.transfers = TULLE_TRANSFERS_COVER;
        spec.grid_rows = tulle_comm_size(comm);
        spec.grid_cols = 1;
    }
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &square));
    spec.n = run->kind == CHOSEN ? 6 : 60;
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &thin));
    TULLE_TRY(tulle_mat_new_csr(comm, square, TULLE_F64, &A));
    if (star)
        TULLE_TRY(new_star(comm, square, TULLE_F64, 40, &X));
    else
        TULLE_TRY(tulle_mat_load(comm, "er:n=40,degree=2", square, TULLE_CSR, NULL, NULL, &X));
    TULLE_TRY(tulle_mat_load(comm, "er:n=40,degree=2,seed=9", square, TULLE_CSR, NULL, NULL, &Y));
    if (run->sparse) {
        TULLE_TRY(tulle_mat_load(
            comm, run->kind == CHOSEN ? "er:n=40,degree=3" : "dense:n=40", square, TULLE_CSR, NULL, NULL, &B));
        TULLE_TRY(tulle_mat_new_csr(comm, square, TULLE_F64, &C));
    } else {
        TULLE_TRY(tulle_mat_new_dense(comm, thin, TULLE_F64, TULLE_ROW_MAJOR, &B));
        TULLE_TRY(tulle_mat_fill_random(B, 1));
        TULLE_TRY(tulle_mat_new_dense(comm, thin, TULLE_F64, TULLE_ROW_MAJOR, &C));
    }
    if (run->kind == ROWS) TULLE_TRY(take_over(A, Y));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    for (int r = 0; r < STRUCTURES; r++) {
        if (r) TULLE_TRY(take_over(A, r == 1 ? X : Y));
        for (int again = 0; again < 2; again++) {
            TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
            TULLE_TRY(tulle_product_check_matrices(1, A, options.op_a, B, options.op_b, C, &error));
        }
        if (tulle_comm_rank(comm) == 0) run->units[r] = report.units;
        if (tulle_comm_rank(comm) == 0 && r == 1) run->covers = report.cover_pairs, run->rows = report.rows_pairs;
    }
out:
    tulle_layout_free(square);
    tulle_layout_free(thin);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(A);
    return TULLE_OK;
}

int main(void)
{
    tulle_team *team;
    if (!ok(tulle_team_new("threads:direct=off", 4, NULL, &team) == TULLE_OK, "open")) return tap_done();
    for (int alg = TULLE_PRODUCT_STATIONARY_C; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
        for (int n = 0; n < (alg <= TULLE_PRODUCT_STATIONARY_A ? 6 : 2); n++) {
            int sparse = n % 2;
            enum kind kind = (enum kind)(n / 2);
            struct run run = {.alg = (tulle_product_alg)alg, .sparse = sparse, .kind = kind};
            tulle_status status = tulle_team_run(team, body, &run);
            ok(status == TULLE_OK && (run.units[0] > 0) == (kind == ROWS) && run.units[1] > 0 && run.units[2] > 0 &&
                    (run.covers > 0) == (kind == STAR) && (kind != ROWS || run.rows > 0),
                "%s %s%s: %d units, then %d and %d: %s", tulle_product_alg_name(run.alg), sparse ? "spgemm" : "spmm",
                kinds[kind], (int)run.units[0], (int)run.units[1], (int)run.units[2],
                status == TULLE_OK ? "right" : tulle_error_message());
        }
    tulle_team_free(team);
    return tap_done();
}
