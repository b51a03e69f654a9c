/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of a stream whose matrix stays on the device: one a product, unless slabs are asked for. */
#include <inttypes.h>
#include <stdio.h>

#include <tulle/io.h>
#include <tulle/stream.h>

#include "body.h"
#include "emulation.h"
#include "tap.h"

struct run {
    tulle_stream_options options;
    int64_t library, own; /* of a second product, of all PEs */
    int resident, slabs;
};

static emulation emul;

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_layout *lx = NULL, *ly = NULL;
    tulle_stream *stream = NULL;
    tulle_status status;
    TULLE_TRY(tulle_mat_load(comm, "cantilever:nodes=6,dof=3", NULL, TULLE_CSR, NULL, NULL, &A));
    const tulle_gidx n = tulle_mat_rows(A);
    const tulle_layout_spec x = {.m = n, .n = 1, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&x, tulle_comm_size(comm), &lx));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_fill_random(X, 1));
    TULLE_TRY(tulle_stream_new(A, &run->options, &stream));
    TULLE_TRY(tulle_layout_copy(tulle_stream_layout(stream), &ly));
    TULLE_TRY(tulle_mat_new_dense(comm, ly, TULLE_F64, TULLE_ROW_MAJOR, &Y));
    TULLE_TRY(tulle_stream_multiply(stream, X, Y, NULL));
    TULLE_TRY(tulle_comm_agree(comm, TULLE_OK));
    int64_t library = emul.count("a product of cuSPARSE"), own = emul.count("a launch");
    TULLE_TRY(tulle_comm_agree(comm, TULLE_OK));
    TULLE_TRY(tulle_stream_multiply(stream, X, Y, NULL));
    TULLE_TRY(tulle_comm_agree(comm, TULLE_OK));
    if (tulle_comm_rank(comm) == 0) {
        run->library = emul.count("a product of cuSPARSE") - library;
        run->own = emul.count("a launch") - own;
        run->resident = tulle_stream_planned(stream)->resident;
        run->slabs = tulle_stream_planned(stream)->slabs;
    }
    TULLE_TRY(tulle_comm_agree(comm, TULLE_OK));
out:
    tulle_stream_free(stream);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(A);
    tulle_layout_free(lx);
    tulle_layout_free(ly);
    return status;
}

/* library, own: launches of a PE. */
static void test(tulle_team *team, int pes, const char *device, const char *format, int slabs, int library, int own)
{
    struct run run = {.options = {.device = device, .format = format, .slabs = slabs}};
    tulle_status status = tulle_team_run(team, body, &run);
    ok(status == TULLE_OK && run.resident == !slabs && run.slabs == (slabs ? slabs : 1) &&
            run.library == library * pes && run.own == own * pes,
        "%s, %s, %d PEs: %d slabs%s, %" PRId64 " products of cuSPARSE, %" PRId64 " launches of ours %s", device,
        format ? format : "csr in place", pes, run.slabs, run.resident ? " that stay" : "", run.library, run.own,
        status ? tulle_error_message() : "");
}

int main(void)
{
    if (!ok(emulation_find(&emul), "the emulated module: %s", tulle_error_message())) return tap_done();
    for (int pes = 1; pes <= 2; pes++) {
        tulle_team *team;
        tulle_team_options options = {.memory = (size_t)pes << 26, .threads = 1};
        if (!ok(tulle_team_new("threads", pes, &options, &team) == TULLE_OK, "%d PEs", pes)) return tap_done();
        test(team, pes, "cuda", NULL, 0, 1, 0);
        test(team, pes, "cuda", "bsr:b=3,index=4", 0, 1, 0);
        test(team, pes, "cuda:kernels=own", NULL, 0, 0, 1);
        test(team, pes, "cuda:kernels=own", "bsr:b=3", 0, 0, 1);
        test(team, pes, "cuda:kernels=own", NULL, 5, 0, 5);
        test(team, pes, "cuda", NULL, 5, 5, 0);
        tulle_team_free(team);
    }
    return tap_done();
}
