/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP connection to the first process of another machine, which says when that is lost (base/lifeline.h). */
#ifndef TULLE_BASE_HOST_TIES_H
#define TULLE_BASE_HOST_TIES_H

#include <stddef.h>
#include <stdint.h>

enum { TULLE__PRESENCE_ADDRESSES = 8 };

/* A process as the others of its team know it; bytes that may be sent. */
typedef struct tulle__presence {
    char host[64];
    uint64_t machine; /* equal where processes see each other's ids and sockets */
    int64_t process;
    uint64_t started;  /* its start, in ticks since that of the machine */
    uint64_t token[3]; /* of the job: what it is greeted with, what it answers, its name on this machine */
    uint32_t port;     /* 0: it cannot be reached */
    uint32_t addresses;
    unsigned char address[TULLE__PRESENCE_ADDRESSES][16]; /* IPv6; IPv4 as mapped */
} tulle__presence;

enum { TULLE__NEWS = 256 };

typedef struct tulle__tie {
    int fd; /* < 0: none */
    enum { TULLE__TIE_OFF, TULLE__TIE_CONNECTING, TULLE__TIE_GREETING, TULLE__TIE_LIVE } state;
    int accepted;  /* the other one connects */
    uint32_t next; /* address to try next, modulo their number */
    int64_t until; /* end of this step, and of all attempts, on tulle__clock_ns */
    int64_t give_up;
    int first, pes;       /* the first PE of that machine, and their number */
    tulle__presence peer; /* the first one */
    size_t got;
    char text[TULLE__NEWS];
} tulle__tie;

/* Fills in port and addresses; the listening socket, or -1. */
int tulle__tie_listen(tulle__presence *mine);
/* Begins to connect; returns at once. */
void tulle__tie_connect(tulle__tie *tie, int64_t now);
/* Takes a connection from the listening socket as tie's, if none is there. */
void tulle__tie_accept(tulle__tie *tie, int listener, int64_t now);
enum tulle__tie_event {
    TULLE__TIE_NOTHING,
    TULLE__TIE_NEWS,   /* `text` has the cause of another's end */
    TULLE__TIE_ENDED,  /* the process has ended */
    TULLE__TIE_SILENT, /* its machine does not answer */
    TULLE__TIE_FAILED, /* it was never reached */
};
/* One step; `ready`: poll has reported an event. patience in seconds. */
enum tulle__tie_event tulle__tie_step(
    tulle__tie *tie, const tulle__presence *mine, int ready, int patience, int64_t now);
short tulle__tie_events(const tulle__tie *tie);

#endif
