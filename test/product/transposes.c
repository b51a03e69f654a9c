/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of op(A) op(B) with transposes, on 3 PEs: transposes SPEC. Executed again with new values the result is right,
 * the transposes keep their structure, and the report says that no symbolic work was done; a new structure of one
 * factor is followed.
 */
#include <tulle/io.h>
#include <tulle/product.h>

#include "algo/product/stage/copied_stage.h"
#include "changes.h"
#include "tap.h"

struct run {
    tulle_product_alg alg;
    tulle_type type;
    tulle_op op_a, op_b;
    int sparse;
};

enum { M = 45, K = 33, N = 27 };

/* An m x n matrix in 4 x 2 tiles; dense, or with other entries for each seed. */
static tulle_status make(
    tulle_comm *comm, const struct run *run, int64_t m, int64_t n, int dense, int seed, tulle_mat **A)
{
    char operand[80];
    tulle_layout *layout;
    tulle_read_options reading = {0};
    tulle_layout_spec spec = {.m = m, .n = n, .tile_rows = 4, .tile_cols = 2, .map = TULLE_CYCLIC};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status != TULLE_OK) return status;
    reading.type = run->type;
    snprintf(operand, sizeof operand, "er:m=%d,n=%d,degree=4,seed=%d", (int)m, (int)n, seed);
    if (!dense) {
        status = tulle_mat_load(comm, operand, layout, TULLE_CSR, &reading, NULL, A);
    } else {
        status = tulle_mat_new_dense(comm, layout, run->type, TULLE_ROW_MAJOR, A);
        if (status == TULLE_OK) status = tulle_mat_fill_random(*A, (uint64_t)seed);
    }
    tulle_layout_free(layout);
    return status;
}

/* A transpose, and whether it is the one that it was before. */
struct seen {
    const tulle_mat *mat;
    uint64_t structure;
};

static int same(struct seen *seen, const tulle_mat *turned)
{
    int is = seen->mat == turned && (!turned || seen->structure == turned->structure);
    *seen = (struct seen){turned, turned ? turned->structure : 0};
    return is;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status;
    int ta = run->op_a == TULLE_OP_T, tb = run->op_b == TULLE_OP_T;
    tulle_mat *A = NULL, *B = NULL, *C = NULL, *X = NULL;
    tulle_layout *lc = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    double error;
    struct seen a = {NULL, 0}, b = {NULL, 0};
    tulle_product_options options = {0};
    options.alg = run->alg;
    options.op_a = run->op_a;
    options.op_b = run->op_b;
    TULLE_TRY(make(comm, run, ta ? K : M, ta ? M : K, 0, 1, &A));
    TULLE_TRY(make(comm, run, tb ? N : K, tb ? K : N, !run->sparse, 2, &B));
    TULLE_TRY(make(comm, run, ta ? K : M, ta ? M : K, 0, 3, &X));
    TULLE_TRY(tulle_product_layout(A, run->op_a, B, run->op_b, &lc));
    TULLE_TRY(run->sparse ? tulle_mat_new_csr(comm, lc, run->type, &C)
                          : tulle_mat_new_dense(comm, lc, run->type, TULLE_ROW_MAJOR, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    EXPECT((tulle__copied_factor(plan, true) != NULL) == ta && (tulle__copied_factor(plan, false) != NULL) == tb);
    (void)same(&a, tulle__copied_factor(plan, true));
    (void)same(&b, tulle__copied_factor(plan, false));
    for (int round = 0; round < 4; round++) {
        int renewed = round == 2;
        if (renewed) TULLE_TRY(take_over(A, X));
        TULLE_TRY(change_values(A));
        TULLE_TRY(change_values(B));
        TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
        TULLE_TRY(tulle_product_check_matrices(1, A, options.op_a, B, options.op_b, C, &error));
        EXPECT(report.reused == round % 2);
        EXPECT(same(&a, tulle__copied_factor(plan, true)) == (!renewed || !ta));
        EXPECT(same(&b, tulle__copied_factor(plan, false)));
    }
out:
    tulle_layout_free(lc);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_product_free(plan);
    tulle_mat_free(X);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    return TULLE_OK;
}

int main(int argc, char **argv)
{
    static const tulle_product_alg algs[] = {TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_A,
        TULLE_PRODUCT_STATIONARY_B, TULLE_PRODUCT_STEAL_LOCAL_C, TULLE_PRODUCT_SUMMA};
    tulle_team *team;
    if (argc < 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    if (!ok(tulle_team_new(argv[1], 3, NULL, &team) == TULLE_OK, "open")) return tap_done();
    for (size_t alg = 0; alg < sizeof algs / sizeof *algs; alg++)
        for (int kind = 0; kind < 4; kind++)
            for (int ops = 1; ops < 4; ops++) {
                struct run run = {.alg = algs[alg],
                    .type = kind & 1 ? TULLE_F32 : TULLE_F64,
                    .op_a = (tulle_op)(ops & 1),
                    .op_b = (tulle_op)(ops >> 1),
                    .sparse = kind >> 1};
                tulle_status status = tulle_team_run(team, body, &run);
                ok(status == TULLE_OK, "%s %s %s%s %s: %s", tulle_product_alg_name(run.alg),
                    run.sparse ? "spgemm" : "spmm", run.op_a ? "A^T" : "A", run.op_b ? " B^T" : " B",
                    tulle_type_name(run.type), status == TULLE_OK ? "right" : tulle_error_message());
            }
    tulle_team_free(team);
    return tap_done();
}
