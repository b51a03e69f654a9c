/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that draw cases: SPEC PES SEED CASES [FIRST]. A seed of "new" is the time. */
#ifndef TULLE_TEST_DRAWN_H
#define TULLE_TEST_DRAWN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tulle/tulle.h>

#include "tap.h"
#include "temporary.h"

struct run {
    const tulle_team *team;
    uint64_t seed;
    int64_t cases, from;
    int64_t solved;                                         /* counted by the body */
    char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16]; /* of a matrix of PE 0, for bodies that save one */
};

/* Runs a body, whose argument is the run, and reports that its cases are so. 0: there is no team; ends with tap_done.
 */
static int run_drawn(int argc, char **argv, int threads, tulle_body body, const char *so, struct run *run)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s SPEC PES SEED CASES [FIRST]\n", argv[0]);
        exit(2);
    }
    const tulle_team_options options = {.threads = threads};
    tulle_team *team;
    *run = (struct run){.seed = strcmp(argv[3], "new") ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL),
        .cases = atoll(argv[4]),
        .from = argc > 5 ? atoll(argv[5]) : 0};
    if (!ok(temporary_folder(run->folder), "a temporary folder")) return 0;
    snprintf(run->path, sizeof run->path, "%s/A.bsp.h5", run->folder);
    const int open = tulle_team_new(argv[1], atoi(argv[2]), &options, &team) == TULLE_OK;
    if (ok(open, "open: %s", tulle_error_message())) {
        run->team = team;
        const tulle_status status = tulle_team_run(team, body, run);
        ok(status == TULLE_OK, "seed %llu: %s: %s", (unsigned long long)run->seed, so,
            status == TULLE_OK ? "all" : tulle_error_message());
        tulle_team_free(team);
    }
    remove(run->path);
    remove(run->folder);
    return open;
}

#endif
