/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader of modules, and messages of specs that cannot be opened. Linked with the static
 * library.
 */
#include <stdlib.h>
#include <string.h>

#include <tulle/team.h>

#include "tap.h"

static void refuses(const char *spec, tulle_status expected, const char *part)
{
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new(spec, 2, NULL, &team);
    ok(status == expected && strstr(tulle_error_message(), part) && !team, "'%s': %s: %s", spec,
        tulle_status_name(status), tulle_error_message());
    tulle_team_free(team);
}

static tulle_status sum_ranks(tulle_comm *comm, void *arg)
{
    int64_t n = tulle_comm_rank(comm);
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_SUM, 1, &n);
    if (tulle_comm_rank(comm) == 0) *(int64_t *)arg = n;
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    tulle_team *team;
    int64_t sum = 0;
    setenv("TULLE_MODULE_PATH", argv[1], 1);
    ok(tulle_team_new("pass:depth=3+threads", 3, NULL, &team) == TULLE_OK, "a module's wrapper opens: %s",
        tulle_error_message());
    ok(tulle_team_run(team, sum_ranks, &sum) == TULLE_OK && sum == 3, "and works");
    tulle_team_free(team);
    ok(tulle_team_new("check+pass+threads:direct=off", 2, NULL, &team) == TULLE_OK, "a second time, wrapped");
    ok(tulle_team_run(team, sum_ranks, &sum) == TULLE_OK && sum == 1, "and works");
    tulle_team_free(team);
    refuses("pass:depth=30+threads", TULLE_ERR_ARG, "outside 0 to 9");
    refuses("pass:dept=3+threads", TULLE_ERR_ARG, "did you mean 'depth'");
    refuses("refuses+threads", TULLE_ERR_UNSUPPORTED, "no such hardware");
    refuses("old+threads", TULLE_ERR_UNSUPPORTED, "version");
    refuses("empty+threads", TULLE_ERR_UNSUPPORTED, "no tulle_module_entry");
    refuses("absent+threads", TULLE_ERR_UNSUPPORTED, "there is no 'absent'");
    refuses("../pass+threads", TULLE_ERR_ARG, "no name of");
    refuses("thread", TULLE_ERR_ARG, "did you mean 'threads'");
    refuses("chek+threads", TULLE_ERR_ARG, "did you mean 'check'");
    refuses("check", TULLE_ERR_ARG, "needs an engine");
    refuses("threads+check", TULLE_ERR_ARG, "must be the last");
    refuses("", TULLE_ERR_ARG, "no name");
    refuses("net:latency=2parsec+threads", TULLE_ERR_ARG, "unknown unit");
    refuses("net:bw=0+threads", TULLE_ERR_ARG, "bandwidth");
    refuses("threads:direct=maybe", TULLE_ERR_ARG, "on or off");
    refuses("fault:op=1,rank=5+threads", TULLE_ERR_ARG, "outside 0 to 1");
    ok(tulle_team_new("threads", -1, NULL, &team) == TULLE_ERR_ARG, "%s", tulle_error_message());
    tulle_team_options options = {.memory = 1 << 20, .panels = 1};
    ok(tulle_team_new("threads", 2, &options, &team) == TULLE_ERR_ARG, "%s", tulle_error_message());
    return tap_done();
}
