/* SPDX-License-Identifier: Apache-2.0 */
#include "roster.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tulle/launch.h>

#include "verb.h"

static const char variable[] = "TULLE_ROSTER";

int roster_open(struct roster *r)
{
    *r = (struct roster){.pipe = -1, .deaths = -1, .lost = -1};
    const char *place = secure_getenv("TMPDIR");
    int n = snprintf(r->folder, sizeof r->folder, "%s/tulle-XXXXXX", place && *place ? place : "/tmp");
    if (n < 0 || (size_t)n >= sizeof r->folder || !mkdtemp(r->folder)) return -1;
    snprintf(r->path, sizeof r->path, "%s/roster", r->folder);
    /* open at both ends, so that it never ends */
    if (mkfifo(r->path, 0600) || (r->pipe = open(r->path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0 ||
        (r->deaths = epoll_create1(EPOLL_CLOEXEC)) < 0 || setenv(variable, r->path, 1)) {
        roster_close(r);
        return -1;
    }
    return 0;
}

void roster_close(struct roster *r)
{
    for (int rank = 0; rank < ROSTER_PES; rank++)
        if (r->pe[rank].watch > 0) close(r->pe[rank].watch);
    if (r->pipe >= 0) close(r->pipe);
    if (r->deaths >= 0) close(r->deaths);
    (void)unlink(r->path);
    (void)rmdir(r->folder);
}

/*
 * How a process ended that its parent has not reaped yet: the last field of its line, like a wait
 * status.
 */
static int ended_by(long process)
{
    char path[64], line[1024];
    int status = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    const char *last = fgets(line, sizeof line, file) ? strrchr(line, ' ') : NULL;
    if (last) status = atoi(last);
    fclose(file);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void watch(struct roster *r, int rank)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = rank};
    int fd = (int)syscall(SYS_pidfd_open, r->pe[rank].process, 0);
    if (fd < 0) {
        /* gone before it could be watched; on an old kernel the launcher's message must do */
        if (errno == ESRCH && r->lost < 0) r->lost = rank;
        return;
    }
    r->pe[rank].watch = fd;
    (void)epoll_ctl(r->deaths, EPOLL_CTL_ADD, fd, &event);
}

static void take_line(struct roster *r, const char *line)
{
    int rank, status;
    long process;
    char host[64];
    if (sscanf(line, "start %d %ld %63s", &rank, &process, host) == 3 && rank >= 0 && rank < ROSTER_PES) {
        r->started++;
        r->pe[rank].process = process;
        snprintf(r->pe[rank].host, sizeof r->pe[rank].host, "%s", host);
        watch(r, rank);
    } else if (sscanf(line, "done %d %d", &rank, &status) == 2 && rank >= 0 && rank < ROSTER_PES) {
        r->done++;
        r->pe[rank].done = 1;
        if (r->lost == rank) r->lost = -1; /* it only ended before it could be watched */
        if (status > r->worst) r->worst = status;
    }
}

static void read_lines(struct roster *r)
{
    ssize_t n;
    while ((n = read(r->pipe, r->text + r->length, (size_t)(ROSTER_TEXT - 1 - r->length))) > 0) {
        r->length += (int)n;
        r->text[r->length] = '\0';
        char *line = r->text;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            take_line(r, line);
        }
        r->length = (int)strlen(line);
        memmove(r->text, line, (size_t)r->length + 1);
    }
}

void roster_update(struct roster *r)
{
    struct epoll_event event;
    read_lines(r);
    /* one at a time: the first to become ready is the first to end */
    while (epoll_wait(r->deaths, &event, 1, 0) == 1) {
        int rank = event.data.fd;
        read_lines(r); /* it may have signed off before it ended */
        if (!r->pe[rank].done && r->lost < 0) {
            r->lost = rank;
            r->signal = ended_by(r->pe[rank].process);
        }
        (void)epoll_ctl(r->deaths, EPOLL_CTL_DEL, r->pe[rank].watch, NULL);
    }
}

void roster_kill(struct roster *r)
{
    for (int rank = 0; rank < ROSTER_PES; rank++)
        if (r->pe[rank].watch > 0 && !r->pe[rank].done)
            (void)syscall(SYS_pidfd_send_signal, r->pe[rank].watch, SIGKILL, NULL, 0);
}

/* Writes one line, short enough to be atomic. 0 if it has been written. */
static int write_line(const char *format, long second, const char *third)
{
    char line[256];
    const char *path = secure_getenv(variable);
    int fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0) return -1;
    int n = snprintf(line, sizeof line, format, tulle_launched_rank(), second, third);
    ssize_t written = write(fd, line, (size_t)n);
    close(fd);
    return written == n ? 0 : -1;
}

void roster_sign(void)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    (void)write_line("start %d %ld %s\n", (long)getpid(), host);
}

int roster_leave(int exit_status)
{
    return write_line("done %d %ld%s\n", exit_status, "") == 0 ? EXIT_DONE : exit_status;
}
