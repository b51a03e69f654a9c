/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solving over a network: rows are dealt out in tasks, and the owner of an unknown stores it, as soon as it is known,
 * with every PE that needs it, once; who waits reads its own memory. The value is its own signal: a word of the inbox
 * holds a pattern that no value has until the value comes, in one atomic store of 64 bits. (The paper's PEs read sums
 * and counters of all others again and again instead, section IV.) If many PEs need an unknown, its owner tells a few,
 * who pass it on.
 *
 * A PE keeps the unknowns that it uses as lines: its own in the order of solving, then those of others ("ghosts") in
 * the order in which its rows first need them, so that what a block waits for is a range of ghosts.
 */
#ifndef TULLE_TRISOLVE_PUSH_H
#define TULLE_TRISOLVE_PUSH_H

#include "algo/trisolve/worker_schedule.h"

enum {
    TULLE__FANOUT = 8,     /* an owner tells so many PEs itself, where nobody says how many */
    TULLE__IN_HAND = 1024, /* rows that wait at a time */
};

typedef struct tulle__push_target {
    int32_t rank, slot; /* of the ghost that it is there */
} tulle__push_target;

/* A row that waits: all its unknowns before this entry are known. */
typedef struct tulle__push_hand {
    int32_t line;
    int64_t reached;
} tulle__push_hand;

typedef struct tulle__push {
    tulle_comm *comm;
    tulle_type type;
    int64_t nown, nghosts;
    int ntasks;
    int64_t *task;  /* [ntasks] lines with which they begin */
    int32_t *row;   /* [nown] rows of op(T) */
    int32_t *ghost; /* [nghosts] rows of op(T) */
    int64_t *first; /* [nown + 1] of target */
    tulle__push_target *target;
    int64_t nrelays;
    int32_t *relay;       /* [nrelays] ghosts that are passed on, in the order of solving */
    int64_t *relay_first; /* [nghosts + 1] of relay_target; NULL: there are no relays */
    tulle__push_target *relay_target;
    /* as many columns as were last wanted */
    tulle_gidx cols;
    tulle__place inbox;  /* [nghosts * cols] words; length 0: none yet */
    int segment;         /* where it lies: data if all PEs reach it, else control */
    tulle__place *place; /* [size] */
    uint64_t **direct;   /* [size] NULL: by stores */
    void *lines, *b;     /* [(nown + nghosts) * cols], [nown * cols] */
    int64_t sent;        /* words, to other PEs */
    /* of a pass */
    char *known;            /* [nown + nghosts] lines */
    tulle__push_hand *hand; /* [TULLE__IN_HAND] */
    int32_t *due;           /* [nrelays] ghosts that have come and are to be passed on */
    int32_t *solved;        /* [TULLE__IN_HAND + TULLE__BLOCK_ROWS] lines, in this round */
} tulle__push;

/* Collective: what this PE needs and gives, and its schedule. The triangle is dealt out, and inspected. */
tulle_status tulle__push_init(const tulle__triangle *t, tulle__push *push, tulle__worker_schedule *schedule);
/* Local. */
void tulle__push_fini(tulle__push *push);

/* Collective: room for so many columns. */
tulle_status tulle__push_open(tulle__push *push, tulle_gidx cols);
/* Local: no value has come. All must have done so before anybody solves. */
void tulle__push_arm(tulle__push *push);

/* Whether all values of a ghost have come; then they are in its line. */
int tulle__push_has_come(tulle__push *push, int64_t slot);
/* An own line is known. */
void tulle__push_send(tulle__push *push, int64_t line);
/* A ghost's line is known: passes it on to those that are told of it by this PE. */
void tulle__push_relay(tulle__push *push, int64_t slot);

#endif
