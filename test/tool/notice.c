/* SPDX-License-Identifier: Apache-2.0 */
/* Notices of launchers about a job that failed are taken out of its lines; process and signal are read from them. */
#include "process/notice.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define FRAME "--------------------------------------------------------------------------\n"
#define EQUALS "===================================================================================\n"

    static const struct {
    const char *name, *text, *passed;
    int rank, signal;
} cases[] = {
    {"Open MPI 4",
        "a line\n" FRAME "Primary job  terminated normally, but 1 process returned\n"
        "a non-zero exit code. Per user-direction, the job has been aborted.\n" FRAME FRAME
        "mpirun noticed that process rank 2 with PID 0 on node host exited on signal 9 (Killed).\n" FRAME,
        "a line\n", 2, 9},
    {"Open MPI 5, which ends a line within",
        FRAME "prterun noticed that process rank 12 with PID 4711 on node host exited on\nsignal 11 (Segmentation "
              "fault).\n" FRAME "more\n",
        "more\n", 12, 11},
    {"a signal that has no name",
        FRAME "prterun noticed that process rank 0 with PID 4711 on node host exited on\nsignal 64.\n" FRAME, "", 0,
        64},
    {"another status first",
        FRAME "prterun detected that one or more processes exited with non-zero status,\nthus causing the job to be "
              "terminated. "
              "The first process to do so was:\n\n   Process name: [prterun-host-1@1,1]\n   Exit code:    4\n" FRAME,
        "", -1, 0},
    {"MPICH",
        EQUALS "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 9\n" EQUALS
               "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
               "This typically refers to a problem with your application.\n"
               "Please see the FAQ page for debugging suggestions\n",
        "", -1, 9},
    {"a process, before the launcher", "tulle: PE 1 was lost (process 4711 on node); this job ends\nb\n", "b\n", 1, 0},
    {"a frame of the job's own", FRAME "process 3 exited on signal 9\n" FRAME,
        FRAME "process 3 exited on signal 9\n" FRAME, -1, 0},
};

/* In pieces of so many bytes, as a pipe may bring them. */
static int is_read(size_t c, size_t piece)
{
    char *passed = NULL;
    size_t length = 0;
    const char *text = cases[c].text;
    struct notice notice = {.rank = -1};
    static struct notice_filter filter;
    filter = (struct notice_filter){.to = open_memstream(&passed, &length), .notice = &notice};
    for (size_t at = 0, all = strlen(text); at < all; at += piece)
        notice_feed(&filter, text + at, all - at < piece ? all - at : piece);
    notice_end(&filter);
    fclose(filter.to);
    int right =
        notice.rank == cases[c].rank && notice.signal == cases[c].signal && strcmp(passed, cases[c].passed) == 0;
    if (!right) printf("# rank %d, signal %d, passed: %s\n", notice.rank, notice.signal, passed);
    free(passed);
    return right;
}

int main(void)
{
    static const size_t pieces[] = {1, 7, 4096};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
            ok(is_read(c, pieces[p]), "%s, in pieces of %zu bytes", cases[c].name, pieces[p]);
    return tap_done();
}
