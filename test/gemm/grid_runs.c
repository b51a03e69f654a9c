/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense products on grids of rows, columns and layers: grid_runs SPEC PES. Results are checked, the
 * bytes of a run are those of tulle_gemm_grid, and a second run has the same bits.
 */
#include <string.h>

#include <tulle/gemm.h>
#include <tulle/machine.h>
#include <tulle/product.h>

#include "body.h"
#include "elements.h"
#include "tap.h"

struct shape {
    int rows, cols, layers;
    tulle_gidx m, n, k;
    tulle_type type;
    int exact; /* the bytes of a run are predicted */
    int tiles;
    const char *device;
};

/* One byte a second between PEs, and nothing else takes time. */
static const tulle_machine network = {.kind = "network",
    .threads = 1,
    .stream = 1e30,
    .cache = 1e30,
    .fma = {1e30, 1e30},
    .tier = {{.bandwidth = 1}, {.bandwidth = 1}},
    .node_pes = 1};

/*
 * The time that the model says of layers has the bytes of the PE that receives most, sums over layers included. With
 * several columns of PEs it counts a tile of A for each tile of C, which a run keeps.
 */
static tulle_status check_predicted(
    const tulle_gemm_grid *g, const tulle_mat *A, const tulle_mat *B, tulle_mat *C, tulle_product_options options)
{
    tulle_status status;
    tulle_product *plan = NULL;
    tulle_product_report report;
    options.machine = &network;
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    double most = (double)g->most;
    if (report.predicted_seconds < most * (1 - 1e-9) || report.predicted_seconds > 1.25 * most + 1)
        status = tulle__fail(TULLE_ERR_CHECK, "%g seconds predicted of %g", report.predicted_seconds, most);
out:
    tulle_product_free(plan);
    return status;
}

static tulle_status multiply(tulle_comm *comm, void *arg)
{
    const struct shape *x = arg;
    tulle_status status = TULLE_OK;
    tulle_gemm_grid g;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    double *first = NULL, *second = NULL, error;
    int pes = tulle_comm_size(comm), many = x->layers > 1;
    size_t all = (size_t)(x->m * x->n + 1);
    tulle_product_options options = {.size = sizeof options,
        .alg = TULLE_PRODUCT_STATIONARY_C,
        .deterministic = true,
        .replication = x->layers,
        .layer_rows = many ? x->rows : 0,
        .layer_cols = many ? x->cols : 0,
        .device = x->device};
    TULLE_TRY(tulle_gemm_grid_of(x->m, x->n, x->k, x->type, pes, x->rows, x->cols, x->layers, &g));
    g.tiles = x->tiles;
    TULLE_TRY(tulle_gemm_grid_layouts(&g, x->m, x->n, x->k, pes, l));
    TULLE_TRY(tulle_mat_new_dense(comm, l[0], x->type, TULLE_ROW_MAJOR, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, l[1], x->type, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense_undefined(comm, l[2], x->type, TULLE_ROW_MAJOR, &C));
    TULLE_TRY(tulle_mat_fill_random(A, 1));
    TULLE_TRY(tulle_mat_fill_random(B, 2));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    EXPECT((first = malloc(all * sizeof *first)) && (second = malloc(all * sizeof *second)));
    for (int run = 0; run < 2; run++) {
        TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
        if (x->exact && (double)report.bytes_moved != (double)g.volume) {
            status = tulle__fail(TULLE_ERR_CHECK, "run %d moved %.0f bytes, not %lld", run, (double)report.bytes_moved,
                (long long)g.volume);
            goto out;
        }
        TULLE_TRY(tulle_product_check(plan, &error));
        TULLE_TRY(collect(C, run ? second : first));
        TULLE_TRY(tulle_comm_barrier(comm)); /* all PEs have read C */
    }
    EXPECT(memcmp(first, second, (all - 1) * sizeof *first) == 0);
    if (many && x->exact && x->cols == 1 && !x->device) TULLE_TRY(check_predicted(&g, A, B, C, options));
out:
    status = tulle_comm_agree(comm, status);
    tulle_product_free(plan);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    for (int i = 0; i < 3; i++) tulle_layout_free(l[i]);
    free(first);
    free(second);
    return status;
}

/* Wrong grids of layers are refused on all PEs. */
static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL, *C = NULL;
    tulle_layout *l = NULL;
    tulle_product *plan = NULL;
    int pes = tulle_comm_size(comm);
    const int wrong[][3] = {{1, 1, 1}, {2, 0, 1}, {2, 1, -1}, {2, pes, 1}};
    tulle_layout_spec spec = {.m = 12, .n = 12, .grid_rows = pes, .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&spec, pes, &l));
    TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C));
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        tulle_product_options options = {.size = sizeof options,
            .alg = TULLE_PRODUCT_STATIONARY_C,
            .replication = wrong[w][0],
            .layer_rows = wrong[w][1],
            .layer_cols = wrong[w][2]};
        EXPECT(tulle_product_new(A, A, C, &options, &plan) == TULLE_ERR_ARG &&
               strstr(tulle_error_message(), "layers of") && !plan);
    }
out:
    status = tulle_comm_agree(comm, status);
    tulle_mat_free(A);
    tulle_mat_free(C);
    tulle_layout_free(l);
    return status;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "threads";
    int pes = argc > 2 ? atoi(argv[2]) : 12, remote = strstr(spec, "direct=off") != NULL;
    tulle_team *team;
    if (!ok(tulle_team_new(spec, pes, NULL, &team) == TULLE_OK, "a team of %d over %s", pes, spec)) {
        printf("# %s\n", tulle_error_message());
        return tap_done();
    }
    static const tulle_gidx size[][3] = {{60, 60, 60}, {31, 67, 59}, {13, 14, 97}, {101, 26, 25}};
    for (int P = 1; P <= pes; P++)
        for (int Q = 1; P * Q <= pes; Q++)
            for (int L = 1; P * Q * L <= pes; L++) {
                if (P * Q * L * 4 < pes * 3) continue;
                const tulle_gidx *s = size[(P + 2 * Q + 3 * L) % 4];
                int each = P > Q ? (P % Q ? P * Q : P) : (Q % P ? P * Q : Q);
                struct shape x = {P, Q, L, s[0], s[1], s[2], (P + L) % 2 ? TULLE_F32 : TULLE_F64,
                    remote && s[2] >= (tulle_gidx)each * L && s[1] >= (tulle_gidx)Q * L && s[0] >= P, 0, NULL};
                tulle_status status = tulle_team_run(team, multiply, &x);
                ok(status == TULLE_OK, "%d x %d x %d PEs, m, n, k = %d, %d, %d%s", P, Q, L, (int)s[0], (int)s[1],
                    (int)s[2], x.exact ? ", to the byte" : "");
                if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
                x.tiles = 2 + (P + Q + L) % 2;
                x.device = "limit:mem=40K+cpu";
                x.exact = remote && s[2] >= (tulle_gidx)each * L * x.tiles && s[1] >= (tulle_gidx)Q * L * x.tiles &&
                          s[0] >= P * x.tiles;
                status = tulle_team_run(team, multiply, &x);
                ok(status == TULLE_OK, "the same in %d x %d tiles on devices: %s", x.tiles, x.tiles,
                    tulle_error_message());
            }
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "wrong grids of layers are refused: %s",
        tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
