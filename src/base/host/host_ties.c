/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tie is made by the machine before: it tries the other's addresses in turn, greets with the
 * first token and wants the second one back, as a private address may belong to another machine,
 * or to this one. Only a tie that was live can be lost.
 */
#include "base/host/host_ties.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t step_ns = 1000000000; /* for a connection, and for an answer */

static void add_address(tulle__presence *mine, const struct sockaddr *address)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (mine->addresses == TULLE__PRESENCE_ADDRESSES) return;
    unsigned char *to = mine->address[mine->addresses];
    if (address->sa_family == AF_INET) {
        memcpy(to, mapped, sizeof mapped);
        memcpy(to + sizeof mapped, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(six)) return; /* it would need its interface */
        memcpy(to, six, 16);
    } else {
        return;
    }
    mine->addresses++;
}

static void list_addresses(tulle__presence *mine)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return;
    static const int families[] = {AF_INET, AF_INET6};
    for (int f = 0; f < 2; f++)
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            if (i->ifa_addr && i->ifa_addr->sa_family == families[f] && i->ifa_flags & IFF_UP &&
                !(i->ifa_flags & IFF_LOOPBACK))
                add_address(mine, i->ifa_addr);
    freeifaddrs(all);
}

int tulle__tie_listen(tulle__presence *mine)
{
    struct sockaddr_storage own = {.ss_family = AF_INET6};
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&own;
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&own;
    socklen_t length = sizeof *six;
    mine->port = mine->addresses = 0;
    list_addresses(mine);
    int off = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
        bind(fd, (struct sockaddr *)&own, length) != 0) { /* a machine without IPv6 */
        if (fd >= 0) close(fd);
        own = (struct sockaddr_storage){.ss_family = AF_INET};
        length = sizeof *four;
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return -1;
        if (bind(fd, (struct sockaddr *)&own, length) != 0) goto failed;
    }
    length = sizeof own;
    if (listen(fd, 8) != 0 || getsockname(fd, (struct sockaddr *)&own, &length) != 0) goto failed;
    mine->port = ntohs(own.ss_family == AF_INET ? four->sin_port : six->sin6_port);
    return fd;
failed:
    close(fd);
    return -1;
}

/* Closes the connection; an accepted one leaves the place to the next. */
static void drop(tulle__tie *tie)
{
    if (tie->accepted) tie->until = INT64_MAX;
    if (tie->fd >= 0) close(tie->fd);
    tie->fd = -1;
    tie->got = 0;
    tie->state = TULLE__TIE_OFF;
}

void tulle__tie_connect(tulle__tie *tie, int64_t now)
{
    const tulle__presence *peer = &tie->peer;
    drop(tie);
    tie->until = now + step_ns;
    if (!peer->addresses || !peer->port) return;
    const unsigned char *address = peer->address[tie->next++ % peer->addresses];
    struct sockaddr_storage to = {.ss_family = AF_INET6};
    struct in6_addr six;
    memcpy(&six, address, sizeof six);
    socklen_t length = sizeof(struct sockaddr_in6);
    if (IN6_IS_ADDR_V4MAPPED(&six)) {
        struct sockaddr_in *four = (struct sockaddr_in *)(void *)&to;
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)peer->port);
        memcpy(&four->sin_addr, address + 12, 4);
        length = sizeof *four;
    } else {
        struct sockaddr_in6 *other = (struct sockaddr_in6 *)(void *)&to;
        other->sin6_port = htons((uint16_t)peer->port);
        other->sin6_addr = six;
    }
    tie->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (tie->fd < 0) return;
    if (connect(tie->fd, (struct sockaddr *)&to, length) != 0 && errno != EINPROGRESS)
        drop(tie);
    else
        tie->state = TULLE__TIE_CONNECTING;
}

void tulle__tie_accept(tulle__tie *tie, int listener, int64_t now)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (tie->state != TULLE__TIE_OFF) {
        close(fd);
        return;
    }
    tie->fd = fd;
    tie->got = 0;
    tie->state = TULLE__TIE_GREETING;
    tie->until = now + step_ns;
}

