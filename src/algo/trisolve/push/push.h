/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The push method, for networks: rows are distributed in tasks. The owner of an unknown stores it,
 * as soon as it is solved, once at every PE that requires it; a waiting PE reads its own memory.
 * The value is its own signal: a word of the inbox holds a pattern that no value has, until the
 * value arrives in one atomic store of 64 bits. (The paper's PEs poll sums and counters of all
 * others instead, section IV.) If many PEs require an unknown, its owner sends it to a few, which
 * relay it.
 *
 * A PE stores the unknowns that it uses as lines: its own in the order of solving, then those of
 * others ("ghosts") in the order in which its rows first require them. What a block waits for is
 * thus a range of ghosts.
 */
#ifndef TULLE_TRISOLVE_PUSH_H
#define TULLE_TRISOLVE_PUSH_H

#include "algo/trisolve/worker_schedule.h"

enum {
    TULLE__FANOUT = 8,    /* default number of PEs to which an owner sends an unknown directly */
    TULLE__WINDOW = 1024, /* most waiting rows at a time */
};

typedef struct tulle__push_target {
    int32_t rank, slot; /* its slot among that PE's ghosts */
} tulle__push_target;

/* A waiting row: all its unknowns before this entry are known. */
typedef struct tulle__push_waiting {
    int32_t line;
    int64_t reached;
} tulle__push_waiting;

typedef struct tulle__push {
    tulle_comm *comm;
    tulle_type type;
    int64_t nown, nghosts;
    int ntasks;
    int64_t *task;  /* [ntasks]: first lines */
    int32_t *row;   /* [nown] rows of op(T) */
    int32_t *ghost; /* [nghosts] rows of op(T) */
    int64_t *first; /* [nown + 1] of target */
    tulle__push_target *target;
    int64_t nrelays;
    int32_t *relay;       /* [nrelays]: relayed ghosts, in the order of solving */
    int64_t *relay_first; /* [nghosts + 1], into relay_target; NULL: there are no relays */
    tulle__push_target *relay_target;
    /* number of columns last used */
    tulle_gidx cols;
    tulle__place inbox;  /* [nghosts * cols] words; length 0: none yet */
    int segment;         /* data if all PEs reach it, else control */
    tulle__place *place; /* [size] */
    uint64_t **direct;   /* [size]; NULL: not mapped, by stores */
    void *lines, *b;     /* [(nown + nghosts) * cols], [nown * cols] */
    int64_t sent;        /* words sent to other PEs */
    /* of a sweep: */
    char *known;                 /* [nown + nghosts] lines */
    tulle__push_waiting *window; /* [TULLE__IN_HAND] */
    int32_t *due;                /* [nrelays]: ghosts that have arrived and are to be relayed */
    int32_t *solved;             /* [TULLE__IN_HAND + TULLE__BLOCK_ROWS]: lines solved in this round */
} tulle__push;

/*
 * Lists that this PE requires and sends, and its schedule. The triangle is partitioned and validated.
 * Collective.
 */
tulle_status tulle__push_init(const tulle__triangle *t, tulle__push *push, tulle__worker_schedule *schedule);
/* Local. */
void tulle__push_fini(tulle__push *push);

/* Allocates for so many columns. Collective. */
tulle_status tulle__push_open(tulle__push *push, tulle_gidx cols);
/* Clears the inbox. All PEs must have done so before any solves. Local. */
void tulle__push_arm(tulle__push *push);

/* True if all values of a ghost have arrived; they are then copied to its line. */
int tulle__push_has_arrived(tulle__push *push, int64_t slot);
/* Sends an own line that has been solved. */
void tulle__push_send(tulle__push *push, int64_t line);
/* Relays a ghost's line to the PEs assigned to this one. */
void tulle__push_relay(tulle__push *push, int64_t slot);

#endif
