/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

enum { PATIENCE = 7, PATIENCE_MOST = 86400, LOOK_MS = 250 };
enum { STOP, NEWS, LISTENER, BEFORE, AFTER, MATES }; /* descriptors of the thread, in this order */

/* Another process of this machine. */
struct mate {
    int rank;
    char host[64];
    int64_t process;
    uint64_t started, token;
};

/* A cause of an end, as it is sent. */
struct news {
    char text[TULLE__NEWS];
};

struct tulle__lifeline {
    tulle__presence mine;
    int rank, nmates, patience, watching, looks; /* looks: some are not watched by the kernel */
    int stop, news, listener;
    int hosts;         /* machines of the team */
    struct mate *mate; /* by rank */
    struct pollfd *fd; /* [MATES + nmates] */
    tulle__tie tie[2]; /* of the machines before and after, by who connects: accepted, own */
    pthread_t thread;
};

/* A process's state and its start; 0: there is none. */
static int look_up(int64_t process, char *state, uint64_t *started)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", process);
    FILE *file = fopen(path, "re");
    if (!file) return errno != ENOENT && errno != ESRCH ? -1 : 0;
    const char *rest = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL; /* after its name */
    fclose(file);
    /* fields 3 to 22 */
    return rest && sscanf(rest, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                       state, started) == 2;
}

static int is_gone(const struct mate *mate)
{
    char state;
    uint64_t started;
    int there = look_up(mate->process, &state, &started);
    return there == 0 || (there > 0 && (state == 'Z' || state == 'X' || started != mate->started));
}

/* FNV-1a */
static uint64_t add_to_hash(uint64_t hash, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

/* The machine's start, and this process's view of processes and of the network. */
static uint64_t identify_machine(const char *host)
{
    uint64_t hash = 14695981039346656037u;
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0) close(fd);
    hash = n > 0 ? add_to_hash(hash, text, (size_t)n) : add_to_hash(hash, host, strlen(host));
    static const char *const views[] = {"/proc/self/ns/pid", "/proc/self/ns/net"};
    for (int i = 0; i < 2; i++) {
        struct stat info;
        if (stat(views[i], &info) == 0) hash = add_to_hash(hash, &info.st_ino, sizeof info.st_ino);
    }
    return hash;
}

/* A name of no file: it vanishes with its process. */
static socklen_t news_address(uint64_t token, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "tulle-%016" PRIx64, token);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int open_news(uint64_t token)
{
    struct sockaddr_un address;
    const int on = 1;
    socklen_t length = news_address(token, &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (bind(fd, (struct sockaddr *)&address, length) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0)
        return fd;
    close(fd);
    return -1;
}

tulle_status tulle__lifeline_new(tulle__presence *mine, tulle__lifeline **out)
{
    tulle__lifeline *l;
    char state;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *l, "the watch over processes", &l));
    *mine = (tulle__presence){.process = getpid()};
    gethostname(mine->host, sizeof mine->host - 1);
    mine->machine = identify_machine(mine->host);
    (void)look_up(mine->process, &state, &mine->started);
    l->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->news = l->listener = -1;
    const char *patience = secure_getenv("TULLE_PATIENCE");
    l->patience = patience && *patience ? atoi(patience) : PATIENCE;
    if (l->patience < 0) l->patience = PATIENCE;
    if (l->patience > PATIENCE_MOST) l->patience = PATIENCE_MOST;
    if (getrandom(mine->token, sizeof mine->token, 0) == (ssize_t)sizeof mine->token) {
        l->news = open_news(mine->token[2]);
        if (l->patience) l->listener = tulle__tie_listen(mine);
    }
    for (int i = 0; i < 2; i++) l->tie[i] = (tulle__tie){.fd = -1, .accepted = i == 0, .until = INT64_MAX};
    if (l->stop < 0 || l->news < 0) {
        status = tulle__fail(TULLE_ERR_MEMORY, "no descriptors to watch other processes by: %s", strerror(errno));
        tulle__lifeline_free(l);
        return status;
    }
    l->mine = *mine;
    *out = l;
    return TULLE_OK;
}

/* The cause that another process of this machine has printed, one of this user's; 0: none. */
static int read_news(const tulle__lifeline *l, struct news *news)
{
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {news, sizeof *news};
    struct ucred sender;
    for (;;) {
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
        ssize_t n = recvmsg(l->news, &message, MSG_DONTWAIT);
        if (n < 0) return 0;
        const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (n != sizeof *news || !header || header->cmsg_type != SCM_CREDENTIALS) continue;
        memcpy(&sender, CMSG_DATA(header), sizeof sender);
        news->text[sizeof news->text - 1] = '\0';
        if (sender.uid == geteuid()) return 1;
    }
}

/* Lives: a lower rank of this machine. */
static int lower_lives(const tulle__lifeline *l)
{
    for (int i = 0; i < l->nmates; i++)
        if (l->mate[i].rank < l->rank && !is_gone(&l->mate[i])) return 1;
    return 0;
}

