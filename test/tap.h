/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test Anything Protocol for small test programs: ok(condition, format, ...), then return tap_done(). A process that an
 * MPI launcher started, but for the first, prints only what fails in it.
 */
#ifndef TULLE_TEST_TAP_H
#define TULLE_TEST_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_count, tap_failed;

/* Output of the report: only the first process of several prints all of it. */
__attribute__((unused)) static int tap_first(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    return !rank || atoi(rank) == 0;
}

__attribute__((format(printf, 4, 5), unused)) static int tap_ok(
    int condition, const char *file, int line, const char *format, ...)
{
    va_list args;
    tap_count++;
    if (!condition) tap_failed++;
    if (condition && !tap_first()) return condition;
    printf("%s %d - ", condition ? "ok" : "not ok", tap_count);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    if (!condition) printf("# at %s:%d\n", file, line);
    fflush(stdout);
    return condition;
}

#define ok(condition, ...) tap_ok((condition) != 0, __FILE__, __LINE__, __VA_ARGS__)

/* Records a case that could not run, with its reason. */
#define skip(reason, ...)                                                                                              \
    (++tap_count, tap_first() && printf("ok %d - # SKIP " reason "\n", tap_count, ##__VA_ARGS__), fflush(stdout))

__attribute__((unused)) static int tap_done(void)
{
    if (tap_first()) printf("1..%d\n", tap_count);
    if (tap_failed) printf("# %d of %d failed\n", tap_failed, tap_count);
    return tap_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
