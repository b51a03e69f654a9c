/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of tests of matrix functions: PROGRAM SPEC PES. */
#ifndef TULLE_TEST_MATFUN_RUN_TESTS_H
#define TULLE_TEST_MATFUN_RUN_TESTS_H

#include <string.h>

#include "base/error.h"
#include "body.h"
#include "built_with.h"
#include "tap.h"

struct named_test {
    const char *name;
    tulle_body body; /* called with arg; PE 0 may set *worst */
};

/* TULLE_OK if a call has failed so, with that part of a message. */
static inline tulle_status refused(tulle_status status, tulle_status expected, const char *part)
{
    if (status == expected && strstr(tulle_error_message(), part)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_CHECK, "expected %s with '%s', got %s: %s", tulle_status_name(expected), part,
        tulle_status_name(status), tulle_error_message());
}

/* Runs the tests on a team; what all but the first take is given back. */
static int run_all(char **argv, int count, const struct named_test *tests, void *arg, double *worst)
{
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26, .threads = npes < 4 ? 2 : 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}};
    for (int t = 0; t < count; t++) {
        *worst = 0;
        tulle_status status = tulle_team_run(team, tests[t].body, arg);
        ok(status == TULLE_OK, "%s: %s; worst error %.1e", tests[t].name,
            status == TULLE_OK ? "right" : tulle_error_message(), *worst);
        if (t == 0) tulle_team_run(team, count_blocks, before);
    }
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "nothing leaks");
    tulle_team_free(team);
    return tap_done();
}

/* The same, of what the host computes. */
static inline int run_tests(int argc, char **argv, int count, const struct named_test *tests, void *arg, double *worst)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    if (!built_with("LAPACK: yes")) return printf("1..0 # SKIP functions of matrices need LAPACK\n"), 0;
    return run_all(argv, count, tests, arg, worst);
}

#endif
