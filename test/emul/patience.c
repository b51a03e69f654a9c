/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patience [none]: a solve by the devices of two PEs whose work is not done before somebody waits for it
 * (EMUL_ASKED=0). A host that only asks must lose patience, name its device and stop all kernels; one that a copy to
 * pageable memory holds up (EMUL_PINS=0) does not come to asking.
 */
#include <string.h>

#include <tulle/io.h>
#include <tulle/trisolve.h>

#include "body.h"
#include "emulation.h"
#include "tap.h"

static tulle_status solve(tulle_comm *comm, void *arg)
{
    const tulle_trisolve_options options = {
        .method = *(const tulle_trisolve_method *)arg, .device = "cuda", .patience = 0.02};
    tulle_layout_spec spec = {.n = 1, .tile_rows = 1, .tile_cols = 1, .grid_rows = 1, .grid_cols = 1};
    tulle_layout *one = NULL;
    tulle_mat *A = NULL, *T = NULL, *X = NULL;
    tulle_trisolve *solver = NULL;
    tulle_status status;
    TULLE_TRY(tulle_mat_load(comm, "fem:nodes=4,dof=1", NULL, TULLE_CSR, NULL, NULL, &A));
    spec.m = tulle_mat_rows(A);
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &one));
    TULLE_TRY(tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, &T));
    TULLE_TRY(tulle_trisolve_new(T, &options, &solver));
    TULLE_TRY(tulle_mat_new_dense(comm, one, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_fill_random(X, 3));
    status = tulle_trisolve_execute(solver, X, X, NULL);
out:
    tulle_trisolve_free(solver);
    tulle_mat_free(X);
    tulle_mat_free(T);
    tulle_mat_free(A);
    tulle_layout_free(one);
    return status;
}

int main(void)
{
    static const tulle_trisolve_method methods[] = {
        TULLE_TRISOLVE_PUSH, TULLE_TRISOLVE_ZEROCOPY, TULLE_TRISOLVE_UNIFIED};
    const tulle_team_options options = {.memory = 2 << 26, .threads = 1};
    emulation emul;
    tulle_team *team = NULL;
    if (!ok(emulation_find(&emul), "the emulated GPU")) return tap_done();
    if (!ok(tulle_team_new("threads", 2, &options, &team) == TULLE_OK, "a team")) return tap_done();
    int before = emul.blocks();
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        tulle_trisolve_method method = methods[m];
        tulle_status status = tulle_team_run(team, solve, &method);
        ok(status == TULLE_ERR_STATE && strstr(tulle_error_message(), "device 'cuda' has not solved"),
            "%s loses patience: %s", tulle_trisolve_method_name(method),
            status == TULLE_OK ? "it has solved" : tulle_error_message());
        ok(emul.blocks() == before, "nothing is left on the device");
    }
    tulle_team_free(team);
    return tap_done();
}
