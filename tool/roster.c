/* SPDX-License-Identifier: Apache-2.0 */
#include "roster.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tulle/launch.h>

#include "verb.h"

static const char variable[] = "TULLE_ROSTER";

/*
 * A datagram socket whose name is no file: it vanishes with this process, however that ends. Its
 * name begins with a zero byte; the environment has the rest.
 */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int roster_open(struct roster *r)
{
    struct sockaddr_un address;
    unsigned char key[16];
    char name[64] = "tulle-roster-";
    const int on = 1;
    *r = (struct roster){.socket = -1, .deaths = -1, .lost = -1};
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key) return -1;
    for (size_t i = 0, at = strlen(name); i < sizeof key; i++, at += 2)
        snprintf(name + at, sizeof name - at, "%02x", key[i]);
    const socklen_t length = address_of(name, &address);
    if ((r->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0 ||
        bind(r->socket, (struct sockaddr *)&address, length) ||
        setsockopt(r->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) ||
        (r->deaths = epoll_create1(EPOLL_CLOEXEC)) < 0 || setenv(variable, name, 1)) {
        roster_close(r);
        return -1;
    }
    return 0;
}

void roster_close(struct roster *r)
{
    for (int rank = 0; rank < ROSTER_PES; rank++)
        if (r->pe[rank].watch > 0) close(r->pe[rank].watch);
    if (r->socket >= 0) close(r->socket);
    if (r->deaths >= 0) close(r->deaths);
}

/*
 * End of a process that its parent has not reaped yet: the last field of its line, like a wait
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

/* Lines of this user's processes. */
static void read_lines(struct roster *r)
{
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    char line[ROSTER_TEXT];
    struct ucred sender;
    for (;;) {
        struct iovec part = {line, sizeof line - 1};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        ssize_t n = recvmsg(r->socket, &message, MSG_DONTWAIT);
        if (n < 0) return;
        const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (!header || header->cmsg_type != SCM_CREDENTIALS) continue;
        memcpy(&sender, CMSG_DATA(header), sizeof sender);
        line[n] = '\0';
        if (sender.uid == geteuid()) take_line(r, line);
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

/* Sends one line, and waits while the reader's queue is full. 0 if it has been sent. */
static int write_line(const char *format, long second, const char *third)
{
    static const struct timeval patience = {.tv_sec = 10};
    struct sockaddr_un address;
    char line[ROSTER_TEXT];
    const char *name = secure_getenv(variable);
    int fd = name ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0) return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int n = snprintf(line, sizeof line, format, tulle_launched_rank(), second, third);
    const socklen_t length = address_of(name, &address);
    ssize_t written = sendto(fd, line, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    close(fd);
    return written == n ? 0 : -1;
}

void roster_sign(void)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    (void)write_line("start %d %ld %s", (long)getpid(), host);
}

int roster_leave(int exit_status)
{
    return write_line("done %d %ld%s", exit_status, "") == 0 ? EXIT_DONE : exit_status;
}
