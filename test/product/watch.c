/* SPDX-License-Identifier: Apache-2.0 */
/* tulle_team_watch: a product over a slow network tells of its jobs, on one PE, up to the last. */
#include <string.h>

#include <tulle/io.h>
#include <tulle/product.h>

#include "tap.h"

struct heard {
    int calls, ends, backwards, strange;
    int64_t done;
};

static void hear(void *arg, const tulle_progress *p)
{
    struct heard *heard = arg;
    heard->calls++;
    heard->backwards += p->done < heard->done;
    heard->strange += strcmp(p->what, "multiplying") || p->total <= 0 || p->done > p->total || p->seconds <= 0;
    heard->ends += p->done == p->total;
    heard->done = p->done;
}

/* C = A A in phases, each a range of columns. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_mat *A = NULL, *C = NULL;
    tulle_layout *layout = NULL;
    tulle_plan *plan = NULL;
    tulle_product_options options = TULLE_PRODUCT_DEFAULT;
    options.phases = *(int *)arg;
    tulle_layout_spec spec = {.m = 60, .n = 60, .tile_rows = 6, .tile_cols = 6};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = tulle_mat_load(comm, "er:n=60,degree=4", layout, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_new_csr(comm, layout, TULLE_F64, &C);
    if (status == TULLE_OK) status = tulle_plan_new(A, A, C, &options, &plan);
    for (int p = 0; status == TULLE_OK && p < tulle_plan_phases(plan); p++)
        status = tulle_plan_execute_phase(plan, p, NULL);
    tulle_layout_free(layout);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_plan_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(A);
    return TULLE_OK;
}

int main(void)
{
    tulle_team *team;
    if (!ok(tulle_team_new("net:latency=10ms+threads", 3, NULL, &team) == TULLE_OK, "open")) return tap_done();
    for (int phases = 1; phases <= 2; phases++) {
        struct heard heard = {0};
        tulle_team_watch(team, hear, &heard);
        ok(tulle_team_run(team, body, &phases) == TULLE_OK, "%d phases: %s", phases, tulle_error_message());
        ok(heard.calls > 1 && !heard.strange && !heard.backwards, "%d calls, each further than the last", heard.calls);
        ok(heard.ends == 1, "one of them is the end");
        tulle_team_watch(team, NULL, NULL);
        int calls = heard.calls;
        ok(tulle_team_run(team, body, &phases) == TULLE_OK && heard.calls == calls, "no calls once it is taken off");
    }
    tulle_team_free(team);
    return tap_done();
}
