/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle_team_watch: a product tells of its jobs, on one PE, up to the last. Each look at the clock takes 50 ms, so
 * that there is a call for each job of that PE.
 */
#include <string.h>

#include <tulle/io.h>
#include <tulle/product.h>

#include "comm/comm.h"
#include "held_clock.h"
#include "tap.h"

enum { PES = 3 };

struct heard {
    int calls, ends, backwards, strange;
    int64_t done, total;
};

static void hear(void *arg, const tulle_progress *p)
{
    struct heard *heard = arg;
    heard->calls++;
    heard->backwards += p->done < heard->done;
    heard->strange += strcmp(p->what, "multiplying") || p->total <= 0 || p->done > p->total || p->seconds <= 0;
    heard->ends += p->done == p->total;
    heard->done = p->done;
    heard->total = p->total;
}

struct run {
    int phases, interrupted; /* interrupted: by other work behind each phase, as when it is written */
};

/* C = A A in phases, each a range of columns. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_mat *A = NULL, *C = NULL;
    tulle_layout *layout = NULL;
    tulle_product *plan = NULL;
    tulle_product_options options = {0};
    options.phases = run->phases;
    options.deterministic = 1; /* a job a product of two tiles */
    tulle_layout_spec spec = {.m = 60, .n = 60, .tile_rows = 6, .tile_cols = 6};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_load(comm, "er:n=60,degree=4", layout, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_new_csr(comm, layout, TULLE_F64, &C);
    if (status == TULLE_OK) status = tulle_product_new(A, A, C, &options, &plan);
    tulle_columns columns = {.last = 0};
    while (status == TULLE_OK && !columns.last) {
        status = tulle_product_next(plan, 1, &columns, NULL);
        if (run->interrupted) {
            tulle__progress_meter_start(tulle__comm_progress_meter(comm, 0), "writing", "entries", 1);
            tulle__progress_meter_stop(tulle__comm_progress_meter(comm, 0), 1);
        }
    }
    tulle_layout_free(layout);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(A);
    return TULLE_OK;
}

int main(void)
{
    static const struct run runs[] = {{1, 0}, {2, 0}, {2, 1}};
    tulle_team *team;
    hold_clock(1000000000, 50000000);
    if (!ok(tulle_team_new("threads:direct=off", PES, NULL, &team) == TULLE_OK, "open")) return tap_done();
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        struct heard heard = {0};
        struct run run = runs[r];
        tulle_team_watch(team, hear, &heard);
        ok(tulle_team_run(team, body, &run) == TULLE_OK, "%d phases%s", run.phases, run.interrupted ? ", apart" : "");
        ok(heard.calls > 1 && !heard.strange, "%d calls", heard.calls);
        ok(run.interrupted || heard.calls * PES == heard.total, "one for each job of PE 0, of %d", (int)heard.total);
        ok(run.interrupted || !heard.backwards, "each further than the last");
        ok(heard.ends == 1, "one of them is the end");
        tulle_team_watch(team, NULL, NULL);
        if (r) continue;
        int calls = heard.calls;
        ok(tulle_team_run(team, body, &run) == TULLE_OK && heard.calls == calls, "no calls once it is taken off");
    }
    tulle_team_free(team);
    return tap_done();
}
