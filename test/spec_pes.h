/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with the arguments SPEC PES that run bodies on one team. */
#ifndef TULLE_TEST_SPEC_PES_H
#define TULLE_TEST_SPEC_PES_H

#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "tap.h"

struct named_body {
    const char *name;
    tulle_body body;
};

/*
 * Each body in turn, with NULL; the exit status. warm: nothing leaks of all of them but what this body makes once,
 * contexts and pools; NULL: not looked at.
 */
static int run_bodies(int argc, char **argv, const struct named_body *tests, size_t count, tulle_body warm)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    const int npes = atoi(argv[2]);
    const tulle_team_options options = {.memory = (size_t)npes << 26};
    tulle_team *team;
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}};
    if (warm) tulle_team_run(team, warm, NULL);
    if (warm) tulle_team_run(team, count_blocks, before);
    for (size_t t = 0; t < count; t++) {
        const tulle_status status = tulle_team_run(team, tests[t].body, NULL);
        ok(status == TULLE_OK, "%s: %s", tests[t].name, status == TULLE_OK ? "right" : tulle_error_message());
    }
    if (warm) {
        tulle_team_run(team, count_blocks, after);
        ok(memcmp(before, after, (size_t)npes * sizeof *after) == 0, "nothing leaks");
    }
    tulle_team_free(team);
    return tap_done();
}

#define RUN_BODIES(argc, argv, tests, warm) run_bodies(argc, argv, tests, sizeof(tests) / sizeof *(tests), warm)

#endif