/* From here on the kernels of both ends ask each other every second. */
static void live(tulle__tie *tie, int patience)
{
    const int on = 1, second = 1, times = patience > 2 ? patience - 1 : 1;
    const unsigned most = (unsigned)patience * 1000;
    (void)setsockopt(tie->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(tie->fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
    (void)setsockopt(tie->fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
    (void)setsockopt(tie->fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
    (void)setsockopt(tie->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most);
    tie->state = TULLE__TIE_LIVE;
    tie->got = 0;
}

/* 1: `wanted` bytes are there. 0: not yet. -1: there will be none, with errno, 0 at an end. */
static int take(tulle__tie *tie, size_t wanted)
{
    while (tie->got < wanted) {
        ssize_t n = recv(tie->fd, tie->text + tie->got, wanted - tie->got, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
        if (n <= 0) {
            if (n == 0) errno = 0;
            return -1;
        }
        tie->got += (size_t)n;
    }
    return 1;
}

static int send_token(const tulle__tie *tie, uint64_t token)
{
    return send(tie->fd, &token, sizeof token, MSG_NOSIGNAL) == (ssize_t)sizeof token;
}

/*
 * The one that connects says token 0, hears token 1 and confirms by token 0: the other must not
 * take an attempt that has been given up for a process that has ended. < 0: of no use.
 */
static int greet(tulle__tie *tie, const tulle__presence *mine, int patience)
{
    uint64_t token[2];
    const uint64_t *secret = tie->accepted ? mine->token : tie->peer.token;
    int came = take(tie, tie->got < sizeof *token || !tie->accepted ? sizeof *token : sizeof token);
    if (came <= 0) return came;
    memcpy(token, tie->text, sizeof token);
    if (!tie->accepted) {
        if (token[0] != secret[1] || !send_token(tie, secret[0])) return -1;
        live(tie, patience);
        return 1;
    }
    if (token[0] != secret[0]) return -1;
    if (tie->got == sizeof *token) { /* from here on it may take its time */
        tie->until = INT64_MAX;
        if (!send_token(tie, secret[1])) return -1;
        came = take(tie, sizeof token);
        if (came <= 0) return came;
        memcpy(token, tie->text, sizeof token);
    }
    if (token[1] != secret[0]) return -1;
    live(tie, patience);
    return 1;
}

static int connected(tulle__tie *tie)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(tie->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error) return -1;
    if (!send_token(tie, tie->peer.token[0])) return -1;
    tie->state = TULLE__TIE_GREETING;
    return 1;
}

static enum tulle__tie_event listen_to(tulle__tie *tie)
{
    int came = take(tie, TULLE__NEWS);
    if (came == 0) return TULLE__TIE_NOTHING;
    tie->text[TULLE__NEWS - 1] = '\0';
    if (came > 0) return TULLE__TIE_NEWS;
    return errno == 0 || errno == ECONNRESET || errno == EPIPE ? TULLE__TIE_ENDED : TULLE__TIE_SILENT;
}

enum tulle__tie_event tulle__tie_step(
    tulle__tie *tie, const tulle__presence *mine, int ready, int patience, int64_t now)
{
    int went = 0;
    if (tie->state == TULLE__TIE_LIVE) return ready ? listen_to(tie) : TULLE__TIE_NOTHING;
    if (ready && tie->state == TULLE__TIE_CONNECTING) went = connected(tie);
    if (ready && went >= 0 && tie->state == TULLE__TIE_GREETING) went = greet(tie, mine, patience);
    if (tie->state == TULLE__TIE_LIVE) return TULLE__TIE_NOTHING;
    if (went < 0) drop(tie); /* the next attempt comes in its time */
    if (now < tie->until) return TULLE__TIE_NOTHING;
    if (!tie->accepted && now >= tie->give_up) {
        drop(tie);
        tie->until = INT64_MAX;
        return TULLE__TIE_FAILED;
    }
    if (tie->accepted)
        drop(tie);
    else
        tulle__tie_connect(tie, now);
    return TULLE__TIE_NOTHING;
}

short tulle__tie_events(const tulle__tie *tie)
{
    return tie->state == TULLE__TIE_CONNECTING ? POLLOUT : POLLIN;
}
