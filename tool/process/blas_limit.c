/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits (ulimit -v, -d) within which OpenBLAS cannot be loaded: its constructor maps a buffer for each of its threads,
 * and asks for ever where it gets none (0.3.29; 0.3.21 for all but the first). Before the constructors of libraries the
 * command begins anew with one thread of OpenBLAS, or is refused.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process/exit_status.h"

/* There only if the process has OpenBLAS. */
extern int openblas_get_num_threads(void) __attribute__((weak));

static const char variable[] = "OPENBLAS_NUM_THREADS=";
enum { BUFFER = 130 << 20, BESIDE = 16 << 20 }; /* bytes a thread, and what loading takes otherwise */

/* Bytes that the limits leave beside the pages that are mapped: before libraries begin, no others. */
static rlim_t bytes_left(void)
{
    struct rlimit space, data;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    if (getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0) return RLIM_INFINITY;
    const rlim_t mapped = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
    const rlim_t left = space.rlim_cur == RLIM_INFINITY ? RLIM_INFINITY
                        : space.rlim_cur > mapped       ? space.rlim_cur - mapped
                                                        : 0;
    return data.rlim_cur < left ? data.rlim_cur : left;
}

/* Threads that OpenBLAS will begin with; *said: the user's word, or NULL. */
static int threads_of(char **environment, const char **said)
{
    cpu_set_t cores;
    *said = NULL;
    for (char **e = environment; *e; e++)
        if (strncmp(*e, variable, sizeof variable - 1) == 0) *said = *e + sizeof variable - 1;
    if (*said && atoi(*said) > 0) return atoi(*said);
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

/* Begins the command anew with one thread of OpenBLAS; returns where that cannot be done. */
static void begin_anew(char **arguments, char **environment)
{
    static char one[] = "OPENBLAS_NUM_THREADS=1";
    size_t count = 0;
    while (environment[count]) count++;
    char **changed = malloc((count + 2) * sizeof *changed);
    if (!changed) return;
    size_t to = 0;
    for (char **e = environment; *e; e++)
        if (strncmp(*e, variable, sizeof variable - 1) != 0) changed[to++] = *e;
    changed[to++] = one;
    changed[to] = NULL;
    execve("/proc/self/exe", arguments, changed);
    free(changed);
}

static void fit(int count, char **arguments, char **environment)
{
    const char *said;
    (void)count;
    if (!openblas_get_num_threads) return;
    const rlim_t left = bytes_left();
    if (left == RLIM_INFINITY) return;
    const int threads = threads_of(environment, &said);
    if (left >= (rlim_t)threads * BUFFER + BESIDE) return;
    if (left < BUFFER + BESIDE) {
        static const char refusal[] =
            "tulle: the limit of the address space (ulimit -v) or of data (ulimit -d) leaves less than 146 MB, and "
            "OpenBLAS maps as much when it is loaded\n";
        (void)!write(STDERR_FILENO, refusal, sizeof refusal - 1);
        _exit(EXIT_RESOURCES);
    }
    if (threads > 1) begin_anew(arguments, environment);
}

/* Run before the constructors of libraries. */
__attribute__((section(".preinit_array"), used)) static void (*const before_libraries)(int, char **, char **) = fit;