/*
 * True if this process prints the cause: the lowest rank of its machine that lives. Others wait for
 * the news that it has been printed, as launchers kill processes meanwhile.
 */
static int prints(const tulle__lifeline *l)
{
    enum { TIMES = 100, MS = 2 };
    struct news news;
    for (int i = 0, lower = 1; i < TIMES && lower; i++) {
        lower = lower_lives(l);
        if (read_news(l, &news)) return 0;
        if (lower) (void)poll(&(struct pollfd){l->news, POLLIN, 0}, 1, MS);
    }
    return 1;
}

static void send_to_mates(const tulle__lifeline *l, const struct news *news)
{
    for (int i = 0; i < l->nmates; i++) {
        struct sockaddr_un address;
        socklen_t length = news_address(l->mate[i].token, &address);
        (void)sendto(l->news, news, sizeof *news, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    }
}

/* Ends this process. printed: another one of this machine has. */
static _Noreturn void end_process(const tulle__lifeline *l, const struct news *news, int printed)
{
    signal(SIGTERM, SIG_IGN); /* the launcher's, which notices it, too */
    for (int i = 0; i < 2; i++)
        if (l->tie[i].state == TULLE__TIE_LIVE)
            (void)send(l->tie[i].fd, news, sizeof *news, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!printed && prints(l)) {
        char line[TULLE__NEWS + 64];
        int n = snprintf(line, sizeof line, "tulle: %s; this job ends\n", news->text);
        if (write(STDERR_FILENO, line, (size_t)n) == n) send_to_mates(l, news);
    }
    _exit(TULLE__EXIT_LOST);
}

static void lost_mate(const tulle__lifeline *l, const struct mate *mate)
{
    struct news news = {""};
    int printed = read_news(l, &news); /* it may have ended because of another one */
    if (!printed)
        snprintf(news.text, sizeof news.text, "PE %d was lost (process %" PRId64 " on %s)", mate->rank, mate->process,
            mate->host);
    end_process(l, &news, printed);
}

static void lost_tie(const tulle__lifeline *l, const tulle__tie *tie, enum tulle__tie_event event)
{
    struct news news = {""};
    char pes[48];
    int n = snprintf(pes, sizeof pes, "PE %d", tie->first);
    if (tie->pes > 1) snprintf(pes + n, sizeof pes - (size_t)n, " and %d more", tie->pes - 1);
    if (event == TULLE__TIE_NEWS)
        memcpy(&news, tie->text, sizeof news);
    else if (event == TULLE__TIE_ENDED)
        snprintf(news.text, sizeof news.text, "PE %d was lost (process %" PRId64 " on %s)", tie->first,
            tie->peer.process, tie->peer.host);
    else
        snprintf(news.text, sizeof news.text, "the host %s (%s) was lost: it has not answered %s for %d s",
            tie->peer.host, pes, l->mine.host, l->patience);
    if (event != TULLE__TIE_FAILED) end_process(l, &news, 0);
    fprintf(stderr,
        "tulle: %s cannot reach %s by TCP to watch it: were it lost, the job would wait for it (TULLE_PATIENCE=0: no "
        "watch, and no warning)\n",
        l->mine.host, tie->peer.host);
}

/* When the thread must look again, in ms; -1: at the next event. */
static int next_look(const tulle__lifeline *l)
{
    int64_t now = tulle__clock_ns(), first = l->looks ? now + (int64_t)LOOK_MS * 1000000 : INT64_MAX;
    for (int i = 0; i < 2; i++)
        if (l->tie[i].until < first) first = l->tie[i].until;
    if (first == INT64_MAX) return -1;
    return first <= now ? 0 : (int)((first - now) / 1000000) + 1;
}

static void look_at_ties(tulle__lifeline *l)
{
    int64_t now = tulle__clock_ns();
    if (l->fd[LISTENER].revents) tulle__tie_accept(&l->tie[0], l->listener, now);
    for (int i = 0; i < 2; i++) {
        int ready = l->tie[i].fd >= 0 && l->fd[BEFORE + i].fd == l->tie[i].fd && l->fd[BEFORE + i].revents;
        enum tulle__tie_event event = tulle__tie_step(&l->tie[i], &l->mine, ready, l->patience, now);
        if (event != TULLE__TIE_NOTHING) lost_tie(l, &l->tie[i], event);
    }
}

static void *watch(void *arg)
{
    tulle__lifeline *l = arg;
    struct news news;
    for (;;) {
        for (int i = 0; i < 2; i++) l->fd[BEFORE + i] = (struct pollfd){l->tie[i].fd, tulle__tie_events(&l->tie[i]), 0};
        if (poll(l->fd, (nfds_t)(MATES + l->nmates), next_look(l)) < 0) continue;
        if (l->fd[STOP].revents) return NULL;
        if (l->fd[NEWS].revents && read_news(l, &news)) end_process(l, &news, 1);
        for (int i = 0; i < l->nmates; i++)
            if (l->fd[MATES + i].revents || (l->looks && l->fd[MATES + i].fd < 0 && is_gone(&l->mate[i])))
                lost_mate(l, &l->mate[i]);
        if (l->hosts > 1) look_at_ties(l);
    }
}

struct placed {
    uint64_t machine;
    int rank;
};

static int by_machine(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->machine != y->machine) return x->machine < y->machine ? -1 : 1;
    return x->rank - y->rank;
}

