/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's BLAS has as many threads after a run as before it, and one in runs with dense products. */
#include <stdlib.h>

#include <tulle/product.h>

#include "body.h"
#include "tap.h"

/* There if the BLAS is OpenBLAS. */
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));

struct kept {
    tulle_product *plan[4];
    int inside; /* threads of the BLAS in the run */
};

static tulle_status make(tulle_comm *comm, void *arg)
{
    struct kept *kept = arg;
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    const tulle_layout_spec spec = {.m = 40, .n = 40, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &l);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &A);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status == TULLE_OK) status = tulle_product_new(A, B, C, NULL, &kept->plan[tulle_comm_rank(comm)]);
    tulle_layout_free(l);
    return status;
}

static tulle_status execute(tulle_comm *comm, void *arg)
{
    struct kept *kept = arg;
    if (tulle_comm_rank(comm) == 0) kept->inside = openblas_get_num_threads();
    return tulle_product_execute(kept->plan[tulle_comm_rank(comm)], 1, 0, NULL);
}

static tulle_status nothing(tulle_comm *comm, void *arg)
{
    if (tulle_comm_rank(comm) == 0) *(int *)arg = openblas_get_num_threads();
    return TULLE_OK;
}

int main(void)
{
    struct kept kept = {.inside = 0};
    tulle_team *team;
    tulle_comm *comm;
    int before = 0, within = 0;
    if (!openblas_get_num_threads || !openblas_set_num_threads) {
        ok(1, "the BLAS is not OpenBLAS: its threads are its own business");
        return tap_done();
    }
    openblas_set_num_threads(3);
    before = openblas_get_num_threads(); /* a build without threads has 1 */
    ok(tulle_team_new("threads", 3, NULL, &team) == TULLE_OK, "open: %s", tulle_error_message());
    tulle_status status = tulle_team_run(team, nothing, &within);
    ok(status == TULLE_OK && within == before, "a run without products leaves %d: %d", before, within);
    status = tulle_team_run(team, make, &kept);
    ok(status == TULLE_OK && openblas_get_num_threads() == before, "after a plan was made: %d",
        openblas_get_num_threads());
    status = tulle_team_run(team, execute, &kept);
    ok(status == TULLE_OK && kept.inside == 1, "in a run that executes it: %d", kept.inside);
    ok(openblas_get_num_threads() == before, "afterwards: %d", openblas_get_num_threads());
    tulle_team_free(team);
    ok(openblas_get_num_threads() == before, "and without the team");
    ok(tulle_open(NULL, &comm) == TULLE_OK && make(comm, &kept) == TULLE_OK && openblas_get_num_threads() == 1,
        "one thread while a team is open: %s", tulle_error_message());
    tulle_close(comm);
    ok(openblas_get_num_threads() == before, "when it is closed: %d", openblas_get_num_threads());
    return tap_done();
}
