/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solving over a network: rows are dealt out in tasks, and the owner of an unknown stores it, as soon as it is known,
 * with every PE that needs it, once; who waits reads its own memory. The value is its own signal: a word of the inbox
 * holds a pattern that no value has until the value comes, in one atomic store of 64 bits. (The paper's PEs read sums
 * and counters of all others again and again instead, section IV.)
 *
 * A PE keeps the unknowns that it uses as lines: its own in the order of solving, then those of others ("ghosts") in
 * the order in which its rows first need them, so that what a group waits for is a range of ghosts. A task's rows lie
 * side by side, so a ghost is of a step before all of the task: what it needs never waits for the task.
 */
#ifndef TULLE_TRISOLVE_PUSH_H
#define TULLE_TRISOLVE_PUSH_H

#include "algo/trisolve/share.h"

enum { TULLE__TASKS = 8 }; /* of a PE, where nobody says how many */

typedef struct tulle__push_target {
    int32_t rank, slot; /* of the ghost that it is there */
} tulle__push_target;

typedef struct tulle__push {
    tulle_comm *comm;
    tulle_type type;
    int64_t nown, nghosts;
    int32_t *row;   /* [nown] rows of op(T) */
    int32_t *ghost; /* [nghosts] rows of op(T) */
    int64_t *first; /* [nown + 1] of target */
    tulle__push_target *target;
    /* as many columns as were last wanted */
    tulle_gidx cols;
    tulle__place inbox;  /* [nghosts * cols] words; length 0: none yet */
    int segment;         /* where it lies: data if all PEs reach it, else control */
    tulle__place *place; /* [size] */
    uint64_t **direct;   /* [size] NULL: by stores */
    void *lines, *b;     /* [(nown + nghosts) * cols], [nown * cols] */
    int64_t sent;        /* words, to other PEs */
} tulle__push;

/* Collective: what this PE needs and gives, and its share. The triangle is dealt out, and inspected. */
tulle_status tulle__push_init(const tulle__triangle *t, tulle__push *push, tulle__share *share);
/* Local. */
void tulle__push_fini(tulle__push *push);

/* Collective: room for so many columns. */
tulle_status tulle__push_open(tulle__push *push, tulle_gidx cols);
/* Local: no value has come. All must have done so before anybody solves. */
void tulle__push_arm(tulle__push *push);

/* Whether all values of a ghost have come; then they are in its line. */
int tulle__push_has_come(tulle__push *push, int64_t slot);
/* Own lines from .. to - 1 are known. */
void tulle__push_send(tulle__push *push, int64_t from, int64_t to);

#endif