static int by_rank(const void *a, const void *b)
{
    return ((const struct placed *)a)->rank - ((const struct placed *)b)->rank;
}

static void meet_mate(tulle__lifeline *l, int rank, const tulle__presence *other)
{
    struct mate *mate = &l->mate[l->nmates];
    *mate = (struct mate){.rank = rank, .process = other->process, .started = other->started, .token = other->token[2]};
    snprintf(mate->host, sizeof mate->host, "%.63s", other->host);
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)other->process, 0);
    l->fd[MATES + l->nmates] = (struct pollfd){fd, POLLIN, 0};
    if (fd >= 0 && is_gone(mate)) { /* another process has its number */
        close(fd);
        l->fd[MATES + l->nmates].fd = fd = -1;
    }
    l->looks |= fd < 0;
    l->nmates++;
}

/* by: the processes by machine, which it overwrites; leader: the first one of this machine. */
static void join_ring(tulle__lifeline *l, struct placed *by, int npes, const tulle__presence *all, int leader)
{
    int n = 0, own = 0;
    for (int i = 0; i < npes; i++)
        if (i == 0 || by[i].machine != by[i - 1].machine) {
            by[n].machine = by[i].machine;
            by[n++].rank = by[i].rank;
        }
    l->hosts = n;
    if (n < 2 || leader != l->rank || !l->patience) return;
    qsort(by, (size_t)n, sizeof *by, by_rank);
    while (by[own].rank != leader) own++;
    for (int i = 0; i < 2; i++) {
        tulle__tie *tie = &l->tie[i];
        const int first = by[(own + (i ? 1 : n - 1)) % n].rank;
        tie->first = first;
        tie->peer = all[first];
        for (int r = first; r < npes; r++) tie->pes += all[r].machine == all[first].machine;
    }
    l->tie[1].give_up = tulle__clock_ns() + (int64_t)(l->patience + (int)l->tie[1].peer.addresses) * 1000000000;
    tulle__tie_connect(&l->tie[1], tulle__clock_ns());
}

/* Signals are for the program's threads. */
static int start_thread(tulle__lifeline *l)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    int error = pthread_create(&l->thread, &attributes, watch, l);
    /* the program's thread-local variables lie on the stack, too, and may be larger */
    if (error == EINVAL) error = pthread_create(&l->thread, NULL, watch, l);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

tulle_status tulle__lifeline_watch(tulle__lifeline *l, int rank, int npes, const tulle__presence *all)
{
    tulle_status status;
    struct placed *by = NULL;
    int begin = 0, end = 0;
    l->rank = rank;
    TULLE_TRY(tulle__alloc((size_t)npes, sizeof *by, "hosts of processes", &by));
    for (int r = 0; r < npes; r++) by[r] = (struct placed){all[r].machine, r};
    qsort(by, (size_t)npes, sizeof *by, by_machine);
    while (by[begin].machine != l->mine.machine) begin++;
    for (end = begin; end < npes && by[end].machine == l->mine.machine;) end++;
    TULLE_TRY(tulle__alloc_zero((size_t)(end - begin), sizeof *l->mate, "other processes", &l->mate));
    TULLE_TRY(tulle__alloc_zero((size_t)(MATES + end - begin), sizeof *l->fd, "other processes", &l->fd));
    for (int i = begin; i < end; i++)
        if (by[i].rank != rank) meet_mate(l, by[i].rank, &all[by[i].rank]);
    join_ring(l, by, npes, all, by[begin].rank);
    l->fd[STOP] = (struct pollfd){l->stop, POLLIN, 0};
    l->fd[NEWS] = (struct pollfd){l->news, POLLIN, 0};
    l->fd[LISTENER] = (struct pollfd){l->tie[0].pes ? l->listener : -1, POLLIN, 0};
    int error = start_thread(l);
    if (error)
        status = tulle__fail(TULLE_ERR_MEMORY, "no thread to watch other processes by: %s", strerror(error));
    else
        l->watching = 1;
out:
    tulle__free(by);
    return status;
}

void tulle__lifeline_stop(tulle__lifeline *l)
{
    const uint64_t one = 1;
    if (!l || !l->watching) return;
    while (write(l->stop, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(l->thread, NULL);
    l->watching = 0;
}

void tulle__lifeline_free(tulle__lifeline *l)
{
    if (!l) return;
    tulle__lifeline_stop(l);
    const int own[] = {l->stop, l->news, l->listener, l->tie[0].fd, l->tie[1].fd};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] >= 0) close(own[i]);
    for (int i = 0; i < l->nmates; i++)
        if (l->fd[MATES + i].fd >= 0) close(l->fd[MATES + i].fd);
    tulle__free(l->mate);
    tulle__free(l->fd);
    tulle__free(l);
}
