/* SPDX-License-Identifier: Apache-2.0 */
/* A plan made in one run of the team and executed with new values in the next ones: no symbolic work is repeated. */
#include <stdio.h>

#include <tulle/tulle.h>

enum { PES = 3 };

/* State that each PE keeps between runs. */
struct kept {
    tulle_mat *A, *B, *C;
    tulle_product *plan;
};

static tulle_status prepare(tulle_comm *comm, void *arg)
{
    struct kept *k = (struct kept *)arg + tulle_comm_rank(comm);
    tulle_layout_spec bands = {.m = 10000, .n = 10000, .grid_rows = PES, .grid_cols = 1, .tile_cols = PES};
    tulle_layout *layout = NULL, *of_C = NULL;
    tulle_status status = tulle_layout_new(&bands, PES, &layout);
    if (!status) status = tulle_mat_load(comm, "stencil2d:n=100", layout, TULLE_CSR, NULL, NULL, &k->A);
    bands.tile_cols = 1;
    tulle_layout_free(layout);
    if (!status) status = tulle_layout_new(&bands, PES, &layout);
    if (!status) status = tulle_mat_load(comm, "stencil2d:n=100", layout, TULLE_CSR, NULL, NULL, &k->B);
    if (!status) status = tulle_product_layout(k->A, TULLE_OP_N, k->B, TULLE_OP_N, &of_C);
    if (!status) status = tulle_mat_new_csr(comm, of_C, TULLE_F64, &k->C);
    if (!status) status = tulle_product_new(k->A, k->B, k->C, NULL, &k->plan);
    if (!status) status = tulle_product_execute(k->plan, 1, 0, NULL);
    tulle_layout_free(layout);
    tulle_layout_free(of_C);
    return status;
}

static tulle_status again(tulle_comm *comm, void *arg)
{
    struct kept *k = (struct kept *)arg + tulle_comm_rank(comm);
    tulle_product_report report;
    tulle_own_tile tile;
    tulle_status status = tulle_comm_barrier(comm);
    for (int j = 0; !status && j < PES; j++) { /* this PE owns tile row `rank` of A */
        status = tulle_mat_own_tile(k->A, tulle_comm_rank(comm), j, &tile);
        for (int64_t e = 0; !status && e < tile.nnz; e++) ((double *)tile.val)[e] *= 2;
    }
    if (!status) status = tulle_product_execute(k->plan, 1, 0, &report);
    if (!status && tulle_comm_rank(comm) == 0)
        printf("%s: %lld entries, %s\n", tulle_product_describe(k->plan), (long long)report.nnz_c,
            report.reused ? "values only" : "with symbolic work");
    return status;
}

int main(void)
{
    struct kept kept[PES] = {{NULL, NULL, NULL, NULL}};
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new("threads", PES, NULL, &team);
    if (!status) status = tulle_team_run(team, prepare, kept);
    for (int i = 0; i < 3 && !status; i++) status = tulle_team_run(team, again, kept);
    if (status) fprintf(stderr, "%s: %s\n", tulle_status_name(status), tulle_error_message());
    tulle_team_free(team);
    return status ? 1 : 0;
}
